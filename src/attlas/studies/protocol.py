"""What a study is to the engine that runs it.

A study asks one question. It makes an empty bundle of accumulators, updates it batch by batch, and in the end turns
it into tables. Everything a study has learned lies in the bundle and nowhere else; so it can be stopped, resumed and
spread over machines without knowing it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from attlas.stats.bundle import Bundle

Item = TypeVar("Item", contravariant=True)


class Study(Protocol[Item]):
    """One question, asked of items (passages, mostly) in batches.

    >>> from attlas.stats import PooledMean
    >>> class Length:
    ...     name = "length"
    ...     def empty(self):
    ...         return Bundle({"length": PooledMean(shape=())})
    ...     def update(self, bundle, batch):
    ...         bundle["length"].update([len(text) for text in batch], 1)
    ...     def tables(self, bundle):
    ...         return {"length": {"value": [float(bundle["length"].result().value)]}}
    >>> study: Study[str] = Length()
    >>> bundle = study.empty()
    >>> study.update(bundle, ["a", "abc"])
    >>> study.tables(bundle)
    {'length': {'value': [2.0]}}
    """

    @property
    def name(self) -> str:
        """The study's name, as the command line has it."""

    def empty(self) -> Bundle:
        """A bundle that has seen nothing."""

    def update(self, bundle: Bundle, batch: Sequence[Item]) -> None:
        """Take one batch of items into the bundle; the same items must always give the same bits."""

    def tables(self, bundle: Bundle) -> dict[str, dict[str, list[Any]]]:
        """The answer, as columns of tidy rows; the first table is the main one."""
