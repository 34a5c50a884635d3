"""Which heads make the best key phrases: sets of heads, each tried as a weigher of words.

A candidate is, for each kind of attention, the first so many heads by their AUC on the part that heads are chosen on,
and all heads of the last layer. Each weighs the words of that part, phrases are made of the weights, and the best F1
of the first ten phrases (against all phrases that were given) wins; of equals, the one with fewer heads. Phrases are
runs of words, or single words where most phrases given to the texts that heads are chosen on are such. On the part
that is scored, the winner stands beside the best single head and the last layer, which is what is used of a model
that nothing is known of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attlas.studies.keywords_study.heads import best_first
from attlas.studies.keywords_study.passes import Part, Received
from attlas.studies.shared.keywords.phrases import LONGEST, rank_phrases
from attlas.studies.shared.keywords.scoring import given_in, score_rows
from attlas.studies.shared.keywords.weighing import Kind, Numbers
from attlas.text.keyphrases import Stems, document_stems
from attlas.text.stems import Stem

COUNTS = (1, 2, 3, 5, 8, 10, 12, 16, 20)
LAST, BEST = "all heads of the last layer", "best head"
AT, GOLD = "10", "all"  # what decides


class Candidate(NamedTuple):
    """A set of heads, by their numbers among all heads of all layers, and the kind of attention they are read by."""

    kind: Kind
    selection: str
    heads: tuple[int, ...]


def candidates(auc: Mapping[Kind, Sequence[float]], last: int) -> list[Candidate]:
    """All that is tried, from the AUC of each head by each kind; ``last`` is how many heads the last layer has."""
    made = []
    for kind, values in auc.items():
        order, every = best_first(values), len(values)
        for count in COUNTS:
            if count <= every:
                name = BEST if count == 1 else f"{count} best heads"
                made.append(Candidate(kind, name, tuple(order[:count])))
        made.append(Candidate(kind, LAST, tuple(range(every - last, every))))
    return made


def weights_by(received: Received, part: str, chosen: Sequence[Candidate]) -> list[Numbers]:
    """The weights of all words of a part by each candidate: the mean over its heads of relative attention."""
    found = [np.empty(received.parts[part].words, np.float32) for _ in chosen]
    starts = received.parts[part].starts
    for kind in dict.fromkeys(candidate.kind for candidate in chosen):
        mine = [number for number, candidate in enumerate(chosen) if candidate.kind == kind]
        for some, _, shares in received.blocks(part, kind):
            for number in mine:
                here = slice(starts[some.start], starts[some.stop])
                found[number][here] = shares[:, list(chosen[number].heads)].mean(1)
    return found


def _ranked(part: Part, weights: Numbers, stems: Sequence[Stems], longest: int) -> list[list[Stems]]:
    """The phrases of each document, the heaviest first, from the weights of all words of a part."""
    return [
        [phrase.stems for phrase in rank_phrases(document, weights[start:stop], stems=known, longest=longest)]
        for document, known, start, stop in zip(part.documents, stems, part.starts, part.starts[1:], strict=False)
    ]


def phrase_rows(
    received: Received, part: str, chosen: Sequence[Candidate], called: str, stem: Stem, longest: int = LONGEST
) -> list[list[dict[str, Any]]]:
    """For each candidate, how good its phrases are on a part, one row for each depth and gold."""
    laid = received.parts[part]
    stems = [document_stems(document, stem) for document in laid.documents]
    given = [given_in(document, stem) for document in laid.documents]
    made = []
    for candidate, weights in zip(chosen, weights_by(received, part, chosen), strict=True):
        about = {
            "part": called, "selection": candidate.selection, "measure": candidate.kind.measure,
            "over": candidate.kind.over, "heads": len(candidate.heads), "chosen": False,
        }  # fmt: skip
        made.append([about | row for row in score_rows(_ranked(laid, weights, stems, longest), given)])
    return made


def winner(tried: Sequence[Candidate], rows: Sequence[Sequence[Mapping[str, Any]]]) -> int:
    """The candidate with the best F1 of its first ten phrases; of equals the one with fewer heads."""
    scores = [next(row["f1"] for row in some if (row["at"], row["gold"]) == (AT, GOLD)) for some in rows]
    return min(range(len(tried)), key=lambda number: (-scores[number], len(tried[number].heads), number))
