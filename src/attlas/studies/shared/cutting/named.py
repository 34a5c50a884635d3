"""Heads by label, as a person gives them: one by one, or in one text with commas between."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from attlas.errors import CapabilityError, PlanError
from attlas.ids import HeadId, paper_label
from attlas.run.parameters import names_of

if TYPE_CHECKING:
    from attlas.capture import Subject


def heads_named(subject: Subject, heads: str | Iterable[str]) -> list[HeadId]:
    """The heads that were named, each once; none, or a bare number, is refused.

    >>> from attlas.capture import load
    >>> [str(head) for head in heads_named(load(), "6-10, 1-1")]
    ['encoder layer 5, head 9', 'encoder layer 0, head 0']
    >>> heads_named(load(), [3])
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: 3 names no head: heads are named by layer and head counted from 1, such as '3-1'
    """
    given = [heads] if isinstance(heads, str) else list(heads)
    for label in given:
        if not isinstance(label, str):
            raise CapabilityError(
                f"{label!r} names no head: heads are named by layer and head counted from 1, such as '3-1'"
            )
    labels = [name for label in given for name in names_of(label)]
    if not labels:
        raise PlanError("no head was named; give at least one, such as 3-1")
    return list(dict.fromkeys(subject.named(labels)))


def label_in_full(head: HeadId) -> str:
    """A head's label with its stream, which names it in any model.

    >>> from attlas.ids import Stream
    >>> label_in_full(HeadId(Stream.CROSS, 5, 2))
    'cross 6-3'
    """
    return f"{head.stream} {paper_label(head.layer, head.head)}"
