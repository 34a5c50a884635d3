"""Texts with the key phrases that people gave them, as JSON lines.

Two shapes are read: ``{id, text, keyphrases}``, and ``{id, title, abstract, uncontrolled, controlled}``, of which
``which`` chooses the phrases (uncontrolled ones are free words, controlled ones come from a thesaurus). White space
inside texts and phrases becomes single spaces; title and abstract are parted by a blank line, so that the title is
a sentence of its own. A phrase that is given twice is kept once. A line without the field has a text and no key
phrases, which is how texts come that are yet to be given some. Words are found by rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from attlas.corpora.cutting import Cutting, each_line
from attlas.corpora.formats import Format
from attlas.corpora.jsonlines import field_names, objects, strings
from attlas.corpora.source import Readable, Source, open_source
from attlas.errors import CorpusError
from attlas.text import Document

_SETS = ("uncontrolled", "controlled")


def read_keyphrases(path: Readable, which: str | None = None) -> list[Document]:
    """Read texts with their key phrases, one document per line.

    ``which`` is "uncontrolled" (the usual choice, taken where nothing is said) or "controlled".

    >>> line = '{"id": "7", "text": "Solar\\\\r\\\\n\\\\tcells age.", "keyphrases": ["solar \\\\tcells", "ageing"]}'
    >>> document, = read_keyphrases(Source.of_text(line, name="a.jsonl"))
    >>> document.name, document.text, document.keyphrases
    ('a.jsonl, 7', 'Solar cells age.', ('solar cells', 'ageing'))
    """
    if which is not None and which not in _SETS:
        raise CorpusError(f"the set of key phrases is 'uncontrolled' or 'controlled', not {which!r}")
    source = open_source(path)
    documents = [phrased_document(source, entry, line, which) for line, entry in objects(source)]
    if not documents:
        raise source.error("there is no line in this file")
    return documents


def phrased_document(source: Source, entry: Mapping[str, object], line: int, which: str | None = None) -> Document:
    """The text of a line with its key phrases, if it has any.

    >>> phrased_document(Source.of_text("", "a.jsonl"), {"text": "It  rained."}, 3).text
    'It rained.'
    """
    if "text" in entry:
        if which == "controlled":
            raise source.error("these texts have one set of key phrases only; leave out the choice of a set", line)
        texts, phrases = ["text"], "keyphrases"
    else:
        texts, phrases = ["title", "abstract"], which or "uncontrolled"
    parts = [_normal(_string(source, entry, key, line)) for key in texts]
    text = "\n\n".join(part for part in parts if part)
    if not text:
        raise source.error("this text has no words; leave it out", line)
    name = f"{source.name}, {entry.get('id', f'line {line}')}"
    document = Document.from_text(text, name=name)
    if phrases not in entry:
        return document
    given = strings(entry[phrases])
    if given is None:
        raise source.error(f"the field {phrases!r} is no list of phrases", line)
    distinct = dict.fromkeys(_normal(phrase) for phrase in given if phrase.strip())
    return replace(document, keyphrases=tuple(distinct))


def _string(source: Source, entry: Mapping[str, object], key: str, line: int) -> str:
    value = entry.get(key)
    if not isinstance(value, str):
        raise source.error(f"the field {key!r} is not there or is no text", line)
    return value


def _normal(text: str) -> str:
    return " ".join(text.split())


def _named(lines: Sequence[str]) -> bool:
    return field_names(lines) is not None and ('"keyphrases"' in lines[0] or '"uncontrolled"' in lines[0])


def _texts(lines: Sequence[str]) -> bool:
    """Texts alone, which are yet to be given key phrases."""
    return "text" in (field_names(lines) or ())


FORMAT = Format(
    "keyphrases",
    read_keyphrases,
    "texts with key phrases, or texts alone, as JSON lines",
    '{"id": "7", "text": "Solar cells age.", "keyphrases": ["solar cells"]}\n',
    order=70,
    annotations=("keyphrases",),
    options=("which",),
    looks={43: _named, 45: _texts},
    endings=(".jsonl",),
    cutting=Cutting(lambda options: each_line),
)
