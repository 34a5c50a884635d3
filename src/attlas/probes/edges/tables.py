"""The tables of a task: from what training has left to what a result holds.

``tasks`` has the answers in few numbers, ``scores`` the scores of all probes, ``weights`` the mix of the probe over
all layers, and ``labels`` how well each label is told, layer by layer. Layers count as in the paper: 0 is what the
model reads, l is after l layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attlas.probes.edges import summary
from attlas.probes.edges.summary import Estimate, Numbers
from attlas.store.columns import as_columns

if TYPE_CHECKING:
    from attlas.probes.edges.series import Origin, Trained

Key = tuple[str, str, int]
_FORCED = ("forced", "forced_low", "forced_high")


class _Run(NamedTuple):
    """One training, with the places of its probes, their marks by unit, their scores and the ends of their intervals,
    and the scores on resampled units; ``forced`` are scores and ends where the most likely label is always
    said. All runs of one model have the same probes."""

    of: Trained
    places: dict[Key, int]
    marks: Numbers
    score: Numbers
    ends: tuple[Numbers, Numbers]
    drawn: Numbers
    forced: tuple[Numbers, Numbers, Numbers] | None

    def cumulative(self, labels: str) -> dict[int, int]:
        """The places of the cumulative probes by their layers, from low to high."""
        layers = sorted(layer for *kind, layer in self.places if kind == [labels, "cumulative"])
        return {layer: self.places[labels, "cumulative", layer] for layer in layers}

    def alone(self, series: str = "single") -> dict[int, int]:
        """The places of the probes on one layer each, by their layers; below the first there is nothing to add, so
        that its cumulative probe is one of them."""
        places = {layer: place for (_, kind, layer), place in self.places.items() if kind == series}
        if series == "single" and places:
            first, place = next(iter(self.cumulative("gold").items()))
            places = {first: place, **places}
        return places

    def last(self, labels: str) -> int:
        """The place of the probe over all layers."""
        return list(self.cumulative(labels).values())[-1]

    def score_ends(self, place: int) -> tuple[float, float]:
        """The interval of the score of one probe."""
        return float(self.ends[0][place]), float(self.ends[1][place])

    @property
    def units(self) -> int:
        """How many units there are."""
        return int(self.marks.shape[1])

    def more_ends(self, place: int, other: int) -> tuple[float, float]:
        """The interval of what one probe has more than another."""
        return summary.difference_interval(self.marks[place], self.marks[other])


def tables_of(
    task: str,
    trained: Sequence[Trained],
    origins: Sequence[Origin],
    labels: Sequence[str],
    train_counts: Sequence[int],
    test_counts: Sequence[int],
    majority: float,
    seed: int,
    units: Sequence[int] | None = None,
) -> dict[str, dict[str, list[Any]]]:
    """The tables of one task. ``train_counts`` and ``test_counts`` say how often each label is given there,
    ``majority`` is the score of always saying the most frequent label, ``seed`` draws the resamples, and ``units``
    are the units of the test sentences; without them each is one.

    >>> from attlas.probes.edges.series import Origin, Spec, Trained
    >>> specs = (Spec("gold", "cumulative", 0), Spec("gold", "cumulative", 1))
    >>> marks = np.array([[[1, 2, 2], [1, 2, 2]], [[2, 2, 2], [1, 2, 2]]], dtype=float)
    >>> one = Trained("model", 0, specs, marks, marks, np.array([[1, 0], [0.25, 0.75]]), np.ones(2), np.ones(2))
    >>> made = tables_of("pos", [one], [Origin(0), Origin(1)], ["DT", "NN"], [9, 8], [2, 2], 0.5, 0)
    >>> list(made), made["scores"]["difference"]
    (['tasks', 'scores', 'weights', 'labels'], [None, 0.25])
    >>> dict(zip(made["tasks"]["measure"], made["tasks"]["value"]))["centre of gravity"]
    0.75
    """
    runs: dict[str, list[_Run]] = {}
    for one in trained:
        runs.setdefault(one.who, []).append(_run(one, seed, units))
    every = [run for same in runs.values() for run in same]
    rows = {
        "tasks": [row for who, same in runs.items() for row in _task_rows(who, same, origins)],
        "scores": [row for run in every for row in _score_rows(run)],
        "weights": [row for run in every for row in _weight_rows(run, origins)],
        "labels": [row for run in runs["model"] for row in _label_rows(run, labels, train_counts, test_counts)],
    }
    rows["tasks"].append(_measured("none", "gold", "most frequent label", Estimate(majority, n=0)))
    return {name: as_columns([{"task": task, **row} for row in of_table]) for name, of_table in rows.items()}


def _run(one: Trained, seed: int, units: Sequence[int] | None) -> _Run:
    places = {(spec.labels, spec.series, spec.layer): place for place, spec in enumerate(one.specs)}
    marks = summary.by_unit(one.marks, units)
    drawn, scores, ends = summary.resampled(marks, seed=seed), summary.scores(marks), summary.score_intervals(marks)
    forced = None
    if one.forced is not None:
        always = summary.by_unit(one.forced, units)
        forced = (summary.scores(always), *summary.score_intervals(always))
    return _Run(one, places, marks, scores, ends, drawn, forced)


def _task_rows(who: str, runs: Sequence[_Run], origins: Sequence[Origin]) -> list[dict[str, Any]]:
    if who == "twin" and len(runs) > 1:
        return _of_twins([_task_rows(who, [run], origins) for run in runs])
    known = [labels for labels in ("gold", "control") if runs[0].cumulative(labels)]
    measures = [(labels, _of_curve(runs, labels) | _of_mix(runs, labels, origins)) for labels in known]
    measures.append(("gold", _of_singles(runs) | _of_controls(runs)))
    return [_measured(who, labels, name, value) for labels, found in measures for name, value in found.items()]


def _of_twins(each: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The rows of several untrained twins as one: the mean of what they have, with the lowest and the highest."""
    together = []
    for same in zip(*each, strict=True):
        values = [row["value"] for row in same if np.isfinite(row["value"])]
        known = (
            Estimate(float(np.mean(values)), min(values), max(values), len(values)) if values else Estimate(np.nan)
        )
        together.append({**same[0], **known._asdict()})
    return together


