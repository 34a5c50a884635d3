"""The same figures before and after a redesign: every table of every study, equal value for value.

``cases_before.py`` calls every study of attlas on small fixed inputs (``inputs.py``) by the calls of 33c155d, and
``before.json.gz`` holds all the tables that came of it there. ``cases_after.py`` makes the same calls as they are
written today. To see that no figure has changed::

    make same-figures

or, step by step::

    python tools/same_figures/run.py --cases after --out after.json.gz [--only survey]
    python tools/same_figures/run.py --compare tools/same_figures/before.json.gz after.json.gz [--only survey]

``--only`` takes the name of a case (``survey.pairs``) or what it begins with. Every difference is printed: the case,
the table, the column, the row and both values; the exit status is 1 where there is any. Values are equal where they
are the same, or numbers within a relative 1e-6 of each other; how many were not exactly the same is said.

What has another name now is told by the schemas (``was``), or else written into a file of ``renamed/``, by study
(what stands before the dot of a case's name) and table, either of which may be ``*`` for all of them::

    {"tables":  {"survey": {"old table": "new table", "dropped table": null}},
     "columns": {"survey": {"old table": {"old column": "new column", "dropped column": null}}},
     "values":  {"survey": {"old table": {"old column": {"old value": "new value"}}}}}

Tables are named as they were, also under "columns" and "values"; what is said of ``survey`` holds for the tables
``survey/...`` of the case ``heads`` too. A table or column that is there only afterwards is
no difference, and is said. Timings are left out (``TIMINGS``). All runs in one process of one thread, so that sums
are taken in the same order; another version of torch, or another processor, may change the last digits.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RELATIVE = 1e-6
COUNTS = "(counts)"
# columns that say how long something took, and rows of a record of a training that do; never the same twice
TIMINGS = ("seconds", "started", "pieces_per_second", "speed", "texts_per_second", "seconds_per_text")


def main() -> int:
    """Run the cases, or compare two files of their tables."""
    parser = argparse.ArgumentParser(description="Every table of every study, before and after.")
    parser.add_argument("--cases", choices=("before", "after"), help="the calls to make")
    parser.add_argument("--out", type=Path, help="the file to write all tables to (.json.gz)")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("A", "B"), help="two such files, the earlier first")
    parser.add_argument("--only", default="", help="only cases whose names begin with this")
    parser.add_argument("--list", action="store_true", help="print the names of all cases")
    asked = parser.parse_args()
    if asked.list:
        print(*cases("before").CASES, sep="\n")
        return 0
    if asked.compare:
        return compare(read(asked.compare[0]), read(asked.compare[1]), asked.only)
    if not asked.cases or not asked.out:
        parser.error("give --cases and --out, or --compare")
    made, failed = run(asked.cases, asked.only)
    write(asked.out, made)
    return int(failed)


def cases(which: str) -> Any:
    """The module of the cases."""
    sys.path.insert(0, str(HERE))
    return importlib.import_module(f"cases_{which}")


def run(which: str, only: str) -> tuple[dict[str, Any], bool]:
    """The tables of all cases; a case that fails is told of and left out."""
    os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    module = cases(which)
    import torch
    import transformers

    from inputs import make_inputs

    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    made: dict[str, Any] = {}
    failed = False
    with tempfile.TemporaryDirectory(prefix="same-figures-") as name:
        folder = Path(name)
        began = time.monotonic()
        inputs = make_inputs(folder / "inputs")
        print(f"{time.monotonic() - began:6.1f} s  inputs", file=sys.stderr, flush=True)
        for number, (case, function) in enumerate(module.CASES.items()):
            if not case.startswith(only):
                continue
            began = time.monotonic()
            seed_all()
            place = folder / f"case-{number}"
            place.mkdir()
            try:
                tables = module.tables_of(function(place, inputs))
            except Exception as error:
                failed = True
                print(f"{case}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                if only:
                    raise
                continue
            made[case] = {
                table: {column: plain(values, name) for column, values in columns.items() if column not in TIMINGS}
                for table, columns in map(without_timed_rows, tables.items())
            }
            print(f"{time.monotonic() - began:6.1f} s  {case}", file=sys.stderr, flush=True)
    return made, failed


def seed_all() -> None:
    """The same chance for every case, whichever ran before it."""
    import numpy as np
    import torch

    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def without_timed_rows(table: tuple[str, Mapping[str, list[Any]]]) -> tuple[str, dict[str, list[Any]]]:
    """A table of names and values without the rows that are timings."""
    name, columns = table
    if "name" not in columns or "value" not in columns:
        return name, dict(columns)
    kept = [at for at, what in enumerate(columns["name"]) if what not in TIMINGS]
    return name, {column: [values[at] for at in kept] for column, values in columns.items()}


def plain(value: Any, folder: str) -> Any:
    """A value as JSON holds it, which writes floats by repr and so exactly; paths without the folder of this run."""
    if isinstance(value, (list, tuple)):
        return [plain(one, folder) for one in value]
    if isinstance(value, Mapping):
        return {str(key): plain(one, folder) for key, one in value.items()}
    if hasattr(value, "item"):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return str(value).replace(folder, "FOLDER")


def write(path: Path, made: Mapping[str, Any]) -> None:
    """Write tables in such a way that the same tables are the same bytes."""
    text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))


def read(path: Path) -> dict[str, Any]:
    """Read what was written."""
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def renamed_by_schemas() -> dict[str, Any]:
    """What the schemas of the studies say of their tables' and columns' earlier names."""
    from attlas.studies import studies

    tables: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for study in studies().values():
        for schema in study.load_page().schemas if study.page else ():
            tables.setdefault(study.python_name, {})[schema.was] = schema.table
            known = {column.was: column.name for column in schema.columns if column.was}
            columns.setdefault(study.python_name, {})[schema.was] = known
            other = {column.was or column.name: dict(column.were) for column in schema.columns if column.were}
            values.setdefault(study.python_name, {})[schema.was] = other
    return {"tables": tables, "columns": columns, "values": values}


class Renamed:
    """What has another name afterwards; see the head of this module."""

    def __init__(self, folder: Path = HERE / "renamed") -> None:
        self.map: dict[str, Any] = {"tables": {}, "columns": {}, "values": {}}
        for path in sorted(folder.glob("*.json")):
            self.map = merged(self.map, json.loads(path.read_text(encoding="utf-8")))
        self.map = merged(self.map, renamed_by_schemas())

    def _of(self, kind: str, study: str, *places: str) -> dict[str, Any]:
        if places and "/" in places[0]:  # one of several results of a case
            study, first = places[0].split("/", 1)
            places = (first, *places[1:])
        found: dict[str, Any] = self.map[kind]
        for place in (study, *places):
            found = merged(found.get("*", {}), found.get(place, {}))
        return found

    def table(self, study: str, table: str) -> str | None:
        """The name of a table now; None where it was dropped on purpose."""
        known = self._of("tables", study)
        if "/" in table and table not in known:
            result, inner = table.split("/", 1)
            now = self.table(result, inner)
            return None if now is None else f"{result}/{now}"
        return known.get(table, table)

    def column(self, study: str, table: str, column: str) -> str | None:
        """The name of a column now; None where it was dropped on purpose."""
        return self._of("columns", study, table).get(column, column)

    def value(self, study: str, table: str, column: str, value: Any) -> Any:
        """What stands for a value now."""
        known = self._of("values", study, table, column)
        return known.get(value, value) if isinstance(value, str) else value


def merged(general: Mapping[str, Any], special: Mapping[str, Any]) -> dict[str, Any]:
    """Two maps of maps as one; where they differ the second is right."""
    made = dict(general)
    for key, value in special.items():
        both = isinstance(value, Mapping) and isinstance(made.get(key), Mapping)
        made[key] = merged(made[key], value) if both else value
    return made


def compare(before: Mapping[str, Any], after: Mapping[str, Any], only: str = "") -> int:
    """Print every difference; 1 where there is any."""
    renamed = Renamed()
    count = {"values": 0, "inexact": 0, "differences": 0}
    largest = 0.0
    before, after = ({case: by_name(tables) for case, tables in file.items()} for file in (before, after))
    for case, tables in before.items():
        if not case.startswith(only):
            continue
        study = case.split(".")[0]
        if case not in after:
            print(f"{case}: it is not there afterwards")
            count["differences"] += 1
            continue
        for line in news(study, tables, after[case], renamed):
            print(f"{case}: {line}")
        for table, columns in tables.items():
            called = renamed.table(study, table)
            if called is None:
                continue
            now = after[case].get(called)
            if now is None:
                print(f"{case}, {table}: the table is not there afterwards")
                count["differences"] += 1
                continue
            for place, one, other in pairs(study, table, columns, now, renamed):
                count["values"] += 1
                near = distance(one, other)
                if near > RELATIVE:
                    count["differences"] += 1
                    print(f"{case}, {table}, {place}: {one!r} before, {other!r} after")
                elif near:
                    count["inexact"] += 1
                    largest = max(largest, near)
    said = f"{count['values']:,} values of {sum(case.startswith(only) for case in before)} cases"
    exact = f"{count['inexact']:,} within {RELATIVE:g} but not exact" + (
        f" (at most {largest:.1e})" if largest else ""
    )
    print(f"{said}: {count['differences']:,} differences, {exact}")
    return int(count["differences"] > 0)


def by_name(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Tables in which what a manifest counts has a column of its name each, so that its order does not matter."""
    counted = {name: dict(zip(table["what"], table["count"], strict=True))
               for name, table in tables.items() if name.endswith(COUNTS)}  # fmt: skip
    return {**tables, **{name: {what: [count] for what, count in table.items()} for name, table in counted.items()}}


