"""Treebanks in CoNLL-U, the format of Universal Dependencies.

The text of a sentence is its ``# text`` comment when the words are found in it one after another, and is otherwise
built from the words and ``SpaceAfter=No``. Words inside a multiword range (``3-4 du`` for *de* + *le*) are spans of
the range's own characters: cut where the words meet when they spell the range, and else in proportion to their
lengths, at least one character each; when there are fewer characters than words, the last words share the last
character. Empty nodes (``8.1``) are left out. LEMMA, UPOS and XPOS become layers unless the column is ``_``
throughout the file (a ``-`` in UPOS and XPOS is no tag either); HEAD and DEPREL are required. A sentence needs a root
(several are let pass) and has no cycle. Coreference in MISC (``Entity=``) becomes mentions, see
:mod:`attlas.corpora.entities`.

With ``unit="document"`` the sentences between two ``# newdoc`` comments, or of the whole file where there are none,
are joined by a space, or by a blank line where ``# newpar`` starts a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from sys import intern

from attlas.corpora.conll2000 import has_tags, tags_of
from attlas.corpora.cutting import Cutting, at_blank, before
from attlas.corpora.entities import read_mentions
from attlas.corpora.formats import Format
from attlas.corpora.source import Readable, Source, open_source
from attlas.errors import CorpusError
from attlas.text import ROOT, Document, Mention, Span

_LOOKS = re.compile(r"#\s*(newdoc|newpar)(\s+id)?(\s*=.*)?|#\s*(sent_id|text)\s*=.*|[0-9]+(-[0-9]+)?(\t[^\t]*){9}")
_NEW_DOCUMENT = r"#\s*newdoc"
_ID = re.compile(r"([0-9]+)(?:([-.])([0-9]+))?")
_COLUMNS = 10
_ID_AT, _FORM, _LEMMA, _UPOS, _XPOS, _HEAD, _DEPREL, _MISC = 0, 1, 2, 3, 4, 6, 7, 9
_Row = tuple[int, tuple[str, ...]]  # the line of the file and its columns


@dataclass(frozen=True)
class _Sentence:
    text: str
    words: list[Span]
    columns: dict[int, tuple[str, ...]]
    governors: list[int]
    mentions: list[Mention] | None  # None where nothing is marked
    number: int
    comments: dict[str, str]


@dataclass(frozen=True)
class _Surface:
    """A stretch of text that stands for the words ``first`` up to ``stop``: one, or those of a multiword range."""

    form: str
    space_after: bool
    first: int
    stop: int


def read_conllu(path: Readable, unit: str = "sentence") -> list[Document]:
    """Read a treebank, one document per sentence or per ``# newdoc``.

    >>> rows = ["1-2\\tdu\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_", "1\\tde\\tde\\tADP\\t_\\t_\\t3\\tcase\\t_\\t_",
    ...         "2\\tle\\tle\\tDET\\t_\\t_\\t3\\tdet\\t_\\t_", "3\\tpain\\tpain\\tNOUN\\t_\\t_\\t0\\troot\\t_\\t_"]
    >>> document, = read_conllu(Source.of_text("\\n".join(rows), name="fr.conllu"))
    >>> document.name, document.text, document.forms, document.governors, document.xpos
    ('fr.conllu, sentence 1', 'du pain', ('d', 'u', 'pain'), (2, 2, -1), None)
    """
    return [document for article in read_articles(path, unit) for document in article]


def read_articles(path: Readable, unit: str = "sentence") -> list[list[Document]]:
    """Read a treebank with its documents grouped by ``# newdoc``."""
    if unit not in ("sentence", "document"):
        raise CorpusError(f"the unit of a treebank is 'sentence' or 'document', not {unit!r}")
    source = open_source(path)
    articles: list[list[_Sentence]] = []
    for sentence in _sentences(source):
        if not articles or "newdoc" in sentence.comments or "newdoc id" in sentence.comments:
            articles.append([])
        articles[-1].append(sentence)
    if not articles:
        raise source.error("there is no sentence in this file")
    columns = {"lemmas": _LEMMA, "upos": _UPOS, "xpos": _XPOS}
    present = {
        layer: index
        for layer, index in columns.items()
        if has_tags(value for article in articles for s in article for value in s.columns[index])
    }
    marked = any(sentence.mentions is not None for article in articles for sentence in article)
    if unit == "document":
        return [[_join(a, present, marked, _name(source, a[0], unit, n))] for n, a in enumerate(articles, start=1)]
    return [[_join([s], present, marked, _name(source, s, unit, s.number)) for s in article] for article in articles]


def _name(source: Source, first: _Sentence, unit: str, number: int) -> str:
    label = first.comments.get("sent_id" if unit == "sentence" else "newdoc id")
    return f"{source.name}, {label or f'{unit} {number}'}"


