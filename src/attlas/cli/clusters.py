"""attlas clusters: which heads attend alike, and do heads of one layer lie together?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing_old import finish


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
    relations: Annotated[
        Path | None,
        typer.Option("--relations", help="Result folder of attlas relations of this model, to name its best heads."),
    ] = None,
    measure: options.Measure = "weight",
    pairs: options.Pairs = None,
    max_pieces: options.MaxPieces = None,
    long: options.Long = "cut",
    limit: options.Limit = None,
    budget: options.FittingBudget = None,
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
    """See which heads attend alike: distances of all pairs of heads, a map, a tree, and whether layers lie together.

    Writes a folder with tables (Parquet), a manifest and a report page. An untrained twin is measured beside.
    """
    from attlas.corpora import read
    from attlas.run import progress_on
    from attlas.run.clusters import clusters

    texts = read(corpus, format, unit=unit, target=target)
    subject = options.opened(model, device, dtype, remote_code, allow_pickle)
    folder = out or Path(f"clusters-{options.slug(subject.name)}-{options.slug(texts.name)}")
    result = clusters(
        subject, texts, pairs=pairs, max_pieces=max_pieces, long=long, limit=limit, relations=relations,
        measure=measure, seed=seed, out=folder, resume=resume, budget=budget, checkpoint_every=checkpoint_every,
        progress=progress_on(quiet=quiet),
    )  # fmt: skip
    finish(result, folder, show)


def show(result: Any, most: int = 8) -> None:
    """Print what lies together, how many heads do what, and the tightest pairs."""
    from collections import Counter

    from rich.console import Console
    from rich.table import Table

    from attlas.ids import paper_label

    console = Console()
    table = Table("stream", "", "within layers", "between", "ratio", "p", "stress", box=None, header_style="bold")
    for row in result.tables["togetherness"].to_pylist():
        numbers = [row["within"], row["between"], row["ratio"], row["p"], row["stress"]]
        written = ["" if number is None else f"{number:.4g}" for number in numbers]
        table.add_row(row["stream"], "model" if row["of"] == "model" else "untrained", *written)
    console.print(table)
    heads = result.tables["clusters"].to_pylist()
    counts = Counter(row["behaviour"] for row in heads)
    console.print(
        "heads: " + ", ".join(f"{count} {name}" for name, count in counts.most_common()),
        highlight=False,
        soft_wrap=True,
    )
    rows = sorted(result.tables["pairs"].to_pylist(), key=lambda row: row["value"])[:most]
    table = Table("stream", "nearest heads", "", "nats", "untrained", box=None, header_style="bold")
    for row in rows:
        labels = (paper_label(row["layer"], row["head"]), paper_label(row["layer_b"], row["head_b"]))
        table.add_row(row["stream"], *labels, f"{row['value']:.4f}", f"{row['twin']:.4f}")
    console.print(table)
