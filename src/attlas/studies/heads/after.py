"""How the command ``attlas heads`` ends: the page of each of its studies is written and what it found is printed."""

from __future__ import annotations

from attlas.store import Result


def finish_all(results: dict[str, Result]) -> None:
    """Write the page of each result, print what was found, and say where it lies.

    >>> finish_all({})
    """
    import typer

    from attlas.cli.finishing import finish
    from attlas.studies import studies

    for name, result in results.items():
        typer.echo(f"\n{name}")
        finish(result, studies()[name])
