"""Constituents and semantic roles on split sentences, as JSON lines: PropBank joined with the English Web Treebank.

A line has ``tokens`` (the words), ``xpos`` (their parts of speech), ``constituents`` ([label, start, end]) and
``srl`` (``frame``, ``i``, the predicate's word, and ``args``, [role, start, end], for each predicate); words are
counted from 0 and ends are exclusive. Any but ``tokens`` may be missing. The words are joined by single spaces. The
``id`` names the sentence, and what stands before its last hyphen is the article.

One document cannot have the spans of two tasks, so it is said which are wanted. A constituent is a span; what has
several labels (``S`` over ``VP``, each the whole of the other) is one span with all of them. A role is a pair: the
predicate's word, and the argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attlas.corpora.formats import Format
from attlas.corpora.jsonlines import field_names, objects, strings, tokens
from attlas.corpora.source import Readable, Source, open_source
from attlas.errors import CorpusError
from attlas.text import Document, Edge, Span

TASKS = ("constituents", "roles")


def read_propbank(path: Readable, task: str | None = None) -> list[Document]:
    """Read split sentences with parts of speech and, as their edges, the constituents or roles.

    >>> line = '{"tokens": ["He", "ran", "home"], "srl": [{"frame": "run.02", "i": 1, "args": [["ARG0", 0, 1]]}]}'
    >>> document, = read_propbank(Source.of_text(line, name="a.jsonl"), "roles")
    >>> document.edges
    (Edge(first=Span(start=1, stop=2), second=Span(start=0, stop=1), labels=('ARG0',), among=None),)
    """
    return [document for article in read_articles(path, task) for document in article]


def read_articles(path: Readable, task: str | None = None) -> list[list[Document]]:
    """The same, grouped by article; what has no ``id`` is an article of its own."""
    if task is not None and task not in TASKS:
        raise CorpusError(f"the spans of PropBank are {' or '.join(TASKS)}, not {task!r}")
    source = open_source(path)
    articles: dict[str, list[Document]] = {}
    for line, entry in objects(source):
        label = str(entry.get("id") or f"line {line}")
        article, hyphen, _ = label.rpartition("-")
        articles.setdefault(article if hyphen else label, []).append(_document(source, entry, label, task, line))
    if not articles:
        raise source.error("there is no sentence in this file")
    return list(articles.values())


def _document(source: Source, entry: dict[str, object], label: str, task: str | None, line: int) -> Document:
    words = tokens(source, entry.get("tokens"), line)
    xpos = None
    if entry.get("xpos") is not None:
        xpos = strings(entry["xpos"])
        if xpos is None or len(xpos) != len(words):
            raise source.error(f"the field 'xpos' is no list of {len(words)} tags, one for each word", line)
    edges = None
    if task == "constituents" and entry.get("constituents") is not None:
        edges = _merged(_constituents(source, entry["constituents"], len(words), line))
    elif task == "roles" and entry.get("srl") is not None:
        edges = _merged(_roles(source, entry["srl"], len(words), line))
    return Document.from_words(words, name=f"{source.name}, {label}", xpos=xpos, edges=edges)


def _constituents(source: Source, given: object, count: int, line: int) -> Iterable[Edge]:
    if not isinstance(given, list):
        raise source.error("the field 'constituents' is no list", line)
    for item in given:
        label, span = _labelled(source, item, "constituent", count, line)
        yield Edge(span, labels=(label,))


def _roles(source: Source, given: object, count: int, line: int) -> Iterable[Edge]:
    if not isinstance(given, list):
        raise source.error("the field 'srl' is no list", line)
    for item in given:
        at = item.get("i") if isinstance(item, dict) else None
        arguments = item.get("args") if isinstance(item, dict) else None
        if type(at) is not int or not isinstance(arguments, list):
            raise source.error("a predicate has not both the number of its word (i) and a list of arguments", line)
        if not 0 <= at < count:
            raise source.error(f"the predicate {at} is outside its {count} words", line)
        for argument in arguments:
            label, span = _labelled(source, argument, "argument", count, line)
            yield Edge(Span(at, at + 1), span, (label,))


def _labelled(source: Source, item: object, what: str, count: int, line: int) -> tuple[str, Span]:
    if not (
        isinstance(item, list)
        and len(item) == 3
        and isinstance(item[0], str)
        and item[0].strip()
        and all(type(number) is int for number in item[1:])
    ):
        raise source.error(f"the {what} {str(item)[:40]} is not [label, start, end]", line)
    if not 0 <= item[1] < item[2] <= count:
        raise source.error(f"the {what} {item[0]} {item[1]}:{item[2]} is outside its {count} words", line)
    return item[0], Span(item[1], item[2])


def _merged(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Edges of the same spans as one, with all their labels in order."""
    labels: dict[tuple[Span, Span | None], dict[str, None]] = {}
    for edge in edges:
        labels.setdefault((edge.first, edge.second), {}).update(dict.fromkeys(edge.labels))
    return tuple(Edge(first, second, tuple(held)) for (first, second), held in labels.items())


def _looks(lines: Sequence[str]) -> bool:
    names = field_names(lines) or ()
    return "tokens" in names and ("srl" in names or "constituents" in names)


FORMAT = Format(
    "propbank",
    read_articles,
    "constituents and semantic roles, as JSON lines: PropBank with the English Web Treebank",
    '{"id": "blog-0001", "tokens": ["He", "ran", "home"], "xpos": ["PRP", "VBD", "RB"], '
    '"srl": [{"frame": "run.02", "i": 1, "args": [["ARG0", 0, 1]]}]}\n',
    order=110,
    annotations=("xpos", "edges"),
    looks={41: _looks},
    endings=(".jsonl",),
    tasks=TASKS,
)
