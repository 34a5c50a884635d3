"""What probes say of one edge across layers, in sentences: which label leads, where that changes, where it settles.

At each layer a probe gives every label a probability of its own; they need not sum to one. The label with the largest
*leads*, if it reaches :data:`NOTICED`; a label over one half is one that the probe would *give*. An edge may bear
several labels (proto-roles): where more than one is over one half at most layers, the set of given labels is looked
at instead of the leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

from attlas.reports.layers_findings import NAMES
from attlas.reports.tables import share

Row = Mapping[str, Any]

NOTICED, GIVEN = 0.1, 0.5
SHOWN, MOST = 6, 12  # labels that are drawn: so many of those noticed, and given ones up to this many
TOLD = 4  # stretches of layers that a sentence names
# what the two spans of a pair are to a task
SIDES = {
    "dependencies": ("dependent", "governor"),
    "roles": ("predicate", "argument"),
    "coreference": ("later mention", "earlier one"),
    "proto-roles": ("predicate", "argument"),
    "relations": ("e1", "e2"),
}


class Stretch(NamedTuple):
    """Neighbouring layers at which the same label leads, or none does.

    >>> Stretch("NNP", 0, 2, 0.9).label
    'NNP'
    """

    label: str | None
    first: int
    last: int
    most: float


@dataclass(frozen=True)
class Panel:
    """What the probes of one run say of one edge: a probability for each label (row) at each layer (column).

    >>> panel = Panel(0, "a", "pos", (0, 1, 2), ("NN", "NNP"), ((0.6, 0.3, 0.1), (0.2, 0.7, 0.9)))
    >>> panel.leaders, panel.settled
    (('NN', 'NNP', 'NNP'), 1)
    """

    edge: int
    run: str
    task: str
    layers: tuple[int, ...]
    labels: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]

    @cached_property
    def leaders(self) -> tuple[str | None, ...]:
        """The leading label of each layer; None where no label is noticed.

        >>> Panel(0, "a", "pos", (0, 1), ("NN",), ((0.05, 0.3),)).leaders
        (None, 'NN')
        """
        found: list[str | None] = []
        for place in range(len(self.layers)):
            best = max(range(len(self.labels)), key=lambda label: self.values[label][place])
            found.append(self.labels[best] if self.values[best][place] >= NOTICED else None)
        return tuple(found)

    @cached_property
    def given(self) -> tuple[frozenset[str], ...]:
        """The labels over one half at each layer.

        >>> Panel(0, "a", "pos", (0, 1), ("NN",), ((0.05, 0.7),)).given
        (frozenset(), frozenset({'NN'}))
        """
        return tuple(
            frozenset(label for label, row in zip(self.labels, self.values, strict=True) if row[place] > GIVEN)
            for place in range(len(self.layers))
        )

    @cached_property
    def plural(self) -> bool:
        """Whether several labels are given at most layers.

        >>> Panel(0, "a", "proto-roles", (0, 1), ("moved", "aware"), ((0.8, 0.7), (0.9, 0.9))).plural
        True
        """
        return 2 * sum(len(labels) > 1 for labels in self.given) > len(self.layers)

    def chosen(self, place: int) -> frozenset[str | None]:
        """What the probe holds for likely at a layer, by its place: the leading label, and all that it gives.

        >>> Panel(0, "a", "pos", (0, 1), ("NN", "VB"), ((0.3, 0.1), (0.2, 0.4))).chosen(0)
        frozenset({'NN'})
        """
        leader = () if self.leaders[place] is None else (self.leaders[place],)
        return self.given[place].union(leader)

    @cached_property
    def settled(self) -> int:
        """The first layer from which on the leading label (or, where there are several, those given) stays.

        >>> Panel(0, "a", "pos", (0, 1), ("NN",), ((0.5, 0.6),)).settled
        0
        """
        seen: Sequence[object] = self.given if self.plural else self.leaders
        place = len(seen) - 1
        while place > 0 and seen[place - 1] == seen[-1]:
            place -= 1
        return self.layers[place]

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """Layers put together where the same label leads.

        >>> Panel(0, "a", "pos", (0, 1, 2), ("NN", "VB"), ((0.6, 0.3, 0.2), (0.2, 0.4, 0.9))).stretches
        (Stretch(label='NN', first=0, last=0, most=0.6), Stretch(label='VB', first=1, last=2, most=0.9))
        """
        found: list[Stretch] = []
        for place, (layer, label) in enumerate(zip(self.layers, self.leaders, strict=True)):
            most = max(row[place] for row in self.values)
            if found and found[-1].label == label:
                found[-1] = Stretch(label, found[-1].first, layer, max(most, found[-1].most))
            else:
                found.append(Stretch(label, layer, layer, most))
        return tuple(found)

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The labels to draw: those noticed at some layer, the last leader first, then by their largest value.

        >>> Panel(0, "a", "pos", (0, 1), ("NN", "VB", "IN"), ((0.6, 0.3), (0.2, 0.9), (0.0, 0.0))).shown
        ('VB', 'NN')
        """
        most = {label: max(row) for label, row in zip(self.labels, self.values, strict=True)}
        order = sorted(most, key=lambda label: (label != self.leaders[-1], -most[label]))
        kept = [label for label in order if most[label] >= NOTICED]
        drawn = [
            label for place, label in enumerate(kept) if place < SHOWN or (most[label] > GIVEN and place < MOST)
        ]  # fmt: skip
        return tuple(drawn or order[:1])

    @property
    def left_out(self) -> int:
        """How many labels are noticed somewhere and still not drawn.

        >>> Panel(0, "a", "pos", (0,), ("NN",), ((0.6,),)).left_out
        0
        """
        return max(0, sum(max(row) >= NOTICED for row in self.values) - len(self.shown))

    def row(self, label: str) -> tuple[float, ...]:
        """The probabilities of a label, layer by layer.

        >>> Panel(0, "a", "pos", (0,), ("NN",), ((0.6,),)).row("NN")
        (0.6,)
        """
        return self.values[self.labels.index(label)]


