"""The tables of a study of coreference, from what a model and its untrained twin have shown.

- ``coref``: for each kind of mention and set of candidates, the best head (chosen on all mentions of other texts; one
  head throughout), the best head for its kind (chosen on that kind alone), the twin's best head for the kind, and
  choosing blindly; and the three baselines, which look among preceding mentions whatever heads may choose from. With
  the published figures of BERT-base on OntoNotes, also of one head throughout.
- ``coref_heads``: every head of both, in both directions; with p values against two baselines, each corrected by Holm
  for all heads and directions of its kind and set of candidates.
- ``cases``: the surest choices of the best head, right and wrong, in their context.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.stats import Bundle, Estimate, holm, p_above_zero
from attlas.store.columns import as_columns
from attlas.studies.coref.mentions import CANDIDATES, KINDS, Known
from attlas.studies.coref.passes import OUTCOMES, RIVALS, Chosen, Coref, Window
from attlas.studies.coref.sieves import BASELINES
from attlas.studies.shared.figures import cells_of, ends_of
from attlas.text import Document

BEST, OF_KIND, TWIN, CHANCE = "best head", "best for its kind", "twin", "chance"
# Clark et al. 2019, table 2: BERT-base, CoNLL-2012; a neural system has .83 over all
PUBLISHED: Mapping[str, tuple[float, ...]] = {
    BEST: (0.65, 0.64, 0.73, 0.58),
    "nearest": (0.27, 0.29, 0.29, 0.19),
    "head match": (0.52, 0.47, 0.67, 0.40),
    "sieve": (0.69, 0.70, 0.77, 0.60),
}
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


def coref_tables(model: Scored, twin: Scored, windows: Sequence[Window]) -> dict[str, Columns]:
    """All tables; ``windows`` are those that were scored, by their numbers.

    >>> from attlas.capture import load
    >>> from attlas.studies.coref.passes import Choice
    >>> chosen = {cell: Choice(0, 0, 0) for cell in np.ndindex(3, 4)}
    >>> study = Coref(load(), chosen=chosen)
    >>> nothing = Scored(study, Coref(study.subject).empty(), study.empty(), chosen)
    >>> list(coref_tables(nothing, nothing, []))
    ['coref', 'coref_heads', 'cases']
    """
    tested = {
        f"{rival.replace(' ', '_')}_p_corrected": _corrected(model.scoring[f"over {rival}"].result())
        for rival in RIVALS
    }
    return {
        "coref": _main(model, twin, tested),
        "coref_heads": _heads(model, twin, tested),
        "cases": _cases(model, windows),
    }


def _corrected(over: Estimate) -> NDArray[np.float64]:
    """p for being above a baseline, corrected over all heads and directions of each set of candidates and kind."""
    p = p_above_zero(over)
    corrected = np.full(p.shape, np.nan)
    for candidates, kind in np.ndindex(*p.shape[3:]):
        corrected[..., candidates, kind] = holm(p[..., candidates, kind])
    return corrected


def _main(model: Scored, twin: Scored, tested: Mapping[str, NDArray[np.float64]]) -> Columns:
    rows: list[dict[str, Any]] = []
    empty = dict.fromkeys(("layer", "head", "direction", "when_chosen", *tested, "published"))
    baselines, chance = model.scoring["baselines"].result(), model.scoring["chance"].result()
    for (k, kind), (c, candidates) in product(enumerate(KINDS), enumerate(CANDIDATES)):
        who_chooses: list[tuple[str, Estimate, tuple[int, int], dict[str, Any]]] = []
        for who, scored, part in ((BEST, model, "best"), (OF_KIND, model, "chosen"), (TWIN, twin, "chosen")):
            if who == OF_KIND and kind == "all":
                continue
            choice = scored.chosen[c, 0 if who == BEST else k]
            cell = (*choice, c, k)
            about = {
                "layer": choice.layer,
                "head": choice.head,
                "direction": scored.study.directions[choice.direction],
                "when_chosen": scored.choosing["heads"].result().value[cell],
                **{name: p[cell] for name, p in tested.items() if who != TWIN},
                "published": PUBLISHED[BEST][k] if who == BEST and c == 0 else None,
            }
            who_chooses.append((who, scored.scoring[part].result(), (c, k), about))
        who_chooses.append((CHANCE, chance, (c, k), {}))
        if candidates == "preceding":
            who_chooses += [(name, baselines, (b, k), {"published": PUBLISHED[name][k]})
                            for b, name in enumerate(BASELINES)]  # fmt: skip
        for who, shown, place, about in who_chooses:
            if shown.n[place] > 0:
                named = {"kind": kind, "candidates": candidates, "who": who, "n": shown.n[place]}
                rows.append(empty | named | ends_of(shown, place) | about)
    return as_columns(rows, ("kind", "candidates", "who", "value", "n", "low", "high", *empty))


def _heads(model: Scored, twin: Scored, tested: Mapping[str, NDArray[np.float64]]) -> Columns:
    rows: list[dict[str, Any]] = []
    chance = model.scoring["chance"].result().value
    for who, scored in (("model", model), ("twin", twin)):
        study, then = scored.study, scored.choosing["heads"].result().value
        layers, heads = map(range, study.shape)
        axes = {"layer": layers, "head": heads, "direction": study.directions, "candidates": CANDIDATES}
        for cell, row in cells_of(scored.scoring["heads"].result(), **axes, kind=KINDS):
            row |= {"who": who, "stream": study.stream.value, "chance": chance[cell[3:]], "when_chosen": then[cell]}
            rows.append(row | {name: p[cell] if who == "model" else None for name, p in tested.items()})
    return as_columns(rows, (*_HEADS, *tested))


def _cases(model: Scored, windows: Sequence[Window]) -> Columns:
    """The surest cases of each kind and outcome, from as many documents as possible."""
    rows: list[dict[str, Any]] = []
    by_number = {window.number: window for window in windows}
    for cell, cases in enumerate(model.scoring["cases"].result()):
        kind, outcome = divmod(cell, len(OUTCOMES))
        seen: Counter[int] = Counter()  # cases of each document; of each the first come before any second
        ranked = []
        for weight, (number, mention, word) in cases:
            window = by_number[number]
            ranked.append((seen[window.document], weight, window, mention, word))
            seen[window.document] += 1
        for _, weight, window, mention, word in sorted(ranked, key=lambda case: case[0])[:SHOWN]:
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
