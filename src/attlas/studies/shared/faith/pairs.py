"""The same sentence under two kinds of attention, side by side in the head view, inside a page.

A list of sentences, each with a button for every adversary, stands above a place where the viewer shows both and
their difference; the first pair is there at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from attlas.pages.html import tag
from attlas.views.gallery import gallery, open_button, showcase
from attlas.views.scene import Scene

Matrix = NDArray[np.float32]
READ = (
    "Lines run from a query on the left to its keys on the right, coloured by head; to the right stands the "
    "difference (blue: more in A, orange: more in B). Press ? in the picture for all keys."
)
TVD = "half the sum of the differences of all labels’ probabilities (total variation distance); 0 to 1."
JSD = "Jensen-Shannon divergence in nats, 0 to ln 2 = 0.69"
_PLACE = "same-sentence"


class Pair(NamedTuple):
    """Two scenes to compare, what the button says that shows them, and where the viewer starts."""

    label: str
    scenes: tuple[Scene, Scene]
    selection: dict[str, Any]


class Shown(NamedTuple):
    """A sentence as markup, what is known of it, and its pairs."""

    sentence: Markup
    note: Markup
    pairs: tuple[Pair, ...]


def pairs_html(sentences: Sequence[Shown]) -> Markup | None:
    """The list, the place for pictures and all they need; None where no sentence has a pair.

    >>> pairs_html([Shown(Markup("a"), Markup(""), ())]) is None
    True
    """
    shown = [sentence for sentence in sentences if sentence.pairs]
    if not shown:
        return None
    items: list[Markup] = []
    scenes: list[tuple[Scene, Scene]] = []
    for place, (sentence, note, pairs) in enumerate(shown):
        buttons, about = [], f"{_PLACE}-{place}"
        for pair in pairs:
            button = open_button(len(scenes), pair.label, into=_PLACE, about=about, **pair.selection)
            buttons.append(Markup(button))  # which escapes what is given to it
            scenes.append(pair.scenes)
        said = tag("small", note) if note else Markup("")
        items.append(
            tag("li", tag("p", sentence, dir="auto", id=about), tag("span", Markup(" ").join(buttons)), said)
        )
    label = "Attention of a model and of its adversary on the same sentence, and their difference"
    return Markup("\n").join(
        [tag("ol", *items, class_="faith-pairs"), Markup(showcase(_PLACE, label)), Markup(gallery(scenes))]
    )


def most_apart(one: Matrix, other: Matrix) -> int:
    """The query whose rows are most apart in two attentions (head, query, key), by JSD summed over heads.

    >>> even = np.full((1, 2, 2), 0.5, np.float32)
    >>> most_apart(even, np.array([[[0.5, 0.5], [1.0, 0.0]]], np.float32))
    1
    """
    middle = (one + other) / 2
    apart = [
        np.where(each > 0, each * np.log(np.maximum(each, 1e-30) / np.maximum(middle, 1e-30)), 0)
        for each in (one, other)
    ]
    return int(sum(apart).sum((0, 2)).argmax())  # type: ignore[union-attr]
