"""The tables of the chunking study, from what was written down of every model and test sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.models import Example
from attlas.stats import METRICS
from attlas.store.columns import as_columns
from attlas.studies.faith_chunking.bend import FEWEST, METHOD, bend_of_seeds
from attlas.studies.faith_chunking.taggers import COLUMNS, MARKS
from attlas.studies.faith_chunking.trainings import KEPT, Training
from attlas.studies.shared.published import CHUNKING_BEND, chunking_f1
from attlas.tasks.tagging import labels_of

Numbers = NDArray[np.float64]
Columns = dict[str, list[Any]]
DISTANCES = ("nll", "tvd", "kl", "jsd")
RESAMPLES = 1000
_AT = {name: place for place, name in enumerate(COLUMNS)}


class Told(NamedTuple):
    """What was written down of one training, and how long it took.

    >>> Told._fields
    ('training', 'rows', 'seconds')
    """

    training: Training
    rows: Numbers
    seconds: float


def tables_of(
    told: Sequence[Told], between: Mapping[tuple[int, int], Numbers], epochs: int, seed: int = 0
) -> dict[str, Columns]:
    """The tables ``models``, ``summary``, ``seeds``, ``bend`` and ``ranks``; ``between`` holds rows of originals
    beside originals of other seeds.

    >>> rows = np.ones((3, len(COLUMNS)))
    >>> told = [Told(Training("original"), rows, 1.0), Told(Training("adversary", weight=0.2), rows, 1.0)]
    >>> tables = tables_of(told, {}, epochs=1)
    >>> tables["models"]["f1"], tables["ranks"]["kendall"], list(tables)
    ([1.0, 1.0], [1.0], ['models', 'summary', 'seeds', 'bend', 'ranks'])
    """
    models = [_model(one, epochs, seed) for one in told]
    bends = _bends(told, seed)
    bent = next((row["at"] for row in bends if (row["attention"], row["prediction"]) == ("kl", "nll")), None)
    return {
        "models": as_columns(models),
        "summary": as_columns(_summary(models)),
        "seeds": as_columns(_seeds(told, between)),
        "bend": as_columns(bends),
        "ranks": as_columns(_ranks(told, bent, seed)),
    }


def per_word(rows: Numbers, column: str) -> float:
    """The mean of a column over words.

    >>> rows = np.zeros((1, len(COLUMNS)))
    >>> rows[0, _AT["words"]], rows[0, _AT["nll"]] = 4, 2
    >>> per_word(rows, "nll")
    0.5
    """
    return float(rows[:, _AT[column]].sum() / max(1.0, rows[:, _AT["words"]].sum()))


def f1(rows: Numbers) -> float:
    """Chunk F1 of all sentences.

    >>> f1(np.ones((2, len(COLUMNS))))
    1.0
    """
    return float(METRICS["f1"].score(rows[:, : len(MARKS)]))


def _model(one: Told, epochs: int, seed: int) -> dict[str, Any]:
    training, rows = one.training, one.rows
    copies = np.random.default_rng(seed).multinomial(len(rows), np.full(len(rows), 1 / len(rows)), RESAMPLES)
    low, high = np.nanquantile(METRICS["f1"].of(copies @ rows[:, : len(MARKS)]), (0.025, 0.975))
    return {
        "kind": training.kind, "attention": training.attention, "form": training.form, "weight": training.weight,
        "seed": training.seed, "f1": f1(rows), "f1_low": float(low), "f1_high": float(high),
        **{name: per_word(rows, name) for name in DISTANCES}, "published": chunking_f1(*training[:4]),
        "epochs": epochs, "seconds": round(one.seconds, 1),
    }  # fmt: skip


def _summary(models: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The mean over seeds of every kind of model, with t intervals."""
    kinds: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in models:
        kinds.setdefault(tuple(row[name] for name in ("kind", "attention", "form", "weight")), []).append(row)
    found = []
    for (kind, attention, form, weight), rows in kinds.items():
        made: dict[str, Any] = {
            "kind": kind, "attention": attention, "form": form, "weight": weight, "seeds": len(rows),
            "published": rows[0]["published"],
        }  # fmt: skip
        for name in ("f1", *DISTANCES):
            made |= _over_seeds(name, [row[name] for row in rows])
        found.append(made)
    return found


