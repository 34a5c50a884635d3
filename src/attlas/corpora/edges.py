"""The eight tasks of edge probing: labelled spans and pairs of spans from any corpus that has them.

docs/spans.md says for each task what its spans and labels are. Texts are sentences. Coreference is asked in passages:
neighbouring sentences of one document, at most :data:`PASSAGE` words. A mention is earlier when it ends before the
other begins. Every mention with an earlier one of its chain in the passage makes a pair with the nearest such
("same"), and one with an earlier mention of another chain, drawn by the seed ("other"); the later mention is the
first span. A spans file (see :mod:`attlas.corpora.spans`) serves every task; the task "spans" is whatever it holds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from attlas.corpora.corpus import SAMPLE, Corpus, collected_later, in_sequence, read, read_as
from attlas.corpora.earlier import Earlier
from attlas.corpora.formats import formats
from attlas.corpora.parts import PARTS, divided, part_files, read_splits, splits_of
from attlas.corpora.sniffing import sniff
from attlas.corpora.source import Readable, Source, member_names, open_member, open_source
from attlas.errors import CorpusError
from attlas.text import ROOT, Document, Edge, Mention, Span

PASSAGE = 100
SAME, OTHER = "same", "other"


class EdgeTask(NamedTuple):
    """A task of edge probing: whether its edges are pairs of spans (``None``: as the file has them), what it needs of
    a corpus, and what it asks."""

    name: str
    paired: bool | None
    needs: str
    about: str


_TASKS = (
    ("pos", False, "parts of speech (CoNLL-U, CoNLL-2000, CoNLL-2012, PropBank JSON lines)",
     "the part of speech of a word"),
    ("constituents", False, "constituents (PropBank JSON lines)", "the kind of a constituent"),
    ("dependencies", True, "governors and relations (CoNLL-U)", "the relation of a word to its governor"),
    ("entities", False, "entities (columns with B-, I- and O tags, such as WNUT-17 and CoNLL-2003)",
     "the kind of a named entity"),
    ("roles", True, "semantic roles (PropBank JSON lines)", "the role of an argument of a predicate"),
    ("coreference", True, "mentions in chains (CoNLL-2012, OntoGUM, CoNLL-U with Entity=)",
     "whether two mentions are of the same thing"),
    ("proto-roles", True, "proto-roles (JSON lines of Universal Decompositional Semantics)",
     "the properties of an argument of a predicate"),
    ("relations", True, "relations between nominals (SemEval-2010 Task 8)", "the relation of two nominals"),
    ("spans", None, "labelled spans (a spans file)", "the labels of a file of one's own"),
)  # fmt: skip
EDGE_TASKS = {task[0]: EdgeTask(*task) for task in _TASKS}


@collected_later()
def read_edges(
    task: str,
    source: Readable,
    *,
    format: str | None = None,
    seed: int = 0,
    part: str | None = None,
    splits: Readable | None = None,
) -> Corpus:
    """Read the texts of a task with their edges; texts without an edge are left out.

    ``source`` is a file of any format that has what the task needs, the sample, or a folder or zip archive that is
    one corpus. ``part`` takes one part of what comes divided (see :mod:`attlas.corpora.parts`; ``splits`` is the file
    that divides it); without it all parts are read. ``seed`` draws the pairs of mentions.

    >>> tags = Source.of_text("in\\tO\\nPuerto\\tB-place\\nMontt\\tI-place\\n", name="a.txt")
    >>> read_edges("entities", tags).documents[0].edges
    (Edge(first=Span(start=1, stop=3), second=None, labels=('place',), among=None),)
    >>> read_edges("roles", tags)
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: a.txt: the task roles needs semantic roles (PropBank JSON lines), or a spans file, and
    this, read as conll2000, has none
    """
    if part is None:
        return _whole(_task(task).name, source, format, seed)
    parts = read_edge_parts(task, source, format=format, seed=seed, splits=splits)
    if part not in parts:
        raise CorpusError(f"it has no part {part!r}; there is {', '.join(parts)}", file=_name(source))
    return parts[part]


@collected_later()
def read_edge_parts(
    task: str,
    source: Readable,
    *,
    dev: Readable | None = None,
    test: Readable | None = None,
    format: str | None = None,
    seed: int = 0,
    splits: Readable | None = None,
) -> dict[str, Corpus]:
    """The parts of a task's data that are known: "train", which is all of it where it comes undivided, and "dev" and
    "test" where they are given or ``source`` has them; see :mod:`attlas.corpora.parts`.

    >>> tags = Source.of_text("in\\tO\\nLima\\tB-place\\n", name="a.txt")
    >>> {name: len(part.documents) for name, part in read_edge_parts("entities", tags, test=tags).items()}
    {'train': 1, 'test': 1}
    """
    _task(task)
    place = _inner(source)
    division = splits_of(place, splits)
    if division is not None:
        parts = divided(_whole(task, place, format, seed), read_splits(division), division.name)
    else:
        parts = _by_name(task, place, format, seed) or {"train": _whole(task, place, format, seed)}
    for part, given in (("dev", dev), ("test", test)):
        if given is not None:
            parts[part] = _whole(task, given, format, seed)
    order = [*(part for part in PARTS if part in parts), *(part for part in parts if part not in PARTS)]
    return {part: parts[part] for part in order}


def edges_in(task: str, corpus: Corpus, seed: int = 0) -> Corpus:
    """A corpus that is read already, as the texts of a task with their edges; see :func:`read_edges`.

    >>> texts = [Document.from_words(["It", "rained"], xpos=["PRP", "VBD"], name="a")]
    >>> [edge.labels for edge in edges_in("pos", Corpus(tuple(texts), "conllu", "a", "", (0,))).documents[0].edges]
    [('PRP',), ('VBD',)]
    """
    known = _task(task)
    own = formats()[corpus.format].tasks if corpus.format in formats() else ()
    of_another = len(own) == 1 and task not in own
    given = "edges" in corpus.annotations and not of_another
    if not given and not any(_layer(task, document) for document in corpus.documents):
        also = "" if task == "spans" else ", or a spans file"
        raise CorpusError(
            f"the task {task} needs {known.needs}{also}, and this, read as {corpus.format}, has none",
            file=corpus.name,
        )
    texts = corpus if given else corpus.cut(passages) if task == "coreference" else corpus.sentences()
    edged = [replace(text, edges=edges_of(task, text, seed)) for text in texts.documents]
    kept = [at for at, text in enumerate(edged) if text.edges]
    if not kept:
        raise CorpusError(f"no text of it has a span for the task {task}", file=corpus.name)
    if known.paired is not None and known.paired != is_paired(edged[kept[0]]):
        wanted, came = ("pairs of spans", "single spans") if known.paired else ("single spans", "pairs of spans")
        raise CorpusError(f"the task {task} is of {wanted}, and this has {came}", file=corpus.name)
    return replace(texts, documents=tuple(edged)).only(kept)


def is_paired(text: Document | Corpus) -> bool:
    """Whether the edges of a text, or of the first text of a corpus, are pairs of spans."""
    edges = (text.documents[0] if isinstance(text, Corpus) else text).edges or ()
    return any(edge.second is not None for edge in edges[:1])


def edges_of(task: str, document: Document, seed: int = 0) -> tuple[Edge, ...]:
    """The edges of one text for a task: those it has, or those that its annotation makes."""
    _task(task)
    if document.edges is not None:
        return document.edges
    if task == "pos":
        tags = document.xpos or document.upos or ()
        return tuple(Edge(Span(at, at + 1), labels=(tag,)) for at, tag in enumerate(tags) if tag not in ("", "_"))
    if task == "dependencies" and document.governors and document.relations:
        return tuple(
            Edge(Span(at, at + 1), Span(governor, governor + 1), (relation,))
            for at, (governor, relation) in enumerate(zip(document.governors, document.relations, strict=True))
            if governor is not None and governor != ROOT
        )
    if task == "entities":
        return tuple(Edge(Span(start, stop), labels=(label,)) for start, stop, label in document.chunks or ())
    if task == "coreference":
        return tuple(_coreference(document, random.Random(f"{seed}\n{document.text}")))
    return ()


def passages(document: Document) -> Iterator[Document]:
    """A document in runs of neighbouring sentences of at most :data:`PASSAGE` words; a longer sentence is cut."""
    runs: list[list[int]] = []
    for first, last in document.sentences:
        for start in range(first, last, PASSAGE):
            stop = min(start + PASSAGE, last)
            if runs and start == first and stop - runs[-1][0] <= PASSAGE:
                runs[-1][1] = stop
            else:
                runs.append([start, stop])
    for number, (start, stop) in enumerate(runs, start=1):
        yield replace(document.slice(start, stop), name=f"{document.name}, passage {number}")


def _coreference(document: Document, draw: random.Random) -> Iterator[Edge]:
    mentions = sorted(document.mentions or (), key=lambda mention: (mention.start, mention.stop, mention.chain))
    by_end = sorted(range(len(mentions)), key=lambda place: mentions[place].stop)
    earlier = Earlier(len(mentions))
    nearest: dict[str, Mention] = {}
    for mention in mentions:
        while mentions[by_end[earlier.count]].stop <= mention.start:  # no mention ends before it begins itself
            place = by_end[earlier.count]
            ended = mentions[place]
            earlier.add(place, ended.chain)
            known = nearest.get(ended.chain)
            if known is None or (ended.stop, ended.start) > (known.stop, known.start):
                nearest[ended.chain] = ended
        if mention.chain not in nearest:
            continue
        yield _pair(mention, nearest[mention.chain], SAME)
        others = earlier.others(mention.chain)
        if others:
            yield _pair(mention, mentions[earlier.other(mention.chain, draw.choice(range(others)))], OTHER)


def _pair(later: Mention, earlier: Mention, label: str) -> Edge:
    return Edge(Span(later.start, later.stop), Span(earlier.start, earlier.stop), (label,))


def _layer(task: str, document: Document) -> bool:
    """Whether a document has the annotation that a task's edges are made of."""
    has = {
        "pos": document.xpos or document.upos,
        "dependencies": document.governors and document.relations,
        "entities": document.chunks is not None,
        "coreference": document.mentions is not None,
    }
    return bool(has.get(task))


