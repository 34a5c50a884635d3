"""Running out of memory: what it looks like, on the host and on a device, and what can be done about it.

A batch that does not fit is taken in halves, and these in halves again, down to single items; later batches of the
run begin with as many parts. What came of the parts is what would have come of the batch, but for the last digits, as
with another ``--budget``. A part of which every batch builds on those before stays whole.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attlas.errors import PlanError
from attlas.run.blocks import InBlocks

if TYPE_CHECKING:
    from attlas.run.engine import Part

SAID = ("allocate memory", "not enough memory", "CUDA out of memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out: the host's, that of a device, or a worker's of either.

    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("shapes differ"))
    (True, False)
    """
    kinds = {kind.__name__ for kind in type(error).__mro__}
    told = isinstance(error, RuntimeError) and any(words in str(error) for words in SAID)
    return told or bool(kinds & {"MemoryError", "OutOfMemoryError"})


def give_back() -> None:
    """Give back what is held in reserve, before the next attempt.

    >>> give_back()
    """
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def halves_of(part: Part[Any], items: Sequence[Any]) -> list[Sequence[Any]] | None:
    """The items of a batch in two; None where they cannot be taken apart. Of a block of batches its batches are the
    items, and of a single batch its own.

    >>> from types import SimpleNamespace
    >>> toy = SimpleNamespace(name="toy")
    >>> halves_of(toy, "abc"), halves_of(toy, "a"), halves_of(InBlocks(toy), [["a", "b"]])
    (['ab', 'c'], None, [[['a']], [['b']]])
    >>> halves_of(SimpleNamespace(name="toy", stepwise=True), "abc") is None
    True
    """
    if getattr(part, "stepwise", False):
        return None
    if len(items) > 1:
        middle = (len(items) + 1) // 2
        return [items[:middle], items[middle:]]
    if isinstance(part, InBlocks) and len(items[0]) > 1:
        middle = (len(items[0]) + 1) // 2
        return [[items[0][:middle]], [items[0][middle:]]]
    return None


def no_memory(study: str, budget: int, *, resumable: bool, twin: str, options: Mapping[str, Any]) -> PlanError:
    """The sentence for a run that ran out of memory, with what to lower.

    >>> str(no_memory("survey", 4096, resumable=True, twin="beside", options={}))
    'survey: memory ran out; give a smaller --budget than 4,096 pieces, or texts of fewer pieces (--max-pieces)...
    """
    twins = ", or keep untrained twins out of the way of the model (--twin after)" if (
        twin == "beside" and options.get("twins")) else ""  # fmt: skip
    again = ", and go on from here with --resume" if resumable else ""
    return PlanError(
        f"{study}: memory ran out; give a smaller --budget than {budget:,} pieces, or texts of fewer pieces "
        f"(--max-pieces){twins}{again}"
    )
