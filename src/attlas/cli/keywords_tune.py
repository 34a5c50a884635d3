"""attlas keywords tune: a model trained to tag key phrases, which of its heads it needs, and a smaller one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing_old import finish

SHOWN = 5


def command(
    train: Annotated[
        str, typer.Argument(help='Texts with key phrases to learn from (JSON lines; .gz too), or "sample".')
    ],
    dev: Annotated[
        str | None,
        typer.Option("--dev", help="Texts to stop by and to put heads in order on; else a tenth of the others is."),
    ] = None,
    test: Annotated[
        str | None, typer.Option("--test", help="Texts to score on; else a tenth of the others is.")
    ] = None,
    model: options.Model = None,
    keep: Annotated[
        float | None,
        typer.Option(
            "--keep", help="The share of heads to keep; else those go that cost less than a standard error."
        ),
    ] = None,
    retune: Annotated[bool, typer.Option("--retune", help="Train the smaller tagger again.")] = False,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Passes over the texts, at most.")] = 10,
    rate: Annotated[float, typer.Option("--rate", help="The highest rate of learning.")] = 1e-4,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, help="Texts in a step.")] = 16,
    patience: Annotated[
        int, typer.Option("--patience", min=1, help="Stop after so many passes without a better score.")
    ] = 3,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Steps of a curve of removal.")] = 10,
    format: options.Format = None,
    max_pieces: options.MaxPieces = None,
    limit: options.Limit = None,
    budget: options.Budget = 2048,
    device: options.Device = None,
    dtype: Annotated[
        str | None,
        typer.Option("--dtype", help="float32, or bfloat16 on a GPU that knows it (the default there)."),
    ] = None,
    out: options.Out = None,
    seed: options.Seed = 0,
    resume: options.Resume = False,
    checkpoint_every: options.CheckpointEvery = 60.0,
    quiet: options.Quiet = False,
    remote_code: options.RemoteCode = False,
    allow_pickle: options.AllowPickle = False,
) -> None:
    """Train a model to tag key phrases, cut its heads one by one and in order, and score a smaller tagger too.

    Minutes on a GPU, hours on a processor. Writes a folder with tables (Parquet), a manifest and a report page, and
    in folders inside it the taggers, the ablation and the curves of removal.
    """
    from attlas.corpora import read
    from attlas.reports import write_report
    from attlas.run import progress_on
    from attlas.studies.keywords_tune.call import keywords_tune

    texts = read(train, format)
    others = {name: None if path is None else read(path, format) for name, path in (("dev", dev), ("test", test))}
    folder = out or Path(f"keywords-tune-{options.slug(model or 'minilm')}-{options.slug(texts.name)}")
    result = keywords_tune(
        model, texts, **others, keep=keep, retune=retune, epochs=epochs, rate=rate, batch_size=batch_size,
        patience=patience, steps=steps, max_pieces=max_pieces, limit=limit, seed=seed, dtype=dtype, out=folder,
        resume=resume, budget=budget, checkpoint_every=checkpoint_every, progress=progress_on(quiet=quiet),
        device=options.device_or_default(device), remote_code=remote_code, allow_pickle=allow_pickle,
    )  # fmt: skip
    for part in ("ablation", "removal"):
        write_report(folder / part)
    taggers = [f"model: {folder / part}" for part in ("model", "pruned", "retuned") if (folder / part).is_dir()]
    finish(result, folder, show, *taggers)


def show(result: Any) -> None:
    """Print the scores of each tagger, and the heads that it needs most."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    rows = result.rows("scores")
    sizes = {row["stage"]: row for row in result.rows("whole")}
    table = Table("F1", "heads", "words", "spans", "@5", "@10", "@M", "published", box=None, header_style="bold")
    for stage, size in sizes.items():
        own = {(row["unit"], row["at"]): row for row in rows if row["stage"] == stage and row["gold"] != "present"}
        places = [("words", ""), ("spans", ""), *(("phrases", at) for at in ("5", "10", "M"))]
        published = own["phrases", "M"]["published"]
        cells = [f"{own[place]['f1']:.3f}" for place in places]
        table.add_row(stage, str(size["heads"]), *cells, "" if published is None else f"{published:.2f}")
    console.print(table)
    _show_heads(result, console)


def _show_heads(result: Any, console: Any) -> None:
    from attlas.ids import paper_label

    heads = sorted(result.rows("ablation"), key=lambda row: row["rank"])[:SHOWN]
    named = ", ".join(f"{paper_label(row['layer'], row['head'])} ({row['change']:+.4f})" for row in heads)
    console.print(f"missed most, by the change of F1 without it on the dev texts: {named}", highlight=False)
