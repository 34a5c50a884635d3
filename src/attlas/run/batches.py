"""Which items go through the model together.

Items of like length go together, so that little is wasted on padding, and as many as fit a budget of pieces. The
longest come first: what does not fit into memory fails at once and not after an hour. The order depends on the
lengths alone, so a resumed run meets the same batches.
"""

from __future__ import annotations

from collections.abc import Sequence

from attlas.errors import PlanError


def batches(lengths: Sequence[int], budget: int, max_items: int | None = None, *, done: int = 0) -> list[list[int]]:
    """Group the indices of items so that count times longest stays within the budget, and count within ``max_items``.

    An item longer than the budget goes alone. The order of items does not depend on the budget, so that those which
    are left after the first so many that are ``done`` can be grouped by another one.

    >>> batches([3, 5, 4, 1], budget=8)
    [[1], [2, 0], [3]]
    >>> batches([2, 2, 2], budget=100, max_items=2)
    [[0, 1], [2]]
    >>> batches([3, 5, 4, 1], budget=4, done=1)
    [[2], [0], [3]]
    """
    if budget < 1:
        raise PlanError(f"a batch must hold at least 1 piece, and the budget is {budget}; give a larger one")
    if max_items is not None and max_items < 1:
        raise PlanError(f"a batch must hold at least 1 item, and the limit is {max_items}; give a larger one")
    for index, length in enumerate(lengths):
        if length < 0:
            raise PlanError(f"item {index} has {length} pieces, where 0 or more were expected")
    made: list[list[int]] = []
    room = 0
    for index in in_order(lengths)[done:]:
        if room == 0:
            made.append([])
            room = max(1, budget // max(1, lengths[index]))
            room = room if max_items is None else min(room, max_items)
        made[-1].append(index)
        room -= 1
    return made


def in_order(lengths: Sequence[int]) -> list[int]:
    """The indices of items in the order in which they are taken: the longest first.

    >>> in_order([3, 5, 4, 5])
    [1, 3, 2, 0]
    """
    return sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
