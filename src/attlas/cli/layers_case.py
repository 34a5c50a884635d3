"""attlas layers case: what the probes of several tasks say of one sentence, layer by layer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing_old import finish

NAMED = 4  # words of the sentence in the name of the folder


def command(
    sentence: Annotated[str, typer.Argument(help="The sentence to ask about.")],
    span: Annotated[
        list[str] | None,
        typer.Option(
            "--span",
            "-s",
            help="Words A:B (from 0, without B), or a pair A:B,C:D for tasks of pairs; TASK=A:B asks that task "
            "alone; may be repeated.",
        ),
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option("--runs", "-r", help="The --out of attlas layers, or a folder of such; may be repeated."),
    ] = None,
    words: Annotated[
        bool, typer.Option("--words", help="The sentence is split into words already, with blanks between them.")
    ] = False,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="The model of the runs, where it is not found by its name.")
    ] = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    out: options.Out = None,
    quiet: options.Quiet = False,
    remote_code: options.RemoteCode = False,
    allow_pickle: options.AllowPickle = False,
) -> None:
    """One sentence across layers: what every task's probes take a span for, from the embeddings up.

    Writes a folder with tables (Parquet), a manifest and a report page.
    """
    from attlas.run import progress_on
    from attlas.run.layers_case import as_document, layers_case

    def opened(name: str | None) -> Any:
        return options.opened(name, device, dtype, remote_code, allow_pickle)

    document = as_document(sentence.split() if words else sentence)
    folder = out or Path(f"layers-case-{options.slug('-'.join(document.forms[:NAMED]))}")
    result = layers_case(
        document, span or [], runs or [], subject=model, open_model=opened, out=folder,
        progress=progress_on(quiet=quiet),
    )  # fmt: skip
    finish(result, folder, show)


def show(result: Any) -> None:
    """Print what leads at the first and at the last layer, and from where on it stays."""
    from rich.console import Console
    from rich.table import Table

    from attlas.reports.layers_case_findings import brief, ends, panels_of

    rows = result.table.to_pylist()
    words = {row["edge"]: " / ".join(filter(None, (row["first_words"], row["second_words"]))) for row in rows}
    panels = panels_of(rows)
    table = Table("asked about", "task", *ends(panels), "settles at", box=None, header_style="bold")
    for panel in panels:
        table.add_row(words[panel.edge], panel.task, brief(panel, 0), brief(panel, -1), f"layer {panel.settled}")
    Console().print(table, highlight=False, markup=False)
