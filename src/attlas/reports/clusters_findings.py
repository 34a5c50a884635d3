"""What a study of clusters found, in sentences, from the tables and nothing else."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from attlas.ids import paper_label
from attlas.reports.findings import CLARK, Finding, figure, is_number

Row = dict[str, Any]


def cluster_findings(together: Sequence[Row], heads: Sequence[Row], pairs: Sequence[Row]) -> list[Finding]:
    """Findings on one stream, from its rows of the tables togetherness, clusters and pairs.

    >>> row = {"of": "model", "within": 0.2, "between": 0.4, "ratio": 0.5, "p": 0.0001, "shuffles": 9999}
    >>> cluster_findings([row | {"stress": 0.2, "halves": None}], [], [])[0].text[:45]
    '<b>Heads of one layer lie together.</b> They '
    """
    found = [_layers(together), _behaviours(heads), _nearest(pairs), _farthest(heads), _trust(together)]
    return [finding for finding in found if finding is not None]


def p_in_words(p: float | None) -> str:
    """A p value as people write it.

    >>> p_in_words(0.0001), p_in_words(0.034), p_in_words(None)
    ('p = .0001', 'p = .03', 'no p')
    """
    if p is None:
        return "no p"
    digits = 4 if p < 0.001 else 3 if p < 0.01 else 2
    return f"p = {figure(p, digits)}"


def nats(value: float, more: int = 0) -> str:
    """A distance with as many digits as it needs to be seen, and so many more.

    >>> nats(0.2913), nats(0.00483), nats(0.2913, 1)
    ('.29', '.0048', '.291')
    """
    return figure(value, more + (2 if value >= 0.095 else 3 if value >= 0.0095 else 4))


def tightest(pairs: Sequence[Row], most: int) -> list[Row]:
    """The nearest pairs: chosen on one half of the passages, their number (``scored``) from the other.

    Without halves, both come from all passages.

    >>> rows = [{"value": 0.2, "first_half": 0.1, "second_half": 0.3}, {"value": 0.15, "first_half": 0.2,
    ...         "second_half": 0.1}]
    >>> tightest(rows, 1)[0]["scored"]
    0.3
    """
    halved = all(is_number(row["first_half"]) and is_number(row["second_half"]) for row in pairs)
    chosen, scored = ("first_half", "second_half") if halved else ("value", "value")
    return [{**row, "scored": row[scored]} for row in sorted(pairs, key=lambda row: row[chosen])[:most]]


def _layers(together: Sequence[Row]) -> Finding | None:
    rows = {row["of"]: row for row in together}
    model = rows.get("model")
    if model is None or not is_number(model["ratio"]):
        return None
    near = model["ratio"] < 1 and model["p"] < 0.01
    verdict = "Heads of one layer lie together." if near else "Heads of one layer do not surely lie together."
    text = (
        f"<b>{verdict}</b> They are {nats(model['within'])} nats apart on average, heads of different layers "
        f"{nats(model['between'])}: <b>{figure(model['ratio'])}</b> of it. "
    )
    text += (
        f"Of {model['shuffles']:,} random deals of the heads to layers none came so near ({p_in_words(model['p'])})."
        if model["p"] <= 1.5 / (1 + model["shuffles"])
        else f"Heads dealt out to the layers at random come so near with {p_in_words(model['p'])}."
    )
    twin = rows.get("twin")
    if twin is not None and is_number(twin["ratio"]):
        text += (
            f" In the untrained twin all heads are much the same, {nats(twin['within'])} within and "
            if twin["between"] < model["between"] / 10
            else f" In the untrained twin it is {nats(twin['within'])} within and "
        )
        text += (
            f"{nats(twin['between'])} between layers, a ratio of {figure(twin['ratio'])} ({p_in_words(twin['p'])})."
        )
    return Finding(text, f"{CLARK}: heads within the same layer are often fairly close to each other")


def _behaviours(heads: Sequence[Row]) -> Finding | None:
    if not heads:
        return None
    counts = Counter(row["behaviour"] for row in heads)
    other = counts.pop("other", 0)
    listed = ", ".join(f"{name} ({number})" for name, number in counts.most_common())
    text = f"What the {len(heads)} heads mostly do: {listed or 'nothing that the bars used here would name'}"
    text += f"; {other} do none of this." if listed and other else "."
    twins = Counter(row["twin_behaviour"] for row in heads if row["twin_behaviour"])
    if twins:
        text += (
            " Of the untrained twin's: "
            + ", ".join(f"{name} ({number})" for name, number in twins.most_common(3))
            + "."
        )
    return Finding(text)


def _nearest(pairs: Sequence[Row]) -> Finding | None:
    if not pairs:
        return None
    best = tightest(pairs, 1)[0]
    labels = [paper_label(best["layer"], best["head"]), paper_label(best["layer_b"], best["head_b"])]
    mean = sum(row["value"] for row in pairs) / len(pairs)
    return Finding(
        f"The two heads most alike are <b>{labels[0]}</b> and <b>{labels[1]}</b>, {nats(best['scored'])} nats apart, "
        f"where two heads are {nats(mean)} apart on average and {figure(math.log(2))} (ln 2) is the most possible."
    )


def _farthest(heads: Sequence[Row]) -> Finding | None:
    if len(heads) < 3:
        return None
    lone = max(heads, key=lambda row: row["mean"])
    does = lone["relations"] if lone["behaviour"] == "relation" else lone["behaviour"]
    return Finding(
        f"The head farthest from all others is <b>{paper_label(lone['layer'], lone['head'])}</b> ({does}): "
        f"{nats(lone['mean'])} nats from the others on average, and {nats(lone['nearest'])} from its nearest, "
        f"{paper_label(lone['nearest_layer'], lone['nearest_head'])}."
    )


def _trust(together: Sequence[Row]) -> Finding | None:
    model = next((row for row in together if row["of"] == "model"), None)
    if model is None:
        return None
    text = (
        f"The map keeps distances only roughly (stress {figure(model['stress'])}: 0 would be a true map of them, and "
        "a plane has no room for one); what is far apart on it is far apart, what touches may not. "
    )
    if is_number(model["halves"]):
        text += (
            f"The distances themselves are steady: on the two halves of the passages they have a rank correlation "
            f"of {figure(model['halves'], 3)}."
        )
    return Finding(text)
