"""attlas keywords study: how well every head tells key words from others, and all heads together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing_old import finish
from attlas.errors import PlanError


def command(
    data: Annotated[
        str,
        typer.Argument(
            help='Texts with key phrases (JSON lines; .gz too) to choose heads and learn on, or "sample".',
            show_default=False,
        ),
    ],
    test: Annotated[
        str | None, typer.Option("--test", help="Texts to score on; else one half of the documents is for each.")
    ] = None,
    model: options.Model = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            help="Attention by which all heads together are read: weight-mean, weight-max, norm-mean or norm-max; "
            "else the one whose heads are best.",
        ),
    ] = None,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Folds of the cross-validation.")] = 5,
    steps: Annotated[
        str | None, typer.Option("--steps", help="How many heads the regression keeps, such as 1,5,20; up to all.")
    ] = None,
    language: Annotated[
        str, typer.Option("--language", help="Whose stemmer finds key phrases in texts; or none.")
    ] = "english",
    twin: Annotated[bool, typer.Option("--twin/--no-twin", help="The untrained twin beside.")] = True,
    max_pieces: options.MaxPieces = None,
    limit: options.Limit = None,
    max_disk: Annotated[
        float, typer.Option("--max-disk", min=0, help="Most room (GB) that attention may take meanwhile.")
    ] = 8.0,
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
    """Ask of every head how much more attention key words receive than others, and choose heads that find them.

    Heads are chosen, and a regression and a scalar mix of all heads are trained, on one part of the texts and scored
    on the other, beside an untrained twin and what needs no model. Writes a folder with tables (Parquet), a manifest
    and a report page; attlas keywords takes the heads from there (--study).
    """
    from attlas.corpora import read
    from attlas.run import progress_on
    from attlas.studies.keywords_study.call import keywords_study

    texts = read(data)
    scored_on = None if test is None else read(test)
    kept = numbers(steps)
    subject = options.opened(model, device, dtype, remote_code, allow_pickle)
    folder = out or Path(f"keywords-study-{options.slug(subject.name)}-{options.slug(texts.name)}")
    result = keywords_study(
        subject, texts, test=scored_on, kind=kind, folds=folds, steps=kept, language=language, twin=twin,
        max_pieces=max_pieces, limit=limit, max_disk=max_disk, seed=seed, out=folder, resume=resume, budget=budget,
        checkpoint_every=checkpoint_every, progress=progress_on(quiet=quiet),
    )  # fmt: skip
    finish(result, folder, show)


def numbers(given: str | None) -> list[int] | None:
    """A list of whole numbers, as it is written on the command line.

    >>> numbers("1,5"), numbers(None)
    ([1, 5], None)
    """
    if given is None:
        return None
    try:
        return [int(part) for part in given.split(",")]
    except ValueError:
        raise PlanError(f"--steps {given!r} is not a list of whole numbers; write for example 1,5,20") from None


def show(result: Any, most: int = 10) -> None:
    """Print the best heads, what was chosen and how good its phrases are, and all predictors of key words."""
    from rich.console import Console

    from attlas.ids import paper_label

    console = Console()
    tables = {name: table.to_pylist() for name, table in result.tables.items()}
    best = sorted(tables["heads"], key=lambda row: -row["choosing_auc"])[:most]
    table = _table("head", "attention", "AUC", "95 %", "untrained", "key words", "others", "saved")
    for row in best:
        table.add_row(
            paper_label(row["layer"], row["head"]), f"{row['measure']}, {row['over']}",
            f"{row['auc']:.3f}", f"{row['auc_low']:.3f}-{row['auc_high']:.3f}",
            "" if row["twin_auc"] is None else f"{row['twin_auc']:.3f}", f"{row['key']:.4f}",
            f"{row['other']:.4f}" + ("*" if row["p_holm"] < 0.01 else ""), f"{row['saved']:+.3f}",
        )  # fmt: skip
    console.print(table)
    console.print("best heads where they are chosen, with figures of the part that is scored;", highlight=False)
    console.print(
        "saved: nats against even attention; * key words and others differ, p < .01 (Holm)", highlight=False
    )
    chosen = ", ".join(paper_label(row["layer"], row["head"]) for row in tables["choice"])
    first = tables["choice"][0]
    console.print(f"chosen: {chosen} by {first['measure']}, {first['over']}", highlight=False)
    table = _table("phrases of", "F1@5", "F1@10", "95 %")
    scored = [row for row in tables["phrases"] if row["part"] == "scored on" and row["gold"] == "all"]
    for five, ten in zip(*([row for row in scored if row["at"] == at] for at in ("5", "10")), strict=True):
        name = f"{ten['selection']}, {ten['measure']}, {ten['over']}" + (" (chosen)" if ten["chosen"] else "")
        table.add_row(name, f"{five['f1']:.3f}", f"{ten['f1']:.3f}", f"{ten['low']:.3f}-{ten['high']:.3f}")
    console.print(table)
    table = _table("key words told by", "F1", "95 %", "AUC")
    for row in tables["predictors"]:
        table.add_row(
            row["predictor"], f"{row['f1']:.3f}", f"{row['low']:.3f}-{row['high']:.3f}", f"{row['auc']:.3f}"
        )
    console.print(table)


def _table(first: str, *columns: str) -> Any:
    from rich.table import Table

    made = Table(box=None, header_style="bold")
    made.add_column(first, no_wrap=True)
    for column in columns:
        made.add_column(column, justify="right", no_wrap=True)
    return made