def panels_of(rows: Iterable[Row]) -> list[Panel]:
    """The panels of a table of probabilities: edges as they were asked, tasks in the order of the paper.

    >>> row = {"edge": 0, "run": "a", "task": "pos", "layer": 0, "label": "NN", "value": 0.5}
    >>> panels_of([row])
    [Panel(edge=0, run='a', task='pos', layers=(0,), labels=('NN',), values=((0.5,),))]
    """
    found: dict[tuple[int, str, str], dict[str, dict[int, float]]] = {}
    for row in rows:
        of_label = found.setdefault((row["edge"], row["run"], row["task"]), {}).setdefault(row["label"], {})
        of_label[row["layer"]] = row["value"]
    panels = []
    for (edge, run, task), labels in found.items():
        layers = tuple(sorted(next(iter(labels.values()))))
        values = tuple(tuple(of_label[layer] for layer in layers) for of_label in labels.values())
        panels.append(Panel(edge, run, task, layers, tuple(labels), values))
    order = list(NAMES)  # that of the paper
    return sorted(
        panels, key=lambda panel: (panel.edge, order.index(panel.task) if panel.task in order else len(order))
    )


def told(panel: Panel) -> str:
    """What a panel shows, in a sentence or two of HTML.

    >>> told(Panel(0, "a", "pos", (0, 1), ("NN", "VB"), ((0.6, 0.3), (0.2, 0.9))))
    '<b>NN</b> leads at layer 0 (.60); from layer 1 on it is <b>VB</b>, .90 at layer 1.'
    """
    return _told_many(panel) if panel.plural else _told_one(panel)


def _told_one(panel: Panel) -> str:
    *before, last = panel.stretches
    end = panel.layers[-1]
    if last.label is None:
        final = f"no label reaches {share(NOTICED)}"
        if not before:
            return f"No label reaches {share(NOTICED)} at any layer: the probe has nothing to say of this."
    else:
        values = panel.row(last.label)
        if not before:
            if len(values) == 1:
                return f"{_bold(last.label)} leads with {share(values[0])}."
            return (
                f"{_bold(last.label)} leads at every layer: {share(values[0])} at layer {panel.layers[0]}, "
                f"{share(values[-1])} at layer {end}.{_firm(panel, last.label)}"
            )
        final = f"it is {_bold(last.label)}, {share(values[-1])} at layer {end}"
    if len(before) >= TOLD:
        seen = dict.fromkeys(stretch.label for stretch in panel.stretches)
        among = _some(label or "none" for label in seen)
        text = f"The leading label changes {len(before)} times, among {among}"
    else:
        text = ", ".join(_stretch(stretch, first=place == 0) for place, stretch in enumerate(before))
    return f"{text}; from layer {last.first} on {final}.{_firm(panel, last.label)}"


def _stretch(stretch: Stretch, *, first: bool) -> str:
    single = stretch.first == stretch.last
    where = f"layer {stretch.first}" if single else f"layers {stretch.first}–{stretch.last}"
    if stretch.label is None:
        return f"{'No' if first else 'no'} label reaches {share(NOTICED)} at {where}"
    most = share(stretch.most) if single else f"at most {share(stretch.most)}"
    return f"{_bold(stretch.label)} {'leads ' if first else ''}at {where} ({most})"


