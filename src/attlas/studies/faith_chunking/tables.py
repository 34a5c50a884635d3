"""The tables of the chunking study, from what was written down of every model and test sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.models import Example
from attlas.probes.edges.summary import over_seeds
from attlas.stats import METRICS, estimate, estimate_score
from attlas.store.columns import as_columns
from attlas.studies.faith_chunking.bend import FEWEST, METHOD, bend_of_seeds
from attlas.studies.faith_chunking.taggers import COLUMNS, MARKS
from attlas.studies.faith_chunking.trainings import KEPT, Training
from attlas.studies.shared.published import CHUNKING_BEND, chunking_f1
from attlas.tasks.tagging import labels_of

Numbers = NDArray[np.float64]
Columns = dict[str, list[Any]]
DISTANCES = ("nll", "tvd", "kl", "jsd")
WITHIN = {"f1": (0, 1), "nll": (0, math.inf), "tvd": (0, 1), "kl": (0, math.inf), "jsd": (0, math.log(2))}
_AT = {name: place for place, name in enumerate(COLUMNS)}


class Trained(NamedTuple):
    """What a training has left: rows of :data:`~attlas.studies.faith_chunking.taggers.COLUMNS`, how long it took, its
    weights, and of the sentences to be looked at the attention, (head, query, key), and the tags."""

    training: Training
    rows: Numbers
    seconds: float
    arrays: Mapping[str, NDArray[Any]] = {}


def tables_of(
    every: Sequence[Trained], between: Mapping[tuple[int, int], Numbers], epochs: int
) -> dict[str, Columns]:
    """The tables ``models``, ``summary``, ``seeds``, ``bend`` and ``ranks``; ``between`` holds rows of originals
    beside originals of other seeds.

    >>> rows = np.ones((3, len(COLUMNS)))
    >>> every = [Trained(Training("original"), rows, 1.0), Trained(Training("adversary", weight=0.2), rows, 1.0)]
    >>> tables = tables_of(every, {}, epochs=1)
    >>> tables["models"]["f1"], tables["ranks"]["kendall"], list(tables)
    ([1.0, 1.0], [1.0], ['models', 'summary', 'seeds', 'bend', 'ranks'])
    """
    models = [_model(one, epochs) for one in every]
    bends = _bends(every)
    bent = next((row["at"] for row in bends if (row["attention"], row["prediction"]) == ("kl", "nll")), None)
    rows = {"models": models, "summary": _summary(models), "seeds": _seeds(every, between), "bend": bends}
    rows["ranks"] = [_ranks(one, bent) for one in every if one.training.kind == "adversary"]
    return {name: as_columns(some) for name, some in rows.items()}


def per_word(rows: Numbers, column: str) -> float:
    """The mean of a column over words."""
    return float(rows[:, _AT[column]].sum() / max(1.0, rows[:, _AT["words"]].sum()))


def f1(rows: Numbers) -> float:
    """Chunk F1 of all sentences."""
    return float(METRICS["f1"].score(rows[:, : len(MARKS)]))


def _distances(rows: Numbers) -> dict[str, float]:
    return {name: per_word(rows, name) for name in DISTANCES}


def _model(trained: Trained, epochs: int) -> dict[str, Any]:
    training, rows = trained.training, trained.rows
    known = estimate_score(METRICS["f1"], rows[:, : len(MARKS)])
    return {
        **training._asdict(), "f1": float(known.value), "f1_low": float(known.low), "f1_high": float(known.high),
        **_distances(rows), "published": chunking_f1(*training[:4]), "epochs": epochs,
        "seconds": round(trained.seconds, 1),
    }  # fmt: skip


def _summary(models: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The mean over seeds of every kind of model, with t intervals."""
    names = ("kind", "attention", "form", "weight")
    kinds: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in models:
        kinds.setdefault(tuple(row[name] for name in names), []).append(row)
    summaries = []
    for kind, rows in kinds.items():
        summary = dict(zip(names, kind, strict=True)) | {"seeds": len(rows), "published": rows[0]["published"]}
        for name in ("f1", *DISTANCES):
            mean = over_seeds([row[name] for row in rows], WITHIN[name])
            summary |= {name: mean.value, f"{name}_low": mean.low, f"{name}_high": mean.high}
        summaries.append(summary)
    return summaries


