"""Training as a command of its own: the call that other studies train with, and what it prints when it is done.

What it gives is a model folder with the record of its training, and no result with a page.
"""

from __future__ import annotations

import typer

from attlas.run.tuning import Tuned, tune

__all__ = ["show", "tune"]


def show(tuned: Tuned) -> None:
    """Print what was seen after each pass, which was the best, and where the model lies.

    >>> curve = [{"epoch": 0, "loss": None, "held_loss": 0.7, "score": 0.5}]
    >>> record = {
    ...     "plan": {"model": {"name": "tiny"}}, "task": "classification", "curve": curve, "best_epoch": 0,
    ...     "texts": {"learned": 1, "held_out": 2}, "data": {"name": "a.tsv"}, "validation": None, "seconds": 1.5,
    ...     "weights": {"trained": 3, "all": 9}, "score": {"name": "accuracy"}, "majority": 0.5,
    ...     "stopped_early": True, "skipped": {"without a label": 1},
    ... }
    >>> show(Tuned(None, record))
    tiny for classification: learned from 1 text of a.tsv, judged on 2 held out; 3 of 9 weights trained in 2 s
    ...
    note: without a label: 1
    """
    from rich.console import Console
    from rich.table import Table

    from attlas.pages.prose import count_of

    record = tuned.record
    texts, score, task = record["texts"], record["score"], record["task"]
    typer.echo(
        f"{record['plan']['model']['name']} for {task}: learned from {count_of(texts['learned'], 'text')} of "
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
    if tuned.folder is not None:
        data = record["validation"] or record["data"]
        typer.echo(f"model: {tuned.folder}")
        typer.echo(f"try: attlas ablate {data['name']} --task {task} --model {tuned.folder}")
