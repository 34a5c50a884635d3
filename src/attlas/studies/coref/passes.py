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
from attlas.capture.measuring import measured, require_measure, row_shares
from attlas.ids import Stream
from attlas.measures.words import Grouping, between_words, group
from attlas.models import AttentionCall, Batch, Example
from attlas.stats import Bundle, Largest, PooledMean
from attlas.studies.coref.mentions import CANDIDATES, KINDS, Question
from attlas.studies.coref.sieves import BASELINES, baselines_right
from attlas.studies.shared.reducing import stacked_heads
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
    """The question of one window, laid out for the weights of its batch: which pieces, which words, what is right."""

    def __init__(self, question: Question, words: Grouping, *, causal: bool) -> None:
        device = words.members.device
        self.words = Grouping(words.members[:, :-1], words.present)  # special pieces are never chosen
        members = self.words.members[:, list(question.head_words)]
        self.pieces = members[0].any(0).nonzero()[:, 0]
        self.head_words = Grouping(members[..., self.pieces], torch.ones(members.shape[:2], dtype=torch.bool))
        allowed, right = (
            torch.from_numpy(made).to(device) for made in (question.allowed(causal=causal), question.answers())
        )
        self.columns = [set_.any(0).nonzero()[:, 0] for set_ in allowed]
        self.allowed = [set_[:, columns] for set_, columns in zip(allowed, self.columns, strict=True)]
        self.right = [right[:, columns] for columns in self.columns]
        self.kinds = torch.from_numpy(question.kinds()).to(device, torch.float32)

    def given(self, weights: Tensor) -> Tensor:
        """What the asked head words give to all words, (head, asked, word), from weights (head, query, key)."""
        return between_words(weights[None, :, self.pieces], self.head_words, self.words)[0]

    def received(self, weights: Tensor) -> Tensor:
        """What all words give to the asked head words, (head, asked, word)."""
        return between_words(weights[None, :, :, self.pieces], self.words, self.head_words)[0].transpose(1, 2)

    def choose(self, attention: Tensor, candidates: int) -> tuple[Tensor, Tensor, Tensor]:
        """The word that each head prefers among a set of candidates, what it gets, and whether it is right; each
        (head, asked)."""
        allowed, right = self.allowed[candidates], self.right[candidates]
        weight, place = torch.where(allowed, attention[..., self.columns[candidates]], -1.0).max(dim=-1)
        hit = right.expand(len(weight), -1, -1).gather(-1, place[..., None])[..., 0]
        return self.columns[candidates][place], weight, hit & (weight > 0)

    @property
    def chance(self) -> Tensor:
        """What choosing blindly would get right, (set of candidates, kind)."""
        shares = [
            (allowed & right).sum(-1) / allowed.sum(-1)
            for allowed, right in zip(self.allowed, self.right, strict=True)
        ]
        return torch.stack(shares) @ self.kinds


class _Pass(Pass):
    """One forward pass: every head's choices, reduced to sums by window."""

    def __init__(self, study: Coref, made: Batch, windows: Sequence[Window]) -> None:
        self.study, self.windows = study, windows
        self.sums: list[Tensor] = []
        self.followed: list[tuple[NDArray[Any], ...]] = []
        side = made.queries(study.stream)
        assert side is not None
        width, device = side.real.shape[1], side.real.device
        causal = study.stream is Stream.DECODER
        self.asked = [
            _Asked(window.question, group([encoded.segmentation], width, [start], device), causal=causal)
            for window, encoded, start in zip(windows, side.encoded, side.starts, strict=False)
        ]

    def take(self, call: AttentionCall) -> None:
        """Let every head of a layer choose, for all mentions of the batch."""
        if call.site.stream is not self.study.stream or not self.windows:
            return
        weights = measured(self.study.subject, call, self.study.measure).float()
        if self.study.measure == "norm":
            weights = row_shares(weights)
        layer = call.site.layer
        followed = self.study.chosen[0, 0] if self.study.chosen else None  # all kinds, among all other mentions
        sums = []
        for asked, own in zip(self.asked, weights, strict=True):
            for direction in range(len(self.study.directions)):
                attention = asked.received(own) if direction else asked.given(own)
                for candidates in range(len(CANDIDATES)):
                    word, weight, right = asked.choose(attention, candidates)
                    sums.append(right.float() @ asked.kinds)
                    if followed and not candidates and (followed.layer, followed.direction) == (layer, direction):
                        kept = (part[followed.head].cpu().numpy() for part in (word, weight, right))
                        self.followed.append(tuple(kept))
        shape = (len(self.windows), len(self.study.directions), len(CANDIDATES), *sums[0].shape)
        self.sums.append(torch.stack(sums).view(shape).permute(0, 3, 1, 2, 4))

    def give(self, bundle: Bundle) -> None:
        """Take the sums of all layers into the bundle."""
        if not self.sums:
            return
        study = self.study
        sums = stacked_heads(self.sums, study.grid)
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
        chance = np.stack([asked.chance.cpu().numpy() for asked in self.asked])
        bundle["chance"].update(chance, counts[:, None], units)
        bundle["baselines"].update(simple_sums, counts[:, None], units)
        self._keep_cases(bundle, simple)

    def _keep_cases(self, bundle: Bundle, simple: Sequence[NDArray[np.bool_]]) -> None:
        """The surest choices of the best head: where, and the word that it chose."""
        cells, values, places = [], [], []
        for window, easy, (words, weights, rights) in zip(self.windows, simple, self.followed, strict=True):
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
