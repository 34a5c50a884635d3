"""Coreference by head: does the head word of a mention attend most to the head word of one of its antecedents?

Following Clark et al. (2019), with words made of pieces as they do (attention to a word is the sum over its pieces,
from a word the mean), every attention head is asked, for every mention that has an antecedent in its window, which of
the candidates it prefers: the one that the mention's head word attends most to (direction "to"), or the one that
attends most to it ("from"; not asked of a causal model, in which nothing attends to what comes later). Special pieces
are never chosen. A head that gives no candidate anything, because it may see none, has chosen wrongly. With norms,
||alpha f(x)|| takes the place of alpha, every row divided by its sum.

Who is asked, what is right and which candidates there are, is told in :mod:`attlas.studies.coref.mentions`; what
heads are compared with, in :mod:`attlas.studies.coref.sieves`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.capture import Subject
from attlas.capture.instruments import Finite
from attlas.capture.measuring import measured, require_measure, row_shares
from attlas.ids import Stream
from attlas.measures.words import Grouping, between_words, group
from attlas.models import AttentionCall, Batch, Example, Landing, Side, onto
from attlas.stats import Bundle, Largest, PooledMean
from attlas.studies.coref.mentions import CANDIDATES, KINDS, Question
from attlas.studies.coref.sieves import BASELINES, baselines_right
from attlas.studies.shared.piece_classes import padded
from attlas.studies.shared.reducing import on_grid, together
from attlas.studies.shared.watching import Pass, Watcher

DIRECTIONS = ("to", "from")
RIVALS = ("nearest", "head match")  # the baselines that every head is tested against
OUTCOMES = ("right where the simple rules fail", "right", "wrong")
KEPT = 12  # cases of each kind and outcome


@dataclass(frozen=True)
class Window(Example):
    """A part of a document that goes through the model at once, with its question; ``number`` is its place among all
    windows, ``unit`` that of its document."""

    question: Question = field(kw_only=True)
    number: int = field(kw_only=True)


class Choice(NamedTuple):
    """A head in one direction."""

    layer: int
    head: int
    direction: int


Chosen = Mapping[tuple[int, int], Choice]  # by set of candidates and kind


class Coref(Watcher):
    """The study of one model. With ``chosen`` (one head for each set of candidates and kind, chosen on other texts)
    everything is counted document by document, with the baselines on the same mentions and the surest cases.

    >>> from attlas.capture import load
    >>> study = Coref(load())
    >>> study.directions, study.cells, sorted(study.empty())
    (('to', 'from'), (6, 12, 2, 3, 4), ['heads'])
    """

    name = "coref"

    def __init__(self, subject: Subject, *, measure: str = "weight", chosen: Chosen | None = None) -> None:
        self.subject, self.chosen = subject, chosen
        self.measure = require_measure(subject, measure)
        self.stream = subject.pieces.own
        self.grid = subject.grid(self.stream)
        self.directions = DIRECTIONS if self.stream is Stream.ENCODER else DIRECTIONS[:1]

    @property
    def cells(self) -> tuple[int, ...]:
        """Layers, heads, directions, sets of candidates, kinds."""
        return (*self.grid.shape, len(self.directions), len(CANDIDATES), len(KINDS))

    def empty(self) -> Bundle:
        """All heads; where some were chosen unit by unit, with baselines, chance and cases."""
        if self.chosen is None:
            return Bundle({"heads": PooledMean(self.cells, blocks=1)})
        return Bundle(
            {
                "heads": PooledMean(self.cells),
                "baselines": PooledMean((len(BASELINES), len(KINDS))),
                "chance": PooledMean((len(CANDIDATES), len(KINDS))),
                "cases": Largest(cells=(len(KINDS) - 1) * len(OUTCOMES), keep=KEPT, width=3),
            }
        )

    def begin(self, made: Batch, batch: Sequence[Example]) -> _Pass:
        """Open a pass over a batch of windows."""
        return _Pass(self, made, [window for window in batch if isinstance(window, Window)])


class _Asked:
    """The questions of all windows of a batch, laid out for its weights: which pieces, which words, what is right.

    Mentions that are asked for, and the head words that may be chosen, are filled up to as many as any window has.
    """

    def __init__(self, questions: Sequence[Question], side: Side, *, causal: bool) -> None:
        device = side.real.device
        segmentations = [encoded.segmentation for encoded in side.encoded]
        whole = group(segmentations, side.real.shape[1], side.starts, device)
        self.words = Grouping(whole.members[:, :-1], whole.present)  # special pieces are never chosen
        heads, known = _filled([question.head_words for question in questions])
        texts = onto(np.arange(len(questions))[:, None], device)
        members = self.words.members[texts, onto(heads, device)] * onto(known, device)[..., None]
        self.head_words = Grouping(members, onto(known, device))
        allowed = [question.allowed(causal=causal) for question in questions]
        answers, kinds = ([getattr(question, name)() for question in questions] for name in ("answers", "kinds"))
        named, real = _filled([np.flatnonzero(sets[0].any(0)) for sets in allowed])
        shape = (len(questions), heads.shape[1])
        sets = np.zeros((*shape[:1], len(CANDIDATES), shape[1], self.words.words), bool)
        right = np.zeros((*shape, self.words.words), bool)
        kind = np.zeros((*shape, len(KINDS)), np.float32)
        for row, (may, is_right, of_kind) in enumerate(zip(allowed, answers, kinds, strict=True)):
            sets[row, :, : may.shape[1], : may.shape[2]] = may
            right[row, : is_right.shape[0], : is_right.shape[1]] = is_right
            kind[row, : len(of_kind)] = of_kind
        at = np.arange(len(questions))[:, None]
        among_named = np.stack([sets[at, number, :, named] for number in (0, 1)], 1).transpose(0, 1, 3, 2)
        among_named &= real[:, None, None]
        self.named = onto(named, device)
        self.allowed = [onto(part, device) for part in (*among_named.transpose(1, 0, 2, 3), sets[:, 2])]
        self.right, self.kinds = onto(right, device), onto(kind, device)
        self.chance = np.stack([_by_chance(*one) for one in zip(allowed, answers, kinds, strict=True)])

    def given(self, weights: Tensor) -> Tensor:
        """What the asked head words give to all words, (batch, head, asked, word), from weights between pieces."""
        return between_words(weights, self.head_words, self.words)

    def received(self, weights: Tensor) -> Tensor:
        """What all words give to the asked head words, (batch, head, asked, word)."""
        return between_words(weights, self.words, self.head_words).transpose(2, 3)

    def choose(self, attention: Tensor, candidates: int) -> tuple[Tensor, Tensor, Tensor]:
        """The word that each head prefers among a set of candidates, what it gets, and whether it is right; each
        (batch, head, asked)."""
        if candidates < 2:  # head words of mentions, which are few
            attention = attention.gather(3, self.named[:, None, None].expand(*attention.shape[:3], -1))
        weight, place = torch.where(self.allowed[candidates][:, None], attention, -1.0).max(dim=-1)
        if candidates < 2:
            place = self.named[:, None].expand(-1, place.shape[1], -1).gather(2, place)
        right = self.right[:, None].expand(-1, place.shape[1], -1, -1).gather(3, place[..., None])[..., 0]
        return place, weight, right & (weight > 0)


def _filled(rows: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Rows of numbers in one array, zeros behind the shorter ones, and which of them are real."""
    known = padded([np.ones(len(row), bool) for row in rows])
    return padded([np.array(row, np.int64) for row in rows]), known


