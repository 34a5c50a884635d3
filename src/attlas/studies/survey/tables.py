"""From a survey's sums to its tables: heads, parts of speech, correlations, frequencies, and a sentence per head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attlas.measures.names import MEASURES
from attlas.measures.quantities import RANKS
from attlas.stats import Bundle, PooledMean
from attlas.store.columns import as_columns
from attlas.studies.shared.figures import CORRELATION, NOT_BELOW_ZERO, SHARE, by_range, cells_of
from attlas.studies.survey.portraits import portrait

if TYPE_CHECKING:
    from attlas.studies.survey.passes import Survey

DIRECTIONS = ("to", "from")
HALVES = (1, 2)
_PLACE = ("stream", "layer", "head")
COLUMNS = {
    "heads": (
        *_PLACE, "measure", "quantity", "value", "chance", "n", "low", "high", "first_half", "second_half",
    ),
    "pos": (*_PLACE, "measure", "direction", "pos", "value", "chance", "n", "low", "high"),
    "spearman": (*_PLACE, "value", "n", "low", "high"),
    "frequency": (*_PLACE, "rank_from", "rank_to", "value", "n", "low", "high"),
    "portraits": (*_PLACE, "sentence"),
}  # fmt: skip


def tables(study: Survey, bundle: Bundle) -> dict[str, dict[str, list[Any]]]:
    """All tables of a survey, as columns of tidy rows.

    >>> from attlas.capture import load
    >>> from attlas.studies.survey.passes import Survey
    >>> study = Survey(load())
    >>> list(tables(study, study.empty()))
    ['heads', 'spearman', 'frequency', 'portraits']
    """
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in COLUMNS if name != "pos" or study.tags}
    quantities = [quantity.name for quantity in study.quantities]
    measures = MEASURES if study.norms else MEASURES[:1]
    for stream in study.streams:
        named = {"stream": stream.value}
        layers, heads = map(range, study.subject.grid(stream).shape)
        chance = bundle[f"{stream}-chance"].result().value
        halves = [PooledMean.from_state(bundle[f"{stream}-figures-{half}"].state()) for half in HALVES]
        first, second = (half.result().value for half in halves)
        halves[0].merge(halves[1])
        known: dict[tuple[int, ...], dict[str, tuple[float, float]]] = {}
        for cell, row in cells_of(
            by_range(halves[0], [quantity.within for quantity in study.quantities]),
            layer=layers, head=heads, measure=measures, quantity=quantities,
        ):  # fmt: skip
            even = chance[cell[0], cell[3]]
            rows["heads"].append(
                named | row | {"chance": even, "first_half": first[cell], "second_half": second[cell]}
            )
            if row["measure"] == "weight":
                known.setdefault(cell[:2], {})[row["quantity"]] = (float(row["value"]), float(even))
        for (layer, head), figures in known.items():
            sentence = portrait(figures, study.quantities)
            rows["portraits"].append(named | {"layer": layer, "head": head, "sentence": sentence})
        if study.tags:
            by_tag = bundle.pooled(f"{stream}-pos").result(SHARE)
            even_tags = bundle[f"{stream}-pos-chance"].result().value
            axes = {"layer": layers, "head": heads, "measure": measures, "direction": DIRECTIONS, "pos": study.tags}
            for cell, row in cells_of(by_tag, **axes):
                rows["pos"].append(named | row | {"chance": even_tags[cell[0], cell[3], cell[4]]})
        if study.norms:
            rho = bundle.pooled(f"{stream}-spearman").result(CORRELATION)
            lengths = bundle.pooled(f"{stream}-frequency").result(NOT_BELOW_ZERO)
            rows["spearman"] += [named | row for _, row in cells_of(rho, layer=layers, head=heads)]
            for _, row in cells_of(lengths, layer=layers, head=heads, band=RANKS):
                highest, lowest = row["band"]
                rows["frequency"].append(named | row | {"rank_from": highest, "rank_to": lowest})
    return {name: as_columns(filled, COLUMNS[name]) for name, filled in rows.items()}
