"""What a survey asks of every head, as records: one for each quantity, from which its tables and its page are made.

A :class:`Quantity` says what is added up for a query (``keys``: the weight on a neighbour, on a class of keys, on
dependency edges, on earlier occurrences of its piece; or the entropy, distance or largest score of its row; or what
the one key gets that receives most), which queries count, and in which streams it means anything.
Whoever adds a record to :data:`QUANTITIES` has a new figure in the survey's tables, in its page and in the order of
heads of the views; only a new kind of ``keys`` or ``queries`` has to be taught to
:mod:`attlas.studies.shared.reducing`, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from attlas.ids import Stream

CLASSES = ("first", "cls", "sep", "punctuation", "other")
RANKS = ((1, 10), (11, 100), (101, 1000), (1001, 10_000), (10_001, None))  # of words by frequency, from and to
QUERIES = (
    "all",
    "has previous",
    "has next",
    "cls",
    "sep",
    "words",
    "seen before",
    "followed before",
    "pair before",
    "texts",
)
NEIGHBOURS = ("previous", "self", "next")
ROWS = ("entropy", "distance", "within", "top")
EDGES = ("governor", "dependents", "edges")
COPIES = ("earlier", "after earlier", "after pair")  # occurrences of the query's piece, and what followed them
OVER_TEXTS = ("resting", "away")  # whether a text's first key is a sink, and how far from it weight falls
KEYS = (*NEIGHBOURS, *CLASSES, *ROWS, "received", *EDGES, *COPIES, *OVER_TEXTS)
# of which there is no norm: scores, sums over queries, and places
WEIGHT_ALONE = frozenset({"top", "received", *COPIES, *OVER_TEXTS})
SINK_BAR, SINK_PIECES = 0.3, 64  # Gu et al. 2025
NEAREST = 8  # occurrences of a piece that are looked for, the nearest before it

EVERYWHERE = frozenset(Stream)
WITHIN = frozenset({Stream.ENCODER, Stream.DECODER})  # queries and keys are of one and the same text
BOTH_WAYS = frozenset({Stream.ENCODER})
ONE_WAY = frozenset({Stream.DECODER})


@dataclass(frozen=True)
class Quantity:
    """One figure of a head.

    ``keys`` is what is added up for each query and ``queries`` which queries count; a ``kind`` of "share" lies within
    [0, 1], a "signed" one anywhere, and others are not below 0, which is the range of their intervals; ``section`` is
    the part of the page that shows it; ``place`` is what a sentence calls the keys, where a head can be said to look
    there; ``column`` is its title in the table of heads, where it has a column, and ``norm`` whether its norm has
    one, too.

    >>> Quantity("sep_to_sep", "[SEP], seen from [SEP]", keys="sep", queries="sep", streams=WITHIN).kind
    'share'
    >>> Quantity("tail", "last piece", keys="last")
    Traceback (most recent call last):
        ...
    ValueError: quantity 'tail': there are no keys 'last'; choose one of previous, self, next, first, cls, ...
    """

    name: str
    title: str
    kind: str = "share"
    keys: str = ""
    queries: str = "all"
    streams: frozenset[Stream] = EVERYWHERE
    section: str = "where"
    place: str = ""
    column: str = ""
    norm: bool = False

    @property
    def within(self) -> tuple[float, float]:
        """The range of its figures.

        >>> Quantity("sep", "[SEP]", keys="sep").within
        (0.0, 1.0)
        >>> Quantity("entropy", "entropy", "number", keys="entropy").within
        (0.0, inf)
        """
        return (-inf if self.kind == "signed" else 0.0, 1.0 if self.kind == "share" else inf)

    def __post_init__(self) -> None:
        for what, value, known in (("keys", self.keys, KEYS), ("queries", self.queries, QUERIES)):
            if value not in known:
                raise ValueError(
                    f"quantity {self.name!r}: there are no {what} {value!r}; choose one of {', '.join(known)}"
                )


QUANTITIES = (
    Quantity("previous", "previous piece", keys="previous", queries="has previous", streams=WITHIN,
             place="the previous piece", column="previous"),
    Quantity("next", "next piece", keys="next", queries="has next", streams=BOTH_WAYS, place="the next piece",
             column="next"),
    Quantity("self", "the piece itself", keys="self", streams=WITHIN, place="the piece itself"),
    Quantity("first", "first piece", keys="first", place="the first piece", column="first", norm=True),
    Quantity("cls", "[CLS]", keys="cls", place="[CLS]", column="[CLS]", norm=True),
    Quantity("sep", "[SEP]", keys="sep", place="[SEP]", column="[SEP]", norm=True),
    Quantity("punctuation", "period or comma", keys="punctuation", place="periods and commas", column="punct."),
    Quantity("other", "any other piece", keys="other"),
    Quantity("within", "within 8 pieces", keys="within", streams=WITHIN, column="near"),
    Quantity("most_received", "the piece that receives most", keys="received", column="most received"),
    Quantity("sep_to_sep", "[SEP], seen from [SEP]", keys="sep", queries="sep", streams=WITHIN),
    Quantity("entropy", "entropy, all queries", "number", keys="entropy", section="entropy", column="entropy"),
    Quantity("entropy_cls", "entropy, from [CLS]", "number", keys="entropy", queries="cls", section="entropy"),
    Quantity("top_score", "largest score, before the softmax", "signed", keys="top", section="entropy",
             column="top score"),
    Quantity("distance", "distance in pieces", "number", keys="distance", streams=WITHIN, section="distance",
             column="distance"),
    Quantity("to_governor", "to the governor", keys="governor", queries="words", streams=WITHIN, section="edges",
             place="its governor"),
    Quantity("to_dependent", "to dependents", keys="dependents", queries="words", streams=WITHIN, section="edges",
             place="its dependents"),
    Quantity("edges", "edges, of all between words", keys="edges", queries="words", streams=WITHIN, section="edges",
             column="edges"),
    Quantity("same_piece", "earlier occurrences of the piece", keys="earlier", queries="seen before", streams=WITHIN,
             section="copies", place="the same piece"),
    Quantity("after_same_piece", "what followed the piece before", keys="after earlier", queries="followed before",
             streams=ONE_WAY, section="copies", place="what followed it", column="followed"),
    Quantity("after_same_pair", "what followed the same two pieces before", keys="after pair", queries="pair before",
             streams=ONE_WAY, section="copies"),
    Quantity("sink_rate", "sink rate (Gu et al. 2025)", keys="resting", queries="texts", streams=WITHIN,
             section="copies", column="sink rate"),
    Quantity("sink_away", "from the first piece to where weight falls", "number", keys="away", streams=WITHIN,
             section="distance"),
)  # fmt: skip


def titles(quantities: Iterable[Quantity] = QUANTITIES) -> dict[str, str]:
    """What each quantity is called, by its name.

    >>> titles()["sep_to_sep"]
    '[SEP], seen from [SEP]'
    """
    return {quantity.name: quantity.title for quantity in quantities}


def places(section: str, quantities: Iterable[Quantity] = QUANTITIES) -> dict[str, str]:
    """Where a head can be said to look, of one section: what a sentence calls it, by the quantity's name.

    >>> places("edges")
    {'to_governor': 'its governor', 'to_dependent': 'its dependents'}
    """
    return {
        quantity.name: quantity.place for quantity in quantities if quantity.place and quantity.section == section
    }
