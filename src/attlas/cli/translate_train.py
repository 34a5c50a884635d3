"""attlas translate-train: a small translation model, from nothing but a bitext."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing_old import count


def command(
    bitext: Annotated[
        list[str],
        typer.Argument(
            help="Bitexts, which are joined: two columns with a tab between them, source ||| target, or sentences "
            "whose translations are in --target; .gz and .xz too."
        ),
    ],
    target: Annotated[
        list[str] | None,
        typer.Option("--target", help="The translations, line by line, of a BITEXT without; may be given again."),
    ] = None,
    dev: Annotated[
        list[str] | None,
        typer.Option("--dev", help="Pairs to judge each pass by; else a twentieth of the bitext, 1000 at most."),
    ] = None,
    dev_target: Annotated[list[str] | None, typer.Option("--dev-target", help="As --target, for --dev.")] = None,
    test: Annotated[
        list[str] | None, typer.Option("--test", help="Pairs that take no part, for BLEU at the end; again for more.")
    ] = None,
    test_target: Annotated[list[str] | None, typer.Option("--test-target", help="As --target, for --test.")] = None,
    out: options.Out = None,
    swap: Annotated[bool, typer.Option("--swap", help="Translate from the second side into the first.")] = False,
    layers: Annotated[int, typer.Option("--layers", min=1, help="Layers of the encoder, and of the decoder.")] = 6,
    heads: Annotated[int, typer.Option("--heads", min=1, help="Heads of a layer.")] = 4,
    width: Annotated[int, typer.Option("--width", min=2, help="Width of a layer.")] = 512,
    ffn: Annotated[int, typer.Option("--ffn", min=1, help="Width of its feed-forward part.")] = 1024,
    vocabulary: Annotated[
        int, typer.Option("--vocabulary", min=10, help="Pieces, for both sides together.")
    ] = 10_000,
    dropout: Annotated[float, typer.Option("--dropout", help="0.3 is good for small texts.")] = 0.3,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Passes over the pairs, at most.")] = 30,
    rate: Annotated[float, typer.Option("--rate", help="The highest rate of learning.")] = 3e-4,
    warmup: Annotated[float, typer.Option("--warmup", help="The share of steps in which the rate rises.")] = 0.3,
    falling: Annotated[
        str, typer.Option("--falling", help="How the rate falls then: linear (to nothing), or root (of the step).")
    ] = "linear",
    smoothing: Annotated[float, typer.Option("--smoothing", help="Label smoothing.")] = 0.1,
    decay: Annotated[float, typer.Option("--decay", min=0, help="Weight decay.")] = 1e-4,
    clip: Annotated[float, typer.Option("--clip", min=0, help="The largest norm of gradients; 0 for any.")] = 1.0,
    batch_pieces: Annotated[
        int | None,
        typer.Option("--batch-pieces", min=1, help="Pieces in a step, padding included; 8192 on a GPU, else 4096."),
    ] = None,
    patience: Annotated[
        int, typer.Option("--patience", min=1, help="Stop after so many passes without a lower held-out loss.")
    ] = 5,
    beams: Annotated[int, typer.Option("--beams", min=1, help="Beams of the translations scored; 1 is greedy.")] = 1,
    max_pieces: Annotated[
        int, typer.Option("--max-pieces", min=4, help="Pairs with a longer side are left out and counted.")
    ] = 128,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="So many pairs to learn from, drawn by the seed.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0, help="Begin no pass that would end later than that.")
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", help="tsv, bitext or parallel, where it cannot be told.")
    ] = None,
    skip: Annotated[
        bool, typer.Option("--skip-broken", help="Leave out lines that are no pair, and count them.")
    ] = False,
    device: options.Device = None,
    dtype: Annotated[
        str | None, typer.Option("--dtype", help="float32, or bfloat16 on a GPU that knows it (the default there).")
    ] = None,
    seed: options.Seed = 0,
    resume: options.Resume = False,
    checkpoint_every: options.CheckpointEvery = 60.0,
    quiet: options.Quiet = False,
) -> None:
    """Train a small encoder-decoder from nothing on a bitext, and score its translations by BLEU.

    Writes a model folder (safetensors) that any program can load, with the record of its training beside it.
    """
    from attlas.corpora import read_bitexts
    from attlas.errors import PlanError
    from attlas.run import progress_on
    from attlas.run.translate_train import translate_train

    def read_all(files: list[str] | None, targets: list[str] | None) -> Any:
        return read_bitexts(files, targets or [], format=format, skip=skip) if files else None

    for option, files, targets in (("dev", dev, dev_target), ("test", test, test_target)):
        if targets and not files:
            raise PlanError(f"--{option}-target is for the translations of --{option}, which is not given")
    pairs, held, tested = read_all(bitext, target), read_all(dev, dev_target), read_all(test, test_target)
    folder = out or Path(f"translator-{options.slug(pairs[0].name)}{'-swapped' if swap else ''}-seed{seed}")
    made = translate_train(
        pairs, dev=held, test=tested, swap=swap, layers=layers, heads=heads, width=width, ffn=ffn,
        vocabulary=vocabulary, dropout=dropout, epochs=epochs, rate=rate, warmup=warmup, falling=falling,
        smoothing=smoothing, decay=decay, clip=clip, batch_pieces=batch_pieces, patience=patience, beams=beams,
        max_pieces=max_pieces, limit=limit, minutes=minutes, seed=seed, device=options.device_or_default(device),
        dtype=dtype, out=folder, resume=resume, checkpoint_every=checkpoint_every, progress=progress_on(quiet=quiet),
    )  # fmt: skip
    show(made.record)
    typer.echo(f"model: {folder}")
    typer.echo(f"try: attlas align BITEXT --model {folder}")


def show(record: dict[str, Any]) -> None:
    """Print what was seen after each pass, and how good the translations are."""
    from rich.console import Console
    from rich.table import Table

    texts, sizes = record["texts"], record["sizes"]
    typer.echo(
        f"{sizes['layers']}+{sizes['layers']} layers, {sizes['heads']} heads, width {sizes['width']}, "
        f"{record['weights']:,} weights, {record['pieces']['vocabulary']:,} pieces: learned from "
        f"{count(texts['learned'], 'pair')} of {record['data']['name']} in {record['seconds']:.0f} s on "
        f"{record['device']} ({record['pieces_per_second']:,} pieces/s)"
    )
    table = Table("epoch", "loss", "held-out loss", "", box=None, header_style="bold")
    for row in record["curve"]:
        cells = ["" if value is None else f"{value:.4f}" for value in (row["loss"], row["held_loss"])]
        table.add_row(str(row["epoch"]), *cells, "best" if row["epoch"] == record["best_epoch"] else "")
    Console().print(table)
    if record["stopped_by"] == "patience":
        typer.echo("stopped early, as the held-out loss no longer fell")
    elif record["stopped_by"] == "time":
        typer.echo("stopped by the time that was given, before all passes were done")
    for row in record["bleu"]:
        typer.echo(
            f"{row['set']} {row['name']}: BLEU {row['bleu']:.2f} ({row['how']}), {count(row['pairs'], 'pair')}"
        )
    for reason, number in record["skipped"].items():
        typer.echo(f"note: {reason}: {number:,}")
