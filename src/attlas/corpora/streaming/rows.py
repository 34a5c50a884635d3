"""From the rows of a table to documents: which column is the text, and which the label.

The text is the column that is asked for, else one called ``text``, else the only column of strings; where labels are
asked for, or columns are called as :mod:`attlas.corpora.labelled` knows them, a row is a labelled text or pair as
there. A row whose text is empty is left out and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attlas.corpora.labelled import label_column, labelled_document, looks_labelled, text_columns
from attlas.corpora.source import Source, visible
from attlas.errors import CorpusError
from attlas.text import Document

EMPTY = "rows without a text"


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are read: the texts, and the label, if any.

    >>> Columns.of({"id": "int64", "text": "string"}, "a.parquet")
    Columns(texts=('text',), label=None)
    >>> Columns.of({"title": "string", "body": "string"}, "a.parquet")
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: a.parquet: which column is the text? there are title, body; name one (--text-column,
    ?text=)
    """

    texts: tuple[str, ...]
    label: str | None = None

    @classmethod
    def of(cls, kinds: Mapping[str, str], where: str, text: str | None = None, label: str | None = None) -> Columns:
        """The columns to read of those that there are, each with its kind; strings are those called "string"."""
        strings = [name for name, kind in kinds.items() if kind == "string"]
        for asked, option in ((text, "--text-column, ?text="), (label, "--label, ?label=")):
            if asked is not None and asked not in kinds:
                raise CorpusError(f"there is no column {asked!r} among {_listed(kinds)} ({option})", file=where)
        if text is not None:
            if text not in strings:
                raise CorpusError(f"the column {text!r} holds no texts but {kinds[text]}", file=where)
            return cls((text,), label)
        named = {name.strip().lower(): name for name in kinds}
        if looks_labelled(list(named)) or label is not None:
            texts = tuple(named[name] for name in text_columns([name for name in named if named[name] in strings]))
            texts = tuple(name for name in texts if name != label)
            if texts:
                return cls(texts, label or _label(named))
        if "text" in strings:
            return cls(("text",), label)
        candidates = [name for name in strings if name != label]
        if len(candidates) != 1:
            which = "which column is the text?" if candidates else "no column holds texts;"
            raise CorpusError(f"{which} there are {_listed(kinds)}; name one (--text-column, ?text=)", file=where)
        return cls((candidates[0],), label)

    @property
    def read(self) -> list[str]:
        """All columns that are read.

        >>> Columns(("text",), "stars").read
        ['text', 'stars']
        """
        return [*self.texts, *([] if self.label is None else [self.label])]

    def void(self, row: Mapping[str, Any]) -> bool:
        """Whether a row has no text.

        >>> Columns(("text",)).void({"text": " "}), Columns(("text",)).void({"text": None})
        (True, True)
        """
        return any(not (isinstance(row[name], str) and row[name].strip()) for name in self.texts)

    def document(self, source: Source, number: int, row: Mapping[str, Any]) -> Document | None:
        """The document of a row; None where there is not a word in it.

        >>> Columns(("body",), "stars").document(Source.of_text("", "a.csv"), 7, {"body": "Good.", "stars": 5}).label
        '5'
        """
        if self.label is None:
            document = Document.from_text(row[self.texts[0]].strip(), name=f"{source.name}, row {number}")
            return document if document.words else None
        called = ("sentence",) if len(self.texts) == 1 else ("sentence1", "sentence2")
        known = {name: row[column] for name, column in zip(called, self.texts, strict=True)}
        labelled = labelled_document(source, number, {**known, "label": row[self.label]}, "label")
        return replace(labelled, name=f"{source.name}, row {number}") if labelled.words else None


def _label(named: Mapping[str, str]) -> str | None:
    column = label_column(list(named))
    return None if column is None else named[column]


def _listed(names: Mapping[str, str] | Sequence[str]) -> str:
    shown = [visible(name) for name in names]
    return ", ".join(shown[:12]) + (f" and {len(shown) - 12} more" if len(shown) > 12 else "")
