"""attlas layers together: runs of several tasks on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing_old import finish

SHOWN = {"score at layer 0": "layer 0", "score": "all layers", "expected layer": "expected layer"}


def command(
    runs: Annotated[
        list[Path], typer.Argument(help="Folders that attlas layers wrote, one for each task, or a folder of such.")
    ],
    out: options.Out = None,
) -> None:
    """Put runs of several tasks on one model together, so that one page compares them.

    Writes a folder with tables (Parquet), a manifest and a report page.
    """
    from attlas.run.layers_together import find_runs, layers_together, require_one_model

    model = require_one_model(find_runs(runs))
    folder = out or Path(f"layers-{options.slug(str(model.get('name')))}-together")
    finish(layers_together(runs, out=folder), folder, show)


def show(result: Any) -> None:
    """Print each task's scores and expected layer, the lowest first."""
    from rich.console import Console
    from rich.table import Table

    found: dict[str, dict[str, float | None]] = {}
    for row in result.table.to_pylist():
        if row["model"] == "trained" and row["labels"] == "gold":
            found.setdefault(row["task"], {})[row["measure"]] = row["value"]
    table = Table("task", *SHOWN.values(), box=None, header_style="bold")
    for task, values in sorted(found.items(), key=lambda item: item[1].get("expected layer") or 0.0):
        cells = (values.get(measure) for measure in SHOWN)
        table.add_row(task, *("" if value is None else f"{value:.2f}" for value in cells))
    Console().print(table, highlight=False, markup=False)
