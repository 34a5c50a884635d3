"""A task, a model and a corpus that fit together, or one sentence about what does not.

A model offers a task if its checkpoint holds the weights of that head, not merely if its family has one, and if the
head knows the corpus's labels. What has nothing to predict is left out of the texts and counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus
from attlas.errors import CapabilityError, CorpusError, PlanError, TextError
from attlas.run.setting import Opening, Texts, as_corpus, as_subject, draw
from attlas.tasks import HEADS, make_task, require_score, require_task
from attlas.tasks.tagging import labels_of as tags_of
from attlas.tasks.tagging import wordwise
from attlas.text import cut_windows
from attlas.text.keyphrases import KEY

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.reading import Reading
    from attlas.tasks import Task
    from attlas.text import Document

LONGEST = 128  # pieces of a running text, where nothing else is said
WHOLE = {"tagging:keyphrases": 512}  # of tasks about the text as a whole
BEGINS = f"B-{KEY}"
_FORMATS = {
    "upos": "a CoNLL-U file has them",
    "xpos": "a CoNLL-U, CoNLL-2000 or CoNLL-2012 file has them",
    "chunks": "a CoNLL-2000 file, or one of words and B/I/O labels, has them",
    "keyphrases": "a file of JSON lines with texts and their key phrases has them",
    "label": "a tab-separated file with a column 'label', or sentiment trees, have them",
    "pair": "a tab-separated file with two columns of texts has them",
    "translation": (
        "give a bitext (source ||| target, or two columns with a tab between them), or the file of translations "
        "(--target)"
    ),
}
_NEEDS = {"translation": ("translation",), "classification": ("label",), "similarity": ("label", "pair")}
_NAMES = {
    "label": "labels of whole texts", "pair": "pairs of texts", "translation": "translations",
    "keyphrases": "key phrases",
}  # fmt: skip


def needs(task: str) -> tuple[str, ...]:
    """The layers that a corpus must have for a task."""
    return (task.split(":")[1],) if task.startswith("tagging:") else _NEEDS.get(task, ())


def require_layer(corpus: Corpus, task: str) -> None:
    """Refuse a corpus that lacks what a task needs: tags, labels, translations.

    >>> from attlas.corpora import read
    >>> from attlas.corpora.source import Source
    >>> require_layer(read(Source.of_text("It rained.", name="tale.txt")), "tagging:upos")
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: tale.txt: it has no upos, which the task tagging:upos needs; a CoNLL-U file has them
    """
    for layer in needs(task):
        if layer not in corpus.annotations:
            what = _NAMES.get(layer, layer)
            raise CorpusError(f"it has no {what}, which the task {task} needs; {_FORMATS[layer]}", file=corpus.name)
    if "keyphrases" in needs(task) and not any(BEGINS in labels_of(document, task) for document in corpus.documents):
        raise CorpusError("no key phrase occurs in any of its texts, not even by stems", file=corpus.name)


def longest_window(subject: Subject, task: str, asked: int | None = None) -> int:
    """How many pieces of a running text go through a model at once: as asked, or 128, or for key phrases 512, if the
    model's window holds them."""
    return asked or min(subject.pieces.window, WHOLE.get(task, LONGEST))


def fault(subject: Subject, task: str) -> str:
    """Why a model that is open does not offer a task; nothing where it does."""
    from attlas.ids import Stream

    head = HEADS[task]
    if head is None:
        return ""
    if subject.missing and subject.task_head is None:
        more = len(subject.missing) - 1
        rest = f" and {more} more" if more else ""
        return f"its checkpoint does not hold the weights of that head ({subject.missing[0]}{rest})"
    if subject.task_head != head:
        return "it was opened without that head"
    if task == "causal-lm" and subject.pieces.own is not Stream.DECODER:
        return "it reads in both directions, so that the next piece is no secret to it"
    if task == "masked-lm" and subject.pieces.own is Stream.DECODER:
        return "it does not see what comes after a masked piece"
    return ""


