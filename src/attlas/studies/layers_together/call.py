"""Runs of ``attlas layers`` on several tasks, put together into one result, so that one page shows all of them.

What is put together must belong together: runs of one model, each of a task of its own, all over layers or all over
heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from attlas.errors import StoreError
from attlas.run.given import NAMED
from attlas.run.parameters import Help, study_call
from attlas.run.plan import Plan
from attlas.run.session import slug
from attlas.store import Manifest, Result, require_free, versions_here
from attlas.studies.shared.layer_runs import FinishedRun, find_runs, require_one_model


@study_call()
def layers_together(
    runs: Annotated[
        Sequence[Path | str],
        Help("Folders that attlas layers wrote, one for each task, or a folder of such.", kind=list[Path],
             argument=True),
    ],
    *,
    out: Annotated[
        Path | str | None, Help("Folder for the result; named by itself if left out.", short="-o", kind=Path | None)
    ] = None,
) -> Result:  # fmt: skip
    """Put runs of several tasks on one model together, so that one page compares them.

    >>> layers_together([])
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: no run was named; ...
    """
    finished = find_runs(runs)
    if len(finished) < 2:
        raise StoreError(f"{finished[0].folder}: this is one run alone; name two or more to put together")
    model = require_one_model(finished)
    tasks = _tasks(finished)
    manifests = [run.result.manifest for run in finished]
    folders = [run.folder.name for run in finished]
    plan = Plan(
        "layers-together",
        {"together": [manifest.plan for manifest in manifests], "over": _over(finished[0]), "runs": folders},
        model,
        {"name": f"{len(tasks)} tasks"},
        seed=manifests[0].seed,
        version=versions_here()["attlas"],
    ).to_dict()
    folder = None if out is None else Path(f"layers-together-{slug(str(model['name']))}" if out == NAMED else out)
    if folder is not None:
        require_free(folder, plan)
    manifest = Manifest(
        "layers-together",
        plan,
        manifests[0].versions,
        model,
        {"name": f"{len(tasks)} tasks", **_sizes(manifests), "tasks": tasks},
        manifests[0].seed,
        {
            f"{', '.join(run.tasks)}: {why}": count
            for run in finished
            for why, count in run.result.manifest.skipped.items()
        },
        min(manifest.started for manifest in manifests),
        round(sum(manifest.seconds for manifest in manifests), 1),
    )
    result = Result(manifest, _joined(finished))
    if folder is not None:
        result.save(folder)
    return result


def _sizes(manifests: Sequence[Manifest]) -> dict[str, int]:
    """How much text all runs have read, where all of them say it."""
    return {
        what: sum(manifest.corpus[what] for manifest in manifests)
        for what in ("passages", "pieces")
        if all(what in manifest.corpus for manifest in manifests)
    }


def _over(run: FinishedRun) -> str:
    return str(run.result.manifest.plan.get("options", {}).get("over", "layers"))


def _tasks(runs: Sequence[FinishedRun]) -> dict[str, Any]:
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


def _joined(runs: Sequence[FinishedRun]) -> dict[str, dict[str, list[Any]]]:
    """All rows of each table, one run after the other."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        for name, table in run.result.tables.items():
            tables.setdefault(name, []).extend(table.to_pylist())
    columns = {name: dict.fromkeys(key for row in rows for key in row) for name, rows in tables.items()}
    return {name: {key: [row.get(key) for row in rows] for key in columns[name]} for name, rows in tables.items()}
