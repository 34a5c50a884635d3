"""JSON lines and CSV as tables: a column of texts is named, or told as it is for any table.

The rest is as for files of text: rows are records of lines, parsed when they are wanted, with the limits of lines and
of JSON. A text of JSON lines in the field ``text`` is read as the format ``keyphrases`` reads texts alone.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from attlas.corpora.cutting import Cutting, each_line, quoted_rows
from attlas.corpora.formats import Format
from attlas.corpora.jsonlines import parsed
from attlas.corpora.keyphrases import phrased_document
from attlas.corpora.quoted import separator_of
from attlas.corpora.source import Source
from attlas.corpora.streaming.files import TextFiles, first_lines
from attlas.corpora.streaming.records import Record
from attlas.corpora.streaming.rows import Columns
from attlas.corpora.streaming.tables import row_articles
from attlas.text import Document

_LOOKED_AT = 50  # rows that tell which columns hold strings
_TEXT = Columns(("text",))
_JSON = Format("json lines", lambda source: [], "", "", cutting=Cutting(lambda options: each_line))
_CSV = Format(
    "csv", lambda source: [], "", "", cutting=Cutting(lambda options: quoted_rows, header=lambda line, options: True)
)


@dataclass(frozen=True)
class ColumnFiles(TextFiles):
    """Files of JSON lines, or of CSV, of which some columns are read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.jsonl"
    ...     _ = file.write_text('{"body": "It rained.", "id": 1}\\n{"body": "", "id": 2}\\n')
    ...     reel, counts = ColumnFiles.over([file]), {}
    ...     [document.text for (document,) in reel.articles(list(reel.read()), counts)], counts
    (['It rained.'], {'rows without a text': 1})
    """

    columns: Columns = _TEXT
    separator: str = ","

    @classmethod
    def over(
        cls, files: Sequence[Path], text: str | None = None, label: str | None = None, name: str = ""
    ) -> ColumnFiles:
        """The files as they are to be read, after a look at the first rows of the first one."""
        look = first_lines(files[0])
        kind = _JSON if look.text.lstrip().startswith("{") else _CSV
        plain = TextFiles.of(files, options={}, name=name, known=kind)
        separator = separator_of(look.text)
        reel = cls(plain.name, plain.files, kind, {}, plain.headers, separator=separator)
        sample = list(reel._rows(list(islice(reel.read(), _LOOKED_AT))))
        names = dict.fromkeys(name for _, row in sample for name in row)
        kinds = {name: _kind([row.get(name) for _, row in sample], csv_values=kind is _CSV) for name in names}
        return replace(reel, columns=Columns.of(kinds, look.path, text, label))

    def identity(self) -> dict[str, Any]:
        """That of the files, and the columns."""
        return {**super().identity(), "columns": self.columns.read}

    def articles(self, records: Sequence[Record], left_out: dict[str, int]) -> list[list[Document]]:
        """A document for each row that has a text."""
        articles: list[list[Document]] = []
        for record in records:
            source = self._source(record.file, [record])
            for line, row in self._rows([record]):
                known = {name: row.get(name) for name in self.columns.read}
                if self.known is _JSON and self.columns == _TEXT and not self.columns.void(known):
                    articles.append([phrased_document(source, dict(row), line)])
                else:
                    rows = [Record(known, 0, 0, line, self.columns.void(known))]
                    articles += row_articles(self.columns, [source], rows, left_out)
        return articles

    def _rows(self, records: Sequence[Record]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """The fields of rows, with the lines on which they begin."""
        for record in records:
            if record.void:
                continue
            source = self._source(record.file, [record])
            if self.known is _JSON:
                content = source.lines[-1]
                yield record.number, parsed(source, content, record.number)
                continue
            names, *rows = _parsed_rows(source, self.separator, record.number)
            for row in rows:
                if len(row) != len(names):
                    raise source.error(
                        f"{len(row)} columns where the header names {len(names)}; put a text with a comma into "
                        "quotation marks",
                        record.number,
                    )
                yield record.number, dict(zip((name.strip() for name in names), row, strict=True))


def _parsed_rows(source: Source, separator: str, line: int) -> list[list[str]]:
    """The header and the rows below it, without empty ones."""
    try:
        rows = list(csv.reader(io.StringIO(source.text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise source.error(f"this is no row of CSV ({error})", line) from None
    return [row for row in rows if row]


def _kind(values: Sequence[Any], *, csv_values: bool) -> str:
    """What a column holds: "string" where all values that there are are strings, and in CSV some is no number."""
    known = [value for value in values if value is not None]
    if not known or not all(isinstance(value, str) for value in known):
        return type(known[0]).__name__ if known else "nothing"
    return "number" if csv_values and all(_is_number(value) for value in known) else "string"


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return not value.strip()
    return True