def open_for_task(
    model: Subject | Opening | str | Path | None,
    task: str,
    corpus: Corpus,
    *,
    score: str | None = None,
    **opening: Any,
) -> Subject:
    """Open a model with the head of a task, or take one that is open, and refuse it if the task cannot be put to it;
    before that, refuse a ``score`` that the task does not have.

    >>> from attlas.corpora import read
    >>> open_for_task(None, "tagging:upos", read("sample"))
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2 cannot be put to the task tagging:upos: its checkpoint ...
    """
    require_score(task, score)
    require_layer(corpus, task)
    named = model is None or isinstance(model, str | Path | Opening)
    return checked(as_subject(model, **({"task_head": HEADS[task] or "none"} if named else {}), **opening), task)


def checked(subject: Subject, task: str) -> Subject:
    """Make sure that a model that is open already can be put to a task."""
    require_task(task)
    why = fault(subject, task)
    if why:
        raise CapabilityError(
            f"{subject.name} cannot be put to the task {task}: {why}; train one with "
            f"attlas tune DATA --task {task} --model {subject.name} --out FOLDER, and give that folder"
        )
    return subject


def task_for(subject: Subject, task: str, corpus: Corpus, *, seed: int = 0, score: str | None = None) -> Task:
    """The task for a model, after a look at whether its labels are those of the corpus."""
    checked(subject, task)
    require_layer(corpus, task)
    labels = Counter(label for document in corpus.documents for label in labels_of(document, task))
    if task == "similarity" and (words := [label for label in labels if not is_number(label)]):
        raise CorpusError(f"its label {words[0]!r} is no number, which the task {task} needs", file=corpus.name)
    made = make_task(subject, task, seed=seed, score=score, labels=list(labels))
    known = _known(made)
    if known is not None and not sum(count for label, count in labels.items() if label in known):
        raise CapabilityError(
            f"the labels of {corpus.name} ({_some(labels)}) are not those that the head of {subject.name} knows "
            f"({_some(subject.labels)}); give a corpus with these, or train a head for the others "
            f"(attlas tune --task {task})"
        )
    return made


def apart(corpus: Corpus, other: Texts | None, task: str, *, seed: int = 0) -> tuple[Corpus, Corpus]:
    """Texts to choose on and texts to score on: another corpus and this one, or two halves of this one."""
    if other is None:
        return corpus.halves(seed)
    found = as_corpus(other)
    require_layer(found, task)
    if found.sha256 and found.sha256 == corpus.sha256:
        raise PlanError(
            f"{found.name} holds the very texts that are scored; give others to choose on, or leave it out and one "
            "half of the documents is taken"
        )
    return found, corpus


def labels_of(document: Document, task: str) -> list[str]:
    """All labels of a document that a task is about: of the text, or of its words."""
    if task.startswith("tagging:"):
        return [tag for tag in tags_of(document, task.split(":")[1]) or () if tag]
    if "label" in needs(task):
        return [] if document.label is None else [document.label]
    return []


def read_for_task(
    task: Task,
    corpus: Corpus,
    *,
    max_pieces: int | None = None,
    long: str = "cut",
    pairs: bool = False,
    limit: int | None = None,
    seed: int = 0,
) -> Reading:
    """The examples of a corpus that have something to predict; what is left out is counted.

    Running text is cut into windows (``max_pieces``: 128 by default, for key phrases 512). A text with a label is one
    example: of a longer one than the model's window (or ``max_pieces``) the beginning is kept, with the label, or it
    is refused or left out, as ``long`` says.

    >>> from attlas.capture import load
    >>> from attlas.tasks import Tagging
    >>> from attlas.corpora import read
    >>> reading = read_for_task(Tagging(load(), "upos", tags=["NOUN", "VERB"]), read("sample"), limit=5)
    >>> len(reading.examples)
    5
    """
    from attlas.capture.reading import read_documents

    subject = task.subject
    if needs(task.name)[:1] == ("label",):
        reading = _labelled(task, corpus, max_pieces, long)
    else:
        pieces = longest_window(subject, task.name, max_pieces)
        reading = read_documents(
            subject, corpus.documents, articles=corpus.articles, limit=pieces, pairs=pairs, long=long
        )
    why, useful = _useful(task)
    known = _known(task)
    if known is not None and task.name.startswith("tagging:"):
        tags = (tag for example in reading.examples for tag in wordwise(example, task.name.split(":")[1]))
        reading.skipped["words whose label the model does not know"] += sum(bool(t) and t not in known for t in tags)
    kept = [example for example in reading.examples if useful(example)]
    reading.skipped[why] += len(reading.examples) - len(kept)
    reading.keep(kept)
    reading.skipped = +reading.skipped
    if not kept:
        reasons = "; ".join(f"{reason}: {count}" for reason, count in reading.skipped.items())
        raise CorpusError(f"nothing is left for the task {task.name} ({reasons})", file=corpus.name)
    return draw(reading, limit, seed)


