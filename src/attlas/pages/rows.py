"""The tables of a result as findings and charts ask for them: rows that can be filtered, grouped and ranked.

:class:`Rows` are rows of one table; :class:`Tables` are all tables of a result with its manifest, the schemas of its
study, and what follows from them: the model's and the corpus's names, streams, the size of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any, overload

from attlas.ids import paper_label
from attlas.pages.prose import Prose, listed, say
from attlas.store.schema import Schema, is_known

if TYPE_CHECKING:
    import pyarrow

    from attlas.store import Manifest, Result

Row = Mapping[str, Any]


class Rows(Sequence[Row]):
    """Some rows of a table, in order.

    >>> first, second = {"layer": 0, "head": 1, "value": 0.5}, {"layer": 2, "head": 0, "value": 0.9}
    >>> rows = Rows([first, second]) + Rows([{"layer": 2, "head": 1, "value": None}])
    >>> rows.largest("value").named("value", "share"), str(rows.where(layer=[2, 3]).sentence())
    (['3-1 (0.90)', '1-2 (0.50)'], '3-1 and 3-2')
    >>> rows.column("value"), rows.values("layer"), rows.mean("value"), rows.total("value"), len(rows.known("value"))
    ([0.5, 0.9, None], [0, 2], 0.7, 1.4, 2)
    >>> [(layer, len(same)) for layer, same in rows.by("layer")], rows.count(lambda row: row["head"] == 1)
    ([(0, 1), (2, 2)], 2)
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._rows = list(rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Rows: ...
    def __getitem__(self, at: int | slice) -> Row | Rows:
        return Rows(self._rows[at]) if isinstance(at, slice) else self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __add__(self, other: Rows) -> Rows:
        """These rows and others."""
        return Rows([*self, *other])

    def where(self, test: Callable[[Row], bool] | None = None, /, **equal: Any) -> Rows:
        """The rows that pass a test and whose columns have these values (one, or one of a list)."""
        rows = self._rows
        for name, value in equal.items():
            values = value if isinstance(value, list | tuple | set) else (value,)
            rows = [row for row in rows if row.get(name) in values]
        return Rows(rows if test is None else [row for row in rows if test(row)])

    def known(self, *columns: str) -> Rows:
        """The rows that have a value in all of these columns."""
        return Rows(row for row in self if all(is_known(row.get(column)) for column in columns))

    def by(self, column: str) -> Iterator[tuple[Any, Rows]]:
        """The rows in groups of equal values, in the order in which values come first."""
        groups: dict[Any, list[Row]] = {}
        for row in self:
            groups.setdefault(row.get(column), []).append(row)
        return ((value, Rows(rows)) for value, rows in groups.items())

    def largest(self, column: str) -> Rows:
        """The rows by a column, largest first; those without a value are left out."""
        return Rows(sorted(self.known(column), key=lambda row: -row[column]))

    def smallest(self, column: str) -> Rows:
        """The rows by a column, smallest first; those without a value are left out."""
        return Rows(sorted(self.known(column), key=lambda row: row[column]))

    def column(self, name: str) -> list[Any]:
        """All values of a column, None where there is none."""
        return [row.get(name) for row in self]

    def values(self, name: str) -> list[Any]:
        """The different values of a column, in the order in which they come first."""
        return list(dict.fromkeys(row[name] for row in self if is_known(row.get(name))))

    def mean(self, name: str) -> float | None:
        """The mean of what is known of a column."""
        known = [row[name] for row in self.known(name)]
        return fmean(known) if known else None

    def total(self, name: str) -> float:
        """The sum of what is known of a column."""
        return float(sum(row[name] for row in self.known(name)))

    def count(self, test: Callable[[Row], bool]) -> int:
        """How many rows pass a test."""
        return sum(1 for row in self if test(row))

    def named(self, column: str = "", kind: str = "", most: int | None = None) -> list[str]:
        """The heads of these rows by label, counted from 1, with a figure where a column is named."""
        shown = self._rows[:most]
        if not column:
            return [label_of(row) for row in shown]
        return [str(say(f"{{head}} ({{value{f':{kind}' if kind else ''}}})", head=label_of(row), value=row[column]))
                for row in shown]  # fmt: skip

    def sentence(self, column: str = "", kind: str = "", most: int | None = None) -> Prose:
        """The same as part of a sentence, the last after "and"."""
        return listed(self.named(column, kind, most))


def label_of(row: Row) -> str:
    """A row's head, or its layer where it has no head, counted from 1.

    >>> label_of({"layer": 5, "head": 2}), label_of({"layer": 5})
    ('6-3', '6')
    """
    head = row.get("head")
    return str(row["layer"] + 1) if head is None else paper_label(row["layer"], head)


class Tables:
    """All tables of a result, with what its manifest says and the schemas of its study.

    A table that is not there has no rows. ``derived`` makes further tables for charts, each from the others.

    >>> from attlas.store import Manifest, Result
    >>> heads = {"stream": ["encoder"], "layer": [1], "head": [2]}
    >>> result = Result(Manifest("toy", model={"name": "tiny"}), {"heads": heads})
    >>> tables = Tables(result)
    >>> tables.model, tables.layers, tables.heads, len(tables["other"]), tables.has("heads", "value")
    ('tiny', 2, 3, 0, False)
    """

    def __init__(
        self,
        result: Result,
        schemas: Iterable[Schema] = (),
        derived: Mapping[str, Callable[[Tables], Iterable[Row]]] | None = None,
    ) -> None:
        self.manifest: Manifest = result.manifest
        self.arrow: dict[str, pyarrow.Table] = dict(result.tables)
        self.schemas = {schema.table: schema for schema in schemas}
        self._rows: dict[str, Rows] = {}
        for name, make in (derived or {}).items():
            rows = Rows(make(self))
            if rows:
                self._rows[name] = rows

    def __getitem__(self, name: str) -> Rows:
        if name not in self._rows:
            self._rows[name] = Rows(self.arrow[name].to_pylist() if name in self.arrow else ())
        return self._rows[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and len(self[name]) > 0

    def has(self, name: str, *columns: str) -> bool:
        """Whether a table has rows, and these columns."""
        rows = self[name]
        return len(rows) > 0 and all(column in rows[0] for column in columns)

    def schema(self, name: str) -> Schema:
        """The schema of a table."""
        return self.schemas[name]

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.manifest.model.get("name", "a model"))

    @property
    def corpus(self) -> str:
        """The corpus's name."""
        return str(self.manifest.corpus.get("name", "a corpus"))

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the run."""
        return dict(self.manifest.plan.get("options", {})) if self.manifest.plan else {}

    @property
    def baseline(self) -> bool:
        """Whether untrained twins may stand beside the model: not where none were asked for.

        >>> from attlas.store import Manifest, Result
        >>> manifest = Manifest("toy", plan={"options": {"twins": 0, "twin": "none"}})
        >>> Tables(Result(manifest, {"heads": {"head": [0]}})).baseline
        False
        """
        return self.options.get("twin") not in ("none", False)

    @property
    def names(self) -> dict[str, Any]:
        """What every sentence of a page may name: the model and the corpus."""
        return {"model": self.model, "corpus": self.corpus}

    @cached_property
    def streams(self) -> list[str]:
        """The streams that any table speaks of, as they come."""
        held = [table for table in self.arrow.values() if "stream" in table.column_names]
        present = dict.fromkeys(value for table in held for value in table.column("stream").unique().to_pylist())
        return [stream for stream in ("encoder", "decoder", "cross") if stream in present]

    @cached_property
    def blocks(self) -> dict[str, list[int]]:
        """For streams in which not every block of the model has attention, the block that each layer is, from 0; of
        tables that are by layers of attention.

        >>> from attlas.store import Manifest, Result
        >>> from attlas.store.schema import LAYER
        >>> hybrid = {"name": "tiny", "streams": {"decoder": {"layers": 2, "heads": 4, "blocks": [1, 3]}}}
        >>> result = Result(Manifest("toy", model=hybrid), {"heads": {"layer": [0, 1]}})
        >>> Tables(result, [Schema("heads", "", LAYER)]).blocks
        {'decoder': [1, 3]}
        """
        by_layer = any(name in self.schemas and self.schemas[name].by_layer for name in self.arrow)
        streams = self.manifest.model.get("streams", {}) if by_layer else {}
        return {stream: list(counts["blocks"]) for stream, counts in streams.items() if counts.get("blocks")}

    @property
    def only_blocks(self) -> list[int]:
        """The same for a page of one stream, whose axes can say it; none for others."""
        return next(iter(self.blocks.values())) if self.blocks and len(self.streams) < 2 else []

    @cached_property
    def layers(self) -> int:
        """How many layers any table speaks of."""
        return self._size("layer")

    @cached_property
    def heads(self) -> int:
        """How many heads a layer has at most, of those that any table speaks of."""
        return self._size("head")

    def _size(self, column: str) -> int:
        from pyarrow import compute, types

        tops = [
            compute.max(table.column(column)).as_py()
            for table in self.arrow.values()
            if column in table.column_names and types.is_integer(table.column(column).type)
        ]
        return 1 + max((top for top in tops if top is not None), default=0)
