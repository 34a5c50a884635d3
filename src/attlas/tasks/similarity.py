"""Similarity of sentences, for embedders: the cosine of two texts' vectors against a number given by people.

A text's vector is the mean of its last states. The loss is the squared difference of the cosine and the given number,
brought to the range from 0 to 1; the score is Spearman's rank correlation, as the field has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attlas.capture import Subject
from attlas.errors import CorpusError
from attlas.ids import Stream
from attlas.models import Example
from attlas.stats import METRICS
from attlas.tasks.protocol import Question, Reads, Scored
from attlas.text import Passage


class Similarity(Reads):
    """Telling how alike two texts are, where ``low`` and ``high`` are the ends of the given scale.

    >>> from attlas.capture import load
    >>> from attlas.text import Document
    >>> subject = load()
    >>> task = Similarity(subject, low=0, high=5)
    >>> given = Document.from_text("A man sleeps.")
    >>> from dataclasses import replace
    >>> text = replace(given, label="5", pair=Document.from_text("A man is asleep."))
    >>> task.answer(task.ask([subject.pieces.encode(Passage(text))])).shape
    torch.Size([1, 2])
    """

    name = "similarity"

    def __init__(self, subject: Subject, low: float, high: float) -> None:
        self.subject, self.low, self.high = subject, low, high
        self.streams: tuple[Stream, ...] = (subject.pieces.own,)
        self.metric = METRICS["spearman"]
        headed = subject.task_head is not None or bool(subject.missing)
        self.options: dict[str, Any] = {"output_hidden_states": True} if headed else {}

    def ask(self, examples: Sequence[Example]) -> Question:
        """Make one batch of all first and all second texts, and the number that each pair was given."""
        pairs = [example.passage.first.pair for example in examples]
        second = self.subject.pieces.encode_all([Passage(pair) for pair in pairs if pair is not None])
        batch = self.subject.pieces.batch([*examples, *second], self.subject.device)
        given = torch.tensor([number(example) for example in examples], device=self.subject.device)
        rows = torch.arange(len(examples), device=self.subject.device).repeat(2)
        return Question(batch, given[:, None], tuple(examples), rows=rows)

    def judge(self, question: Question, output: Any) -> Scored:
        """Compare cosines with what was given; nothing is right or wrong about a number."""
        found = getattr(output, "last_hidden_state", None)
        states = output.hidden_states[-1] if found is None else found
        real = question.real[..., None].to(states.dtype)
        vectors = ((states * real).sum(1) / real.sum(1)).float()
        first, second = vectors.unflatten(0, (question.copies, 2, -1)).unbind(1)
        cosine = torch.nn.functional.cosine_similarity(first, second, dim=-1).flatten()
        given = question.labels[:, 0]
        wanted = (given - self.low) / max(self.high - self.low, 1e-9)
        one = torch.ones_like(given)
        marks: Tensor = torch.stack([cosine.detach(), given], -1)
        return Scored((cosine - wanted) ** 2, one, 0 * one, marks)


def number(example: Example) -> float:
    """The number that a pair was given.

    >>> from attlas.capture import load
    >>> from attlas.text import Document
    >>> number(load().pieces.encode(Passage(Document.from_words(["Hi"], label="4.5"))))
    4.5
    """
    document = example.passage.first
    try:
        return float(document.label or "")
    except ValueError:
        raise CorpusError(
            f"its label is {document.label!r}, and the task similarity needs a number", file=document.name
        ) from None
