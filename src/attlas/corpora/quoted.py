"""Tables with quotes, as spreadsheets write them (RFC 4180): a text and its label, with commas between columns.

A field may stand in quotation marks, and then holds whatever it likes: commas, ends of lines, and quotation marks
that are written twice. Between columns stands a comma, a semicolon or a tab: whichever the first line has most of
outside quotes. Where the first line names a column of texts by a name that :mod:`attlas.corpora.labelled` knows
(``text``, ``sentence``, ``premise`` and ``hypothesis``, ...), or has the column that is asked for as the label, it is
a header, and columns are found by their names as there. Else there is no header: the first column is the text and the
second its label; a first row that looks like a header of other names is refused. Rows that are empty are passed over.

A tab-separated table without quotes is the format ``labelled``, where a quotation mark is part of its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attlas.corpora.cutting import Cutting, quoted_rows
from attlas.corpora.formats import Format
from attlas.corpora.labelled import columns_told, labelled_document, looks_labelled
from attlas.corpora.limits import above, in_force
from attlas.corpora.source import Readable, Source, open_source
from attlas.text import Document

SEPARATORS = (",", ";", "\t")
_QUOTED = re.compile(r'"[^"]*(?:""[^"]*)*"')


def read_quoted(path: Readable, label: str | None = None) -> list[Document]:
    """Read a table with quotes, one document per row; ``label`` names the column of the label.

    >>> rows = 'text,label\\n"It rained, and ""poured"".",wet\\n'
    >>> document, = read_quoted(Source.of_text(rows, name="a.csv"))
    >>> document.text, document.label
    ('It rained, and "poured".', 'wet')
    >>> document, = read_quoted(Source.of_text('"Sunny; dry";good', name="a.csv"))
    >>> document.text, document.label
    ('Sunny; dry', 'good')
    """
    source = open_source(path)
    rows = [(line, row) for line, row in _rows(source) if any(field.strip() for field in row)]
    if not rows:
        raise source.error("there is no labelled text in this file")
    names = [name.strip().lower() for name in rows[0][1]]
    headed = _names_columns(names, label)
    if not headed:
        _refuse_header(source, rows)
        names = ["text", "label", *(f"column {at}" for at in range(3, len(names) + 1))][: len(names)]
    if len(names) < 2:
        raise source.error("one column where a text and its label are needed, with a comma between them", rows[0][0])
    documents = []
    for line, row in rows[headed:]:
        if len(row) != len(names):
            says = f"the header names {len(names)}" if headed else f"the first row has {len(names)}"
            columns = "1 column" if len(row) == 1 else f"{len(row)} columns"
            raise source.error(f"{columns} where {says}; put a text with a comma into quotation marks", line)
        documents.append(labelled_document(source, line, dict(zip(names, row, strict=True)), label))
    if not documents:
        raise source.error("there is a header, and no text below it", rows[0][0])
    return documents


def _names_columns(names: Sequence[str], label: str | None) -> bool:
    """Whether the first row is a header: it names a column of texts, or the label that is asked for."""
    return columns_told(names) or (label is not None and label.strip().lower() in names)


def _is_header(line: str, options: Mapping[str, Any]) -> bool:
    return _names_columns(header_names(line), options.get("label"))


def header_names(line: str) -> list[str]:
    """The names that a first line would give as a header, in small letters.

    >>> header_names('"Text";Label')
    ['text', 'label']
    """
    return [name.strip().strip('"').strip().lower() for name in line.split(separator_of(line))]


def _refuse_header(source: Source, rows: Sequence[tuple[int, list[str]]]) -> None:
    """Refuse a first row that is nothing like the others: one word where all texts have several, and a label that
    never comes again. To read it as a text would be a silent mistake."""
    (line, first), *others = rows
    if len(others) < 2 or len(first) < 2 or len(first[0].split()) > 1:
        return
    alike = any(len(row[0].split()) < 2 or len(row) < 2 or row[1].strip() == first[1].strip() for _, row in others)
    if not alike:
        names = ", ".join(name.strip() for name in first[:8])
        raise source.error(
            f"this looks like a header ({names}) that names no text; call the columns text and label", line
        )


def _rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """The rows with the lines on which they begin."""
    separator = separator_of(source.text)
    field = re.compile(
        rf'(?:("[^"]*(?:""[^"]*)*")|([^"{separator}\r\n][^{separator}\r\n]*)?)({separator}|\r?\n|\r|\Z)'
    )
    text, at, line, began = source.text, 0, source.first_line, source.first_line
    row: list[str] = []
    while at < len(text) or row:
        match = field.match(text, at)
        if match is None:
            raise source.error(_fault(text, at), line)
        quoted, plain, end = match.groups()
        if len(match[0]) > in_force().line:
            raise source.error(f"a field of {len(match[0])} characters, {above('line')}", line)
        row.append(quoted[1:-1].replace('""', '"') if quoted else plain or "")
        line += match[0].count("\n")
        at = match.end()
        if end != separator:
            yield began, row
            row, began = [], line


def _fault(text: str, at: int) -> str:
    """What is wrong with a field that is none."""
    quoted = _QUOTED.match(text, at)
    if quoted is None:
        return "a quotation mark opens here that is never closed"
    after = text[quoted.end() : quoted.end() + 20].partition("\n")[0]
    return f"{after!r} comes after a closing quotation mark; write a quotation mark inside quotes twice"


def separator_of(text: str) -> str:
    """What stands between columns: the mark that the first line has most of, outside quotes."""
    first = _QUOTED.sub("", text[: in_force().line].lstrip("\n\r")).partition("\n")[0]
    return max(SEPARATORS, key=first.count)


def _looks(lines: Sequence[str]) -> bool:
    """Whether the first line is a header with commas, semicolons or quotes that names a text and a label."""
    first = lines[0]
    separator = separator_of(first)
    if separator == "\t" and not first.startswith('"'):
        return False
    return looks_labelled(header_names(first))


FORMAT = Format(
    "csv",
    read_quoted,
    "texts or pairs of texts with a label each: tables with quotes (RFC 4180), with a header that names text and "
    "label, or the text first and the label second",
    'text,label\n"It rained, and ""poured"".",wet\nThe sun shone.,dry\n',
    order=85,
    annotations=("label", "pair"),
    options=("label",),
    looks={21: _looks},
    endings=(".csv",),
    enough=lambda lines: any(mark in lines[0] for mark in SEPARATORS),
    cutting=Cutting(lambda options: quoted_rows, header=_is_header),
)
