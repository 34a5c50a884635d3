"""All explanations of every instance, written down: a number for each word, and what the model decided.

Beside the explanations that are studied stand two that know nothing of the model: *random* values, drawn several
times, which say what chance gives; and the *position* of a word, the nearer to the beginning of the text, or to the
word that is tagged, the larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from attlas.errors import NumberError
from attlas.stats import Bundle, Ledger
from attlas.studies.faith.erasing import Eraser
from attlas.studies.faith.explanations import (
    REFERENCES,
    STEPS,
    Named,
    attention_explanations,
    gap,
    gradient,
    integrated_gradients,
    leave_one_out,
)
from attlas.studies.shared.faith.instances import Instance, Labelling, ask, predicted, words_of
from attlas.tasks import mark_count

Numbers = NDArray[np.float64]
DRAWS = 3
FACTS = ("label", "predicted", "confidence", "largest", "gap")
LAST = Named("weight", "last", "mean")


class Explained(NamedTuple):
    """What the study has written down: explanations by name (instance, word) in their order, random ones several
    times; which words there are; facts of every instance by name; and the marks of its text."""

    names: tuple[Named, ...]
    values: Numbers
    real: NDArray[np.bool_]
    facts: dict[str, Numbers]
    marks: Numbers


class Explaining:
    """The study: explanations ``names`` from attention of some instances, and the others beside them.

    >>> from attlas.studies.shared.faith.instances import _example
    >>> task, asked = _example()
    >>> study = Explaining(task, asked.instances, [LAST], steps=2)
    >>> bundle = study.empty()
    >>> study.update(bundle, list(enumerate(asked.instances)))
    >>> study.result(bundle).values.shape
    (2, 8, 4)
    """

    name = "faith"

    def __init__(
        self,
        task: Labelling,
        instances: Sequence[Instance],
        names: Sequence[Named],
        *,
        steps: int = STEPS,
        way: str = "delete",
        seed: int = 0,
    ) -> None:
        self.task, self.instances, self.attention = task, tuple(instances), tuple(names)
        self.steps, self.seed = steps, seed
        self.eraser = Eraser.of(task.subject.pieces.tokenizer, way)
        others = [Named(reference) for reference in REFERENCES]
        self.names = (*self.attention, *others, Named("position"), *[Named("random")] * DRAWS)
        self.words = max((one.example.source.segmentation.word_count for one in instances), default=0)

    def empty(self) -> Bundle:
        """A bundle that has seen nothing."""
        shapes = {"values": (len(self.names), self.words), "facts": (len(FACTS),), "marks": (mark_count(self.task),)}
        return Bundle({name: Ledger(len(self.instances), shape) for name, shape in shapes.items()})

    def update(self, bundle: Bundle, batch: Sequence[tuple[int, Instance]]) -> None:
        """Explain a batch of numbered instances."""
        numbers, instances = [number for number, _ in batch], [instance for _, instance in batch]
        asked = ask(self.task, instances)
        wanted = list(dict.fromkeys([*self.attention, LAST]))
        explained = attention_explanations(self.task, asked, wanted)
        explained[Named("gradient")] = gradient(self.task, asked)
        signed = integrated_gradients(self.task, asked, self.steps)
        explained[Named("integrated gradients")] = signed.abs()
        explained[Named("leave-one-out")] = leave_one_out(self.task, asked, self.eraser)
        values = np.zeros((len(batch), len(self.names), self.words))
        for place, name in enumerate(self.names):
            if name in explained:
                made = explained[name].double().cpu().numpy()
                values[:, place, : made.shape[1]] = made
        for row, (number, instance) in enumerate(batch):
            values[row, -DRAWS - 1] = -np.abs(np.arange(self.words) - (instance.place or 0))
            values[row, -DRAWS:] = np.random.default_rng([self.seed, number]).random((DRAWS, self.words))
        if not np.isfinite(values).all():
            raise NumberError(
                "NaN or infinity in an explanation; the number format may be too narrow (try --dtype float32)"
            )
        bundle["values"].update(numbers, values)
        with torch.no_grad():
            output = self.task.run(asked.question)
            best = predicted(self.task, asked, output).max(-1)
        labels = asked.question.labels
        places = torch.tensor([instance.place or 0 for instance in instances], device=labels.device)
        given = labels.gather(1, places[:, None])[:, 0]
        largest = explained[LAST].max(-1).values
        facts = [given, best.indices, best.values, largest, gap(self.task, asked, signed)]
        bundle["facts"].update(numbers, torch.stack([column.double().cpu() for column in facts], -1).numpy())
        bundle["marks"].update(numbers, self.task.judge(asked.question, output).marks.double().cpu().numpy())

    def result(self, bundle: Bundle) -> Explained:
        """What has been written down."""
        real = np.zeros((len(self.instances), self.words), dtype=bool)
        for row, instance in enumerate(self.instances):
            real[row, words_of(instance.example)] = True
        facts = bundle["facts"].result()
        by_name = {name: facts[:, column] for column, name in enumerate(FACTS)}
        return Explained(self.names, bundle["values"].result(), real, by_name, bundle["marks"].result())
