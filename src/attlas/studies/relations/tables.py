"""The answer of the study of relations, as tidy rows.

The main table has a row for each relation and direction: the head that was chosen on other texts and its accuracy
here, beside the chosen offset, the untrained twin's own chosen head, and the published figure where there is one.
``p`` asks whether the head beats the offset; ``p_corrected`` is Holm's, over all chosen heads. In the table of all
heads it is Holm's over all heads and directions of a relation: what is left after having looked at all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attlas.ids import HeadId, Site
from attlas.stats import Bundle, Estimate, holm, p_above_zero
from attlas.store.columns import as_columns
from attlas.studies.relations.passes import DIRECTIONS, OFFSETS, VERDICTS, WHO, Relations, key_of
from attlas.studies.shared.figures import cells_of, ends_of
from attlas.studies.shared.published import RELATIONS

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.reading import Reading
    from attlas.text import Document

Columns = dict[str, list[Any]]
Scored = tuple[Relations, Bundle]
HEAD, OFFSET, MARGIN = range(len(WHO))
FEWEST = 10  # texts below which a p value would promise too much


def relation_tables(own: Scored, twin: Scored, reading: Reading) -> dict[str, Columns]:
    """All tables: a model and its twin after scoring, each with its bundle, and what was read.

    >>> from attlas.capture import load
    >>> from attlas.capture.reading import Reading
    >>> study = Relations(load(), labels=("all",))
    >>> study.choice = study.choose(study.empty())
    >>> list(relation_tables((study, study.empty()), (study, study.empty()), Reading()))
    ['relations', 'relation_heads', 'offsets', 'examples']
    """
    study, bundle = own
    offsets = cells_of(bundle["offsets"].result(), offset=OFFSETS, relation=study.labels)
    documents = {key_of(example.passage.first): example.passage.first for example in reading.examples}
    margins = bundle["margins"].result()
    texts = bundle["margins"].state()["texts"]
    p = np.where(texts >= FEWEST, p_above_zero(margins), np.nan)  # of being better than the offset, one-sided
    return {
        "relations": _relations(own, twin, p),
        "relation_heads": _heads(study, bundle, twin[1], margins, p),
        "offsets": as_columns([{"relation": row["relation"], **row} for _, row in offsets]),
        "examples": _examples(study, bundle, documents),
    }


def _relations(own: Scored, twin: Scored, p: Any) -> Columns:
    """The main table: what was chosen, for the model and for its untrained twin."""
    (study, bundle), (twin_study, twin_bundle) = own, twin
    assert study.choice is not None
    assert twin_study.choice is not None
    chosen, control = bundle["chosen"].result(), twin_bundle["chosen"].result()
    rows: list[dict[str, Any]] = []
    for relation, label in enumerate(study.labels):
        best = study.choice.best(relation)
        for direction, name in enumerate(DIRECTIONS):
            cell = (direction, relation)
            layer, head = study.choice.heads[cell]
            if layer < 0 or not chosen.n[*cell, HEAD] > 0:
                continue
            known = RELATIONS.get(label) if direction == best else None
            published = known._asdict() if known else {}
            rows.append(
                {
                    "relation": label,
                    "direction": name,
                    "best": direction == best,
                    "stream": study.stream.value,
                    "layer": layer,
                    "head": head,
                    "measure": study.measure,
                    **ends_of(chosen, (*cell, HEAD)),
                    "n": int(chosen.n[*cell, HEAD]),
                    "chosen_value": study.choice.head_values[cell],
                    "offset": study.choice.offsets[relation],
                    **ends_of(chosen, (*cell, OFFSET), "baseline"),
                    **ends_of(chosen, (*cell, MARGIN), "margin"),
                    "p": p[direction, layer, head, relation],
                    "p_corrected": None,
                    **dict(zip(("twin_layer", "twin_head"), twin_study.choice.heads[cell], strict=True)),
                    **ends_of(control, (*cell, HEAD), "twin"),
                    **{f"published_{part}": published.get(part) for part in ("relation", "head")},
                    "published": published.get("value"),
                    **{f"published_{part}": published.get(part) for part in ("baseline", "note")},
                }
            )
    for row, corrected in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_corrected"] = corrected
    return as_columns(rows)


def _heads(study: Relations, bundle: Bundle, twin: Bundle, margins: Estimate, p: Any) -> Columns:
    """Every head's accuracy for every relation and direction, beside the same place of the untrained twin."""
    figures, control = bundle["figures"].result(), twin["figures"].result()
    corrected = np.stack([holm(p[..., relation]) for relation in range(p.shape[-1])], -1)
    layers, heads = map(range, study.subject.shape(study.stream))
    rows = [
        {"stream": study.stream.value, "layer": row["layer"], "head": row["head"], **row, "n": int(row["n"]),
         "margin": margins.value[cell], "p_corrected": corrected[cell], "twin": control.value[cell]}
        for cell, row in cells_of(figures, direction=DIRECTIONS, layer=layers, head=heads, relation=study.labels)
    ]  # fmt: skip
    return as_columns(sorted(rows, key=lambda row: (row["layer"], row["head"])))


def _examples(study: Relations, bundle: Bundle, documents: dict[int, Document]) -> Columns:
    """Sentences in which the best heads were surest, right and wrong, with their weights: those of this one head,
    (query, key) as float32 bytes; lengths are the ||f(x)|| of its keys. Documents come by their keys."""
    assert study.choice is not None
    surest = bundle["surest"].result()
    rows = []
    for relation, label in enumerate(study.labels):
        direction = study.choice.best(relation)
        if direction is None:
            continue
        layer, head = (int(number) for number in study.choice.heads[direction, relation])
        place = {"relation": label, "direction": DIRECTIONS[direction], "stream": study.stream.value, "layer": layer}
        for verdict, name in enumerate(VERDICTS):
            cell = (direction * len(study.labels) + relation) * len(VERDICTS) + verdict
            for value, (key, dependent, predicted) in surest[cell]:
                document = documents[key]
                case = {
                    "head": head,
                    "verdict": name,
                    "value": value,
                    "name": document.name,
                    "text": document.text,
                    "words": list(document.forms),
                    "dependent": dependent,
                    "governor": (document.governors or ())[dependent],
                    "predicted": predicted,
                }
                rows.append(place | case | _seen(study.subject, document, Site(study.stream, layer), head))
    return as_columns(rows)


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
