"""The rows that the charts of the report on layers read: means over seeds, with what is uncertain about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from attlas.reports.findings import is_number
from attlas.reports.layers_findings import NAMES, Known, Picture, Row
from attlas.studies.shared.published import PIPELINE, PIPELINE_LAYERS

PLACES = ("expected layer", "centre of gravity")
SHOWN_LABELS = 20


def place_rows(picture: Picture) -> list[Row]:
    """The two places of every task, with the published ones as they are and moved to this model's depth.

    >>> place_rows(Picture({"tasks": []}))
    []
    """
    rows: list[Row] = []
    for task in picture.tasks:
        for measure in PLACES:
            known = _known(picture, task, measure)
            told = getattr(PIPELINE[task], measure.replace(" ", "_")) if task in PIPELINE else None
            scaled = None if told is None or picture.heads else told * picture.layers / PIPELINE_LAYERS
            rows.append(
                {
                    "name": NAMES.get(task, task), "measure": measure, "value": known and known.value,
                    "low": known and known.low, "high": known and known.high, "published": told, "scaled": scaled,
                }
            )  # fmt: skip
    return rows


def bar_rows(picture: Picture) -> list[Row]:
    """Mixing weights by layer (heads summed) and gains, means of the seeds, and the two places.

    >>> bar_rows(Picture({"tasks": []}))
    []
    """
    rows: list[Row] = []
    for task in picture.tasks:
        weights: dict[int, float] = {}
        seeds = set()
        for row in _chosen(picture, "weights", task=task, model="trained", labels="gold"):
            weights[row["layer"]] = weights.get(row["layer"], 0.0) + row["value"]
            seeds.add(row["seed"])
        bars: list[tuple[str, int, float, float | None, float | None]] = [
            ("weight", layer, total / len(seeds), None, None) for layer, total in sorted(weights.items())
        ]
        chosen = _chosen(picture, "scores", task=task, model="trained", labels="gold", series="cumulative")
        for layer, same in _by_layer([row for row in chosen if row["difference"] is not None]):
            low, high = _reach(same, "difference", "difference_low", "difference_high")
            bars.append(("gain", layer, fmean(row["difference"] for row in same), low, high))
        rows += [
            {"task": task, "part": "bar", "kind": kind, "layer": layer, "value": value, "low": low, "high": high}
            for kind, layer, value, low, high in bars
        ]
        for kind, measure in (("weight", "centre of gravity"), ("gain", "expected layer")):
            known = _known(picture, task, measure)
            if known is not None:
                rows.append({"task": task, "part": "place", "kind": kind, "at": known.value})
    keys = dict.fromkeys(key for row in rows for key in row)
    return [{key: row.get(key) for key in keys} for row in rows]


def line_rows(picture: Picture) -> list[Row]:
    """Scores by layer, means of the seeds: a line for each kind of probe.

    >>> line_rows(Picture({"tasks": []}))
    []
    """
    rows: list[Row] = []
    for task in picture.tasks:
        singles = _chosen(picture, "scores", task=task, model="trained", labels="gold", series="single")
        lines = {
            name: _chosen(picture, "scores", task=task, model=model, labels="gold", series="cumulative")
            for name, model in (("layers 0 to l", "trained"), ("untrained twin", "untrained"))
        }
        first = min((row["layer"] for row in lines["layers 0 to l"]), default=0)
        if singles:
            lines["layer l alone"] = [row for row in lines["layers 0 to l"] if row["layer"] == first] + singles
        for name, found in lines.items():
            for layer, same in _by_layer(found):
                low, high = _reach(same, "value", "low", "high")
                value = fmean(row["value"] for row in same)
                rows.append(
                    {"task": task, "line": name, "layer": layer, "value": value, "low": low, "high": high}
                    | {"seeds": len(same)}
                )
    return rows


def control_rows(picture: Picture) -> list[Row]:
    """Scores on control labels and selectivity by layer, means of the seeds, of the model and its twin.

    >>> control_rows(Picture({"tasks": []}))
    []
    """
    rows: list[Row] = []
    for task in picture.tasks:
        for model in ("trained", "untrained"):
            chosen: dict[str, list[Row]] = {
                "control labels": _chosen(picture, "scores", task=task, model=model, labels="control"),
                "selectivity": [
                    dict(row) | {"value": row["selectivity"]}
                    for row in _chosen(picture, "scores", task=task, model=model, labels="gold", series="cumulative")
                    if row["selectivity"] is not None
                ],
            }
            rows += [
                {"name": NAMES.get(task, task), "model": model, "measure": measure, "layer": layer}
                | {"value": fmean(row["value"] for row in same)}
                for measure, found in chosen.items()
                for layer, same in _by_layer(found)
            ]
    return rows


def label_rows(picture: Picture) -> list[Row]:
    """F1 of the most frequent labels by layer, numbered by how often test has them.

    >>> label_rows(Picture({"tasks": []}))
    []
    """
    rows: list[Row] = []
    for task in picture.tasks:
        chosen = _chosen(picture, "labels", task=task)
        counts = {row["label"]: (row["test"], row["train"]) for row in chosen}
        kept = sorted(
            (label for label, (test, _) in counts.items() if test), key=lambda name: (-counts[name][0], name)
        )
        for order, label in enumerate(kept[:SHOWN_LABELS]):
            test, train = counts[label]
            same = [row for row in chosen if row["label"] == label and row["value"] is not None]
            rows += [
                {
                    "task": task, "label": label, "order": order, "layer": layer, "train": train, "test": test,
                    "value": fmean(row["value"] for row in found),
                }
                for layer, found in _by_layer(same)
            ]  # fmt: skip
    return rows


def head_rows(picture: Picture) -> list[Row]:
    """Weights of heads in the mix; layers as the map of heads takes them, from 0.

    >>> head_rows(Picture({"tasks": []}))
    []
    """
    rows: list[Row] = []
    for task in picture.tasks:
        for model in ("trained", "untrained"):
            found: dict[tuple[int, int], list[float]] = {}
            for row in _chosen(picture, "weights", task=task, model=model, labels="gold"):
                if row["head"] is not None:
                    found.setdefault((row["layer"], row["head"]), []).append(row["value"])
            rows += [
                {"task": task, "model": model, "layer": layer - 1, "head": head, "value": fmean(values)}
                | {"times": fmean(values) * len(found), "low": None, "high": None, "chance": None, "n": len(values)}
                for (layer, head), values in sorted(found.items())
            ]
    return rows


def _known(picture: Picture, task: str, measure: str) -> Known | None:
    return picture.place(task) if measure == "expected layer" else picture.of(task, measure)


def _chosen(picture: Picture, name: str, **wanted: str) -> list[Row]:
    """Rows of a table with these values, and with a value at all."""
    rows = picture.rows.get(name, ())
    return [
        row
        for row in rows
        if all(row[key] == value for key, value in wanted.items()) and (name == "labels" or is_number(row["value"]))
    ]


def _by_layer(rows: Iterable[Row]) -> list[tuple[int, list[Row]]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(int(row["layer"]), []).append(row)
    return sorted(found.items())


def _reach(rows: Sequence[Row], value: str, low: str, high: str) -> tuple[float | None, float | None]:
    """What is uncertain: of one seed its interval, of several their range."""
    if len(rows) == 1:
        return rows[0][low], rows[0][high]
    return min(row[value] for row in rows), max(row[value] for row in rows)
