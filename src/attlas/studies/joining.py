"""From folders of results to an atlas: what there is, with what its study knows of it, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from attlas.errors import AttlasError, printable
from attlas.evidence.atlas import STUDY, Atlas
from attlas.evidence.gathering import OTHERS, TABLES, Part, Told, part_of, table_of
from attlas.evidence.uniting import joined
from attlas.store import Result
from attlas.store.damage import told_as_damage
from attlas.store.folder import MANIFEST, locate
from attlas.studies import studies
from attlas.studies.reporting import command_line, require_schemas

DEEP = 3  # folders below one that is given, in which results are looked for


def gathered(given: Iterable[Path | str | Result | Atlas], *, beside: Path | None = None) -> Atlas:
    """An atlas of results, folders of results and other atlases; what cannot be part of it is told in its table
    ``left_out``, and the rest goes on.

    A folder may be that of a result or of an atlas, or one in which there are some. ``beside`` is the folder that the
    atlas will lie in: results below it are named relative to it.

    >>> from attlas.store import Manifest
    >>> columns = {"stream": ["encoder"], "layer": [0], "head": [0], "value": [0.5], "low": [0.4], "high": [0.6],
    ...            "normalised": [1.0], "signed": [0.1], "n": [10]}
    >>> model = {"name": "tiny", "streams": {"encoder": {"layers": 1, "heads": 1}}}
    >>> result = Result(Manifest("importance", model=model, corpus={"name": "a book"}), {"importance": columns})
    >>> atlas = gathered([result, "no such folder"])
    >>> atlas.head("1-1").value("importance"), atlas.tables["left_out"].to_pylist()[0]["reason"]
    (0.5, 'there is no such folder')
    """
    parts: list[Part] = []
    left_out: list[dict[str, str]] = []
    for one in given:
        for name, source in _sources(one):
            try:
                parts.append(_part(source, name, beside))
            except (AttlasError, OSError) as error:
                reason = printable(str(error)).removeprefix(f"{name}: ")
                left_out.append({"given": name, "reason": reason})
    if not parts:
        why = "".join(f"; {row['given']}: {row['reason']}" for row in left_out[:3])
        raise AttlasError(f"there is nothing to make an atlas of{why}")
    return Atlas.of(joined(parts, left_out))


def _sources(given: Path | str | Result | Atlas) -> Iterator[tuple[str, Path | Result]]:
    """The results that something given stands for, each with a name for where it is told of."""
    if isinstance(given, Atlas):
        given = given.result
    if isinstance(given, Result):
        yield str(given.folder or f"a result of {given.manifest.study} in memory"), given
        return
    folder = Path(given)
    inside = [] if locate(folder, MANIFEST).exists() else _inside(folder, DEEP)
    for found in inside or [folder]:
        yield str(found), found


def _inside(folder: Path, deep: int) -> list[Path]:
    """The folders with results below a folder; those inside an atlas are part of it."""
    if not folder.is_dir() or not deep:
        return []
    found: list[Path] = []
    for below in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        begun = locate(below, MANIFEST).exists() or (below / "checkpoint").exists()
        found += [below] if begun else _inside(below, deep - 1)
    return found


def _part(source: Path | Result, name: str, beside: Path | None) -> Part:
    """What a result brings; refused in a sentence where it brings nothing."""
    if isinstance(source, Path):
        if not source.is_dir():
            raise AttlasError("there is no such folder")
        with told_as_damage(source):
            result = Result.open(source)
            require_schemas(result)
            return _part_of(result, name, source, beside)
    return _part_of(source, name, source.folder, beside)


def _part_of(result: Result, name: str, folder: Path | None, beside: Path | None) -> Part:
    study = result.manifest.study
    if study == STUDY:
        tables = {table: own for table, own in Atlas(result).tables.items() if table in (*TABLES, *OTHERS)}
        rows = [
            {**row, "folder": _relative(folder / row["folder"], beside) if folder and row["folder"] else ""}
            for row in tables["sources"].to_pylist()
        ]
        return Part(name, tables | {"sources": table_of(rows, TABLES["sources"])})
    if study not in studies() or not studies()[study].page:
        raise AttlasError(f"there is no study {study!r} here that could tell what its tables are")
    where = _relative(folder, beside) if folder else ""
    part = part_of(result, told_of(study), command=command_line(result.manifest), folder=where, given=name)
    if part is None:
        raise AttlasError(f"the study {study} gives no figures of all heads")
    return part


@cache
def told_of(name: str) -> Told:
    """What there is to know of a study.

    >>> told_of("survey").outside
    False
    """
    study = studies()[name]
    return Told(study.load_page(), tuple(study.load_sayings()), not study.call.startswith("attlas."))


def _relative(folder: Path, beside: Path | None) -> str:
    """Where a folder lies, as seen from the atlas; nothing where it lies elsewhere."""
    if beside is None:
        return ""
    try:
        return folder.resolve().relative_to(beside.resolve()).as_posix()
    except ValueError:
        return ""
