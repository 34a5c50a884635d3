"""Damage to result folders: what a disk, a copy or a person does to one.

Every damage takes a generator of random numbers, a folder and another one to take things from, changes the folder,
and says what it did. *Plain* damage leaves checksums as they were, so that whatever is still read must be what was
written. *Sealed* damage writes all checksums anew behind it, and must be told by its shape, if at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from attlas.store.folder import MANIFEST
from tools.fuzz.mutants import cut, flip, mutated

Damage = Callable[[random.Random, Path, Path], str]
ELSEWHERE = "this is none of their business\n"
HOSTILE = "</script><img src=x onerror=alert(1)>\u2028\u202e\x1b[31m{{7*7}}"
STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 3, 1.5, 10**30, -(10**18), 1e308, "", "x", "\ud800", HOSTILE, "9" * 10_000, [], {}, [[]],
    [None], {"name": {}}, {"layers": -1, "heads": []}, ["a", 3], {"": ""}, "../../etc", "2026-13-45T99:00",
)  # fmt: skip
CELLS: tuple[Any, ...] = (
    None,
    -1,
    10**9,
    2**62,
    1e308,
    float("nan"),
    float("inf"),
    "x",
    "",
    HOSTILE,
    True,
    [1],
    {"a": 1},
)


def files(folder: Path) -> list[Path]:
    """All files of a folder, those below it too, in a fixed order."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def bits(draw: random.Random, folder: Path, other: Path) -> str:
    """Some bits of a file are turned."""
    return _rewritten(draw, folder, flip)


def cuts(draw: random.Random, folder: Path, other: Path) -> str:
    """A file lacks its end, its beginning or a stretch; or all of it."""
    return _rewritten(draw, folder, lambda draw, data: b"" if draw.random() < 0.3 else cut(draw, data))


def any_mutation(draw: random.Random, folder: Path, other: Path) -> str:
    """A file changed as corpora are: nested deep, huge numbers, other encodings."""
    return _rewritten(draw, folder, mutated)


def lost(draw: random.Random, folder: Path, other: Path) -> str:
    """A file is gone."""
    path = draw.choice(files(folder))
    path.unlink()
    return f"{path.name} is gone"


def exchanged(draw: random.Random, folder: Path, other: Path) -> str:
    """Two files have changed places, or one is another folder's."""
    path, source = draw.choice(files(folder)), draw.choice(files(draw.choice((folder, other))))
    data = path.read_bytes()
    shutil.copyfile(source, path) if source != path else None
    if folder in source.parents and source != path and draw.random() < 0.7:
        source.write_bytes(data)
    return f"{path.name} is {source.name} of {source.parent.name}"


def odd_files(draw: random.Random, folder: Path, other: Path) -> str:
    """A file is a folder, a link, a pipe or a device; or there is one too many."""
    path = draw.choice(files(folder))
    kinds = ("folder", "loop", "nowhere", "elsewhere", "zero", "pipe", "extra", ".saved", ".saving", "page")
    what = draw.choice(kinds)
    if what in ("extra", ".saved", ".saving", "page"):
        name = {"extra": "notes.txt", "page": "report.html"}.get(what, what)
        place = folder / name
        if what == "extra":
            place.write_bytes(b"\x00" * draw.choice((0, 9)))
        else:
            place.mkdir(exist_ok=True)
            if draw.random() < 0.5:
                (place / path.name).write_bytes(draw.choice((b"", b"{}", path.read_bytes(), path.read_bytes()[:-9])))
        return f"{name} is there"
    path.unlink()
    targets = {"loop": str(path), "nowhere": "nowhere", "elsewhere": str(_elsewhere(folder)), "zero": "/dev/zero"}
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(targets[what])
    return f"{path.name} is a {what}"


def values(draw: random.Random, folder: Path, other: Path) -> str:
    """A value of the manifest is another, and its checksum is right."""
    fields = _fields(folder)
    told = _replaced(draw, fields)
    _seal(folder, fields)
    return told


def unchecked(draw: random.Random, folder: Path, other: Path) -> str:
    """The manifest is of another version, with or without its checksums, and a value in it another."""
    fields = _fields(folder)
    told = _replaced(draw, fields) if draw.random() < 0.7 else ""
    fields["schema"] = draw.choice((1, 2, 3, 4, 0, -1, 10**30, True, 2.0, "3", None))
    if draw.random() < 0.8:
        fields["checksums"] = draw.choice(({}, None, [], {"a": "b"}))
        _write(folder, fields)
    else:
        _seal(folder, fields)
    return f"schema {fields['schema']!r:.20}; {told}"


def columns(draw: random.Random, folder: Path, other: Path) -> str:
    """Columns of a table are missing, exchanged, renamed, there twice, of another type or length, or hold strange
    cells; its checksum is right."""
    fields = _fields(folder)
    name = draw.choice(fields["tables"])
    path = folder / f"{name}.parquet"
    table = parquet.read_table(path)
    told, table = _columns(draw, table)
    parquet.write_table(table, path)
    _seal(folder, fields)
    return f"{name}: {told}"


