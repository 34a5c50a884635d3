"""attlas tune: train a model, or its head alone, for a task."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing_old import count


def command(
    task: options.Task,
    data: options.TaskCorpus,
    model: options.Model = None,
    out: options.Out = None,
    dev: Annotated[
        str | None, typer.Option("--dev", help="Texts held out, to stop in time; else a tenth of the data is.")
    ] = None,
    only_head: Annotated[
        bool, typer.Option("--only-head", help="Train the task's head alone, and leave the model as it is.")
    ] = False,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Passes over the texts, at most.")] = 3,
    rate: Annotated[
        float | None, typer.Option("--rate", help="The highest rate of learning; 5e-5, or 1e-3 for a head alone.")
    ] = None,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, help="Texts in a step.")] = 32,
    patience: Annotated[
        int, typer.Option("--patience", min=1, help="Stop after so many passes without a better score.")
    ] = 2,
    score: Annotated[
        str | None, typer.Option("--score", help="Of classification: accuracy, or matthews where labels are uneven.")
    ] = None,
    attention: Annotated[
        str,
        typer.Option(
            "--attention", help="own, or uniform: every head attends evenly, to see what the task needs it for."
        ),
    ] = "own",
    format: options.Format = None,
    label: options.Label = None,
    unit: options.Unit = None,
    target: options.Target = None,
    dev_target: Annotated[
        Path | None, typer.Option("--dev-target", help="The translations of the texts held out, line by line.")
    ] = None,
    max_pieces: options.MaxPieces = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="So many texts to learn from, drawn by the seed.")
    ] = None,
    device: options.Device = None,
    dtype: Annotated[
        str | None,
        typer.Option("--dtype", help="float32, or bfloat16 on a GPU that knows it (the default there)."),
    ] = None,
    seed: options.Seed = 0,
    resume: options.Resume = False,
    checkpoint_every: options.CheckpointEvery = 60.0,
    quiet: options.Quiet = False,
    remote_code: options.RemoteCode = False,
    allow_pickle: options.AllowPickle = False,
) -> None:
    """Train a model for a task: the whole of it, or only its head.

    Writes a model folder (safetensors) that any program can load, with the record of its training beside it.
    """
    from attlas.corpora import read
    from attlas.run import progress_on
    from attlas.run.tuning import tune

    texts = read(data, format, unit=unit, target=target, label=label)
    held = None if dev is None else read(dev, format, unit=unit, target=dev_target, label=label)
    folder = out or Path(f"tuned-{options.slug(model or 'minilm')}-{options.slug(task)}-{options.slug(texts.name)}")
    tuned = tune(
        model, texts, task=task, dev=held, only_head=only_head, epochs=epochs, rate=rate, batch_size=batch_size,
        patience=patience, score=score, attention=attention, max_pieces=max_pieces, limit=limit, seed=seed,
        dtype=dtype, out=folder, resume=resume, checkpoint_every=checkpoint_every, progress=progress_on(quiet=quiet),
        device=options.device_or_default(device), remote_code=remote_code, allow_pickle=allow_pickle,
    )  # fmt: skip
    show(tuned.record)
    typer.echo(f"model: {folder}")
    typer.echo(f"try: attlas ablate {task} {dev or data} --model {folder}")


def show(record: dict[str, Any]) -> None:
    """Print what was seen after each pass, and which was the best."""
    from rich.console import Console
    from rich.table import Table

    texts, score = record["texts"], record["score"]
    typer.echo(
        f"{record['plan']['model']['name']} for {record['task']}: learned from {count(texts['learned'], 'text')} of "
        f"{record['data']['name']}, judged on {texts['held_out']:,} held out; "
        f"{record['weights']['trained']:,} of {record['weights']['all']:,} weights trained "
        f"in {record['seconds']:.0f} s"
    )
    table = Table("epoch", "loss", "held-out loss", score["name"], "", box=None, header_style="bold")
    for row in record["curve"]:
        numbers = (row["loss"], row["held_loss"], row["score"])
        cells = ["" if value is None else f"{value:.4f}" for value in numbers]
        table.add_row(str(row["epoch"]), *cells, "best" if row["epoch"] == record["best_epoch"] else "")
    Console().print(table)
    if record["majority"] is not None:
        typer.echo(f"always the most frequent label: {score['name']} {record['majority']:.4f}")
    if record["stopped_early"]:
        typer.echo("stopped early, as the score no longer rose")
    for reason, number in record["skipped"].items():
        typer.echo(f"note: {reason}: {number:,}")
