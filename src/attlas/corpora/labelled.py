"""Texts with a label each: tables with a header line as in GLUE, the four columns of CoLA, and JSON lines.

In a table, columns are separated by tabs and nothing is quoted: a quotation mark is part of its text. The header
names the columns, and case does not matter. Texts stand in a column named ``sentence`` or ``text``, or in two:
``sentence1`` and ``sentence2``, ``premise`` and ``hypothesis``, ``question`` and ``sentence``, and a few more. The
label stands in a column named ``label``, ``gold_label``, ``score``, ``similarity`` or the like; where several are
there, the first of :data:`LABELS` is taken unless another is asked for. All other columns are passed over. JSON
lines have the same names as fields. CoLA has no header: source, label, mark of its author, sentence.

Labels are kept as they are written, numbers too. A label that is empty, ``null`` or ``-`` (judges disagreed) is
none. Words are found by rule.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from attlas.corpora.formats import Format
from attlas.corpora.jsonlines import field_names, parsed
from attlas.corpora.source import Readable, Source, open_source
from attlas.text import Document

LABELS = (
    "label", "gold_label", "score", "similarity", "similarity_score", "relatedness_score", "quality", "is_duplicate",
    "sentiment", "class",
)  # fmt: skip
PAIRS = (
    ("sentence1", "sentence2"), ("premise", "hypothesis"), ("question1", "question2"), ("question", "sentence"),
    ("question", "passage"), ("text1", "text2"), ("sentence_a", "sentence_b"), ("#1 string", "#2 string"),
    ("text", "hypothesis"),
)  # fmt: skip
SINGLES = ("sentence", "text", "review", "question")
_MARK = re.compile(r"[*?#%!]*")
_NONE = ("", "-")


def read_labelled(path: Readable, label: str | None = None) -> list[Document]:
    """Read labelled texts, one document per line; ``label`` names the column of the label.

    >>> rows = ["sentence1\\tsentence2\\tlabel", "It rained.\\tIt was dry.\\tcontradiction"]
    >>> document, = read_labelled(Source.of_text("\\n".join(rows), name="a.tsv"))
    >>> document.text, document.pair.text, document.label
    ('It rained.', 'It was dry.', 'contradiction')
    >>> document, = read_labelled(Source.of_text('{"text": "Good.", "stars": 5}', name="a.jsonl"), "stars")
    >>> document.label
    '5'
    """
    source = open_source(path)
    documents = [labelled_document(source, line, row, label) for line, row in _rows(source)]
    if not documents:
        raise source.error("there is no labelled text in this file")
    return documents


def _text_columns(names: Sequence[str]) -> tuple[str, ...]:
    """The columns that hold texts, two of a pair, none where no name is known; all names are in small letters."""
    for pair in PAIRS:
        if set(pair) <= set(names):
            return pair
    return next(((name,) for name in SINGLES if name in names), ())


def _label_column(names: Sequence[str]) -> str | None:
    """The column that holds the label, by its name."""
    return next((name for name in LABELS if name in names), None)


def _cola(line: str) -> bool:
    """Whether a line has the columns of CoLA."""
    fields = line.split("\t", 4)
    if len(fields) != 4 or not fields[0] or fields[1] not in ("0", "1"):
        return False
    return _MARK.fullmatch(fields[2]) is not None and not fields[3].isspace() and bool(fields[3])


def _rows(source: Source) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Each line that holds a text, with its number and its fields by name."""
    filled = [(line, content) for line, content in enumerate(source.lines, start=1) if content.strip()]
    if not filled:
        return
    first = filled[0][1]
    if first.lstrip().startswith("{"):
        for line, content in filled:
            entry = parsed(source, content, line)
            yield line, {name.strip().lower(): value for name, value in entry.items()}
        return
    cola = _cola(first)
    names = ["source", "label", "mark", "sentence"] if cola else [name.strip().lower() for name in first.split("\t")]
    for line, content in filled if cola else filled[1:]:
        fields = content.split("\t")
        if len(fields) != len(names):
            columns = "1 column" if len(fields) == 1 else f"{len(fields)} columns"
            says = "CoLA has 4" if cola else f"the header names {len(names)}"
            raise source.error(f"{columns} where {says}; write a tab inside a text as a space", line)
        yield line, dict(zip(names, fields, strict=True))


def labelled_document(source: Source, line: int, row: Mapping[str, object], asked: str | None = None) -> Document:
    """The text of a row and its label, found by the names of their columns, which are in small letters.

    >>> labelled_document(Source.of_text(""), 1, {"sentence": "It rained.", "label": "wet"}).label
    'wet'
    """
    names = tuple(row)
    column, texts = _columns(names, asked)
    if not texts:
        raise source.error(
            f"none of its columns ({_listed(names)}) is a text; call it sentence, or sentence1 and sentence2", line
        )
    if column is None or column not in row:
        lacks = "no column for labels" if asked is None else f"no column {asked!r}"
        raise source.error(f"there is {lacks} among {_listed(names)}; name the right one (--label)", line)
    value = row[column]
    if not isinstance(value, (str, int, float, type(None))):
        raise source.error(f"the label {json.dumps(value)} is neither a word nor a number", line)
    label = value.strip() if isinstance(value, str) else "" if value is None else json.dumps(value)
    first, *rest = [_text(source, line, name, row[name]) for name in texts]
    name = f"{source.name}, line {line}"
    return Document.from_text(
        first,
        name=name,
        label=None if label in _NONE else label,
        pair=Document.from_text(rest[0], name=f"{name}, second text") if rest else None,
    )


@lru_cache
def _columns(names: tuple[str, ...], asked: str | None) -> tuple[str | None, tuple[str, ...]]:
    """The column of the label and those of the texts among these names, which are the same in most rows."""
    column = _label_column(names) if asked is None else asked.strip().lower()
    return column, tuple(name for name in _text_columns(names) if name != column)


def _text(source: Source, line: int, name: str, value: object) -> str:
    if not isinstance(value, str):
        raise source.error(f"the field {name!r} is no text", line)
    if not value.strip():
        raise source.error(f"the {name} has no words; leave this line out", line)
    return value.strip()


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def columns_told(names: Sequence[str]) -> bool:
    """Whether a column of texts is among these names, which are in small letters.

    >>> columns_told(["id", "text"]), columns_told(["it rained.", "wet"])
    (True, False)
    """
    return bool(_text_columns(names))


def looks_labelled(names: Sequence[str]) -> bool:
    """Whether these are the names of columns that hold a text and its label.

    >>> looks_labelled(["text", "label"]), looks_labelled(["text", "id"])
    (True, False)
    """
    return columns_told(names) and _label_column(names) is not None


def _header(lines: Sequence[str]) -> bool:
    return looks_labelled([name.strip().lower() for name in lines[0].split("\t")])


FORMAT = Format(
    "labelled",
    read_labelled,
    "texts or pairs of texts with a label each: tables with a header as in GLUE, CoLA, JSON lines",
    "sentence1\tsentence2\tlabel\nIt rained.\tIt was dry.\tcontradiction\n",
    order=80,
    annotations=("label", "pair"),
    options=("label",),
    looks={
        20: _header,  # before treebanks, as the similarity table of GLUE has ten columns too
        44: lambda lines: looks_labelled(field_names(lines) or ()),
        85: lambda lines: all(map(_cola, lines)),
    },
    endings=(".jsonl",),
)
