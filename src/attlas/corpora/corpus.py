"""One way to open any corpus.

:func:`read` finds out what kind of file it has been given, reads it, and hands back a :class:`Corpus`: the documents,
with a hash of what was read for the manifest of a result, and the article that each document belongs to, so that
neighbours can be paired without crossing from one article into the next. The name "sample" opens the sample that
comes with attlas.

A folder of ``.conll`` or ``.conllu`` files is read as one corpus, file by file in the order of their names (files of
other names and folders inside it are passed over), and so is a zip archive of them, whatever folders it has. A file
in it that cannot be read does not stop the rest: it is left out, and the corpus says which and why.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from attlas.corpora.formats import Format, formats, listed
from attlas.corpora.limits import Limits, limited
from attlas.corpora.naming import SAMPLE, streams_only
from attlas.corpora.sample import read_sample
from attlas.corpora.sniffing import sniff
from attlas.corpora.source import Readable, Source, member_names, open_members, open_source
from attlas.errors import CorpusError, OptionError
from attlas.text import Document

_ANNOTATIONS = tuple(field.name for field in fields(Document) if field.default is None)
_FILES = ("gold", "target")  # options that are files


@dataclass(frozen=True)
class Corpus:
    """Documents that were read together, and what they were read from.

    ``articles[k]`` is the article of document ``k``: the ``# newdoc`` of a treebank, the article of a WikiText file,
    of PropBank or of a spans file, the whole of an ordinary text; in the other formats every document is an article
    of its own. ``sha256`` is the hash of the file's decompressed bytes (of several files: of their hashes).
    ``left_out`` says of each file of a folder that could not be read what was wrong with it; ``drawn`` how documents
    were taken from a corpus that is read as it comes (:mod:`attlas.corpora.streaming`).

    >>> corpus = Corpus((Document.from_words(["Hi"], upos=["INTJ"]),), "conllu", "a.conllu", "", (0,))
    >>> corpus.annotations
    ('upos',)
    """

    documents: tuple[Document, ...]
    format: str
    name: str
    sha256: str
    articles: tuple[int, ...]
    left_out: tuple[str, ...] = ()
    drawn: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not self.documents:
            raise CorpusError("the corpus has no documents", file=self.name)
        for document in self.documents:
            if not document.words:
                raise CorpusError("this document has no words; leave it out", file=document.name or self.name)
        if len(self.articles) != len(self.documents):
            raise CorpusError(f"{len(self.articles)} articles for {len(self.documents)} documents", file=self.name)

    @property
    def beginning(self) -> Corpus:
        """What is known of the corpus before it is read through: all of it. (Of one that streams, the first buffer.)

        >>> corpus = read(Source.of_text("It rained.", name="a.txt"))
        >>> corpus.beginning is corpus
        True
        """
        return self

    @property
    def annotations(self) -> tuple[str, ...]:
        """The annotation that any of the documents has, by the names of a document's fields."""
        return tuple(
            name for name in _ANNOTATIONS if any(getattr(document, name) is not None for document in self.documents)
        )

    def halves(self, seed: int = 0) -> tuple[Corpus, Corpus]:
        """Two halves of about as many words, for choosing on one and scoring on the other; see :meth:`divide`."""
        one, other = self.divide((0.5, 0.5), seed)
        return one, other

    def divide(self, shares: Sequence[float], seed: int = 0) -> list[Corpus]:
        """Parts that have about these shares of the corpus's words, drawn by the seed; none is empty.

        No article is in two parts, since sentences of one article share words and topics; a corpus of fewer articles
        than parts is divided between its documents.

        >>> texts = [Document.from_words(["a"] * 10, name=str(k)) for k in range(20)]
        >>> parts = Corpus(tuple(texts), "plain", "a.txt", "", tuple(range(20))).divide((0.8, 0.1, 0.1))
        >>> [len(part.documents) for part in parts]
        [16, 2, 2]
        """
        keys = self.articles if len(set(self.articles)) >= len(shares) else tuple(range(len(self.documents)))
        sizes: Counter[int] = Counter()
        for key, document in zip(keys, self.documents, strict=True):
            sizes[key] += len(document.words)
        if len(sizes) < len(shares):
            documents = "a single document" if len(sizes) == 1 else f"{len(sizes)} documents"
            raise CorpusError(
                f"it cannot be divided into {len(shares)} parts: it has {documents}; give the other parts as files "
                "of their own",
                file=self.name,
            )
        order = sorted(sizes)
        random.Random(seed).shuffle(order)
        taken = [0.0] * len(shares)
        part_of: dict[int, int] = {}
        for place, key in enumerate(order):
            empty = [part for part, size in enumerate(taken) if not size]
            wanting = empty if len(empty) >= len(order) - place else range(len(shares))
            part = max(wanting, key=lambda part: shares[part] - taken[part] / sizes.total())
            part_of[key] = part
            taken[part] += sizes[key]
        places = [[at for at, key in enumerate(keys) if part_of[key] == part] for part in range(len(shares))]
        return [self.only(chosen) for chosen in places]

    def sentences(self) -> Corpus:
        """The same corpus with every sentence as a document of its own, each in the article of its document.

        >>> whole = Corpus((Document.from_text("It rained. We stayed in.", name="a"),), "plain", "a.txt", "", (0,))
        >>> two = whole.sentences()
        >>> [(document.name, document.text) for document in two.documents], two.articles
        ([('a, sentence 1', 'It rained.'), ('a, sentence 2', 'We stayed in.')], (0, 0))
        """
        if all(len(document.sentences) == 1 for document in self.documents):
            return self
        return self.cut(sentences_of)

    def cut(self, into: Callable[[Document], Iterable[Document]]) -> Corpus:
        """The same corpus with every document cut into several, each in the article of its document."""
        known = zip(self.documents, self.articles, strict=True)
        parts = [(part, article) for document, article in known for part in into(document)]
        return replace(self, documents=tuple(part for part, _ in parts), articles=tuple(at for _, at in parts))

    def only(self, places: Sequence[int], **changed: Any) -> Corpus:
        """The same corpus with the documents at these places alone, and with what else is ``changed``."""
        documents, articles = tuple(self.documents[at] for at in places), tuple(self.articles[at] for at in places)
        return replace(self, documents=documents, articles=articles, **changed)


