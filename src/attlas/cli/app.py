"""All commands, gathered: those of studies are made from their records, the others have a file each."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from attlas.cli import atlas, demo, doctor, export, merge, report, serve, verify, view
from attlas.cli.commands import command_for
from attlas.cli.groups import Listed, plain_group
from attlas.studies import studies

app = typer.Typer(
    name="attlas",
    help="An atlas of attention: look at it, measure it, cut it and test it, on any Hugging Face transformer.",
    cls=Listed,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for _module in (demo, view, serve, report, merge, doctor, verify):
    app.command(_module.__name__.rpartition(".")[2])(_module.command)
app.add_typer(atlas.app, name="atlas", help="Run all that fits a model, and bring together what is found.")
app.add_typer(export.app, name="export", help="Write heads of a result into a file that another program reads.")

_GROUPS: dict[str, Any] = {}
for _study in sorted(studies().values(), key=lambda study: len(study.words)):
    _first, *_rest = _study.words
    _several = any(other.words[0] == _first and len(other.words) > 1 for other in studies().values())
    if not _several:
        app.command(_first)(command_for(_study))
        continue
    if _first not in _GROUPS:
        _about = (_study.load_call().__doc__ or "").partition("\n")[0]
        _GROUPS[_first] = typer.Typer(cls=plain_group(_first), rich_markup_mode=None, no_args_is_help=True)
        app.add_typer(_GROUPS[_first], name=_first, help=_about)
    _GROUPS[_first].command(_rest[0] if _rest else _first)(command_for(_study))


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"attlas {version('attlas')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say it and stop.")
    ] = False,
) -> None:
    """An atlas of attention: look at it, measure it, cut it and test it, on any Hugging Face transformer.

    >>> options()
    """
