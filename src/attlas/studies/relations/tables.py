"""The answer of the study of relations, as tidy rows.

The main table has a row for each relation and direction: the head that was chosen on other texts and its accuracy
here, beside the best fixed offset (on these very texts: a baseline may look), the untrained twins' own chosen heads,
and the published figure where there is one. ``p`` asks whether the head beats the offset, by flipping the signs of
documents (:mod:`attlas.stats.flips`); ``p_corrected`` is that of the max-T over all chosen heads. In the table of all
heads it is that over all heads and directions of a relation: what is left after having looked at all of them; and
``everywhere_p_corrected`` over all relations, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attlas.ids import HeadId, Site
from attlas.stats import Bundle, Estimate, above_zero, estimate
from attlas.store.columns import as_columns
from attlas.studies.relations.passes import DIRECTIONS, OFFSETS, VERDICTS, Relations, key_of
from attlas.studies.shared.figures import cells_of, divide, ends_of, spread
from attlas.studies.shared.published import RELATIONS

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.reading import Reading
    from attlas.run.streamed import StreamedReading
    from attlas.text import Document

Columns = dict[str, list[Any]]
Scored = tuple[Relations, Bundle]
SHARE = (0.0, 1.0)
_MAIN = (
    "relation", "direction", "best", "stream", "layer", "head", "measure", "value", "low", "high", "n", "units",
    "chosen_value", "offset", "baseline", "baseline_low", "baseline_high", "margin", "margin_low", "margin_high",
    "p", "p_corrected", "twin_layer", "twin_head", "twin", "twin_low", "twin_high", "twins", "published_relation",
    "published_head", "published", "published_baseline", "published_note",
)  # fmt: skip
_HEADS = (
    "stream", "layer", "head", "direction", "relation", "value", "n", "low", "high", "margin", "p_corrected",
    "everywhere_p_corrected", "twin", "twin_low", "twin_high",
)  # fmt: skip
_EXAMPLE = (
    "relation", "direction", "stream", "layer", "head", "verdict", "value", "name", "text", "words", "dependent",
    "governor", "predicted", "pieces", "piece_words", "piece_documents", "weights", "lengths",
)  # fmt: skip


def relation_tables(
    own: Scored, twins: Sequence[Scored], reading: Reading | StreamedReading, seed: int = 0
) -> dict[str, Columns]:
    """All tables: a model and its twins after scoring, each with its bundle, and what was read.

    >>> from attlas.capture import load
    >>> from attlas.capture.reading import Reading
    >>> study = Relations(load(), labels=("all",))
    >>> study.choice = study.choose(study.empty())
    >>> list(relation_tables((study, study.empty()), [(study, study.empty())], Reading()))
    ['relations', 'relation_heads', 'offsets', 'examples']
    """
    study, bundle = own
    margins = Margins.of(bundle)
    offsets = cells_of(margins.offsets, offset=OFFSETS, relation=study.labels)
    shown = {key for cases in bundle["surest"].result() for _, (key, *_) in cases}
    sentences = [example.passage.first for example in reading.recall(lambda e: key_of(e.passage.first), shown)]
    documents = {key_of(sentence): sentence for sentence in sentences}
    return {
        "relations": _relations(own, twins, margins, seed),
        "relation_heads": _heads(study, bundle, twins, margins, seed),
        "offsets": as_columns([row for _, row in offsets], ("relation", "offset", "value", "n", "low", "high")),
        "examples": _examples(study, bundle, documents),
    }


@dataclass(frozen=True)
class Margins:
    """How often each head is right less how often the best offset is, unit by unit: ``rows`` is (unit, direction,
    layer, head, relation), and so are ``cases``, none for heads that are not there; ``best`` is the place of the
    offset that is right most often for each relation."""

    rows: NDArray[np.float64]
    cases: NDArray[np.float64]
    offsets: Estimate
    best: NDArray[np.int64]

    @classmethod
    def of(cls, bundle: Bundle) -> Margins:
        """The margins of a model's heads on the texts that were scored."""
        offsets = bundle.pooled("offsets").result(SHARE, hits=True)
        best = np.nan_to_num(offsets.value).argmax(0)
        hits, counts = bundle.pooled("figures").rows()
        rule = np.take_along_axis(bundle.pooled("offsets").rows()[0], best[None, None], axis=1)[:, 0]
        margins = np.where(counts > 0, hits - rule[:, None, None, None], 0.0)
        return cls(margins, counts, offsets, best)

    @property
    def counts(self) -> NDArray[np.float64]:
        """The cases of units, (unit, relation)."""
        counts: NDArray[np.float64] = self.cases.max((1, 2, 3))
        return counts

    def estimate(self, direction: int, layer: int, head: int, relation: int) -> Estimate:
        """The margin of one head for a relation, with its interval."""
        return estimate(self.rows[:, direction, layer, head, relation], self.counts[:, relation], (-1.0, 1.0))


