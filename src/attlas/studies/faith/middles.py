"""Figures over instances, with intervals over units.

Instances of one text resemble each other, and so do texts of one document. A *unit* is what was drawn independently
of the others: the document, where the corpus has enough of them, else the text. Means have the interval of
:func:`attlas.stats.estimate`. That of a median is Woodruff's: a value is below the median for sure where the share of
instances that reach it is above one half by its whole interval, and above it where that share is below by its whole
interval.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.stats import Estimate, estimate

Numbers = NDArray[np.float64]


class Middle(NamedTuple):
    """A figure over instances, and its 95 % interval over units.

    >>> Middle(0.5, 0.4, 0.6).columns("tau")
    {'tau': 0.5, 'tau_low': 0.4, 'tau_high': 0.6}
    """

    value: float
    low: float
    high: float

    def columns(self, name: str) -> dict[str, Any]:
        """It as three cells of a table."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


NOTHING = Middle(math.nan, math.nan, math.nan)


def by_unit(values: ArrayLike, units: Sequence[int]) -> tuple[Numbers, Numbers]:
    """The sum of what is known of each unit's instances, and how many they are, (unit, ...) both.

    >>> [part.tolist() for part in by_unit([1.0, 2.0, float("nan"), 4.0], [7, 7, 9, 9])]
    [[3.0, 4.0], [2.0, 1.0]]
    """
    given = np.asarray(values, dtype=np.float64)
    names, owners = np.unique(np.asarray(units), return_inverse=True)
    known = np.isfinite(given)
    sums, counts = (np.zeros((len(names), *given.shape[1:])) for _ in range(2))
    np.add.at(sums, owners, np.where(known, given, 0.0))
    np.add.at(counts, owners, known)
    return sums, counts


def over_units(values: ArrayLike, units: Sequence[int], within: tuple[float, float] | None = None) -> Middle:
    """The mean of instances, each of the unit that is named. What is not known (NaN) is left out; with few units
    there is no interval. ``within`` is the range of a single value.

    >>> over_units([0.0, 1.0] * 6, units=[0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5])
    Middle(value=0.5, low=0.5, high=0.5)
    >>> over_units([0.25, 0.75], units=[0, 1])
    Middle(value=0.5, low=nan, high=nan)
    """
    return _middle(estimate(*by_unit(values, units), within))


def median_over_units(values: ArrayLike, units: Sequence[int]) -> Middle:
    """The median of instances, each of the unit that is named; with few units there is no interval.

    >>> median_over_units(range(1, 22), units=range(21))
    Middle(value=11.0, low=5.0, high=17.0)
    """
    given, owners = np.asarray(values, dtype=np.float64), np.asarray(units)
    given, owners = given[np.isfinite(given)], owners[np.isfinite(given)]
    if not len(given):
        return NOTHING
    middle, places = float(np.median(given)), np.unique(given)

    def reaching(at: int) -> Estimate:
        return estimate(*by_unit(given >= places[at], owners.tolist()), (0.0, 1.0), hits=True)

    if not np.isfinite(reaching(0).low):
        return Middle(middle, math.nan, math.nan)
    every = range(len(places))
    below = bisect_left(every, True, key=lambda at: bool(reaching(at).low < 0.5))
    above = bisect_left(every, True, key=lambda at: bool(reaching(at).high < 0.5))
    return Middle(middle, float(places[max(0, below - 1)]), float(places[max(0, above - 1)]))


def _middle(found: Estimate) -> Middle:
    return Middle(*(float(part) for part in (found.value, found.low, found.high)))
