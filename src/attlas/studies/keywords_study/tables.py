"""The tables of the study of key words, from the steps that were done.

Layers and heads are counted from 0; ``order`` and ``rank`` from 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attlas.store.columns import as_columns
from attlas.studies.keywords_study.passes import Part
from attlas.studies.keywords_study.steps import PREDICTORS
from attlas.studies.shared.keywords.scoring import given_in
from attlas.studies.shared.keywords.weighing import Kind
from attlas.text.stems import Stem

Columns = dict[str, list[Any]]


def tables_of(
    done: Mapping[str, Any], kinds: Sequence[Kind], named: Sequence[Mapping[str, Any]], whole: Sequence[Any]
) -> dict[str, Columns]:
    """All tables, from the steps by their names; ``named`` has the place of every head, in their order."""
    phrases, regression, mix, twins = done["phrases"], done["regression"], done["mix"], done["twins"]
    chosen = dict(zip(("measure", "over"), phrases["kind"], strict=True))
    choice = [
        {**named[head], **chosen, "rank": rank, "choosing_auc": auc, "longest": phrases["longest"]}
        for rank, (head, auc) in enumerate(zip(phrases["heads"], phrases["choosing_auc"], strict=True), start=1)
    ]
    found = [*done["predictors"]["rows"], mix["predictor"], regression["predictor"], *_of_twins(twins)]
    predictors = [row | {name: row.get(name) for name in ("twins", "twins_low", "twins_high")} for row in found]
    steps = [{name: row[name] for name in row if name not in ("auc_low", "auc_high")} for row in regression["rows"]]
    return {
        "heads": _head_table(done["heads"], phrases, kinds, named, [twin["auc"] for twin in twins]),
        "choice": as_columns(choice),
        "phrases": as_columns(phrases["rows"]),
        "regression": as_columns(steps),
        "regression_weights": as_columns(named) | regression["weights"],
        "mix": as_columns([{**place, "share": share, "gamma": mix["gamma"]}
                           for place, share in zip(named, mix["share"], strict=True)]),
        "predictors": as_columns(sorted(predictors, key=lambda row: PREDICTORS.index(row["predictor"]))),
        "whole": as_columns(whole),
    }  # fmt: skip


def _of_twins(twins: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The row of all heads of the untrained twins: of one as it is, of several the mean, which has no interval, and
    the lowest and the highest F1."""
    rows = [twin["predictor"] for twin in twins]
    if len(rows) < 2:
        return [row | {"twins": 1} for row in rows]
    means = {name: float(np.mean([row[name] for row in rows])) for name in ("f1", "precision", "recall", "auc")}
    f1, none = [row["f1"] for row in rows], dict.fromkeys(("low", "high", "auc_low", "auc_high"))
    return [{**rows[0], **none, **means, "twins": len(rows), "twins_low": min(f1), "twins_high": max(f1)}]


def _head_table(
    step: Mapping[str, Any],
    phrases: Mapping[str, Any],
    kinds: Sequence[Kind],
    named: Sequence[Mapping[str, Any]],
    twins: Sequence[Sequence[Sequence[float]]],
) -> Columns:
    """Every head by every kind; ``twins`` have the AUC of each untrained twin's heads by each kind."""
    won, rows = Kind(*phrases["kind"]), []
    for number, kind in enumerate(kinds):
        for head, place in enumerate(named):
            figures = {name: values[head] for name, values in step["kinds"][number].items()}
            rows.append(
                {
                    **place, "measure": kind.measure, "over": kind.over, **figures,
                    **_beside([auc[number][head] for auc in twins]),
                    "chosen": kind == won and head in phrases["heads"], "n": step["n"],
                }
            )  # fmt: skip
    return as_columns(rows)


def _beside(values: Sequence[float]) -> dict[str, Any]:
    """The AUC of the head of the same place in untrained twins: its mean, and of several the lowest and the
    highest."""
    ends = (min(values), max(values)) if len(values) > 1 else (None, None)
    mean = float(np.mean(values)) if values else None
    return {"twin_auc": mean, "twin_auc_low": ends[0], "twin_auc_high": ends[1], "twins": len(values) or None}


def whole_row(part: Part, stem: Stem, language: str, kind: Kind) -> dict[str, Any]:
    """What there is in a part; ``kind`` is the attention by which all heads together are read."""
    given = [given_in(document, stem) for document in part.documents]
    key = int(part.key.sum())
    return {
        "part": part.name, "documents": len(part.documents), "words": part.words, "key_words": key,
        "share": key / part.words, "given": sum(len(each.all) for each in given),
        "present": sum(len(each.present) for each in given), "windows": len(part.windows) - 1, "language": language,
        "kind": str(kind),
    }  # fmt: skip
