"""What the study of key words found, in sentences; all numbers are of the texts that are scored, unless it says else.

A head is named as the best only after it was the best on the texts for choosing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

from attlas.ids import paper_label
from attlas.reports.findings import figure, is_number
from attlas.reports.tables import ends

LEVEL = 0.01
NEAR = 0.01  # F1 that is as good as all heads'
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Picture:
    """The tables of a study of key words as rows, and what sentences and sections ask of them.

    >>> Picture({"choice": [{"measure": "norm", "over": "mean"}]}).kind
    'norm, mean'
    """

    tables: Mapping[str, Sequence[Row]]

    def rows(self, name: str, **where: Any) -> list[Row]:
        """The rows of a table with these values; none where there is no such table.

        >>> Picture({"mix": [{"layer": 0}, {"layer": 1}]}).rows("mix", layer=1)
        [{'layer': 1}]
        """
        return [row for row in self.tables.get(name, ()) if all(row[key] == value for key, value in where.items())]

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of attention that were read, that of the chosen heads first."""
        every = list(dict.fromkeys(kind_of(row) for row in self.rows("heads")))
        return sorted(every, key=lambda kind: kind != self.kind)

    @cached_property
    def kind(self) -> str:
        """The kind of the chosen heads."""
        known = self.rows("choice") or self.rows("heads")
        return kind_of(known[0]) if known else ""

    @cached_property
    def predicted_by(self) -> str:
        """The kind that regression, mix and single predictors read."""
        return next((str(row["kind"]) for row in self.rows("whole") if row.get("kind")), "")

    def heads(self, kind: str | None = None, by: str = "choosing_auc") -> list[Row]:
        """The heads read by a kind of attention, the best first.

        >>> Picture({"heads": [{"measure": "norm", "over": "max", "choosing_auc": 0.7}]}).heads()[0]["choosing_auc"]
        0.7
        """
        wanted = self.kind if kind is None else kind
        known = [row for row in self.rows("heads") if kind_of(row) == wanted and is_number(row.get(by))]
        return sorted(known, key=lambda row: -row[by])

    @cached_property
    def size(self) -> dict[str, int]:
        """How many layers and heads there are."""
        rows = self.rows("heads")
        return {what: 1 + max((row[what[:-1]] for row in rows), default=0) for what in ("layers", "heads")}

    @cached_property
    def expected_layer(self) -> float | None:
        """The mean layer of the mix, counted from 1."""
        rows = self.rows("mix")
        return sum(row["share"] * (row["layer"] + 1) for row in rows) if rows else None

    def predictor(self, name: str) -> Row | None:
        """A predictor by its name.

        >>> Picture({"predictors": [{"predictor": "every word"}]}).predictor("every word")
        {'predictor': 'every word'}
        """
        return next(iter(self.rows("predictors", predictor=name)), None)

    def phrase_row(self, at: str = "10", gold: str = "all", **where: Any) -> Row | None:
        """One score of phrases on the texts that are scored.

        >>> Picture({}).phrase_row(chosen=True) is None
        True
        """
        return next(iter(self.rows("phrases", part="scored on", at=at, gold=gold, **where)), None)


def findings(picture: Picture) -> list[str]:
    """What the numbers say, in sentences of HTML.

    >>> findings(Picture({}))
    []
    """
    makers = (_best, _many, _kinds, _phrases, _regression, _against, _mix)
    return [text for maker in makers if (text := maker(picture))]


def kind_of(row: Row) -> str:
    """How attention was read, in words.

    >>> kind_of({"measure": "norm", "over": "mean"})
    'norm, mean'
    """
    return f"{row['measure']}, {row['over']}"


def label(row: Row) -> str:
    """A head as the papers write it.

    >>> label({"layer": 5, "head": 10})
    '6-11'
    """
    return paper_label(row["layer"], row["head"])


def with_interval(row: Row, value: str, low: str, high: str, digits: int = 2) -> str:
    """A number with its interval in brackets, where it is known.

    >>> with_interval({"f1": 0.5, "low": 0.4, "high": 0.6}, "f1", "low", "high")
    '<b>.50</b> (.40–.60)'
    """
    told = f"<b>{figure(row[value], digits)}</b>"
    if not (is_number(row.get(low)) and is_number(row.get(high))):
        return told
    return f"{told} ({ends(figure(row[low], digits), figure(row[high], digits))})"


def sure(row: Row) -> bool:
    """Whether a head's relative attention is not nothing, corrected for all heads of its kind.

    >>> sure({"p_holm": 0.001}), sure({"p_holm": None})
    (True, False)
    """
    return is_number(row.get("p_holm")) and row["p_holm"] < LEVEL


