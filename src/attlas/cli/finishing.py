"""How every study's command ends: its page is written, what was found is printed, and said where things lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from attlas.store import Result
    from attlas.studies import Study


def finish(result: Result, study: Study) -> None:
    """Write the page, print what was read and found, and say where the page lies."""
    from rich.console import Console

    from attlas.errors import printable
    from attlas.pages.prose import count_of
    from attlas.pages.terminal import print_page

    page, models = _written(result)  # first, for whoever reads our output may go away
    corpus = result.manifest.corpus
    sizes = [count_of(corpus[f"{what}s"], what) for what in ("document", "passage", "piece") if f"{what}s" in corpus]
    typer.echo(printable(f"{result.manifest.model['name']} on {corpus['name']}: {', '.join(sizes[-2:])}"))
    print_page(study.load_page(), result, Console())
    for reason, number in result.manifest.skipped.items():
        typer.echo(printable(f"note: {reason}: {number:,}"))
    typer.echo(printable(f"tables: {result.folder}"))
    for part in models:
        typer.echo(printable(f"model: {part}"))
    typer.echo(printable(f"report: {page}"))


def document_of(result: Result, study: Study, page: Path | None = None) -> dict[str, Any]:
    """What was found, and where the result and its page (written, unless it is given) lie, for ``--json``."""
    from attlas.pages.terminal import as_json

    page = page or _written(result)[0]
    return as_json(study.load_page(), result) | {"folder": str(result.folder), "report": str(page)}


def _written(result: Result) -> tuple[Path, list[Path]]:
    """The page, and those of the results that this one is made of, are written; folders of models in it are told."""
    from attlas.store.folder import MANIFEST, locate
    from attlas.studies.reporting import write_report

    folder = result.folder
    assert folder is not None  # a command always writes
    page = write_report(folder)
    models = [part for part in sorted(folder.iterdir()) if (part / "config.json").is_file()]
    for part in sorted(folder.iterdir()):
        if part not in models and locate(part, MANIFEST).is_file():
            write_report(part)
    return page, models