def _seeds(every: Sequence[Trained], between: Mapping[tuple[int, int], Numbers]) -> list[dict[str, Any]]:
    """Originals beside originals of other seeds, and models trained with even attention beside their originals."""
    pairs = [("seed", seed, other, rows) for (seed, other), rows in between.items()]
    pairs += [
        ("uniform", one.training.seed, one.training.seed, one.rows)
        for one in every
        if (one.training.attention, one.training.form) == ("uniform", KEPT)
    ]
    return [
        {"kind": kind, "seed": seed, "other": other, "f1": f1(rows), **_distances(rows)}
        for kind, seed, other, rows in pairs
    ]


def _bends(every: Sequence[Trained]) -> list[dict[str, Any]]:
    """Where each curve bends; every seed's begins with its original, whose attention is its own."""
    by_seed: dict[int, list[dict[str, float]]] = {}
    for one in every:
        if one.training.kind != "guided":
            by_seed.setdefault(one.training.seed, []).append(_distances(one.rows))
    whole = [curve for curve in by_seed.values() if len(curve) > 1]
    bends = []
    for attention, prediction in product(("kl", "jsd"), ("nll", "tvd")):
        curves = [([point[attention] for point in curve], [point[prediction] for point in curve]) for curve in whole]
        bend, ends, seeds = bend_of_seeds(curves)
        if bend is None:
            continue
        low, high = ends or (None, None)
        bends.append(
            {
                "attention": attention, "prediction": prediction, "at": bend.at, "at_low": low, "at_high": high,
                "slope_before": bend.slope_before, "slope_after": bend.slope_after, "gain": bend.gain,
                "method": METHOD, "seeds": seeds,
                "points": sum(len(curve) for curve in whole if len(curve) >= FEWEST),
                "published": CHUNKING_BEND if (attention, prediction) == ("kl", "nll") else None,
            }
        )  # fmt: skip
    return bends


def _ranks(trained: Trained, bend: float | None) -> dict[str, Any]:
    """How well the ranks of an adversary's weights agree with its original's, before or after the bend."""
    rows, far = trained.rows, per_word(trained.rows, "kl")
    known = estimate(rows[:, _AT["kendall"]], rows[:, _AT["ranked"]], (-1.0, 1.0))
    return {
        "weight": trained.training.weight, "seed": trained.training.seed,
        "side": "" if bend is None else "before" if far <= bend else "after", "kl": far,
        "kendall": float(np.nan_to_num(known.value)), "kendall_low": float(known.low),
        "kendall_high": float(known.high),
        "first": per_word(rows, "first"), "n": int(rows[:, _AT["words"]].sum()),
    }  # fmt: skip


def tables_to_look_at(
    every: Sequence[Trained], examples: Sequence[Example], labels: Sequence[str]
) -> dict[str, Columns]:
    """Tables of some sentences: the words with everybody's tags, and everybody's attention."""
    read = {one.training: one.arrays for one in every if "tags/0" in one.arrays}
    attention: list[dict[str, Any]] = []
    words: list[dict[str, Any]] = []
    for number, example in enumerate(examples):
        document = example.passage.first
        gold = labels_of(document, "chunks") or ()
        for place in range(len(document.words)):
            row = {"sentence": number, "word": place, "spelled": document.word(place), "gold": gold[place]}
            for training, arrays in read.items():
                column = "original" if training.weight is None else f"adversary {training.weight:g}"
                row[column] = labels[int(arrays[f"tags/{number}"][place])]
            words.append(row)
        for training, arrays in read.items():
            weights = arrays[f"attention/{number}"]
            attention += [
                {
                    "sentence": number, "weight": training.weight or 0.0, "head": head, "query": query, "key": key,
                    "value": float(weights[head, query, key]),
                }
                for head, query, key in np.ndindex(weights.shape)
            ]  # fmt: skip
    return {"examples": as_columns(attention), "sentences": as_columns(words)}
