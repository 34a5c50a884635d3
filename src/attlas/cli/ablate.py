"""attlas ablate: cut every head in turn, and see what it was for."""

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
    other: Annotated[
        str | None, typer.Option("--other", help="A second file: do the same heads matter there?")
    ] = None,
    choose_on: Annotated[
        str | None,
        typer.Option(
            "--choose-on", help="A file to choose each layer's survivor on; else one half of the documents."
        ),
    ] = None,
    survivors: Annotated[
        bool,
        typer.Option("--survivors/--no-survivors", help="Leave each layer one head, too, chosen on other texts."),
    ] = True,
    means: Annotated[
        bool, typer.Option("--means", help="A head that is cut gives its mean output instead of nothing.")
    ] = False,
    importance: Annotated[
        bool, typer.Option("--importance/--no-importance", help="Compare with importance by gradients.")
    ] = True,
    heads: Annotated[
        str | None, typer.Option("--heads", help="Only these, counted from 1: 8-10,3-1 or 'cross 6-3'.")
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(
            "--score",
            help="accuracy or matthews (classification); bleu, chrf or perplexity (translation); loss (any task).",
        ),
    ] = None,
    format: options.Format = None,
    unit: options.Unit = None,
    label: options.Label = None,
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
    """Cut each head in turn, and all heads of each layer but one; test what that does to a task's score.

    Runs each text once and goes on from the cut, all heads of a layer together. Writes a folder with tables
    (Parquet), a manifest and a report page.
    """
    from attlas.corpora import read
    from attlas.run import progress_on
    from attlas.run.ablate import ablate
    from attlas.run.tasks import open_for_task

    texts = read(corpus, format, unit=unit, target=target, label=label)
    second = None if other is None else read(other, unit=unit, label=label)
    chosen_on = None if choose_on is None else read(choose_on, unit=unit, label=label)
    subject = open_for_task(
        model, task, texts, device=options.device_or_default(device), dtype=dtype, remote_code=remote_code,
        allow_pickle=allow_pickle,
    )  # fmt: skip
    folder = out or Path(f"ablate-{options.slug(subject.name)}-{options.slug(texts.name)}")
    named = None if heads is None else [head.strip() for head in heads.split(",") if head.strip()]
    result = ablate(
        subject, texts, task, other=second, choose_on=chosen_on, survivors=survivors, means=means,
        importance=importance, heads=named, score=score, max_pieces=max_pieces, long=long, limit=limit, seed=seed,
        out=folder, resume=resume, budget=budget, checkpoint_every=checkpoint_every,
        progress=progress_on(quiet=quiet),
    )  # fmt: skip
    finish(result, folder, show)


def show(result: Any, most: int = 5) -> None:
    """Print how many heads matter, those that matter most, and the layers that suffer most with one head."""
    from rich.console import Console
    from rich.table import Table

    from attlas.ids import paper_label

    console = Console()
    whole = result.tables["whole"].to_pylist()[0]
    score, loss = f"{whole['metric']} {whole['score']:.4g}", f"loss {whole['loss']:.3f}"
    console.print(f"{whole['task']}: {score}, {loss} on {whole['n']:,} texts", highlight=False)
    rows = result.tables["ablation"].to_pylist()
    for what, prefix in {whole["metric"]: "", "loss": "loss_"}.items():
        direction = -1 if whole["better"] == "higher" and not prefix else 1
        known = [row for row in rows if row[f"{prefix}corrected"] is not None]
        sure = [row for row in known if row[f"{prefix}corrected"] < 0.01]
        worse = sum(direction * row[f"{prefix}change"] > 0 for row in sure)
        console.print(
            f"{len(sure)} of {len(rows)} heads matter to the {what} (p < .01 after Holm): {worse} for the worse when "
            f"cut, {len(sure) - worse} for the better",
            highlight=False,
        )
    table = Table("cut", f"{whole['metric']} changes by", "95 %", "loss by", "p", box=None, header_style="bold")
    for row in sorted(rows, key=lambda row: -abs(row["loss_change"] or 0))[:most]:
        table.add_row(f"{row['stream']} {paper_label(row['layer'], row['head'])}", *_cells(row))
    layers = result.tables["survivors"].to_pylist() if "survivors" in result.tables else []
    for row in sorted(layers, key=lambda row: -row["loss_change"])[:most]:
        name = f"{row['stream']} layer {row['layer'] + 1}, all but {paper_label(row['layer'], row['head'])}"
        table.add_row(name, *_cells(row))
    console.print(table)
    for row in result.tables["correlation"].to_pylist() if "correlation" in result.tables else ():
        if row["spearman"] is not None:
            console.print(
                f"rank correlation with {row['with']}, by {row['quantity']}: {row['spearman']:.2f} "
                f"({row['spearman_low']:.2f} to {row['spearman_high']:.2f})",
                highlight=False,
            )


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"{row['change']:+.4g}",
        f"{row['low']:+.3g} to {row['high']:+.3g}",
        f"{row['loss_change']:+.3g}",
        f"{row['corrected']:.2g}",
    )
