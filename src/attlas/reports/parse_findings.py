"""What the parsing probes found, in sentences a person can read, each with what was published beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from attlas.ids import paper_label
from attlas.reports.findings import Finding
from attlas.reports.tables import between, percent

Row = Mapping[str, Any]
Rows = Sequence[Row]

Differences = Mapping[tuple[str, str], Row]

ORDER = (
    "right-branching",
    "untrained: attention + vectors",
    "distances + vectors",
    "attention",
    "attention + vectors",
)


def findings(tables: Mapping[str, Rows]) -> list[Finding]:
    """What was found; a finding whose numbers are not there is left out.

    >>> row = {"value": 0.6, "low": 0.59, "high": 0.61}
    >>> twin = {"probe": "untrained: attention", "value": 0.3, "low": 0.29, "high": 0.31}
    >>> findings({"parse": [row | {"probe": "attention"}, twin]})[0].text
    'Attention alone finds <b>60.0 %</b> of all governors (59.0–61.0); that of the untrained twin 30.0 %.'
    """
    scores = {row["probe"]: row for row in tables["parse"]}
    apart = {(row["probe"], row["other"]): row for row in tables.get("differences", ())}
    found = [
        _attention(scores),
        _vectors(scores, apart),
        _order(scores, apart),
        _structural(scores),
        _heads(tables.get("head_weights", ())),
        _roots(scores),
    ]
    return [finding for finding in found if finding is not None]


def _attention(scores: Mapping[str, Row]) -> Finding | None:
    one, twin = scores.get("attention"), scores.get("untrained: attention")
    if one is None:
        return None
    against = "" if twin is None else f"; that of the untrained twin {percent(twin['value'])} %"
    text = f"Attention alone finds <b>{percent(one['value'])} %</b> of all governors ({_span(one)}){against}."
    return Finding(text, "bert-base-uncased on WSJ, Clark et al. 2019: 61")


def _vectors(scores: Mapping[str, Row], differences: Differences) -> Finding | None:
    names = ("attention", "attention + vectors", "untrained: attention + vectors", "distances + vectors")
    if any(name not in scores for name in names):
        return None
    alone, both, twin, apart = (scores[name] for name in names)
    gain = 100 * (both["value"] - alone["value"])
    rival = max(twin, apart, key=lambda row: row["value"])
    more = difference(differences, both["probe"], rival["probe"])
    if more is not None and more[1] > 0:
        credit = f"{100 * more[0]:.1f} points ({between(more[1], more[2])}) are owed to what the heads have learned"
    else:
        credit = "what the heads have learned adds nothing that can be told from chance"
    text = (
        f"With word vectors it is <b>{percent(both['value'])} %</b> ({_span(both)}), {abs(gain):.1f} points "
        f"{'more' if gain >= 0 else 'less'}. The same vectors reach {percent(twin['value'])} % with the attention of "
        f"the untrained twin and {percent(apart['value'])} % with distances in its place: {credit}."
    )
    return Finding(text, "77; with random weights 30, with distances 58")


def _order(scores: Mapping[str, Row], differences: Differences) -> Finding | None:
    """Whether the rows stand in the paper's order, and which neighbours do not."""
    if any(name not in scores for name in ORDER):
        return None
    turned = [
        f"<i>{low}</i> ({percent(scores[low]['value'])}) is "
        f"{'above' if _surely(differences, low, high) else 'level with'} "
        f"<i>{high}</i> ({percent(scores[high]['value'])})"
        for low, high in pairwise(ORDER)
        if scores[low]["value"] >= scores[high]["value"]
    ]
    text = (
        f"The paper's order does not hold throughout: {'; '.join(turned)}."
        if turned
        else "The paper's order holds: right-branching is last, then untrained attention with vectors, distances "
        "with vectors, attention alone, and attention with vectors."
    )
    return Finding(text, "26, 30, 58, 61, 77")


def _structural(scores: Mapping[str, Row]) -> Finding | None:
    one, twin = scores.get("structural probe"), scores.get("untrained: structural probe")
    if one is None:
        return None
    against = "" if twin is None else f", on the untrained twin's {percent(twin['value'])} %"
    text = (
        f"The structural probe on the states of {one['chosen']} finds {percent(one['value'])} % of the edges "
        f"({_span(one)}){against}. It is another measure: edges without direction."
    )
    return Finding(text, "80")


def _heads(rows: Rows) -> Finding | None:
    trained = sorted((row for row in rows if row["model"] == "trained"), key=lambda row: -row["effect"])
    if not trained:
        return None
    named = ", ".join(
        f"<b>{paper_label(row['layer'], row['head'])}</b> ({row['direction']}, {row['effect']:.1f})"
        for row in trained[:4]
    )
    return Finding(f"The heads that speak most for a governor, with their effect: {named}.")


def _roots(scores: Mapping[str, Row]) -> Finding | None:
    told = [
        f"{percent(row['one_root'])} % of the sentences by <i>{name}</i>"
        for name in ("attention", "attention + vectors")
        if (row := scores.get(name)) is not None and row.get("one_root") is not None
    ]
    if not told:
        return None
    return Finding(f"Governors are chosen word by word; still exactly one root is found in {' and '.join(told)}.")


def difference(differences: Differences, one: str, other: str) -> tuple[float, float, float] | None:
    """What one probe has more than another, with the ends of the interval; None where it is not known.

    >>> rows = {("attention", "right-branching"): {"value": 0.3, "low": 0.2, "high": 0.4}}
    >>> difference(rows, "right-branching", "attention")
    (-0.3, -0.4, -0.2)
    """
    if (row := differences.get((one, other))) is not None and row["low"] is not None:
        return row["value"], row["low"], row["high"]
    if (row := differences.get((other, one))) is not None and row["low"] is not None:
        return -row["value"], -row["high"], -row["low"]
    return None


def _surely(differences: Differences, one: str, other: str) -> bool:
    more = difference(differences, one, other)
    return more is not None and more[1] > 0


def _span(row: Row) -> str:
    return between(row.get("low"), row.get("high"))
