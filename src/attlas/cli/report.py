"""attlas report: a result folder to one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    folder: Annotated[Path, typer.Argument(help="A result folder, as the studies write it.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page; report.html in the folder if left out.")
    ] = None,
) -> None:
    """Turn a result folder into one self-contained HTML page."""
    from attlas.studies.reporting import write_report

    typer.echo(f"report: {write_report(folder, out)}")
