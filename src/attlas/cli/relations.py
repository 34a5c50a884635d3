"""attlas relations: every head as a dependency parser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing_old import finish


def command(
    treebank: Annotated[str, typer.Argument(help='A treebank (CoNLL-U; .gz too; or a folder of them), or "sample".')],
    model: options.Model = None,
    select: options.Select = None,
    measure: options.Measure = "weight",
    max_pieces: options.MaxPieces = None,
    limit: options.Limit = None,
    budget: options.Budget = 4096,
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
    """Ask of every head how well it finds the governor of a word, relation by relation.

    Heads are chosen on one part of the texts and scored on the other, beside the best fixed offset and an untrained
    twin of the model. Writes a folder with tables (Parquet), a manifest and a report page.
    """
    from attlas.corpora import read
    from attlas.run import progress_on
    from attlas.run.relations import relations

    texts = read(treebank)
    chosen_on = None if select is None else read(select)
    subject = options.opened(model, device, dtype, remote_code, allow_pickle)
    folder = out or Path(f"relations-{options.slug(subject.name)}-{options.slug(texts.name)}")
    result = relations(
        subject, texts, select=chosen_on, measure=measure, max_pieces=max_pieces, limit=limit, seed=seed, out=folder,
        resume=resume, budget=budget, checkpoint_every=checkpoint_every, progress=progress_on(quiet=quiet),
    )  # fmt: skip
    finish(result, folder, show)


def show(result: Any, most: int = 16) -> None:
    """Print the most frequent relations: chosen head, accuracy, best offset, untrained twin."""
    from rich.console import Console
    from rich.table import Table

    from attlas.ids import paper_label
    from attlas.reports.relations import sure

    rows = [row for row in result.tables["relations"].to_pylist() if row["best"]]
    table = Table(
        "relation", "n", "head", "accuracy", "95 %", "best offset", "untrained", box=None, header_style="bold"
    )
    for row in rows[:most]:
        table.add_row(
            row["relation"],
            f"{row['n']:,}",
            f"{paper_label(row['layer'], row['head'])} {row['direction']}",
            f"{100 * row['value']:.1f}" + ("*" if sure(row) else ""),
            f"{100 * row['low']:.1f}-{100 * row['high']:.1f}",
            f"{100 * row['baseline']:.1f} ({row['offset']:+d})",
            f"{100 * row['twin']:.1f}",
        )
    console = Console()
    console.print(table)
    if len(rows) > most:
        console.print(f"... and {len(rows) - most} more, in the report", highlight=False)
    console.print("* better than the offset, p < .01 after Holm's correction", highlight=False)
