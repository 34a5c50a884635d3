"""What probes say of one edge across layers: which label leads, where that changes, where it settles.

At each layer a probe gives every label a probability of its own; they need not sum to one. The label with the largest
*leads*, if it reaches :data:`NOTICED`; a label over one half is one that the probe would *give*. An edge may bear
several labels (proto-roles): where more than one is over one half at most layers, the set of given labels is looked
at instead of the leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from attlas.pages import Prose, Row, listed, say
from attlas.studies.shared.layer_runs import TASKS

NOTICED, GIVEN = 0.1, 0.5
SHOWN, MOST = 6, 12  # labels that are drawn: so many of those noticed, and given ones up to this many
TOLD = 4  # stretches of layers that a sentence names


@dataclass(frozen=True)
class Panel:
    """What the probes of one run say of one edge: a probability for each label (row) at each layer (column).

    >>> panel = Panel(0, "a", "pos", (0, 1, 2), ("NN", "NNP", "IN"), ((0.6, 0.3, 0.1), (0.2, 0.7, 0.9), (0, 0, 0)))
    >>> panel.leaders, panel.settled, panel.shown
    (('NN', 'NNP', 'NNP'), 1, ('NNP', 'NN'))
    >>> panel.plural, sorted(panel.chosen(0)), panel.row("NN")[0], panel.left_out
    (False, ['NN'], 0.6, 0)
    """

    edge: int
    run: str
    task: str
    layers: tuple[int, ...]
    labels: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]

    def row(self, label: str) -> tuple[float, ...]:
        """The probabilities of a label, layer by layer."""
        return self.values[self.labels.index(label)]

    @cached_property
    def leaders(self) -> tuple[str | None, ...]:
        """The leading label of each layer; None where no label is noticed."""
        best = [max(zip(column, self.labels, strict=True), key=lambda pair: pair[0]) for column in zip(*self.values)]  # noqa: B905
        return tuple(label if value >= NOTICED else None for value, label in best)

    @cached_property
    def given(self) -> tuple[frozenset[str], ...]:
        """The labels over one half at each layer."""
        return tuple(
            frozenset(label for label in self.labels if self.row(label)[place] > GIVEN)
            for place in range(len(self.layers))
        )

    @cached_property
    def plural(self) -> bool:
        """Whether several labels are given at most layers."""
        return 2 * sum(len(labels) > 1 for labels in self.given) > len(self.layers)

    def chosen(self, place: int) -> frozenset[str]:
        """What the probe holds for likely at a layer, by its place: the leading label, and all that it gives."""
        leader = self.leaders[place]
        return self.given[place] if leader is None else self.given[place] | {leader}

    @cached_property
    def settled(self) -> int:
        """The first layer from which on the leading label (or, where there are several, those given) stays."""
        return self.layers[_since(self.given if self.plural else self.leaders)]

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The labels to draw: those noticed at some layer, the last leader first, then by their largest value."""
        most = {label: max(row) for label, row in zip(self.labels, self.values, strict=True)}
        order = sorted(most, key=lambda label: (label != self.leaders[-1], -most[label]))
        kept = [label for label in order if most[label] >= NOTICED]
        drawn = [
            label for place, label in enumerate(kept) if place < SHOWN or (most[label] > GIVEN and place < MOST)
        ]  # fmt: skip
        return tuple(drawn or order[:1])

    @property
    def left_out(self) -> int:
        """How many labels are noticed somewhere and still not drawn."""
        return max(0, sum(max(row) >= NOTICED for row in self.values) - len(self.shown))


def panels_of(rows: Iterable[Row]) -> list[Panel]:
    """The panels of a table of probabilities: edges as they were asked, tasks in the order of the paper.

    >>> row = {"edge": 0, "run": "a", "task": "pos", "layer": 0, "label": "NN", "value": 0.5}
    >>> panels_of([row])
    [Panel(edge=0, run='a', task='pos', layers=(0,), labels=('NN',), values=((0.5,),))]
    """
    tables: dict[tuple[int, str, str], dict[str, dict[int, float]]] = {}
    for row in rows:
        of_label = tables.setdefault((row["edge"], row["run"], row["task"]), {}).setdefault(row["label"], {})
        of_label[row["layer"]] = row["value"]
    panels = []
    for key, labels in tables.items():
        layers = tuple(sorted(next(iter(labels.values()))))
        values = tuple(tuple(of_label[layer] for layer in layers) for of_label in labels.values())
        panels.append(Panel(*key, layers, tuple(labels), values))
    order = list(TASKS)  # that of the paper
    return sorted(
        panels, key=lambda panel: (panel.edge, order.index(panel.task) if panel.task in order else len(order))
    )


