"""The links that are handed out, and the pairs of sentences that a page shows.

One alignment is *chosen*: by default that of norms, with input, in the layer of the largest mean norm, symmetrised
where there are two directions. It is what goes into a Pharaoh file. A page shows it beside others on some pairs: all
where they are few; else some drawn by the seed, and those it does best and worst on.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attlas.errors import CapabilityError
from attlas.ids import HeadId, paper_label
from attlas.measures.names import MEASURES, check_measure
from attlas.stats.metrics import METRICS
from attlas.studies.align.tables import SYMMETRISED, Couple, Evidence, Method
from attlas.text import Document, Links
from attlas.text.links import Pairs, marks, written

if TYPE_CHECKING:
    from attlas.studies.align.passes import Alignment

DIRECTIONS = ("forward", "backward", *SYMMETRISED)
FEW, DRAWN, ENDS = 40, 20, 10  # pairs that are all shown; else so many drawn, and so many of the best and the worst


def check_direction(direction: str) -> None:
    """Refuse a direction that there is not.

    >>> check_direction("forward")
    """
    if direction not in DIRECTIONS:
        raise CapabilityError(f"there is no direction {direction!r}; choose {', '.join(DIRECTIONS)}")


@dataclass(frozen=True)
class Wanted:
    """Which alignment to hand out; what is None is decided by what there is and by mean norms."""

    measure: str = "norm"
    side: str | None = None
    layer: int | None = None
    head: HeadId | None = None
    direction: str | None = None

    def check(self, study: Alignment, *, two: bool) -> None:
        """Refuse what this model, or a single direction, cannot give."""
        check_measure(self.measure)
        if self.direction is not None:
            check_direction(self.direction)
        if self.direction not in (None, "forward") and not two:
            raise CapabilityError(
                f"{self.direction} links need the model of the other direction; give it with --back"
            )
        if self.side is not None and self.side not in study.sides:
            raise CapabilityError(
                f"there is no side {self.side!r} in {study.stream.value} attention; choose {' or '.join(study.sides)}"
            )
        if self.layer is not None and not 0 <= self.layer < len(study.heads):
            raise CapabilityError(
                f"there is no layer {self.layer + 1} in the {study.stream.value} attention of {study.subject.name}; "
                f"it has {len(study.heads)}"
            )
        if self.head is not None and (self.layer is not None or self.direction not in (None, "forward")):
            raise CapabilityError(
                "a head gives links of one model in one direction; leave out the layer and the direction"
            )
        if self.head is not None and self.head.stream is not study.stream:
            raise CapabilityError(f"{self.head} is not in the {study.stream.value} attention that is aligned")


def chosen(known: Evidence, wanted: Wanted) -> tuple[str, list[Pairs]]:
    """The alignment to hand out: what it is, and its links."""
    view = next(view for view in known.views if view.side == (wanted.side or _usual(known)))
    if wanted.head is not None:
        method = Method(wanted.measure, view.side, wanted.head.layer, wanted.head.head)
        return named(method), view.links(method)
    direction = wanted.direction
    if direction is None:
        direction = "grow-diag-final-and" if known.couples and wanted.side != "to target" else view.direction
    if direction in SYMMETRISED:
        couple = next(couple for couple in known.couples if couple.side in ("", view.side))
        return _together(couple, wanted.measure, direction, wanted.layer)
    if view.direction != direction:
        own = known.backward is not None
        view = next(v for v in known.views if v.direction == direction and (v.side == view.side or not own))
    method = Method(wanted.measure, view.side, view.layer if wanted.layer is None else wanted.layer)
    return named(method, view.direction), view.links(method)


def alignments(known: Evidence, first: tuple[str, list[Pairs]]) -> dict[str, list[Pairs]]:
    """What a page shows by attention: the chosen alignment, then both measures from every side, by mean norms."""
    shown = dict([first])
    for view in sorted(known.views, key=lambda view: view.side != _usual(known)):
        for measure in reversed(MEASURES):
            method = Method(measure, view.side, view.layer)
            shown.setdefault(named(method, view.direction), view.links(method))
    return shown


def named(method: Method, direction: str = "forward") -> str:
    """A method in words, counted from one.

    >>> named(Method("norm", "input", 5)), named(Method("weight", "output", 5, 2), "backward")
    ('norm, input, layer 6', 'weight, output, head 6-3, backward')
    """
    place = f"layer {method.layer + 1}" if method.head is None else f"head {paper_label(method.layer, method.head)}"
    turned = ", backward" if direction == "backward" and method.side != "to target" else ""
    return f"{method.measure}, {method.side}, {place}{turned}"


def sample(documents: Sequence[Document], links: Sequence[Pairs], seed: int) -> list[int]:
    """The pairs to show, by their places: all, or some drawn by the seed and those with the best and worst links."""
    if len(documents) <= FEW:
        return list(range(len(documents)))
    gold = [at for at, document in enumerate(documents) if document.links is not None and document.links.sure]
    ranked = sorted(gold, key=lambda at: (error(links[at], documents[at].links), at))
    ends = {*ranked[:ENDS], *ranked[-ENDS:]}
    rest = [at for at in range(len(documents)) if at not in ends]
    drawn = random.Random(seed).sample(rest, min(len(rest), DRAWN if ends else FEW))
    return sorted({*ends, *drawn})


def pair_rows(
    documents: Sequence[Document], places: Sequence[int], numbers: Sequence[int], shown: Mapping[str, Sequence[Pairs]]
) -> Iterator[dict[str, Any]]:
    """A row for each shown pair and alignment; ``numbers`` are the pairs' own, counted from 1."""
    for place in places:
        document = documents[place]
        assert document.translation is not None
        gold = document.links
        pair = {
            "pair": numbers[place], "source": json.dumps(document.forms, ensure_ascii=False),
            "target": json.dumps(document.translation.forms, ensure_ascii=False),
            "sure": None if gold is None else written(gold.sure),
            "possible": None if gold is None else written(gold.possible - gold.sure),
        }  # fmt: skip
        for method, links in shown.items():
            yield {
                **pair, "method": method, "predicted": written(links[place]),
                "aer": None if gold is None else error(links[place], gold),
            }  # fmt: skip


def error(links: Pairs, gold: Links | None) -> float:
    """The error rate of one pair; NaN where it has no gold, or nothing to find and nothing found."""
    return float("nan") if gold is None else METRICS["aer"].of(np.array(marks(links, gold), dtype=float)).item()


def _usual(known: Evidence) -> str:
    sides = known.forward.study.sides
    return "input" if "input" in sides else sides[0]


def _together(couple: Couple, measure: str, how: str, layer: int | None) -> tuple[str, list[Pairs]]:
    layers = (couple.forward.layer, couple.backward.layer) if layer is None else (layer, layer)
    where = f"layer {layers[0] + 1}" if layers[0] == layers[1] else f"layers {layers[0] + 1} and {layers[1] + 1}"
    side = f"{couple.side}, " if couple.side else ""
    return f"{measure}, {side}{where}, {how}", couple.links(how, measure, layers)
