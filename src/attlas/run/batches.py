"""Which items go through the model together.

Items of like length go together, so that little is wasted on padding, and as many as fit a budget of pieces. The
longest come first: what does not fit into memory fails at once and not after an hour. The order depends on the
lengths alone, so a resumed run meets the same batches.
"""

from __future__ import annotations

from collections.abc import Sequence

from attlas.errors import PlanError


def batches(lengths: Sequence[int], budget: int, max_items: int | None = None) -> list[list[int]]:
    """Group the indices of items so that count times longest stays within the budget, and count within ``max_items``.

    An item longer than the budget goes alone.

    >>> batches([3, 5, 4, 1], budget=8)
    [[1], [2, 0], [3]]
    >>> batches([2, 2, 2], budget=100, max_items=2)
    [[0, 1], [2]]
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
    for index in sorted(range(len(lengths)), key=lambda index: (-lengths[index], index)):
        if room == 0:
            made.append([])
            room = max(1, budget // max(1, lengths[index]))
            room = room if max_items is None else min(room, max_items)
        made[-1].append(index)
        room -= 1
    return made
