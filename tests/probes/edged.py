"""A small corpus with edges for tests: sentences of the twins, every word labelled, and pairs of neighbours."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

import twins
from attlas.capture import Subject
from attlas.capture.reading import read_documents
from attlas.probes.edges.layout import Answers, Layout, Vocabulary, lay_out, vocabulary_of
from attlas.probes.edges.reading import Reader
from attlas.probes.edges.states import Mixable, States, Writer, items_of, scales_of
from attlas.run import LOCAL, Keeping, Listed, Plan
from attlas.text import Document, Edge, Span


def documents(*, paired: bool = False) -> list[Document]:
    """Sentences whose words are labelled by their length and their first letter (two labels), or whose neighbouring
    words are labelled by which of the two is longer."""
    made = []
    for number, sentence in enumerate(twins.SENTENCES[:4] * 3):
        words = sentence.split()[number % 3 :]
        if paired:
            edges = [
                Edge(Span(at, at + 1), Span(at + 1, at + 3), ("rising" if len(a) < len(b) else "falling",))
                for at, (a, b) in enumerate(pairwise(words[:-1]))
            ]
        else:
            edges = [
                Edge(Span(at, min(at + 1 + at % 3, len(words))), None, (f"{len(word) // 3}", word[0].lower()))
                for at, word in enumerate(words)
            ]
        made.append(Document.from_words(words, edges=edges, name=f"sentence {number}"))
    return made


class Lab:
    """A twin, a corpus and the captured states, ready for training."""

    def __init__(self, folder: Path, family: str = "bert", *, paired: bool = False, over: str = "layers") -> None:
        self.subject = Subject.of(twins.model(family), twins.tokenizer(family in ("gpt2", "llama")), family)
        texts = documents(paired=paired)
        examples = {
            "train": read_documents(self.subject, texts[:8]).examples,
            "dev": read_documents(self.subject, texts[8:10]).examples,
            "test": read_documents(self.subject, texts[10:]).examples,
        }
        self.known: Vocabulary = vocabulary_of(examples["train"], "sentences")
        self.layouts: dict[str, Layout] = {name: lay_out(name, found, self.known) for name, found in examples.items()}
        self.mixable = Mixable(self.subject, over)
        self.states = States(folder, self.layouts, self.mixable.room, {})
        items = items_of(self.layouts)
        lengths = [item.example.length for item in items]
        source = Listed(items, lengths, budget=64)
        bundle = LOCAL.carry_out(Writer(self.mixable, self.states), source, Keeping(Plan("layers")))
        self.scales = scales_of(bundle)

    def reader(self, *, seed: int = 0, pieces: int = 32, dtype: torch.dtype = torch.float64, **more: Any) -> Reader:
        """A reader of this corpus."""
        answers = Answers(self.layouts, self.known, seed)
        return Reader(
            self.layouts, answers, self.states, self.mixable, self.scales.tolist(), pieces=pieces, dtype=dtype, **more
        )  # fmt: skip
