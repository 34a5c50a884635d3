"""A text as HTML, every word shaded by its weight and the places of its phrases underlined, its phrases beside it.

The text itself stays as it was written: what lies between words (spaces, line breaks) is kept. Shades come in
:data:`LEVELS` steps by the root of the weight, since most words weigh little and a few very much. Shades, underlines
and the jumps from a phrase to its first place need no script; a small one lets a phrase light up all its places.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from attlas.pages import Row, count_of
from attlas.pages.html import tag
from attlas.store.schema import KINDS, is_known

LEVELS = 20  # as many as keywords.css has shades
LISTED = 60  # phrases beside a text
_TOPS = (2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50)
_FIRST = 5  # phrases with a thicker line


class _Place(NamedTuple):
    """Where a phrase stands: words from start to stop, its rank from 0, and which of its places this is."""

    start: int
    stop: int
    rank: int
    turn: int


class Shown(NamedTuple):
    """A text on the page: what is known of it, its words (as many as are shown) and its phrases by rank."""

    key: int
    name: str
    text: str
    total: int
    words: Sequence[Row]
    phrases: Sequence[Row]

    @property
    def weights(self) -> list[float]:
        """The weights of the words that are shown."""
        return [float(row["weight"]) for row in self.words if is_known(row["weight"])]


def _free_places(phrases: Sequence[Row], count: int) -> Iterator[_Place]:
    """The places of phrases among the first so many words, in their order; where two would overlap, that of the
    better phrase is kept."""
    taken = bytearray(count)
    kept = []
    for rank, row in enumerate(phrases):
        turn = 0
        for start, stop in sorted(zip(row["starts"], row["stops"], strict=True)):
            if start < stop <= count and not any(taken[start:stop]):
                taken[start:stop] = b"\1" * (stop - start)
                kept.append(_Place(start, stop, rank, turn))
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
    """Which of the shades a weight has."""
    return round(LEVELS * math.sqrt(min(1.0, max(0.0, weight) / top)))


def legend(top: float) -> Markup:
    """What the shades mean."""
    marks = [value for value in (0, 0.5, 1, 2, 4, 8, 15) if value < top] + [top]
    steps = [
        tag("span", tag("i", class_=f"k{level(value, top)}"), f"{value:g}",
            " (an average word)" if value == 1 else " and more" if value == top else "")
        for value in marks
    ]  # fmt: skip
    inside = [part for step in steps for part in (" ", step)]
    return tag("p", tag("b", "weight"), *inside, class_="key weighed-key", aria_label="Scale of weights")


def weighed(text: Shown, top: float, *, several: bool, first: bool) -> Markup:
    """One text with its phrases; among several it can be folded away, and only the first is open."""
    places = list(_free_places(text.phrases, len(text.words)))
    inside = tag(
        "div", tag("div", _shaded(text, places, top), class_="weighed-text"),
        tag("div", tag("h3", "Key phrases"), _phrases(text, {place.rank for place in places}),
            class_="weighed-phrases"),
        class_="weighed",
    )  # fmt: skip
    if not several:
        return inside
    best = [part for row in text.phrases[:3] for part in (", ", _as_written(row["phrase"]))][1:]
    summary = tag("summary", tag("b", text.name, dir="auto"), " ", tag("small", count_of(text.total, "word")), " ",
                  tag("span", *best))  # fmt: skip
    return tag("details", summary, inside, class_="weighed-document", id=f"text-{text.key}", open=first)


def _shaded(text: Shown, places: Sequence[_Place], top: float) -> Markup:
    """The text with its shades and underlines; where there are more words than are shown, that is said."""
    if not text.words:
        return tag("p", f"The {text.total:,} words of this text are not shown here.", class_="note")
    opening = {place.start: place for place in places}
    parts: list[Any] = []
    marked: list[Any] = []  # what stands in the underlined place that is open
    place, at = None, 0
    for index, row in enumerate(text.words):
        (parts if place is None else marked).append(text.text[at : row["start"]])
        place = opening.get(index, place)
        word = _word(text.text[row["start"] : row["stop"]], row["weight"], top)
        (parts if place is None else marked).append(word)
        at = row["stop"]
        if place is not None and index == place.stop - 1:
            parts.append(_mark(text, place, marked))
            place, marked = None, []
    left = text.total - len(text.words)
    if not left:
        parts.append(text.text[at:])
    note = f"These are the first {len(text.words):,} of {text.total:,} words."
    said = tag("p", note, class_="note") if left > 0 else Markup("")
    return tag("div", *parts, class_="weighed-words", dir="auto") + said


def _word(text: str, weight: float | None, top: float) -> Any:
    if not is_known(weight):
        return text
    step = level(float(weight or 0.0), top)
    return tag("span", text, class_=f"k{step}" if step else None, title=_written(weight))


def _mark(text: Shown, place: _Place, inside: Sequence[Any]) -> Markup:
    row = text.phrases[place.rank]
    told = f"{place.rank + 1}. {row['phrase']}: {_written(row['score'])}"
    return tag(
        "mark", *inside, class_="place first" if place.rank < _FIRST else "place",
        id=f"p{text.key}-{place.rank}-{place.turn}", data_phrase=str(place.rank),
        tabindex="0" if place.turn == 0 else "-1", aria_description=told, data_told=told,
    )  # fmt: skip


def _phrases(text: Shown, placed: set[int]) -> Markup:
    """The phrases of a text, each with a bar for its score; those that are underlined somewhere lead there."""
    if not text.phrases:
        return tag("p", "No phrase was found: none of its words has a letter and weighs enough.")
    most = max(float(row["score"]) for row in text.phrases) or 1.0
    items = []
    for rank, row in enumerate(text.phrases[:LISTED]):
        places = len(row["starts"])
        times = [" ", tag("small", f"×{places}", title=f"stands in {places} places")] if places > 1 else []
        inside = [_as_written(row["phrase"]), *times, tag("b", _written(row["score"]))]
        size = f"--s:{100 * max(0.0, float(row['score'])) / most:.0f}%"
        link = {"href": f"#p{text.key}-{rank}-0", "data_phrase": str(rank)} if rank in placed else {}
        items.append(tag("li", tag("a" if link else "span", *inside, **link, style=size)))
    rest = len(text.phrases) - LISTED
    more = tag("p", tag("small", f"{rest:,} more are in the table.")) if rest > 0 else ""
    return tag("ol", *items) + more


def _as_written(phrase: Any) -> Markup:
    return tag("bdi", str(phrase), dir="auto")


def _written(value: Any) -> str:
    return KINDS["number"].write(value, None)
