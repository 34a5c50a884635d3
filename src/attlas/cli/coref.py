"""attlas coref: which heads find the antecedents of mentions."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing_old import finish


def command(
    corpus: Annotated[
        str,
        typer.Argument(
            help="A corpus with coreference: CoNLL-2012, OntoGUM, CoNLL-U with Entity=; a file, a folder of such "
            'files, or "sample".'
        ),
    ],
    model: options.Model = None,
    select: options.Select = None,
    measure: options.Measure = "weight",
    max_pieces: options.MaxPieces = None,
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
    """Ask of every head whether a mention attends most to an antecedent, beside simple rules and an untrained twin.

    Writes a folder with tables (Parquet), a manifest and a report page.
    """
    from attlas.run import progress_on
    from attlas.run.coref import coref, whole_documents

    texts = whole_documents(corpus)
    chosen_on = None if select is None else whole_documents(select)
    subject = options.opened(model, device, dtype, remote_code, allow_pickle)
    folder = out or Path(f"coref-{options.slug(subject.name)}-{options.slug(texts.name)}")
    result = coref(
        subject, texts, select=chosen_on, measure=measure, max_pieces=max_pieces, seed=seed, out=folder,
        resume=resume, budget=budget, checkpoint_every=checkpoint_every, progress=progress_on(quiet=quiet),
    )  # fmt: skip
    finish(result, folder, show)


def show(result: Any) -> None:
    """Print the share that is right, by kind of mention: the best head, its rivals, and the untrained twin."""
    from rich.console import Console
    from rich.table import Column, Table

    from attlas.ids import paper_label
    from attlas.reports.coref_charts import SETS, WHO

    console = Console()
    rows = result.table.to_pylist()
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    table = Table("among", Column("per cent right", no_wrap=True), *kinds, box=None, header_style="bold")
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        head = f" ({paper_label(row['layer'], row['head'])})" if row["layer"] is not None else ""
        cells.setdefault((row["candidates"], row["who"]), {})[row["kind"]] = f"{100 * row['value']:.1f}{head}"
    for candidates, who in product(SETS, WHO):
        if (candidates, who) in cells:
            found = cells[candidates, who]
            table.add_row(candidates, who, *(found.get(kind, "") for kind in kinds))
    console.print(table, highlight=False)
