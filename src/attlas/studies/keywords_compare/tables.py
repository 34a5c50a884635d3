"""The tables of a comparison of methods, from what each has found.

Every method is held against the first form of attention, on the same documents: the change of F1 with its interval,
and p by a paired permutation test, documents swapping their phrases between the two (:mod:`attlas.stats.paired`).
Holm's correction is over all methods that are held against it at the same depth and by the same gold. What kinds of
phrases a method finds, single words or phrases of several, is told by the table ``lengths``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attlas.ids import paper_label
from attlas.stats import compare, estimate, holm
from attlas.store.columns import as_columns
from attlas.studies.keywords_compare.baselines.named import Named, distinct
from attlas.studies.shared.keywords.phrases import single_share
from attlas.studies.shared.keywords.scoring import DEPTHS, GOLD, MICRO, Given, marks, score_rows
from attlas.text import Document
from attlas.text.keyphrases import Stems, phrase_stems
from attlas.text.stems import Stem

if TYPE_CHECKING:
    from attlas.studies.keywords_compare.baselines.methods import Field

SHOWN, PHRASES = 5, 10  # documents that are shown, and phrases of a method
LENGTHS: dict[str, Callable[[Stems], bool]] = {
    "single": lambda one: len(one) == 1,
    "several": lambda one: len(one) > 1,
}
LONGEST, ENOUGH = 200, 5  # words of one that is shown, and given phrases in it, where there are such
Row = dict[str, Any]


class Told(NamedTuple):
    """What one form of a method has found in all documents, and how long it took."""

    method: str
    form: str
    needs: str
    found: list[list[Named]]
    seconds: float

    @property
    def stems(self) -> list[list[tuple[str, ...]]]:
        """The phrases by their stems."""
        return [[phrase.stems for phrase in phrases] for phrases in self.found]


def tables_of(
    told: Sequence[Told], documents: Sequence[Document], given: Sequence[Given], field: Field
) -> dict[str, Any]:
    """The tables of the study."""
    choice = field.choice
    whole = {
        "documents": len(documents), "words": sum(len(document.words) for document in documents),
        "given": sum(len(one.all) for one in given), "present": sum(len(one.present) for one in given),
        "choice": f"{len(choice.heads)} heads ({choice.why}), {choice.measure}, {choice.over} over words",
        "heads": len(choice.heads), "names": ", ".join(paper_label(head.layer, head.head) for head in choice.heads),
        "measure": choice.measure, "over": choice.over, "language": field.language, "corpus": len(field.corpus),
        "single": single_share(phrase for one in given for phrase in one.all), "longest": choice.longest,
    }  # fmt: skip
    return {
        "methods": as_columns(method_rows(told, given, field.seed) if told else []),
        "lengths": as_columns(length_rows(told, given)),
        "examples": as_columns(example_rows(told, documents, given)),
        "given": as_columns(given_rows(documents, given, field.stem)),
        "whole": as_columns([whole]),
    }


def method_rows(told: Sequence[Told], given: Sequence[Given], seed: int = 0) -> list[Row]:
    """The scores of all methods, each beside the first."""
    rows: list[Row] = []
    for one in told:
        about = {"method": one.method, "form": one.form, "needs": one.needs}
        for row in score_rows(one.stems, given):
            documents = row.pop("n")
            rows.append({**about, **row, **dict.fromkeys(_BESIDE), "seconds": one.seconds, "n": documents})
    for gold in GOLD:
        wanted = [one.of(gold) for one in given]
        for depth in DEPTHS:
            first, *others = (marks(one.stems, wanted, depth) for one in told)
            if not others:
                continue
            found = compare(MICRO, first, np.stack(others), seed=seed)
            corrected = holm(found.p)
            at = "M" if depth is None else str(depth)
            here = [row for row in rows if row["at"] == at and row["gold"] == gold][1:]
            for number, row in enumerate(here):
                values = (found.change, found.low, found.high, found.p, corrected)
                row.update(zip(_BESIDE, (float(value[number]) for value in values), strict=True))
    return rows


def length_rows(told: Sequence[Told], given: Sequence[Given]) -> list[Row]:
    """How many of the given phrases of one word, and of several, are among the first ten that a method found."""
    rows = []
    for one in told:
        first = [set(list(dict.fromkeys(phrases))[:PHRASES]) for phrases in one.stems]
        for length, fits in LENGTHS.items():
            wanted = [{phrase for phrase in each.all if fits(phrase)} for each in given]
            hits = np.array([len(some & those) for some, those in zip(first, wanted, strict=True)], dtype=np.float64)
            value, n, low, high = estimate(hits, np.array([len(those) for those in wanted]), (0.0, 1.0), hits=True)
            shown = sum(fits(phrase) for some in first for phrase in some) / max(1, sum(map(len, first)))
            rows.append({
                "method": one.method, "form": one.form, "length": length, "recall": float(value), "low": float(low),
                "high": float(high), "shown": shown, "n": int(n),
            })  # fmt: skip
    return rows


_BESIDE = ("change", "change_low", "change_high", "change_p", "change_p_corrected")


def _shown_documents(documents: Sequence[Document], given: Sequence[Given]) -> list[int]:
    """The first few documents that are not long and have some given phrases in them; else the first."""
    every = range(len(documents))
    good = [at for at in every if len(documents[at].words) <= LONGEST and len(given[at].present) >= ENOUGH]
    return sorted((good + [at for at in every if at not in set(good)])[:SHOWN])


def example_rows(told: Sequence[Told], documents: Sequence[Document], given: Sequence[Given]) -> list[Row]:
    """The first phrases that each method found in a few documents; of every method its first form."""
    first = {one.method: one for one in reversed(told)}
    rows = []
    for at in _shown_documents(documents, given):
        right = set(given[at].all)
        for one in told:
            if first[one.method] is not one:
                continue
            for rank, phrase in enumerate(distinct(one.found[at], PHRASES), start=1):
                rows.append(
                    {
                        "document": at, "name": documents[at].name, "text": documents[at].text, "method": one.method,
                        "form": one.form, "rank": rank, "phrase": phrase.text, "right": phrase.stems in right,
                    }
                )  # fmt: skip
    return rows


def given_rows(documents: Sequence[Document], given: Sequence[Given], stem: Stem | None = None) -> list[Row]:
    """The phrases that people gave the documents that are shown, and whether they stand in the text."""
    rows = []
    for at in _shown_documents(documents, given):
        present = set(given[at].present)
        written = {phrase_stems(phrase, stem): phrase for phrase in documents[at].keyphrases or ()}
        rows += [{"document": at, "phrase": written[one], "present": one in present} for one in given[at].all]
    return rows