def _labelled(task: Task, corpus: Corpus, max_pieces: int | None, long: str) -> Reading:
    """Texts that have a label, one example each; the two of a pair together, unless each is to have a vector of its
    own."""
    from attlas.capture.reading import Reading, check_long
    from attlas.text import Passage

    check_long(long)
    subject, reading = task.subject, Reading()
    limit = min(max_pieces or subject.pieces.window, subject.pieces.window)
    apart = task.name == "similarity"
    if not apart and subject.pieces.translating and "pair" in corpus.annotations:
        raise CapabilityError(
            f"{subject.name} reads a second text as a translation; choose a model without a decoder"
        )
    documents = [document for document in corpus.documents if document.label is not None]
    reading.skipped["without a label"] += len(corpus.documents) - len(documents)
    made = subject.pieces.encode_all([Passage(d) if apart else Passage(d, d.pair) for d in documents])
    for unit, (document, example) in enumerate(zip(documents, made, strict=True)):
        length = example.length
        if apart and document.pair is not None:
            length = max(length, subject.pieces.length(document.pair))
        if length <= limit:
            reading.examples.append(replace(example, unit=unit))
        elif long == "refuse":
            raise TextError(
                f"{document.name or 'a text'} has {length} pieces and {limit} are allowed; shorten it, or let it be "
                "cut (--long cut)"
            )
        elif long == "skip" or (shorter := _beginning(subject, document, limit, apart=apart)) is None:
            reading.skipped[f"longer than {limit} pieces"] += 1
        else:
            reading.skipped[f"longer than {limit} pieces, of which the beginning was kept"] += 1
            passage = Passage(shorter) if apart else Passage(shorter, shorter.pair)
            reading.examples.append(replace(subject.pieces.encode(passage), unit=unit))
    return reading


def _beginning(subject: Subject, document: Document, limit: int, *, apart: bool) -> Document | None:
    """The beginning of a labelled text that fits, with its label; of a pair that is read together, of both texts as
    much as leaves room for the other; None where not even a word fits."""
    from attlas.text import Passage

    def fitting(pieces: int) -> Document | None:
        try:
            cut = cut_windows(document, subject.pieces.length, pieces).documents[0]
            pair = document.pair and cut_windows(document.pair, subject.pieces.length, pieces).documents[0]
        except TextError:
            return None
        return replace(cut, label=document.label, pair=pair)

    if apart or document.pair is None:
        return fitting(limit)
    best, low, high = None, 0, limit  # of the room that each of the two may have, the largest that fits
    while low < high:
        room = (low + high + 1) // 2
        cut = fitting(room)
        if cut is not None and subject.pieces.encode(Passage(cut, cut.pair)).length > limit:
            high = room - 1
        else:
            best, low = cut or best, room
    return best


def _useful(task: Task) -> tuple[str, Any]:
    """What makes an example one that has something to predict, and what is said of the others."""
    name, known = task.name, _known(task) or ()
    if name == "translation":
        return "without a translation", lambda example: example.target is not None
    if name.startswith("tagging:"):
        layer = name.split(":")[1]
        return f"without a word that has {layer}", lambda example: any(t in known for t in wordwise(example, layer))
    if name == "classification":
        return "with a label that the model does not know", lambda example: example.passage.first.label in known
    if name == "similarity":
        return "without a second text", lambda example: example.passage.first.pair is not None
    return "of a single piece, so that nothing can be predicted", lambda example: example.source.length > 1


def _known(task: Task) -> frozenset[str] | None:
    """The labels that a task can tell apart; None where it has none."""
    labels = getattr(task, "tags", getattr(task, "known", None))
    return None if labels is None else frozenset(labels)


def is_number(label: str) -> bool:
    """Whether a label is a number, on a scale.

    >>> is_number("4.5"), is_number("good")
    (True, False)
    """
    try:
        float(label)
    except ValueError:
        return False
    return True


def _some(labels: Any, most: int = 4) -> str:
    shown = list(labels)
    return ", ".join(shown[:most]) + (" ..." if len(shown) > most else "")
