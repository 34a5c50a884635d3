"""Word alignment from attention: which source word does each target word look at? (Kobayashi et al., section 5.)

A translation model reads a sentence and is made to write its reference translation. Its cross attention is read from
two *sides*: with **output**, in the row of the query that predicts a target piece (one place before it); with
**input**, in the row of the query that reads it. An encoder that reads both sentences at once has two blocks of
self-attention between them instead: **to source**, the rows of target pieces, and **to target**, those of source
pieces, whose links are turned round. By *weight*, or by *norm*; for each head, and for all heads of a layer together:
weights averaged, or joint norms.

Pieces become words: the pieces of an attended word are summed, those of an attending one averaged. Then every
attending word picks the best word of the other sentence. The pieces outside words (the end of the sentence, [CLS],
[SEP]) compete each for itself, and a word that picks one of them has no link; nor has a word without a piece of its
own. Pieces of a word's own sentence do not compete: a translation is sought, and they are none.

Every batch is reduced at the seam. What stays of a pair of sentences is the word that each word picks by each layer,
the four counts that scores are made of, and sums of norms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.capture import Fold, Selection, Subject
from attlas.capture.instruments import finite
from attlas.errors import CapabilityError
from attlas.ids import HeadId, Stream
from attlas.measures.names import MEASURES
from attlas.models import AttentionCall, Batch, Example
from attlas.stats import Bundle, Ledger, PooledMean
from attlas.studies.align.tables import Chosen, Method
from attlas.text import Document, Segmentation
from attlas.text.links import Pairs

SIDES = {Stream.CROSS: ("output", "input"), Stream.ENCODER: ("to source", "to target")}
NOTHING = -1  # where a word picks no word
Numbered = tuple[int, Example]


def check_stream(asked: Stream | str) -> None:
    """Refuse a stream in which no words of two sentences meet.

    >>> check_stream("cross")
    """
    known = [stream.value for stream in SIDES]
    if asked not in known:
        raise CapabilityError(f"{asked} attention joins no two sentences; choose {' or '.join(known)}")


def check_side(side: str) -> None:
    """Refuse a side that no attention between two sentences has.

    >>> check_side("input")
    """
    known = [side for sides in SIDES.values() for side in sides]
    if side not in known:
        raise CapabilityError(f"there is no side {side!r}; choose {', '.join(known)}")


def stream_for(subject: Subject, asked: Stream | str | None = None) -> Stream:
    """The stream that shows how words of two sentences meet: the one asked for, or what the model has.

    >>> from attlas.capture import load
    >>> stream_for(load())
    <Stream.ENCODER: 'encoder'>
    >>> stream_for(load(), "cross")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2 has no cross attention; it reads two sentences at once, so its
    self-attention between them can be aligned instead (--stream encoder, or leave it out)
    """
    crossing, pairing = Stream.CROSS in subject.streams, subject.pieces.pairs
    if asked is not None:
        check_stream(asked)
    wanted = Stream(asked) if asked is not None else Stream.CROSS if crossing else Stream.ENCODER
    if (wanted is Stream.CROSS and crossing) or (wanted is Stream.ENCODER and pairing):
        return wanted
    if crossing:
        raise CapabilityError(
            f"the encoder of {subject.name} reads one sentence at a time; its cross attention can be aligned instead "
            "(--stream cross, or leave it out)"
        )
    lack = "has no cross attention" if wanted is Stream.CROSS else "does not read two sentences at once"
    if pairing:
        raise CapabilityError(
            f"{subject.name} {lack}; it reads two sentences at once, so its self-attention between them can be "
            "aligned instead (--stream encoder, or leave it out)"
        )
    if Stream.DECODER in subject.streams:
        lack = "reads a single text from left to right, without cross attention"
    raise CapabilityError(
        f"{subject.name} {lack}; alignment needs a translation model (encoder and decoder), or an encoder that reads "
        "two sentences at once"
    )


class Alignment:
    """What is summed: ``documents`` are sentences with their translations, of which it is handed numbered examples.

    ``heads`` are those whose links are kept beside the layers'; ``compete`` says whether the pieces outside words may
    be picked. Where any document has gold links, what was picked is counted against them at once.

    >>> from attlas.capture import load
    >>> texts = [Document.from_words(["Hi"], translation=Document.from_words(["Hallo", "!"]))]
    >>> study = Alignment(load(), texts)
    >>> len(study.methods), study.kept["to source"][:2]
    (312, [Method(measure='weight', side='to source', layer=0, head=None), ...])
    """

    name = "align"

    def __init__(
        self,
        subject: Subject,
        documents: Sequence[Document],
        *,
        stream: Stream | None = None,
        heads: Sequence[HeadId] = (),
        compete: bool = True,
    ) -> None:
        subject.require("norms")
        self.subject, self.compete = subject, compete
        self.stream = stream_for(subject, stream)
        self.sides = SIDES[self.stream]
        self.heads = [count for site, count in subject.layout.heads.items() if site.stream is self.stream]
        self.sizes = [(len(text.words), len(_translation(text).words)) for text in documents]
        self.scored = any(text.links is not None for text in documents)
        self.methods = [
            Method(measure, side, layer, head)
            for measure in MEASURES
            for side in self.sides
            for layer, count in enumerate(self.heads)
            for head in (None, *range(count))
        ]
        places = [(layer, None) for layer in range(len(self.heads))] + [(head.layer, head.head) for head in heads]
        self.kept = {
            side: [Method(measure, side, *place) for measure in MEASURES for place in places] for side in self.sides
        }
        self._index = {method: number for number, method in enumerate(self.methods)}
        self._starts = {
            side: [0, *accumulate(size[self.picking(side)] for size in self.sizes)] for side in self.sides
        }

    @staticmethod
    def picking(side: str) -> int:
        """The side whose words pick: 1 the target's, 0 the source's."""
        return 0 if side == "to target" else 1

    def empty(self) -> Bundle:
        """A bundle that has seen nothing."""
        parts: dict[str, Any] = {
            "linked": PooledMean((len(self.methods),)),
            "norms": PooledMean((len(self.sides), len(self.heads), 1 + max(self.heads))),
        }
        for side in self.sides:
            parts[f"links {side}"] = Ledger(self._starts[side][-1], (len(self.kept[side]),))
        if self.scored:
            parts["marks"] = Ledger(len(self.sizes), (len(self.methods), 4))
        return Bundle(parts)

    def update(self, bundle: Bundle, batch: Sequence[Numbered]) -> None:
        """Take a batch of numbered pairs through the model."""
        if not batch:
            return
        made = self.subject.pieces.batch([example for _, example in batch], self.subject.device)
        pass_ = _Pass(self, made, batch)
        with torch.no_grad(), self.subject.use(Fold(pass_.take, Selection(streams={self.stream}))):
            self.subject.read(made)
        pass_.give(bundle)

    def picks(self, bundle: Bundle, side: str) -> Chosen:
        """What every word of the picking side picks, (word, kept method); the words of all pairs in a row."""
        ledger = bundle[f"links {side}"]
        assert isinstance(ledger, Ledger)
        return np.nan_to_num(ledger.result(), nan=NOTHING).astype(np.int64)

    def links(self, picks: Chosen, method: Method) -> list[Pairs]:
        """The links of all pairs by one of the kept methods, as (source word, target word)."""
        picked = picks[:, self.kept[method.side].index(method)]
        starts, picking = self._starts[method.side], self.picking(method.side)
        return [
            frozenset(
                (int(other), own) if picking else (own, int(other))
                for own, other in enumerate(picked[start:stop])
                if other != NOTHING
            )
            for start, stop in pairwise(starts)
        ]

    def marks(self, bundle: Bundle) -> NDArray[np.float64]:
        """Four counts for every pair and method, (pair, method, 4): picked and sure, picked and possible, picked,
        sure. They are there if there is gold."""
        ledger = bundle["marks"]
        assert isinstance(ledger, Ledger)
        return np.nan_to_num(ledger.result())

    def number(self, method: Method) -> int:
        """The place of a method among all."""
        return self._index[method]


@dataclass(frozen=True)
class _Block:
    """Who picks among whom in one side: ``rows`` averages queries into words, (text, word, query); ``columns``
    sums keys into ``words`` words and, behind these, each piece that competes with them, (text, key, column)."""

    rows: Tensor
    columns: Tensor
    words: int

    @property
    def there(self) -> tuple[Tensor, Tensor]:
        """Which words have a piece of their own, and which columns have one."""
        return self.rows.any(-1), self.columns.any(1)


class _Pass:
    """One forward pass."""

    def __init__(self, study: Alignment, made: Batch, batch: Sequence[Numbered]) -> None:
        self.study, self.batch = study, batch
        self.blocks = [self._block(side, made) for side in study.sides]
        words = [block.rows.shape[1] for block in self.blocks]
        shape = (len(batch), len(study.methods) // len(study.sides))
        self.picked = [np.full((*shape, count), NOTHING, dtype=np.int64) for count in words]
        self.sums = np.zeros((len(batch), len(study.sides), len(study.heads), 1 + max(study.heads)))

    def take(self, call: AttentionCall) -> None:
        """Turn one layer's weights and norms into what each word picks."""
        subject, layer = self.study.subject, call.site.layer
        weights = finite(call.weights(), call.site).float()
        norms = torch.cat([subject.joint(call)[:, None], weights * subject.lengths(call)[:, :, None]], 1)
        weights = torch.cat([weights.mean(1, keepdim=True), weights], 1)
        first = layer + sum(self.study.heads[:layer])  # each layer before it has one more than heads
        per_measure = len(self.study.heads) + sum(self.study.heads)
        for number, block in enumerate(self.blocks):
            real, present = block.there
            for place, values in enumerate((weights, norms)):
                between = block.rows[:, None] @ values @ block.columns[:, None]
                best = between.masked_fill(~present[:, None, None], -1.0).argmax(-1)
                best = best.masked_fill((best >= block.words) | ~real[:, None], NOTHING)
                start = place * per_measure + first
                self.picked[number][:, start : start + best.shape[1]] = best.cpu().numpy()
            asked, answering = block.rows.any(1).float(), block.columns.any(2).float()
            sums = torch.einsum("bq,bhqk,bk->bh", asked, norms, answering)
            self.sums[:, number, layer, : sums.shape[1]] = sums.double().cpu().numpy()

    def give(self, bundle: Bundle) -> None:
        """Enter links, counts and sums of norms."""
        study = self.study
        numbers = [number for number, _ in self.batch]
        met = [block.rows.any(1).sum(1) * block.columns.any(2).sum(1) for block in self.blocks]
        counts = torch.stack(met, 1).double().cpu().numpy()[..., None, None]
        bundle["norms"].update(self.sums * (counts > 0), counts, numbers)
        marks = np.zeros((len(self.batch), len(study.methods), 4))
        words = np.zeros((len(self.batch), len(study.methods)))
        for number, side in enumerate(study.sides):
            where = [study.number(method) for method in study.methods if method.side == side]
            columns = [where.index(study.number(method)) for method in study.kept[side]]
            picking, starts = study.picking(side), study._starts[side]
            for row, (pair, example) in enumerate(self.batch):
                size = study.sizes[pair]
                picked = self.picked[number][row, :, : size[picking]]
                bundle[f"links {side}"].update(
                    np.arange(starts[pair], starts[pair + 1]), picked[columns].T.astype(np.float64)
                )
                marks[row, where] = _marks(picked, example.passage.first, size, picking)
                words[row, where] = size[picking]
        bundle["linked"].update(marks[..., 2], words, numbers)
        if study.scored:
            bundle["marks"].update(numbers, marks)

    def _block(self, side: str, made: Batch) -> _Block:
        queries, keys = made.queries(self.study.stream), made.keys(self.study.stream)
        assert queries is not None
        assert keys is not None
        rows, columns = [], []
        for row, (pair, _) in enumerate(self.batch):
            asking, answering = queries.encoded[row].segmentation, keys.encoded[row].segmentation
            source = self.study.sizes[pair][0]
            rows.append(_asking(asking, side, source))
            columns.append(_answering(answering, side, source, self.study.compete))
        picking = self.study.picking(side)
        sizes = [self.study.sizes[pair] for pair, _ in self.batch]
        own, other = max(size[picking] for size in sizes), max(size[1 - picking] for size in sizes)
        device = self.study.subject.device
        averaging = torch.zeros(len(rows), own, queries.real.shape[1])
        competing = max(sum(column == NOTHING for _, column in text) for text in columns)
        summing = torch.zeros(len(rows), keys.real.shape[1], other + competing)
        for row, (asked, answers) in enumerate(zip(rows, columns, strict=True)):
            for place, word in asked:
                averaging[row, word, place] = 1.0
            outside = other
            for place, word in answers:
                summing[row, place, outside if word == NOTHING else word] = 1.0
                outside += word == NOTHING
        averaging /= averaging.sum(-1, keepdim=True).clamp(min=1)
        return _Block(averaging.to(device), summing.to(device), other)


