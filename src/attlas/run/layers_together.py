"""Runs of ``attlas layers`` on several tasks, put together into one result, so that one page shows all of them.

What is put together must belong together: runs of one model, each of a task of its own, all over layers or all over
heads. The same module finds runs, also for whoever asks their probes about one sentence: a run is named by its
folder, or by a folder that holds several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attlas.errors import StoreError
from attlas.run.plan import Plan
from attlas.store import Manifest, Result, require_free, versions_here
from attlas.store.folder import MANIFEST, locate

if TYPE_CHECKING:
    import pyarrow as pa

STUDY = "layers"


class Run(NamedTuple):
    """A finished run, and whether it was named itself or found in a folder that was.

    >>> Run(Path("runs/pos"), Result(Manifest("layers"), {"tasks": {"task": ["pos"]}}), named=True).folder.name
    'pos'
    """

    folder: Path
    result: Result
    named: bool

    @property
    def tasks(self) -> dict[str, Any]:
        """What the run says of each of its tasks: one, or several where runs were put together.

        >>> about = Manifest("layers", corpus={"tasks": {"pos": {"labels": 17}}})
        >>> Run(Path("runs/pos"), Result(about, {"tasks": {"task": ["pos"]}}), named=True).tasks
        {'pos': {'labels': 17}}
        """
        return dict(self.result.manifest.corpus.get("tasks", {}))


def find_runs(places: Sequence[Path | str]) -> list[Run]:
    """The finished runs of ``attlas layers`` in these folders: each is a run itself, or holds runs.

    In a folder of several, results of other studies and runs that are not finished are passed over.

    >>> find_runs(["no such folder"])
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: no such folder: there is no such folder; ...
    """
    if not places:
        raise StoreError("no run was named; give the --out of a finished attlas layers, or a folder of such")
    found: dict[Path, Run] = {}
    for place in map(Path, places):
        itself = not place.is_dir() or locate(place, MANIFEST).exists()
        runs = [_open(place)] if itself else list(_inside(place))
        if not runs:
            raise StoreError(
                f"{place}: there is no finished run of attlas layers in it; give the --out of one, or a folder of "
                "such"
            )
        for run in runs:
            found.setdefault(run.folder.resolve(), run)
    return list(found.values())


def _open(folder: Path) -> Run:
    result = Result.open(folder)
    if result.manifest.study != STUDY:
        raise StoreError(
            f"{folder}: a result of attlas layers was expected, and this is of {result.manifest.study!r}"
        )
    return Run(folder, result, named=True)


def _inside(folder: Path) -> Iterator[Run]:
    for place in sorted(folder.iterdir()):
        manifest = locate(place, MANIFEST)
        if place.is_dir() and not place.name.startswith(".") and manifest.exists():
            about = Manifest.from_json(manifest.read_text(encoding="utf-8"), str(manifest))
            if about.study == STUDY:
                yield Run(place, Result.open(place), named=False)


def require_one_model(runs: Sequence[Run]) -> Mapping[str, Any]:
    """What the runs say of their model; refuses runs of different ones.

    >>> tables = {"tasks": {"task": ["pos"]}}
    >>> one, two = (Manifest("layers", model={"name": name, "fingerprint": name}) for name in ("a", "b"))
    >>> require_one_model([Run(Path(m.model["name"]), Result(m, tables), True) for m in (one, two)])
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


def layers_together(runs: Sequence[Path | str], *, out: Path | str | None = None) -> Result:
    """Put runs of several tasks on one model into one result; ``runs`` are their folders, or folders of such.

    >>> layers_together([])
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: no run was named; ...
    """
    found = find_runs(runs)
    if len(found) < 2:
        raise StoreError(f"{found[0].folder}: this is one run alone; name two or more to put together")
    model = require_one_model(found)
    tasks = _tasks(found)
    manifests = [run.result.manifest for run in found]
    plan = Plan(
        STUDY,
        {"together": [manifest.plan for manifest in manifests], "over": _over(found[0])},
        model,
        {"name": f"{len(tasks)} tasks"},
        seed=manifests[0].seed,
        version=versions_here()["attlas"],
    ).to_dict()
    if out is not None:
        require_free(Path(out), plan)
    manifest = Manifest(
        STUDY,
        plan,
        manifests[0].versions,
        model,
        {"name": f"{len(tasks)} tasks", **_sizes(manifests), "tasks": tasks},
        manifests[0].seed,
        {
            f"{', '.join(run.tasks)}: {why}": count
            for run in found
            for why, count in run.result.manifest.skipped.items()
        },
        min(manifest.started for manifest in manifests),
        round(sum(manifest.seconds for manifest in manifests), 1),
    )
    result = Result(manifest, _joined(found))
    if out is not None:
        result.save(Path(out))
    return result


def _sizes(manifests: Sequence[Manifest]) -> dict[str, int]:
    """How much text all runs have read, where all of them say it."""
    return {
        what: sum(manifest.corpus[what] for manifest in manifests)
        for what in ("passages", "pieces")
        if all(what in manifest.corpus for manifest in manifests)
    }


def _over(run: Run) -> str:
    return str(run.result.manifest.plan.get("options", {}).get("over", "layers"))


def _tasks(runs: Sequence[Run]) -> dict[str, Any]:
    """What is said of every task; each may come once, and all must mix the same kind of thing."""
    tasks: dict[str, Any] = {}
    where: dict[str, Path] = {}
    for run in runs:
        for task, about in run.tasks.items():
            if task in tasks:
                raise StoreError(f"{run.folder}: it has the task {task}, and so has {where[task]}; leave one out")
            tasks[task], where[task] = about, run.folder
        if _over(run) != _over(runs[0]):
            raise StoreError(
                f"{run.folder}: its probes mix {_over(run)}, and those of {runs[0].folder} mix {_over(runs[0])}; "
                "put together runs of one kind"
            )
    return tasks


def _joined(runs: Sequence[Run]) -> dict[str, pa.Table]:
    """All rows of each table, one run after the other."""
    import pyarrow as pa

    names = dict.fromkeys(name for run in runs for name in run.result.tables)
    tables = {}
    for name in names:
        parts = [_plain(run.result.tables[name]) for run in runs if name in run.result.tables]
        tables[name] = _coded(pa.concat_tables(parts, promote_options="permissive"))
    return tables


def _plain(table: pa.Table) -> pa.Table:
    """A table whose texts are texts, for dictionaries of different words cannot be put one after the other."""
    import pyarrow as pa

    columns = [
        column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def _coded(table: pa.Table) -> pa.Table:
    import pyarrow as pa

    columns = [column.dictionary_encode() if pa.types.is_string(column.type) else column for column in table.columns]
    return pa.table(columns, names=table.column_names)