def _of_curve(runs: Sequence[_Run], labels: str) -> dict[str, Estimate]:
    """What the cumulative scores say."""
    probes = runs[0].cumulative(labels)
    layers, places = list(probes), list(probes.values())
    curves = [run.score[places] for run in runs]
    first, last = layers[0], layers[-1]
    found = {"score": _score_of(runs, places[-1])}
    if first == 0:
        found["score at layer 0"] = _score_of(runs, places[0])
    if layers == list(range(first, last + 1)) and last > first:
        more = [float(curve[-1] - curve[0]) for curve in curves]
        found["gain"] = summary.estimate(more, runs[0].more_ends(places[-1], places[0]), (-1, 1))
        layer = [float(summary.expected_layer(curve, first)) for curve in curves]
        drawn = summary.expected_layer(runs[0].drawn[:, places], first)
        found["expected layer"] = summary.estimate(layer, summary.middle(drawn, runs[0].units))
        # no interval by resampling: chance alone makes gains uneven, so that all resamples lie above the value
        found["K(D)"] = summary.over_seeds([float(summary.gains_from_uniform(curve)) for curve in curves])
    return found


def _of_mix(runs: Sequence[_Run], labels: str, origins: Sequence[Origin]) -> dict[str, Estimate]:
    """What the mixing weights of the probe over all layers say; they do not depend on the test sentences."""
    layers = [origin.layer for origin in origins]
    mixes = [run.of.weights[run.last(labels)] for run in runs]
    return {
        "centre of gravity": summary.over_seeds(
            [summary.centre_of_gravity(mix, layers) for mix in mixes], (min(layers), max(layers))
        ),
        "K(s)": summary.over_seeds([float(summary.from_uniform(mix)) for mix in mixes]),
    }


