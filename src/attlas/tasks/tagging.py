"""Tagging words: parts of speech (``upos``, ``xpos``), or in B/I/O notation chunks (``chunks``) and key phrases
(``keyphrases``, wherever one stands in the text by its stems; see :mod:`attlas.text.keyphrases`).

A word's scores are the mean of its pieces' scores, from the model's own tagging head or from a linear map on its last
states that was trained beside it; the two are the same thing, as a mean goes through a linear map unchanged. Parts of
speech are scored by accuracy, chunks and key phrases by F1: a chunk counts if its first word, last word and label are
all right. A chunk begins at B, or at I after another label or none, as the field's scorers have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attlas.capture import Subject
from attlas.errors import CapabilityError
from attlas.ids import Stream
from attlas.measures.words import group
from attlas.models import Example
from attlas.stats import METRICS
from attlas.tasks.language import require_head
from attlas.tasks.protocol import NOTHING, Question, Reads, Scored, compare_labels
from attlas.text import Chunk, Document, Span
from attlas.text.keyphrases import key_chunks

LAYERS = ("upos", "xpos", "chunks", "keyphrases")
SPANS = ("chunks", "keyphrases")  # layers of ranges of words
OUTSIDE = "O"


def labels_of(document: Document, layer: str) -> tuple[str, ...] | None:
    """The tags of a document's words, "" where a word has none; None where the document lacks the layer.

    >>> from attlas.text import Chunk
    >>> labels_of(Document.from_words(["the", "cat", "!"], chunks=(Chunk(0, 2, "NP"),)), "chunks")
    ('B-NP', 'I-NP', 'O')
    >>> labels_of(Document.from_words(["solar", "cells", "age"], keyphrases=("Solar cell",)), "keyphrases")
    ('B-KEY', 'I-KEY', 'O')
    """
    if layer not in SPANS:
        tags = document.upos if layer == "upos" else document.xpos
        return None if tags is None else tuple("" if tag == "_" else tag for tag in tags)
    chunks = document.chunks
    if layer == "keyphrases":
        given = document.keyphrases
        chunks = None if given is None else _key_chunks(document.text, document.words, given)
    if chunks is None:
        return None
    found = [OUTSIDE] * len(document.words)
    for start, stop, label in chunks:
        found[start:stop] = [f"B-{label}"] + [f"I-{label}"] * (stop - start - 1)
    return tuple(found)


@lru_cache(maxsize=8192)
def _key_chunks(text: str, words: tuple[Span, ...], keyphrases: tuple[str, ...]) -> tuple[Chunk, ...]:
    """The chunks of key phrases, which are asked for again in every pass over the texts."""
    return key_chunks(Document(text, words, keyphrases=keyphrases))


def wordwise(example: Example, layer: str) -> list[str]:
    """The tags of an example's words, "" for words without a tag or without a piece of their own.

    >>> from attlas.capture import load
    >>> from attlas.text import Passage
    >>> document = Document.from_words(["It", "rained"], upos=["PRON", "VERB"])
    >>> wordwise(load().pieces.encode(Passage(document)), "upos")
    ['PRON', 'VERB']
    """
    document = example.passage.first
    tags = labels_of(document, layer) or ("",) * len(document.words)
    lacking = set(example.source.segmentation.wordless)
    return ["" if word in lacking else tag for word, tag in enumerate(tags)]


class LinearMap(NamedTuple):
    """A trained map from a word's state to scores of tags.

    >>> LinearMap(torch.zeros(17, 384), torch.zeros(17)).weight.shape
    torch.Size([17, 384])
    """

    weight: Tensor
    bias: Tensor


class Tagging(Reads):
    """Tagging words by the model's own head, whose labels it has, or by a linear map beside it that knows ``tags``.

    >>> from attlas.capture import load
    >>> Tagging(load(), "upos", tags=["NOUN", "VERB"]).name
    'tagging:upos'
    >>> Tagging(load(), "upos")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2 was opened without the head for the task tagging:upos; ...
    """

    def __init__(
        self, subject: Subject, layer: str, *, tags: Sequence[str] | None = None, head: LinearMap | None = None
    ) -> None:
        self.name = f"tagging:{layer}"
        if tags is None:
            require_head(subject, "tagging", self.name)
        self.subject, self.layer, self.head = subject, layer, head
        self.tags = tuple(subject.labels if tags is None else tags)
        self.own_head = tags is None
        self.streams: tuple[Stream, ...] = (subject.pieces.own,)
        self.choices = len(self.tags)
        self.metric = METRICS["f1" if layer in SPANS else "accuracy"]
        headed = subject.task_head is not None or bool(subject.missing)  # its output is not the last state then
        self.options: dict[str, Any] = {"output_hidden_states": True} if headed and not self.own_head else {}
        self._number = {tag: number for number, tag in enumerate(self.tags)}
        kinds = {tag[2:]: place for place, tag in enumerate(tag for tag in self.tags if tag[1:2] == "-")}
        self._kinds = torch.tensor([kinds.get(tag[2:], -1) if tag[1:2] == "-" else -1 for tag in self.tags])
        self._begins = torch.tensor([tag.startswith("B-") for tag in self.tags])
        if layer in SPANS and not kinds:
            raise CapabilityError(
                f"{subject.name} knows the labels {', '.join(self.tags[:4])}, none of which begins a chunk (B-...)"
            )

    def ask(self, examples: Sequence[Example]) -> Question:
        """Make the batch (the source alone, where there are translations) and the number of every word's tag."""
        alone = [replace(example, target=None) for example in examples]
        batch = self.subject.pieces.batch(alone, self.subject.device)
        width = batch.inputs["input_ids"].shape[1]
        words = group([example.source.segmentation for example in examples], width, device=self.subject.device)
        labels = torch.full((len(examples), words.words), NOTHING, device=self.subject.device)
        for row, example in enumerate(examples):
            numbers = [self._number.get(tag, NOTHING) for tag in wordwise(example, self.layer)]
            labels[row, : len(numbers)] = torch.tensor(numbers, device=labels.device, dtype=labels.dtype)
        return Question(batch, labels, tuple(examples), words=words)

    def states(self, question: Question, output: Any) -> Tensor:
        """The last layer's states of words, (text, word, width)."""
        found = getattr(output, "last_hidden_state", None)
        return _wordwise(question, output.hidden_states[-1] if found is None else found)

    def scores(self, question: Question, output: Any) -> Tensor:
        """The score of every tag for every word, (text, word, tag)."""
        if self.own_head:
            return _wordwise(question, output.logits)
        assert self.head is not None
        states = self.states(question, output)
        weight, bias = (part.to(states.device, states.dtype) for part in self.head)
        return states @ weight.T + bias

    def judge(self, question: Question, output: Any) -> Scored:
        """Tag every word and compare."""
        scores = self.scores(question, output)
        total, predicted, right = compare_labels(scores, question.labels)
        return Scored(total, predicted, right, self.marks(scores.detach(), question.labels))

    def marks(self, scores: Tensor, labels: Tensor) -> Tensor:
        """What the metric is made of, per text: words that are right and all words, or chunks that both have, that
        were found, and that were given."""
        found = scores.argmax(-1)
        if self.layer in SPANS:
            return self._chunks(found, labels)
        known = labels != NOTHING
        return torch.stack([((found == labels) & known).sum(-1), known.sum(-1)], -1).float()

    def spans_in(self, tags: Tensor, there: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The chunks of numbered tags, over the last axis, as :func:`spans` gives them; words that are not there are
        in none."""
        return spans(self._begins.to(tags.device)[tags], torch.where(there, self._kinds.to(tags.device)[tags], -1))

    def _chunks(self, found: Tensor, given: Tensor) -> Tensor:
        """Per text: chunks that both have, that were found, and that were given."""
        there = given != NOTHING
        (starts, kinds, ends), (other_starts, other_kinds, other_ends) = (
            self.spans_in(tags, there) for tags in (found, given.clamp(min=0))
        )
        common = starts & other_starts & (kinds == other_kinds) & (ends == other_ends)
        return torch.stack([part.sum(-1).float() for part in (common, starts, other_starts)], -1)


def spans(begins: Tensor, kinds: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where chunks start, of which kind (-1: none), and where each that starts here ends; over the last axis.

    >>> begins, kinds = torch.tensor([True, False, False, False]), torch.tensor([0, 0, -1, 1])
    >>> [part.tolist() for part in spans(begins, kinds)]
    [[True, False, False, True], [0, 0, -1, 1], [2, 2, 3, 4]]
    """
    inside = kinds >= 0
    before = torch.nn.functional.pad(kinds[..., :-1], (1, 0), value=-1)
    starts = inside & (begins | (before != kinds))
    places = torch.arange(kinds.shape[-1], device=kinds.device).expand_as(kinds)
    stops = torch.where(starts | ~inside, places, kinds.shape[-1])  # a chunk runs up to the next of these
    following = torch.nn.functional.pad(stops[..., 1:], (0, 1), value=kinds.shape[-1])
    ends = following.flip(-1).cummin(-1).values.flip(-1)
    return starts, kinds, ends


def _wordwise(question: Question, values: Tensor) -> Tensor:
    """The mean over the pieces of every word."""
    assert question.words is not None
    members = question.words.members[:, :-1].to(values.dtype)
    return torch.matmul(members, values) / members.sum(-1, keepdim=True).clamp(min=1)
