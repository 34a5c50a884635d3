"""Some of a stream, drawn in one pass.

Which items are kept is decided by a reservoir (Li's algorithm L): every item has the same chance, however many there
are, and between two that are taken a number of others is passed over without a look. What is kept comes in the order
of the stream, and depends on the seed and the number of items alone.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")


def reservoir(items: Iterable[Item], count: int, seed: int | str) -> list[Item]:
    """So many of the items at random, in their order; all where there are no more.

    >>> reservoir("abcdef", 2, 0), reservoir("ab", 9, 0)
    (['a', 'e'], ['a', 'b'])
    """
    numbered = enumerate(items)
    kept = list(islice(numbered, count))
    if len(kept) < count:
        return [item for _, item in kept]
    drawing = random.Random(seed)
    threshold = 1.0
    while True:
        threshold *= _above_zero(drawing) ** (1 / count)
        gap = math.floor(math.log(_above_zero(drawing)) / math.log1p(-threshold)) if threshold < 1.0 else 0
        taken = next(islice(numbered, gap, None), None)
        if taken is None:
            return [item for _, item in sorted(kept, key=lambda pair: pair[0])]
        kept[drawing.randrange(count)] = taken


def _above_zero(drawing: random.Random) -> float:
    """A number above 0, up to 1."""
    return 1.0 - drawing.random()
