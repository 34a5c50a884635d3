"""Examples: for every head, texts on which it does what its first sentence says best, typically, and where it fails.

A pool of about a dozen short texts is drawn from the corpus that a study has read, and the study says how every head
does on each (:mod:`attlas.studies.shared.by_text`): by the very quantity of the sentence, so the best of an example
is the best by that. Then each text that was chosen is looked at once; of its weights, summed by word, the row is kept
that shows most of what the sentence is about (least, where the head fails), and a page of the viewer is written.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attlas.errors import TextError
from attlas.ids import Stream
from attlas.store.schema import PLACE, Column, Schema
from attlas.text import Document, cut_windows, regroup

if TYPE_CHECKING:
    from attlas.capture import Capture, Subject
    from attlas.corpora import Corpus
    from attlas.studies import Study
    from attlas.studies.shared.by_text import ByText
    from attlas.text import Segmentation

POOL, LONGEST, SHORTEST = 12, 40, 6  # texts, and pieces of each: at most and at least
ENOUGH = 3  # texts of a pool that have a relation
LOOKED = 400  # documents that a pool is drawn from
EXAMPLES = ("best", "typical", "fails")
PARTS = ("does", "rests", "writes")  # of a portrait, whose sentences can be shown on a text

Row = dict[str, Any]
_TEXT = Column("text", "text", "index", "which row of texts it is: a number of its model")
SCHEMAS = (
    Schema(
        "examples", "One row for each text that is an example for a head: best, typical, or where it fails.",
        Column("model", "model"), *PLACE, Column("example", "example"), Column("study", "study"),
        Column("quantity", "quantity", meaning="which figure decides, that of the head's first sentence"),
        Column("value", "value", "number", "of the figure, on this text"), _TEXT,
        Column("query", "query", "index", "the word whose row of weights is shown, among the text's words"),
        Column("weights", "weights", meaning="of that row, over the text's words; a list"),
    ),
    Schema(
        "texts", "One row for each text that is an example for some head.",
        Column("model", "model"), _TEXT,
        Column("words", "words", meaning="words and special pieces, of a translation the target's behind; a list"),
        Column("corpus", "corpus"), Column("page", "page", meaning="of the viewer, relative to the atlas"),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Chosen:
    """A text that is an example for a head: which of the three it is, of which sentence, with the quantity's value
    there."""

    sentence: Row
    example: str
    value: float
    found: ByText
    text: int


def pool_of(corpus: Corpus, subject: Subject, seed: int, size: int = POOL) -> list[Document]:
    """Short texts of a corpus, drawn by the seed: sentences of a treebank, and parts of what is longer; with those
    preferred that have relations (or mentions) of which the pool has few as yet.

    >>> from attlas.capture import load
    >>> from attlas.corpora import read
    >>> subject = load()
    >>> pool = pool_of(read("sample"), subject, 0)
    >>> len(pool), max(subject.pieces.length(document) for document in pool) <= 40
    (12, True)
    """
    whole = list(corpus.beginning.documents)
    draw = random.Random(seed)
    draw.shuffle(whole)
    parts: list[Document] = []
    for document in whole[:LOOKED]:
        try:
            parts += cut_windows(document, subject.pieces.length, LONGEST).documents
        except TextError:  # a word that is too long by itself
            continue
    translating = subject.pieces.translating
    fitting = [part for part in parts if _fits(part, subject, translating)] or parts
    draw.shuffle(fitting)
    seen: Counter[str] = Counter()
    first: list[Document] = []
    rest: list[Document] = []
    for document in fitting:
        known = {label for label in document.relations or () if label}
        known |= {"mention"} if len(document.mentions or ()) > 1 else set()
        if len(first) < size and any(seen[label] < ENOUGH for label in known):
            seen.update(known)
            first.append(document)
        else:
            rest.append(document)
    return [*first, *rest][:size]


def _fits(document: Document, subject: Subject, translating: bool) -> bool:
    """Whether a text is neither too short nor, with its translation, too long."""
    length = subject.pieces.length
    other = document.translation
    if translating and other is not None and length(other) > LONGEST:
        return False
    return SHORTEST <= length(document) <= LONGEST and (not translating or other is not None)


def figures_by_text(study: Study, subject: Subject, documents: Sequence[Document], seed: int) -> list[ByText]:
    """What a study says of every head on each of some texts; nothing where its record names no way.

    >>> from attlas.capture import load
    >>> from attlas.studies import studies
    >>> figures_by_text(studies()["norms"], load(), [], 0)
    []
    """
    place = study.fits.by_text if study.fits is not None else ""
    if not place or not documents:
        return []
    module, _, name = place.partition(":")
    made: Iterable[ByText] = getattr(import_module(module), name)(subject, documents, seed)
    return list(made)


def choose(sentences: Iterable[Row], figures: Mapping[str, Sequence[ByText]]) -> list[Chosen]:
    """For each head the texts of its first sentence that can be shown on texts; ``figures`` are by study, sentences
    in the order of evidence. Where a head of a pruned model has another number now, its sentences say it: ``own``."""
    chosen: list[Chosen] = []
    done: set[tuple[Any, ...]] = set()
    told = [row for row in sentences if row["part"] in PARTS]
    for row in sorted(told, key=lambda row: (PARTS.index(row["part"]), row["order"])):
        place = (row["stream"], row["layer"], row["head"])
        if place in done:
            continue
        for found in figures.get(row["study"], ()):
            values = found.values(row["quantity"], Stream(row["stream"]), row["layer"], _own(row))
            if np.isfinite(values).any():
                chosen += [Chosen(row, name, value, found, text) for name, value, text in _three(row, values)]
                done.add(place)
                break
    return chosen


def _own(row: Row) -> int:
    """The number that a head has in the model."""
    return int(row["own"] if "own" in row else row["head"])


def _three(row: Row, values: NDArray[np.float64]) -> list[tuple[str, float, int]]:
    """The text that is best, one that is typical, and one where the head fails: names, values and places. Where small
    figures are meant the best is the smallest. A head fails where it is not half as far beyond chance as at its
    best; there may be no such text."""
    chance = row["chance"] or 0.0
    sign = -1.0 if row["value"] is not None and row["value"] < chance else 1.0
    known = np.flatnonzero(np.isfinite(values))
    order = known[np.argsort(-sign * values[known], kind="stable")].tolist()
    best, rest = order[0], order[1:]
    picked = [("best", best)]
    if rest and sign * (values[rest[-1]] - chance) < sign * (values[best] - chance) / 2:
        picked.append(("fails", rest.pop()))
    if rest:
        middle = float(np.median(values[known]))
        picked.append(("typical", min(rest, key=lambda text: abs(values[text] - middle))))
    picked.sort(key=lambda each: EXAMPLES.index(each[0]))
    return [(name, float(values[text]), text) for name, text in picked]


@dataclass
class Shown:
    """A text that was looked at: its words, and where in them each side's pieces stand."""

    capture: Capture
    words: list[str]
    own: int  # words of the source; those of a target follow

    @classmethod
    def of(cls, capture: Capture) -> Shown:
        """The words of a text and its special pieces, in their order; of a translation the target's behind."""
        documents = capture.passage.documents
        if capture.target is None:
            words = _spelled(capture.source, [form for document in documents for form in document.forms])
            return cls(capture, words, len(words))
        words = _spelled(capture.source, documents[0].forms)
        target = documents[1].forms if len(documents) > 1 else ()
        return cls(capture, [*words, *_spelled(capture.target, target)], len(words))

    def row(
        self, stream: Stream, layer: int, head: int, places: NDArray[np.bool_] | None, example: str
    ) -> tuple[int, list[float]]:
        """The word whose row shows most of what is asked for (least, where the head fails; a middling one, where it
        is typical), and its weights over all words."""
        queries, keys = self.capture.queries_of(stream), self.capture.keys_of(stream)
        weights = self.capture.weights[stream][layer, head].detach().double().cpu().numpy()
        piece = _query(weights, places, example, queries)
        by_word = regroup(weights, queries, keys)
        at = int(queries.groups[piece])
        row = np.zeros(len(self.words))
        of_target = self.capture.target is not None and keys is self.capture.target
        start = self.own if of_target else 0
        row[start : start + by_word.shape[1]] = by_word[at]
        asks_target = self.capture.target is not None and queries is self.capture.target
        return at + (self.own if asks_target else 0), [round(float(weight), 4) for weight in row]