def _asking(queries: Segmentation, side: str, source: int) -> list[tuple[int, int]]:
    """The query that is asked for each piece of a picking word: (query, word)."""
    if side == "to source":  # words of the second text count on from those of the first
        return [(place, word - source) for place, word in enumerate(queries.words) if word >= source]
    if side == "to target":
        return [(place, word) for place, word in enumerate(queries.words) if 0 <= word < source]
    before = side == "output"  # the piece is predicted where the one before it is read
    return [(place - before, word) for place, word in enumerate(queries.words) if word >= 0]


def _answering(keys: Segmentation, side: str, source: int, compete: bool) -> list[tuple[int, int]]:
    """The keys that may be picked: (key, word), with -1 for a piece that is in no word and competes for itself."""
    found = []
    for place, (word, document) in enumerate(zip(keys.words, keys.documents, strict=True)):
        if side in SIDES[Stream.ENCODER] and document == (1 if side == "to source" else 0):
            continue  # of the picking word's own sentence
        if word >= 0:
            found.append((place, word - source if side == "to target" else word))
        elif compete:
            found.append((place, NOTHING))
    return found


def _marks(picked: Chosen, text: Document, size: tuple[int, int], picking: int) -> NDArray[np.float64]:
    """Counts (method, 4) of what was picked, (method, word), against the gold of a pair, if it has any."""
    linked = picked != NOTHING
    found = np.zeros((len(picked), 4))
    found[:, 2] = linked.sum(1)
    if text.links is not None:
        for column, links in enumerate((text.links.sure, text.links.possible)):
            gold = np.zeros(size, dtype=bool)
            if links:
                gold[tuple(np.array(sorted(links)).T)] = True
            gold = gold.T if picking else gold  # (picking word, picked word)
            hit = gold[np.arange(picked.shape[1])[None], np.maximum(picked, 0)] & linked
            found[:, column] = hit.sum(1)
        found[:, 3] = len(text.links.sure)
    return found


def _translation(document: Document) -> Document:
    if document.translation is None:
        raise CapabilityError(f"{document.name or 'a document'} has no translation to align it with")
    return document.translation
