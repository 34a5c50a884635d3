"""A journal of a run: one line of JSON for each item that is done, under a first line with the plan.

For work that goes item by item and leaves a record of each, so that a killed run goes on after the last item that was
finished. Each line begins with a checksum of itself. (What sums over all items has checkpoints: see
:mod:`attlas.run.local`.)
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.run.plan import require_resumable
from attlas.store.plain import plain
from attlas.whole import naming, require_plain, write_whole

if TYPE_CHECKING:
    from attlas.run.session import Run

Record = dict[str, Any]


def journal_file(out: Path, study: str) -> Path:
    """Where the journal of a run lies.

    >>> journal_file(Path("out"), "keywords").as_posix()
    'out/.keywords.jsonl'
    """
    return out / f".{study}.jsonl"


def item_by_item(
    run: Run, sizes: Sequence[int], make: Callable[[int], Iterable[Record]], *, unit: str = "words"
) -> list[Record]:
    """A record of each item, with its ``seconds``: those of an earlier run, and then what ``make`` gives of the
    others, from the item of this number on. ``sizes`` are those of all items, for the progress.

    >>> from attlas.run.session import begin
    >>> from attlas.run.setting import as_corpus, as_subject
    >>> with begin("toy", as_subject(None), as_corpus("sample"), {}) as run:
    ...     records = item_by_item(run, [1, 2], lambda start: ({"item": at} for at in range(start, 2)))
    >>> [record["item"] for record in records]
    [0, 1]
    """
    path = None if run.out is None else journal_file(run.out, run.study)
    records = _earlier(run, path)
    if records:
        run.progress.note(f"resuming after {len(records)} of {len(sizes)} documents")
    if path is not None:  # written anew, so that half a line of a killed run is gone
        path.parent.mkdir(parents=True, exist_ok=True)
        first = {"plan": plain(run.plan.to_dict(), "plan")}
        write_whole(path, "".join(map(_line, [first, *records])))
    run.progress.start(run.study, sum(sizes), sum(sizes[: len(records)]), unit=unit)
    began = time.monotonic()
    try:
        for record in make(len(records)):
            now = time.monotonic()
            records.append({**record, "seconds": now - began})
            began = now
            if path is not None:
                with naming(path), open(path, "a", encoding="utf-8") as file:
                    file.write(_line(records[-1]))
            run.progress.advance(sizes[len(records) - 1])
    finally:
        run.progress.finish()
    return records


def _earlier(run: Run, path: Path | None) -> list[Record]:
    if path is None or not path.exists():
        return []
    first, *records = _whole_lines(path) or [{}]
    require_resumable(path, first.get("plan", {}), run.plan, resume=run.resume)
    return records


def _line(record: Record) -> str:
    """A record as a line, behind a checksum of itself."""
    text = json.dumps(record)
    return f"{zlib.crc32(text.encode()):08x} {text}\n"


def _whole_lines(path: Path) -> list[Record]:
    """All lines up to the first that is not whole; what comes after it is done again."""
    lines = []
    require_plain(path)
    for line in path.read_bytes().split(b"\n")[:-1]:
        checksum, _, text = line.partition(b" ")
        if checksum != f"{zlib.crc32(text):08x}".encode():
            break
        lines.append(json.loads(text))
    return lines
