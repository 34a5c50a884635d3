"""What one gets in a task without a model: frequencies of pieces, translations of other texts; and that a model that
does the task is told from one that does not.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import twins
from attlas.capture import Subject
from attlas.capture.reading import read_documents
from attlas.run.chance import chance_of, guess_of, standing_of
from attlas.stats import METRICS, not_shown
from attlas.tasks import Translation, make_task
from attlas.text import Document

NOUNS = ("farmer", "bridge", "station", "storm", "apples", "designer", "children", "engineer")
TEXTS = [
    Document.from_words(
        ["The", noun, "near", "the", other, "slept", "."],
        translation=Document.from_words(["the", other, "and", "the", noun, "slept", "well", "."]),
    )
    for noun, other in zip(NOUNS, NOUNS[3:] + NOUNS[:3], strict=True)
]


@pytest.fixture(scope="module")
def translator() -> Subject:
    torch.manual_seed(0)
    model = transformers.MarianMTModel(twins.config("marian"))
    twins.spread(model)
    return Subject.of(model.eval(), twins.tokenizer(False), "random")


def examples_of(subject: Subject) -> list[Any]:
    return read_documents(subject, TEXTS).examples


@pytest.mark.parametrize("score", ["bleu", "chrf"])
def test_a_translation_is_held_against_that_of_another_text(translator: Subject, score: str) -> None:
    examples, task = examples_of(translator), Translation(translator, score)
    chance = chance_of(task, examples)
    references = [example.passage.second.text for example in examples]
    perfect, shifted = task.mark(examples, references), task.mark(examples, references[1:] + references[:1])
    assert 5 < METRICS[score].score(chance) < 80, "texts share words, but none is given its own translation"
    assert METRICS[score].score(perfect) == pytest.approx(100)
    assert standing_of(task, examples, perfect.numpy()).gain_low > 0
    assert not standing_of(task, examples, shifted.numpy()).gain_low > 0
    assert guess_of(task) == "giving the translation of another text"


def test_a_single_text_has_no_other(translator: Subject) -> None:
    task = Translation(translator, "bleu")
    assert METRICS["bleu"].score(chance_of(task, examples_of(translator)[:1])) == 0


@pytest.mark.parametrize("family", ["marian", "gpt2", "bert"])
def test_a_model_of_pieces_is_held_against_how_frequent_they_are(family: str, translator: Subject) -> None:
    subject, name = translator, "translation"
    if family != "marian":
        kind = {"gpt2": ("GPT2LMHeadModel", "causal-lm"), "bert": ("BertForMaskedLM", "masked-lm")}[family]
        torch.manual_seed(0)
        made = getattr(transformers, kind[0])(twins.config(family))
        subject, name = Subject.of(made.eval(), twins.tokenizer(family in twins.CAUSAL), family), kind[1]
    task = make_task(subject, name, score="perplexity" if name == "translation" else None)
    examples = examples_of(subject)
    asked = [task.ask([example]).labels for example in examples]
    pieces = [labels[labels >= 0].tolist() for labels in asked]
    every = [piece for text in pieces for piece in text]
    shares = {piece: every.count(piece) / len(every) for piece in every}
    entropy = -sum(share * math.log(share) for share in shares.values())
    chance = chance_of(task, examples)
    assert METRICS["perplexity"].score(chance) == pytest.approx(math.exp(entropy))
    assert chance[:, 1].tolist() == [len(text) for text in pieces]
    marks = task.answer(task.ask(examples)).double().numpy()
    known = standing_of(task, examples, marks)
    assert not known.gain_low > 0, "random weights"
    said = not_shown("perplexity", {**known._asdict(), "guess": guess_of(task)})
    assert said is not None
    assert "that of knowing nothing but how frequent each piece is" in said
    knowing = np.stack([0.1 * chance[:, 0], chance[:, 1]], -1)
    assert standing_of(task, examples, knowing).gain_low > 0
    by_loss = chance_of(task, examples, metric=METRICS["loss"])
    assert by_loss[:, 0] == pytest.approx(chance[:, 0] / chance[:, 1])
