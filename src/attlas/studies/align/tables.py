"""What alignments are worth, as tidy rows: every way of reading links off attention, with the twins' beside it.

A :class:`View` is one model read from one side. Two views that look in opposite directions (the model of the other
direction; the two blocks of an encoder over both sentences) are a :class:`Couple` and can be symmetrised, layer by
layer. A pair of sentences is the unit of every interval: error rate, precision and recall are ratios of counts, and
F1 is a function of them (:mod:`attlas.stats.scores`). Of several untrained twins the mean is given, with the lowest
and the highest. Readers are numbered: 0 is the model, twins count from 1.

Which layer to use is decided without gold by the largest mean joint norm. Beside it stands the layer whose heads'
mean norms have the largest sum, which is how the paper's own script chooses; what an oracle would choose, who looks
at the gold and flatters; and that oracle made honest: it chooses on one half of the pairs and is scored on the other,
both ways round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.measures.names import MEASURES
from attlas.stats import Bundle, Estimate, estimate_score, holm
from attlas.stats.metrics import METRICS
from attlas.stats.paired import compare
from attlas.studies.shared.figures import ends_of, spread
from attlas.text import Document, Links
from attlas.text.links import Pairs, marks, symmetrise

if TYPE_CHECKING:
    from attlas.studies.align.passes import Alignment

Numbers = NDArray[np.float64]
Chosen = NDArray[np.int64]
SCORES = {"AER": "aer", "precision": "precision", "recall": "recall", "F1": "alignment-f1"}
SYMMETRISED = ("intersection", "grow-diag-final-and")
BY_NORM, BY_HEADS = "largest mean norm", "largest mean norm, heads summed"
ORACLE, HALVES = "oracle: lowest AER", "chosen on one half, scored on the other"
VALUE, TWIN = ("value", "low", "high"), ("twin", "twin_low", "twin_high", "twins")
SHARE = (0.0, 1.0)
PLACE = ("aligner", "trained_on", "direction", "stream", "measure", "side", "layer", "head")


class Method(NamedTuple):
    """One way of reading links off attention; without a head, all heads of the layer together."""

    measure: str
    side: str
    layer: int
    head: int | None = None


@dataclass(frozen=True)
class Read:
    """What a model and its untrained twins read, the model first; ``turned`` where they read the pairs the other way
    round."""

    study: Alignment
    bundles: Sequence[Bundle]
    turned: bool = False

    @cached_property
    def marks(self) -> list[Numbers]:
        """Counts (pair, method, 4) of every reader."""
        return [self.study.marks(bundle) for bundle in self.bundles]

    @cached_property
    def picks(self) -> dict[tuple[str, int], Chosen]:
        """What words pick, by side and reader."""
        readers = enumerate(self.bundles)
        return {(side, who): self.study.picks(own, side) for who, own in readers for side in self.study.sides}


@dataclass(frozen=True)
class View:
    """One model read from one side, which gives links in one direction."""

    read: Read
    side: str
    direction: str

    @property
    def study(self) -> Alignment:
        """The study that read."""
        return self.read.study

    @property
    def place(self) -> dict[str, str]:
        """What tells its rows from those of other views."""
        return {"direction": self.direction, "stream": self.study.stream.value, "side": self.side}

    def methods(self, *, heads: bool) -> list[Method]:
        """The ways of reading links off it: by layer, or by head."""
        return [m for m in self.study.methods if m.side == self.side and (m.head is not None) == heads]

    def links(self, method: Method, *, who: int = 0) -> list[Pairs]:
        """The links of all pairs, as (source word, target word) of the bitext."""
        links = self.study.links(self.read.picks[method.side, who], method)
        return [frozenset((j, i) for i, j in pair) for pair in links] if self.read.turned else links

    def marks(self, method: Method) -> Numbers:
        """The counts of all pairs, (reader, pair, 4)."""
        return np.stack([counts[:, self.study.number(method)] for counts in self.read.marks])

    @cached_property
    def norms(self) -> list[Estimate]:
        """Mean norms over all queries and keys that meet here, (layer, joint and heads), of every reader."""
        place = self.study.sides.index(self.side)
        norms = [bundle.pooled("norms").result() for bundle in self.read.bundles]
        return [Estimate(*(part[place] for part in of_reader)) for of_reader in norms]

    @property
    def layer(self) -> int:
        """The layer of the largest mean joint norm."""
        return int(np.nanargmax(self.norms[0].value[:, 0]))

    @property
    def layer_by_heads(self) -> int:
        """The layer whose heads' mean norms have the largest sum."""
        return int(np.nansum(self._of_heads, 1).argmax())

    @property
    def head(self) -> tuple[int, int]:
        """The head of the largest mean norm: its layer and number."""
        layer, head = divmod(int(np.nanargmax(self._of_heads)), self._of_heads.shape[1])
        return layer, head

    @cached_property
    def _of_heads(self) -> Numbers:
        norms: Numbers = self.norms[0].value[:, 1:].copy()
        for layer, count in enumerate(self.study.heads):
            norms[layer, count:] = np.nan
        return norms