def enough_heads(rows: Sequence[Row]) -> Row | None:
    """The fewest heads with which the regression is as good as with all of them, within :data:`NEAR`.

    >>> enough_heads([{"heads": 1, "f1": 0.4}, {"heads": 8, "f1": 0.595}, {"heads": 72, "f1": 0.6}])["heads"]
    8
    """
    ordered = sorted(rows, key=lambda row: row["heads"])
    return next((row for row in ordered if row["f1"] >= ordered[-1]["f1"] - NEAR), None)


def _best(picture: Picture) -> str:
    rows = picture.heads()
    if not rows:
        return ""
    best = rows[0]
    twins = [row["twin_auc"] for row in rows if is_number(row.get("twin_auc"))]
    against = f"; the same head untrained has {figure(best['twin_auc'])}" if is_number(best.get("twin_auc")) else ""
    most = f", and the best of all untrained heads {figure(max(twins))}" if twins else ""
    ratio = f"{best['key'] / best['other']:.1f} times what others do" if best["other"] else "all there is"
    return (
        f"Head <b>{label(best)}</b> tells key words from others best ({escape(picture.kind)}): its AUC within texts "
        f"is {with_interval(best, 'auc', 'auc_low', 'auc_high')}{against}{most}. Key words receive {ratio}, and it "
        f"saves {with_interval(best, 'saved', 'saved_low', 'saved_high')} nats of the "
        f"{figure(best['cross_entropy'] + best['saved'])} that even attention has."
    )


def _many(picture: Picture) -> str:
    rows = picture.heads()
    if not rows:
        return ""
    more = sum(sure(row) and row["relative"] > 0 for row in rows)
    less = sum(sure(row) and row["relative"] < 0 for row in rows)
    return (
        f"<b>{more} of {len(rows)}</b> heads give more to key words than to others (p &lt; .01 after Holm's "
        f"correction; {escape(picture.kind)}), {less} give less. Being a rarer, longer word is part of it: look at "
        "what needs no model, below."
    )


def _kinds(picture: Picture) -> str:
    best = {kind: picture.heads(kind)[0] for kind in picture.kinds if picture.heads(kind)}
    if len(best) < 2:
        return ""
    ranked = sorted(best.items(), key=lambda item: -item[1]["auc"])
    named = "; ".join(f"{escape(kind)}: <b>{figure(row['auc'], 3)}</b> ({label(row)})" for kind, row in ranked)
    return f"The best head by each way of reading attention, by AUC: {named}."


def _phrases(picture: Picture) -> str:
    chosen = picture.phrase_row(chosen=True)
    if chosen is None:
        return ""
    others = [
        row
        for row in picture.rows("phrases", part="scored on", at="10", gold="all", chosen=False)
        if row["selection"] != chosen["selection"]
    ]
    said = "; ".join(f"{escape(row['selection'])} {with_interval(row, 'f1', 'low', 'high', 3)}" for row in others)
    return (
        f"As phrases, the chosen heads ({escape(chosen['selection'])}, {escape(kind_of(chosen))}) reach F1@10 "
        f"{with_interval(chosen, 'f1', 'low', 'high', 3)}" + (f"; {said}." if said else ".")
    )


def _regression(picture: Picture) -> str:
    rows = picture.rows("regression", part="scored on") or picture.rows("regression", part="cross-validated")
    if not rows:
        return ""
    whole = max(rows, key=lambda row: row["heads"])
    few = enough_heads(rows)
    read = escape(picture.predicted_by)
    text = f"A regression on all {whole['heads']} heads ({read}) finds key words with F1 {_f1(whole)}"
    folds = picture.rows("regression", part="cross-validated", heads=whole["heads"])
    if folds and whole["part"] != "cross-validated":
        text += f" (cross-validated where it was trained: {figure(folds[0]['f1'], 3)})"
    if few is not None and few["heads"] < whole["heads"]:
        text += f"; <b>{few['heads']}</b> of them are enough to come within .01 of it"
    return text + "."


def _against(picture: Picture) -> str:
    beside = {
        "length, place and frequency": "a regression on a word's length, its place and how often it occurs, without "
        "any model, reaches",
        "all heads, with length, place and frequency": "both together",
        "all heads of the untrained twin": "all heads of the untrained twin",
        "best head": "the best single head",
        "every word": "calling every word a key word",
    }
    parts = [f"{said} {_f1(row)}" for name, said in beside.items() if (row := picture.predictor(name)) is not None]
    return f"Beside it, {'; '.join(parts)}." if parts else ""


def _mix(picture: Picture) -> str:
    rows, layer = sorted(picture.rows("mix"), key=lambda row: -row["share"]), picture.expected_layer
    if not rows or layer is None:
        return ""
    named = ", ".join(f"<b>{label(row)}</b> ({figure(row['share'])})" for row in rows[:3])
    middle = (1 + picture.size["layers"]) / 2
    return (
        f"The mix of heads lies at layer <b>{figure(layer, 1)}</b> on average (an even mix at {figure(middle, 1)}); "
        f"it gives most to {named}."
    )


def _f1(row: Row) -> str:
    return with_interval(row, "f1", "low", "high", 3)
