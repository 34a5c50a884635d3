"""attlas parse: train probes that read dependency trees off attention."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing_old import finish


def command(
    treebank: Annotated[
        str, typer.Argument(help='A treebank to train on (CoNLL-U; .gz too), or "sample".', show_default=False)
    ],
    dev: Annotated[
        Path | None, typer.Option("--dev", help="The part that training is stopped by; else some of the treebank.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option("--test", help="The part that is scored on; else some of the treebank.")
    ] = None,
    model: options.Model = None,
    vectors: Annotated[
        str,
        typer.Option(
            "--vectors",
            help='Word vectors: a text file ("word v1 v2 ...", also .gz), a .npy with vocab.txt[.gz] beside it, or '
            '"input" for the model\'s own input embeddings.',
        ),
    ] = "input",
    measure: options.Measure = "weight",
    max_pieces: options.MaxPieces = None,
    limit: options.Limit = None,
    structural: Annotated[
        bool, typer.Option("--structural/--no-structural", help="Also the structural probe, on states.")
    ] = True,
    rank: Annotated[int, typer.Option("--rank", min=1, help="Dimensions of the structural probe.")] = 64,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="At most so many for each probe.")] = 30,
    patience: Annotated[
        int, typer.Option("--patience", min=1, help="Stop after so many epochs that bring nothing on dev.")
    ] = 3,
    max_disk: Annotated[
        float, typer.Option("--max-disk", min=0, help="Most GB that features may take on disk at a time.")
    ] = 8.0,
    keep_features: Annotated[
        bool, typer.Option("--keep-features", help="Leave the captured features in the folder.")
    ] = False,
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
    """Train probes that read dependency trees off attention, beside baselines and the untrained twin.

    Writes a folder with tables (Parquet), a manifest and a report page.
    """
    from attlas.corpora import read
    from attlas.run import progress_on
    from attlas.run.parse import parse, require_trees

    texts = read(treebank)
    require_trees(texts)
    subject = options.opened(model, device, dtype, remote_code, allow_pickle)
    folder = out or Path(f"parse-{options.slug(subject.name)}-{options.slug(texts.name)}")
    result = parse(
        subject, texts, dev=dev, test=test, vectors=vectors, measure=measure, max_pieces=max_pieces,
        limit=limit, structural=structural, rank=rank, epochs=epochs, patience=patience, max_disk=max_disk,
        keep_features=keep_features, seed=seed, out=folder, resume=resume, budget=budget,
        checkpoint_every=checkpoint_every, progress=progress_on(quiet=quiet),
    )  # fmt: skip
    finish(result, folder, show)


def show(result: Any) -> None:
    """Print the score of every probe."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table("probe", "", "test", "95 %", "dev", "published", box=None, header_style="bold")
    for row in result.table.to_pylist():
        published = "" if row["published"] is None else f"{100 * row['published']:.0f}"
        span = "" if row["low"] is None else f"{100 * row['low']:.1f} to {100 * row['high']:.1f}"
        table.add_row(
            row["probe"], row["metric"], f"{100 * row['value']:.1f}", span, f"{100 * row['dev']:.1f}", published
        )
    console.print(table)
    test = result.manifest.corpus["parts"]["test"]
    console.print(
        f"{test['scored_words']:,} words of {test['sentences']:,} sentences were scored; published: BERT, WSJ",
        highlight=False,
    )
