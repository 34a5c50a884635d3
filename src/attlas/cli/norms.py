"""attlas norms: what attention really adds up, against its weights."""

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
    heads: Annotated[
        str,
        typer.Option(
            "--heads",
            help='Heads whose pairs are shown one by one: "3-1,8-10", "cross 6-3"; else those that rest most.',
        ),
    ] = "",
    format: options.Format = None,
    unit: options.Unit = None,
    target: options.Target = None,
    pairs: options.Pairs = None,
    max_pieces: options.MaxPieces = None,
    long: options.Long = "cut",
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
    """Set the norms of what attention adds up against its weights, by class of key, layer and head.

    Also the rank correlation of weight and length of vector, length by frequency of the word, and how much a piece
    takes in from others; of the model and of its untrained twin. Writes a folder with tables (Parquet), a manifest
    and a report page.
    """
    from attlas.corpora import read
    from attlas.run import progress_on
    from attlas.run.norms import norms

    texts = read(corpus, format, unit=unit, target=target)
    subject = options.opened(model, device, dtype, remote_code, allow_pickle)
    folder = out or Path(f"norms-{options.slug(subject.name)}-{options.slug(texts.name)}")
    named = [label.strip() for label in heads.split(",") if label.strip()]
    result = norms(
        subject, texts, heads=named, pairs=pairs, max_pieces=max_pieces, long=long, limit=limit, seed=seed,
        out=folder, resume=resume, budget=budget, checkpoint_every=checkpoint_every,
        progress=progress_on(quiet=quiet),
    )  # fmt: skip
    finish(result, folder, show)


def show(result: Any) -> None:
    """Print, stream by stream, each class of key: its share of weight and of norm, the length of its vectors as times
    that of other keys, and the twin's weight and norm; means over layers."""
    from rich.console import Console
    from rich.table import Table

    from attlas.reports.charts import CLASS_LABELS
    from attlas.reports.norms_findings import Picture

    console = Console()
    picture = Picture(result.tables)
    table = Table(
        "stream", "keys", "weight", "norm", "all heads", "chance", "length", "twin", box=None, header_style="bold"
    )
    for stream in picture.streams:
        for kind in picture.classes(stream):
            mean = picture.mean(stream, kind)
            cells = [f"{mean[name]:.2f}" for name in ("weight", "norm", "joint", "chance", "relative")]
            twin = f"{mean['twin_weight']:.2f}, {mean['twin_norm']:.2f}"
            table.add_row(stream, CLASS_LABELS[kind], *cells, twin)
    console.print(table)
    for stream in picture.streams:
        below, heads, median = picture.negative(stream)
        console.print(
            f"{stream}: weight and ‖f(x)‖ are negatively related in {below} of {heads} heads (median {median:+.2f})",
            highlight=False,
            soft_wrap=True,
        )
