"""The tables of a result of layers as its page reads them: one row for each task, and means of the seeds by layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from attlas.pages.rows import Row, Rows, Tables
from attlas.studies.shared.published import PIPELINE, PIPELINE_LAYERS

SHOWN_LABELS = 20
UNITS = {"document": "documents", "text": "sentences"}
MEASURES = {  # what a column of the summary is in the table of tasks: measure, whose, on which labels
    "expected": ("expected layer", "model", "gold"),
    "twin_expected": ("expected layer", "twin", "gold"),
    "control_expected": ("expected layer", "model", "control"),
    "centre": ("centre of gravity", "model", "gold"),
    "twin_centre": ("centre of gravity", "twin", "gold"),
    "control_centre": ("centre of gravity", "model", "control"),
    "k_weights": ("K(s)", "model", "gold"),
    "k_gains": ("K(D)", "model", "gold"),
    "base": ("score at layer 0", "model", "gold"),
    "twin_base": ("score at layer 0", "twin", "gold"),
    "score": ("score", "model", "gold"),
    "twin_score": ("score", "twin", "gold"),
    "chance_score": ("most frequent label", "none", "gold"),
    "gain": ("gain", "model", "gold"),
    "best": ("best single layer", "model", "gold"),
    "alone": ("score of it", "model", "gold"),
    "control_base": ("score at layer 0", "model", "control"),
    "control_score": ("score", "model", "control"),
    "selectivity": ("selectivity", "model", "gold"),
    "twin_selectivity": ("selectivity", "twin", "gold"),
    "base_selectivity": ("selectivity at layer 0", "model", "gold"),
}


_PLACES = ("expected", "centre", "k_weights", "k_gains", "best", "alone")  # none where probes learned nothing
NOTHING = 0.01  # an F1 that is below this is nothing, whatever the labels are


def learned_nothing(row: Row) -> bool:
    """Whether the probes of a task, as the summary has them, are not surely better than always saying the most
    frequent label: the interval of the score over all layers is not above it.

    >>> learned_nothing({"score": 0.5, "score_low": 0.3, "chance_score": 0.4})
    True
    >>> learned_nothing({"score": 0.5, "chance_score": 0.4})
    False
    """
    score, low, chance = (row.get(name) for name in ("score", "score_low", "chance_score"))
    if score is None:
        return False
    surely = score if low is None or low != low else low
    return bool(score < NOTHING or (chance is not None and surely <= chance))


def depth_of(tables: Tables) -> int:
    """The number of the last layer.

    >>> from attlas.store import Manifest, Result
    >>> depth_of(Tables(Result(Manifest("layers"), {"scores": {"layer": [0, 1, 2]}})))
    2
    """
    return max(tables["scores"].column("layer"), default=0)


def over_heads(tables: Tables) -> bool:
    """Whether heads were mixed, and not states of layers.

    >>> from attlas.store import Manifest, Result
    >>> over_heads(Tables(Result(Manifest("layers"), {"weights": {"head": [None]}})))
    False
    """
    return len(tables["weights"].known("head")) > 0


def summary(tables: Tables) -> list[Row]:
    """All that is measured of a task in one row, tasks in the order of their expected layers, those without one last;
    what was measured for no task has no column.

    >>> from attlas.store import Manifest, Result
    >>> row = {"task": "pos", "who": "model", "labels": "gold", "measure": "score", "value": 0.9, "n": 1}
    >>> table = {name: [value] for name, value in (row | {"low": None, "high": None}).items()}
    >>> summary(Tables(Result(Manifest("layers"), {"tasks": table})))[0]["score"]
    0.9
    """
    cells = {(row["task"], row["measure"], row["who"], row["labels"]): row for row in tables["tasks"].known("value")}
    depth, told = depth_of(tables), not over_heads(tables)
    rows: list[dict[str, Any]] = []
    for task in tables["tasks"].values("task"):
        row: dict[str, Any] = {"task": task}
        for name, (measure, who, labels) in MEASURES.items():
            cell = cells.get((task, measure, who, labels))
            if measure == "expected layer" and not _is_place(cell, cells.get((task, "gain", who, labels)), depth):
                cell = None
            ends = {"": "value", "_low": "low", "_high": "high"}
            row |= {name + end: None if cell is None else cell[column] for end, column in ends.items()}
        if learned_nothing(row):
            row |= {name + end: None for name in _PLACES for end in ("", "_low", "_high")}
        score = cells.get((task, *MEASURES["score"]))
        row["seeds"] = None if score is None else score["n"]
        twin = cells.get((task, *MEASURES["twin_score"]))
        row["twins"] = None if twin is None else twin["n"]
        row["share"] = None if row["expected"] is None or not depth else row["expected"] / depth
        if told and task in PIPELINE and not learned_nothing(row):
            base, reached, expected, centre = PIPELINE[task]
            row |= {
                "published_expected": expected, "published_centre": centre, "published_base": base,
                "published_score": reached, "published_share": expected / PIPELINE_LAYERS,
                "scaled_expected": expected * depth / PIPELINE_LAYERS,
                "scaled_centre": centre * depth / PIPELINE_LAYERS,
            }  # fmt: skip
        rows.append(row)
    rows.sort(key=lambda row: float("inf") if row["expected"] is None else row["expected"])
    used = dict.fromkeys(name for row in rows for name, value in row.items() if value is not None)
    return [{name: row.get(name) for name in used} for row in rows]


def _is_place(expected: Row | None, gain: Row | None, depth: int) -> bool:
    """Whether an expected layer is one: not where further layers add nothing that can be told from chance, nor where
    losses push it out of the model, since a mean over such gains is no place."""
    if gain is not None and (gain["value"] <= 0 or (gain["low"] is not None and gain["low"] <= 0)):
        return False
    return expected is not None and 0 <= expected["value"] <= (depth or expected["value"])


def _gains(tables: Tables) -> Iterator[Row]:
    """What each further layer adds, means of the seeds."""
    for task in _tasks(tables):
        for layer, same in _by_layer(_scores(tables, task).known("difference")):
            added = same.mean("difference") or 0.0
            yield {"task": task, "layer": layer, "gain": added, **_reach(same, "difference", "gain_"),
                   "points": 100 * added}  # fmt: skip


def _mix(tables: Tables) -> Iterator[Row]:
    """The weight of each layer in the mix of all, heads summed, means of the seeds."""
    for task in _tasks(tables):
        weights = tables["weights"].where(task=task, who="model", labels="gold").known("value")
        for layer, same in _by_layer(weights):
            yield {"task": task, "layer": layer, "weight": same.total("value") / len(weights.values("seed"))}


def _curves(tables: Tables) -> Iterator[Row]:
    """Scores by layer, means of the seeds: a line for each kind of probe."""
    for task in _tasks(tables):
        all_below, single = _scores(tables, task), _scores(tables, task, series="single")
        first = min(all_below.column("layer"), default=0)
        lines = {
            "layers 0 to l": all_below,
            "layer l alone": all_below.where(layer=first) + single if single else single,
            "layer l alone, linear": _scores(tables, task, series="linear"),
            "untrained twin": _scores(tables, task, who="twin"),
        }
        for line, rows in lines.items():
            for layer, same in _by_layer(rows):
                yield {"task": task, "line": line, "layer": layer, "value": same.mean("value"),
                       **_reach(same, "value", ""), "seeds": len(same)}  # fmt: skip


def _controls(tables: Tables) -> Iterator[Row]:
    """Scores on control labels and selectivity by layer, means of the seeds, of the model and its twin."""
    for task, who in product(_tasks(tables), ("model", "twin")):
        gold = dict(_by_layer(_scores(tables, task, who=who).known("selectivity")))
        for layer, same in _by_layer(_scores(tables, task, who=who, labels="control")):
            selectivity = gold[layer].mean("selectivity") if layer in gold else None
            yield {"task": task, "who": who, "layer": layer, "selectivity": selectivity,
                   "control": same.mean("value")}  # fmt: skip


def _frequent_labels(tables: Tables) -> Iterator[Row]:
    """F1 of the labels that test has most often, by layer, means of the seeds."""
    for task in _tasks(tables):
        labels = {label: rows for label, rows in tables["labels"].where(task=task).by("label") if rows[0]["test"]}
        kept = sorted(labels, key=lambda label: (-labels[label][0]["test"], label))
        for label in kept[:SHOWN_LABELS]:
            counts = {name: labels[label][0][name] for name in ("train", "test")}
            for layer, same in _by_layer(labels[label].known("value")):
                yield {"task": task, "label": label, "layer": layer, "value": same.mean("value"), **counts}


def _head_mix(tables: Tables) -> Iterator[Row]:
    """Weights of heads in the mix, means of the seeds; layers as maps of heads take them, from 0."""
    for task, who in product(_tasks(tables), ("model", "twin")):
        rows = tables["weights"].where(task=task, who=who, labels="gold").known("value", "head")
        count = len({(row["layer"], row["head"]) for row in rows})
        for layer, same in _by_layer(rows):
            for head, of_head in same.by("head"):
                weight = of_head.mean("value") or 0.0
                yield {"task": task, "who": who, "layer": layer - 1, "head": head, "weight": weight,
                       "times": weight * count, "seeds": len(of_head)}  # fmt: skip


def _data(tables: Tables) -> Iterator[Row]:
    """How large every task is, as the manifest says."""
    known = tables.manifest.corpus.get("tasks", {})
    for task in [*_tasks(tables), *(set(known) - set(_tasks(tables)))]:
        about = known.get(task, {})
        edges = {part: about.get("parts", {}).get(part, {}).get("edges") for part in ("train", "dev", "test")}
        unseen: Counter[str] = Counter()
        for labels in about.get("unseen", {}).values():
            unseen.update(labels)
        parts = about.get("parts", {})
        sentences = [parts.get(part, {}).get("sentences") for part in ("train", "dev", "test")]
        total = sum(edges.values()) if all(edges.values()) else 0
        yield {
            "task": task, "name": about.get("name"), "labels": about.get("labels"), "train": edges["train"],
            "validation": edges["dev"], "test": edges["test"], "types_known": about.get("types_known"),
            "shares": "/".join(f"{100 * size / total:.0f}" for size in edges.values()) if total else "",
            "sentences": "/".join(f"{size:,}" for size in sentences) if all(sentences) else "",
            "units": f"{about['units']:,} {UNITS[about['unit']]}" if "units" in about else "",
            "unseen": f"{len(unseen)} ({unseen.total():,} times)" if unseen else "none",
            "epochs": about.get("epochs"), "divided": about.get("divided", ""),
        }  # fmt: skip


def _tasks(tables: Tables) -> list[str]:
    return [row["task"] for row in tables["summary"]]


def _scores(
    tables: Tables, task: str, *, who: str = "model", labels: str = "gold", series: str = "cumulative"
) -> Rows:
    return tables["scores"].where(task=task, who=who, labels=labels, series=series).known("value")


def _by_layer(rows: Rows) -> list[tuple[int, Rows]]:
    return sorted(rows.by("layer"), key=lambda pair: int(pair[0]))


def _reach(rows: Rows, name: str, named: str) -> dict[str, Any]:
    """What is uncertain: of one seed its interval, of several their range."""
    if len(rows) == 1:
        low, high = (f"{name}_low", f"{name}_high") if name != "value" else ("low", "high")
        return {f"{named}low": rows[0].get(low), f"{named}high": rows[0].get(high)}
    return {f"{named}low": min(rows.column(name)), f"{named}high": max(rows.column(name))}


DERIVED: Mapping[str, Callable[[Tables], Iterable[Row]]] = {  # the summary first: others go by its order of tasks
    "summary": summary, "gains": _gains, "mix": _mix, "curves": _curves, "controls": _controls,
    "frequent": _frequent_labels, "head_mix": _head_mix, "data": _data,
}  # fmt: skip
