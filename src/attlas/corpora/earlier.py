"""Places that come in one by one, each in a chain, and of which the k-th outside a chain is asked for.

However many there are, neither adding one nor asking goes over all of them: places are counted in a binary indexed
tree, and those of a chain are taken off by where they stand in its sorted list.
"""

from __future__ import annotations

from bisect import bisect_right, insort


class Earlier:
    """Some of the places from 0 to ``size``, each with its chain.

    >>> earlier = Earlier(5)
    >>> for place, chain in ((4, "a"), (0, "b"), (2, "a")):
    ...     earlier.add(place, chain)
    >>> earlier.count, earlier.others("b"), earlier.other("b", 0), earlier.other("b", 1)
    (3, 2, 2, 4)
    """

    def __init__(self, size: int) -> None:
        self.count = 0
        self._tree = [0] * (size + 1)
        self._chains: dict[str, list[int]] = {}

    def add(self, place: int, chain: str) -> None:
        """Take in a place."""
        self.count += 1
        insort(self._chains.setdefault(chain, []), place)
        at = place + 1
        while at < len(self._tree):
            self._tree[at] += 1
            at += at & -at

    def others(self, chain: str) -> int:
        """How many places are not of this chain."""
        return self.count - len(self._chains.get(chain, ()))

    def other(self, chain: str, number: int) -> int:
        """The place that so many places before it are not of this chain."""
        same = self._chains.get(chain, [])
        at, left = 0, number
        step = 1 << (len(self._tree) - 1).bit_length()
        while step:
            after = at + step
            if after < len(self._tree):
                here = self._tree[after] - (bisect_right(same, after - 1) - bisect_right(same, at - 1))
                if here <= left:
                    at, left = after, left - here
            step >>= 1
        return at
