"""The tables that a site is made of, as they are given: Arrow tables or plain columns, by name.

Only ``models`` and ``heads`` have to be there; of the others a page shows what there is. A table that is there must
have the columns that are named here, which is asked before anything is written. Columns of text come out as codes
into a list of their different values, so that millions of rows are worked on as numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from attlas.errors import StoreError

# fmt: off
NEEDED: dict[str, tuple[str, ...]] = {
    "models": ("model", "stream", "layers", "heads"),
    "heads": ("model", "stream", "layer", "head", "study", "quantity", "title", "kind", "value"),
    "sources": ("source", "model", "study", "command"),
    "roles": ("role", "title"),
    "portraits": ("model", "stream", "layer", "head", "order", "role", "part", "strength", "sentence", "study"),
    "disagreements": ("model", "stream", "layer", "head", "sentence"),
    "stands_out": ("model", "order", "sentence", "stream", "layer", "head"),
    "matches": (
        "model", "other", "stream", "layer", "head", "other_layer", "other_head", "distance", "matched", "by",
    ),
    "examples": ("model", "stream", "layer", "head", "example", "text", "query", "weights"),
    "texts": ("model", "text", "words", "page"),
    "alike": ("model", "stream", "layer", "head", "order", "other_layer", "other_head"),
    "left_out": ("given", "reason"),
}
# fmt: on
MEANT: dict[str, str] = {
    "models": "one row for each stream of each model",
    "heads": "one row for each head and figure",
    "sources": "what was run",
    "roles": "what heads may be found to do",
    "portraits": "sentences about heads, the strongest first",
    "disagreements": "where studies call a head different things",
    "stands_out": "sentences about a model",
    "matches": "heads of a model beside those of another",
    "examples": "rows of weights in texts",
    "texts": "the words of these texts",
    "alike": "the heads that are nearest to each head",
    "left_out": "what was given and is not in the atlas, and why",
}


class Given:
    """The tables, checked.

    >>> given = Given({"models": {"model": ["tiny"], "stream": ["encoder"], "layers": [1], "heads": [2]},
    ...     "heads": {name: [0] for name in NEEDED["heads"]}})
    >>> given.texts("models", "model"), given.rows("roles")
    (['tiny'], [])
    >>> Given({"models": {"model": []}})
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: the table 'models' has no column 'stream': one row for each stream of each model
    """

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self.tables: dict[str, pa.Table] = {}
        for name, needed in NEEDED.items():
            table = tables.get(name)
            if table is None or not len(table):
                if name in ("models", "heads"):
                    raise StoreError(f"there is no table {name!r}, which every atlas has: {MEANT[name]}")
                continue
            table = table if isinstance(table, pa.Table) else pa.table(dict(table))
            for column in needed:
                if column not in table.column_names:
                    raise StoreError(f"the table {name!r} has no column {column!r}: {MEANT[name]}")
            self.tables[name] = both_ways(table) if name == "matches" else table

    def __contains__(self, name: object) -> bool:
        return name in self.tables and self.tables[name].num_rows > 0

    def has(self, name: str, column: str) -> bool:
        """Whether a table has a column that it may go without."""
        return name in self.tables and column in self.tables[name].column_names

    def rows(self, name: str) -> list[dict[str, Any]]:
        """A small table, row by row."""
        return self.tables[name].to_pylist() if name in self.tables else []

    def texts(self, name: str, column: str) -> list[Any]:
        """A column as a list; of empty texts where there is no such column."""
        if not self.has(name, column):
            return [""] * (self.tables[name].num_rows if name in self.tables else 0)
        listed: list[Any] = self.tables[name][column].to_pylist()
        return listed

    def codes(self, name: str, column: str) -> tuple[NDArray[np.int64], list[str]]:
        """A column of text as places in a list of its different values; what is missing is an empty text."""
        if not self.has(name, column):
            rows = self.tables[name].num_rows if name in self.tables else 0
            return np.zeros(rows, np.int64), [""]
        whole = self.tables[name][column].combine_chunks()
        if isinstance(whole, pa.ChunkedArray):
            whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
        if not pa.types.is_dictionary(whole.type):
            whole = whole.dictionary_encode()
        places = pc.fill_null(whole.indices, len(whole.dictionary)).to_numpy(zero_copy_only=False)
        values = ["" if value is None else str(value) for value in whole.dictionary.to_pylist()]
        return places.astype(np.int64), [*values, ""]

    def numbers(self, name: str, column: str) -> NDArray[np.float64]:
        """A column of numbers; what is missing, or is no number, is none (NaN)."""
        rows = self.tables[name].num_rows if name in self.tables else 0
        if not self.has(name, column):
            return np.full(rows, np.nan)
        column_values = self.tables[name][column].cast(pa.float64(), safe=False)
        return np.asarray(column_values.to_numpy(), dtype=np.float64)

    def whole_numbers(self, name: str, column: str) -> NDArray[np.int64]:
        """A column of whole numbers, none of which may be missing."""
        values = self.numbers(name, column)
        if not np.isfinite(values).all():
            raise StoreError(
                f"the table {name!r}: {column!r} is missing in row {int(np.argmin(np.isfinite(values)))}"
            )
        return values.astype(np.int64)


def both_ways(matches: pa.Table) -> pa.Table:
    """Pairs of heads seen from either model: those that are given one way alone are turned round, too.

    >>> row = {"model": "a", "layer": 0, "head": 1, "other": "b", "other_layer": 2, "other_head": 3, "by": "number"}
    >>> both_ways(pa.Table.from_pylist([row])).select(["model", "layer", "other_head"]).to_pylist()
    [{'model': 'a', 'layer': 0, 'other_head': 3}, {'model': 'b', 'layer': 2, 'other_head': 1}]
    """
    way = ("model", "other", "by")
    given = set(zip(*(matches[name].to_pylist() for name in way), strict=True))
    ways = zip(*(matches[name].to_pylist() for name in way), strict=True)
    alone = pa.array([(other, model, by) not in given for model, other, by in ways], pa.bool_())
    names = {"model": "other", "layer": "other_layer", "head": "other_head"}
    names |= {other: own for own, other in names.items()}
    plain = pa.table({
        name: column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for name, column in zip(matches.column_names, matches.columns, strict=True)
    })  # fmt: skip
    turned = plain.filter(alone).rename_columns([names.get(name, name) for name in plain.column_names])
    return pa.concat_tables([plain, turned.select(plain.column_names)], promote_options="permissive")
