"""attlas atlas: everything that fits a model, brought together; joined of results made before, or of many models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attlas.cli.commands import command_for, with_shared_options
from attlas.cli.groups import plain_group
from attlas.run.given import check_given
from attlas.run.parameters import Help
from attlas.studies import Study

if TYPE_CHECKING:
    from attlas.making.made import Made

MAKE = Study("atlas", call="attlas.making.call:make_atlas", after="attlas.cli.atlas:show")
MANY = Study("atlas-many", call="attlas.making.many:make_many", command="atlas many", after="attlas.cli.atlas:show")
app = typer.Typer(cls=plain_group("atlas", alone=True), rich_markup_mode=None, no_args_is_help=False)
app.command("atlas")(command_for(MAKE))
app.command("many")(command_for(MANY))


@app.command("join")
@with_shared_options
def join(
    folders: Annotated[list[Path], typer.Argument(help="Folders of results, of several results, or of atlases.")],
    out: Annotated[Path, Help("The folder of the new atlas.", short="-o")] = Path("atlas"),
    quiet: bool = False,
    as_json: bool = False,
) -> None:
    """Make one atlas of results that were made before, of one model or of several."""
    from attlas.making.joining import join_atlas
    from attlas.run import progress_on

    check_given({"out": out, "resume": False})
    made = join_atlas(folders, out, progress=progress_on(quiet=quiet))
    if as_json:
        typer.echo(json.dumps(made.as_json(), ensure_ascii=False))
    else:
        show(made)


def show(made: Made) -> None:
    """Say what has become of each study, and where the page lies; end with a status where one failed.

    >>> from pathlib import Path
    >>> from attlas.making.made import Made
    >>> show(Made(Path("out"), Path("out/index.html"), {}))
    atlas: out/index.html
    """
    from attlas.errors import printable

    for model, outcomes in made.outcomes.items():
        typer.echo(printable(model))
        for outcome in outcomes:
            reason = f": {outcome.reason}" if outcome.reason else ""
            where = f" on {outcome.corpus}" if outcome.corpus else ""
            typer.echo(printable(f"  {outcome.study}{where}: {outcome.state}{reason}"))
    for row in made.left_out:
        typer.echo(printable(f"left out: {row['given']}: {row['reason']}"))
    for remark in made.remarks:
        typer.echo(printable(f"note: {remark}"))
    for name, reason in made.fallen:
        typer.echo(printable(f"failed: {name}: {reason}"))
    typer.echo(printable(f"atlas: {made.page}"))
    if made.failed or made.fallen:
        raise typer.Exit(1)