def _join(sentences: Sequence[_Sentence], present: dict[str, int], marked: bool, name: str) -> Document:
    texts: list[str] = []
    words: list[Span] = []
    spans: list[Span] = []
    governors: list[int] = []
    mentions: list[Mention] = []
    length = 0
    for sentence in sentences:
        if texts:
            paragraph = "newpar" in sentence.comments or "newpar id" in sentence.comments
            texts.append("\n\n" if paragraph else " ")
            length += len(texts[-1])
        spans.append(Span(len(words), len(words) + len(sentence.words)))
        governors.extend(g if g == ROOT else g + len(words) for g in sentence.governors)
        for mention in sentence.mentions or ():
            mentions.append(mention.moved(len(words)))
        words.extend(Span(length + w.start, length + w.stop) for w in sentence.words)
        texts.append(sentence.text)
        length += len(sentence.text)
    columns = {layer: tuple(v for s in sentences for v in s.columns[index]) for layer, index in present.items()}
    return Document(
        "".join(texts),
        tuple(words),
        tuple(spans),
        name,
        lemmas=columns.get("lemmas"),
        upos=columns.get("upos"),
        xpos=columns.get("xpos"),
        governors=tuple(governors),
        relations=tuple(v for s in sentences for v in s.columns[_DEPREL]),
        mentions=tuple(mentions) if marked else None,
    )


def _sentences(source: Source) -> Iterator[_Sentence]:
    """Cut the file at blank lines; comments that stand alone belong to the sentence that follows."""
    comments: dict[str, str] = {}
    rows: list[_Row] = []
    number = 0
    for line, content in enumerate([*source.lines, ""], start=source.first_line):
        if content.startswith("#"):
            key, _, value = content[1:].partition("=")
            comments[key.strip()] = value.strip()
        elif content.strip():
            fields = tuple(content.split("\t"))
            if len(fields) != _COLUMNS:
                columns = "1 column" if len(fields) == 1 else f"{len(fields)} columns"
                raise source.error(f"{columns} where CoNLL-U has {_COLUMNS}, separated by tabs", line)
            rows.append((line, fields))
        elif rows or "sent_id" in comments or "text" in comments:
            number += 1
            yield _sentence(source, rows, comments, number, line)
            comments, rows = {}, []


def _sentence(source: Source, rows: list[_Row], comments: dict[str, str], number: int, end: int) -> _Sentence:
    words, surfaces = _order(source, rows)
    if not words:
        raise source.error("a sentence ends here that has no words; leave it out", end)
    governors = _govern(source, words)
    text, places = _place(surfaces, comments.get("text"))
    spans: list[Span] = []
    for surface, place in zip(surfaces, places, strict=True):
        forms = [fields[_FORM] for _, fields in words[surface.first : surface.stop]]
        spans.extend(divide(place, surface.form, forms))
    columns = {
        index: tuple(intern(fields[index]) for _, fields in words) for index in (_LEMMA, _UPOS, _XPOS, _DEPREL)
    }
    for index in (_UPOS, _XPOS):
        columns[index] = tags_of([fields[_FORM] for _, fields in words], columns[index])
    layout = comments.get("global.Entity", "eid")
    if not layout.startswith(("eid", "GRP")):
        raise source.error(f"the chain must come first in Entity=, and global.Entity is {layout}", rows[0][0])
    cells = [(line, fields[_ID_AT].isdigit(), fields[_MISC]) for line, fields in rows]
    return _Sentence(text, spans, columns, governors, read_mentions(source, cells, governors), number, comments)


def _order(source: Source, rows: Sequence[_Row]) -> tuple[list[_Row], list[_Surface]]:
    """The words in order, and the stretches of text that they are written as."""
    words: list[_Row] = []
    surfaces: list[_Surface] = []
    covered = range_line = 0  # the last word of the latest range, and where that range is declared
    for line, fields in rows:
        match = _ID.fullmatch(fields[_ID_AT])
        if match is None:
            raise source.error(f"the id {fields[_ID_AT]!r} is neither a number nor a range", line)
        if match[2] == ".":
            continue
        following = len(words) + 1
        if source.whole_number(match[1], line) != following:
            raise source.error(f"the id {fields[_ID_AT]} comes where {following} should follow", line)
        if not fields[_FORM].strip():
            raise source.error(f"the form of {fields[_ID_AT]} is empty", line)
        spaced = "SpaceAfter=No" not in fields[_MISC].split("|")
        if match[2] == "-":
            last = source.whole_number(match[3], line)
            if following <= covered or last < following:
                raise source.error(f"the range {fields[_ID_AT]} overlaps another or runs backwards", line)
            covered, range_line = last, line
            surfaces.append(_Surface(fields[_FORM], spaced, following - 1, covered))
            continue
        words.append((line, fields))
        if following > covered:
            surfaces.append(_Surface(fields[_FORM], spaced, following - 1, following))
    if covered > len(words):
        raise source.error(f"the range ends at {covered}, after the last word {len(words)}", range_line)
    return words, surfaces