def pairs(
    study: str, table: str, columns: Mapping[str, list[Any]], now: Mapping[str, list[Any]], renamed: Renamed
) -> Iterator[tuple[str, Any, Any]]:
    """All values of a table, where they stand, and what stands there afterwards."""
    for column, values in columns.items():
        name = renamed.column(study, table, column)
        if name is None:
            continue
        where = column if name == column else f"{column} (now {name})"
        if name not in now:
            yield where, f"{len(values)} rows", "no such column"
            continue
        if len(values) != len(now[name]):
            yield where, f"{len(values)} rows", f"{len(now[name])} rows"
            continue
        for row, (one, other) in enumerate(zip(values, now[name], strict=True)):
            yield f"{where}, row {row}", renamed.value(study, table, column, one), other


def news(
    study: str, tables: Mapping[str, Any], after: Mapping[str, Any], renamed: Renamed
) -> Iterator[str]:  # fmt: skip
    """Tables and columns that are there only afterwards."""
    known = {renamed.table(study, table): table for table in tables}
    for table, columns in after.items():
        if table not in known:
            yield f"new table {table}"
            continue
        old = {renamed.column(study, known[table], column) for column in tables[known[table]]}
        more = [column for column in columns if column not in old]
        if more:
            yield f"{table} has new columns: {', '.join(more)}"


def distance(one: Any, other: Any) -> float:
    """How far two values are apart: 0 where they are the same, a share of the larger for numbers, else infinite."""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return max(map(distance, one, other), default=0.0)
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return max((distance(one[key], other[key]) for key in one), default=0.0)
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (one, other))
    if not numbers:
        return 0.0 if type(one) is type(other) and one == other else math.inf
    if one == other or (math.isnan(one) and math.isnan(other)):
        return 0.0
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.inf
    return abs(one - other) / max(abs(one), abs(other))


if __name__ == "__main__":
    sys.exit(main())
