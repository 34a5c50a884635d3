"""How every study's command ends: its page is written, a short table printed, and said where things lie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer


def finish(result: Any, folder: Path, show: Callable[[Any], None], *more: str) -> None:
    """Write the page, say what was read, let ``show`` print a short table, and say where the page lies.

    ``more`` are further lines to say at the end.
    """
    from attlas.reports import write_report

    page = write_report(folder)  # first, for whoever reads our output may go away
    corpus = result.manifest.corpus
    sizes = [count(corpus[f"{what}s"], what) for what in ("document", "passage", "piece") if f"{what}s" in corpus]
    typer.echo(f"{result.manifest.model['name']} on {corpus['name']}: {', '.join(sizes[-2:])}")
    show(result)
    for reason, number in result.manifest.skipped.items():
        typer.echo(f"note: {reason}: {number:,}")
    for line in (f"tables: {folder}", *more):
        typer.echo(line)
    typer.echo(f"report: {page}")


def count(number: int, what: str) -> str:
    """A number of things.

    >>> count(1, "head"), count(1200, "head")
    ('1 head', '1,200 heads')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
