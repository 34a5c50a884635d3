"""Whether a name holds: the heads that were named are closed, and what the name promises is asked of the model.

A :class:`Behaviour` says which definition names the heads, on which other texts what is measured, and which way it
should go: without induction heads a text that is repeated is predicted less well; without dormant heads nothing is
lost. Against the named heads stand as many others, disjoint from them, each of a layer within two of one of theirs:
all such sets, or :data:`DRAWS` distinct ones. p is the rank of the named heads among these sets; where there are
fewer than :data:`FEWEST_SETS`, there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attlas.ids import HeadId, Stream

if TYPE_CHECKING:
    from attlas.capture import Subject

DRAWS, FEWEST_SETS = 400, 300
NEAR = 2  # layers
CLOSED = 5  # heads
_ENUMERATED = 50_000  # sets that are listed rather than drawn
_TRIES = 40  # for each set that is wanted

Set = tuple[HeadId, ...]


@dataclass(frozen=True)
class Behaviour:
    """What a role promises.

    ``chosen_by`` is the key of the definition that names the heads; ``texts`` the place of a function of a
    :class:`~attlas.studies.roles.texts.Setting` that makes texts on which no head was chosen; ``losses`` that of a
    class that gives what is measured, text by text (:class:`attlas.studies.roles.closing.SpanLoss`); ``measured``
    says what it is. ``rises`` says that it should rise without the heads; else it should change less than without
    others.
    ``check`` is as in a :class:`~attlas.studies.roles.definition.Definition`.

    >>> Behaviour("induction", "induction", "prefix_matching", "x:y", "loss on the second copy").rises
    True
    """

    key: str
    title: str
    chosen_by: str
    texts: str
    measured: str
    losses: str = "attlas.studies.roles.closing:SpanLoss"
    rises: bool = True
    most: int = CLOSED
    check: str = "attlas.studies.roles.closing:why_no_loss"


_OURS = "attlas.studies.roles.texts"
_SECOND_COPY = "loss on the second copy of random pieces, in nats a piece"
_ON_TEXT = "loss on texts of the corpus, in nats a piece"
BEHAVIOURS: tuple[Behaviour, ...] = (
    Behaviour("induction", "induction", "prefix_matching", f"{_OURS}:repeated_to_test", _SECOND_COPY),
    Behaviour("duplicate", "duplicate piece", "duplicate", f"{_OURS}:repeated_to_test", _SECOND_COPY),
    Behaviour("previous", "previous piece", "previous_text", f"{_OURS}:repeated_to_test", _SECOND_COPY),
    Behaviour("copying", "copying", "copying", f"{_OURS}:repeated_to_test", _SECOND_COPY),
    Behaviour(
        "retrieval", "retrieval", "retrieval_forced", "attlas.studies.roles.long_texts:needles_to_test",
        "share of the answer's pieces that the model would not write, after the right ones before them",
        "attlas.studies.roles.closing:Misses",
    ),
    Behaviour(
        "successor", "successor", "successor", "attlas.studies.roles.ordinals:lists_to_test",
        "loss on the next ordinal of a list, in nats",
    ),
    Behaviour("sink", "sink", "first_key", f"{_OURS}:natural_to_test", _ON_TEXT, rises=False),
    Behaviour("dormant", "dormant", "dormant", f"{_OURS}:natural_to_test", _ON_TEXT, rises=False),
)  # fmt: skip


def how_many(subject: Subject, stream: Stream, most: int = CLOSED) -> int:
    """How many heads are closed: five, or a twelfth of all heads where that is less, and one at least.

    >>> from attlas.capture import load
    >>> how_many(load(), Stream.ENCODER), how_many(load(), Stream.ENCODER, 9)
    (5, 6)
    """
    return max(1, min(most, int(subject.grid(stream).sum()) // 12))


def rival_sets(subject: Subject, chosen: Sequence[HeadId], seed: int = 0, draws: int = DRAWS) -> list[Set]:
    """As many other heads, disjoint from the chosen, each of a layer within two of one of theirs: all distinct sets,
    or so many drawn at random.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> sets = rival_sets(subject, subject.named(["3-1", "6-2"]))
    >>> len(sets), len(set(sets)), any(set(some) & set(subject.named(["3-1", "6-2"])) for some in sets)
    (400, 400, False)
    >>> len(rival_sets(subject, subject.named(["3-1"])))
    59
    """
    stream = chosen[0].stream
    grid = subject.grid(stream)
    open_heads = {(int(layer), int(head)) for layer, head in np.argwhere(grid)} - {(c.layer, c.head) for c in chosen}
    candidates = [sorted(head for head in open_heads if abs(head[0] - one.layer) <= NEAR) for one in chosen]
    found: dict[Set, None] = {}
    if prod(map(len, candidates)) <= _ENUMERATED:
        for heads in islice(product(*candidates), _ENUMERATED):
            if len(set(heads)) == len(heads):
                found[_as_set(stream, heads)] = None
        every = list(found)
        if len(every) <= draws:
            return every
        kept = np.random.default_rng([seed, 11]).permutation(len(every))[:draws]
        return [every[at] for at in kept]
    generator = np.random.default_rng([seed, 11])
    for _ in range(_TRIES * draws):
        drawn = [each[int(generator.integers(len(each)))] for each in candidates]
        if len(set(drawn)) == len(drawn):
            found[_as_set(stream, drawn)] = None
        if len(found) == draws:
            break
    return list(found)


def _as_set(stream: Any, heads: Sequence[tuple[int, int]]) -> Set:
    return tuple(sorted(HeadId(stream, layer, head) for layer, head in heads))


def rank_p(own: float, others: NDArray[np.float64], *, rises: bool) -> float:
    """The rank of the named heads' change among those of the other sets, the named ones counted in; NaN where there
    are fewer than :data:`FEWEST_SETS`.

    >>> others = np.arange(399.0)
    >>> rank_p(1000.0, others, rises=True), rank_p(1000.0, others, rises=False)
    (0.0025, 1.0)
    >>> rank_p(1000.0, others[:299], rises=True)
    nan
    """
    if len(others) < FEWEST_SETS:
        return float("nan")
    as_large = others >= own if rises else np.abs(others) <= abs(own)
    return float((1 + as_large.sum()) / (1 + len(others)))
