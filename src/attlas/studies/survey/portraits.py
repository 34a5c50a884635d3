"""A head in one plain sentence, written from its figures.

The sentence names what stands out: more than half of the attention in one place, attention that is spread almost
evenly, or else the places that get most beyond chance. Where the corpus has dependencies, a head that follows them
is said to. A head that does something only where a piece has occurred before, and rests elsewhere, is said to do
what it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attlas.measures.quantities import QUANTITIES, Quantity, places

Figures = Mapping[str, tuple[float, float]]

EVEN = 0.9
# what a head gives to copies where there are any, and how many times chance, to be told; of a head that gives less
# than that to all but the first piece, so many times what it gives to all these
ACTS, TIMES = 0.05, 2.0


def portrait(figures: Figures, quantities: Sequence[Quantity] = QUANTITIES) -> str:
    """One sentence from figures (value, chance) by quantity.

    >>> portrait({"previous": (0.97, 0.03), "entropy": (0.2, 3.4)})
    'puts .97 on the previous piece'
    >>> portrait({"previous": (0.03, 0.03), "entropy": (3.3, 3.4)})
    'spreads its attention almost evenly (entropy 3.30 of 3.40 nats)'
    >>> portrait({"next": (0.55, 0.03), "entropy": (1.2, 3.4), "to_governor": (0.5, 0.06)})
    'puts .55 on the next piece; a word gives .50 to its governor'
    >>> portrait({"first": (0.81, 0.07), "entropy": (0.9, 3.4), "after_same_piece": (0.9, 0.02)})
    'rests on the first piece (.81); where a piece occurred before, puts .90 on what followed it'
    >>> portrait({"first": (0.99, 0.05), "entropy": (0.1, 3.4), "after_same_pair": (0.04, 0.017)})
    'rests on the first piece (.99); where two pieces in a row occurred before, puts .04 on what followed them'
    """
    copies = _on_copies(figures, places("copies", quantities))
    where = _where(figures, places("where", quantities))
    on_first, _ = figures.get("first", (0.0, 0.0))
    if copies and on_first > 0.5:
        where = f"rests on the first piece ({share(on_first)})"
    return where + copies + _along_edges(figures, places("edges", quantities))


def _on_copies(figures: Figures, named: Mapping[str, str]) -> str:
    """What a head does where a piece occurred before, or two in a row, if that is beyond chance."""

    awake = 1 - figures.get("first", (0.0, 0.0))[0]  # what a head gives on average to all but the first piece

    def acts(kind: str) -> bool:
        value, chance = figures.get(kind, (0.0, 0.0))
        return kind in figures and value >= max(min(ACTS, TIMES * awake), TIMES * chance)

    told = [f"{share(figures[kind][0])} on {place}" for kind, place in named.items() if acts(kind)]
    said = f"; where a piece occurred before, puts {' and '.join(told)}" if told else ""
    if acts("after_same_pair") and not acts("after_same_piece"):
        said += f"; where two pieces in a row occurred before, puts {share(figures['after_same_pair'][0])} on what "
        said += "followed them"
    return said


def _where(figures: Figures, named: Mapping[str, str]) -> str:
    shares = {place: figures[place] for place in named if place in figures}
    ranked = sorted(shares, key=lambda place: -shares[place][0])
    if ranked and shares[ranked[0]][0] > 0.5:
        rest = [place for place in ranked[1:] if shares[place][0] > max(0.15, 2 * shares[place][1])]
        return "puts " + ", ".join(f"{share(shares[place][0])} on {named[place]}" for place in [ranked[0], *rest[:1]])
    entropy, even = figures.get("entropy", (0.0, 1.0))
    if even > 0 and entropy >= EVEN * even:
        return f"spreads its attention almost evenly (entropy {entropy:.2f} of {even:.2f} nats)"
    lifted = [place for place in ranked if shares[place][0] >= 0.08 and shares[place][0] > 2 * shares[place][1]]
    if lifted:
        listed = " and ".join(f"{share(shares[place][0])} on {named[place]}" for place in lifted[:2])
        return f"mixes: {listed}, the rest spread out"
    distance, usual = figures.get("distance", (0.0, 0.0))
    if usual and distance < 0.5 * usual:
        return f"looks nearby without a fixed place, {distance:.1f} pieces away on average"
    return f"has no single place it prefers (entropy {entropy:.2f} of {even:.2f} nats)"


def _along_edges(figures: Figures, named: Mapping[str, str]) -> str:
    followed = {end: figures[end] for end in named if end in figures}
    best = max(followed, key=lambda end: followed[end][0] - followed[end][1], default=None)
    if best is None or followed[best][0] < max(0.25, 3 * followed[best][1]):
        return ""
    return f"; a word gives {share(followed[best][0])} to {named[best]}"


def share(value: float) -> str:
    """A share as people write it: two digits, no leading zero."""
    text = f"{value:.2f}"
    return text[1:] if text.startswith("0") else text
