"""attlas survey: measure every head over a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing_old import count, finish


def command(
    corpus: Annotated[
        str,
        typer.Argument(
            help='A file (CoNLL-U, CoNLL-2000/2012, bitext, labelled, plain text ...; .gz too), or "sample".'
        ),
    ],
    model: options.Model = None,
    format: options.Format = None,
    unit: options.Unit = None,
    target: options.Target = None,
    pairs: options.Pairs = None,
    max_pieces: options.MaxPieces = None,
    long: options.Long = "cut",
    limit: options.Limit = None,
    budget: options.Budget = 4096,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="By the matrix of weights: slow, to check the fast way.")
    ] = False,
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
    """Measure every head over a corpus: where its attention goes, in weights and in norms.

    Writes a folder with tables (Parquet), a manifest and a report page.
    """
    from attlas.corpora import read
    from attlas.run import progress_on
    from attlas.run.survey import survey

    texts = read(corpus, format, unit=unit, target=target)
    subject = options.opened(model, device, dtype, remote_code, allow_pickle)
    folder = out or Path(f"survey-{options.slug(subject.name)}-{options.slug(texts.name)}")
    result = survey(
        subject, texts, pairs=pairs, max_pieces=max_pieces, long=long, limit=limit, seed=seed, out=folder,
        resume=resume, budget=budget, matrix=matrix, checkpoint_every=checkpoint_every,
        progress=progress_on(quiet=quiet),
    )  # fmt: skip
    finish(result, folder, show)


def show(result: Any, most: int = 12) -> None:
    """Print the heads that stand out most, with their sentence."""
    from rich.console import Console
    from rich.table import Table

    from attlas.ids import paper_label

    console = Console()
    rows = [
        row
        for row in result.tables["heads"].to_pylist()
        if row["measure"] == "weight" and row["quantity"] == "entropy"
    ]
    rows.sort(key=lambda row: row["value"] / (row["chance"] or 1))
    portraits = result.tables["portraits"].to_pylist()
    sentences = {(row["stream"], row["layer"], row["head"]): row["sentence"] for row in portraits}
    table = Table("stream", "head", "entropy", "what it does", box=None, header_style="bold")
    for row in rows[:most]:
        key = (row["stream"], row["layer"], row["head"])
        spread = f"{abs(row['value']):.2f} of {row['chance']:.2f}"  # it may round to -0.00
        table.add_row(row["stream"], paper_label(row["layer"], row["head"]), spread, sentences[key])
    console.print(table)
    more = len(rows) - most
    if more > 0:
        console.print(f"... and {count(more, 'head')} more, in the report", highlight=False)
