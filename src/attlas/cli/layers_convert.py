"""attlas layers convert: write the labelled spans of a task as a spans file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attlas.cli import options
from attlas.cli.finishing_old import count


def command(
    task: Annotated[
        str,
        typer.Argument(
            help="pos, constituents, dependencies, entities, roles, coreference, proto-roles, relations, or spans.",
            show_default=False,
        ),
    ],
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A file that has what the task needs (CoNLL-U, CoNLL-2000 and its like, CoNLL-2012, OntoGUM, "
            "PropBank or proto-roles as JSON lines, SemEval-2010 Task 8; .gz and .xz too), a folder or .zip of them, "
            'or "sample".',
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT.jsonl[.gz]", help="The file to write.", show_default=False)],
    part: Annotated[
        str | None, typer.Option("--part", help="train, dev or test, where a folder or .zip has them; else all.")
    ] = None,
    splits: Annotated[
        Path | None,
        typer.Option("--splits", help="Which document is in which part: part, tab, document, line by line."),
    ] = None,
    format: options.Format = None,
    seed: options.Seed = 0,
) -> None:
    """Write the labelled spans of a task as JSON lines, which every command of layers reads."""
    from attlas.corpora import read_edges, write_spans
    from attlas.errors import CorpusError

    if out.exists():
        raise CorpusError("this is there already; delete it or choose another name", file=out)
    if not out.parent.is_dir():
        raise CorpusError(f"there is no folder {out.parent}; make it first", file=out)
    if splits is not None and part is None:
        raise CorpusError("--splits divides the corpus; say with --part which part is wanted", file=splits)
    corpus = read_edges(task, source, format=format, seed=seed, part=part, splits=splits)
    write_spans(out, corpus.documents, corpus.articles)
    edges = [edge for document in corpus.documents for edge in document.edges or ()]
    labels = {label for edge in edges for label in edge.among or edge.labels}
    what = "pair of spans" if edges[0].second is not None else "span"
    pairs = count(len(edges), what) if what == "span" or len(edges) == 1 else f"{len(edges):,} pairs of spans"
    typer.echo(f"{corpus.name}: {count(len(corpus.documents), 'text')}, {pairs}, {count(len(labels), 'label')}")
    for why in corpus.left_out:
        typer.echo(f"note: left out: {why}")
    typer.echo(f"spans: {out}")
