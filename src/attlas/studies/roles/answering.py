"""What closing heads does to an answer: the loss of its pieces, in texts of different lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attlas.models.inputs import takes

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.studies.roles.texts import RoleText

SPAN = "answer"


class AnswerLoss:
    """The mean loss of the pieces of the span "answer", text by text, in nats.

    >>> AnswerLoss.__name__
    'AnswerLoss'
    """

    def __init__(self, subject: Subject, texts: Sequence[RoleText]) -> None:
        self.subject, self.texts = subject, texts
        self.batch = subject.pieces.batch(texts, subject.device)
        spans = [text.spans[SPAN] for text in texts]
        begin, end = min(first for first, _ in spans), max(last for _, last in spans)
        places = torch.arange(begin, end, device=subject.device)
        self.labels = self.batch.inputs["input_ids"][:, begin:end]
        self.asked = torch.stack([(places >= first) & (places < last) for first, last in spans])
        narrow = takes(subject.model, "logits_to_keep")
        self.options: dict[str, Any] = {"logits_to_keep": places - 1} if narrow else {}
        self._places = slice(None) if narrow else slice(begin - 1, end - 1)

    def of(self, output: Any) -> Tensor:
        """The losses of texts, (copy, text), from the model's output on copies of them, copy-major."""
        logits = output.logits[:, self._places].float()
        times = len(logits) // len(self.labels)
        labels, asked = self.labels.repeat(times, 1), self.asked.repeat(times, 1)
        each = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        sums = torch.where(asked, each.view(labels.shape), 0.0).sum(1)
        return (sums / asked.sum(1)).view(times, len(self.labels))