def sentences_of(document: Document) -> Iterator[Document]:
    """The sentences of a document, each as a document of its own.

    >>> [sentence.text for sentence in sentences_of(Document.from_text("It rained. We stayed in."))]
    ['It rained.', 'We stayed in.']
    """
    for number, (start, stop) in enumerate(document.sentences, start=1):
        name = f"{document.name}, sentence {number}" if len(document.sentences) > 1 else document.name
        yield replace(document.slice(start, stop), name=name)


def read(
    source: Readable,
    format: str | None = None,
    *,
    unit: str | None = None,
    which: str | None = None,
    gold: Readable | None = None,
    one_indexed: bool = False,
    lenient: bool = False,
    target: Readable | None = None,
    label: str | None = None,
    limits: Limits | str | None = None,
) -> Corpus:
    """Read a corpus file of any known format, told by its name and its first lines unless ``format`` says it, or a
    folder or zip archive of ``.conll`` or ``.conllu`` files. Tables (Parquet, Arrow) and datasets of the hub
    (``hf://...``) are read whole, up to a size; :func:`attlas.corpora.stream` reads them as they come.

    ``unit`` is the document of a treebank (sentence, document) or of plain text (paragraph, line, document);
    ``which`` chooses a set of key phrases; ``gold`` is the file of links of a bitext, which ``one_indexed`` counts
    from 1, and of which ``lenient`` leaves out links outside their pairs, with a warning; ``target`` is the file of
    translations, line by line; ``label`` names the column of the label in labelled texts, and is "binary" or "five"
    for sentiment trees. ``limits`` are those of what is read (see :mod:`attlas.corpora.limits`). A zip archive of one
    file is that file. The source "sample" is the sample that comes with attlas.

    >>> corpus = read(Source.of_text("It rained.\\n\\nWe stayed in.\\n", name="tale.txt"))
    >>> corpus.format, corpus.name, len(corpus.documents), corpus.articles
    ('plain', 'tale.txt', 2, (0, 0))
    """
    asked = {
        "unit": unit, "which": which, "gold": gold, "one_indexed": one_indexed, "lenient": lenient, "target": target,
        "label": label,
    }  # fmt: skip
    given = {option: value for option, value in asked.items() if value is not None and value is not False}
    if format is not None and format not in formats():
        raise CorpusError(f"{format!r} is no format of a corpus; there are {', '.join(formats())}")
    if source == SAMPLE:
        _refuse_options(SAMPLE, given)
        return _read_sample()
    with limited(limits), collected_later():
        if not isinstance(source, Source) and streams_only(source):
            from attlas.corpora.streaming.opening import stream

            options: dict[str, Any] = dict(given)
            return stream(source, format, **options).whole()
        if not isinstance(source, Source) and (names := member_names(source)) is not None:
            return _read_folder(Path(source), names, format, given)
        return _read_file(open_source(source), format, given)


