"""What every accumulator can do, and how its state names its class.

An accumulator has a *configuration* (what it was made for, such as a shape) and a *state* (what it has seen). Only
accumulators of one class and one configuration merge. A state is a dictionary of plain arrays that survives an
``.npz`` file without pickling; the arrays ``kind`` and ``schema`` in it say which class wrote it and in which
version of its layout, so that :func:`rebuild` finds the class again among those that were registered.

A new accumulator is a class with these methods under ``@register``; the shared laws in the tests then insist on
being given a way to make one, and check the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from attlas.errors import StatsError

if TYPE_CHECKING:
    from typing import Self

State = dict[str, NDArray[Any]]

KINDS: dict[str, type[Accumulator]] = {}


class Accumulator(Protocol):
    """Something that takes in batches, merges with its like, and can be written down.

    >>> from attlas.stats.pooled import PooledMean
    >>> one: Accumulator = PooledMean(shape=(), blocks=1)
    >>> one.update([2.0, 4.0], [1, 1])
    >>> float(one.result().value)
    3.0
    """

    schema: ClassVar[int]

    @property
    def configuration(self) -> dict[str, Any]:
        """What must agree before two of them merge."""

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Take in one batch; what a batch is, each class says for itself."""

    def merge(self, other: Self) -> None:
        """Take in, in place, all that the other has seen."""

    def result(self) -> Any:
        """The statistic over everything seen so far."""

    def state(self) -> State:
        """A copy of everything seen, as plain arrays."""

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Self:
        """The accumulator that wrote this state."""


Kind = TypeVar("Kind", bound=type[Accumulator])


def register(kind: Kind) -> Kind:
    """Make a class known by its name, so that its states can be read back.

    >>> from attlas.stats.pooled import PooledMean
    >>> KINDS["PooledMean"] is PooledMean
    True
    """
    KINDS[kind.__name__] = kind
    return kind


def describe(accumulator: Accumulator) -> str:
    """An accumulator's class and configuration, for messages.

    >>> from attlas.stats.pooled import PooledMean
    >>> describe(PooledMean(shape=(2, 3)))
    'PooledMean(shape=(2, 3), blocks=128)'
    """
    parts = ", ".join(f"{name}={value}" for name, value in accumulator.configuration.items())
    return f"{type(accumulator).__name__}({parts})"


def require_same_configuration(one: Accumulator, other: Accumulator) -> None:
    """Refuse two accumulators that do not count the same thing, showing both.

    >>> from attlas.stats.pooled import PooledMean
    >>> require_same_configuration(PooledMean(shape=(2,)), PooledMean(shape=(3,)))
    Traceback (most recent call last):
        ...
    attlas.errors.StatsError: PooledMean(shape=(2,), blocks=128) cannot be merged with PooledMean(shape=(3,), ...
    """
    if type(one) is not type(other) or one.configuration != other.configuration:
        raise StatsError(
            f"{describe(one)} cannot be merged with {describe(other)}; both must come from the same study and options"
        )


def header(kind: type[Accumulator]) -> State:
    """The two arrays every state begins with.

    >>> from attlas.stats.pooled import PooledMean
    >>> {key: value.item() for key, value in header(PooledMean).items()}
    {'kind': 'PooledMean', 'schema': 2}
    """
    return {"kind": np.array(kind.__name__), "schema": np.array(kind.schema)}


def check_header(kind: type[Accumulator], state: Mapping[str, NDArray[Any]], arrays: tuple[str, ...]) -> None:
    """Refuse a state that another class or a later version wrote, or that lacks one of the named arrays.

    >>> from attlas.stats.pooled import PooledMean
    >>> check_header(PooledMean, {"kind": np.array("PooledMean"), "schema": np.array(9)}, ())
    Traceback (most recent call last):
        ...
    attlas.errors.StatsError: this state of a PooledMean has schema 9, but this version of attlas reads schema 2; ...
    """
    name = kind.__name__
    missing = [key for key in ("kind", "schema", *arrays) if key not in state]
    if missing:
        raise StatsError(f"this is no state of a {name}: it lacks {', '.join(missing)}")
    if str(state["kind"]) != name:
        raise StatsError(f"a state of a {name} was expected, and one of a {state['kind']} came")
    if int(state["schema"]) != kind.schema:
        raise StatsError(
            f"this state of a {name} has schema {int(state['schema'])}, but this version of attlas reads schema "
            f"{kind.schema}; go on with the version that wrote it, or start over"
        )


def rebuild(state: Mapping[str, NDArray[Any]]) -> Accumulator:
    """Make an accumulator of whichever registered class wrote this state.

    >>> from attlas.stats.pooled import PooledMean
    >>> describe(rebuild(PooledMean(shape=(2,)).state()))
    'PooledMean(shape=(2,), blocks=128)'
    """
    name = str(state["kind"]) if "kind" in state else "nothing"
    if name not in KINDS:
        raise StatsError(
            f"this state says it is of {name}, but the known accumulators are {', '.join(sorted(KINDS))}"
        )
    return KINDS[name].from_state(state)
