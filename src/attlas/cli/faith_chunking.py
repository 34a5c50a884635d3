"""attlas faith chunking: adversaries and guided models of a one-layer tagger, trained from nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing_old import finish
from attlas.errors import PlanError


def command(
    train: Annotated[str, typer.Argument(help="Chunked sentences to learn from (CoNLL-2000).", show_default=False)],
    test: Annotated[str, typer.Argument(help="Chunked sentences to compare models on.", show_default=False)],
    weights: Annotated[
        str | None,
        typer.Option("--weights", help="Lambdas of the adversaries, such as 0.2,1,3; else nine from .01 to 3."),
    ] = None,
    ends: Annotated[
        str | None,
        typer.Option("--ends", help="Lambdas of which there are all seeds, and which guide; else 0.2,3."),
    ] = None,
    divergence: Annotated[
        str,
        typer.Option("--divergence", help="kl (original to adversary), kl-reversed (adversary to original) or jsd."),
    ] = "kl-reversed",
    per: Annotated[
        str, typer.Option("--per", help="Divergence of a row, or divided by its keys: row or key.")
    ] = "key",
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Originals, and adversaries of either end.")] = 5,
    middle: Annotated[int, typer.Option("--middle", min=1, help="Adversaries of each other lambda.")] = 2,
    guided: Annotated[int, typer.Option("--guided", min=0, help="Guided models of each kind.")] = 2,
    heads: Annotated[int, typer.Option("--heads", min=1, help="Heads of a tagger.")] = 4,
    width: Annotated[int, typer.Option("--width", min=2, help="Width of a tagger.")] = 256,
    ffn: Annotated[int, typer.Option("--ffn", min=1, help="Inner width of its feed-forward layer.")] = 512,
    dropout: Annotated[float, typer.Option("--dropout", help="Dropout while training.")] = 0.1,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Passes over the training sentences.")] = 20,
    rate: Annotated[float, typer.Option("--rate", help="Highest rate of learning.")] = 1.5e-3,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, help="Sentences of a step.")] = 64,
    instances: Annotated[
        int, typer.Option("--instances", min=0, help="Test words that get an adversary of their own.")
    ] = 500,
    bound: Annotated[
        float, typer.Option("--bound", help="How far its predictions may be from the model's (TVD).")
    ] = 0.01,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Learn from so many sentences, drawn.")] = None,
    device: options.Device = None,
    out: options.Out = None,
    seed: options.Seed = 0,
    resume: options.Resume = False,
    quiet: options.Quiet = False,
) -> None:
    """Train one-layer chunkers, adversaries that tag alike and attend otherwise, and models guided by either's
    attention.

    Minutes for each model on a processor, less on a GPU. Writes a folder with tables (Parquet), a manifest, a report
    page and some of the models.
    """
    from attlas.corpora import read
    from attlas.run import progress_on
    from attlas.run.faith_chunking import faith_chunking

    learned_from, scored_on = read(train), read(test)
    folder = out or Path(f"faith-chunking-{options.slug(learned_from.name)}")
    result = faith_chunking(
        learned_from, scored_on, weights=_numbers(weights, "--weights"), ends=_numbers(ends, "--ends"),
        divergence=divergence, per=per, seeds=seeds, middle=middle, guided=guided, heads=heads, width=width, ffn=ffn,
        dropout=dropout, epochs=epochs, rate=rate, batch_size=batch_size, instances=instances, bound=bound,
        limit=limit, seed=seed, device=options.device_or_default(device), out=folder, resume=resume,
        progress=progress_on(quiet=quiet),
    )  # fmt: skip
    finish(result, folder, show)


def _numbers(given: str | None, option: str) -> list[float] | None:
    if given is None:
        return None
    try:
        return [float(part) for part in given.split(",")]
    except ValueError:
        raise PlanError(f"{option} {given!r} is not a list of numbers; write for example 0.2,1,3") from None


def show(result: Any) -> None:
    """Print F1 and distances of every kind of model, the published figures beside them, and the bends."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table("model", "F1", "published", "NLL", "TVD", "KL", "JSD", "seeds", box=None, header_style="bold")
    for row in result.tables["summary"].to_pylist():
        name = " ".join(str(part) for part in (row["kind"], row["weight"], row["attention"], row["form"]) if part)
        known = "" if row["published"] is None else f"{row['published']:.2f}"
        figures = [f"{row[column]:.3f}" for column in ("nll", "tvd", "kl", "jsd")]
        table.add_row(name, f"{row['f1']:.3f}", known, *figures, str(row["seeds"]))
    console.print(table)
    for row in result.tables["bend"].to_pylist() if "bend" in result.tables else ():
        ends = "" if row["at_low"] is None else f" ({row['at_low']:.3f} to {row['at_high']:.3f})"
        names = f"{row['prediction'].upper()} against {row['attention'].upper()}"
        console.print(f"{names} bends at {row['at']:.3f}{ends}", highlight=False)