@dataclass(frozen=True)
class Couple:
    """Two views that look in opposite directions, under the side that they have in common."""

    side: str
    forward: View
    backward: View

    @property
    def layers(self) -> int:
        """How many layers both have."""
        return min(len(self.forward.study.heads), len(self.backward.study.heads))

    def links(self, how: str, measure: str, layers: tuple[int, int], *, who: int = 0) -> list[Pairs]:
        """The links of both, put together."""
        ahead = self.forward.links(Method(measure, self.forward.side, layers[0]), who=who)
        back = self.backward.links(Method(measure, self.backward.side, layers[1]), who=who)
        sizes = self.forward.study.sizes
        return [symmetrise(how, a, b, size) for a, b, size in zip(ahead, back, sizes, strict=True)]

    def counts(self, known: Evidence, how: str, measure: str, layers: tuple[int, int]) -> Numbers:
        """The counts of what both have together, and of what their twins have, (reader, pair, 4)."""
        readers = range(len(self.forward.read.bundles))
        return np.stack([counted(self.links(how, measure, layers, who=who), known.documents) for who in readers])


@dataclass(frozen=True)
class Evidence:
    """All that is known: the pairs, what models read, and the seed of halves and shuffles."""

    documents: Sequence[Document]
    forward: Read
    backward: Read | None = None
    seed: int = 0

    @property
    def scored(self) -> bool:
        """Whether there is gold."""
        return self.forward.study.scored

    @cached_property
    def views(self) -> list[View]:
        """Every model from every side."""
        if self.backward is not None:
            reads = ((self.forward, "forward"), (self.backward, "backward"))
            return [View(read, side, way) for read, way in reads for side in read.study.sides]
        turned = {"to target": "backward"}
        return [View(self.forward, s, turned.get(s, "forward")) for s in self.forward.study.sides]

    @cached_property
    def couples(self) -> list[Couple]:
        """Views that can be symmetrised."""
        if self.backward is not None:
            ways = {(view.direction, view.side): view for view in self.views}
            return [Couple(s, ways["forward", s], ways["backward", s]) for s in self.forward.study.sides]
        return [Couple("", *self.views)] if self.views[-1].direction == "backward" else []


def counted(links: Sequence[Pairs], documents: Sequence[Document]) -> Numbers:
    """Links of all pairs as counts, (pair, 4), against no gold where a pair has none."""
    nothing = Links(frozenset(), frozenset())
    pairs = zip(links, documents, strict=True)
    return np.array([marks(own, document.links or nothing) for own, document in pairs], dtype=np.float64)


def rated(place: Mapping[str, Any], counts: Numbers, scores: Sequence[str] = tuple(SCORES)) -> list[dict[str, Any]]:
    """A row for each of some scores of one alignment, from the counts (reader, pair, 4): the model's (or an
    aligner's, which has no twin), and those of its twins behind."""
    own, *twins = counts
    rows = []
    for score in scores:
        ours, *theirs = (estimate_score(METRICS[SCORES[score]], reader) for reader in counts)
        row = {**place, "score": score, **dict.fromkeys((*VALUE, *TWIN)), **ends_of(ours, ())}
        if twins:
            row |= {**ends_of(spread(theirs, ours), (), "twin"), "twins": len(twins)}
        rows.append(row | {"links": int(own[:, 2].sum())})
    return rows


def score_rows(known: Evidence) -> Iterator[dict[str, Any]]:
    """The scores of all that attention gives; without gold, the share of words that have a link."""
    for view in known.views:
        for method in sorted(view.methods(heads=False) + view.methods(heads=True), key=view.study.number):
            place = _place(view.direction, method.side, method.measure, method.layer, method.head, view.study)
            if known.scored:
                yield from rated(place, view.marks(method))
            else:
                yield _linked(place, view, method)
    for couple in known.couples if known.scored else ():
        for measure, layer, how in product(MEASURES, range(couple.layers), SYMMETRISED):
            place = _place(how, couple.side, measure, layer, None, couple.forward.study)
            yield from rated(place, couple.counts(known, how, measure, (layer, layer)))


def choice_rows(known: Evidence) -> Iterator[dict[str, Any]]:
    """The layer and the head that one would take: by the largest mean norm, and by looking at the gold."""
    for view, measure, unit in product(known.views, MEASURES, ("layer", "head")):
        yield from _choices(known, view, measure, unit)
    for couple, measure, how in product(known.couples, MEASURES, SYMMETRISED):
        layers = (couple.forward.layer, couple.backward.layer)
        place = _choice(how, measure, couple.side, "layer", BY_NORM) | {"layer": layers[0], "back_layer": layers[1]}
        yield place | _aer(known, couple.counts(known, how, measure, layers))