def _by_chance(
    allowed: NDArray[np.bool_], right: NDArray[np.bool_], kinds: NDArray[np.bool_]
) -> NDArray[np.float64]:  # fmt: skip
    """What choosing blindly would get right, (set of candidates, kind)."""
    shares: NDArray[np.float64] = ((allowed & right).sum(-1) / allowed.sum(-1)) @ kinds.astype(np.float64)
    return shares


class _Pass(Pass):
    """One forward pass: every head's choices, reduced to sums by window."""

    def __init__(self, study: Coref, made: Batch, windows: Sequence[Window]) -> None:
        self.study, self.windows = study, windows
        self.sums: list[Tensor] = []
        self.followed: Tensor | None = None
        self._finite = Finite()
        self._landing = Landing({})
        side = made.queries(study.stream)
        assert side is not None
        questions, causal = [window.question for window in windows], study.stream is Stream.DECODER
        self.asked = _Asked(questions, side, causal=causal) if windows else None

    def take(self, call: AttentionCall) -> None:
        """Let every head of a layer choose, for all mentions of the batch."""
        if call.site.stream is not self.study.stream or self.asked is None:
            return
        weights = measured(self.study.subject, call, self.study.measure, self._finite).float()
        if self.study.measure == "norm":
            weights = row_shares(weights)
        layer = call.site.layer
        followed = self.study.chosen[0, 0] if self.study.chosen else None  # all kinds, among all other mentions
        sums = []
        for direction in range(len(self.study.directions)):
            attention = self.asked.received(weights) if direction else self.asked.given(weights)
            for candidates in range(len(CANDIDATES)):
                word, weight, right = self.asked.choose(attention, candidates)
                sums.append(torch.matmul(right.float(), self.asked.kinds))
                if followed and not candidates and (followed.layer, followed.direction) == (layer, direction):
                    kept = [part[:, followed.head].double() for part in (word, weight, right)]
                    self.followed = torch.stack(kept, 1)
        shape = (*sums[0].shape[:2], len(self.study.directions), len(CANDIDATES), len(KINDS))
        self.sums.append(torch.stack(sums, 2).view(shape))

    def land(self) -> None:
        """Have the sums of all layers, and the choices of the best head, brought over."""
        if self.sums:
            followed = {} if self.followed is None else {"followed": self.followed}
            heads = self.study.grid.sum(1).tolist()
            self._landing = Landing({"sums": together(self.sums, heads), "finite": self._finite.sums(), **followed})

    def give(self, bundle: Bundle) -> None:
        """Take the sums of all layers into the bundle."""
        if not self.sums:
            return
        assert self.asked is not None
        study, arrays = self.study, self._landing.arrays()
        self._finite.settle(arrays["finite"])
        sums = on_grid(arrays["sums"], study.grid)
        counts = np.stack([window.question.kinds().sum(0) for window in self.windows])
        units = [window.unit for window in self.windows]
        bundle["heads"].update(sums, counts[:, None, None, None, None] * study.grid[..., None, None, None], units)
        if study.chosen is None:
            return
        simple = [baselines_right(window.question) for window in self.windows]
        simple_sums = np.stack(
            [
                found.astype(float) @ window.question.kinds()
                for found, window in zip(simple, self.windows, strict=True)
            ]
        )
        bundle["chance"].update(self.asked.chance, counts[:, None], units)
        bundle["baselines"].update(simple_sums, counts[:, None], units)
        self._keep_cases(bundle, simple, arrays["followed"])

    def _keep_cases(
        self, bundle: Bundle, simple: Sequence[NDArray[np.bool_]], followed: NDArray[np.float64]
    ) -> None:  # fmt: skip
        """The surest choices of the best head: where, and the word that it chose."""
        cells, values, places = [], [], []
        for window, easy, (words, weights, rights) in zip(self.windows, simple, followed, strict=True):
            for place, mention in enumerate(window.question.asked):
                kind = KINDS.index(window.question.mentions[mention].kind) - 1
                outcome = 2 if not rights[place] else 1 if easy[:2, place].any() else 0
                cells.append(kind * len(OUTCOMES) + outcome)
                values.append(weights[place])
                places.append((window.number, mention, int(words[place])))
        bundle["cases"].update(cells, values, places)


def choose_heads(study: Coref, bundle: Bundle) -> dict[tuple[int, int], Choice]:
    """The best head and direction for each set of candidates and kind; of equals the first. A kind without a mention
    takes the head that is best for all.

    >>> from attlas.capture import load
    >>> study = Coref(load())
    >>> bundle = study.empty()
    >>> sums, counts = np.zeros((1, *study.cells)), np.ones((1, 1, 1, 1, 1, 4))
    >>> sums[0, 4, 3, 0] = 1
    >>> bundle["heads"].update(sums, counts)
    >>> choose_heads(study, bundle)[0, 0]
    Choice(layer=4, head=3, direction=0)
    """
    value = bundle["heads"].result().value
    made: dict[tuple[int, int], Choice] = {}
    for candidates, kind in np.ndindex(len(CANDIDATES), len(KINDS)):
        here = value[..., candidates, kind]
        if np.isnan(here).all():
            made[candidates, kind] = made[candidates, 0]
        else:
            best = np.unravel_index(int(np.nanargmax(here)), here.shape)
            made[candidates, kind] = Choice(*(int(part) for part in best))
    return made
