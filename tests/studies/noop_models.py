"""Tiny twins with a language-model head, for the no-op test."""

from __future__ import annotations

from typing import Any

import torch
import transformers

import twins
from attlas.capture import Subject
from attlas.text import Document

CLASSES = {
    "bert": ("BertForMaskedLM", "masked-lm"),
    "mpnet": ("MPNetForMaskedLM", "masked-lm"),
    "llama": ("LlamaForCausalLM", "causal-lm"),
    "gpt2": ("GPT2LMHeadModel", "causal-lm"),
    "gemma2": ("Gemma2ForCausalLM", "causal-lm"),
    "marian": ("MarianMTModel", "translation"),
    "t5": ("T5ForConditionalGeneration", "translation"),
}
WORDS = [
    ("The farmer offered apples , because he slept .", "DET NOUN VERB NOUN PUNCT SCONJ PRON VERB PUNCT"),
    ("Nobody noticed .", "PRON VERB PUNCT"),
    ("The old bridge , near the station", "DET ADJ NOUN PUNCT ADP DET NOUN"),
    ("She asked the designer .", "PRON VERB DET NOUN PUNCT"),
]
TEXTS = [
    Document.from_words(
        words.split(),
        upos=tags.split(),
        name=str(number),
        translation=Document.from_words(words.lower().split()[::-1]),
    )
    for number, (words, tags) in enumerate(WORDS)
]


def headed(family: str, seed: int = 0) -> Any:
    """A twin with its language-model head."""
    torch.manual_seed(seed)
    made = getattr(transformers, CLASSES[family][0])(twins.config(family))
    twins.spread(made)
    return made.eval()


def subject(family: str) -> Subject:
    """The same, on the seam."""
    return Subject.of(headed(family), twins.tokenizer(family in twins.CAUSAL), family)
