"""attlas importance: how much does a loss depend on each head, to first order?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing import finish


def command(
    task: options.Task,
    corpus: options.TaskCorpus,
    model: options.Model = None,
    ablation: Annotated[
        Path | None,
        typer.Option("--ablation", help="The folder of attlas ablate for the same model, to compare with."),
    ] = None,
    format: options.Format = None,
    label: options.Label = None,
    unit: options.Unit = None,
    target: options.Target = None,
    max_pieces: options.MaxPieces = None,
    long: options.Long = "cut",
    limit: options.Limit = None,
    budget: options.Budget = 1024,
    device: options.Device = None,
    dtype: options.Dtype = None,
    out: options.Out = None,
    seed: options.Seed = 0,
    resume: options.Resume = False,
    checkpoint_every: options.CheckpointEvery = 20.0,
    quiet: options.Quiet = False,
    remote_code: options.RemoteCode = False,
    allow_pickle: options.AllowPickle = False,
) -> None:
    """Rank heads by E|dL/dξ|, the size of the loss's derivative by each head's gate: one pass of gradients for all.

    Writes a folder with tables (Parquet), a manifest and a report page.
    """
    from attlas.corpora import read
    from attlas.run import progress_on
    from attlas.run.importance import importance
    from attlas.run.tasks import open_for_task

    texts = read(corpus, format, unit=unit, target=target, label=label)
    subject = open_for_task(
        model, task, texts, device=options.device_or_default(device), dtype=dtype, remote_code=remote_code,
        allow_pickle=allow_pickle,
    )  # fmt: skip
    folder = out or Path(f"importance-{options.slug(subject.name)}-{options.slug(texts.name)}")
    result = importance(
        subject, texts, task, ablation=ablation, max_pieces=max_pieces, long=long, limit=limit, seed=seed, out=folder,
        resume=resume, budget=budget, checkpoint_every=checkpoint_every, progress=progress_on(quiet=quiet),
    )  # fmt: skip
    finish(result, folder, show)


def show(result: Any) -> None:
    """Print the heads that the loss depends on most, and least."""
    from rich.console import Console
    from rich.table import Table

    from attlas.ids import paper_label

    console = Console()
    loss = result.tables["loss"].to_pylist()[0]
    console.print(f"loss {loss['value']:.3f} nats ({loss['task']})", highlight=False)
    rows = sorted(result.tables["importance"].to_pylist(), key=lambda row: -row["normalised"])
    table = Table("stream", "head", "E|dL/dξ|", "of its layer", "mean dL/dξ", box=None, header_style="bold")
    for number, row in enumerate(rows):
        if number < 5 or number >= len(rows) - 5:
            cells = (f"{row['value']:.2e}", f"{row['normalised']:.2f}", f"{row['signed']:+.1e}")
            table.add_row(row["stream"], paper_label(row["layer"], row["head"]), *cells)
        elif number == 5:
            table.add_row("...", "", "", "", "")
    console.print(table)
    if "correlation" in result.tables:
        found = result.tables["correlation"].to_pylist()[0]
        console.print(
            f"rank correlation with the size of measured changes of loss: {found['spearman']:.2f} "
            f"({found['spearman_low']:.2f} to {found['spearman_high']:.2f}), {found['n']} heads",
            highlight=False,
        )