def _of_singles(runs: Sequence[_Run]) -> dict[str, Estimate]:
    """The best layer alone, chosen on dev by the mean of the seeds, and its score on test."""
    places = runs[0].alone()
    if not places:
        return {}
    best = max(places, key=lambda layer: np.mean([run.of.dev[places[layer]] for run in runs]))
    return {"best single layer": Estimate(float(best), n=len(runs)), "score of it": _score_of(runs, places[best])}


def _score_of(runs: Sequence[_Run], place: int) -> Estimate:
    """The score of one probe."""
    return summary.estimate([float(run.score[place]) for run in runs], runs[0].score_ends(place), (0, 1))


def _of_controls(runs: Sequence[_Run]) -> dict[str, Estimate]:
    """Selectivity: how much better gold labels are told than control labels, over all layers and at layer 0."""
    gold, control = runs[0].cumulative("gold"), runs[0].cumulative("control")
    found = {}
    for name, layer in (("selectivity", max(gold)), ("selectivity at layer 0", 0)):
        if layer in gold and layer in control:
            values = [float(run.score[gold[layer]] - run.score[control[layer]]) for run in runs]
            found[name] = summary.estimate(values, runs[0].more_ends(gold[layer], control[layer]))
    return found


def _score_rows(run: _Run) -> list[dict[str, Any]]:
    low, high = run.ends
    mlp = run.alone()
    rows = []
    for place, spec in enumerate(run.of.specs):
        row: dict[str, Any] = {
            "who": run.of.who, "labels": spec.labels, "series": spec.series, "layer": spec.layer,
            "seed": run.of.seed, "value": run.score[place], "low": low[place],
            "high": high[place], "difference": None, "difference_low": None, "difference_high": None,
            "selectivity": None, "validation": run.of.dev[place], "n": int(run.of.marks[place, :, 2].sum()),
            "above_mlp": None, "above_mlp_low": None, "above_mlp_high": None, "forced": None, "forced_low": None,
            "forced_high": None,
        }  # fmt: skip
        if spec.series == "cumulative":
            before = run.places.get((spec.labels, spec.series, spec.layer - 1))
            if before is not None:
                row["difference"] = run.score[place] - run.score[before]
                row["difference_low"], row["difference_high"] = run.more_ends(place, before)
            control = run.places.get(("control", spec.series, spec.layer))
            if spec.labels == "gold" and control is not None:
                row["selectivity"] = run.score[place] - run.score[control]
        if spec.series == "linear" and spec.layer in mlp:
            row["above_mlp"] = run.score[place] - run.score[mlp[spec.layer]]
            row["above_mlp_low"], row["above_mlp_high"] = run.more_ends(place, mlp[spec.layer])
        if run.forced is not None:
            row |= {name: part[place] for name, part in zip(_FORCED, run.forced, strict=True)}
        rows.append(row)
    return rows


def _weight_rows(run: _Run, origins: Sequence[Origin]) -> list[dict[str, Any]]:
    return [
        {"who": run.of.who, "labels": labels, "seed": run.of.seed, "layer": origin.layer, "head": origin.head,
         "value": weight, "gamma": run.of.gammas[run.last(labels)]}
        for labels in ("gold", "control")
        if run.cumulative(labels)
        for origin, weight in zip(origins, run.of.weights[run.last(labels)], strict=True)
    ]  # fmt: skip


def _label_rows(run: _Run, labels: Sequence[str], train: Sequence[int], test: Sequence[int]) -> list[dict[str, Any]]:
    probes = run.cumulative("gold")
    marks = np.asarray(run.of.label_marks)[list(probes.values())]
    found = summary.scores(marks[:, :, None, :])
    return [
        {"label": label, "seed": run.of.seed, "layer": layer, "value": found[place, number], "train": train[number],
         "test": test[number]}
        for number, label in enumerate(labels)
        for place, layer in enumerate(probes)
    ]  # fmt: skip


def _measured(who: str, labels: str, measure: str, found: Estimate) -> dict[str, Any]:
    return {"who": who, "labels": labels, "measure": measure, **found._asdict()}
