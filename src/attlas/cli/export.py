"""attlas export: heads of a result, in the files that other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command("heads")
def heads(
    folder: Annotated[Path, typer.Argument(help="The folder of a result of roles or survey.")],
    kind: Annotated[str, typer.Option("--as", help="csv, vllm-hook, qrhead or duo-tsv.")],
    by: Annotated[str, typer.Option("--by", help="The definition (roles) or quantity (survey) that chooses heads.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file, for duo-tsv a folder; named by itself if left out.")
    ] = None,
    top: Annotated[
        int | None, typer.Option("--top", help="So many heads; 16 if neither bar is given.", min=1)
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option("--at-least", help="Heads of this figure or beyond; at most, where small ones are meant."),
    ] = None,
    stream: Annotated[str | None, typer.Option("--stream", help="Of which stream, where there are several.")] = None,
    model_id: Annotated[
        str | None, typer.Option("--model-id", help="How the program that reads it calls the model.")
    ] = None,
) -> None:
    """Write heads that were chosen by a bar into a file that another program reads.

    Where the result has halves, heads are chosen on one and their figures on the other are written. csv: a table;
    vllm-hook: vLLM-Hook's configuration; qrhead: QRRetriever's; duo-tsv: DuoAttention's gates, as kvpress reads them.
    """
    from attlas.errors import printable
    from attlas.store.damage import told_as_damage
    from attlas.studies.exporting import ENDINGS, choose, export_heads, require_kind
    from attlas.studies.reporting import open_result

    require_kind(kind)
    result = open_result(folder)
    with told_as_damage(folder):
        choice = choose(result, by, stream, top, at_least)
        files = export_heads(choice, kind, folder / ENDINGS[kind] if out is None else out, model_id)
    typer.echo(printable(choice.told))
    for file in files:
        typer.echo(printable(f"{kind}: {file}"))
