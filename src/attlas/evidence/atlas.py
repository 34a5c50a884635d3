"""An atlas: the tables of everything that is known of heads, and the questions one asks of them."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from attlas.errors import StoreError
from attlas.evidence.finding import Index, find
from attlas.evidence.head import Head, head_named
from attlas.evidence.remarks import remarks_on
from attlas.evidence.searching import Hit, Line, lines_of, search
from attlas.pages.prose import count_of
from attlas.store import Manifest, Result, versions_here

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

STUDY = "atlas"


class Atlas:
    """The tables of an atlas, by name in ``tables``: see ``docs/reference.md``.

    >>> from attlas.evidence.example import example
    >>> atlas = example()
    >>> atlas
    Atlas(tiny: 4 heads, 12 figures from 2 results)
    >>> print(atlas.head("1-2").called)
    previous piece
    """

    def __init__(self, result: Result) -> None:
        if result.manifest.study != STUDY or "heads" not in result.manifest.tables:
            raise StoreError(
                f"{result.folder or 'this'}: a result of {result.manifest.study}, and no atlas; make one of it with "
                "attlas atlas join"
            )
        self.result = result
        self._index: Index | None = None
        self._lines: list[Line] | None = None

    @classmethod
    def of(cls, tables: Mapping[str, pa.Table], *, command: str = "") -> Atlas:
        """An atlas of these tables, in memory; ``command`` is the line that makes it again.

        >>> from attlas.evidence.example import example
        >>> Atlas.of(example().tables).models
        ['tiny']
        """
        models = list(dict.fromkeys(tables["models"]["model"].to_pylist()))
        sources = sorted(filter(None, tables["sources"]["fingerprint"].to_pylist()))
        plan = {"study": STUDY, "options": {"command": command} if command else {}, "sources": sources}
        corpora = dict.fromkeys(filter(None, tables["sources"]["corpus"].to_pylist()))
        manifest = Manifest(
            STUDY, plan, versions_here(), {"name": ", ".join(models)}, {"name": ", ".join(corpora)},
            seconds=sum(filter(None, tables["sources"]["seconds"].to_pylist())),
        )  # fmt: skip
        filled = {name: table for name, table in tables.items() if table.num_rows or name in ("heads", "sources")}
        return cls(Result(manifest, filled))

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All its tables, as Arrow; those without rows are there, too."""
        from attlas.evidence.gathering import TABLES, table_of

        held = self.result.tables
        empty = {name: table_of([], schema) for name, schema in TABLES.items() if name not in held}
        return {**held, **empty}

    @property
    def table(self) -> pa.Table:
        """The table of all heads: a row for each head and figure."""
        return self.result.tables["heads"]

    @property
    def models(self) -> list[str]:
        """The names of its models.

        >>> from attlas.evidence.example import example
        >>> example().models
        ['tiny']
        """
        return list(dict.fromkeys(self.tables["models"]["model"].to_pylist()))

    @property
    def command(self) -> str:
        """The line that makes it again; empty where it was made in Python.

        >>> from attlas.evidence.example import example
        >>> Atlas.of(example().tables, command="attlas atlas join tiny --out atlas").command
        'attlas atlas join tiny --out atlas'
        """
        return str(self.result.manifest.plan.get("options", {}).get("command", ""))

    @property
    def remarks(self) -> list[str]:
        """What to know before its figures are compared: other versions, other texts.

        >>> from attlas.evidence.example import example
        >>> example().remarks
        []
        """
        return list(remarks_on(self.tables["sources"].to_pylist(), self.tables["models"].to_pylist()))

    def to_pandas(self, name: str = "heads") -> pd.DataFrame:
        """A table as a data frame, that of all heads if none is named.

        >>> from attlas.evidence.example import example
        >>> frame = example().to_pandas()
        >>> frame[frame["quantity"] == "previous"]["value"].tolist()
        [0.17, 0.93, 0.06, 0.04]
        """
        if name in self.result.manifest.tables:
            return self.result.to_pandas(name)
        if name not in self.tables:
            raise StoreError(f"there is no table {name!r} in an atlas; the tables are {', '.join(self.tables)}")
        frame: pd.DataFrame = self.tables[name].to_pandas()
        return frame

    def head(self, label: str, model: str | None = None, stream: str | None = None) -> Head:
        """All that is known of a head, named by its label as on pages, counted from 1; model and stream are needed
        where there are several.

        >>> from attlas.evidence.example import example
        >>> print(example().head("1-2"))
        1-2 of tiny: previous piece
          does: puts 0.93 of its attention on the previous piece (an even spread: 0.05)
        ...
        """
        return head_named(self, label, model, stream)

    def find(self, question: str) -> list[Head]:
        """The heads whose figures are so, by a question such as ``obj > .5 and not cls > .5``.

        Conditions compare a quantity with a number or with another quantity (``>``, ``>=``, ``<``, ``<=``), or ask
        for ``layer`` (from 1), ``model:NAME``, ``stream:NAME`` or ``role:NAME``; they are joined by ``and``, ``or``,
        ``not`` and brackets. A name without its last part means any of those that begin so: ``obj`` is ``obj.to`` or
        ``obj.from``; where two studies have a name, ``STUDY/NAME`` says which. The whole grammar stands in
        :mod:`attlas.evidence.finding`.

        >>> from attlas.evidence.example import example
        >>> example().find("obj > .5 and not cls > .5")
        [Head(1-1 of tiny, encoder: syntax)]
        """
        if self._index is None:
            self._index = Index(self)
        return find(self._index, question)

    def search(self, text: str, most: int = 20) -> list[Hit]:
        """The heads of which something is said, in the order of evidence: "object", "[SEP]", "does nothing".

        >>> from attlas.evidence.example import example
        >>> [hit.head.label for hit in example().search("previous")]
        ['1-2', '1-1']
        """
        if self._lines is None:
            self._lines = lines_of(self)
        return search(self, self._lines, text, most)

    def save(self, folder: str | Path) -> Path:
        """Write its tables into a folder, in which results may lie; an atlas that is there is replaced.

        >>> import tempfile
        >>> from attlas.evidence.example import example
        >>> folder = example().save(Path(tempfile.mkdtemp()) / "atlas")
        >>> atlas(folder).models
        ['tiny']
        """
        return self.result.save(folder, beside=True)

    def __repr__(self) -> str:
        table = self.table
        heads = table.group_by(["model", "stream", "layer", "head"]).aggregate([]).num_rows
        figures, results = count_of(table.num_rows, "figure"), count_of(self.tables["sources"].num_rows, "result")
        shown = self.models[:4] + ([f"{len(self.models) - 4} more"] if len(self.models) > 4 else [])
        return f"Atlas({', '.join(shown)}: {count_of(heads, 'head')}, {figures} from {results})"

    def _repr_html_(self) -> str:
        rows = self.tables["stands_out"].to_pylist()
        told = "".join(f"<li>{html.escape(row['sentence'])}.</li>" for row in rows)
        return f"<p>{html.escape(repr(self))}</p><ul>{told}</ul>"


def atlas(folder: str | Path) -> Atlas:
    """Open an atlas that lies in a folder.

    >>> atlas("no such folder")
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: no such folder: there is no such folder; ...
    """
    from attlas.store.damage import told_as_damage

    with told_as_damage(folder):
        return Atlas(Result.open(folder))
