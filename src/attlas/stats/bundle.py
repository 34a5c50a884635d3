"""Several accumulators under names, which together are again one.

A study keeps all it counts in one bundle: its parts are updated one by one, but merged, saved and restored
together. The keys of its state are ``name/key``; since a bundle is an accumulator too, bundles may nest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from attlas.errors import StatsError
from attlas.stats.accumulator import (
    Accumulator,
    State,
    check_header,
    describe,
    header,
    rebuild,
    register,
    require_same_configuration,
)
from attlas.stats.pooled import PooledMean


@register
class Bundle:
    """Named accumulators, treated as one.

    >>> from attlas.stats.pooled import PooledMean
    >>> bundle = Bundle({"entropy": PooledMean(shape=(), blocks=1)})
    >>> bundle["entropy"].update([1.0, 3.0], 1)
    >>> bundle.result()["entropy"].value.item()
    2.0
    """

    schema: ClassVar[int] = 1

    def __init__(self, parts: Mapping[str, Accumulator]) -> None:
        for name in parts:
            if not name or "/" in name:
                raise StatsError(f"the name {name!r} of a part is empty or holds a slash; choose another")
        self._parts = dict(parts)

    def __getitem__(self, name: str) -> Accumulator:
        if name not in self._parts:
            raise StatsError(f"there is no {name!r} among the parts {', '.join(self._parts) or '(none)'}")
        return self._parts[name]

    def pooled(self, name: str) -> PooledMean:
        """The part of this name, which is a pooled mean.

        >>> from attlas.stats.pooled import PooledMean
        >>> Bundle({"entropy": PooledMean(shape=(2,))}).pooled("entropy").shape
        (2,)
        """
        part = self[name]
        if not isinstance(part, PooledMean):
            raise StatsError(f"{name!r} is a {type(part).__name__}, not a pooled mean")
        return part

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def configuration(self) -> dict[str, Any]:
        """Each part's class and configuration.

        >>> from attlas.stats.pooled import PooledMean
        >>> Bundle({"entropy": PooledMean(shape=(2,))}).configuration
        {'entropy': 'PooledMean(shape=(2,), blocks=128)'}
        """
        return {name: describe(part) for name, part in self._parts.items()}

    def update(self, **batches: tuple[Any, ...]) -> None:
        """Update several parts, each with its own arguments.

        >>> from attlas.stats.pooled import PooledMean
        >>> bundle = Bundle({"entropy": PooledMean(shape=(), blocks=1)})
        >>> bundle.update(entropy=([1.0, 3.0], 1))
        >>> bundle["entropy"].result().n.item()
        2.0
        """
        for name, arguments in batches.items():
            self[name].update(*arguments)

    def merge(self, other: Bundle) -> None:
        """Merge part by part; nothing is changed unless all parts fit.

        >>> from attlas.stats.pooled import PooledMean
        >>> Bundle({"a": PooledMean(shape=())}).merge(Bundle({}))
        Traceback (most recent call last):
            ...
        attlas.errors.StatsError: Bundle(a=PooledMean(shape=(), blocks=128)) cannot be merged with Bundle(); ...
        """
        require_same_configuration(self, other)
        for name, part in self._parts.items():
            part.merge(other[name])

    def result(self) -> dict[str, Any]:
        """Each part's result under its name.

        >>> Bundle({}).result()
        {}
        """
        return {name: part.result() for name, part in self._parts.items()}

    def state(self) -> State:
        """The states of all parts in one flat dictionary.

        >>> from attlas.stats.pooled import PooledMean
        >>> sorted(Bundle({"entropy": PooledMean(shape=())}).state())[:3]
        ['entropy/counts', 'entropy/kind', 'entropy/schema']
        """
        flat = header(Bundle) | {"names": np.array(list(self._parts), dtype=np.str_)}
        for name, part in self._parts.items():
            flat |= {f"{name}/{key}": value for key, value in part.state().items()}
        return flat

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Bundle:
        """The bundle that wrote this state, each part of its own class again.

        >>> from attlas.stats.pooled import PooledMean
        >>> list(Bundle.from_state(Bundle({"entropy": PooledMean(shape=())}).state()))
        ['entropy']
        """
        check_header(cls, state, ("names",))
        parts: dict[str, dict[str, NDArray[Any]]] = {str(name): {} for name in state["names"]}
        for key, value in state.items():
            name, slash, rest = key.partition("/")
            if slash and name in parts:
                parts[name][rest] = value
        return cls({name: rebuild(part) for name, part in parts.items()})
