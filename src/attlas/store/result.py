"""A study's answer: tables and their manifest, in memory or in a folder.

The first table is the main one. Tables may be given as plain columns and become Arrow tables only when somebody
asks for them, so that a study can run where Arrow is not installed.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.errors import StoreError
from attlas.store.checkpoint import clear_checkpoint
from attlas.store.columns import Columns, check_columns, tables_from_columns
from attlas.store.folder import MANIFEST, locate, publish, require_free
from attlas.store.manifest import Manifest

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ROWS_SHOWN = 10


class Result:
    """Tables of a study under their names, the main one first; ``folder`` is where they lie, once they are saved.

    >>> result = Result(Manifest("survey"), {"heads": {"layer": [0, 1], "value": [0.25, 0.5]}})
    >>> result.table.column("value").to_pylist()
    [0.25, 0.5]
    >>> result
    Result(survey: heads with 2 rows)
    """

    def __init__(self, manifest: Manifest, tables: Mapping[str, Columns | pa.Table]) -> None:
        if not tables:
            raise StoreError(f"the study {manifest.study!r} gave no table")
        for name, table in tables.items():
            if not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
                raise StoreError(f"the table name {name!r} must be lower-case letters, digits, '-' and '_'")
            if isinstance(table, Mapping):
                check_columns(table, name)
        self.manifest = replace(manifest, tables=tuple(tables))
        self.folder: Path | None = None
        self._given: dict[str, Columns | pa.Table] = dict(tables)

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables, as Arrow.

        >>> list(Result(Manifest("survey"), {"heads": {"layer": [0]}, "layers": {"layer": [0]}}).tables)
        ['heads', 'layers']
        """
        converted = tables_from_columns(self._given)
        self._given.update(converted)
        return converted

    @property
    def table(self) -> pa.Table:
        """The main table, as Arrow.

        >>> Result(Manifest("survey"), {"heads": {"layer": [0]}}).table.column_names
        ['layer']
        """
        return next(iter(self.tables.values()))

    def rows(self, name: str | None = None) -> list[dict[str, Any]]:
        """The rows of a table, the main one or the one named; needs no Arrow where the study was run just now.

        >>> Result(Manifest("survey"), {"heads": {"layer": [0, 1], "value": [0.25, 0.5]}}).rows()[1]
        {'layer': 1, 'value': 0.5}
        """
        table = self._given[next(iter(self._given)) if name is None else name]
        if not isinstance(table, Mapping):
            found: list[dict[str, Any]] = table.to_pylist()
            return found
        return [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]

    def to_pandas(self, name: str | None = None) -> pd.DataFrame:
        """A table as a data frame: the main one, or the one named.

        >>> Result(Manifest("survey"), {"heads": {"layer": [0, 1]}}).to_pandas().shape
        (2, 1)
        """
        if name is not None and name not in self.manifest.tables:
            raise StoreError(f"there is no table {name!r} here; the tables are {', '.join(self.manifest.tables)}")
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise StoreError("to_pandas() needs pandas: pip install pandas, or use .table") from None
        frame: pd.DataFrame = (self.table if name is None else self.tables[name]).to_pandas()
        return frame

    def save(self, folder: str | Path) -> Path:
        """Write the result into a folder, wholly or not at all, and drop the run's checkpoint there.

        >>> import tempfile
        >>> out = Result(Manifest("survey"), {"heads": {"layer": [0]}}).save(Path(tempfile.mkdtemp()) / "out")
        >>> sorted(path.name for path in out.iterdir())
        ['heads.parquet', 'manifest.json']
        """
        folder = Path(folder)
        tables = self.tables
        require_free(folder, self.manifest.plan)

        def write(staged: Path) -> None:
            from pyarrow import parquet

            for name, table in tables.items():
                parquet.write_table(table, staged / f"{name}.parquet", compression="zstd")
            (staged / MANIFEST).write_text(self.manifest.to_json() + "\n", encoding="utf-8")

        publish(folder, write)
        clear_checkpoint(folder)
        self.folder = folder
        return folder

    @classmethod
    def open(cls, folder: str | Path) -> Result:
        """Read a result back from its folder.

        >>> Result.open("no such folder")
        Traceback (most recent call last):
            ...
        attlas.errors.StoreError: no such folder: there is no such folder; ...
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise StoreError(f"{folder}: there is no such folder; give the --out of a finished run")
        path = locate(folder, MANIFEST)
        try:
            manifest = Manifest.from_json(path.read_text(encoding="utf-8"), str(path))
        except FileNotFoundError:
            raise StoreError(
                f"{folder}: no {MANIFEST} here, so this is no finished result; finish the run with --resume, "
                "or give another folder"
            ) from None
        except UnicodeDecodeError as error:
            raise StoreError(f"{path}: this is not text ({error.reason}); the result must be made again") from None
        result = cls(manifest, {name: _read(locate(folder, f"{name}.parquet")) for name in manifest.tables})
        result.folder = folder
        return result

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} with {_rows(table)} rows" for name, table in self._given.items())
        return f"Result({self.manifest.study}: {counts})"

    def _repr_html_(self) -> str:
        """The head of the main table, for notebooks."""
        name, table = next(iter(self.tables.items()))
        about = [
            self.manifest.study,
            *(str(d["name"]) for d in (self.manifest.model, self.manifest.corpus) if "name" in d),
        ]
        shown = min(ROWS_SHOWN, table.num_rows)
        caption = f"{', '.join(about)}: {name}, {shown} of {table.num_rows} rows"
        head = "".join(f"<th>{html.escape(column)}</th>" for column in table.column_names)
        rows = "".join(
            "<tr>" + "".join(_cell(value) for value in row.values()) + "</tr>"
            for row in table.slice(0, shown).to_pylist()
        )
        others = ", ".join(self.manifest.tables[1:])
        note = f"<p>Further tables: {html.escape(others)}</p>" if others else ""
        return (
            f"<table><caption>{html.escape(caption)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"
        )


def _read(path: Path) -> pa.Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            return file.read()
    except FileNotFoundError:
        raise StoreError(
            f"{path}: the manifest lists this table, but the file is not there; make the result again"
        ) from None
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path}: this table cannot be read ({error}); make the result again") from None


def _rows(table: Columns | pa.Table) -> int:
    """How many rows there are, without need of Arrow."""
    if isinstance(table, Mapping):
        return len(next(iter(table.values()), ()))
    return int(table.num_rows)


def _cell(value: Any) -> str:
    """One cell of the small HTML table."""
    if isinstance(value, float):
        return f'<td style="text-align:right">{value:.4g}</td>'
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td style="text-align:right">{value}</td>'
    return f"<td>{html.escape('' if value is None else str(value))}</td>"
