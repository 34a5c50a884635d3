"""attlas align: which words of a bitext translate each other, read off a model's attention."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing_old import finish

NAMES = ("eflomal", "fast_align", "diagonal")


def command(
    bitext: Annotated[
        str, typer.Argument(help="Pairs of sentences, 'source words ||| target words' on each line (.gz too).")
    ],
    model: options.Model = None,
    gold: Annotated[
        Path | None, typer.Option("--gold", help="Gold links: 3-4 sure, 3p4 possible; or NAACL 2003's notation.")
    ] = None,
    one_indexed: Annotated[bool, typer.Option("--one-indexed", help="The gold counts words from 1.")] = False,
    back: Annotated[
        str | None,
        typer.Option(
            "--back", help="The model of the other direction, whose links are put together with the first's."
        ),
    ] = None,
    stream: Annotated[
        str | None,
        typer.Option("--stream", help="cross, or encoder (that reads both sentences); what the model has."),
    ] = None,
    pharaoh: Annotated[
        Path | None, typer.Option("--pharaoh", help="A file for the links, one line per pair.")
    ] = None,
    measure: Annotated[str, typer.Option("--measure", help="Links to hand out: by weight, or by norm.")] = "norm",
    setting: Annotated[str | None, typer.Option("--setting", help="... with output or with input (default).")] = None,
    layer: Annotated[
        int | None,
        typer.Option("--layer", min=1, help="... of this layer; by default that of the largest mean norm."),
    ] = None,
    head: Annotated[str | None, typer.Option("--head", help="... of this head, such as 3-7.")] = None,
    direction: Annotated[
        str | None,
        typer.Option("--direction", help="... forward, backward, intersection, grow-diag-final-and."),
    ] = None,
    compete: Annotated[
        bool,
        typer.Option(
            "--compete/--no-compete",
            help="Whether the end of the sentence, [CLS] and [SEP] can be picked, which gives no link.",
        ),
    ] = True,
    aligners: Annotated[
        str, typer.Option("--aligners", help="Baselines: some of eflomal,fast_align,diagonal; or none.")
    ] = ",".join(NAMES),
    more: Annotated[
        list[str] | None,
        typer.Option(
            "--more", help="A further bitext for the baselines to learn from, shown apart; may be repeated."
        ),
    ] = None,
    format: options.Format = None,
    target: options.Target = None,
    max_pieces: options.MaxPieces = None,
    limit: options.Limit = None,
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
    """Align the words of a bitext by attention: every layer and head, by weight and by norm, beside word aligners.

    With gold links it says how good each is (AER, precision, recall, F1). Writes a folder with tables (Parquet), a
    manifest and a report page.
    """
    from attlas.corpora import read
    from attlas.corpora.bitexts import joined
    from attlas.run import progress_on
    from attlas.run.align import align
    from attlas.run.baselines import check_names

    named = [] if aligners in ("", "none") else [name.strip() for name in aligners.split(",")]
    check_names(named)
    texts = read(bitext, format, target=target, gold=gold, one_indexed=one_indexed)
    further = joined([read(file) for file in more]) if more else None
    subject = options.opened(model, device, dtype, remote_code, allow_pickle)
    other = None if back is None else options.opened(back, device, dtype, remote_code, allow_pickle)
    folder = out or Path(f"align-{options.slug(subject.name)}-{options.slug(texts.name)}")
    result = align(
        subject, texts, back=other, stream=stream, measure=measure, setting=setting,
        layer=None if layer is None else layer - 1, head=head, direction=direction, compete=compete, aligners=named,
        more=further, pharaoh=pharaoh, max_pieces=max_pieces, limit=limit, seed=seed, out=folder, resume=resume,
        budget=budget, checkpoint_every=checkpoint_every, progress=progress_on(quiet=quiet),
    )  # fmt: skip
    handed = result.tables["links"].column("method")[0].as_py()
    finish(result, folder, show, *([] if pharaoh is None else [f"links: {pharaoh} ({handed})"]))


def show(result: Any) -> None:
    """Print the error rates of layers (without gold: the share of words with a link), those of aligners, and the
    layer that mean norms choose."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    rows = [row for row in result.tables["scores"].to_pylist() if row["score"] in ("AER", "linked")]
    what = "AER" if rows[0]["score"] == "AER" else "words with a link"
    layers = [row for row in rows if row["aligner"] == "attention" and row["head"] is None]
    for direction in dict.fromkeys(row["direction"] for row in layers):
        own = [row for row in layers if row["direction"] == direction]
        columns = list(dict.fromkeys((row["measure"], row["setting"]) for row in own))
        heading = [", ".join(filter(None, column)) for column in columns]
        table = Table(f"{what}, {direction}", *heading, box=None, header_style="bold")
        cells = {(row["layer"], row["measure"], row["setting"]): row for row in own}
        for layer in sorted({row["layer"] for row in own}):
            found = [cells[layer, column[0], column[1]] for column in columns]
            table.add_row(f"layer {layer + 1}", *(_percent(row["value"]) for row in found))
        twins = [[row["twin"] for row in own if (row["measure"], row["setting"]) == column] for column in columns]
        first = min if what == "AER" else max
        table.add_row("untrained, best", *(_percent(first(values)) for values in twins))
        console.print(table)
    best = {"": "forward"}
    for row in rows:
        if row["aligner"] != "attention" and row["direction"] == best.get(row["trained_on"], "grow-diag-final-and"):
            taught = f", trained on {row['trained_on']}" if row["trained_on"] else ""
            console.print(
                f"{row['aligner']}, {row['direction']}{taught}: {_percent(row['value'])}",
                highlight=False,
                soft_wrap=True,
            )
    for row in result.tables["choices"].to_pylist():
        if row["unit"] == "layer" and row["measure"] == "norm" and row["setting"] in ("input", "to source"):
            value = "" if row["value"] is None else f": {what} {_percent(row['value'])}"
            place = "no one layer" if row["layer"] is None else f"layer {row['layer'] + 1}"
            if not row["how"].startswith("chosen on half"):
                console.print(
                    f"norm, {row['setting']}, {row['direction']}, {row['how']}: {place}{value}", highlight=False
                )


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"