def _query(
    weights: NDArray[np.float64], places: NDArray[np.bool_] | None, example: str, queries: Segmentation
) -> int:  # fmt: skip
    """The piece whose row is shown."""
    if places is None or not places.any():
        inside = [piece for piece, word in enumerate(queries.words) if word >= 0] or [0]
        return inside[len(inside) // 2]
    asked = np.flatnonzero(places.any(1))
    words = np.array(queries.words)[asked] >= 0
    asked = asked[words] if words.any() else asked
    shown = (weights * places).sum(1)[asked]
    if example == "best":
        return int(asked[shown.argmax()])
    if example == "fails":
        return int(asked[shown.argmin()])
    return int(asked[np.abs(shown - np.median(shown)).argmin()])


def _spelled(segmentation: Segmentation, forms: Sequence[str]) -> list[str]:
    """A word for each group of pieces: as it is spelled, or the piece itself where it belongs to none."""
    words: dict[int, str] = {}
    for piece, (group, word) in enumerate(zip(segmentation.groups.tolist(), segmentation.words, strict=True)):
        words.setdefault(group, forms[word] if 0 <= word < len(forms) else segmentation.pieces[piece])
    return list(words.values())


def example_tables(
    subject: Subject, chosen: Sequence[Chosen], corpora: Mapping[str, str], write: Callable[[int, Capture], str]
) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """The tables ``examples`` and ``texts``: every text is looked at once, and ``write`` writes its page and tells
    its place. ``corpora`` are the names of the corpora that studies have read."""
    from attlas.capture.look import look_at

    by_text: dict[Any, list[Chosen]] = {}
    for each in chosen:
        example = each.found.examples[each.text]
        target = None if example.target is None else example.target.ids
        by_text.setdefault((example.source.ids, target), []).append(each)
    examples: list[Row] = []
    texts: list[Row] = []
    for number, group in enumerate(by_text.values()):
        shown = Shown.of(look_at(subject, group[0].found.examples[group[0].text]))
        corpus = corpora.get(group[0].sentence["study"], "")
        texts.append({"model": subject.name, "text": number, "words": shown.words, "corpus": corpus,
                      "page": write(number, shown.capture)})  # fmt: skip
        for each in group:
            row = each.sentence
            stream = Stream(row["stream"])
            places = each.found.places(each.text, stream, row["quantity"])
            query, weights = shown.row(stream, row["layer"], _own(row), places, each.example)
            examples.append({
                "model": subject.name, "stream": row["stream"], "layer": row["layer"], "head": row["head"],
                "example": each.example, "study": row["study"], "quantity": row["quantity"], "value": each.value,
                "text": number, "query": query, "weights": weights,
            })  # fmt: skip
    examples.sort(key=lambda row: (row["stream"], row["layer"], row["head"], EXAMPLES.index(row["example"])))
    return _columns(examples), _columns(texts)


def _columns(rows: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def write_viewer(capture: Capture, place: Path) -> None:
    """Write the viewer's page of a text, with what it needs to show weights."""
    from dataclasses import replace

    from attlas.views import write_page

    scene = capture.scene()
    lean = tuple(replace(strand, query_vectors=None, key_vectors=None, scores=None) for strand in scene.strands)
    write_page(place, [replace(scene, strands=lean)])
