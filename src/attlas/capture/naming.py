"""Heads by the names of the papers: layer and head counted from one, after the stream where there are several."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attlas.errors import CapabilityError
from attlas.ids import HeadId, Stream, refuse_number

if TYPE_CHECKING:
    from attlas.capture.subject import Subject


def head_named(subject: Subject, label: str | HeadId) -> HeadId:
    """The head that a label names, refused where there is none. A head id is taken as it is.

    >>> from attlas.capture import load
    >>> str(head_named(load(), "6-10"))
    'encoder layer 5, head 9'
    """
    if isinstance(label, HeadId):
        counts = subject.grid(label.stream).sum(1).tolist() if label.stream in subject.streams else []
        if not (0 <= label.layer < len(counts) and 0 <= label.head < counts[label.layer]):
            raise CapabilityError(f"there is no {label} in {subject.name}")
        return label
    refuse_number(label, "head")
    found = re.fullmatch(r"(?:(\w+)[ :])?(\d+-\d+)", str(label).strip())
    streams = [stream.value for stream in subject.streams]
    if found is None or (found[1] is not None and found[1] not in streams):
        more = "" if len(streams) == 1 else f", with the stream in front ({', '.join(streams)})"
        raise CapabilityError(
            f"{label!r} does not name a head of {subject.name}; write layer and head counted from one, such as 3-1"
            f"{more}"
        )
    if found[1] is None and len(streams) > 1:
        raise CapabilityError(
            f"{label!r} may be in {' or '.join(streams)} of {subject.name}; say which, such as "
            f"'{streams[-1]} {label}'"
        )
    stream = Stream(found[1] or streams[0])
    head = HeadId(stream, *(int(number) - 1 for number in found[2].split("-")))
    counts = subject.grid(stream).sum(1).tolist()
    if not 0 <= head.layer < len(counts) or not 0 <= head.head < counts[head.layer]:
        there = f"{counts[0]}" if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"
        raise CapabilityError(
            f"there is no head {label} in {subject.name}; its {stream} has {len(counts)} layers of {there} heads"
        )
    return head
