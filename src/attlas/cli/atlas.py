"""attlas atlas: everything that fits a model, brought together; joined of results made before, or of many models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from attlas.cli.commands import command_for
from attlas.cli.groups import plain_group
from attlas.studies import Study

if TYPE_CHECKING:
    from attlas.making.finishing import Made

MAKE = Study("atlas", call="attlas.making.call:make_atlas", after="attlas.cli.atlas:show")
MANY = Study("atlas-many", call="attlas.making.many:make_many", after="attlas.cli.atlas:show")
app = typer.Typer(cls=plain_group("atlas", alone=True), rich_markup_mode=None, no_args_is_help=False)
app.command("atlas")(command_for(MAKE))
app.command("many")(command_for(MANY))


def show(made: Made) -> None:
    """Say what has become of each study, and where the page lies; end with a status where one failed.

    >>> from pathlib import Path
    >>> from attlas.making.finishing import Made
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
