"""The tables of a study of coreference, from what a model and its untrained twins have shown.

- ``coref``: for each kind of mention and set of candidates, the best head (chosen on all mentions of other texts; one
  head throughout), the best head for its kind (chosen on that kind alone), the twins' best heads for the kind, and
  choosing blindly; and the three baselines, which look among preceding mentions whatever heads may choose from. With
  the published figures of BERT-base on OntoNotes, also of one head throughout.
- ``coref_heads``: every head of the model and, as the mean of all of them, of the twins, in both directions; with p
  values against two baselines by flipping the signs of documents (:mod:`attlas.stats.flips`), each corrected (max-T)
  for all heads and directions of its kind and set of candidates.
- ``cases``: the surest choices of the best head, right and wrong, in their context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.stats import Bundle, Estimate, above_zero
from attlas.store.columns import as_columns
from attlas.studies.coref.mentions import CANDIDATES, KINDS, Known
from attlas.studies.coref.passes import OUTCOMES, RIVALS, Choice, Chosen, Coref, Window
from attlas.studies.coref.sieves import BASELINES
from attlas.studies.shared.figures import cells_of, ends_of, spread
from attlas.text import Document

BEST, OF_KIND, TWIN, CHANCE = "best head", "best for its kind", "twin", "chance"
# Clark et al. 2019, table 2: BERT-base, CoNLL-2012; a neural system has .83 over all
PUBLISHED: Mapping[str, tuple[float, ...]] = {
    BEST: (0.65, 0.64, 0.73, 0.58),
    "nearest": (0.27, 0.29, 0.29, 0.19),
    "head match": (0.52, 0.47, 0.67, 0.40),
    "sieve": (0.69, 0.70, 0.77, 0.60),
}
SHARE = (0.0, 1.0)
AROUND, SHOWN = 8, 4  # words of context to each side; cases of each kind and outcome

Columns = dict[str, list[Any]]
_HEADS = ("who", "stream", "layer", "head", "direction", "candidates", "kind", "value", "chance", "n", "low", "high",
          "when_chosen")  # fmt: skip
_CASES = ("kind", "outcome", "weight", "document", "mention", "antecedent", "chose", "before", "text", "after")


class Scored(NamedTuple):
    """A model's study, what it showed where heads were chosen and where they were scored, and the choice."""

    study: Coref
    choosing: Bundle
    scoring: Bundle
    chosen: Chosen


def coref_tables(
    model: Scored, twins: Sequence[Scored], windows: Sequence[Window], seed: int = 0
) -> dict[str, Columns]:
    """All tables; ``windows`` are those that were scored, by their numbers.

    >>> from attlas.capture import load
    >>> from attlas.studies.coref.passes import Choice
    >>> chosen = {cell: Choice(0, 0, 0) for cell in np.ndindex(3, 4)}
    >>> study = Coref(load(), chosen=chosen)
    >>> nothing = Scored(study, Coref(study.subject).empty(), study.empty(), chosen)
    >>> list(coref_tables(nothing, [nothing], []))
    ['coref', 'coref_heads', 'cases']
    """
    tested = {f"{rival.replace(' ', '_')}_p_corrected": corrected_p(model.scoring, rival, seed) for rival in RIVALS}
    return {
        "coref": _main(model, twins, tested),
        "coref_heads": _heads(model, twins, tested),
        "cases": _cases(model, windows),
    }


def corrected_p(scoring: Bundle, rival: str, seed: int = 0) -> NDArray[np.float64]:
    """p for being right more often than a baseline, corrected over all heads and directions of each set of candidates
    and kind; NaN where too few documents have a case."""
    hits, counts = scoring.pooled("heads").rows()
    theirs = scoring.pooled("baselines").rows()[0][:, list(BASELINES).index(rival)]
    margins = np.where(counts > 0, hits - theirs[:, None, None, None, None], 0.0)
    corrected = np.full(hits.shape[1:], np.nan)
    for candidates, kind in np.ndindex(*corrected.shape[3:]):
        cell = (..., candidates, kind)
        corrected[cell] = above_zero(margins[cell], counts[cell], seed=seed).p_corrected
    return corrected


def _main(model: Scored, twins: Sequence[Scored], tested: Mapping[str, NDArray[np.float64]]) -> Columns:
    rows: list[dict[str, Any]] = []
    empty = dict.fromkeys(("layer", "head", "direction", "when_chosen", *tested, "published", "twins"))
    own, chance = model.scoring.pooled("heads").result(SHARE, hits=True), model.scoring.pooled("chance").result(SHARE)
    baselines, when = (
        model.scoring.pooled("baselines").result(SHARE, hits=True),
        model.choosing.pooled("heads").result().value,
    )
    for (k, kind), (c, candidates) in product(enumerate(KINDS), enumerate(CANDIDATES)):
        shown: list[tuple[str, Estimate, dict[str, Any]]] = []
        for who in (BEST,) if kind == "all" else (BEST, OF_KIND):
            choice = model.chosen[c, 0 if who == BEST else k]
            cell = (*choice, c, k)
            about = _named(model, choice) | {name: p[cell] for name, p in tested.items()}
            about["published"] = PUBLISHED[BEST][k] if who == BEST and c == 0 else None
            shown.append((who, _at(own, cell), about | {"when_chosen": when[cell]}))
        shown += [_of_twins(twins, c, k)] if twins else []
        shown.append((CHANCE, _at(chance, (c, k)), {}))
        if candidates == "preceding":
            shown += [(name, _at(baselines, (b, k)), {"published": PUBLISHED[name][k]})
                      for b, name in enumerate(BASELINES)]  # fmt: skip
        for who, value, about in shown:
            if value.n > 0:
                named = {"kind": kind, "candidates": candidates, "who": who, "n": value.n}
                rows.append(empty | named | ends_of(value, ()) | about)
    return as_columns(rows, ("kind", "candidates", "who", "value", "n", "low", "high", *empty))


