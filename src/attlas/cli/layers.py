"""attlas layers: edge probing, one command for each task, and what is done with finished runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import layers_case, layers_convert, layers_together, options
from attlas.cli.finishing_old import finish

TASKS = {
    "pos": "Part of speech of a word.",
    "constituents": "The kind of phrase that a span is.",
    "dependencies": "The relation between a word and its governor.",
    "entities": "The kind of entity that a span names.",
    "roles": "The role that a span has for a predicate.",
    "coreference": "Whether two spans mention the same thing.",
    "proto-roles": "Properties of what takes part in an event.",
    "relations": "The relation between two nominals.",
    "spans": "Labels of your own, in a spans file.",
}

app = typer.Typer(
    help="What layers know: edge probing with scalar mixing and cumulative scoring.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def command_for(task: str, about: str) -> Callable[..., None]:
    """The command that probes for one task.

    >>> command_for("pos", "Part of speech of a word.").__doc__.splitlines()[0]
    'Part of speech of a word.'
    """

    def command(
        data: Annotated[
            str,
            typer.Argument(
                help="The training part, or a folder or zip archive of all parts: spans files (JSON lines), or "
                "what is converted by itself: CoNLL-U, CoNLL-2012, B/I/O columns, PropBank or UDS JSON lines, "
                "SemEval-2010 Task 8; .gz and .xz too.",
                show_default=False,
            ),
        ],
        dev: Annotated[
            str | None, typer.Option("--dev", help="The part that epochs are chosen by; else some of DATA.")
        ] = None,
        test: Annotated[
            str | None, typer.Option("--test", help="The part that is scored on; else some of DATA.")
        ] = None,
        splits: Annotated[
            Path | None, typer.Option("--splits", help="Lines of PART, tab, DOCUMENT that divide DATA.")
        ] = None,
        model: options.Model = None,
        over: Annotated[
            str, typer.Option("--over", help="What is mixed: layers (their states), or heads (their outputs).")
        ] = "layers",
        lengths: Annotated[
            str | None,
            typer.Option(
                "--lengths", help="What states are divided by: usual (of their layer) or own; own in pre-norm models."
            ),
        ] = None,
        singles: Annotated[
            bool, typer.Option("--singles/--no-singles", help="Also probes of one layer each.")
        ] = True,
        control: Annotated[
            bool, typer.Option("--control/--no-control", help="Also probes on control labels, for selectivity.")
        ] = True,
        twin: Annotated[bool, typer.Option("--twin/--no-twin", help="Also the untrained twin.")] = True,
        seeds: Annotated[int, typer.Option("--seeds", min=1, help="So many series, with --seed and the next.")] = 1,
        epochs: Annotated[
            int | None,
            typer.Option("--epochs", min=1, help="Passes over the training part; else 5 to 30, for 1500 steps."),
        ] = None,
        rate: Annotated[float, typer.Option("--rate", help="The highest rate of learning.")] = 1e-3,
        mixing_rate: Annotated[
            float, typer.Option("--mixing-rate", help="The same for the weights of the mix.")
        ] = 2e-2,
        step_pieces: Annotated[
            int, typer.Option("--step-pieces", min=1, help="Pieces in one step of training, padding included.")
        ] = 128,
        max_pieces: options.MaxPieces = None,
        limit: options.Limit = None,
        max_disk: Annotated[
            float, typer.Option("--max-disk", min=0, help="Most GB that states may take on disk at a time.")
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
        from attlas.run import progress_on
        from attlas.run.layers import edge_parts, layers

        parts = edge_parts(task, data, dev=dev, test=test, splits=splits, seed=seed)
        subject = options.opened(model, device, dtype, remote_code, allow_pickle)
        folder = out or Path(f"layers-{task}-{options.slug(subject.name)}-{options.slug(parts['train'].name)}")
        result = layers(
            task, parts, subject, over=over, lengths=lengths, singles=singles, control=control, twin=twin,
            seeds=seeds, epochs=epochs, rate=rate, mixing_rate=mixing_rate, step_pieces=step_pieces,
            max_pieces=max_pieces, limit=limit, max_disk=max_disk, seed=seed, out=folder, resume=resume,
            budget=budget, checkpoint_every=checkpoint_every, progress=progress_on(quiet=quiet),
        )  # fmt: skip
        finish(result, folder, show)

    command.__doc__ = (
        f"{about}\n\nTrains probes on the states of every layer, cumulative and single, beside control labels and "
        "the untrained twin. Writes a folder with tables (Parquet), a manifest, the probes and a report page."
    )
    return command


for _task, _about in TASKS.items():
    app.command(_task)(command_for(_task, _about))
app.command("case")(layers_case.command)
app.command("together")(layers_together.command)
app.command("convert")(layers_convert.command)


def show(result: Any) -> None:
    """Print what was found for each task."""
    from rich.console import Console
    from rich.table import Table

    found: dict[tuple[str, str, str, str], dict[str, Any]] = {
        (row["task"], row["model"], row["labels"], row["measure"]): row for row in result.table.to_pylist()
    }

    def said(task: str, model: str, measure: str, times: float = 100.0, *, span: bool = False) -> str:
        row = found.get((task, model, "gold", measure))
        if row is None or row["value"] is None:
            return ""
        between = (
            f" ({times * row['low']:.1f}\u2013{times * row['high']:.1f})" if span and row["low"] is not None else ""
        )
        return f"{times * row['value']:.1f}{between}"

    table = Table(
        "task", "layer 0", "all layers", "selective", "untrained", "expected layer", "centre", box=None,
        header_style="bold",
    )  # fmt: skip
    for task in dict.fromkeys(key[0] for key in found):
        table.add_row(
            task, said(task, "trained", "score at layer 0"), said(task, "trained", "score", span=True),
            said(task, "trained", "selectivity"), said(task, "untrained", "score"),
            said(task, "trained", "expected layer", 1.0, span=True), said(task, "trained", "centre of gravity", 1.0),
        )  # fmt: skip
    Console().print(table)
