"""What a head mostly does, in a word, from its mean figures.

The bars are those of Clark et al.: over .5 on one position (the previous, the next, the own piece), over .6 on
special pieces (among which they count periods and commas), an entropy over 3.8 nats. That last bar was set for
segments of 128 pieces; here it is 3.8 / ln 128 = .78 of the entropy of even attention over what may be seen, which
is the same bar there and means the same for texts of any length. A head that was chosen as the best for a syntactic
relation, on other texts, and beats the baseline goes by that relation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

FIGURES = ("entropy", "even", "previous", "next", "self", "first", "cls", "sep", "punctuation", "special")
POSITIONS = {"previous": "previous piece", "next": "next piece", "self": "own piece"}
SPECIALS = {"cls": "[CLS]", "sep": "[SEP]", "first": "first piece", "punctuation": "punctuation"}
BEHAVIOURS = (*POSITIONS.values(), *SPECIALS.values(), "special pieces", "broad", "relation", "other")
ON_POSITION, ON_SPECIAL, BROAD = 0.5, 0.6, 3.8 / math.log(128)
SURE = 0.01
ALL = "all"  # the row of all relations together, which names none

Place = tuple[str, int, int]


def behaviour(figures: Mapping[str, float]) -> str:
    """The behaviour of a head with these mean figures; those that are not there cannot be its behaviour.

    >>> behaviour({"previous": 0.7, "entropy": 1.0, "even": 4.8})
    'previous piece'
    >>> behaviour({"cls": 0.3, "sep": 0.4, "special": 0.7, "entropy": 1.0, "even": 4.8})
    'special pieces'
    >>> behaviour({"entropy": 3.9, "even": math.log(128)}), behaviour({"entropy": 3.7, "even": math.log(128)})
    ('broad', 'other')
    """
    for named, bar in ((POSITIONS, ON_POSITION), (SPECIALS, ON_SPECIAL)):
        shares = {name: figures[name] for name in named if name in figures}
        most = max(shares, key=lambda name: shares[name], default="")
        if most and shares[most] > bar:
            return named[most]
    if figures.get("special", 0.0) > ON_SPECIAL:
        return "special pieces"
    even = figures.get("even", 0.0)
    return "broad" if even > 0 and figures["entropy"] > BROAD * even else "other"


def relation_heads(rows: Iterable[Mapping[str, Any]], stream: str) -> dict[Place, list[str]]:
    """The relations that heads are best for, surely above the baseline, those with the widest margin first.

    ``rows`` are those of the table "relations": relation, layer, head, value, best, baseline, p_corrected, and stream
    where it has one (``stream`` is meant where it has none).

    >>> row = {"relation": "det", "layer": 7, "head": 10, "value": 0.9, "best": True, "baseline": 0.5}
    >>> relation_heads([{**row, "p_corrected": 0.001}, {**row, "relation": "aux", "p_corrected": 0.2}], "encoder")
    {('encoder', 7, 10): ['det']}
    """
    found: dict[Place, list[tuple[float, str]]] = {}
    for row in rows:
        numbers = [row[name] for name in ("value", "baseline", "p_corrected")]
        if not row["best"] or row["relation"] == ALL or any(number is None for number in numbers):
            continue
        value, baseline, p = numbers
        if value > baseline and p < SURE:
            place = (str(row.get("stream") or stream), int(row["layer"]), int(row["head"]))
            found.setdefault(place, []).append((baseline - value, str(row["relation"])))
    return {place: [relation for _, relation in sorted(ranked)] for place, ranked in found.items()}
