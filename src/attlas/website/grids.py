"""Figures laid out by head: of each model, one row for each figure and one column for each head it has.

The heads of a model stand in one order, by stream, layer and head, and are called by their place in it from here on.
A figure is a quantity of a study on a corpus. A head that two rows give the same figure is refused: which of the two
would be shown?
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.errors import StoreError
from attlas.ids import paper_label
from attlas.website.given import Given

NUMBERS = ("low", "high", "chance", "twin", "twin_low", "twin_high", "p", "n", "first_half", "second_half")
STREAMS = ("encoder", "decoder", "cross")
ABOUT = ("study", "quantity", "title", "kind", "definition", "corpus", "command", "version")
_WIDE = 1 << 20  # more layers of a stream, and heads of a layer, than any model has


@dataclass(frozen=True)
class Heads:
    """The heads of one model in their order.

    >>> heads = Heads(("encoder",), np.array([0, 0]), np.array([0, 1]), np.array([1, 0]))
    >>> len(heads), heads.find("encoder", np.array([1]), np.array([0])).tolist(), heads.label(0)
    (2, [1], '1-2')
    """

    streams: tuple[str, ...]
    stream: NDArray[np.int64]
    layer: NDArray[np.int64]
    head: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.stream)

    @classmethod
    def of(cls, streams: tuple[str, ...], keys: NDArray[np.int64]) -> Heads:
        """The heads of these keys (see :func:`key_of`), each once."""
        keys = np.unique(keys)
        return cls(streams, keys // _WIDE**2, keys // _WIDE % _WIDE, keys % _WIDE)

    @property
    def keys(self) -> NDArray[np.int64]:
        """What :func:`key_of` gives for each."""
        return key_of(self.stream, self.layer, self.head)

    def find(self, stream: str, layer: NDArray[np.int64], head: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of heads of a stream, -1 where there is no such head."""
        at = self.streams.index(stream) if stream in self.streams else len(self.streams)
        return self.places(key_of(np.full(len(layer), at), layer, head))

    def places(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of heads by their keys, -1 where there is no such head."""
        own = self.keys
        if not len(own):
            return np.full(len(keys), -1)
        at = np.minimum(np.searchsorted(own, keys), len(own) - 1)
        return np.where(own[at] == keys, at, -1)

    def label(self, place: int) -> str:
        """A head as people write it."""
        return paper_label(int(self.layer[place]), int(self.head[place]))


def key_of(stream: NDArray[np.int64], layer: NDArray[np.int64], head: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number for each head, which sorts by stream, layer and head.

    >>> key_of(np.array([0]), np.array([0]), np.array([3])).tolist()
    [3]
    """
    return (stream * _WIDE + layer) * _WIDE + head


def beside(keys: NDArray[np.int64], layer: NDArray[np.int64], head: NDArray[np.int64]) -> NDArray[np.int64]:
    """The keys of other heads in the streams of these.

    >>> key = key_of(np.array([1]), np.array([4]), np.array([3]))
    >>> (beside(key, np.array([0]), np.array([2])) == key_of(np.array([1]), np.array([0]), np.array([2]))).tolist()
    [True]
    """
    return key_of(keys // _WIDE**2, layer, head)


@dataclass(frozen=True)
class Grid:
    """All figures of one model: ``figures`` tell what each is, ``values`` and the other ``numbers`` are arrays of
    figures by heads, missing where nothing is known."""

    model: str
    heads: Heads
    figures: list[dict[str, Any]]
    values: NDArray[np.float64]
    numbers: dict[str, NDArray[np.float64]]

    def sure(self) -> NDArray[np.uint8]:
        """For each figure and head whether its interval lies above chance (1), below it (2) or neither (0)."""
        low, high, chance = (self.numbers[name] for name in ("low", "high", "chance"))
        with np.errstate(invalid="ignore"):
            return np.where(low > chance, 1, np.where(high < chance, 2, 0)).astype(np.uint8)


def streams_of(given: Given) -> dict[str, tuple[str, ...]]:
    """The streams of every model, in the order in which models are listed.

    >>> streams_of(Given({"models": {"model": ["a", "a"], "stream": ["cross", "encoder"], "layers": [1, 1],
    ...     "heads": [1, 1]}, "heads": {name: [] for name in ("model", "stream", "layer", "head", "study", "quantity",
    ...     "title", "kind", "value")}}))
    {'a': ('encoder', 'cross')}
    """
    streams: dict[str, list[str]] = {}
    for row in given.rows("models"):
        streams.setdefault(str(row["model"]), []).append(str(row["stream"]))
    known = {name: place for place, name in enumerate(STREAMS)}
    return {
        model: tuple(sorted(dict.fromkeys(own), key=lambda s: (known.get(s, 9), s))) for model, own in streams.items()
    }


class Rows:
    """The rows of a table that are of heads, by model: their places among the heads of the model."""

    def __init__(self, given: Given, table: str, streams: dict[str, tuple[str, ...]]) -> None:
        self.table, self.streams = table, streams
        models, self.models = given.codes(table, "model")
        stream, names = given.codes(table, "stream")
        layer, head = (given.whole_numbers(table, name) for name in ("layer", "head"))
        if len(layer) and (min(layer.min(), head.min()) < 0 or max(layer.max(), head.max()) >= _WIDE):
            raise StoreError(
                f"the table {table!r}: layers and heads count from 0, and there is one below or far above"
            )
        order = {model: place for place, model in enumerate(streams)}
        self.keys = np.full(len(models), -1, np.int64)
        ranks = np.array([order.get(model, -1) for model in self.models], np.int64)
        self.model = ranks[models] if len(models) else models
        if len(models) and (self.model < 0).any():
            strange = self.models[models[int(np.argmin(self.model))]]
            raise StoreError(f"the table {table!r} has heads of {strange!r}, which is not in the table 'models'")
        self.order = np.argsort(self.model, kind="stable")
        self.bounds = np.searchsorted(self.model[self.order], np.arange(len(streams) + 1))
        for at, (model, own) in enumerate(streams.items()):
            rows = self.of(at)
            places = np.array([own.index(name) if name in own else -1 for name in names], np.int64)[stream[rows]]
            if len(places) and (places < 0).any():
                strange = names[stream[rows][int(np.argmin(places))]]
                raise StoreError(
                    f"the table {table!r} has the stream {strange!r} of {model!r}, which is not in 'models'"
                )
            self.keys[rows] = key_of(places, layer[rows], head[rows])

    def of(self, model: int) -> NDArray[np.int64]:
        """The rows of a model, by its number."""
        return self.order[self.bounds[model] : self.bounds[model + 1]]


def grids(given: Given) -> Iterator[Grid]:
    """The figures of every model, one model after the other."""
    streams = streams_of(given)
    rows = Rows(given, "heads", streams)
    told = Rows(given, "portraits", streams) if "portraits" in given else None
    about = {name: given.codes("heads", name) for name in ABOUT}
    source = given.numbers("heads", "source")
    value = given.numbers("heads", "value")
    numbers = {name: given.numbers("heads", name) for name in NUMBERS}
    for at, (model, own) in enumerate(streams.items()):
        mine = rows.of(at)
        keys = rows.keys[mine]
        heads = Heads.of(own, keys if told is None else np.concatenate([keys, told.keys[told.of(at)]]))
        figure = np.zeros(len(mine), np.int64)
        for name in ("study", "quantity", "corpus"):
            codes, values = about[name]
            figure = figure * len(values) + codes[mine]
        _, first, which = np.unique(figure, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))  # figures in the order in which they come
        which, first = rank[which.ravel()], np.sort(first)
        figures = [
            {name: values[codes[mine[row]]] for name, (codes, values) in about.items()}
            | {"source": None if np.isnan(source[mine[row]]) else int(source[mine[row]])}
            for row in first
        ]
        place = heads.places(keys)
        _refuse_doubles(model, heads, figures, which * max(len(heads), 1) + place)

        def laid(
            column: NDArray[np.float64], shape: tuple[int, int] = (len(first), len(heads)),
            at: tuple[Any, Any] = (which, place), mine: NDArray[np.int64] = mine,
        ) -> NDArray[np.float64]:  # fmt: skip
            whole = np.full(shape, np.nan)
            whole[at] = column[mine]
            return whole

        yield Grid(model, heads, figures, laid(value), {name: laid(column) for name, column in numbers.items()})


def _refuse_doubles(model: str, heads: Heads, figures: list[dict[str, Any]], cells: NDArray[np.int64]) -> None:
    cell, times = np.unique(cells, return_counts=True)
    if len(times) and times.max() > 1:
        figure, head = divmod(int(cell[np.argmax(times)]), len(heads))
        told = figures[figure]
        raise StoreError(
            f"the table 'heads' gives head {heads.label(head)} of {model} the figure {told['quantity']!r} of "
            f"{told['study']!r} {times.max()} times; an atlas has every figure of a head once"
        )
