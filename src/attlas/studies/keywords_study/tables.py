"""The tables of the study of key words, from the steps that were done.

Layers and heads are counted from 0; ``order`` and ``rank`` from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attlas.studies.keywords_study.passes import Part
from attlas.studies.keywords_study.steps import PREDICTORS
from attlas.studies.shared.keywords.scoring import given_in
from attlas.studies.shared.keywords.weighing import Kind
from attlas.text.stems import Stem

Columns = dict[str, list[Any]]


def columns(rows: Sequence[Mapping[str, Any]], without: Iterable[str] = ()) -> Columns:
    """Rows as columns, some of them left out.

    >>> columns([{"f1": 1.0, "c": 2}, {"f1": 0.5, "c": 2}], without=["c"])
    {'f1': [1.0, 0.5]}
    """
    names = [name for name in rows[0] if name not in set(without)]
    return {name: [row[name] for row in rows] for name in names}


def named_heads(stream: str, heads: int, each: int) -> Columns:
    """The names of all heads, of which each layer has so many.

    >>> named_heads("encoder", 4, 2)["layer"]
    [0, 0, 1, 1]
    """
    return {
        "stream": [stream] * heads,
        "layer": [number // each for number in range(heads)],
        "head": [number % each for number in range(heads)],
    }


def head_table(
    step: Mapping[str, Any],
    phrases: Mapping[str, Any],
    kinds: Sequence[Kind],
    named: Mapping[str, list[Any]],
    twin: Sequence[Sequence[float]] | None,
) -> Columns:
    """Every head by every kind; ``twin`` has the AUC of the untrained twin's heads by each kind.

    >>> step = {"kinds": [{"auc": [0.5], "choosing_auc": [0.6]}], "n": 9}
    >>> phrases = {"heads": [0], "kind": ["norm", "mean"]}
    >>> table = head_table(step, phrases, [Kind("norm", "mean")], named_heads("encoder", 1, 1), None)
    >>> table["measure"], table["chosen"], table["twin_auc"]
    (['norm'], [True], [None])
    """
    every, won = len(named["head"]), Kind(*phrases["kind"])
    made: Columns = {}
    for number, kind in enumerate(kinds):
        block: Columns = {
            **named, "measure": [kind.measure] * every, "over": [kind.over] * every, **step["kinds"][number],
            "twin_auc": [None] * every if twin is None else list(twin[number]),
            "chosen": [kind == won and head in phrases["heads"] for head in range(every)], "n": [step["n"]] * every,
        }  # fmt: skip
        for name, values in block.items():
            made.setdefault(name, []).extend(values)
    return made


def choice_table(phrases: Mapping[str, Any], named: Mapping[str, list[Any]]) -> Columns:
    """The heads that were chosen, the best first.

    >>> phrases = {"heads": [1], "kind": ["norm", "mean"], "choosing_auc": [0.9]}
    >>> choice_table(phrases, named_heads("encoder", 2, 2))["head"]
    [1]
    """
    heads, (measure, over) = phrases["heads"], phrases["kind"]
    return {
        **{name: [values[head] for head in heads] for name, values in named.items()},
        "measure": [measure] * len(heads),
        "over": [over] * len(heads),
        "rank": list(range(1, len(heads) + 1)),
        "choosing_auc": list(phrases["choosing_auc"]),
    }


def predictor_table(rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Predictors, from what knows nothing to what knows most.

    >>> predictor_table([{"predictor": "all heads"}, {"predictor": "every word"}])
    {'predictor': ['every word', 'all heads']}
    """
    return columns(sorted(rows, key=lambda row: PREDICTORS.index(row["predictor"])))


def whole_row(part: Part, stem: Stem, language: str, kind: Kind) -> dict[str, Any]:
    """What there is in a part; ``kind`` is the attention by which all heads together are read.

    >>> from attlas.studies.keywords_study.planted import planted
    >>> from attlas.text.stems import stemmer
    >>> row = whole_row(planted().parts["scored on"], stemmer(), "english", Kind("weight", "mean"))
    >>> row["words"], row["key_words"], row["given"], row["present"]
    (30, 6, 6, 6)
    """
    given = [given_in(document, stem) for document in part.documents]
    key = int(part.key.sum())
    return {
        "part": part.name, "documents": len(part.documents), "words": part.words, "key_words": key,
        "share": key / part.words, "given": sum(len(one.all) for one in given),
        "present": sum(len(one.present) for one in given), "windows": len(part.windows) - 1, "language": language,
        "kind": str(kind),
    }  # fmt: skip
