"""Heads removed one after another: in which order, and what is left of the score.

A *unit* is what can be removed: a head, or where heads share keys and values the whole group of them. Units are put
in an order on some texts, by their importance (to first order, from gradients) or by what removing each of them alone
did to the loss (:class:`OneOff`); then they are removed in that order, gates closed, a tenth of them at a time, and
the model is scored on other texts (:class:`Removal`). Orders drawn by chance say what any order is worth.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from attlas.capture import Gates, Subject
from attlas.capture.pruned import groups
from attlas.capture.replay import Replay
from attlas.ids import HeadId, Site, Stream
from attlas.models import Example
from attlas.stats import Bundle, Ledger, PooledMean
from attlas.tasks import Task

Numbers = NDArray[np.float64]
Numbered = tuple[int, Example]


class Unit(NamedTuple):
    """What can be removed: one head, or heads of one site that share keys and values.

    >>> Unit(Site(Stream.DECODER, 0), (0, 1)).ids[1].head
    1
    """

    site: Site
    heads: tuple[int, ...]

    @property
    def ids(self) -> list[HeadId]:
        """Its heads by name."""
        return [HeadId(self.site.stream, self.site.layer, head) for head in self.heads]


def units_of(subject: Subject, streams: Sequence[Stream]) -> list[Unit]:
    """All units of some streams of a model, layer by layer; layers that have lost all their heads have none.

    >>> from attlas.capture import load
    >>> len(units_of(load(), [Stream.ENCODER]))
    72
    """
    kept = subject.kept
    found = groups(subject).items()
    return [Unit(site, group) for site, all_ in found if site.stream in streams and kept[site] for group in all_]


def gates_without(subject: Subject, units: Sequence[Unit]) -> Gates:
    """Gates that close some units and leave all others open."""
    return Gates.closed([HeadId(*unit.site, head) for unit in units for head in unit.heads], subject.layout.heads)


class OneOff:
    """A study: what removing each unit alone does to the mean loss of a text."""

    name = "one-off losses"

    def __init__(self, task: Task, units: Sequence[Unit]) -> None:
        self.task, self.units = task, list(units)
        self.replay = Replay(task.subject, task.options)

    def empty(self) -> Bundle:
        """A bundle that has seen nothing."""
        return Bundle({"change": PooledMean((len(self.units),))})

    def update(self, bundle: Bundle, batch: Sequence[Example]) -> None:
        """Run a batch whole, and again without each unit."""
        if not batch:
            return
        question = self.task.ask(batch)
        kept = self.replay.record(question.batch)
        texts = len(question.labels)
        with torch.no_grad():
            whole = self.task.judge(question, kept.output)
        changes = np.zeros((texts, len(self.units)))
        for site in dict.fromkeys(unit.site for unit in self.units):
            places = [place for place, unit in enumerate(self.units) if unit.site == site]
            xi = torch.ones(len(places), self.task.subject.heads(site))
            for row, place in enumerate(places):
                xi[row, list(self.units[place].heads)] = 0
            for part, output in self.replay.cut(kept, site, xi):
                copies = part.stop - part.start
                with torch.no_grad():
                    cut = self.task.judge(question.repeated(copies), output)
                change = cut.mean.view(copies, texts) - whole.mean[None]
                changes[:, places[part]] = change.T.double().cpu().numpy()
        counted = (whole.predicted > 0).double().cpu().numpy()
        bundle["change"].update(changes * counted[:, None], counted, [example.unit for example in batch])


class Removal:
    """A study: marks and losses of every text under each of some patterns of removed units."""

    name = "removal"

    def __init__(self, task: Task, patterns: Sequence[Sequence[Unit]], *, texts: int, marks: int) -> None:
        self.task, self.texts, self.marks = task, texts, marks
        self.gates = [gates_without(task.subject, units) for units in patterns]

    def empty(self) -> Bundle:
        """A bundle that has seen nothing."""
        count = len(self.gates)
        marks, losses = Ledger(self.texts, (count, self.marks)), Ledger(self.texts, (count, 2))
        return Bundle({"marks": marks, "losses": losses})

    def update(self, bundle: Bundle, batch: Sequence[Numbered]) -> None:
        """Run a batch of numbered texts under every pattern."""
        if not batch:
            return
        task, rows = self.task, [number for number, _ in batch]
        question = task.ask([example for _, example in batch])
        marks, losses = [], []
        for gates in self.gates:
            with torch.no_grad(), task.subject.use(gates):
                scored = task.judge(question, task.run(question))
                found = task.answer(question) if task.writes else scored.marks
            marks.append(found.double().cpu())
            losses.append(torch.stack([scored.total, scored.predicted], -1).double().cpu())
        bundle["marks"].update(rows, torch.stack(marks, 1).numpy())
        bundle["losses"].update(rows, torch.stack(losses, 1).numpy())


def marks_per_text(task: Task, example: Example) -> int:
    """How many marks a task writes down of a text."""
    return int(task.answer(task.ask([example])).shape[-1])


def by_value(units: Sequence[Unit], values: Numbers) -> list[int]:
    """The places of units in the order of their values, smallest first; equal ones as they stand in the model.

    >>> by_value([Unit(Site(Stream.ENCODER, 0), (head,)) for head in range(3)], np.array([0.5, 0.1, 0.5]))
    [1, 0, 2]
    """
    return sorted(range(len(units)), key=lambda place: (values[place], place))


def by_chance(units: Sequence[Unit], seed: int, draw: int) -> list[int]:
    """An order drawn by the seed."""
    order = list(range(len(units)))
    random.Random(f"removal {seed} {draw}").shuffle(order)
    return order


def evenly(units: Sequence[Unit], order: Sequence[int]) -> list[int]:
    """The same order with every layer losing its next unit before any loses another.

    >>> site = [Site(Stream.ENCODER, layer) for layer in (0, 0, 1, 1)]
    >>> evenly([Unit(one, (head,)) for head, one in enumerate(site)], [1, 0, 3, 2])
    [1, 3, 0, 2]
    """
    turns = _turns(units, order)
    return sorted(order, key=lambda place: turns[place])


def _turns(units: Sequence[Unit], order: Sequence[int]) -> dict[int, int]:
    """How many units of its own layer stand before each in an order."""
    seen: Counter[Site] = Counter()
    turns = {}
    for place in order:
        turns[place] = seen[units[place].site]
        seen[units[place].site] += 1
    return turns


def to_remove(units: Sequence[Unit], order: Sequence[int], keep: float, *, even: bool) -> list[int]:
    """The places of the units that go when a share of them is kept; with ``even``, that share of every layer's.

    >>> units = [Unit(Site(Stream.ENCODER, layer), (head,)) for layer in (0, 1) for head in (0, 1)]
    >>> to_remove(units, [0, 1, 2, 3], 0.5, even=False), to_remove(units, [0, 1, 2, 3], 0.5, even=True)
    ([0, 1], [0, 2])
    """
    if not even:
        return list(order[: round((1 - keep) * len(order))])
    gone = {site: round((1 - keep) * count) for site, count in Counter(unit.site for unit in units).items()}
    turns = _turns(units, order)
    return [place for place in order if turns[place] < gone[units[place].site]]


def kept_without(subject: Subject, units: Sequence[Unit]) -> Mapping[Site, list[int]]:
    """The heads that each site keeps when some units are removed; sites that lose none are left out."""
    return {
        site: [head for head, xi in enumerate(row.tolist()) if xi]
        for site, row in gates_without(subject, units).xi.items()
    }
