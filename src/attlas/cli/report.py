"""attlas report: a result folder to one HTML page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from attlas.cli.commands import with_shared_options


@with_shared_options
def command(
    folder: Annotated[Path, typer.Argument(help="A result folder, as the studies write it.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page; report.html in the folder if left out.")
    ] = None,
    as_json: bool = False,
) -> None:
    """Turn a result folder into one self-contained HTML page."""
    from attlas.cli.finishing import document_of
    from attlas.errors import printable
    from attlas.store.damage import told_as_damage
    from attlas.studies.reporting import open_result, page_of, study_of, write_page

    result = open_result(folder)
    page = write_page(page_of(result), folder if out is None else out)
    with told_as_damage(folder):
        found = document_of(result, study_of(result.manifest), page) if as_json else None
    typer.echo(printable(f"report: {page}") if found is None else json.dumps(found, ensure_ascii=False))
