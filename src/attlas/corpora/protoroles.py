"""Semantic proto-roles of Universal Decompositional Semantics, as JSON lines.

A line is a predicate with one argument: ``id`` (the sentence), ``pred`` and ``arg`` (the numbers of their head words,
from 1) and ``props``: for each property that people were asked about, a number that is positive where it holds.
The lines of a sentence follow each other, and one of them has its words (``tokens``). Each sentence becomes a
document whose edges are pairs, predicate and argument; an edge is labelled by the properties that hold and says which
were asked about, as arguments and adjuncts were judged by different ones.
"""

from __future__ import annotations

from itertools import groupby

from attlas.corpora.formats import Format
from attlas.corpora.jsonlines import field_names, objects, tokens
from attlas.corpora.source import Readable, Source, open_source
from attlas.text import Document, Edge, Span


def read_protoroles(path: Readable) -> list[Document]:
    """Read proto-roles, one document per sentence.

    >>> line = '{"id": "1", "pred": 2, "arg": 1, "props": {"sentient": 1.2, "used": -0.3}, "tokens": ["He", "ran"]}'
    >>> document, = read_protoroles(Source.of_text(line, name="a.jsonl"))
    >>> document.edges[0].labels, document.edges[0].among
    (('sentient',), ('sentient', 'used'))
    """
    source = open_source(path)
    documents = []
    for label, lines in groupby(objects(source), key=lambda entry: entry[1].get("id")):
        pairs = list(lines)
        given = next(((line, entry["tokens"]) for line, entry in pairs if "tokens" in entry), None)
        if given is None:
            raise source.error(f"no pair of the sentence {label} gives its words (tokens)", pairs[-1][0])
        words = tokens(source, given[1], given[0])
        edges = tuple(_edge(source, entry, len(words), line) for line, entry in pairs)
        documents.append(Document.from_words(words, name=f"{source.name}, {label}", edges=edges))
    if not documents:
        raise source.error("there is no pair in this file")
    return documents


def _edge(source: Source, entry: dict[str, object], count: int, line: int) -> Edge:
    spans = []
    for field, what in (("pred", "predicate"), ("arg", "argument")):
        at = entry.get(field)
        if type(at) is not int:
            raise source.error(f"the field {field!r} is not there or is not the number of a word", line)
        if not 1 <= at <= count:
            raise source.error(f"the {what} {at} is outside its {count} words, counted from 1", line)
        spans.append(Span(at - 1, at))
    properties = entry.get("props")
    if not isinstance(properties, dict) or not properties:
        raise source.error("the field 'props' is not there or has no properties", line)
    if not all(type(value) in (int, float) for value in properties.values()):
        raise source.error("a property has a value that is no number", line)
    held = tuple(str(name) for name, value in properties.items() if value > 0)
    return Edge(spans[0], spans[1], held, tuple(properties))


FORMAT = Format(
    "uds",
    read_protoroles,
    "semantic proto-roles of Universal Decompositional Semantics, as JSON lines",
    '{"id": "1", "pred": 2, "arg": 1, "props": {"sentient": 1.2, "used": -0.3}, "tokens": ["He", "ran"]}\n',
    order=120,
    annotations=("edges",),
    looks={42: lambda lines: {"pred", "arg", "props"} <= set(field_names(lines) or ())},
    endings=(".jsonl",),
    tasks=("proto-roles",),
)
