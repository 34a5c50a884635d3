"""Closing sets of heads, and what that does to the losses of texts.

All texts of a behaviour go through the model once; then each set of heads is closed in turn, and only what lies above
its lowest head is run again (:meth:`attlas.capture.replay.Replay.without`). Of every set and text one number is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from attlas.capture.replay import Kept, Replay
from attlas.models.inputs import takes
from attlas.stats import Bundle, Ledger
from attlas.studies.roles.behaviour import Behaviour, Set

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.studies.roles.texts import RoleText

SPAN = "asked"  # the pieces whose loss is measured


def why_no_loss(subject: Subject) -> str:
    """Why a model gives no loss of its texts' pieces, in a sentence; nothing where it does.

    >>> from attlas.capture import load
    >>> why_no_loss(load())
    'all-MiniLM-L6-v2 was opened without a causal language-model head, so there is no loss to ask for'
    """
    if subject.task_head == "causal-lm":
        return "" if subject.block is None else f"{subject.name}: its layers are streamed, and closing needs them all"
    return f"{subject.name} was opened without a causal language-model head, so there is no loss to ask for"


class SpanLoss:
    """The mean loss of the pieces of a span, text by text, in nats.

    >>> SpanLoss.span
    'asked'
    """

    span = SPAN

    def __init__(self, subject: Subject, texts: Sequence[RoleText]) -> None:
        self.subject, self.texts = subject, texts
        spans = [text.spans[self.span] for text in texts]
        first, last = min(one for one, _ in spans), max(two for _, two in spans)
        self.batch = subject.pieces.batch(texts, subject.device)
        self.labels = self.batch.inputs["input_ids"][:, first:last]
        place = torch.arange(first, last, device=subject.device)
        ends = torch.tensor(spans, device=subject.device)
        self.asked = (place >= ends[:, :1]) & (place < ends[:, 1:])  # (text, piece)
        narrow = takes(subject.model, "logits_to_keep")
        self.options: dict[str, Any] = {"logits_to_keep": place - 1} if narrow else {}
        self._places = slice(None) if narrow else slice(first - 1, last - 1)

    def of(self, output: Any) -> Tensor:
        """What is measured of texts, (copy, text), from the model's output on copies of them, copy-major."""
        logits: Tensor = output.logits[:, self._places].float()
        times = len(logits) // len(self.labels)
        each = self.each(logits, self.labels.repeat(times, 1)) * self.asked.repeat(times, 1)
        return each.view(times, *self.labels.shape).sum(2) / self.asked.sum(1)

    def each(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The measure of every piece, (text, piece)."""
        return torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels, reduction="none")


class Misses(SpanLoss):
    """The share of the pieces of the span "answer" that are not the likeliest; what stands before each is right.

    >>> Misses.span
    'answer'
    """

    span = "answer"

    def each(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Whether a piece is not the likeliest, (text, piece)."""
        return (logits.argmax(-1) != labels).float()


class Closings:
    """What each set of heads is needed for: of every set, numbered, the measure of every text without it.

    >>> from attlas.studies.roles.behaviour import BEHAVIOURS
    >>> Closings.__name__, BEHAVIOURS[0].chosen_by
    ('Closings', 'prefix_matching')
    """

    name = "closings"

    def __init__(self, subject: Subject, behaviour: Behaviour, texts: Sequence[RoleText], sets: int) -> None:
        from attlas.studies.roles.definition import at_place

        self.subject, self.sets, self.texts = subject, sets, texts
        self.losses = at_place(behaviour.losses)(subject, texts)
        self.replay = Replay(subject, self.losses.options, pieces=2 * sum(text.length for text in texts))
        self._kept: Kept | None = None

    def empty(self) -> Bundle:
        """Nothing measured yet."""
        return Bundle({"losses": Ledger(self.sets, (len(self.texts),))})

    def update(self, bundle: Bundle, batch: Sequence[tuple[int, Set]]) -> None:
        """Close some numbered sets; the empty set is the whole model."""
        if self._kept is None:
            self._kept = self.replay.record(self.losses.batch)
        ordered = sorted(batch, key=lambda item: min((head.layer for head in item[1]), default=-1))
        numbers = np.array([number for number, _ in ordered])
        for part, output in self.replay.without(self._kept, [heads for _, heads in ordered]):
            bundle["losses"].update(numbers[part], self.losses.of(output).double().cpu().numpy())
