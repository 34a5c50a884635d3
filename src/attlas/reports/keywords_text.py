"""A text as HTML, every word shaded by its weight and the places of its phrases underlined.

The text itself stays as it was written: what lies between words (spaces, line breaks) is kept. Shades come in
:data:`LEVELS` steps by the root of the weight, since most words weigh little and a few very much.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from attlas.reports.findings import figure, is_number

Row = Mapping[str, Any]
MOST_WORDS = 20_000  # of one text
LEVELS = 20
_TOPS = (2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50)
_FIRST = 5  # phrases with a thicker line


class Place(NamedTuple):
    """Where a phrase stands: words from start to stop, its rank from 0, and which of its places this is.

    >>> Place(4, 6, 0, 1).turn
    1
    """

    start: int
    stop: int
    rank: int
    turn: int


class Shown(NamedTuple):
    """A text on the page: what is known of it, its words (as many as are shown) and its phrases by rank.

    >>> Shown(0, "a", "Hi", 1, (), (), ()).placed
    frozenset()
    """

    key: int
    name: str
    text: str
    total: int
    words: Sequence[Row]
    phrases: Sequence[Row]
    places: Sequence[Place]

    @property
    def weights(self) -> list[float]:
        """The weights of the words that are shown.

        >>> Shown(0, "a", "Hi", 1, [{"weight": 1.5}], (), ()).weights
        [1.5]
        """
        return [float(row["weight"]) for row in self.words if is_number(row["weight"])]

    @property
    def placed(self) -> frozenset[int]:
        """The ranks of phrases that are underlined somewhere.

        >>> Shown(0, "a", "Hi", 1, (), (), [Place(0, 1, 3, 0)]).placed
        frozenset({3})
        """
        return frozenset(place.rank for place in self.places)


def shown_of(document: Row, words: Sequence[Row], phrases: Sequence[Row]) -> Shown:
    """What the page shows of a document.

    >>> document = {"document": 3, "name": None, "text": "Hi", "words": 1}
    >>> shown_of(document, [], []).name
    'text 4'
    """
    name = str(document.get("name") or f"text {document['document'] + 1}")
    return Shown(
        int(document["document"]), name, str(document["text"]), int(document["words"]), words, phrases,
        tuple(free_places(phrases, len(words))),
    )  # fmt: skip


def free_places(phrases: Sequence[Row], count: int) -> Iterator[Place]:
    """The places of phrases among the first so many words, in their order; where two would overlap, that of the
    better phrase is kept.

    >>> phrases = [{"starts": [4, 0], "stops": [6, 2]}, {"starts": [1, 8], "stops": [3, 9]}]
    >>> list(free_places(phrases, 9))
    [Place(start=0, stop=2, rank=0, turn=0), Place(start=4, stop=6, rank=0, turn=1), Place(start=8, stop=9, rank=1, turn=0)]
    """  # noqa: E501
    taken = bytearray(count)
    kept = []
    for rank, row in enumerate(phrases):
        turn = 0
        for start, stop in sorted(zip(row["starts"], row["stops"], strict=True)):
            if start < stop <= count and not any(taken[start:stop]):
                taken[start:stop] = b"\1" * (stop - start)
                kept.append(Place(start, stop, rank, turn))
                turn += 1
    yield from sorted(kept)


def top_of(weights: Sequence[Sequence[float]]) -> float:
    """The weight that has the full shade: what the heaviest fiftieth of all words reach, as a round number.

    >>> top_of([[0.1] * 90, [4.2] * 10]), top_of([])
    (5, 2)
    """
    every = sorted(value for values in weights for value in values)
    if not every:
        return _TOPS[0]
    reached = every[min(len(every) - 1, math.ceil(0.98 * len(every)))]
    return next((top for top in _TOPS if top >= reached), _TOPS[-1])


def level(weight: float, top: float) -> int:
    """Which of the shades a weight has.

    >>> [level(weight, 4) for weight in (0, 0.04, 1, 4, 9)]
    [0, 2, 10, 20, 20]
    """
    return round(LEVELS * math.sqrt(min(1.0, max(0.0, weight) / top)))


def level_styles() -> str:
    """The shades, as styles.

    >>> level_styles().count("{"), level_styles()[:11]
    (20, '.k1{--w:5%}')
    """
    return "".join(f".k{step}{{--w:{100 * step // LEVELS}%}}" for step in range(1, LEVELS + 1))


def legend(top: float) -> str:
    """What the shades mean.

    >>> legend(4).count("<i"), "average word" in legend(4)
    (5, True)
    """
    marks = [value for value in (0, 0.5, 1, 2, 4, 8, 15) if value < top] + [top]
    steps = "".join(
        f'<span><i class="k{level(value, top)}"></i>{value:g}'
        f"{' (an average word)' if value == 1 else ' and more' if value == top else ''}</span>"
        for value in marks
    )
    return f'<p class="key weighed-key" aria-label="Scale of weights"><b>weight</b> {steps}</p>'


def text_html(one: Shown, top: float) -> str:
    """The text with its shades and underlines; where there are more words than are shown, that is said.

    >>> words = [{"start": 0, "stop": 2, "weight": 0.0}, {"start": 3, "stop": 6, "weight": 2.0}]
    >>> phrase = {"phrase": "a<b", "score": 2.0, "starts": [1], "stops": [2]}
    >>> one = shown_of({"document": 0, "name": "x", "text": "It a<b", "words": 3}, words, [phrase])
    >>> shown = text_html(one, 2)
    >>> "It</span> <mark" in shown, 'class="k20" title="2.00">a&lt;b</span></mark>' in shown, "first 2 of 3" in shown
    (True, True, True)
    """
    if not one.words:
        return f'<p class="note">The {one.total:,} words of this text are not shown here.</p>'
    opening = {place.start: place for place in one.places}
    closing = {place.stop - 1 for place in one.places}
    parts, at = [], 0
    for index, row in enumerate(one.words):
        parts.append(escape(one.text[at : row["start"]]))
        if index in opening:
            parts.append(_mark(one, opening[index]))
        parts.append(_word(one.text[row["start"] : row["stop"]], row["weight"], top))
        if index in closing:
            parts.append("</mark>")
        at = row["stop"]
    left = one.total - len(one.words)
    if not left:
        parts.append(escape(one.text[at:]))
    said = f'<p class="note">These are the first {len(one.words):,} of {one.total:,} words.</p>' if left > 0 else ""
    return f'<div class="weighed-words" dir="auto">{"".join(parts)}</div>{said}'


def _word(text: str, weight: float | None, top: float) -> str:
    if weight is None or not is_number(weight):
        return escape(text)
    step = level(weight, top)
    kind = f' class="k{step}"' if step else ""
    return f'<span{kind} title="{weight:.2f}">{escape(text)}</span>'


def _mark(one: Shown, place: Place) -> str:
    row = one.phrases[place.rank]
    told = f"{place.rank + 1}. {row['phrase']}: {figure(float(row['score']))}"
    kind = "place first" if place.rank < _FIRST else "place"
    tab = "0" if place.turn == 0 else "-1"
    return (
        f'<mark class="{kind}" id="p{one.key}-{place.rank}-{place.turn}" data-phrase="{place.rank}" tabindex="{tab}" '
        f'aria-description="{escape(told)}" data-told="{escape(told)}">'
    )
