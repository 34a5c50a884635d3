"""From a survey's sums to its tables: heads, parts of speech, correlations, frequencies, and a sentence per head."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attlas.measures.names import MEASURES
from attlas.measures.quantities import RANKS, Quantity
from attlas.stats import Bundle, Estimate, PooledMean
from attlas.store.columns import as_cell
from attlas.studies.survey.portraits import portrait

if TYPE_CHECKING:
    from attlas.studies.survey.passes import Survey

DIRECTIONS = ("to", "from")
HALVES = (1, 2)


def tables(study: Survey, bundle: Bundle) -> dict[str, dict[str, list[Any]]]:
    """All tables of a survey, as columns of tidy rows.

    >>> from attlas.capture import load
    >>> from attlas.studies.survey.passes import Survey
    >>> study = Survey(load())
    >>> list(tables(study, study.empty()))
    ['heads', 'spearman', 'frequency', 'portraits']
    """
    heads = _Rows(
        "stream", "layer", "head", "measure", "quantity", "value", "chance", "n", "low", "high",
        "first_half", "second_half",
    )  # fmt: skip
    pos = _Rows("stream", "layer", "head", "measure", "direction", "pos", "value", "chance", "n", "low", "high")
    rho = _Rows("stream", "layer", "head", "value", "n", "low", "high")
    frequency = _Rows("stream", "layer", "head", "rank_from", "rank_to", "value", "n", "low", "high")
    portraits = _Rows("stream", "layer", "head", "sentence")
    names = [quantity.name for quantity in study.quantities]
    measures = MEASURES if study.norms else MEASURES[:1]
    for stream in study.streams:
        layers, count = study.subject.shape(stream)
        chance = bundle[f"{stream}-chance"].result().value
        halves = [PooledMean.from_state(bundle[f"{stream}-figures-{half}"].state()) for half in HALVES]
        first, second = (half.result().value for half in halves)
        halves[0].merge(halves[1])
        figures = halves[0].result()
        for layer, head in np.ndindex(layers, count):
            place = (stream.value, layer, head)
            for (m, measure), (q, quantity) in product(enumerate(measures), enumerate(names)):
                cell = (layer, head, m, q)
                if row := _estimate(figures, cell, chance[layer, q]):
                    heads.add(*place, measure, quantity, *row, as_cell(first[cell]), as_cell(second[cell]))
            if known := _known(study.quantities, figures, chance, layer, head):
                portraits.add(*place, portrait(known, study.quantities))
        if study.tags:
            by_tag, even = bundle[f"{stream}-pos"].result(), bundle[f"{stream}-pos-chance"].result().value
            kinds = list(product(enumerate(measures), enumerate(DIRECTIONS), enumerate(study.tags)))
            for layer, head in np.ndindex(layers, count):
                for (m, measure), (d, direction), (t, tag) in kinds:
                    if row := _estimate(by_tag, (layer, head, m, d, t), even[layer, d, t]):
                        pos.add(stream.value, layer, head, measure, direction, tag, *row)
        if study.norms:
            correlation, lengths = bundle[f"{stream}-spearman"].result(), bundle[f"{stream}-frequency"].result()
            for layer, head in np.ndindex(layers, count):
                if row := _estimate(correlation, (layer, head)):
                    rho.add(stream.value, layer, head, *row)
                for band, (highest, lowest) in enumerate(RANKS):
                    if row := _estimate(lengths, (layer, head, band)):
                        frequency.add(stream.value, layer, head, highest, lowest, *row)
    rows = {"heads": heads, "pos": pos, "spearman": rho, "frequency": frequency, "portraits": portraits}
    return {name: filled.columns for name, filled in rows.items() if name != "pos" or study.tags}


class _Rows:
    """Columns that grow row by row."""

    def __init__(self, *names: str) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in names}

    def add(self, *values: Any) -> None:
        """Add a row."""
        for column, value in zip(self.columns.values(), values, strict=True):
            column.append(value)


def _known(
    quantities: Sequence[Quantity], figures: Estimate, chance: NDArray[np.float64], layer: int, head: int
) -> dict[str, tuple[float, float]]:
    """What is known of a head's weights, as (value, chance) by quantity."""
    return {
        quantity.name: (float(figures.value[layer, head, 0, q]), float(chance[layer, q]))
        for q, quantity in enumerate(quantities)
        if figures.n[layer, head, 0, q] > 0
    }


def _estimate(estimate: Estimate, cell: tuple[int, ...], chance: float | None = None) -> list[Any]:
    """Value, chance where there is one, n, low and high of a cell as a row wants them; nothing where n is 0."""
    if not estimate.n[cell] > 0:
        return []
    middle = [] if chance is None else [as_cell(chance)]
    last = (estimate.n[cell], estimate.low[cell], estimate.high[cell])
    return [as_cell(estimate.value[cell]), *middle, *map(as_cell, last)]