def _at(estimate: Estimate, cell: tuple[int, ...]) -> Estimate:
    return Estimate(*(np.asarray(part[cell]) for part in estimate))


def _named(scored: Scored, choice: Choice) -> dict[str, Any]:
    direction = scored.study.directions[choice.direction]
    return {"layer": choice.layer, "head": choice.head, "direction": direction}


def _of_twins(twins: Sequence[Scored], c: int, k: int) -> tuple[str, Estimate, dict[str, Any]]:
    """The twins' own best heads for a kind: their mean, the lowest and the highest, and the head of the best twin."""
    cells = [(*twin.chosen[c, k], c, k) for twin in twins]
    values = [_at(twin.scoring.pooled("heads").result(), cell) for twin, cell in zip(twins, cells, strict=True)]
    when = [twin.choosing.pooled("heads").result().value[cell] for twin, cell in zip(twins, cells, strict=True)]
    best = int(np.argmax([np.nan_to_num(value.value) for value in values]))
    about = _named(twins[best], twins[best].chosen[c, k])
    return TWIN, spread(values, values[0]), about | {"when_chosen": float(np.mean(when)), "twins": len(twins)}


def _heads(model: Scored, twins: Sequence[Scored], tested: Mapping[str, NDArray[np.float64]]) -> Columns:
    rows: list[dict[str, Any]] = []
    study, chance = model.study, model.scoring.pooled("chance").result().value
    layers, heads = map(range, study.grid.shape)
    axes = {"layer": layers, "head": heads, "direction": study.directions, "candidates": CANDIDATES, "kind": KINDS}
    own, theirs = (
        model.scoring.pooled("heads").result(SHARE, hits=True),
        [twin.scoring.pooled("heads").result() for twin in twins],
    )
    groups = [("model", own, [model]), *([("twin", spread(theirs, own), twins)] if twins else [])]
    for who, shown, group in groups:
        then = np.mean([scored.choosing.pooled("heads").result().value for scored in group], axis=0)
        for cell, row in cells_of(shown, **axes):
            row |= {"who": who, "stream": study.stream.value, "chance": chance[cell[3:]], "when_chosen": then[cell]}
            rows.append(row | {name: p[cell] if who == "model" else None for name, p in tested.items()})
    return as_columns(rows, (*_HEADS, *tested))


def _cases(model: Scored, windows: Sequence[Window]) -> Columns:
    """The surest cases of each kind and outcome, from as many documents as possible."""
    rows: list[dict[str, Any]] = []
    by_number = {window.number: window for window in windows}
    for cell, cases in enumerate(model.scoring["cases"].result()):
        kind, outcome = divmod(cell, len(OUTCOMES))
        seen: dict[int, int] = {}
        ranked = []
        for order, (weight, (number, mention, word)) in enumerate(cases):
            window = by_number[number]
            turn = seen[window.unit] = seen.get(window.unit, -1) + 1
            ranked.append((turn, order, weight, window, mention, word))
        for _, _, weight, window, mention, word in sorted(ranked, key=lambda case: case[:2])[:SHOWN]:
            named = {"kind": KINDS[kind + 1], "outcome": OUTCOMES[outcome], "weight": weight}
            rows.append(named | _told(window, mention, word))
    return as_columns(rows, _CASES)


def _told(window: Window, place: int, word: int) -> dict[str, str]:
    """A case in words: the document, the mention, its nearest antecedent, what was chosen, and the text around."""
    question, document = window.question, window.passage.first
    mention = question.mentions[place]
    nearest = max(question.right[question.asked.index(place)])
    antecedent = next(m for m in question.mentions if m.head == nearest and m.chain == mention.chain)
    chosen = next((m for m in question.mentions if m.head == word), None)
    chose = _text(document, word, word + 1) if chosen is None else _short(document, chosen)
    places = document.words
    first = max(min(antecedent.start, mention.start, word) - AROUND, mention.start - 8 * AROUND, 0)
    last = min(max(mention.stop, word + 1) + AROUND, mention.stop + 4 * AROUND, len(places))
    before = document.text[places[first].start : places[mention.start].start]
    after = document.text[places[mention.stop - 1].stop : places[last - 1].stop]
    return {
        "document": document.name,
        "mention": _short(document, mention),
        "antecedent": _short(document, antecedent),
        "chose": chose,
        "before": ("… " if first else "") + before,
        "text": _text(document, mention.start, mention.stop),
        "after": after + (" …" if last < len(places) else ""),
    }


def _short(document: Document, mention: Known, longest: int = 8) -> str:
    """A mention's words; of a long one those up to its head word and a few more."""
    stop = min(mention.stop, max(mention.head + 1, mention.start + longest))
    start = max(mention.start, stop - 2 * longest)
    return _text(document, start, stop) + (" …" if stop < mention.stop else "")


def _text(document: Document, start: int, stop: int) -> str:
    if start >= stop:
        return ""
    return document.text[document.words[start].start : document.words[stop - 1].stop]
