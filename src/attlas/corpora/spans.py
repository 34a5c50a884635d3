"""Labelled spans of words and pairs of spans, as JSON lines: the format of edge probing.

Each line is a text with its targets, under the names that the field uses::

    {"text": "He smoked Toronto", "targets": [{"span1": [1, 2], "span2": [2, 3], "label": "ARG1"}]}

Spans count words from 0 and their end is exclusive. The words are those of ``text`` split at white space, unless
``words`` gives them: as strings, found in the text one after another (``text`` may then be missing), or as [start,
end] of their characters in it. ``label`` is a string or a list of strings, which may be empty. ``among`` lists the
labels that were asked about where those were not all; the others are neither held nor denied. ``name`` names the
text, and texts of the same ``article`` are never divided between training and testing. All other fields are passed
over. A file has single spans or pairs, not both. docs/spans.md has the whole of it.
"""

from __future__ import annotations

import gzip
import json
import lzma
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from attlas.corpora.cutting import Cutting, each_line
from attlas.corpora.formats import Format
from attlas.corpora.jsonlines import field_names, objects, strings, tokens
from attlas.corpora.source import Readable, Source, open_source
from attlas.errors import CorpusError
from attlas.text import Document, Edge, Span
from attlas.whole import write_whole

_WORD = re.compile(r"\S+")
_TARGETS = re.compile(r'"targets"\s*:\s*\[')


def read_spans(path: Readable) -> list[Document]:
    """Read texts with labelled spans, one document per line.

    >>> line = '{"text": "He smoked Toronto", "targets": [{"span1": [0, 1], "label": "PRP"}]}'
    >>> document, = read_spans(Source.of_text(line, name="a.jsonl"))
    >>> document.name, document.forms, document.edges[0].labels
    ('a.jsonl, line 1', ('He', 'smoked', 'Toronto'), ('PRP',))
    """
    return [document for article in read_articles(path) for document in article]


def read_articles(path: Readable) -> list[list[Document]]:
    """Read texts with labelled spans, grouped by their ``article``; a text without one is an article of its own."""
    source = open_source(path)
    articles: dict[object, list[Document]] = {}
    pairs: dict[bool, int] = {}  # single spans and pairs, each with its first line
    labelled = False
    for line, entry in objects(source):
        document = _document(source, entry, line)
        for edge in document.edges or ():
            pairs.setdefault(edge.second is not None, line)
            labelled = labelled or bool(edge.labels)
        if len(pairs) == 2:
            raise source.error(
                f"single spans and pairs of spans are mixed (pairs from line {pairs[True]}, single ones from line "
                f"{pairs[False]}); give each kind a file of its own",
                line,
            )
        article = entry.get("article")
        if article is not None and not isinstance(article, (str, int)):
            raise source.error("the article is neither a string nor a number", line)
        articles.setdefault(("", line) if article is None else article, []).append(document)
    if not articles:
        raise source.error("there is no text in this file")
    if not pairs:
        raise source.error("no text of this file has targets, so there is nothing to learn")
    if not labelled:
        raise source.error("no target of this file has a label, so there is nothing to learn")
    return list(articles.values())


def write_spans(
    path: str | os.PathLike[str], documents: Iterable[Document], articles: Sequence[int | str] | None = None
) -> None:
    """Write documents with edges so that :func:`read_spans` gives the same words and edges; packed where the name
    ends in .gz or .xz.

    >>> import tempfile
    >>> document = Document.from_words(["He", "slept"], edges=(Edge(Span(0, 1), labels=("PRP",)),), name="tale")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_spans(f"{folder}/a.jsonl", [document])
    ...     print(Path(folder, "a.jsonl").read_text())
    {"name": "tale", "text": "He slept", "words": ["He", "slept"], "targets": [{"span1": [0, 1], "label": "PRP"}]}
    """
    lines = [_written(document, None if articles is None else articles[at]) for at, document in enumerate(documents)]
    data = "".join(f"{line}\n" for line in lines).encode()
    place = Path(path)
    if place.name.endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    elif place.name.endswith(".xz"):
        data = lzma.compress(data)
    try:
        write_whole(place, data)
    except OSError as error:
        raise CorpusError(f"the file cannot be written ({error.strerror})", file=place) from None


def _written(document: Document, article: int | str | None) -> str:
    entry: dict[str, object] = {"name": document.name} if document.name else {}
    if article is not None:
        entry["article"] = article
    entry["text"] = document.text
    alike = _found(document.text, document.forms) == list(document.words)
    entry["words"] = list(document.forms) if alike else [list(span) for span in document.words]
    entry["targets"] = [_target(edge) for edge in document.edges or ()]
    return json.dumps(entry, ensure_ascii=False)


def _target(edge: Edge) -> dict[str, object]:
    target: dict[str, object] = {"span1": list(edge.first)}
    if edge.second is not None:
        target["span2"] = list(edge.second)
    target["label"] = edge.labels[0] if len(edge.labels) == 1 else list(edge.labels)
    return target if edge.among is None else target | {"among": list(edge.among)}


