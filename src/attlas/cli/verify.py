"""attlas verify: whether result folders are as they were written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attlas.cli.commands import with_shared_options


@with_shared_options
def command(
    folders: Annotated[list[Path], typer.Argument(help="Result folders, as the studies write them.")],
) -> None:
    """Read results and hold every file against its checksum."""
    from attlas.errors import StoreError, printable
    from attlas.studies.reporting import open_result

    damaged = 0
    for folder in folders:
        try:
            result = open_result(folder)
        except StoreError as error:
            damaged += 1
            typer.echo(printable(str(error)))
            continue
        tables = len(result.manifest.tables)
        held = "agree with their checksums" if result.manifest.checksums else "can be read; it has no checksums yet"
        typer.echo(printable(f"{folder}: {result.manifest.study}, its manifest and {tables} tables {held}"))
    if damaged:
        raise typer.Exit(1)
