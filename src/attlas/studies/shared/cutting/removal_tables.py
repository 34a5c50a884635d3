"""From the marks of all texts under every pattern of removed heads to a curve, and to what can go.

Scores have the intervals of :mod:`attlas.stats.scores`, over units (texts, or documents). The share at which a score
has fallen by so much is no function of sums: one more text may move the crossing to another step. So it is by
bootstrap: all patterns are scored on the same resamples of units, the share is taken anew on each, and the middle
95 % are told. With fewer than :data:`~attlas.stats.intervals.FEWEST` units there is no interval of either. Between
two steps of a curve the score is taken to fall in a straight line, and the first crossing counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.stats import Metric, estimate_score
from attlas.stats.intervals import FEWEST
from attlas.stats.metrics import by_unit
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
    """The score of every pattern with the ends of its interval, and on resamples of the units, (resample, pattern);
    and the mean loss per prediction."""

    values: Numbers
    low: Numbers
    high: Numbers
    resampled: Numbers
    losses: Numbers
    texts: int
    units: int

    def ends(self, shares: Numbers) -> tuple[float, float]:
        """The middle 95 % of what was taken on every resample; NaN with too few units."""
        if self.units < FEWEST:
            return float("nan"), float("nan")
        low, high = np.quantile(shares, (0.025, 0.975))
        return float(low), float(high)


def scores_of(
    metric: Metric,
    marks: Numbers,
    losses: Numbers,
    seed: int,
    resamples: int = RESAMPLES,
    units: Sequence[int] | None = None,
) -> Scores:
    """Scores from marks (text, pattern, column) and losses (text, pattern, 2); texts are units where none are
    given."""
    counts = metric.counts(marks.transpose(1, 0, 2))  # (pattern, text, column)
    read = counts.shape[1]
    counts = counts if units is None else by_unit(counts, units)
    texts = counts.shape[1]
    rng = np.random.default_rng(seed)
    copies = rng.multinomial(texts, np.full(texts, 1 / texts), size=resamples).astype(np.float64)
    resampled = np.stack([metric.of(copies @ one) for one in counts], axis=1)
    sums = losses.sum(0)
    of_scores = estimate_score(metric, marks.transpose(1, 0, 2), units=units)
    ends = (of_scores.value, of_scores.low, of_scores.high)
    return Scores(*ends, resampled, sums[:, 0] / sums[:, 1], read, texts)


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
    return as_columns([
        {
            "order": line.order, "draw": line.draw, "share": gone / units, "units": gone, "heads": count,
            "score": scores.values[at], "low": scores.low[at], "high": scores.high[at], "loss": scores.losses[at],
            "n": scores.texts,
        }
        for line, counts in zip(lines, heads, strict=True)
        for gone, at, count in zip(line.gone, line.patterns, counts, strict=True)
    ])  # fmt: skip


def shares_table(metric: Metric, lines: Sequence[Line], units: int, scores: Scores) -> dict[str, Any]:
    """For every curve, what share of the units can go until the score has fallen by 1 % and by 5 %."""
    rows = []
    for line in lines:
        shares = [gone / units for gone in line.gone]
        whole = line.patterns[0]
        for fall in FALLS:
            reached = []
            for values in (scores.values, *scores.resampled):
                bar = max(fall * abs(float(values[whole])), 1e-12)
                reached.append(first_crossing(shares, metric.worse(values[line.patterns] - values[whole]), bar))
            low, high = scores.ends(np.nan_to_num(reached[1:], nan=1.0))
            rows.append({
                "order": line.order, "draw": line.draw, "fall": fall, "share": reached[0], "low": low, "high": high,
                "score": scores.values[whole], "metric": metric.name, "better": metric.better, "n": scores.texts,
            })  # fmt: skip
    return as_columns(rows)
