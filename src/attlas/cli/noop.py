"""attlas noop: does a loss depend on attention to the places where heads rest?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing_old import finish


def command(
    corpus: Annotated[
        str,
        typer.Argument(help='A file (plain text, CoNLL-U, CoNLL-2000/2012, bitext ...; .gz too), or "sample".'),
    ],
    model: options.Model = None,
    loss: Annotated[
        str,
        typer.Option(
            "--loss",
            help="causal-lm, masked-lm, translation, classification; tagging:upos, :xpos, :chunks, :keyphrases "
            "train a small head where the model has none; auto takes what the model offers.",
        ),
    ] = "auto",
    format: options.Format = None,
    label: options.Label = None,
    unit: options.Unit = None,
    target: options.Target = None,
    pairs: options.Pairs = None,
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
    """Measure how much a loss depends on attention to [SEP], the first piece, punctuation and all else.

    Takes the mean |dL/d alpha| by class of key, for every layer and head, of the model and of its untrained twin.
    Writes a folder with tables (Parquet), a manifest and a report page.
    """
    from attlas.corpora import read
    from attlas.run import progress_on
    from attlas.run.losses import open_for_loss
    from attlas.run.noop import noop

    texts = read(corpus, format, unit=unit, target=target, label=label)
    subject, chosen = open_for_loss(
        model, loss, texts, device=options.device_or_default(device), dtype=dtype, remote_code=remote_code,
        allow_pickle=allow_pickle,
    )  # fmt: skip
    folder = out or Path(f"noop-{options.slug(subject.name)}-{options.slug(texts.name)}")
    result = noop(
        subject, texts, loss=chosen, pairs=pairs, max_pieces=max_pieces, long=long, limit=limit, seed=seed,
        out=folder, resume=resume, budget=budget, checkpoint_every=checkpoint_every,
        progress=progress_on(quiet=quiet),
    )  # fmt: skip
    trained = loss == "auto" and chosen.startswith("tagging:") and subject.task_head != "tagging"
    said = f"loss: {chosen}, by a small head trained here, as no other loss is to be had of this model and corpus"
    finish(result, folder, show, *([said] if trained else []))


def show(result: Any) -> None:
    """Print, layer by layer, the weight and the gradient of the place where heads rest."""
    from rich.console import Console
    from rich.table import Table

    from attlas.reports.noop_findings import NAMES, Layers

    console = Console()
    found = result.tables["loss"].to_pylist()[0]
    right = f", right {found['accuracy']:.3f}" + (
        "" if found["majority"] is None else f" (majority {found['majority']:.3f})"
    )
    console.print(
        f"loss {found['loss']}: {found['value']:.3f} nats{right}; untrained twin {found['twin_value']:.3f}, "
        f"right {found['twin_accuracy']:.3f}",
        highlight=False,
    )
    layers = Layers(result.tables["noop_layers"].to_pylist())
    columns = ("stream", "layer", "keys", "weight", "norm", "|dL/dα|", "over other keys", "twin")
    table = Table(*columns, box=None, header_style="bold")
    for stream in layers.streams:
        rest = layers.resting(stream)
        for row in layers.of(stream, rest) if rest else ():
            cells = (
                f"{row['weight']:.2f}",
                _ratio(row["norm"]),
                f"{row['value']:.2e}",
                _ratio(row["relative"]),
                _ratio(row["twin_relative"]),
            )
            table.add_row(stream, str(row["layer"] + 1), NAMES[rest], *cells)
    console.print(table)


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
