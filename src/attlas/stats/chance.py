"""Does a model do better than chance? The guard that stands before every verdict about what its heads are for.

A model that has learned nothing still has scores, and heads that change them. So its score is set against what one
gets without a model: always giving the most frequent label, guessing evenly. Where the simple answer gives marks of
every text too, the two are compared text by text, and else with the number alone. The difference has a 95 % interval
over units (texts, or documents): that of a change of score, or that of the score, less the number
(:mod:`attlas.stats.scores`). If it reaches down to zero, or if there are too few units for one, the model has not
shown that it can do the task.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attlas.errors import StatsError
from attlas.stats.intervals import FEWEST
from attlas.stats.metrics import Metric
from attlas.stats.scores import estimate_change, estimate_score

GUESSES = {
    "accuracy": "always giving the most frequent label",
    "Matthews": "always giving the most frequent label",
    "chunk F1": "tags drawn by lot",
    "perplexity": "guessing evenly",
    "loss": "knowing nothing but how frequent each answer is",
    "BLEU": "giving the translation of another text",
    "chrF": "giving the translation of another text",
    "Spearman": "numbers that have nothing to do with the pairs",
}


class Standing(NamedTuple):
    """A model's score, that of chance, by how much the model is better, and the 95 % interval of that (NaN where
    there are too few units).

    >>> Standing._fields
    ('score', 'chance', 'gain', 'gain_low', 'gain_high', 'units')
    """

    score: float
    chance: float
    gain: float
    gain_low: float
    gain_high: float
    units: int


def standing(marks: ArrayLike, metric: Metric, chance: ArrayLike, *, units: ArrayLike | None = None) -> Standing:
    """How a model that has left these marks, (text, column), stands against chance: a score, or marks of its own.

    ``units`` are numbers of what counts as independent, one for each text; each text is one where none are given.

    >>> from attlas.stats.metrics import METRICS
    >>> marks = [[1, 1]] * 15 + [[0, 1]] * 5
    >>> known = standing(marks, METRICS["accuracy"], 0.5)
    >>> known.gain, known.gain_low > 0
    (0.25, False)
    >>> always = [[1, 1]] * 10 + [[0, 1]] * 10
    >>> standing(marks, METRICS["accuracy"], always).chance
    0.5
    """
    own = np.asarray(marks, dtype=np.float64)
    if own.ndim != 2:
        raise StatsError(f"marks of texts, (text, column), were expected, and {own.shape} came")
    if not np.ndim(chance):
        bar, known = float(np.asarray(chance)), estimate_score(metric, own, units=units)
        low, high = known.low - bar, known.high - bar
    elif np.shape(chance) != own.shape:
        raise StatsError(f"chance has marks of shape {np.shape(chance)}, and the model of {own.shape}")
    else:
        bar, known = float(metric.score(chance)), estimate_change(metric, chance, own, units=units)
        low, high = known.low, known.high
    score = float(metric.score(own))
    sign, (low, high) = (1.0, (low, high)) if metric.better == "higher" else (-1.0, (-high, -low))
    number = len(own) if units is None else len(np.unique(np.asarray(units)))
    return Standing(score, bar, sign * (score - bar), float(low), float(high), number)


def no_better_than_chance(
    marks: ArrayLike, metric: Metric, chance: ArrayLike | None, *, units: ArrayLike | None = None
) -> str | None:
    """A sentence where a model has not shown that it is better than chance, and None where it has, or where its score
    has no chance level.

    >>> from attlas.stats.metrics import METRICS
    >>> no_better_than_chance([[1, 1]] * 11 + [[0, 1]] * 9, METRICS["accuracy"], 0.5)
    'The model has not shown that it can do this task: its accuracy of 0.55 (20 texts) cannot be told from 0.5, ...'
    >>> no_better_than_chance([[1, 1]] * 19 + [[0, 1]], METRICS["accuracy"], 0.5) is None
    True
    """
    if chance is None:
        return None
    known = standing(marks, metric, chance, units=units)
    return not_shown(metric.name, known._asdict() | {"n": len(np.asarray(marks))})


def not_shown(metric: str, row: Mapping[str, Any]) -> str | None:
    """The same sentence from a row of a table that has a :class:`Standing`'s fields, those of chance perhaps unknown;
    ``guess`` says what chance does, where it is not what is usual for the metric.

    >>> not_shown("accuracy", {"score": 0.9, "chance": 0.5, "gain": 0.4, "gain_low": 0.3, "gain_high": 0.5}) is None
    True
    """
    chance: Any = row.get("chance")
    low: Any = row.get("gain_low")
    if not _known(chance) or (_known(low) and low > 0):
        return None
    high, texts = row.get("gain_high"), row.get("n")
    units = row.get("units") or texts
    among = "" if not units else f" ({units:,} texts)"
    if units and texts not in (None, units):
        among = f" ({texts:,} texts of {units:,} documents)"
    known = f"better by {row['gain']:.3g}, 95 % interval {low:.3g} to {high:.3g}" if _known(low) else (
        f"with fewer than {FEWEST} of them there is no interval"
    )  # fmt: skip
    guess = row.get("guess") or GUESSES.get(metric, "chance")
    return (
        f"The model has not shown that it can do this task: its {metric} of {row['score']:.3g}{among} cannot be told "
        f"from {chance:.3g}, that of {guess} ({known}). So nothing is concluded here about what its heads do for the "
        "task."
    )


def _known(value: Any) -> bool:
    return value is not None and bool(np.isfinite(value))