def _firm(panel: Panel, label: str | None) -> str:
    """From where on the last leader is given, if that is not from where it leads."""
    if label is None:
        return ""
    over = [value > GIVEN for value in panel.row(label)]
    if not over[-1]:
        return " It is not over one half there, so the probe would give no label."
    place = len(over) - 1
    while place > 0 and over[place - 1]:
        place -= 1
    return f" It is over one half from layer {panel.layers[place]} on." if panel.layers[place] > panel.settled else ""


def _told_many(panel: Panel) -> str:
    first, last = panel.given[0], panel.given[-1]
    end = panel.layers[-1]
    order = sorted(last, key=lambda label: -panel.row(label)[-1])
    if not order:
        return f"At layer {end} no label is over one half; at layer {panel.layers[0]} {_some(first)} were."
    text = f"At layer {end} {_some(order)} {'is' if len(order) == 1 else 'are'} over one half."
    came, went = [label for label in order if label not in first], sorted(first - last)
    changes = [f"{_some(labels)} {how}" for labels, how in ((came, "came"), (went, "went")) if labels]
    since = f" Since layer {panel.layers[0]} {' and '.join(changes)}." if changes else ""
    if panel.settled < end or len(panel.layers) == 1:
        stays = f" The set stays as it is from layer {panel.settled} on." if panel.settled > panel.layers[0] else ""
    else:
        stays = " The set still changes at the last layer."
    return text + since + stays


def _some(labels: Iterable[str]) -> str:
    """Some labels by name, and how many more there are."""
    kept = list(labels)
    named = [_bold(label) for label in kept[:TOLD]]
    more = f" and {len(kept) - TOLD} more" if len(kept) > TOLD else ""
    return (", ".join(named) + more) if more else _listed(named)


def brief(panel: Panel, place: int) -> str:
    """What a panel has at one layer, in a few characters: the leading label, or those given, with probabilities.

    >>> brief(Panel(0, "a", "pos", (0, 1), ("NN", "VB"), ((0.6, 0.3), (0.2, 0.9))), -1)
    'VB .90'
    """
    if panel.plural and panel.given[place]:
        order = sorted(panel.given[place], key=lambda label: -panel.row(label)[place])
        named = [f"{label} {share(panel.row(label)[place])}" for label in order[:2]]
        return ", ".join(named) + (f" + {len(order) - 2}" if len(order) > 2 else "")
    leader = panel.leaders[place]
    return "none" if leader is None else f"{leader} {share(panel.row(leader)[place])}"


def in_short(panels: Sequence[Panel]) -> list[str]:
    """What all panels have in common and where they differ, as sentences of HTML.

    >>> one = Panel(0, "a", "pos", (0, 1), ("NN", "VB"), ((0.6, 0.3), (0.2, 0.9)))
    >>> in_short([one])[0]
    'What the probes hold for likely at the first and at the last layer differs in <b>1 of 1</b> questions.'
    """
    several = [panel for panel in panels if len(panel.layers) > 1]
    if not several:
        return []
    moved = [panel for panel in several if panel.chosen(0) != panel.chosen(-1)]
    asked = "" if len(several) == 1 else " (spans or pairs, asked of a task)"
    found = [
        f"What the probes hold for likely at the first and at the last layer differs in <b>{len(moved)} of "
        f"{len(several)}</b> questions{asked}."
    ]
    by_task: dict[str, list[int]] = {}
    for panel in several:
        by_task.setdefault(panel.task, []).append(panel.settled)
    if len(by_task) > 1:
        order = sorted(by_task, key=lambda task: max(by_task[task]))
        early, late = max(by_task[order[0]]), max(by_task[order[-1]])
        if early < late:
            firsts = [task_name(task) for task in order if max(by_task[task]) == early]
            lasts = [task_name(task) for task in order if max(by_task[task]) == late]
            found.append(
                f"First to settle for good: <b>{escape(_listed(firsts))}</b> (layer {early}); last: "
                f"<b>{escape(_listed(lasts))}</b> (layer {late}). One sentence is no order of tasks; runs over a "
                "test set show that."
            )
    return found


def ends(panels: Sequence[Panel]) -> tuple[str, str]:
    """What the first and the last layer of these panels are called.

    >>> ends([Panel(0, "a", "pos", (0, 1), ("NN",), ((0.6, 0.3),))])
    ('layer 0', 'layer 1')
    """
    firsts, lasts = ({panel.layers[place] for panel in panels} for place in (0, -1))
    return (
        f"layer {firsts.pop()}" if len(firsts) == 1 else "first layer",
        f"layer {lasts.pop()}" if len(lasts) == 1 else "last layer",
    )


def task_name(task: str) -> str:
    """A task as a heading has it.

    >>> task_name("pos"), task_name("my own")
    ('part of speech', 'my own')
    """
    return NAMES.get(task, task)


def _bold(label: str) -> str:
    return f"<b>{escape(label)}</b>"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