def _govern(source: Source, words: Sequence[_Row]) -> list[int]:
    """The governor of each word, counted from 0; refuses what is no tree."""
    governors: list[int] = []
    for line, fields in words:
        value = fields[_HEAD]
        if not (value.isascii() and value.isdigit()):
            raise source.error(f"the governor (HEAD) is {value!r}, not a number", line)
        governor = source.whole_number(value, line)
        if governor > len(words):
            raise source.error(f"the governor {value} is outside this {len(words)}-word sentence", line)
        if fields[_DEPREL] in ("", "_"):
            raise source.error("the relation (DEPREL) is missing", line)
        governors.append(governor - 1)  # 0 is the root
    if ROOT not in governors:
        raise source.error("the sentence that starts here has no root (no word with HEAD 0)", words[0][0])
    visited = [0] * len(words)  # the word from which each was reached first, counted from 1
    for start in range(len(words)):
        at = start
        while at != ROOT and not visited[at]:
            visited[at] = start + 1
            at = governors[at]
        if at != ROOT and visited[at] == start + 1:
            cycle = ", ".join(str(word + 1) for word in _cycle(at, governors))
            raise source.error(f"following governors from here runs in a cycle: {cycle}", words[at][0])
    return governors


def _cycle(start: int, governors: Sequence[int]) -> Iterator[int]:
    """The words of the cycle that a word is in, from that word on."""
    yield start
    at = governors[start]
    while at != start:
        yield at
        at = governors[at]


def _place(surfaces: Sequence[_Surface], given: str | None) -> tuple[str, list[Span]]:
    """The sentence's text and where each surface lies in it."""
    if given is not None:
        found: list[Span] = []
        at = 0
        for surface in surfaces:
            while at < len(given) and given[at].isspace():
                at += 1
            if not given.startswith(surface.form, at):
                break
            found.append(Span(at, at + len(surface.form)))
            at += len(surface.form)
        if len(found) == len(surfaces) and not given[at:].strip():
            return given, found
    text, places = "", []
    for surface in surfaces:
        places.append(Span(len(text), len(text) + len(surface.form)))
        text += surface.form + (" " if surface.space_after else "")
    return text.rstrip(" "), places


def divide(place: Span, surface: str, forms: Sequence[str]) -> list[Span]:
    """Divide the characters of a multiword range between its words.

    >>> [tuple(s) for s in divide(Span(0, 5), "don't", ["do", "n't"])]
    [(0, 2), (2, 5)]
    >>> [tuple(s) for s in divide(Span(7, 10), "aux", ["à", "les"])]
    [(7, 8), (8, 10)]
    >>> [tuple(s) for s in divide(Span(0, 1), "y", ["a", "b", "c"])]
    [(0, 1), (0, 1), (0, 1)]
    """
    count, length = len(forms), place.length
    if count == 1:
        return [place]
    if length < count:
        return [Span(at, at + 1) for at in (place.start + min(word, length - 1) for word in range(count))]
    ends = list(accumulate(map(len, forms), initial=0))
    if "".join(forms) == surface:
        cuts = ends
    else:
        cuts = [0]
        for word in range(1, count + 1):
            wished = round(length * ends[word] / ends[-1])
            cuts.append(min(max(wished, cuts[-1] + 1), length - (count - word)))
    return [Span(place.start + a, place.start + b) for a, b in pairwise(cuts)]


FORMAT = Format(
    "conllu",
    read_articles,
    "treebanks in CoNLL-U, the format of Universal Dependencies",
    "# text = It rained.\n"
    "1\tIt\tit\tPRON\tPRP\t_\t2\texpl\t_\t_\n"
    "2\trained\train\tVERB\tVBD\t_\t0\troot\t_\tSpaceAfter=No\n"
    "3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_\n",
    order=10,
    annotations=("lemmas", "upos", "xpos", "governors", "relations", "mentions"),
    options=("unit",),
    looks={30: lambda lines: any(map(_LOOKS.fullmatch, lines))},
    endings=(".conllu",),
    enough=lambda lines: "\t" in lines[0],  # whatever is wrong with its columns, the reader says better
    folders=(".conllu",),
    cutting=Cutting(
        lambda options: before(_NEW_DOCUMENT.encode()) if options.get("unit") == "document" else at_blank,
        opens=lambda record: re.search(rf"^{_NEW_DOCUMENT}", record, re.MULTILINE) is not None,
        counted=True,
    ),
)
