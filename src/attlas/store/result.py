"""A study's answer: tables and their manifest, in memory or in a folder.

The first table is the main one. Tables may be given as plain columns and become Arrow tables only when somebody
asks for them, so that a study can run where Arrow is not installed.
"""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.errors import StoreError
from attlas.store.checkpoint import clear_checkpoint
from attlas.store.columns import Columns, check_columns, tables_from_columns
from attlas.store.folder import MANIFEST, locate, publish, read_manifest, require_free
from attlas.store.manifest import CHECKED, NAME, NAMES, Manifest
from attlas.whole import require_plain, writing

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
            if not NAME.fullmatch(name):
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

    @property
    def fingerprint(self) -> str:
        """Twelve letters that tell these tables, and the plan that made them, from all others.

        >>> one, other = (Result(Manifest("survey"), {"heads": {"value": [value]}}) for value in (0.25, 0.5))
        >>> len(one.fingerprint), one.fingerprint == other.fingerprint
        (12, False)
        """
        digest = hashlib.sha256(json.dumps(self.manifest.plan, sort_keys=True, default=str).encode())
        for name, table in self.tables.items():
            digest.update(name.encode())
            for column in table.column_names:
                digest.update(column.encode())
                digest.update(repr(table.column(column).to_pylist()).encode())
        return digest.hexdigest()[:12]

    def rows(self, name: str | None = None) -> list[dict[str, Any]]:
        """The rows of a table, the main one or the one named; needs no Arrow where the study was run just now.

        >>> Result(Manifest("survey"), {"heads": {"layer": [0, 1], "value": [0.25, 0.5]}}).rows()[1]
        {'layer': 1, 'value': 0.5}
        """
        table = self._given[self._named(name)]
        if not isinstance(table, Mapping):
            found: list[dict[str, Any]] = table.to_pylist()
            return found
        return [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]

    def to_pandas(self, name: str | None = None) -> pd.DataFrame:
        """A table as a data frame: the main one, or the one named.

        >>> Result(Manifest("survey"), {"heads": {"layer": [0, 1]}}).to_pandas().shape
        (2, 1)
        """
        wanted = self._named(name)
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise StoreError("to_pandas() needs pandas: pip install pandas, or use .table") from None
        frame: pd.DataFrame = self.tables[wanted].to_pandas()
        return frame

    def save(self, folder: str | Path, *, beside: bool = False) -> Path:
        """Write the result into a folder, wholly or not at all, and drop the run's checkpoint there.

        ``beside`` says that other things may lie in the folder, and that an earlier result of the study, of whatever
        plan, is replaced.

        >>> import tempfile
        >>> out = Result(Manifest("survey"), {"heads": {"layer": [0]}}).save(Path(tempfile.mkdtemp()) / "out")
        >>> sorted(path.name for path in out.iterdir())
        ['heads.parquet', 'manifest.json']
        """
        folder = Path(folder)
        tables = self.tables
        if not (beside and _replaces(folder, self.manifest.study)):
            require_free(folder, self.manifest.plan)

        def write(staged: Path) -> None:
            from pyarrow import parquet

            checksums = {}
            for name, table in tables.items():
                file = staged / f"{name}.parquet"
                parquet.write_table(table, file, compression="zstd")
                checksums[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
            self.manifest = replace(self.manifest, checksums=checksums)
            (staged / MANIFEST).write_text(self.manifest.to_json() + "\n", encoding="utf-8")

        publish(folder, write)
        clear_checkpoint(folder)
        self.folder = folder
        return folder

    @classmethod
    def open(cls, folder: str | Path) -> Result:
        """Read a result back from its folder; what does not agree with its checksum is refused.

        >>> Result.open("no such folder")
        Traceback (most recent call last):
            ...
        attlas.errors.StoreError: no such folder: there is no such folder; ...
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise StoreError(f"{folder}: there is no such folder; give the --out of a finished run")
        manifest = read_manifest(folder)
        sums = manifest.checksums
        unchecked = [name for name in manifest.tables if f"{name}.parquet" not in sums]
        if unchecked and manifest.schema >= CHECKED:
            raise StoreError(
                f"{folder}: its manifest has no checksum of {unchecked[0]}.parquet, so attlas did not write it; make "
                "the result again"
            )
        tables = {
            name: _read(locate(folder, f"{name}.parquet"), sums.get(f"{name}.parquet")) for name in manifest.tables
        }
        if manifest.schema < NAMES:
            from attlas.studies.reporting import with_present_names

            try:
                manifest, tables = with_present_names(manifest, tables)
            except (LookupError, ValueError, TypeError) as error:  # columns twice, values of strange types
                reason = str(error).partition("\n")[0]
                raise StoreError(
                    f"{folder}: its tables are not those of {manifest.study} ({reason}); make the result again"
                ) from None
        result = cls(manifest, tables)
        result.folder = folder
        return result

    def page(self, out: str | Path | None = None) -> Path:
        """Write the result's page, beside its tables or to ``out`` (a file or a folder), and tell where it lies.

        >>> import tempfile
        >>> columns = {"stream": ["encoder"], "layer": [0], "head": [0], "value": [0.5], "normalised": [1.0]}
        >>> result = Result(Manifest("importance", model={"name": "tiny"}), {"importance": columns})
        >>> result.page(Path(tempfile.mkdtemp())).name
        'report.html'
        """
        from attlas.studies.reporting import page_of, write_page

        where = self.folder if out is None else Path(out)
        if where is None:
            raise StoreError("this result lies in memory alone; say where its page is to go, or save it first")
        return write_page(page_of(self, alone=out is not None), where)

    def show(self, height: int = 800) -> Any:
        """The result's page in a notebook, in a frame of its own.

        >>> columns = {"stream": ["encoder"], "layer": [0], "head": [0], "value": [0.5], "normalised": [1.0]}
        >>> shown = Result(Manifest("importance", model={"name": "tiny"}), {"importance": columns}).show()
        >>> shown._repr_html_().startswith("<iframe srcdoc=")
        True
        """
        from attlas.studies.reporting import Frame, page_of

        return Frame(page_of(self, alone=True), height)

    def to_csv(self, path: str | Path, name: str | None = None) -> Path:
        """Write a table, the main one or the one named, as comma-separated values.

        >>> import tempfile
        >>> result = Result(Manifest("survey"), {"heads": {"layer": [0]}})
        >>> result.to_csv(Path(tempfile.mkdtemp()) / "heads.csv").read_text().splitlines()
        ['"layer"', '0']
        """
        from pyarrow import csv

        table = self.tables[self._named(name)]
        plain = table.cast(_without_dictionaries(table))
        with writing(path) as file:
            csv.write_csv(plain, file)
        return Path(path)

    def to_latex(self, name: str | None = None, *, columns: Sequence[str] = (), most: int | None = None) -> str:
        """A table, the main one or the one named, in LaTeX (booktabs), numbers as pages write them.

        >>> columns = {"stream": ["encoder"], "layer": [5], "head": [2], "value": [0.25]}
        >>> text = Result(Manifest("importance"), {"importance": columns}).to_latex(columns=["head", "value"])
        >>> text.splitlines()[4]
        '6-3 & 0.25 \\\\\\\\'
        """
        from attlas.studies.reporting import latex_table

        return latex_table(self, self._named(name), columns, most)

    def _named(self, name: str | None) -> str:
        """The name of a table, the main one where none is named; refused where there is none."""
        if name is not None and name not in self.manifest.tables:
            raise StoreError(f"there is no table {name!r} here; the tables are {', '.join(self.manifest.tables)}")
        return self.manifest.tables[0] if name is None else name

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


def _replaces(folder: Path, study: str) -> bool:
    """Whether a folder that may hold other things has no result, or one of this study."""
    there = folder.is_dir() and locate(folder, MANIFEST).exists()
    return folder.is_dir() and (not there or read_manifest(folder).study == study)


def _read(path: Path, checksum: str | None) -> pa.Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        require_plain(path)
        data = path.read_bytes()
        if checksum is not None and hashlib.sha256(data).hexdigest() != checksum:
            raise StoreError(
                f"{path}: this table does not agree with the checksum in its manifest, so it was damaged or changed; "
                "take it from a copy, or make the result again"
            )
        with parquet.ParquetFile(pa.BufferReader(data)) as file:
            return file.read()
    except FileNotFoundError:
        raise StoreError(
            f"{path}: the manifest lists this table, but the file is not there; make the result again"
        ) from None
    except StoreError:
        raise
    except Exception as error:  # a damaged file may raise anything
        reason = str(error).partition("\n")[0]
        raise StoreError(f"{path}: this table cannot be read ({reason}); make the result again") from None


def _without_dictionaries(table: pa.Table) -> pa.Schema:
    """The schema of a table whose texts are plain texts."""
    import pyarrow as pa

    plain = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return pa.schema(plain)


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
