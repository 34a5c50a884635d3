"""attlas merge: the parts of a run to one result."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated

import typer

from attlas.cli.commands import run_command, with_shared_options
from attlas.corpora.limits import limited
from attlas.errors import PlanError
from attlas.studies import studies


@with_shared_options
def command(
    folders: Annotated[list[Path], typer.Argument(help="The folders of all parts, in any order.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the result.")],
    quiet: bool = False,
    as_json: bool = False,
) -> None:
    """Join the parts that a study has left (--part) to its result, as the whole run would have written it.

    The model and the corpus are opened once more, by the names that the parts were given, for the tables are made of
    them, too; nothing goes through the model. Where a study builds on what was found so far (it chooses heads, and
    then scores them), what is joined is a stage: do all parts once more with --after and its folder.
    """
    from attlas.run.portions import Merged

    merged = Merged(folders)
    known = merged.first.command
    if known is None or known["study"] not in studies():
        raise PlanError(
            "these parts were made in Python; merge them there, by the same call with "
            "engine=attlas.run.portions.Merged(folders)"
        )
    study = studies()[known["study"]]
    call = study.load_call()
    taken = list(inspect.signature(call).parameters.values())
    given = {**known["given"], "engine": merged, "out": out, "part": None, "after": None, "resume": False}
    with limited(given.get("limits")):
        run_command(study, call, taken, {**given, "quiet": quiet, "as_json": as_json})
