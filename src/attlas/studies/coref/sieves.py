"""Three simple ways to find the antecedent of a mention, for heads to be compared with (Clark et al. 2019).

All look back: they choose among the mentions of the window whose head word stands before that of the mention, and
take the nearest (by head word) of those that fit.

- *nearest*: any mention fits.
- *head match*: one whose head word is the same (in lower case); where there is none, any.
- *sieve* (a small cousin of Lee et al. 2011): one with the same words (in lower case, possessive markers aside); else
  one with the same head word; else one that agrees in number, gender and person as far as these are known
  (:mod:`attlas.text.agreement`); else any.

Where two mentions share the nearest head word, it counts for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from attlas.studies.coref.mentions import Known, Question

Fits = Callable[[Known, Known], bool]


_FITS: dict[str, Fits] = {
    "any": lambda mention, earlier: True,
    "same words": lambda mention, earlier: mention.words == earlier.words,
    "same head": lambda mention, earlier: mention.word == earlier.word,
    "agrees": lambda mention, earlier: mention.traits.agrees(earlier.traits),
}
BASELINES: dict[str, tuple[Fits, ...]] = {
    "nearest": (_FITS["any"],),
    "head match": (_FITS["same head"], _FITS["any"]),
    "sieve": tuple(_FITS[name] for name in ("same words", "same head", "agrees", "any")),
}


def choose(mention: Known, mentions: Sequence[Known], sieves: Sequence[Fits]) -> int:
    """The head word of the nearest earlier mention that passes the first sieve that any passes; -1 where none is
    earlier.

    >>> from attlas.studies.coref.mentions import known_mentions
    >>> from attlas.text import Document, Mention
    >>> words = ["Emma", "met", "her", "uncle", "and", "Emma", "left"]
    >>> spans = [Mention(0, 1, "e"), Mention(2, 3, "e"), Mention(2, 4, "u"), Mention(5, 6, "e")]
    >>> mentions = known_mentions(Document.from_words(words, mentions=spans))
    >>> [choose(mentions[-1], mentions, BASELINES[name]) for name in ("nearest", "head match")]
    [3, 0]
    """
    earlier = [other for other in mentions if other.head < mention.head]
    for fits in sieves:
        passing = [other.head for other in earlier if fits(mention, other)]
        if passing:
            return max(passing)
    return -1


def baselines_right(question: Question) -> NDArray[np.bool_]:
    """Whether each baseline chooses right for each mention that is asked for, (baseline, asked mention).

    >>> from attlas.studies.coref.mentions import question_of
    >>> from attlas.text import Document, Mention
    >>> words = ["Emma", "met", "her", "uncle", "and", "Emma", "left"]
    >>> spans = [Mention(0, 1, "e"), Mention(2, 3, "e"), Mention(2, 4, "u"), Mention(5, 6, "e")]
    >>> baselines_right(question_of(Document.from_words(words, mentions=spans))).astype(int).tolist()
    [[1, 0], [1, 1], [1, 1]]
    """
    asked = [(question.mentions[place], right) for place, right in zip(question.asked, question.right, strict=True)]
    found = [
        choose(mention, question.mentions, sieves) in right
        for sieves in BASELINES.values()
        for mention, right in asked
    ]
    return np.array(found, bool).reshape(len(BASELINES), len(asked))
