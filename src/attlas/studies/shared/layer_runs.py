"""Finished runs of ``attlas layers``, for whoever puts them together or asks their probes about one sentence.

A run is named by its folder, or by a folder that holds several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attlas.errors import StoreError
from attlas.store import Result
from attlas.store.folder import MANIFEST, locate, read_manifest
from attlas.studies.reporting import open_result

STUDIES = ("layers", "layers-together")
TASKS = {  # as pages call them, in the order of the paper
    "pos": "part of speech",
    "constituents": "constituents",
    "dependencies": "dependencies",
    "entities": "entities",
    "roles": "semantic roles",
    "coreference": "coreference",
    "proto-roles": "proto-roles",
    "relations": "relations",
}


class FinishedRun(NamedTuple):
    """A finished run, and whether it was named itself or found in a folder that was.

    >>> from attlas.store import Manifest
    >>> result = Result(Manifest("layers"), {"tasks": {"task": ["pos"]}})
    >>> FinishedRun(Path("runs/pos"), result, named=True).folder.name
    'pos'
    """

    folder: Path
    result: Result
    named: bool

    @property
    def tasks(self) -> dict[str, Any]:
        """What the run says of each of its tasks: one, or several where runs were put together."""
        return dict(self.result.manifest.corpus.get("tasks", {}))


def find_runs(places: Sequence[Path | str]) -> list[FinishedRun]:
    """The finished runs of ``attlas layers`` in these folders: each is a run itself, or holds runs.

    In a folder of several, results of other studies and runs that are not finished are passed over.

    >>> find_runs(["no such folder"])
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: no such folder: there is no such folder; ...
    """
    if not places:
        raise StoreError("no run was named; give the --out of a finished attlas layers, or a folder of such")
    finished: dict[Path, FinishedRun] = {}
    for place in map(Path, places):
        itself = not place.is_dir() or locate(place, MANIFEST).exists()
        runs = [_open(place)] if itself else list(_inside(place))
        if not runs:
            raise StoreError(
                f"{place}: there is no finished run of attlas layers in it; give the --out of one, or a folder of "
                "such"
            )
        for run in runs:
            finished.setdefault(run.folder.resolve(), run)
    return list(finished.values())


def _open(folder: Path) -> FinishedRun:
    if folder.is_dir() and (study := read_manifest(folder).study) not in STUDIES:
        raise StoreError(f"{folder}: a result of attlas layers was expected, and this is of {study!r}")
    return FinishedRun(folder, open_result(folder), named=True)


def _inside(folder: Path) -> Iterator[FinishedRun]:
    for place in sorted(folder.iterdir()):
        finished = place.is_dir() and not place.name.startswith(".") and locate(place, MANIFEST).exists()
        if finished and read_manifest(place).study in STUDIES:
            yield FinishedRun(place, open_result(place), named=False)


def require_one_model(runs: Sequence[FinishedRun]) -> Mapping[str, Any]:
    """What the runs say of their model; refuses runs of different ones.

    >>> from attlas.store import Manifest
    >>> tables = {"tasks": {"task": ["pos"]}}
    >>> one, two = (Manifest("layers", model={"name": name, "fingerprint": name}) for name in ("a", "b"))
    >>> require_one_model([FinishedRun(Path(m.model["name"]), Result(m, tables), True) for m in (one, two)])
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: b: this run is of the model b, and a is of a; take runs of one model
    """
    first = runs[0]
    about = first.result.manifest.model
    for run in runs[1:]:
        other = run.result.manifest.model
        if other.get("fingerprint") != about.get("fingerprint"):
            alike = " with other weights" if other.get("name") == about.get("name") else ""
            raise StoreError(
                f"{run.folder}: this run is of the model {other.get('name')}{alike}, and {first.folder} is of "
                f"{about.get('name')}; take runs of one model"
            )
    return about
