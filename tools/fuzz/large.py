"""Files of nearly a megabyte that hold as many documents as they can, or few with as many words: each must be read,
or refused in a sentence, within the limits of time and memory.

There is no chance in them: file ``index`` is always the same, whatever the seed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from attlas.corpora import EDGE_TASKS
from attlas.corpora.formats import formats
from tools.fuzz.corpora import Case, attempt
from tools.fuzz.forked import Outcome, forked

MEGABYTE = 1_000_000
TINY: dict[str, tuple[bytes, ...]] = {  # by format, units of which a file is made
    "tsv": (b"a\tb\n", b"a b\tc d\n", b".,;:!?.,;:!?\t.,;:!?.,;:\n", "語\t語\n".encode()),
    "bitext": (b"a|||b\n", b"a ||| b\n", b"a b . ||| c d .\n"),
    "plain": (b"a\n\n", b"A b.\n\n", b"a. ", b".,", b"a ", b"\n \n\na"),
    "labelled": (b"a\t1\t\ta\n", b'{"text": "a", "label": 1}\n'),
    "conll2000": (b"a DT O\n\n", b"a DT B-NP\n"),
    "conll2012": (b"#begin document (a); part 000\nb 0 0 a DT * - - - - * (1)\n#end document\n",),
    "sst": (b"(1 a)\n",),
}


@cache
def cases() -> tuple[Case, ...]:
    """All files: of tiny units, of every format's example, and as edges of every task."""
    units = [(name, unit) for name, several in TINY.items() for unit in several]
    units += [(name, known.example.encode()) for name, known in formats().items() if not known.needs]
    made = [Case({"a.txt": filled(unit)}, options={"format": name}) for name, unit in units]
    made.append(Case({"a.txt": filled(b"a\n")[: MEGABYTE // 2], "b.txt": filled(b"b\n")[: MEGABYTE // 2]},
                     options={"target": "b.txt"}))  # fmt: skip
    for task in EDGE_TASKS:
        for name in ("conllu", "conll2000", "conll2012", "spans", "propbank", "uds", "semeval"):
            data = filled(formats()[name].example.encode())
            made.append(Case({"a.txt": data}, "edges", {"task": task, "format": name}))
    return tuple(made)


def filled(unit: bytes) -> bytes:
    """A file of less than a megabyte of the same unit.

    >>> len(filled(b"abc\\n"))
    999996
    """
    return unit * ((MEGABYTE - 1) // len(unit))


def outcomes(seed: int, indices: Sequence[int], keep: Path | None = None) -> Iterator[Outcome]:
    """What came of each of these files; there are no more than :func:`cases`."""
    there = [index for index in indices if index < len(cases())]
    with tempfile.TemporaryDirectory() as folder:
        for outcome in forked(lambda index: attempt(cases()[index], Path(folder)), there):
            yield outcome
            if outcome.at_fault and keep is not None:
                for name, data in cases()[outcome.index].files.items():
                    (keep / f"{outcome.index}").mkdir(parents=True, exist_ok=True)
                    (keep / f"{outcome.index}" / name).write_bytes(data)
