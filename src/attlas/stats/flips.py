"""Is a head really better than its rival, when one has looked at all of them? A test that flips signs.

Each unit (a document, or a text where documents are not known) brings a difference for each cell: how often the head
was right there less how often the rival was. If the two were equally good, a unit's difference would be as likely to
come with the other sign; so signs are flipped at random, unit by unit, all cells of a unit together, thousands of
times. A cell's statistic is its sum over the root of its sum of squares, which flips do not change, so that cells
of many and few cases can be compared. p is the share of flips in which the cell's own statistic is as large as the
one seen (one-sided, the seen one counted among them). ``p_corrected`` is that of Westfall and Young's step-down
max-T: the share of flips in which the *largest* statistic of all cells of the family that are not yet better is as
large. It holds the chance of naming even one head wrongly to the level, and loses nothing to heads that do the same.

There is no p below :data:`FEWEST_UNITS` units: fewer cannot tell anything at one in a hundred after so many looks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.errors import StatsError

Numbers = NDArray[np.float64]
FEWEST_UNITS = 16
FLIPS = 10_000
_AT_ONCE = 20_000_000  # numbers in one slice of flips
_CLOSE = 1e-9


class Flipped(NamedTuple):
    """p of each cell alone, and corrected over its family; NaN where there are too few units.

    >>> Flipped._fields
    ('p', 'p_corrected')
    """

    p: Numbers
    p_corrected: Numbers


def above_zero(differences: ArrayLike, counts: ArrayLike, *, flips: int = FLIPS, seed: int = 0) -> Flipped:
    """Test whether the differences of units, (unit, ...cells), are above zero; all cells are one family.

    ``counts`` are the cases of each unit, of a shape that broadcasts to that of the differences: a unit without any
    has nothing to say of a cell and does not count as one.

    >>> rng = np.random.default_rng(0)
    >>> differences = rng.normal([0.0, 1.0, 1.0], 1.0, (40, 3))
    >>> p, corrected = above_zero(differences, np.ones((40, 1)))
    >>> bool(p[0] > 0.05), bool(corrected[1] < 0.01), bool((corrected >= p).all())
    (True, True, True)
    """
    seen = np.asarray(differences, dtype=np.float64)
    cases = np.broadcast_to(np.asarray(counts, dtype=np.float64), seen.shape)
    if seen.ndim < 1 or not np.isfinite(seen).all():
        raise StatsError("differences of units are numbers, with a row for each unit")
    cells = seen.shape[1:]
    flat, units = seen.reshape(len(seen), -1), (cases > 0).sum(0).reshape(-1)
    tested = units >= FEWEST_UNITS
    p, corrected = np.full(flat.shape[1], np.nan), np.full(flat.shape[1], np.nan)
    if tested.any():
        p[tested], corrected[tested] = _flipped(flat[:, tested], flips, np.random.default_rng(seed))
    return Flipped(p.reshape(cells), corrected.reshape(cells))


def _flipped(rows: Numbers, flips: int, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    scale = np.sqrt((rows**2).sum(0))
    scaled = np.divide(rows, scale, out=np.zeros_like(rows), where=scale > 0)
    order = np.argsort(-scaled.sum(0), kind="stable")
    scaled = scaled[:, order]  # the best cell first
    bar = scaled.sum(0) - _CLOSE
    alone, largest = np.ones(len(bar)), np.ones(len(bar))
    step = max(1, _AT_ONCE // max(1, len(bar)))
    for start in range(0, flips, step):
        signs = rng.choice(np.array([-1.0, 1.0]), (min(step, flips - start), len(scaled)))
        flipped = signs @ scaled
        alone += (flipped >= bar).sum(0)
        of_the_rest = np.maximum.accumulate(flipped[:, ::-1], axis=1)[:, ::-1]
        largest += (of_the_rest >= bar).sum(0)
    p, corrected = np.empty_like(bar), np.empty_like(bar)
    p[order] = alone / (flips + 1)
    corrected[order] = np.maximum.accumulate(largest / (flips + 1))
    return p, corrected
