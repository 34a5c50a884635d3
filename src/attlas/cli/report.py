"""attlas report: a result folder to one HTML page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from attlas.cli.commands import with_shared_options


@with_shared_options
def command(
    folder: Annotated[Path, typer.Argument(help="A result folder, as the studies write it, or a folder of several.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page; report.html in the folder if left out.")
    ] = None,
    as_json: bool = False,
) -> None:
    """Turn a result folder into one self-contained HTML page, or a folder of several into pages and their index."""
    from attlas.cli.finishing import document_of
    from attlas.errors import StoreError, printable
    from attlas.making.finishing import write_again
    from attlas.making.indexing import has_several, write_index
    from attlas.making.places import is_atlas
    from attlas.store.damage import told_as_damage
    from attlas.studies.reporting import open_result, page_of, study_of, write_page

    if has_several(folder):
        if out is not None:
            raise StoreError(f"{folder}: the pages of several results stay where these are; leave out --out")
        page = write_again(folder) if is_atlas(folder) else write_index(folder)
        typer.echo(json.dumps({"report": str(page)}) if as_json else printable(f"report: {page}"))
        return
    result = open_result(folder)
    page = write_page(page_of(result), folder if out is None else out)
    with told_as_damage(folder):
        found = document_of(result, study_of(result.manifest), page) if as_json else None
    typer.echo(printable(f"report: {page}") if found is None else json.dumps(found, ensure_ascii=False))