def _document(source: Source, entry: dict[str, object], line: int) -> Document:
    text, words = _words(source, entry, line)
    targets = entry.get("targets")
    if not isinstance(targets, list):
        raise source.error("the field 'targets' is not there or is no list", line)
    edges = tuple(_edge(source, target, len(words), line) for target in targets)
    name = entry.get("name", f"{source.name}, line {line}")
    if not isinstance(name, str):
        raise source.error("the name is no string", line)
    return Document(text, tuple(words), name=name, edges=edges)


def _words(source: Source, entry: dict[str, object], line: int) -> tuple[str, list[Span]]:
    """The text, and where its words lie in it."""
    text, given = entry.get("text"), entry.get("words")
    if text is None and given is None:
        raise source.error("there is neither a text nor words", line)
    if text is not None and not isinstance(text, str):
        raise source.error("the text is no string", line)
    if given is None:
        words = [Span(*match.span()) for match in _WORD.finditer(text or "")]
        if not words:
            raise source.error("this text has no words; leave it out", line)
        return text or "", words
    if text is not None and isinstance(given, list) and given and not isinstance(given[0], str):
        return text, [_characters(source, place, len(text), line) for place in given]
    forms = tokens(source, given, line, "words")
    if text is None:
        text = " ".join(forms)
    found = _found(text, forms)
    if isinstance(found, int):
        raise source.error(f"word {found}, {forms[found][:40]!r}, is not in the text after the words before it", line)
    return text, found


def _found(text: str, forms: Sequence[str]) -> list[Span] | int:
    """Where words lie in a text, one after another, or the first that is not found."""
    places: list[Span] = []
    at = 0
    for number, form in enumerate(forms):
        start = text.find(form, at)
        if start < 0:
            return number
        at = start + len(form)
        places.append(Span(start, at))
    return places


def _characters(source: Source, place: object, length: int, line: int) -> Span:
    span = _numbers(place)
    if span is None:
        raise source.error(
            f"the words are neither strings nor [start, end] of their characters: {json.dumps(place)[:40]}", line
        )
    if not 0 <= span.start < span.stop <= length:
        raise source.error(f"characters {span.start}:{span.stop} of a word are not in its text of {length}", line)
    return span


def _edge(source: Source, target: object, count: int, line: int) -> Edge:
    if not isinstance(target, dict):
        raise source.error("a target is not an object with span1 and label", line)
    first = _span(source, target, "span1", count, line)
    second = None if target.get("span2") is None else _span(source, target, "span2", count, line)
    labels = _labels(source, target, "label", line)
    if target.get("among") is None:
        return Edge(first, second, labels)
    among = _labels(source, target, "among", line)
    asked = set(among)
    unasked = next((label for label in labels if label not in asked), None)
    if unasked is not None:
        raise source.error(f"the label {unasked!r} is not among those asked about (the field 'among')", line)
    return Edge(first, second, labels, among)


def _span(source: Source, target: dict[str, object], field: str, count: int, line: int) -> Span:
    if target.get(field) is None:
        raise source.error(f"a target has no {field}", line)
    span = _numbers(target[field])
    if span is None:
        raise source.error(f"{field} is {json.dumps(target[field])[:40]}, not two numbers, [start, end]", line)
    if span.start >= span.stop:
        raise source.error(f"{field} {span.start}:{span.stop} has no words; its end is exclusive", line)
    if span.start < 0 or span.stop > count:
        words = "1 word" if count == 1 else f"{count} words"
        raise source.error(f"{field} {span.start}:{span.stop} is outside its {words}", line)
    return span


def _numbers(value: object) -> Span | None:
    if isinstance(value, list) and len(value) == 2 and all(type(number) is int for number in value):
        return Span(value[0], value[1])
    return None


def _labels(source: Source, target: dict[str, object], field: str, line: int) -> tuple[str, ...]:
    given = target.get(field)
    if given is None:
        raise source.error(f"a target has no {field}", line)
    labels = [given] if isinstance(given, str) else strings(given)
    if labels is None:
        raise source.error(f"the {field} {json.dumps(given)[:40]} is neither a string nor a list of strings", line)
    if not all(label.strip() for label in labels):
        raise source.error(f"a string of its {field} is empty; leave it out", line)
    return tuple(dict.fromkeys(labels))


def _looks(lines: Sequence[str]) -> bool:
    names = field_names(lines) or ()
    return _TARGETS.search(lines[0]) is not None and ("text" in names or "words" in names)


FORMAT = Format(
    "spans",
    read_articles,
    "labelled spans of words and pairs of spans, as JSON lines (see [spans](spans.md))",
    '{"text": "He smoked Toronto", "targets": [{"span1": [1, 2], "span2": [2, 3], "label": "ARG1"}]}\n',
    order=100,
    annotations=("edges",),
    looks={40: _looks},  # before labelled texts, as the labels of its spans look like one
    endings=(".jsonl",),
    cutting=Cutting(lambda options: each_line),
)
