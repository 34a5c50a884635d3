"""All commands, gathered."""

from __future__ import annotations

from typing import Annotated

import typer

from attlas.cli import (
    ablate,
    align,
    clusters,
    coref,
    demo,
    doctor,
    faith,
    heads,
    keywords,
    layers,
    noop,
    norms,
    parse,
    prune,
    relations,
    report,
    serve,
    survey,
    translate_train,
    tune,
    view,
)
from attlas.cli.commands import command_for
from attlas.studies import studies

app = typer.Typer(
    name="attlas",
    help="An atlas of attention: look at it, measure it, cut it and test it, on any Hugging Face transformer.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.command)
app.command("view")(view.command)
app.command("heads")(heads.command)
app.command("survey")(survey.command)
app.command("relations")(relations.command)
app.command("clusters")(clusters.command)
app.command("parse")(parse.command)
app.command("noop")(noop.command)
app.command("norms")(norms.command)
app.command("coref")(coref.command)
app.add_typer(layers.app, name="layers")
app.command("tune")(tune.command)
app.command("translate-train")(translate_train.command)
app.command("ablate")(ablate.command)
app.command("align")(align.command)
app.command("prune")(prune.command)
app.add_typer(faith.app, name="faith")
app.add_typer(keywords.app, name="keywords")
app.command("report")(report.command)
app.command("doctor")(doctor.command)
app.command("serve")(serve.command)
for _study in studies().values():
    app.command(" ".join(_study.words))(command_for(_study))


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
