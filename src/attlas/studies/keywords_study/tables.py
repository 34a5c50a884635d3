"""The tables of the study of key words, from the steps that were done.

Layers and heads are counted from 0; ``order`` and ``rank`` from 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
    phrases, regression, mix, twin = done["phrases"], done["regression"], done["mix"], done.get("twin")
    chosen = dict(zip(("measure", "over"), phrases["kind"], strict=True))
    choice = [
        {**named[head], **chosen, "rank": rank, "choosing_auc": auc, "longest": phrases["longest"]}
        for rank, (head, auc) in enumerate(zip(phrases["heads"], phrases["choosing_auc"], strict=True), start=1)
    ]
    predictors = [*done["predictors"]["rows"], *(step["predictor"] for step in (mix, regression, twin) if step)]
    steps = [{name: row[name] for name in row if name not in ("auc_low", "auc_high")} for row in regression["rows"]]
    return {
        "heads": _head_table(done["heads"], phrases, kinds, named, twin and twin["auc"]),
        "choice": as_columns(choice),
        "phrases": as_columns(phrases["rows"]),
        "regression": as_columns(steps),
        "regression_weights": as_columns(named) | regression["weights"],
        "mix": as_columns([{**place, "share": share, "gamma": mix["gamma"]}
                           for place, share in zip(named, mix["share"], strict=True)]),
        "predictors": as_columns(sorted(predictors, key=lambda row: PREDICTORS.index(row["predictor"]))),
        "whole": as_columns(whole),
    }  # fmt: skip


def _head_table(
    step: Mapping[str, Any],
    phrases: Mapping[str, Any],
    kinds: Sequence[Kind],
    named: Sequence[Mapping[str, Any]],
    twin: Sequence[Sequence[float]] | None,
) -> Columns:
    """Every head by every kind; ``twin`` has the AUC of the untrained twin's heads by each kind."""
    won, rows = Kind(*phrases["kind"]), []
    for number, kind in enumerate(kinds):
        for head, place in enumerate(named):
            figures = {name: values[head] for name, values in step["kinds"][number].items()}
            rows.append(
                {
                    **place, "measure": kind.measure, "over": kind.over, **figures,
                    "twin_auc": None if twin is None else twin[number][head],
                    "chosen": kind == won and head in phrases["heads"], "n": step["n"],
                }
            )  # fmt: skip
    return as_columns(rows)


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
