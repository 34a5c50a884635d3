"""attlas keywords: the key phrases of a text from attention alone, and further commands by name."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from attlas.cli import keywords_compare, keywords_study, keywords_tune, options
from attlas.cli.finishing_old import count
from attlas.cli.groups import plain_group

PLAIN = "text"

app = typer.Typer(
    cls=plain_group(PLAIN),
    help="Key phrases from attention.\n\nOf a text or a file: attlas keywords TEXT|FILE. Its options: attlas "
    f"keywords {PLAIN} --help.",
    no_args_is_help=True,
    rich_markup_mode=None,
    subcommand_metavar="TEXT|FILE [OPTIONS] | COMMAND [ARGS]...",
)


@app.command(PLAIN, short_help=f"The key phrases of a text or a file; the word {PLAIN!r} may be left out.")
def command(
    text: Annotated[
        str,
        typer.Argument(
            help="A text, or a file: plain text (one document), JSON lines with a field 'text', any corpus; "
            "- reads from standard input.",
            show_default=False,
        ),
    ],
    model: options.Model = None,
    top: Annotated[int, typer.Option("--top", "-n", help="So many phrases of each document.")] = 10,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print lines of JSON, with a weight for every word, and write no folder."),
    ] = False,
    study: Annotated[
        Path | None, typer.Option("--study", help="A folder of attlas keywords study: the heads that it chose.")
    ] = None,
    heads: Annotated[
        str | None, typer.Option("--heads", help="Heads by their labels, which count from 1: 6-11 or 6-3,6-11.")
    ] = None,
    measure: Annotated[
        str | None, typer.Option("--measure", help="norm (of weight times vector; the default), or weight.")
    ] = None,
    over: Annotated[str, typer.Option("--over", help="mean or max, over the words that attend.")] = "mean",
    bar: Annotated[
        float | None, typer.Option("--bar", help="The share of the average weight that a phrase's words have. [.5]")
    ] = None,
    longest: Annotated[int | None, typer.Option("--longest", help="The most words of a phrase. [5]")] = None,
    language: Annotated[
        str, typer.Option("--language", help="Whose endings are taken off when phrases are compared; or none.")
    ] = "english",
    format: options.Format = None,
    unit: options.Unit = None,
    max_pieces: options.MaxPieces = None,
    budget: options.FittingBudget = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    out: options.Out = None,
    resume: options.Resume = False,
    quiet: options.Quiet = False,
    remote_code: options.RemoteCode = False,
    allow_pickle: options.AllowPickle = False,
) -> None:
    """Find the key phrases of a text from attention alone, with a weight for every word; nothing is trained.

    Writes a folder with tables (Parquet), a manifest and a page that shows the text shaded by weight; or, with
    --json, prints one line of JSON for each document.
    """
    from attlas.errors import PlanError
    from attlas.run import progress_on
    from attlas.run.keywords import as_texts, check_shape, chosen_heads, keywords, line_of
    from attlas.studies.keywords.extraction import extract
    from attlas.studies.keywords.phrases import BAR, LONGEST
    from attlas.text.stems import stemmer

    stemmer(language)  # before anything is opened
    corpus = as_texts([sys.stdin.read()] if text == "-" else text, format=format, unit=unit)
    subject = options.opened(model, device, dtype, remote_code, allow_pickle)
    named = None if heads is None else [label.strip() for label in heads.split(",") if label.strip()]
    if as_json:
        if out is not None or resume:
            raise PlanError("--json prints and writes no folder; leave out --out and --resume, or --json")
        check_shape(top, bar, longest)
        found = extract(
            subject, corpus.documents, chosen_heads(subject, study, named, measure, over), top=top,
            bar=BAR if bar is None else bar, longest=LONGEST if longest is None else longest, language=language,
            max_pieces=max_pieces, budget=budget,
        )  # fmt: skip
        for one in found:
            typer.echo(json.dumps(line_of(one), ensure_ascii=False))
        return
    named_by = " ".join(corpus.documents[0].text.split()[:4]) if corpus.format == "documents" else corpus.name
    folder = out or Path(f"keywords-{options.slug(named_by)}")
    result = keywords(
        corpus, subject, study=study, heads=named, measure=measure, over=over, top=top, bar=bar, longest=longest,
        language=language, max_pieces=max_pieces, out=folder, resume=resume, budget=budget,
        progress=progress_on(quiet=quiet),
    )  # fmt: skip
    _finish(result, folder)


app.command("study")(keywords_study.command)
app.command("tune")(keywords_tune.command)
app.command("compare")(keywords_compare.command)


def _finish(result: Any, folder: Path) -> None:
    """Write the page and print the phrases of the first documents."""
    from attlas.reports import write_report

    page = write_report(folder)
    corpus, plan = result.manifest.corpus, result.manifest.plan["options"]
    size = count(corpus["documents"], "document")
    typer.echo(
        f"{result.manifest.model['name']}, {count(len(plan['heads']), 'head')} ({plan['why']}) on {corpus['name']}: "
        f"{size}, {count(corpus['words'], 'word')}"
    )
    show(result)
    typer.echo(f"tables: {folder}")
    typer.echo(f"report: {page}")


def show(result: Any, most: int = 3) -> None:
    """Print the phrases of the first documents."""
    from rich.console import Console

    console = Console()
    names = [row["name"] for row in result.tables["documents"].to_pylist()]
    phrases = result.tables["phrases"].to_pylist() if "phrases" in result.tables else []
    for at, name in enumerate(names[:most]):
        if len(names) > 1:
            console.print(f"[bold]{name}[/]" if "[" not in name else name, highlight=False)
        rows = [row for row in phrases if row["document"] == at]
        for row in rows:
            places = "" if row["places"] == 1 else f"  ({row['places']} places)"
            console.print(f"{row['score']:8.1f}  {row['phrase']}{places}", highlight=False, markup=False)
        if not rows:
            console.print("    no phrase: none of its words has a letter and weighs enough", highlight=False)
    if len(names) > most:
        console.print(f"... and {count(len(names) - most, 'more document')}: see the report", highlight=False)
