"""attlas faith: does attention explain? One command for any classifier or tagger, and further ones by name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import faith_chunking, faith_freeze, options
from attlas.cli.finishing_old import finish
from attlas.cli.groups import plain_group

PLAIN = "model"


app = typer.Typer(
    cls=plain_group(PLAIN),
    help="Does attention explain what a model predicts?\n\nFor any classifier or tagger: attlas faith MODEL TASK "
    f"DATA. Its options: attlas faith {PLAIN} --help.",
    no_args_is_help=True,
    rich_markup_mode=None,
    subcommand_metavar="MODEL TASK DATA [OPTIONS] | COMMAND [ARGS]...",
)


@app.command(PLAIN, short_help=f"Any classifier or tagger; the word {PLAIN!r} may be left out.")
def command(
    model: Annotated[
        str,
        typer.Argument(
            help="A model with a head for the task: a folder (attlas tune makes one), or a name.", show_default=False
        ),
    ],
    task: Annotated[
        str, typer.Argument(help="classification (of texts, or pairs), tagging:upos, :xpos, :chunks or :keyphrases.")
    ],
    data: options.TaskCorpus,
    layers: Annotated[
        str,
        typer.Option("--layers", "--layer", help="The attention meant: last, all, or a layer by its number from 0."),
    ] = "last",
    head: Annotated[
        int | None, typer.Option("--head", min=0, help="A head by its number from 0; else the mean of all.")
    ] = None,
    bound: Annotated[
        float,
        typer.Option("--bound", help="How far an adversary may move the output (total variation distance)."),
    ] = 0.01,
    adversary_steps: Annotated[
        int, typer.Option("--adversary-steps", min=1, help="Steps of the search for each adversary.")
    ] = 60,
    permutations: Annotated[
        int, typer.Option("--permutations", min=0, help="How often the last layer's attention is shuffled.")
    ] = 100,
    frozen: Annotated[
        list[Path] | None,
        typer.Option("--frozen", help="Attention from another run (attlas faith freeze); may be given again."),
    ] = None,
    other: Annotated[
        list[str] | None,
        typer.Option("--other", help="Another model of the task, with the same tokenizer; may be given again."),
    ] = None,
    evened: Annotated[
        str | None,
        typer.Option("--evened", help="A model that was trained with uniform attention; it is run with it, too."),
    ] = None,
    erase: Annotated[str, typer.Option("--erase", help="How words are erased: delete, or mask.")] = "delete",
    steps: Annotated[int, typer.Option("--steps", min=1, help="Steps of integrated gradients.")] = 20,
    score: Annotated[
        str | None, typer.Option("--score", help="accuracy or matthews, where whole texts are classified.")
    ] = None,
    per_text: Annotated[int, typer.Option("--per-text", min=1, help="Words of a text whose tags are explained.")] = 1,
    format: options.Format = None,
    unit: options.Unit = None,
    label: options.Label = None,
    max_pieces: options.MaxPieces = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="So many instances (texts, or words), drawn by the seed.")
    ] = 500,
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
    """Hold attention against other explanations of what a model predicts, and change it to see what becomes of that.

    Kendall's tau with gradients, integrated gradients and leave-one-out; erasing the most attended words; uniform,
    shuffled, adversarial and frozen attention; and a card that sums it up. Writes a folder with tables (Parquet), a
    manifest and a report page.
    """
    from attlas.corpora import read
    from attlas.run import progress_on
    from attlas.run.faith import faith, require_explainable
    from attlas.run.tasks import open_for_task

    require_explainable(task)
    texts = read(data, format, unit=unit, label=label)
    opening = {
        "device": options.device_or_default(device), "dtype": dtype, "remote_code": remote_code,
        "allow_pickle": allow_pickle,
    }  # fmt: skip
    subject = open_for_task(model, task, texts, **opening)
    folder = out or Path(f"faith-{options.slug(subject.name)}-{options.slug(texts.name)}")
    others = [open_for_task(one, task, texts, **opening) for one in other or ()]
    even = None if evened is None else open_for_task(evened, task, texts, **opening)
    result = faith(
        subject, texts, task, layers=layers, head=head, bound=bound, adversary_steps=adversary_steps,
        permutations=permutations, frozen=frozen or (), others=others, evened=even, erase=erase, steps=steps,
        score=score, per_text=per_text, max_pieces=max_pieces, limit=limit, seed=seed, out=folder, resume=resume,
        budget=budget, checkpoint_every=checkpoint_every, progress=progress_on(quiet=quiet),
    )  # fmt: skip
    finish(result, folder, show)


app.command("chunking")(faith_chunking.command)
app.command("freeze")(faith_freeze.command)


def show(result: Any) -> None:
    """Print the card, and explanations beside each other."""
    from rich.console import Console

    console = Console()
    whole = result.tables["whole"].to_pylist()[0]
    console.print(
        f"{whole['task']}: {whole['metric']} {whole['score']:.3g} on {whole['texts']:,} texts, {whole['n']:,} "
        f"instances; {whole['attention']}",
        highlight=False,
    )
    *figures, paragraph = result.tables["card"].to_pylist()
    for row in figures:
        value = f"{_number(row['value']):>6} ({_between(row, 'low', 'high')})"
        console.print(f"{row['verdict']:>13}: {row['name']} {value}", highlight=False)
    console.print(paragraph["says"], highlight=False)
    erased = {_named(row): row for row in result.tables["erasure"].to_pylist()}
    taus: dict[str, dict[str, Any]] = {name: {} for name in erased}
    for row in result.table.to_pylist():
        taus[_named(row)][row["against"]] = row["tau"]
    table = _table("explanation", "τ gradient", "integrated", "left out", "erased", "over random")
    for name, row in erased.items():
        cells = [taus[name].get(reference) for reference in ("gradient", "integrated gradients", "leave-one-out")]
        table.add_row(name, *(_number(cell) for cell in (*cells, row["comprehensiveness"], row["over_random"])))
    console.print(table)
    changed = _table("attention", whole["metric"], "change", "95 %", "TVD", "JSD", "other label")
    for row in result.tables["interventions"].to_pylist():
        name = " ".join(part for part in (row["intervention"], row["name"]) if part) + _layers(row["layers"])
        scores = (_number(row["score"]), _signed(row["change"]), _between(row, "change_low", "change_high"))
        changed.add_row(name, *scores, _number(row["tvd"]), _number(row["jsd"]), f"{row['flipped']:.1%}")
    console.print(changed)


def _table(first: str, *columns: str) -> Any:
    from rich.table import Table

    made = Table(box=None, header_style="bold")
    made.add_column(first, overflow="fold")
    for column in columns:
        made.add_column(column, justify="right", no_wrap=True)
    return made


def _layers(layers: str) -> str:
    return f", layer {int(layers) + 1}" if layers.isdecimal() else f", {layers}" if layers else ""


def _named(row: dict[str, Any]) -> str:
    return (
        str(row["explanation"])
        + _layers(row["layers"])
        + ("" if row["heads"] in ("", "mean") else f", head {int(row['heads']) + 1}")
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.3f}"


def _between(row: dict[str, Any], low: str, high: str) -> str:
    return "" if row[low] is None else f"{row[low]:.3f} to {row[high]:.3f}"