@contextlib.contextmanager
def collected_later() -> Iterator[None]:
    """No search for garbage inside the ``with`` block. Documents hold no cycles, and where there are hundreds of
    thousands of them every search goes over all of them again, which would take longer than reading them.

    >>> with collected_later():
    ...     gc.isenabled()
    False
    """
    usual = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if usual:  # where another thread reads as well, the first to end switches it on: a loss of time alone
            gc.enable()


def read_as(format: Format, source: Source, options: Mapping[str, Any]) -> Corpus:
    """The corpus of one source, read by a format with options that it knows; files among them count in the hash."""
    files = {option: open_source(options[option]) for option in _FILES if option in options}
    articles = format.articles(source, **{**options, **files})
    return Corpus(
        documents=tuple(document for article in articles for document in article),
        format=format.name,
        name=source.name,
        sha256=hash_of("".join(part.sha256 for part in (source, *files.values()))) if files else source.sha256,
        articles=tuple(index for index, article in enumerate(articles) for _ in article),
    )


def _read_file(source: Source, format: str | None, given: Mapping[str, Any]) -> Corpus:
    if not source.text.strip():
        raise source.error("there are no words in this file")
    needing = (name for name, known in formats().items() if any(option in given for option in known.needs))
    known = formats()[format or next(needing, None) or sniff(source)]
    _refuse_options(known.name, given)
    return read_as(known, source, given)


def _read_folder(folder: Path, names: Sequence[str], format: str | None, given: Mapping[str, Any]) -> Corpus:
    """All files of a folder or archive whose names promise one format; those that cannot be read are left out and
    told."""
    of_folders = {known.name: known.folders for known in formats().values() if known.folders}
    files = {
        known: [name for name in names if name.removesuffix(".gz").endswith(endings)]
        for known, endings in of_folders.items()
        if format in (None, known)
    }
    present = [known for known, members in files.items() if members]
    if not present and len(names) == 1 and not folder.is_dir():
        return _read_file(open_source(folder), format, given)
    if len(present) != 1:
        this = "a folder;" if folder.is_dir() else "a zip archive; unpack it and"
        endings = sorted(of_folders[known][0] for known in present or of_folders)
        both = f"both {listed(endings, 'and')} files, so name the format"
        holds = both if present else f"no {listed(endings, 'or')} files"
        raise CorpusError(f"this is {this} give one of its files (it holds {holds})", file=folder)
    _refuse_options(present[0], given)
    corpora: list[Corpus] = []
    left_out: list[str] = []
    for member in open_members(folder, files[present[0]]):
        try:
            if isinstance(member, CorpusError):
                raise member
            corpora.append(_read_file(member, present[0], given))
        except CorpusError as error:
            left_out.append(str(error).removeprefix(f"{folder}/"))
    if not corpora:
        raise CorpusError(f"none of its {len(left_out)} files can be read, first {left_out[0]}", file=folder)
    together = in_sequence(corpora, folder.resolve().name)
    return replace(together, left_out=(*together.left_out, *left_out))


def in_sequence(corpora: Sequence[Corpus], name: str) -> Corpus:
    """Several corpora of one kind as one, one after another; no article of one is an article of another.

    >>> parts = [read(Source.of_text("It rained.\\n\\nWe stayed in.\\n", name=f"{k}.txt")) for k in range(2)]
    >>> whole = in_sequence(parts, "both")
    >>> len(whole.documents), whole.articles, whole.name
    (4, (0, 0, 1, 1), 'both')
    """
    firsts = [0]
    for corpus in corpora:
        firsts.append(firsts[-1] + max(corpus.articles) + 1)
    return Corpus(
        documents=tuple(document for corpus in corpora for document in corpus.documents),
        format=corpora[0].format,
        name=name,
        sha256=hash_of("".join(corpus.sha256 for corpus in corpora)),
        articles=tuple(first + at for first, corpus in zip(firsts, corpora, strict=False) for at in corpus.articles),
        left_out=tuple(why for corpus in corpora for why in corpus.left_out),
    )


def _refuse_options(format: str, given: Iterable[str]) -> None:
    """An option that the format does not know would otherwise be ignored in silence."""
    for option in given:
        knowing = [known.name for known in formats().values() if option in known.options]
        if format not in knowing:
            raise OptionError(option, f"the option {option!r} is for {listed(knowing, 'and')}, not for {format}")


def _read_sample() -> Corpus:
    documents = tuple(read_sample())
    digest = hash_of("\n".join(document.text for document in documents))
    return Corpus(documents, SAMPLE, SAMPLE, digest, tuple(range(len(documents))))


def hash_of(text: str) -> str:
    """The fingerprint of a text."""
    return hashlib.sha256(text.encode()).hexdigest()
