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
    """The mean loss of the pieces of the span "asked", text by text, in nats.

    All texts have their span at the same places.
    """

    def __init__(self, subject: Subject, texts: Sequence[RoleText]) -> None:
        self.subject, self.texts = subject, texts
        (first, last) = texts[0].spans[SPAN]
        self.batch = subject.pieces.batch(texts, subject.device)
        self.labels = self.batch.inputs["input_ids"][:, first:last]
        keep = torch.arange(first - 1, last - 1, device=subject.device)
        narrow = takes(subject.model, "logits_to_keep")
        self.options: dict[str, Any] = {"logits_to_keep": keep} if narrow else {}
        self._places = slice(None) if narrow else slice(first - 1, last - 1)

    def of(self, output: Any) -> Tensor:
        """The losses of texts, (copy, text), from the model's output on copies of them, copy-major."""
        logits = output.logits[:, self._places].float()
        times = len(logits) // len(self.labels)
        labels = self.labels.repeat(times, 1)
        each = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        return each.view(times, len(self.labels), -1).mean(2)


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
