"""Language modelling: predicting pieces of the text itself.

- ``causal-lm``: every piece after the first is predicted from what stands before it.
- ``masked-lm``: 15 % of a text's pieces (at least one) are drawn and predicted; of these 80 % are shown as the mask
  piece, 10 % as a random piece and 10 % as they are, as in BERT's own training. The draw depends on the seed and the
  text alone, so that runs repeat and no batch matters.

Scored by perplexity over all predictions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from attlas.capture import Subject
from attlas.errors import CapabilityError
from attlas.ids import Stream
from attlas.models import Batch, Example
from attlas.stats import METRICS
from attlas.tasks.protocol import NOTHING, Question, Reads, Scored, compare_labels
from attlas.text import Passage

DRAWN, MASKED, RANDOM = 0.15, 0.8, 0.1


class LanguageModelling(Reads):
    """Predicting pieces, by a model with a language-model head that its checkpoint holds.

    >>> from attlas.capture import load
    >>> LanguageModelling(load(), "masked-lm")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2 was opened without the head for the task masked-lm; ...
    """

    def __init__(self, subject: Subject, name: str, *, seed: int = 0) -> None:
        require_head(subject, name, name)
        self.subject, self.name, self.seed = subject, name, seed
        self.streams = subject.streams
        self.metric = METRICS["perplexity"]
        self.choices: int = subject.model.config.get_text_config().vocab_size
        self.options: dict[str, Any] = {} if subject.pieces.own is Stream.ENCODER else {"use_cache": False}
        if name == "masked-lm":
            mask = subject.pieces.tokenizer.mask_token_id
            if mask is None:
                raise CapabilityError(
                    f"the tokenizer of {subject.name} has no mask piece, which the task masked-lm needs"
                )
            self._mask = int(mask)
            special = set(subject.pieces.tokenizer.all_special_ids)
            self._ordinary = np.array([i for i in range(self.choices) if i not in special])

    def ask(self, examples: Sequence[Example]) -> Question:
        """Make the batch, and for every place the piece that is to be predicted there."""
        batch = self.subject.pieces.batch(examples, self.subject.device)
        if self.name == "masked-lm":
            return self._masked(batch, examples)
        assert batch.source is not None
        ids = batch.inputs["input_ids"]
        labels = torch.full_like(ids, NOTHING)
        labels[:, :-1] = ids[:, 1:].masked_fill(~batch.source.real[:, 1:], NOTHING)
        return Question(batch, labels, tuple(examples))

    def judge(self, question: Question, output: Any) -> Scored:
        """Compare."""
        total, predicted, right = compare_labels(output.logits, question.labels)
        return Scored(total, predicted, right, torch.stack([total.detach(), predicted], -1))

    def _masked(self, batch: Batch, examples: Sequence[Example]) -> Question:
        ids = batch.inputs["input_ids"].clone()
        labels, altered = torch.full_like(ids, NOTHING), torch.zeros_like(ids, dtype=torch.bool)
        for row, example in enumerate(examples):
            places, shown = self._draw(example)
            where = torch.tensor(places, device=ids.device, dtype=torch.long)
            new = torch.tensor(shown, device=ids.device, dtype=torch.long)
            labels[row, where] = ids[row, where]
            altered[row, where] = new != ids[row, where]
            ids[row, where] = new
        shown_batch = replace(batch, inputs={**batch.inputs, "input_ids": ids})
        return Question(shown_batch, labels, tuple(examples), altered)

    def _draw(self, example: Example) -> tuple[list[int], list[int]]:
        """The places of a text that are to be predicted, and the ids that are shown there instead."""
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


def require_head(subject: Subject, head: str, task: str) -> None:
    """Refuse a model that was opened without the head of a task, or whose checkpoint does not hold it.

    >>> from attlas.capture import load
    >>> require_head(load(), "tagging", "tagging:upos")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2 was opened without the head for the task tagging:upos; open ...
    """
    if subject.task_head != head:
        raise CapabilityError(
            f"{subject.name} was opened without the head for the task {task}; open it with "
            f"task_head={head!r}, and if its checkpoint holds no such head, train one (attlas tune)"
        )


def text_seed(passage: Passage, seed: int) -> int:
    """A number that depends on a text and a seed alone.

    >>> from attlas.text import Document
    >>> text_seed(Passage(Document.from_text("a")), 0) == text_seed(Passage(Document.from_text("a")), 1)
    False
    """
    text = "\0".join([str(seed), *(document.text for document in passage.documents)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
