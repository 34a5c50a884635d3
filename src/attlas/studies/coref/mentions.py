"""The mentions of a text window, as a question about coreference: who is asked, what is right, who may be chosen.

Everything is about *head words*. A mention's head word is the one that the corpus names, else the word of the mention
whose governor lies outside it, else found by rule (:mod:`attlas.text.phrases`). Mentions of one chain that share
their head word are one, the longest. An antecedent of a mention is a mention of its chain whose head word stands
before its own. A mention is *asked* for if it has an antecedent in the same window. Right is the head word of any
antecedent.

Three sets of words may be chosen from: the head words of all other mentions in the window ("mentions"), of those that
stand before ("preceding"), and all words of the window but the mention's own head word ("words"). Only words that
have a piece of their own take part. All mentions that the corpus marks are candidates; whether that includes those
that nothing refers to (singletons) is the corpus's choice.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attlas.text import Document, Mention
from attlas.text.agreement import NOMINAL, PRONOUN, PROPER, Traits, kind_of, traits
from attlas.text.phrases import POSSESSIVE, head_word

KINDS = ("all", PRONOUN, PROPER, NOMINAL)
CANDIDATES = ("mentions", "preceding", "words")


@dataclass(frozen=True)
class Known:
    """A mention with what is known of it: head word, chain, kind, its words in lower case, and its traits.

    >>> known_mentions(Document.from_words(["She", "slept"], mentions=(Mention(0, 1, "Emma"),)))[0].kind
    'pronoun'
    """

    start: int
    stop: int
    head: int
    chain: str
    kind: str
    words: tuple[str, ...]
    word: str
    traits: Traits


@dataclass(frozen=True)
class Question:
    """All that is asked of one window: its mentions in order of their head words, and who has an antecedent.

    ``asked`` are places in ``mentions``; ``right`` are, for each of these, the head words of its antecedents;
    ``present`` is which words of the window take part.

    >>> words = ["Emma", "said", "she", "slept"]
    >>> document = Document.from_words(words, mentions=(Mention(0, 1, "e"), Mention(2, 3, "e")))
    >>> question = question_of(document)
    >>> question.asked, [sorted(right) for right in question.right]
    ((1,), [[0]])
    """

    mentions: tuple[Known, ...]
    asked: tuple[int, ...]
    right: tuple[frozenset[int], ...]
    present: NDArray[np.bool_]

    @property
    def head_words(self) -> tuple[int, ...]:
        """The head words of the mentions that are asked for."""
        return tuple(self.mentions[place].head for place in self.asked)

    def allowed(self, *, causal: bool = False) -> NDArray[np.bool_]:
        """Which words may be chosen, (set of candidates, asked mention, word); of a causal model only earlier ones.

        >>> words = ["Emma", "said", "she", "slept"]
        >>> document = Document.from_words(words, mentions=(Mention(0, 1, "e"), Mention(2, 3, "e")))
        >>> question_of(document).allowed()[:, 0].astype(int).tolist()
        [[1, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 1]]
        """
        own = np.array(self.head_words, dtype=np.int64)[:, None]
        place = np.arange(len(self.present))
        other = place < own if causal else place != own
        named = np.zeros(len(self.present), bool)
        named[[mention.head for mention in self.mentions]] = True
        return np.stack([named & other, named & (place < own), self.present & other])

    def answers(self) -> NDArray[np.bool_]:
        """Which words are right, (asked mention, word)."""
        made = np.zeros((len(self.asked), len(self.present)), bool)
        for row, right in enumerate(self.right):
            made[row, list(right)] = True
        return made

    def kinds(self) -> NDArray[np.bool_]:
        """Which kinds each asked mention counts for, (asked mention, kind); the first kind is all."""
        kinds = [self.mentions[place].kind for place in self.asked]
        return np.array([[name in ("all", kind) for name in KINDS] for kind in kinds], bool).reshape(-1, len(KINDS))


def question_of(document: Document, wordless: Collection[int] = ()) -> Question:
    """What a window asks; ``wordless`` are words without a piece of their own, which cannot take part.

    >>> words = ["The", "cat", "saw", "its", "tail"]
    >>> document = Document.from_words(words, mentions=(Mention(0, 2, "c"), Mention(3, 4, "c"), Mention(3, 5, "t")))
    >>> [mention.words for mention in question_of(document).mentions]
    [('the', 'cat'), ('its',), ('its', 'tail')]
    """
    present = np.ones(len(document.words), bool)
    present[list(wordless)] = False
    mentions = tuple(mention for mention in known_mentions(document) if present[mention.head])
    earlier = [
        frozenset(m.head for m in mentions if m.chain == mention.chain and m.head < mention.head)
        for mention in mentions
    ]
    asked = tuple(place for place, right in enumerate(earlier) if right)
    return Question(mentions, asked, tuple(earlier[place] for place in asked), present)


def known_mentions(document: Document) -> tuple[Known, ...]:
    """The mentions of a document in order of their head words, each chain once for each head word.

    >>> document = Document.from_words(["Emma", "'s", "cat"], mentions=(Mention(0, 2, "e"), Mention(0, 1, "e")))
    >>> [(mention.start, mention.stop, mention.head) for mention in known_mentions(document)]
    [(0, 2, 0)]
    """
    forms = document.forms
    tags = _tags(document.upos or document.xpos, len(forms))
    penn = _tags(document.xpos, len(forms)) if document.xpos else tags
    openings = {sentence.start for sentence in document.sentences}
    inside = {form for place, form in enumerate(forms) if place not in openings}
    found: dict[tuple[int, str], Known] = {}
    for mention in sorted(document.mentions or (), key=lambda m: (m.start, -m.stop)):
        head = _head_of(document, mention, forms)
        if (head, mention.chain) in found and found[head, mention.chain].stop >= mention.stop:
            continue
        words, place = forms[mention.start : mention.stop], head - mention.start
        opens = head in openings and forms[head] not in inside
        kind = kind_of(words, place, tag=tags[head], opens=opens)
        told = traits(words, place, tag=penn[head], kind=kind)
        kept = tuple(word.lower() for word in words if word.lower() not in POSSESSIVE)
        found[head, mention.chain] = Known(
            mention.start, mention.stop, head, mention.chain, kind, kept, forms[head].lower(), told
        )
    return tuple(sorted(found.values(), key=lambda known: (known.head, known.start, known.chain)))


def _tags(tags: Sequence[str] | None, words: int) -> list[str | None]:
    """The tag of each word; an underscore, which stands where there is none, is no tag."""
    return [tag if tag not in ("", "_", "-") else None for tag in tags] if tags else [None] * words


def _head_of(document: Document, mention: Mention, forms: Sequence[str]) -> int:
    """The head word of a mention: the corpus's, else the tree's, else by rule."""
    if mention.head is not None:
        return mention.head
    words = range(mention.start, mention.stop)
    if document.governors is not None:
        outside = (word for word in words if document.governors[word] not in words)
        return next(outside, mention.stop - 1)
    return mention.start + head_word(forms[mention.start : mention.stop])