def _task(name: str) -> EdgeTask:
    if name not in EDGE_TASKS:
        raise CorpusError(f"{name!r} is no task of edge probing; there are {', '.join(EDGE_TASKS)}")
    return EDGE_TASKS[name]


def _whole(task: str, source: Readable, format: str | None, seed: int) -> Corpus:
    """All of a corpus, whether it is a file, a folder, an archive or the sample."""
    place = _inner(source)
    if place == SAMPLE:
        return edges_in(task, read(place, format), seed)
    if member_names(place) is None:
        return _one(task, open_source(place), format, seed)
    if parts := _by_name(task, place, format, seed):
        return in_sequence(list(parts.values()), _name(place))
    return edges_in(task, read(place, format, unit=_unit(task, format, place)), seed)


def _by_name(task: str, place: Readable, format: str | None, seed: int) -> dict[str, Corpus]:
    """The parts of a folder or archive whose files' names tell them; nothing where they do not."""
    names = None if place == SAMPLE else member_names(place)
    if names is None or isinstance(place, Source):
        return {}
    files = part_files(names, place)
    if "train" not in files:
        return {}
    return {part: _one(task, open_member(place, name), format, seed) for part, name in files.items()}


def _one(task: str, source: Source, format: str | None, seed: int) -> Corpus:
    """The corpus of one file."""
    if not source.text.strip():
        raise source.error("there are no words in this file")
    format = sniff(source) if format is None else format
    own = formats()[format].tasks if format in formats() else ()
    if len(own) > 1 and task in own:
        return edges_in(task, read_as(formats()[format], source, {"task": task}), seed)
    return edges_in(task, read(source, format, unit=_unit(task, format, source)), seed)


def _unit(task: str, format: str | None, place: Readable) -> str | None:
    """Mentions of a treebank reach across its sentences, so its documents are wanted whole."""
    if task != "coreference":
        return None
    treebank = format == "conllu" or any(".conllu" in name for name in member_names(place) or ())
    return "document" if treebank else None


def _inner(source: Readable) -> Readable:
    """A folder that has nothing but one zip archive to read stands for that archive."""
    if isinstance(source, Source) or source == SAMPLE or not Path(source).is_dir():
        return source
    names = member_names(source) or []
    archives = [name for name in names if name.lower().endswith(".zip")]
    if len(archives) != 1 or part_files(names, source) or any(".conll" in name for name in names):
        return source
    return Path(source) / archives[0]


def _name(source: Readable) -> str:
    return source.name if isinstance(source, Source) else Path(source).resolve().name