def _relations(own: Scored, twins: Sequence[Scored], margins: Margins, seed: int) -> Columns:
    """The main table: what was chosen, for the model and for its untrained twins."""
    study, bundle = own
    assert study.choice is not None
    figures = bundle.pooled("figures").result(SHARE, hits=True)
    rows, places = [], []
    for relation, label in enumerate(study.labels):
        best = study.choice.best(relation)
        for direction, name in enumerate(DIRECTIONS):
            layer, head = (int(number) for number in study.choice.heads[direction, relation])
            place = (direction, layer, head, relation)
            if layer < 0 or not figures.n[place] > 0:
                continue
            offset = int(margins.best[relation])
            known = RELATIONS.get(label) if direction == best else None
            published = known._asdict() if known else {}
            rows.append({
                "relation": label, "direction": name, "best": direction == best, "stream": study.stream.value,
                "layer": layer, "head": head, "measure": study.measure, **ends_of(figures, place),
                "n": int(figures.n[place]), "units": int((margins.counts[:, relation] > 0).sum()),
                "chosen_value": study.choice.values[direction, relation], "offset": OFFSETS[offset],
                **ends_of(margins.offsets, (offset, relation), "baseline"),
                **ends_of(margins.estimate(*place), (), "margin"),
                **_of_twins(twins, direction, relation),
                "published": published.get("value"),
                **{f"published_{name}": published.get(name) for name in ("relation", "head", "baseline", "note")},
            })  # fmt: skip
            places.append(place)
    if rows:
        chosen = tuple(np.array(places).T)
        tested = above_zero(margins.rows[(slice(None), *chosen)], margins.counts[:, chosen[-1]], seed=seed)
        for row, p, corrected in zip(rows, *tested, strict=True):
            row |= {"p": p, "p_corrected": corrected}
    return as_columns(rows, _MAIN)


def _of_twins(twins: Sequence[Scored], direction: int, relation: int) -> dict[str, Any]:
    """What the twins' own chosen heads find: the mean, the lowest and the highest; and the head of the best twin."""
    heads, values = [], []
    for study, bundle in twins:
        assert study.choice is not None
        head = tuple(int(number) for number in study.choice.heads[direction, relation])
        heads.append(head)
        values.append(Estimate(*(part[(direction, *head, relation)] for part in bundle.pooled("figures").result())))
    if not twins:
        return dict.fromkeys(("twin", "twin_low", "twin_high", "twin_layer", "twin_head")) | {"twins": 0}
    best = int(np.nanargmax([value.value for value in values]))
    row = ends_of(spread(values, values[0]), (), "twin")
    return {**row, "twin_layer": heads[best][0], "twin_head": heads[best][1], "twins": len(twins)}


def _heads(study: Relations, bundle: Bundle, twins: Sequence[Scored], margins: Margins, seed: int) -> Columns:
    """Every head's accuracy for every relation and direction, beside the same place of the untrained twins."""
    figures = bundle.pooled("figures").result(SHARE, hits=True)
    control = spread([twin.pooled("figures").result() for _, twin in twins], figures)
    margin, p = divide(margins.rows.sum(0), margins.counts.sum(0)), np.full(figures.value.shape, np.nan)
    for relation in range(len(study.labels)):
        own = margins.rows[..., relation], margins.cases[..., relation]
        p[..., relation] = above_zero(*own, seed=seed).p_corrected
    everywhere = above_zero(margins.rows, margins.cases, seed=seed).p_corrected
    layers, heads = map(range, study.subject.grid(study.stream).shape)
    rows = [
        row | {"stream": study.stream.value, "n": int(row["n"]), "margin": margin[cell], "p_corrected": p[cell],
               "everywhere_p_corrected": everywhere[cell], **ends_of(control, cell, "twin")}
        for cell, row in cells_of(figures, direction=DIRECTIONS, layer=layers, head=heads, relation=study.labels)
    ]  # fmt: skip
    return as_columns(sorted(rows, key=lambda row: (row["layer"], row["head"])), _HEADS)


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
    return as_columns(rows, _EXAMPLE)


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