def _over_seeds(name: str, values: Sequence[float]) -> dict[str, float | None]:
    from scipy.stats import t

    mean, half = float(np.mean(values)), None
    if len(values) > 1:
        half = float(t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5)
    return {
        name: mean, f"{name}_low": None if half is None else mean - half,
        f"{name}_high": None if half is None else mean + half,
    }  # fmt: skip


def _seeds(told: Sequence[Told], between: Mapping[tuple[int, int], Numbers]) -> list[dict[str, Any]]:
    """Originals beside originals of other seeds, and models trained with even attention beside their originals."""
    pairs = [("seed", seed, other, rows) for (seed, other), rows in between.items()]
    pairs += [
        ("uniform", one.training.seed, one.training.seed, one.rows)
        for one in told
        if (one.training.attention, one.training.form) == ("uniform", KEPT)
    ]
    return [
        {"kind": kind, "seed": seed, "other": other, "f1": f1(rows), **{n: per_word(rows, n) for n in DISTANCES}}
        for kind, seed, other, rows in pairs
    ]


def _bends(told: Sequence[Told], seed: int) -> list[dict[str, Any]]:
    """Where each curve bends; every seed's begins with its original, whose attention is its own."""
    by_seed: dict[int, list[Told]] = {}
    for one in told:
        if one.training.kind != "guided":
            by_seed.setdefault(one.training.seed, []).append(one)
    whole = [curve for curve in by_seed.values() if len(curve) > 1]
    found = []
    for attention in ("kl", "jsd"):
        for prediction in ("nll", "tvd"):
            curves = [
                ([per_word(one.rows, attention) for one in curve], [per_word(one.rows, prediction) for one in curve])
                for curve in whole
            ]
            bend, ends, seeds = bend_of_seeds(curves, seed)
            if bend is None:
                continue
            low, high = ends or (None, None)
            found.append(
                {
                    "attention": attention, "prediction": prediction, "at": bend.at, "at_low": low, "at_high": high,
                    "slope_before": bend.slope_before, "slope_after": bend.slope_after, "gain": bend.gain,
                    "method": METHOD, "seeds": seeds,
                    "points": sum(len(curve) for curve in whole if len(curve) >= FEWEST),
                    "published": CHUNKING_BEND if (attention, prediction) == ("kl", "nll") else None,
                }
            )  # fmt: skip
    return found


def _ranks(told: Sequence[Told], bend: float | None, seed: int) -> list[dict[str, Any]]:
    """How well the ranks of an adversary's weights agree with its original's, before and after the bend."""
    found = []
    for one in told:
        if one.training.kind != "adversary":
            continue
        draw = np.random.default_rng(seed)
        copies = draw.multinomial(len(one.rows), np.full(len(one.rows), 1 / len(one.rows)), RESAMPLES)
        ranked = one.rows[:, [_AT["kendall"], _AT["ranked"]]]
        drawn = copies @ ranked
        low, high = np.nanquantile(drawn[:, 0] / np.maximum(drawn[:, 1], 1e-9), (0.025, 0.975))
        sums = ranked.sum(0)
        far = per_word(one.rows, "kl")
        found.append(
            {
                "weight": one.training.weight, "seed": one.training.seed,
                "side": "" if bend is None else "before" if far <= bend else "after", "kl": far,
                "kendall": float(sums[0] / max(sums[1], 1e-9)), "kendall_low": float(low),
                "kendall_high": float(high),
                "first": per_word(one.rows, "first"), "n": int(one.rows[:, _AT["words"]].sum()),
            }
        )  # fmt: skip
    return found


def tables_to_look_at(
    read: Mapping[Training, Mapping[str, NDArray[Any]]], examples: Sequence[Example], labels: Sequence[str]
) -> dict[str, Columns]:
    """Tables of some sentences: the words with everybody's tags, and everybody's attention.

    ``read`` has for each model arrays "attention/N", (head, query, key), and "tags/N" of the sentence numbered N.

    >>> sorted(tables_to_look_at({}, [], []))
    ['examples', 'sentences']
    """
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
