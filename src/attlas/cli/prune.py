"""attlas prune: how many heads can go, which, and a model without them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing_old import finish


def command(
    task: options.Task,
    corpus: options.TaskCorpus,
    model: options.Model = None,
    by: Annotated[
        str,
        typer.Option(
            "--by", help="The order in which heads go: importance, loss (measured), both, or score (--ablation)."
        ),
    ] = "both",
    order_on: Annotated[
        str | None,
        typer.Option("--order-on", help="A file to put heads in order on; else one half of the documents is."),
    ] = None,
    ablation: Annotated[
        Path | None,
        typer.Option("--ablation", help="Take measured losses from this folder of attlas ablate (other texts)."),
    ] = None,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Steps of the curve.")] = 10,
    reverse: Annotated[
        bool, typer.Option("--reverse", help="A curve of its own for the reverse: what costs most goes first.")
    ] = False,
    keep: Annotated[
        float | None, typer.Option("--keep", help="Write a model that has this share of its heads, such as .6.")
    ] = None,
    even: Annotated[bool, typer.Option("--even", help="Every layer loses the same number.")] = False,
    heads: Annotated[
        str | None,
        typer.Option("--heads", help="Remove exactly these, counted from 1: 8-10,3-1 or 'cross 6-3'."),
    ] = None,
    retune: Annotated[
        str | None, typer.Option("--retune", help="Train the smaller model again on this file, and score it.")
    ] = None,
    speed: Annotated[bool, typer.Option("--speed/--no-speed", help="Time the models before and after.")] = True,
    score: Annotated[
        str | None,
        typer.Option("--score", help="accuracy or matthews (classification); bleu, chrf, perplexity (translation)."),
    ] = None,
    format: options.Format = None,
    label: options.Label = None,
    unit: options.Unit = None,
    target: options.Target = None,
    max_pieces: options.MaxPieces = None,
    long: options.Long = "cut",
    limit: options.Limit = None,
    budget: options.Budget = 2048,
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
    """Remove heads step by step and score what is left; with --keep, write a model that is really smaller.

    Writes a folder with tables (Parquet), a manifest and a report page, and beside them the smaller model, which
    attlas.load opens.
    """
    from attlas.corpora import read
    from attlas.run import progress_on
    from attlas.run.prune import prune
    from attlas.run.tasks import open_for_task

    texts = read(corpus, format, unit=unit, target=target, label=label)
    ordering = None if order_on is None else read(order_on, format, unit=unit, label=label)
    subject = open_for_task(
        model, task, texts, device=options.device_or_default(device), dtype=dtype, remote_code=remote_code,
        allow_pickle=allow_pickle,
    )  # fmt: skip
    folder = out or Path(f"prune-{options.slug(subject.name)}-{options.slug(texts.name)}")
    result = prune(
        subject, texts, task, by=by, order_on=ordering,
        ablation=ablation, steps=steps, reverse=reverse, keep=keep, even=even,
        heads=None if heads is None else _listed(heads),
        retune=None if retune is None else read(retune, format, unit=unit, label=label), speed=speed, score=score,
        max_pieces=max_pieces, long=long, limit=limit, seed=seed, out=folder, resume=resume, budget=budget,
        checkpoint_every=checkpoint_every, progress=progress_on(quiet=quiet),
    )  # fmt: skip
    finish(result, folder, show, *(_about_model(result, folder) if "sizes" in result.tables else ()))


def _listed(heads: str) -> list[str]:
    return [head.strip() for head in heads.split(",") if head.strip()]


def _about_model(result: Any, folder: Path) -> list[str]:
    """Where the smaller model lies, who can open it, and whether layers are left without a head."""
    cut = result.tables["sizes"].to_pylist()[1]
    who = "attlas.load and plain transformers open it" if cut["plain"] else "attlas.load opens it"
    silent = cut["silent_layers"]
    layers = "1 layer has" if silent == 1 else f"{silent} layers have"
    lines = [f"note: {layers} lost all heads; attention adds nothing there but the output bias"] if silent else []
    return [*lines, f"model: {folder} ({who})"]


def show(result: Any) -> None:
    """Print what can go, and what the smaller model is like."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if "shares" in result.tables:
        table = Table("heads go by", "score", "1 % lost when", "5 % lost when", box=None, header_style="bold")
        rows = result.tables["shares"].to_pylist()
        for order, draw in dict.fromkeys((row["order"], row["draw"]) for row in rows):
            own = {row["fall"]: row for row in rows if (row["order"], row["draw"]) == (order, draw)}
            name = f"chance, draw {draw + 1}" if order == "random" else order.replace(" ", ", ")
            table.add_row(name, f"{own[0.01]['score']:.3f}", *(_gone(own[fall]["share"]) for fall in (0.01, 0.05)))
        console.print(table)
    if "sizes" in result.tables:
        table = Table("model", "heads", "parameters", "score", "loss", box=None, header_style="bold")
        for row in result.tables["sizes"].to_pylist():
            sizes = (f"{row['heads']:,}", f"{row['parameters']:,}")
            table.add_row(row["stage"], *sizes, f"{row['score']:.3f}", f"{row['loss']:.3f}")
        console.print(table)


def _gone(share: float | None) -> str:
    return "never" if share is None else f"{100 * share:.0f} % are gone"
