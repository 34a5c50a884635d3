"""Tiny classifiers and taggers with random weights, and texts with labels and tags, to test faithfulness on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
import transformers

import twins
from attlas.capture import Subject
from attlas.corpora import Corpus
from attlas.run.setting import as_corpus
from attlas.run.tasks import read_for_task, task_for
from attlas.studies.shared.faith.instances import Instance, instances_of
from attlas.text import Document

LABELS = {
    "classification": ("bad", "good"),
    "tagging:upos": ("NOUN", "VERB", "X"),
    "tagging:chunks": ("O", "B-NP", "I-NP"),
}


def subject(task: str = "classification", family: str = "bert", *, double: bool = False, **options: Any) -> Subject:
    """A twin with a head for a task; ``options`` go into its configuration."""
    config = twins.config(family)
    for name, value in options.items():
        setattr(config, name, value)
    config.id2label = dict(enumerate(LABELS[task]))
    config.label2id = {label: number for number, label in config.id2label.items()}
    torch.manual_seed(0)
    model = (
        getattr(transformers, f"AutoModelFor{'Sequence' if task == 'classification' else 'Token'}Classification")
        .from_config(config)
        .eval()
    )
    twins.spread(model)
    return Subject.of(model.double() if double else model, twins.tokenizer(family in twins.CAUSAL), family)


def corpus(times: int = 1) -> Corpus:
    """Four sentences with labels and tags, so many times over with a word in front that tells copies apart."""
    made = []
    for number, sentence in enumerate(twins.SENTENCES[:4] * times):
        plain = Document.from_text(sentence if number < 4 else f"{'the ' * (number // 4)}{sentence}")
        tags = tuple(["NOUN", "VERB", "X", "NOUN"] * 9)[: len(plain.words)]
        made.append(replace(plain, upos=tags, name=f"text {number}", label=("good", "bad")[number % 2]))
    return as_corpus(made)


def posed(
    task: str = "classification", family: str = "bert", *, per_text: int = 1, **options: Any
) -> tuple[Any, list[Instance]]:
    """A task for a twin, and instances of it."""
    made = task_for(subject(task, family, **options), task, corpus())
    return made, instances_of(made, read_for_task(made, corpus()).examples, limit=None, per_text=per_text)