def tables(draw: random.Random, folder: Path, other: Path) -> str:
    """A table is missing from the list, another's, or called by another name; checksums are right."""
    fields = _fields(folder)
    name = draw.choice(fields["tables"])
    what = draw.choice(("unlisted", "listed", "exchanged", "another's", "renamed", "turned"))
    if what == "unlisted":
        fields["tables"].remove(name)
    elif what == "listed":
        fields["tables"].append(draw.choice(("a", "manifest", "heads", name)))
    elif what == "turned":
        fields["tables"].reverse()
    elif what == "renamed":
        (folder / f"{name}.parquet").rename(folder / "other-name.parquet")
        fields["tables"][fields["tables"].index(name)] = "other-name"
    else:
        second = draw.choice(sorted((folder if what == "exchanged" else other).glob("*.parquet")))
        data = (folder / f"{name}.parquet").read_bytes()
        (folder / f"{name}.parquet").write_bytes(second.read_bytes())
        if what == "exchanged":
            second.write_bytes(data)
    _seal(folder, fields)
    return f"{name} is {what}"


def study(draw: random.Random, folder: Path, other: Path) -> str:
    """The manifest says that it is of another study; its checksum is right."""
    fields = _fields(folder)
    fields["study"] = _fields(other)["study"]
    _seal(folder, fields)
    return f"called {fields['study']}"


PLAIN: tuple[Damage, ...] = (bits, bits, cuts, any_mutation, lost, exchanged, odd_files)
SEALED: tuple[Damage, ...] = (values, values, values, unchecked, unchecked, columns, columns, columns, tables, study)


def _elsewhere(folder: Path) -> Path:
    """A file outside of a folder, to which nothing may be written."""
    place = folder.parent / "elsewhere"
    place.write_text(ELSEWHERE, encoding="utf-8")
    return place


def _rewritten(draw: random.Random, folder: Path, change: Callable[[random.Random, bytes], bytes]) -> str:
    path = draw.choice([path for path in files(folder) if path.stat().st_size])
    before = path.read_bytes()
    after = change(draw, before)
    path.write_bytes(after)
    return f"{path.name}: {len(before)} bytes are {len(after)}"


def _fields(folder: Path) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    fields.pop("checksum", None)
    return fields


def _write(folder: Path, fields: dict[str, Any]) -> None:
    (folder / MANIFEST).write_text(json.dumps(fields), encoding="utf-8")


def _seal(folder: Path, fields: dict[str, Any]) -> None:
    """Write a manifest whose checksums, of the tables and of itself, are right."""
    if isinstance(fields.get("checksums"), dict):
        fields["checksums"] |= {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.parquet"))
        }
    own = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
    _write(folder, {**fields, "checksum": own})


def _replaced(draw: random.Random, fields: dict[str, Any]) -> str:
    """Walk down to a place of a manifest, and put something strange there, or nothing."""
    inside: Any = fields
    while True:
        key = draw.choice(list(inside) if isinstance(inside, dict) else list(range(len(inside))))
        if isinstance(inside[key], dict | list) and inside[key] and draw.random() < 0.75:
            inside = inside[key]
            continue
        if draw.random() < 0.15:
            del inside[key]
            return f"{key} is gone"
        inside[key] = _nested(draw) if draw.random() < 0.08 else draw.choice(STRANGE)
        return f"{key} is {str(inside[key])[:40]!r}"


def _nested(draw: random.Random) -> Any:
    value: Any = 1
    for _ in range(draw.choice((100, 300, 700))):
        value = [value] if draw.random() < 0.5 else {"a": value}
    return value


def _columns(draw: random.Random, table: pa.Table) -> tuple[str, pa.Table]:
    names = list(table.column_names)
    at, second = draw.randrange(len(names)), draw.randrange(len(names))
    what = draw.choice(
        ("missing", "exchanged", "renamed", "twice", "typed", "cells", "cells", "empty", "one", "order")
    )
    if what == "missing":
        return f"{names[at]} is missing", table.remove_column(at)
    if what == "exchanged":
        names[at], names[second] = names[second], names[at]
        return f"{names[at]} and {names[second]} have changed places", table.rename_columns(names)
    if what in ("renamed", "twice"):
        before, names[at] = names[at], names[second] if what == "twice" else "other"
        return f"{before} is called {names[at]}", table.rename_columns(names)
    if what == "empty":
        return "no rows", table.slice(0, 0)
    if what == "one":
        return "one row", table.slice(draw.randrange(table.num_rows), 1)
    if what == "order":
        return "rows in another order", table.take(draw.sample(range(table.num_rows), table.num_rows))
    cells = table.column(at).to_pylist()
    strange = draw.choice(CELLS)
    if what == "typed":
        kind = draw.choice((pa.string(), pa.null(), pa.list_(pa.int64()), pa.bool_(), pa.binary(), pa.float16()))
        values = {pa.string(): "x", pa.list_(pa.int64()): [1], pa.bool_(): True, pa.binary(): b"\xff"}
        column = pa.array([values.get(kind)] * len(cells), kind)
    else:
        some = {draw.randrange(len(cells)) for _ in range(draw.choice((1, len(cells))))}
        try:
            column = pa.array([strange if place in some else cell for place, cell in enumerate(cells)])
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # which no column holds beside others
            column = pa.array([strange] * len(cells))
    return f"{names[at]} is {what} {str(strange)[:20]!r}", table.set_column(at, names[at], column)
