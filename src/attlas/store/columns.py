"""From columns, as a study gives them, to Arrow tables.

A study answers with plain columns: a dictionary of names to lists or one-dimensional arrays of equal length. Text
columns (stream, quantity, relation ...) repeat a few values over many rows and become dictionaries in Arrow, which
is to say categories in pandas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from attlas.errors import StoreError

if TYPE_CHECKING:
    import pyarrow as pa

Columns = Mapping[str, "Sequence[Any] | NDArray[Any]"]


def check_columns(columns: Columns, name: str) -> None:
    """Refuse columns of unlike length.

    >>> check_columns({"layer": [0, 1], "value": [0.5]}, "heads")
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: table 'heads': its columns differ in length (layer: 2, value: 1)
    """
    lengths = {column: len(values) for column, values in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{column}: {length}" for column, length in lengths.items())
        raise StoreError(f"table {name!r}: its columns differ in length ({shown})")


def tables_from_columns(tables: Mapping[str, Columns | pa.Table]) -> dict[str, pa.Table]:
    """Turn each named set of columns into an Arrow table; what is a table already stays as it is.

    >>> table = tables_from_columns({"heads": {"stream": ["encoder"] * 2, "layer": [0, 1]}})["heads"]
    >>> table.num_rows, str(table.schema.field("stream").type)
    (2, 'dictionary<values=string, indices=int32, ordered=0>')
    """
    return {name: _table(columns, name) for name, columns in tables.items()}


def _table(columns: Columns | pa.Table, name: str) -> pa.Table:
    import pyarrow as pa

    if isinstance(columns, pa.Table):
        return columns
    check_columns(columns, name)
    return pa.table({column: _array(values, name, column) for column, values in columns.items()})


def _array(values: Any, name: str, column: str) -> pa.Array:
    import pyarrow as pa

    try:
        array = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise StoreError(f"table {name!r}, column {column!r}: {error}") from None
    return array.dictionary_encode() if pa.types.is_string(array.type) else array


def as_cell(value: Any) -> Any:
    """A value as a table takes it: numpy's numbers as plain ones, and None for what is no finite number.

    >>> import numpy as np
    >>> as_cell(np.float64(0.5)), as_cell(np.int64(3)), as_cell(float("nan")), as_cell("head"), as_cell(None)
    (0.5, 3, None, 'head', None)
    """
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_columns(rows: Sequence[Mapping[str, Any]], names: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Rows as columns of cells: those that are named, empty where there is no row; else all that the first row has.

    >>> as_columns([{"layer": 0, "value": float("nan")}, {"layer": 1, "value": 0.5}])
    {'layer': [0, 1], 'value': [None, 0.5]}
    >>> as_columns([], ["layer", "value"])
    {'layer': [], 'value': []}
    """
    return {name: [as_cell(row[name]) for row in rows] for name in names or (rows[0] if rows else ())}
