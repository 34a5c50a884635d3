"""The formats of corpus files: a record of each, at the end of the module that reads it.

Whatever module of this package has a ``FORMAT`` is a format: :func:`formats` walks the modules and lists what they
say, and telling a file's format, reading it, the sentences about unknown formats and options and the table in
docs/corpora.md all go by that list. So a new format is one new file.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module

import attlas.corpora
from attlas.corpora.cutting import Cutting
from attlas.corpora.source import Source
from attlas.text import Document

Looks = Callable[[Sequence[str]], bool]  # of the first lines of a file, none of them blank


@dataclass(frozen=True)
class Format:
    """A format of corpus files: its name, its reader, and what else is to know of it.

    ``read`` takes a source, and ``options`` by their names, and gives documents, or lists of documents where the file
    says which belong to one article. ``looks`` are tests of a file's first lines, by rank: of the tests of all
    formats, in the order of their ranks, the first that holds tells the format. ``endings`` of a file's name promise
    the format (or another of the same ending), and with such an ending lines that are ``enough`` are not tested
    further. A folder of files that end in one of ``folders`` is a corpus. ``needs`` are options that the format
    cannot do without, and which tell it. ``tasks`` are those of edge probing that its edges are of; where there are
    several, the reader takes the option ``task``. ``order`` is its place in lists of formats. ``cutting`` says where
    its files may be cut, so that they need not be read whole.

    >>> shout = Format("shout", lambda source: [Document.from_text(source.text.lower())], "capitals", "OH YES!")
    >>> [[document.text for document in article] for article in shout.articles(Source.of_text("OH NO!"))]
    [['oh no!']]
    """

    name: str
    read: Callable[..., Sequence[Document] | Sequence[list[Document]]]
    about: str
    example: str
    order: int = 500
    annotations: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    looks: Mapping[int, Looks] = field(default_factory=dict)
    endings: tuple[str, ...] = ()
    enough: Looks | None = None
    folders: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    cutting: Cutting | None = None

    def articles(self, source: Source, **options: object) -> list[list[Document]]:
        """The documents of a source by article; each is an article of its own where the format has none."""
        return [[item] if isinstance(item, Document) else item for item in self.read(source, **options)]


@cache
def formats() -> Mapping[str, Format]:
    """All formats by their names, in the order of lists.

    >>> list(formats())[:3], list(formats())[-1]
    (['conllu', 'conll2000', 'conll2012'], 'plain')
    """
    names = (module.name for module in pkgutil.iter_modules(attlas.corpora.__path__))
    modules = (import_module(f"attlas.corpora.{name}") for name in names)
    records = (record for module in modules if isinstance(record := getattr(module, "FORMAT", None), Format))
    return {record.name: record for record in sorted(records, key=lambda record: (record.order, record.name))}


def listed(names: Sequence[str], word: str) -> str:
    """Names as a sentence has them."""
    return f" {word} ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