def _choices(known: Evidence, view: View, measure: str, unit: str) -> Iterator[dict[str, Any]]:
    methods = [method for method in view.methods(heads=unit == "head") if method.measure == measure]
    places = {BY_NORM: view.head} if unit == "head" else {BY_NORM: (view.layer,), BY_HEADS: (view.layer_by_heads,)}
    blind = {how: Method(measure, view.side, *place) for how, place in places.items()}

    def row(how: str, method: Method | None, counts: Numbers | None) -> dict[str, Any]:
        cells = _choice(view.direction, measure, view.side, unit, how)
        if method is not None:
            norms = view.norms[0].value[method.layer]
            norm = norms[0 if method.head is None else 1 + method.head]
            cells |= {"layer": method.layer, "head": method.head, "mean_norm": norm}
        return cells | ({} if counts is None else _aer(known, counts))

    for how, method in blind.items():
        yield row(how, method, view.marks(method) if known.scored else None)
    if not known.scored:
        return
    all_counts = np.stack([view.marks(method)[0] for method in methods])  # (method, pair, 4)
    best = methods[_best(all_counts)]
    yield row(ORACLE, best, view.marks(best))
    if len(known.documents) < 2:
        return
    half = halves(len(known.documents), known.seed)
    pooled, picked = np.zeros_like(view.marks(best)), []
    for number, chosen_on in enumerate((half, ~half), start=1):
        picked.append(methods[_best(all_counts[:, chosen_on])])
        scored_on = view.marks(picked[-1]) * ~chosen_on[:, None]
        yield row(f"chosen on half {number}, scored on the other", picked[-1], scored_on)
        pooled += scored_on
    yield row(HALVES, picked[0] if picked[0] == picked[1] else None, pooled)


def gain_rows(known: Evidence) -> Iterator[dict[str, Any]]:
    """By how much norms beat weights in the same layer: the change of AER, tested pair by pair of sentences, and
    corrected for all layers of a side and direction."""
    metric = METRICS["aer"]
    for view in known.views if known.scored else ():
        rows = []
        for layer in range(len(view.study.heads)):
            weight, norm = (view.marks(Method(measure, view.side, layer))[0] for measure in MEASURES)
            changed = compare(metric, weight, norm[None], seed=known.seed)
            rows.append({
                **view.place, "layer": layer, "weight": changed.whole, "norm": changed.score[0],
                "change": changed.change[0], "low": changed.low[0], "high": changed.high[0], "p": changed.p[0],
            })  # fmt: skip
        for row, corrected in zip(rows, holm([row["p"] for row in rows]), strict=True):
            yield row | {"p_corrected": corrected}


def norm_rows(known: Evidence) -> Iterator[dict[str, Any]]:
    """Mean norms of layers (joint; no head) and heads, over all queries and keys that meet."""
    for view in known.views:
        ours, theirs = view.norms[0], spread(view.norms[1:], view.norms[0])
        for layer, count in enumerate(view.study.heads):
            for cell in range(1 + count):
                yield {
                    **view.place, "layer": layer, "head": cell - 1 if cell else None, **ends_of(ours, (layer, cell)),
                    "n": ours.n[layer, cell], **ends_of(theirs, (layer, cell), "twin"),
                    "twins": len(view.norms) - 1,
                }  # fmt: skip


def halves(pairs: int, seed: int) -> NDArray[np.bool_]:
    """Which pairs are in the first of two halves, drawn by the seed."""
    first = np.zeros(pairs, dtype=bool)
    first[np.random.default_rng([seed, 1]).permutation(pairs)[: pairs // 2]] = True
    return first


def _best(counts: Numbers) -> int:
    """The method of the lowest AER, the first of equals; (method, pair, 4)."""
    return int(np.argmin(np.nan_to_num(METRICS["aer"].of(counts.sum(1)), nan=np.inf)))


def _aer(known: Evidence, counts: Numbers) -> dict[str, Any]:
    """The error rate of a choice and of its twins, from the counts (reader, pair, 4)."""
    (row,) = rated({}, counts, ["AER"])
    return {name: row[name] for name in ((*VALUE, *TWIN, "links") if known.scored else ("links",))}


def _choice(direction: str, measure: str, side: str, unit: str, how: str) -> dict[str, Any]:
    cells = ("layer", "head", "back_layer", "mean_norm", *VALUE, *TWIN, "links")
    chosen = {"direction": direction, "measure": measure, "side": side, "unit": unit, "how": how}
    return {**chosen, **dict.fromkeys(cells)}


def _place(direction: str, side: str, measure: str, layer: int, head: int | None, study: Alignment) -> dict[str, Any]:
    parts = ("attention", "", direction, study.stream.value, measure, side, layer, head)
    return dict(zip(PLACE, parts, strict=True))


def _linked(place: Mapping[str, Any], view: View, method: Method) -> dict[str, Any]:
    """Without gold: the share of words that have a link."""
    number = view.study.number(method)
    ours, *theirs = (bundle.pooled("linked").result(SHARE, hits=True) for bundle in view.read.bundles)
    cells = ends_of(ours, (number,)) | ends_of(spread(theirs, ours), (number,), "twin") | {"twins": len(theirs)}
    return {**place, "score": "linked", **cells, "links": round(float(ours.value[number] * ours.n[number]))}
