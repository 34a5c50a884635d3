"""The steps of the study of key words, each from what words receive to rows that are finished.

A step reads files and gives back what JSON can hold, so a run that was interrupted need not repeat it. Parts are
called :data:`CHOSEN` (heads are chosen and predictors trained there) and :data:`SCORED`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attlas.studies.keywords_study.heads import Floats, best_first, head_columns, seen_by_heads
from attlas.studies.keywords_study.mixing import learn_mix
from attlas.studies.keywords_study.passes import Received
from attlas.studies.keywords_study.predicting import (
    Flags,
    Say,
    best_threshold,
    cross_validated,
    features,
    learn,
    plain_features,
    rows_of,
    word_scores,
)
from attlas.studies.keywords_study.selecting import BEST, LAST, candidates, phrase_rows, winner
from attlas.studies.shared.keywords.phrases import longest_for
from attlas.studies.shared.keywords.weighing import Kind, Numbers
from attlas.text.keyphrases import given_phrases
from attlas.text.stems import Stem

CHOSEN, SCORED, CROSS_VALIDATED = "chosen on", "scored on", "cross-validated"
PREDICTORS = (
    "every word", "length, place and frequency", "all heads of the untrained twin", "best head",
    "scalar mix of all heads", "all heads", "all heads, with length, place and frequency",
)  # fmt: skip
EVERY, PLAIN, TWIN, HEAD, MIX, ALL, BOTH = PREDICTORS
Rows = list[dict[str, Any]]


def head_step(received: Received, seed: int, say: Say) -> dict[str, Any]:
    """For each kind, in their order: the columns of all heads on the part that is scored, and means on the other."""
    kinds = []
    count = 0
    for kind in received.kinds:
        say(f"heads by {kind}")
        chosen, scored = (seen_by_heads(received, part, kind) for part in (CHOSEN, SCORED))
        choosing = {"auc": chosen.auc, "relative": chosen.relative, "saved": chosen.saved}
        means = {f"choosing_{name}": values.mean(0).tolist() for name, values in choosing.items()}
        kinds.append(head_columns(scored) | means)
        count = len(scored.even)
    return {"kinds": kinds, "n": count}


def best_kind(step: Mapping[str, Any], kinds: Sequence[Kind]) -> Kind:
    """The kind whose heads have the best mean AUC on the part that heads are chosen on."""
    means = [float(np.mean(columns["choosing_auc"])) for columns in step["kinds"]]
    return kinds[int(np.argmax(means))]


def phrase_step(
    received: Received, heads: Mapping[str, Any], last: int, stem: Stem, seed: int, say: Say
) -> dict[str, Any]:
    """Try all sets of heads on the part they are chosen on; score the best, the best single head and the last layer
    (by norms where there are any, by the mean) on the other. ``last`` is how many heads the last layer has."""
    auc = dict(zip(received.kinds, (columns["choosing_auc"] for columns in heads["kinds"]), strict=True))
    tried = candidates(auc, last)
    say(f"phrases of {len(tried)} sets of heads")
    longest = longest_for(
        phrase for document in received.parts[CHOSEN].documents for phrase in given_phrases(document, stem)
    )
    rows = phrase_rows(received, CHOSEN, tried, CHOSEN, stem, longest)
    best = winner(tried, rows)
    rule = next(kind for kind in reversed(received.kinds) if kind.over == "mean")
    single = [number for number, one in enumerate(tried) if one.selection == BEST]
    beside = [
        single[winner([tried[number] for number in single], [rows[number] for number in single])],
        next(number for number, one in enumerate(tried) if (one.kind, one.selection) == (rule, LAST)),
    ]
    scored = list(dict.fromkeys([best, *beside]))
    again = phrase_rows(received, SCORED, [tried[number] for number in scored], SCORED, stem, longest)
    for row in (*rows[best], *again[0]):
        row["chosen"] = True
    winning = tried[best]
    return {
        "rows": [row for some in (*rows, *again) for row in some],
        "heads": list(winning.heads),
        "kind": list(winning.kind),
        "choosing_auc": [auc[winning.kind][head] for head in winning.heads],
        "longest": longest,
    }


def regression_step(
    received: Received, kind: Kind, folds: int, steps: Sequence[int], seed: int, say: Say
) -> dict[str, Any]:
    """F1 by the number of heads kept, cross-validated and on the part that is scored; the weights of heads over
    folds; the order in which the regression on all documents keeps them; and how that on all heads scores."""
    part = received.parts[CHOSEN]
    x = features(received.relative(CHOSEN, kind))
    scores, found = np.zeros((len(steps), len(x))), np.zeros((len(steps), len(x)), bool)
    weights, strengths = [], []
    for held, learned in cross_validated(x, part, folds, steps, seed, say):
        rows = rows_of(part, held)
        mine = x[rows]
        for number, one in enumerate(learned.fitted):
            scores[number, rows] = one.scores(mine)
            found[number, rows] = scores[number, rows] > one.threshold
        weights.append(learned.fitted[-1].weights)
        strengths.append(learned.fitted[-1].c)
    c = float(np.median(strengths))
    made = [
        {"part": CROSS_VALIDATED, "heads": step, **word_scores(part, scores[number], found[number]), "c": c}
        for number, step in enumerate(steps)
    ]
    say("regression: all documents")
    learned = learn(x, part, np.arange(len(part.documents)), seed, steps)
    x = features(received.relative(SCORED, kind))
    for step, one in zip(steps, learned.fitted, strict=True):
        scored = _scored(one.scores(x), one.threshold, received)
        made.append({"part": SCORED, "heads": step, **scored, "c": one.c})
    ranks = np.empty(received.heads, np.int64)
    ranks[learned.order] = np.arange(1, received.heads + 1)
    over = np.stack(weights)
    return {
        "rows": made,
        "weights": {
            "weight": over.mean(0).tolist(),
            "least": over.min(0).tolist(),
            "most": over.max(0).tolist(),
            "order": ranks.tolist(),
        },
        "predictor": {"predictor": ALL, **scored},
    }


def mix_step(received: Received, kind: Kind, seed: int, say: Say) -> dict[str, Any]:
    """The scalar mix: shares of heads, gamma, and how it scores."""
    say("scalar mix")
    mixed = learn_mix(received.relative(CHOSEN, kind), received.parts[CHOSEN].key)
    scores = mixed.scores(received.relative(SCORED, kind))
    row = {"predictor": MIX, **_scored(scores, mixed.threshold, received)}
    return {"share": mixed.shares.tolist(), "gamma": mixed.gamma, "predictor": row}


def predictor_step(
    received: Received, kind: Kind, auc: Sequence[float], stem: Stem, seed: int, say: Say
) -> dict[str, Any]:
    """What stands beside: every word, what needs no model, the best single head, and all heads with what needs no
    model. ``auc`` is that of each head on the part that heads are chosen on."""
    say("what needs no model, and the best head")
    part, scored = received.parts[CHOSEN], received.parts[SCORED]
    every = word_scores(scored, np.zeros(scored.words), np.ones(scored.words, bool))
    rows: Rows = [{"predictor": EVERY, **every}]
    plain, plain_scored = plain_features(part, stem), plain_features(scored, stem)
    rows.append({"predictor": PLAIN, **_regressed(received, plain, plain_scored, seed)})
    chosen, other = received.relative(CHOSEN, kind), received.relative(SCORED, kind)
    head = best_first(auc)[0]
    threshold = best_threshold(chosen[:, head].astype(np.float64), part.key)
    rows.append({"predictor": HEAD, **_scored(other[:, head].astype(np.float64), threshold, received)})
    both = [np.hstack(pair) for pair in ((features(chosen), plain), (features(other), plain_scored))]
    rows.append({"predictor": BOTH, **_regressed(received, both[0], both[1], seed)})
    return {"rows": rows}


def twin_step(received: Received, kind: Kind, seed: int, say: Say) -> dict[str, Any]:
    """An untrained twin: the AUC of its heads by each kind on the part that is scored, and all of them together by
    the same regression."""
    say("the heads of an untrained twin")
    auc = [seen_by_heads(received, SCORED, one).auc.mean(0).tolist() for one in received.kinds]
    chosen, scored = (features(received.relative(part, kind)) for part in (CHOSEN, SCORED))
    return {"auc": auc, "predictor": {"predictor": TWIN, **_regressed(received, chosen, scored, seed)}}


def _regressed(received: Received, chosen: Numbers, scored: Numbers, seed: int) -> dict[str, Any]:
    """How a regression that was learned on the columns of one part scores on those of the other."""
    part = received.parts[CHOSEN]
    (fitted,) = learn(chosen, part, np.arange(len(part.documents)), seed).fitted
    return _scored(fitted.scores(scored), fitted.threshold, received)


def _scored(scores: Floats, threshold: float, received: Received) -> dict[str, Any]:
    found: Flags = scores > threshold
    return word_scores(received.parts[SCORED], scores, found)
