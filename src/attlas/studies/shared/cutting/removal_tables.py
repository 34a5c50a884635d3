"""From the marks of all texts under every pattern of removed heads to a curve, and to what can go.

Scores and their 95 % intervals are by bootstrap over texts, all patterns on the same resamples, so that the share at
which a score has fallen by so much has an interval too: it is taken anew on every resample. Between two steps of a
curve the score is taken to fall in a straight line, and the first crossing counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.stats import Metric
from attlas.store.columns import as_columns

Numbers = NDArray[np.float64]
RESAMPLES = 500
FALLS = (0.01, 0.05)


class Line(NamedTuple):
    """One curve: its order, which draw of it, and for each step the number of units gone and the pattern's place."""

    order: str
    draw: int
    gone: list[int]
    patterns: list[int]


class Scores(NamedTuple):
    """The score of every pattern, on all texts and on resamples of them; and the mean loss per prediction."""

    values: Numbers
    resampled: Numbers
    losses: Numbers
    texts: int


def scores_of(metric: Metric, marks: Numbers, losses: Numbers, seed: int, resamples: int = RESAMPLES) -> Scores:
    """Scores from marks (text, pattern, column) and losses (text, pattern, 2)."""
    counts = metric.counts(marks.transpose(1, 0, 2))  # (pattern, text, column)
    texts = counts.shape[1]
    rng = np.random.default_rng(seed)
    copies = rng.multinomial(texts, np.full(texts, 1 / texts), size=resamples).astype(np.float64)
    resampled = np.stack([metric.of(copies @ one) for one in counts], axis=1)
    sums = losses.sum(0)
    return Scores(metric.of(counts.sum(1)), resampled, sums[:, 0] / sums[:, 1], texts)


def first_crossing(shares: Sequence[float], worse: Numbers, bar: float) -> float:
    """The share at which a curve first reaches a bar, in a straight line between steps; NaN where it never does.

    >>> first_crossing([0.0, 0.1, 0.2], np.array([0.0, 0.02, 0.06]), 0.04)
    0.15
    >>> first_crossing([0.0, 1.0], np.array([0.0, 0.01]), 0.04)
    nan
    """
    for place in range(1, len(shares)):
        here, before = float(worse[place]), float(worse[place - 1])
        if not here < bar:  # what is no number has crossed any bar
            part = (bar - before) / (here - before) if np.isfinite(here) and here > before else 1.0
            return float(round(shares[place - 1] + part * (shares[place] - shares[place - 1]), 10))
    return float("nan")


def curve_table(lines: Sequence[Line], units: int, heads: Sequence[Sequence[int]], scores: Scores) -> dict[str, Any]:
    """One row for every step of every curve; ``heads`` are the numbers of heads gone, by pattern's units."""
    rows = []
    low, high = _ends(scores.resampled)
    for line, counts in zip(lines, heads, strict=True):
        for gone, pattern, count in zip(line.gone, line.patterns, counts, strict=True):
            rows.append(
                {
                    "order": line.order, "draw": line.draw, "share": gone / units, "units": gone, "heads": count,
                    "score": scores.values[pattern], "low": low[pattern], "high": high[pattern],
                    "loss": scores.losses[pattern], "n": scores.texts,
                }
            )  # fmt: skip
    return as_columns(rows)


def shares_table(metric: Metric, lines: Sequence[Line], units: int, scores: Scores) -> dict[str, Any]:
    """For every curve, what share of the units can go until the score has fallen by 1 % and by 5 %."""
    rows = []
    for line in lines:
        shares = [gone / units for gone in line.gone]
        whole = scores.values[line.patterns[0]]
        for fall in FALLS:
            worse = metric.worse(scores.values[line.patterns] - whole)
            drawn = np.array(
                [
                    first_crossing(
                        shares, metric.worse(one[line.patterns] - one[line.patterns[0]]), _bar(fall, one[0])
                    )
                    for one in scores.resampled
                ]
            )
            drawn = np.where(np.isnan(drawn), 1.0, drawn)
            found = first_crossing(shares, worse, _bar(fall, whole))
            rows.append(
                {
                    "order": line.order, "draw": line.draw, "fall": fall, "share": found,
                    "low": float(np.quantile(drawn, 0.025)), "high": float(np.quantile(drawn, 0.975)),
                    "score": whole, "metric": metric.name, "better": metric.better, "n": scores.texts,
                }
            )  # fmt: skip
    return as_columns(rows)


def _bar(fall: float, whole: float) -> float:
    return max(fall * abs(float(whole)), 1e-12)


def _ends(resampled: Numbers) -> tuple[Numbers, Numbers]:
    """The middle 95 % of what is known."""
    known = np.where(np.isfinite(resampled), resampled, np.nan)
    with np.errstate(all="ignore"):
        low, high = np.nanquantile(known, (0.025, 0.975), axis=0)
    return low, high
