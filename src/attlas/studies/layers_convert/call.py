"""Write the labelled spans of a task as a spans file, which every study of layers reads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

from attlas.corpora import Corpus, read_edges, write_spans
from attlas.errors import CorpusError
from attlas.run.given import NAMED
from attlas.run.parameters import UNREAD, Help, Role, study_call
from attlas.run.session import slug


class Converted(NamedTuple):
    """The texts with their spans, and the file that they were written to.

    >>> Converted._fields
    ('corpus', 'file')
    """

    corpus: Corpus
    file: Path

    def as_json(self) -> dict[str, Any]:
        """How much was written, what was left out, and where the file lies."""
        texts = self.corpus
        edges = [edge for document in texts.documents for edge in document.edges or ()]
        labels = {label for edge in edges for label in edge.among or edge.labels}
        return {
            "corpus": texts.name, "texts": len(texts.documents), "spans": len(edges), "labels": len(labels),
            "left_out": list(texts.left_out), "file": str(self.file),
        }  # fmt: skip


@study_call()
def layers_convert(
    corpus: Annotated[
        Path | str,
        Role("corpus", UNREAD, ()),
        Help(
            "A file that has what the task needs (CoNLL-U, CoNLL-2000 and its like, CoNLL-2012, OntoGUM, PropBank or "
            "proto-roles as JSON lines, SemEval-2010 Task 8; .gz and .xz too), a folder or .zip of them, or "
            '"sample".',
            argument=True,
        ),
    ],
    task: Annotated[
        str,
        Help("pos, constituents, dependencies, entities, roles, coreference, proto-roles, relations, or spans."),
    ] = "spans",
    *,
    part: Annotated[
        str | None, Help("train, dev or test, where a folder or .zip has them; else all.")
    ] = None,
    splits: Annotated[
        Path | str | None,
        Help("Which document is in which part: part, tab, document, line by line.", kind=Path | None),
    ] = None,
    format: Annotated[str | None, Help("The file's format, where it cannot be told.")] = None,
    seed: Annotated[int, Help("Decides every draw.")] = 0,
    out: Annotated[
        Path | str | None,
        Help("The file to write, .jsonl or .jsonl.gz; named by itself if left out.", short="-o", kind=Path | None),
    ] = None,
) -> Converted:  # fmt: skip
    """Write the labelled spans of a task as JSON lines, which attlas layers reads.

    >>> layers_convert("sample", "pos", splits="parts.tsv")
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: parts.tsv: --splits divides the corpus; say with --part which part is wanted
    """
    file = Path(f"{slug(Path(corpus).stem)}-{task}.jsonl" if out in (None, NAMED) else out)
    if file.exists():
        raise CorpusError("this is there already; delete it or choose another name", file=file)
    if not file.parent.is_dir():
        raise CorpusError(f"there is no folder {file.parent}; make it first", file=file)
    if splits is not None and part is None:
        raise CorpusError("--splits divides the corpus; say with --part which part is wanted", file=splits)
    texts = read_edges(task, corpus, format=format, seed=seed, part=part, splits=splits)
    write_spans(file, texts.documents, texts.articles)
    return Converted(texts, file)


def tell(converted: Converted) -> None:
    """Print what was written.

    >>> from attlas.text import Document, Edge, Span
    >>> text = Document.from_words(["Lima"], edges=(Edge(Span(0, 1), None, ("place",)),))
    >>> tell(Converted(Corpus((text,), "spans", "a.jsonl", "", (0,)), Path("b.jsonl")))
    a.jsonl: 1 text, 1 span, 1 label
    spans: b.jsonl
    """
    from attlas.pages.prose import count_of

    told = converted.as_json()
    paired = any(edge.second is not None for document in converted.corpus.documents for edge in document.edges or ())
    what = ("pair of spans", "pairs of spans") if paired else ("span", "spans")
    sizes = (count_of(told["texts"], "text"), count_of(told["spans"], *what), count_of(told["labels"], "label"))
    print(f"{told['corpus']}: {', '.join(sizes)}")
    for why in told["left_out"]:
        print(f"note: left out: {why}")
    print(f"spans: {converted.file}")
