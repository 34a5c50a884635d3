"""What a folder holds, but for times: of two runs of one plan it is the same, however often one of them was killed.

Of manifests ``started`` and ``seconds`` are left out, of tables the columns whose kind is seconds, of the records of
trainings what was measured in time. A page must be, to the letter, the page of the manifest and the tables beside it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from attlas.store import Result
from attlas.studies import studies
from attlas.studies.reporting import page_of

MANIFEST, PAGE, RECORD, STEPS = "manifest.json", "report.html", "training.json", "steps.json"
SITE = re.compile(r"index\.html|site/.*")  # of an atlas, in whose data times stand
TIMES = {"atlas": {"sources": ["started", "seconds"]}}  # of a result that no study tells
TIMED = ("started", "seconds", "pieces_per_second")  # in records of trainings


def contents(folder: Path) -> dict[str, Any]:
    """By the path of each file below a folder, what it says; empty folders count as files."""
    said: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.name == MANIFEST:
            said |= _of_result(path.parent, folder)
        elif SITE.fullmatch(name):
            said[name] = "a file of the site"
        elif path.name in (RECORD, STEPS):
            said[name] = _without_times(json.loads(path.read_text(encoding="utf-8")))
        elif path.is_dir():
            if not any(path.iterdir()):
                said[name] = "an empty folder"
        elif path.suffix == ".safetensors":
            said[name] = _of_arrays(path)
        elif path.name != PAGE and path.suffix != ".parquet":
            said[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif not (path.parent / MANIFEST).exists():
            said[name] = "a part of a result without a manifest"
    return said


def differences(found: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """In what a folder differs from another, in words."""
    told = [f"{name} is not there" for name in sorted(expected.keys() - found.keys())]
    told += [f"{name} is too many" for name in sorted(found.keys() - expected.keys())]
    return told + [
        f"{name} is another" for name in sorted(found.keys() & expected.keys()) if found[name] != expected[name]
    ]


def _of_result(place: Path, folder: Path) -> dict[str, Any]:
    """The manifest, tables and page of a result."""
    result, name = Result.open(place), place.relative_to(folder).as_posix()
    page = place / PAGE
    if page.exists() and page.read_text(encoding="utf-8") != page_of(result):
        return {f"{name}/{PAGE}": "not the page of the tables beside it"}
    timed = _timed_columns(result)
    manifest = replace(result.manifest, started="", seconds=0.0, checksums={
        file: checksum for file, checksum in result.manifest.checksums.items() if Path(file).stem not in timed
    })  # fmt: skip
    said: dict[str, Any] = {f"{name}/{MANIFEST}": asdict(manifest)}
    for path in place.glob("*.parquet"):
        table = result.tables.get(path.stem)
        said[f"{name}/{path.name}"] = (
            "a table that its manifest does not list" if table is None else _without(table, timed.get(path.stem, ()))
        )
    if page.exists():
        said[f"{name}/{PAGE}"] = "the page of its tables"
    return said


def _of_arrays(path: Path) -> dict[str, Any]:
    """The arrays of a file and what is said about them, which the library writes in any order. They are read without
    it: it deals out the order by what this process has done with it, and children take after their parent."""
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    said: dict[str, Any] = {"about": header.pop("__metadata__", {})}
    for name, array in header.items():
        first, last = array["data_offsets"]
        digest = hashlib.sha256(data[begin + first : begin + last]).hexdigest()
        said[name] = (array["dtype"], tuple(array["shape"]), digest)
    return said


def _timed_columns(result: Result) -> dict[str, list[str]]:
    """The columns of each table that say how long something took."""
    study = studies().get(result.manifest.study)
    if study is None:
        return TIMES.get(result.manifest.study, {})
    schemas = study.load_page().schemas if study.page else ()
    timed = {
        schema.table: [column.name for column in schema.columns if column.kind == "seconds"] for schema in schemas
    }
    return {table: columns for table, columns in timed.items() if columns}


def _without(table: Any, columns: Sequence[str]) -> str:
    """All that a table holds but these columns."""
    return repr(table.drop_columns([name for name in columns if name in table.column_names]).to_pydict())


def _without_times(record: Any) -> Any:
    if isinstance(record, dict):
        return {name: _without_times(value) for name, value in record.items() if name not in TIMED}
    return [_without_times(value) for value in record] if isinstance(record, list) else record
