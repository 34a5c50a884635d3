"""docs/corpora.md: the formats of corpora, from their records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attlas.corpora.formats import Format

PAGE = Path(__file__).resolve().parents[1] / "corpora.md"
OPENING = """\
# Corpora

Written by `python docs/build.py corpora` from the records of the readers.

Every command takes a corpus as a file, and `attlas.read(path)` reads it in Python. A file is text in UTF-8, plain or compressed by gzip or xz. Its format is
told by its name and its first lines; `--format` (`format=`) says it where it cannot be told. `sample` is the corpus that comes with attlas: 120 paragraphs with
dependencies, chunks, coreference, key phrases and labels. Whatever is wrong with a file is said in one sentence with the file and the line.

"""
FOLDERS = """\

A folder or zip archive of files of one of the formats {} is one corpus. A zip archive of one file is that file. In CoNLL columns `_` and `-` are no tag.

In `csv`, columns are found by the names of a header as in `labelled` (`text`, `sentence`, `label`, ...; `--label` names another label); where the first line names no text, the
first column is the text and the second its label. Between columns stands a comma, a semicolon or a tab, and quotes are those of RFC 4180. In `labelled` a quotation mark is part of its text.

`lenient` (`attlas align --lenient`) leaves out gold links that lie outside their pair of sentences, and says how many.

## Limits

Files may be made to fill a machine, so what is read has limits, far above what corpora need. Each refusal names its limit; `--limits line=20000000,ratio=200` raises some, as do
`attlas.read(path, limits=...)` and `attlas.corpora.limited(...)` in Python. Pipes and devices are not read; the size of a file has no limit.

{}

## What they look like
"""
LIMITS = {
    "ratio": "times its size that a packed file (gzip, xz, a whole zip archive) may unpack to",
    "buffer": "MiB that may be unpacked before the ratio counts",
    "members": "files of a zip archive",
    "line": "characters of a line, or of a field in `csv`",
    "depth": "brackets inside brackets in JSON",
    "digits": "digits of a number",
    "weights": "weights that one look at a text keeps, which are 2.4 GB ([views](views.md#matrix-view))",
}
CLOSING = """
## A format of your own

A format is one file: a module of `attlas.corpora` that ends with a record, `FORMAT = Format(name, read, about, example, ...)`. It is found, and everything goes
by it: reading, telling the format of a file, what is said of unknown formats and options, and this page. `attlas.corpora.formats.Format` says what a record can hold.
"""


def build(folders: list[Path]) -> None:
    """Write the page; folders are not needed."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The page as the records have it."""
    from attlas.corpora.formats import formats

    records = formats().values()
    table = ["| format | what it holds | annotations | options |", "|---|---|---|---|", *map(_row, records)]
    in_folders = " and ".join(f"`{record.name}` ({_code(record.folders)})" for record in records if record.folders)
    examples = "".join(f"\n### {record.name}\n\n```text\n{record.example.rstrip()}\n```\n" for record in records)
    limits = "\n".join(["| limit | default | of what |", "|---|---|---|", *map(_limit, LIMITS.items())])
    return OPENING + "\n".join(table) + "\n" + FOLDERS.format(in_folders, limits) + examples + CLOSING


def _row(record: Format) -> str:
    return f"| `{record.name}` | {record.about} | {_code(record.annotations)} | {_code(record.options)} |"


def _limit(told: tuple[str, str]) -> str:
    from attlas.corpora.limits import Limits

    name, about = told
    return f"| `{name}` | {Limits().values()[name]:,} | {about} |"


def _code(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
