"""Statistics that can be stopped, merged and continued.

An *accumulator* takes in numbers batch by batch and keeps only sums. Two accumulators over different texts merge
into one over all of them, in any order, and the state of one is a handful of plain arrays; this is what lets a study
run on one core, on many, and across a crash without knowing it. numpy is all that is needed.
"""

from attlas.stats.accumulator import Accumulator, State, rebuild, register, require_same_configuration
from attlas.stats.bundle import Bundle
from attlas.stats.chance import Standing, no_better_than_chance, not_shown, standing
from attlas.stats.correlation import Correlation, correlate
from attlas.stats.drawn import Cases, Drawn
from attlas.stats.flips import Flipped, above_zero
from attlas.stats.intervals import Estimate, estimate
from attlas.stats.largest import Largest
from attlas.stats.latest import Latest
from attlas.stats.ledger import Ledger
from attlas.stats.metrics import METRICS, Metric
from attlas.stats.multiple import holm
from attlas.stats.paired import Comparison, compare
from attlas.stats.pooled import PooledMean
from attlas.stats.resampled import Resampled
from attlas.stats.scores import estimate_change, estimate_score

__all__ = [
    "METRICS",
    "Accumulator",
    "Bundle",
    "Cases",
    "Comparison",
    "Correlation",
    "Drawn",
    "Estimate",
    "Flipped",
    "Largest",
    "Latest",
    "Ledger",
    "Metric",
    "PooledMean",
    "Resampled",
    "Standing",
    "State",
    "above_zero",
    "compare",
    "correlate",
    "estimate",
    "estimate_change",
    "estimate_score",
    "holm",
    "no_better_than_chance",
    "not_shown",
    "rebuild",
    "register",
    "require_same_configuration",
    "standing",
]