def told(panel: Panel) -> Prose:
    """What a panel shows, in a sentence or two.

    >>> str(told(Panel(0, "a", "pos", (0, 1), ("NN", "VB"), ((0.6, 0.3), (0.2, 0.9)))))
    'NN leads at layer 0 (0.60); from layer 1 on it is VB, 0.90 at layer 1.'
    """
    if panel.plural:
        return _told_set(panel)
    runs = [(label, [place for place, _ in places])
            for label, places in groupby(enumerate(panel.leaders), key=lambda pair: pair[1])]  # fmt: skip
    *before, (last, _) = runs
    values = (0.0,) if last is None else panel.row(last)
    known = {"label": last, "first": panel.layers[0], "end": panel.layers[-1], "least": NOTICED, "a": values[0],
             "b": values[-1], "n": len(before), "settled": panel.settled}  # fmt: skip
    if not before and last is None:
        return say("No label reaches {least:share} at any layer: the probe has nothing to say of this.", **known)
    if len(values) == 1 and not before:
        return say("**{label}** leads with {a:share}.", **known)
    if not before:
        every = "**{label}** leads at every layer: {a:share} at layer {first}, {b:share} at layer {end}."
        return listed([say(every, **known), *_firm(panel, last)], between=" ")
    if len(before) >= TOLD:
        labels = _some(dict.fromkeys(label or "none" for label, _ in runs))
        text = say("The leading label changes {n} times, among {labels}", labels=labels, **known)
    else:
        text = listed([_stretch(panel, *run, first=not at) for at, run in enumerate(before)], between=", ")
    final = "no label reaches {least:share}" if last is None else "it is **{label}**, {b:share} at layer {end}"
    whole = say(f"{{text}}; from layer {{settled}} on {final}.", text=text, **known)
    return listed([whole, *_firm(panel, last)], between=" ")


def brief(panel: Panel, place: int) -> str:
    """What a panel has at one layer, in a few characters: the leading label, or those given, with probabilities.

    >>> brief(Panel(0, "a", "pos", (0, 1), ("NN", "VB"), ((0.6, 0.3), (0.2, 0.9))), -1)
    'VB 0.90'
    """
    leader = panel.leaders[place]
    labels = [leader] if leader is not None else []
    if panel.plural and panel.given[place]:
        labels = sorted(panel.given[place], key=lambda label: -panel.row(label)[place])
    named = [str(say("{label} {value:share}", label=label, value=panel.row(label)[place])) for label in labels[:2]]
    return ", ".join(named or ["none"]) + (f" + {len(labels) - 2}" if len(labels) > 2 else "")


def _since(seen: Sequence[object]) -> int:
    """The first place from which on all is as at the end."""
    place = len(seen) - 1
    while place > 0 and seen[place - 1] == seen[-1]:
        place -= 1
    return place


def _stretch(panel: Panel, label: str | None, places: Sequence[int], *, first: bool) -> Prose:
    layers = [panel.layers[place] for place in places]
    where = f"layer {layers[0]}" if len(layers) == 1 else f"layers {layers[0]}–{layers[-1]}"
    if label is None:
        return say("{no} label reaches {least:share} at {where}", no="No" if first else "no", least=NOTICED,
                   where=where)  # fmt: skip
    return say("**{label}** {leads}at {where} ({upto}{most:share})", label=label, leads="leads " if first else "",
               where=where, upto="at most " if len(layers) > 1 else "",
               most=max(panel.row(label)[place] for place in places))  # fmt: skip


def _firm(panel: Panel, label: str | None) -> list[Prose]:
    """From where on the last leader is given, if that is not from where it leads."""
    over = [value > GIVEN for value in panel.row(label)] if label is not None else []
    if over and not over[-1]:
        return [say("It is not over one half there, so the probe would give no label.")]
    layer = panel.layers[_since(over)] if over else 0
    return [say("It is over one half from layer {layer} on.", layer=layer)] if layer > panel.settled else []


def _told_set(panel: Panel) -> Prose:
    first, last, begin, end = panel.given[0], panel.given[-1], panel.layers[0], panel.layers[-1]
    order = sorted(last, key=lambda label: -panel.row(label)[-1])
    if not order:
        return say("At layer {end} no label is over one half; at layer {begin} {labels} were.", end=end, begin=begin,
                   labels=_some(first))  # fmt: skip
    text = say("At layer {end} {labels} {are} over one half.", end=end, labels=_some(order),
               are="is" if len(order) == 1 else "are")  # fmt: skip
    came, went = [label for label in order if label not in first], sorted(first - last)
    changes = [say("{labels} {how}", labels=_some(labels), how=how)
               for labels, how in ((came, "came"), (went, "went")) if labels]  # fmt: skip
    if changes:
        text += say("Since layer {begin} {changes}.", begin=begin, changes=listed(changes))
    if panel.settled == end and len(panel.layers) > 1:
        text += say("The set still changes at the last layer.")
    elif panel.settled > begin:
        text += say("The set stays as it is from layer {layer} on.", layer=panel.settled)
    return text


def _some(labels: Iterable[str]) -> Prose:
    """Some labels by name, and how many more there are."""
    kept = list(labels)
    more = [say("{n} more", n=len(kept) - TOLD)] if len(kept) > TOLD else []
    return listed([*(say("**{label}**", label=label) for label in kept[:TOLD]), *more])
