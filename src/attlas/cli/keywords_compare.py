"""attlas keywords compare: key phrases from attention beside those of other methods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import options
from attlas.cli.finishing_old import finish


def command(
    corpus: Annotated[
        str,
        typer.Argument(help='Texts with their key phrases (JSON lines; .gz too), or "sample".', show_default=False),
    ],
    model: options.Model = None,
    study: Annotated[
        Path | None,
        typer.Option("--study", help="A folder of attlas keywords study, made of other texts: the heads it chose."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            help="Names, such as tf-idf,yake: attention, attention weights, embedding, keybert, yake, tf-idf, "
            "textrank, first, random; all that are installed if left out.",
        ),
    ] = None,
    language: Annotated[
        str, typer.Option("--language", help="Whose endings are taken off when phrases are compared; or none.")
    ] = "english",
    max_pieces: options.MaxPieces = None,
    limit: options.Limit = None,
    budget: options.FittingBudget = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    out: options.Out = None,
    seed: options.Seed = 0,
    resume: options.Resume = False,
    quiet: options.Quiet = False,
    remote_code: options.RemoteCode = False,
    allow_pickle: options.AllowPickle = False,
) -> None:
    """Compare key phrases from attention with those of TF-IDF, TextRank, YAKE, KeyBERT and others.

    None of them is trained; those that need a model have the same one. YAKE and KeyBERT are packages of their own:
    pip install 'attlas[keywords]'. Writes a folder with tables (Parquet), a manifest and a report page.
    """
    from attlas.corpora import read
    from attlas.run import progress_on
    from attlas.studies.keywords_compare.call import keywords_compare
    from attlas.text.stems import stemmer

    stemmer(language)  # before anything is opened
    texts = read(corpus)
    names = None if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
    subject = options.opened(model, device, dtype, remote_code, allow_pickle)
    folder = out or Path(f"keywords-compare-{options.slug(subject.name)}-{options.slug(texts.name)}")
    result = keywords_compare(
        subject, texts, study=study, methods=names, language=language, max_pieces=max_pieces, limit=limit, seed=seed,
        out=folder, resume=resume, budget=budget, progress=progress_on(quiet=quiet),
    )  # fmt: skip
    finish(result, folder, show)


def show(result: Any) -> None:
    """Print F1 of the first 5 and 10 phrases of every method, the best first."""
    from rich.console import Console
    from rich.table import Table

    rows = result.tables["methods"].to_pylist()
    at = {depth: [row for row in rows if row["at"] == depth and row["gold"] == "all"] for depth in ("5", "10")}
    table = Table(box=None, header_style="bold")
    table.add_column("method", overflow="fold")
    for column in ("F1@5", "95 %", "F1@10", "95 %", "change", "p", "s"):
        table.add_column(column, justify="right", no_wrap=True)
    for five, ten in sorted(zip(at["5"], at["10"], strict=True), key=lambda pair: -pair[1]["f1"]):
        name = f"{ten['method']}, {ten['form']}" if ten["form"] else ten["method"]
        scores = [cell for row in (five, ten) for cell in (f"{row['f1']:.3f}", f"{row['low']:.3f}-{row['high']:.3f}")]
        table.add_row(name, *scores, _change(ten["change"]), _p(ten["p_holm"]), f"{ten['seconds']:.1f}")
    console = Console()
    console.print(table)
    console.print(
        "F1 over all given phrases, counted over all texts; change and p (Holm) of F1@10 against the first form of "
        "attention",
        highlight=False,
    )


def _change(value: float | None) -> str:
    return "" if value is None else f"{value:+.3f}"


def _p(value: float | None) -> str:
    return "" if value is None else "<.001" if value < 0.001 else f"{value:.3f}"
