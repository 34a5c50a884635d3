"""Losses of language models, text by text: what a gradient of attention is a gradient *of*.

- ``causal-lm``: every piece after the first is predicted from what stands before it.
- ``masked-lm``: 15 % of a text's pieces (at least one) are drawn and predicted; of these 80 % are shown as the mask
  piece, 10 % as a random piece and 10 % as they are, as in BERT's own training. The draw depends on the seed and the
  text alone, so that runs repeat and no batch matters.
- ``translation``: every piece of the reference translation, and its end, is predicted from the source and the
  reference before it.

A loss takes examples, makes the batch that the model reads, and gives for each text the summed loss in nats, the
number of predictions and how many of them were right. What is minimised is the mean of a text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from attlas.capture import Subject
from attlas.errors import CapabilityError
from attlas.ids import Stream
from attlas.models import Batch, Example
from attlas.text import Document, Passage

HEADS = {"causal-lm": "causal-lm", "masked-lm": "masked-lm", "translation": "seq2seq"}
DRAWN, MASKED, RANDOM = 0.15, 0.8, 0.1
NOTHING = -100


class Scored(NamedTuple):
    """Per text: the sum of the losses of its predictions in nats, how many there are, and how many are right.

    >>> Scored(torch.tensor([2.0, 0.0]), torch.tensor([4.0, 0.0]), torch.tensor([1.0, 0.0])).mean.tolist()
    [0.5, 0.0]
    """

    total: Tensor
    predicted: Tensor
    right: Tensor

    @property
    def mean(self) -> Tensor:
        """The mean loss of every text; 0 for a text without a prediction.

        >>> Scored(torch.tensor([3.0]), torch.tensor([2.0]), torch.tensor([0.0])).mean.item()
        1.5
        """
        return self.total / self.predicted.clamp(min=1)


@dataclass(frozen=True)
class Task:
    """A batch with what is to be predicted: for every place a label, or :data:`NOTHING`; ``altered`` are pieces that
    do not stand as the text has them.

    >>> sorted(Task.__dataclass_fields__)
    ['altered', 'batch', 'labels']
    """

    batch: Batch
    labels: Tensor
    altered: Tensor | None = None


class Loss(Protocol):
    """What a gradient is taken of."""

    @property
    def name(self) -> str:
        """Its name, as the command line has it."""

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The attention that is at work in it."""

    def task(self, examples: Sequence[Example]) -> Task:
        """Make the batch that the model reads, and its labels."""

    def score(self, task: Task) -> Scored:
        """Run the model and compare; differentiable."""


def score_labels(logits: Tensor, labels: Tensor) -> Scored:
    """Compare logits (text, place, choice) with labels (text, place).

    >>> found = score_labels(torch.zeros(1, 3, 4), torch.tensor([[0, NOTHING, 1]]))
    >>> round(found.total.item(), 4), found.predicted.item(), found.right.item()
    (2.7726, 2.0, 1.0)
    """
    known = labels != NOTHING
    rows = known.nonzero()[:, 0]
    chosen, wanted = logits[known].float(), labels[known]
    losses = torch.nn.functional.cross_entropy(chosen, wanted, reduction="none")
    empty = torch.zeros(len(labels), device=logits.device)
    right = (chosen.detach().argmax(-1) == wanted).float()
    return Scored(empty.index_add(0, rows, losses), known.sum(-1).float(), empty.index_add(0, rows, right))


class PieceLoss:
    """The loss of predicting pieces, of a model with a language-model head that its checkpoint holds.

    >>> from attlas.capture import load
    >>> PieceLoss(load(), "masked-lm")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2 was opened without the head for the loss masked-lm; ...
    """

    def __init__(self, subject: Subject, name: str, *, seed: int = 0) -> None:
        if subject.head != HEADS[name]:
            raise CapabilityError(
                f"{subject.name} was opened without the head for the loss {name}; open it with head={HEADS[name]!r}"
            )
        self.subject, self.name, self.seed = subject, name, seed
        self.streams = subject.streams
        self._end = _end(subject) if name == "translation" else NOTHING
        mask = subject.pieces.tokenizer.mask_token_id if name == "masked-lm" else NOTHING
        if mask is None:
            raise CapabilityError(
                f"the tokenizer of {subject.name} has no mask piece, which the loss masked-lm needs"
            )
        self._mask = int(mask)
        special = set(subject.pieces.tokenizer.all_special_ids)
        choices = subject.model.config.get_text_config().vocab_size
        self.choices = choices
        self._ordinary = np.array([i for i in range(choices) if i not in special]) if name == "masked-lm" else None

    def task(self, examples: Sequence[Example]) -> Task:
        """Make the batch, and for every place the piece that is to be predicted there."""
        batch = self.subject.pieces.batch(examples, self.subject.device)
        if self.name == "masked-lm":
            return self._masked(batch, examples)
        side, ids = batch.source, batch.inputs["input_ids"]
        if self.name == "translation":
            side, ids = batch.target, batch.inputs["decoder_input_ids"]
        assert side is not None
        labels = torch.full_like(ids, NOTHING)
        labels[:, :-1] = ids[:, 1:].masked_fill(~side.real[:, 1:], NOTHING)
        if self._end != NOTHING:  # the end of the translation is predicted where its last piece is read
            labels[torch.arange(len(ids)), side.real.sum(-1) - 1] = self._end
        return Task(batch, labels)

    def score(self, task: Task) -> Scored:
        """Run the model and compare."""
        return score_labels(self.subject.run(task.batch).logits, task.labels)

    def _masked(self, batch: Batch, examples: Sequence[Example]) -> Task:
        ids = batch.inputs["input_ids"].clone()
        labels, altered = torch.full_like(ids, NOTHING), torch.zeros_like(ids, dtype=torch.bool)
        for row, example in enumerate(examples):
            places, shown = self._draw(example)
            where = torch.tensor(places, device=ids.device, dtype=torch.long)
            new = torch.tensor(shown, device=ids.device, dtype=torch.long)
            labels[row, where] = ids[row, where]
            altered[row, where] = new != ids[row, where]
            ids[row, where] = new
        return Task(replace(batch, inputs={**batch.inputs, "input_ids": ids}), labels, altered)

    def _draw(self, example: Example) -> tuple[list[int], list[int]]:
        """The places of a text that are to be predicted, and the ids that are shown there instead."""
        assert self._ordinary is not None
        generator = np.random.default_rng(text_seed(example.passage, self.seed))
        open_places = [place for place, role in enumerate(example.source.roles) if not role]
        count = min(len(open_places), max(1, round(DRAWN * len(open_places))))
        places = sorted(int(place) for place in generator.permutation(open_places)[:count])
        shown = []
        for place, toss, other in zip(
            places, generator.random(count), generator.choice(self._ordinary, count), strict=True
        ):
            own = example.source.ids[place]
            shown.append(int(self._mask if toss < MASKED else other if toss < MASKED + RANDOM else own))
        return places, shown


def text_seed(passage: Passage, seed: int) -> int:
    """A number that depends on a text and a seed alone.

    >>> text_seed(Passage(Document.from_text("a")), 0) == text_seed(Passage(Document.from_text("a")), 1)
    False
    """
    text = "\0".join([str(seed), *(document.text for document in passage.documents)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _end(subject: Subject) -> int:
    """The piece that ends a text, as the tokenizer puts it there."""
    encoded = subject.pieces.encode(Passage(Document.from_words(["a"]))).source
    return encoded.ids[-1] if encoded.roles[-1] == "sep" else NOTHING
