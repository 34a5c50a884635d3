"""Every word of a document gets a weight: what chosen heads let it receive.

A document is cut into windows that the model can take. In each, what words receive from a head is divided by its mean
over the words there, so that 1 is an average word whatever the window's length and whatever the head; the weight is
the mean over the chosen heads. A word without a piece of its own has weight 0. Documents are taken some at a time,
so that windows of like length go through the model together; no more than one batch of attention is ever in memory,
so neither long documents nor many are a matter of space. The model is left as soon as the highest layer that is asked
for has attended: what it would do then is not needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from attlas.capture import Fold, Subject
from attlas.capture.instruments import finite
from attlas.capture.measuring import require_measure
from attlas.capture.selection import Selection
from attlas.errors import PlanError, TextError
from attlas.ids import Site, Stream
from attlas.measures.received import received_by_call
from attlas.measures.words import group
from attlas.models import AttentionCall, Example
from attlas.run.batches import batches
from attlas.studies.shared.keywords.choice import Choice
from attlas.text import Document, Passage, Span
from attlas.text.windows import window_spans

Numbers = NDArray[np.float32]
DOCUMENTS, WORDS = 256, 50_000  # documents that are cut and sorted by length together, and words of them
WINDOWS = 64  # windows that are in memory as pieces
BUDGET = 4096  # pieces of a batch, where nothing is known of the device
BUDGETS = {"cpu": 1024, "cuda": 16_384}  # a processor is fastest with what stays in its cache


class Weighed(NamedTuple):
    """A document, the weight of each of its words, and into how many windows it was cut."""

    document: Document
    weights: Numbers
    windows: int


class Kind(NamedTuple):
    """One way to read what a word receives: by which measure, and over queries by mean or max.

    >>> str(Kind("norm", "mean"))
    'norm, mean'
    """

    measure: str
    over: str

    def __str__(self) -> str:
        return f"{self.measure}, {self.over}"


class _Enough(Exception):
    """All layers that were asked for have attended."""


KINDS = tuple(Kind(measure, over) for measure in ("weight", "norm") for over in ("mean", "max"))


def kind_named(name: str) -> Kind:
    """A kind of attention by its name, such as "norm-mean"; refused where there is none.

    >>> kind_named("norm-mean").over
    'mean'
    """
    names = {f"{kind.measure}-{kind.over}": kind for kind in KINDS}
    if name not in names:
        raise PlanError(f"{name!r} is no kind of attention; choose one of {', '.join(names)}")
    return names[name]


def received_by_words(
    subject: Subject,
    examples: Sequence[Example],
    kinds: Sequence[Kind] = KINDS,
    heads: Mapping[int, Sequence[int]] | None = None,
) -> list[Numbers]:
    """What the words of each example receive, (kind, layer, head, word), or with ``heads`` (the heads of each layer
    that is wanted) (kind, head, word) in their order. One forward pass; encoder-decoders read with their encoder."""
    stream = subject.pieces.own
    for kind in kinds:
        require_measure(subject, kind.measure)
    batch = subject.pieces.batch(examples, subject.device)
    segmentations = [example.source.segmentation for example in examples]
    words = group(segmentations, batch.inputs["input_ids"].shape[1], device=subject.device)
    taken: dict[int, torch.Tensor] = {}
    last = None if heads is None else max(heads)
    wanted_sites = None if heads is None else [Site(stream, layer) for layer in heads]

    def take(call: AttentionCall) -> None:
        lengths = subject.lengths(call) if any(kind.measure == "norm" for kind in kinds) else None
        wanted = slice(None) if heads is None else _picked(heads[call.site.layer], subject.heads(call.site))
        causal = stream is Stream.DECODER
        parts = [
            received_by_call(
                call, words, kind.over, lengths=lengths if kind.measure == "norm" else None, causal=causal
            )
            for kind in kinds
        ]
        found = finite(torch.stack(parts, 1), call.site)  # (batch, kind, head, word)
        taken[call.site.layer] = found[:, :, wanted]
        if call.site.layer == last:
            raise _Enough

    with torch.no_grad(), subject.use(Fold(take, Selection((stream,), wanted_sites))), suppress(_Enough):
        subject.read(batch)
    if heads is None:
        subject.shape(stream)  # refuses layers that differ in their heads
        whole = torch.stack([taken[layer] for layer in sorted(taken)], 2)
    else:
        whole = torch.cat([taken[layer] for layer in heads], 2)
    rows = whole.cpu().numpy()
    return [rows[row, ..., : one.word_count] for row, one in enumerate(segmentations)]


def _picked(heads: Sequence[int], count: int) -> slice | list[int]:
    """These heads of a layer; a slice where they are all of them, which copies nothing."""
    return slice(None) if list(heads) == list(range(count)) else list(heads)


def relative(values: Numbers) -> Numbers:
    """What words receive, (..., word), divided by its mean over the words; 0 where nothing is received at all."""
    mean = values.mean(-1, keepdims=True)
    found: Numbers = np.divide(values, mean, out=np.zeros_like(values), where=mean > 0)
    return found


def weigh(
    subject: Subject, documents: Iterable[Document], choice: Choice, *, max_pieces: int | None = None,
    budget: int | None = None, start: int = 0,
) -> Iterator[Weighed]:  # fmt: skip
    """Documents with the weights of their words, in their order, from the one of number ``start`` on, to the bits
    that they have when all are weighed. ``budget`` is how many pieces go through the model together, with padding;
    what suits the device if left out."""
    most, before = budget or usual_budget(subject), 0
    for some in _together(documents):
        done = min(max(start - before, 0), len(some))
        before += len(some)
        if done == len(some):
            continue
        spans = [list(_spans(subject, document, max_pieces)) for document in some]
        windows = [(document, span) for document, each in zip(some, spans, strict=True) for span in each]
        first = sum(map(len, spans[:done]))
        weights = iter(_weighed(subject, windows, choice, most, first)[first:])
        for document, each in zip(some[done:], spans[done:], strict=True):
            yield Weighed(document, np.concatenate(list(islice(weights, len(each)))), len(each))


def usual_budget(subject: Subject) -> int:
    """How many pieces suit the device that a model is on.

    >>> from attlas.capture import load
    >>> usual_budget(load())
    1024
    """
    return BUDGETS.get(subject.device.type, BUDGET)


def cut(subject: Subject, document: Document, max_pieces: int | None = None) -> list[Document]:
    """The windows of a document that a model can take, which together have all its words.

    >>> from attlas.capture import load
    >>> [window.text for window in cut(load(), Document.from_text("It rained. We stayed in."), 6)]
    ['It rained.', 'We stayed in.']
    """
    return [_window(document, span) for span in _spans(subject, document, max_pieces)]


def _spans(subject: Subject, document: Document, max_pieces: int | None) -> Iterator[Span]:
    """The windows of a document, as ranges of its words."""
    if not document.words:
        raise TextError(f"{document.name or 'the text'} has no words; give a text with at least one")
    return window_spans(document, subject.pieces.length, window_of(subject, max_pieces))


def window_of(subject: Subject, max_pieces: int | None = None) -> int:
    """How many pieces a window holds: as many as are asked for, or as the model can take.

    >>> from attlas.capture import load
    >>> window_of(load()), window_of(load(), 128)
    (512, 128)
    """
    room = subject.pieces.window
    if max_pieces is not None and max_pieces > room:
        raise TextError(
            f"{max_pieces} pieces are asked for and the window of {subject.name} holds {room}; ask for fewer"
        )
    return max_pieces or room


def _window(document: Document, span: Span) -> Document:
    return document if span.length == len(document.words) else document.slice(*span)


def _together(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents, some at a time: no more than so many, and no more words than one document brings beyond the most."""
    some: list[Document] = []
    words = 0
    for document in documents:
        some.append(document)
        words += len(document.words)
        if len(some) == DOCUMENTS or words >= WORDS:
            yield some
            some, words = [], 0
    if some:
        yield some


def _weighed(
    subject: Subject, windows: Sequence[tuple[Document, Span]], choice: Choice, budget: int, first: int
) -> list[Numbers]:
    """The weights of windows, in batches of like length; of batches that hold none from the ``first`` on nothing.
    Batches are the same whatever is left out, as the last digits of a weight come with what it is computed beside."""
    kinds = [Kind(choice.measure, choice.over)]
    found: list[Numbers] = [np.zeros(0, np.float32)] * len(windows)
    order = sorted(range(len(windows)), key=lambda index: -windows[index][1].length)
    for start in range(0, len(order), WINDOWS):
        block = order[start : start + WINDOWS]
        encoded = subject.pieces.encode_all([Passage(_window(*windows[index])) for index in block])
        for some in batches([example.length for example in encoded], budget):
            if all(block[at] < first for at in some):
                continue
            every = received_by_words(subject, [encoded[at] for at in some], kinds, choice.layers)
            for at, values in zip(some, every, strict=True):
                found[block[at]] = relative(values[0]).mean(0)
    return found
