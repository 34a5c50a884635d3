"""The answer of the study of relations, as tidy rows.

The main table has a row for each relation and direction: the head that was chosen on other texts and its accuracy
here, beside the chosen offset, the untrained twin's own chosen head, and the published figure where there is one.
``p`` asks whether the head beats the offset; ``p_corrected`` is Holm's, over all chosen heads. In the table of all
heads it is Holm's over all heads and directions of a relation: what is left after having looked at all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attlas.ids import HeadId, Site
from attlas.stats import Bundle, Estimate, holm, p_above_zero
from attlas.store.columns import as_cell
from attlas.studies.relations.passes import DIRECTIONS, OFFSETS, VERDICTS, WHO, Relations, estimates
from attlas.studies.shared.published import RELATIONS
from attlas.text import Document

if TYPE_CHECKING:
    from attlas.capture import Subject

Columns = dict[str, list[Any]]
FEWEST = 10  # texts below which a p value would promise too much


def relation_rows(study: Relations, bundle: Bundle, twin: Relations, twin_bundle: Bundle) -> Columns:
    """The main table: what was chosen, for the model and for its untrained twin.

    >>> from attlas.capture import load
    >>> study = Relations(load(), labels=("all",))
    >>> study.choice = study.choose(study.empty())
    >>> relation_rows(study, study.empty(), study, study.empty())["relation"]
    []
    """
    assert study.choice is not None
    assert twin.choice is not None
    ours, theirs = estimates(bundle), estimates(twin_bundle)
    chosen, control = ours["chosen"], theirs["chosen"]
    margin_p = _p(ours["margins"], bundle)
    rows: list[dict[str, Any]] = []
    for relation, label in enumerate(study.labels):
        best = study.choice.best(relation)
        for direction, name in enumerate(DIRECTIONS):
            layer, head = (int(number) for number in study.choice.heads[direction, relation])
            cell = (direction, relation)
            if layer < 0 or not chosen.n[direction, relation, 0] > 0:
                continue
            published = RELATIONS.get(label) if direction == best else None
            row: dict[str, Any] = {
                "relation": label,
                "direction": name,
                "best": direction == best,
                "stream": study.stream.value,
                "layer": layer,
                "head": head,
                "measure": study.measure,
                **_ends(chosen, (*cell, WHO.index("head")), ""),
                "n": int(chosen.n[direction, relation, 0]),
                "chosen_value": as_cell(study.choice.head_values[cell]),
                "offset": int(study.choice.offsets[relation]),
                **_ends(chosen, (*cell, WHO.index("offset")), "baseline"),
                **_ends(chosen, (*cell, WHO.index("margin")), "margin"),
                "p": as_cell(margin_p[direction, layer, head, relation]),
                "p_corrected": None,
                "twin_layer": int(twin.choice.heads[direction, relation, 0]),
                "twin_head": int(twin.choice.heads[direction, relation, 1]),
                **_ends(control, (*cell, WHO.index("head")), "twin"),
                "published_relation": published.relation if published else None,
                "published_head": published.head if published else None,
                "published": published.value if published else None,
                "published_baseline": published.baseline if published else None,
                "published_note": published.note if published else None,
            }
            rows.append(row)
    for row, corrected in zip(rows, holm([_or_nan(row["p"]) for row in rows]), strict=True):
        row["p_corrected"] = as_cell(corrected)
    return _columns(rows, _MAIN)


_MAIN = (
    "relation", "direction", "best", "stream", "layer", "head", "measure", "value", "low", "high", "n",
    "chosen_value", "offset", "baseline", "baseline_low", "baseline_high", "margin", "margin_low", "margin_high",
    "p", "p_corrected", "twin_layer", "twin_head", "twin", "twin_low", "twin_high", "published_relation",
    "published_head", "published", "published_baseline", "published_note",
)  # fmt: skip


def head_rows(study: Relations, bundle: Bundle, twin: Bundle | None = None) -> Columns:
    """Every head's accuracy for every relation and direction, beside the same place of the untrained twin.

    >>> from attlas.capture import load
    >>> study = Relations(load(), labels=("all",))
    >>> head_rows(study, study.empty())["layer"]
    []
    """
    known = estimates(bundle)
    figures, margins = known["figures"], known.get("margins")
    control = None if twin is None else estimates(twin)["figures"]
    names = ["stream", "layer", "head", "direction", "relation", "value", "n", "low", "high"]
    names += ["margin", "p_corrected"] * (margins is not None) + ["twin"] * (control is not None)
    rows: Columns = {name: [] for name in names}
    p = None if margins is None else _p(margins, bundle)
    corrected = None if p is None else np.stack([holm(p[..., k]) for k in range(p.shape[-1])], -1)
    layers, heads = figures.value.shape[1:3]
    for layer, head in np.ndindex(layers, heads):
        for direction, name in enumerate(DIRECTIONS):
            for relation, label in enumerate(study.labels):
                cell = (direction, layer, head, relation)
                if not figures.n[cell] > 0:
                    continue
                values = [study.stream.value, layer, head, name, label, as_cell(figures.value[cell])]
                values += [int(figures.n[cell]), as_cell(figures.low[cell]), as_cell(figures.high[cell])]
                if margins is not None and corrected is not None:
                    values += [as_cell(margins.value[cell]), as_cell(corrected[cell])]
                if control is not None:
                    values.append(as_cell(control.value[cell]))
                for column, value in zip(rows.values(), values, strict=True):
                    column.append(value)
    return rows


def offset_rows(study: Relations, bundle: Bundle) -> Columns:
    """How often each fixed offset is right, for every relation.

    >>> from attlas.capture import load
    >>> study = Relations(load(), labels=("all",))
    >>> offset_rows(study, study.empty())["offset"]
    []
    """
    offsets = bundle["offsets"].result()
    rows: Columns = {name: [] for name in ("relation", "offset", "value", "n", "low", "high")}
    for (place, relation), n in np.ndenumerate(offsets.n):
        if n > 0:
            ends = (as_cell(getattr(offsets, name)[place, relation]) for name in ("value", "low", "high"))
            value, low, high = ends
            values = (study.labels[relation], OFFSETS[place], value, int(n), low, high)
            for column, item in zip(rows.values(), values, strict=True):
                column.append(item)
    return rows


def example_rows(study: Relations, bundle: Bundle, find: Callable[[int], Document]) -> Columns:
    """Sentences in which the best heads were surest, right and wrong, with their weights.

    ``find`` gives the document of a key (:func:`~attlas.studies.relations.passes.key_of`). Weights are those of this
    one head, (query, key) as float32 bytes; lengths are the ||f(x)|| of its keys.

    >>> from attlas.capture import load
    >>> study = Relations(load(), labels=("all",))
    >>> study.choice = study.choose(study.empty())
    >>> example_rows(study, study.empty(), lambda key: Document.from_words(["Hi"]))["text"]
    []
    """
    assert study.choice is not None
    surest = bundle["surest"].result()
    rows = []
    for relation, label in enumerate(study.labels):
        direction = study.choice.best(relation)
        if direction is None:
            continue
        layer, head = (int(number) for number in study.choice.heads[direction, relation])
        for verdict, name in enumerate(VERDICTS):
            cell = (direction * len(study.labels) + relation) * len(VERDICTS) + verdict
            for value, (key, dependent, predicted) in surest[cell]:
                document = find(key)
                governor = (document.governors or ())[dependent]
                rows.append(
                    {
                        "relation": label,
                        "direction": DIRECTIONS[direction],
                        "stream": study.stream.value,
                        "layer": layer,
                        "head": head,
                        "verdict": name,
                        "value": value,
                        "name": document.name,
                        "text": document.text,
                        "words": list(document.forms),
                        "dependent": dependent,
                        "governor": governor,
                        "predicted": predicted,
                        **_seen(study.subject, document, Site(study.stream, layer), head),
                    }
                )
    return _columns(rows, _EXAMPLE)


_EXAMPLE = (
    "relation", "direction", "stream", "layer", "head", "verdict", "value", "name", "text", "words", "dependent",
    "governor", "predicted", "pieces", "piece_words", "piece_documents", "weights", "lengths",
)  # fmt: skip


def _seen(subject: Subject, document: Document, site: Site, head: int) -> dict[str, Any]:
    """What the head view needs: pieces, their words, and the weights of one head."""
    capture = subject.look(document, heads=HeadId(*site, head))
    segmentation = capture.queries_of(site.stream)
    lengths = capture.lengths.get(site.stream)
    return {
        "pieces": list(segmentation.pieces),
        "piece_words": list(segmentation.words),
        "piece_documents": list(segmentation.documents),
        "weights": capture.weights[site.stream][0, 0].float().cpu().numpy().astype("<f4").tobytes(),
        "lengths": None if lengths is None else lengths[0, 0].float().cpu().numpy().astype("<f4").tobytes(),
    }


def _p(margins: Estimate, bundle: Bundle) -> Any:
    """One-sided p of margins above zero; NaN where too few texts have the relation."""
    texts = bundle["margins"].state()["texts"]
    return np.where(texts >= FEWEST, p_above_zero(margins), np.nan)


def _ends(estimate: Estimate, cell: tuple[int, ...], name: str) -> dict[str, Any]:
    prefix = f"{name}_" if name else ""
    return {
        name or "value": as_cell(estimate.value[cell]),
        f"{prefix}low": as_cell(estimate.low[cell]),
        f"{prefix}high": as_cell(estimate.high[cell]),
    }


def _columns(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Columns:
    return {name: [row[name] for row in rows] for name in names}


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value
