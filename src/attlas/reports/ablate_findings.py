"""What the report of an ablation says in sentences, computed from its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attlas.ids import paper_label
from attlas.reports.findings import Finding, number
from attlas.reports.tables import share

LEVEL = 0.01
PUBLISHED = {
    "heads": """8 of 96 heads of the encoder matter (p < .01), four of them for the better when cut, in a translation
    model of BLEU 36.05 (Michel et al. 2019)""",
    "survivors": """most layers of a translation model do with one head; the last encoder-decoder layer loses 13.56
    BLEU (Michel et al. 2019)""",
    "other": "correlation .56 for translation, .68 for BERT on MNLI, between two test sets (Michel et al. 2019)",
}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Findings:
    """The tables of one ablation, and what can be said of them.

    >>> Findings({"better": "higher", "metric": "accuracy"}, [], [], []).worse
    -1
    """

    whole: Row
    rows: Sequence[Row]
    survivors: Sequence[Row]
    correlation: Sequence[Row]

    @property
    def worse(self) -> int:
        """The sign of a change of score that is for the worse.

        >>> Findings({"better": "lower"}, [], [], []).worse
        1
        """
        return -1 if self.whole.get("better") == "higher" else 1

    @property
    def metric(self) -> str:
        """The name of the score.

        >>> Findings({}, [], [], []).metric
        'score'
        """
        return str(self.whole.get("metric", "score"))

    @property
    def first(self) -> str:
        """What charts show at first: the score, unless only the loss has anything to show.

        >>> Findings({}, [], [], []).first
        'score'
        """
        return "loss" if self.sure(self.rows, "loss_") and not self.sure(self.rows) else "score"

    def all(self) -> list[Finding]:
        """Everything there is to say.

        >>> Findings({}, [], [], []).all()
        []
        """
        found = [self._heads(), *self._extremes(), self._survivors(), *self._agreement()]
        return [one for one in found if one is not None]

    def sure(self, rows: Sequence[Row], prefix: str = "") -> list[Row]:
        """The rows with a change that is significant after correction.

        >>> Findings({}, [], [], []).sure([{"corrected": 0.001}, {"corrected": None}])
        [{'corrected': 0.001}]
        """
        column = f"{prefix}corrected"
        return [row for row in rows if row[column] is not None and row[column] < LEVEL]

    def _heads(self) -> Finding | None:
        if not self.rows:
            return None
        parts = []
        for prefix, what, sign in (("", self.metric, self.worse), ("loss_", "loss", 1)):
            if what == "loss" and not prefix:
                continue
            sure = self.sure(self.rows, prefix)
            bad = sum(sign * row[f"{prefix}change"] > 0 for row in sure)
            better = len(sure) - bad
            parts.append(
                f"<b>{len(sure)}</b> of {len(self.rows)} heads matter to the {what}"
                + (f": cutting {bad} makes it worse, cutting {better} makes it better" if sure else "")
            )
        finer = len(parts) > 1 and len(self.sure(self.rows, "loss_")) > len(self.sure(self.rows))
        note = " A loss is finer than a score, so more heads show in it." if finer else ""
        text = "; ".join(parts) + " (p &lt; .01, paired permutation over texts, Holm's correction)."
        return Finding(f"Alone, {text}{note}", " ".join(PUBLISHED["heads"].split()))

    def _extremes(self) -> list[Finding]:
        if not self.rows:
            return []
        worst, best = (choose(self.rows, key=self._harm) for choose in (max, min))
        luck = "" if worst in self.sure(self.rows) else ", which may be luck"
        said = f"The cut that costs most is <b>{label(worst)}</b>: {self._suffered(worst)}{luck}."
        if self.worse * (best["change"] or 0.0) < 0:
            sure = "" if best in self.sure(self.rows) else ", which may be luck"
            said += f" The one that gains most is {label(best)}: {self._from_to(best)}{sure}."
        return [Finding(said)]

    def _survivors(self) -> Finding | None:
        if not self.survivors:
            return None
        worst = max(self.survivors, key=self._harm)
        sure = [row for row in self.sure(self.survivors) if self.worse * row["change"] > 0]
        rest = len(self.survivors) - len(sure)
        in_loss = [row for row in self.sure(self.survivors, "loss_") if row["loss_change"] > 0]
        said = (
            f"Left with one head, <b>{rest}</b> of {len(self.survivors)} layers lose no {self.metric} that could be "
            f"told from luck, and {len(self.survivors) - len(in_loss)} nothing in the loss. Most of all suffers "
            f"<b>layer {worst['layer'] + 1} of the {worst['stream']}</b>: with {label(worst, stream=False)} alone, "
            f"{self._suffered(worst)}."
        )
        return Finding(said, " ".join(PUBLISHED["survivors"].split()))

    def _harm(self, row: Row) -> tuple[float, float]:
        """How bad a cut is: by the score, and where that is the same by the loss."""
        return self.worse * (row["change"] or 0.0), row["loss_change"] or 0.0

    def _suffered(self, row: Row) -> str:
        """What a cut did, to the score and to the loss."""
        loss = f"the loss changes by {signed(row['loss_change'])}"
        if not row["change"]:
            return f"{self.metric} stays as it is, {loss}"
        between = f"({signed(row['low'])} to {signed(row['high'])})"
        return f"{self.metric} {self._from_to(row)} {between}" + ("" if self.metric == "loss" else f", {loss}")

    def _agreement(self) -> list[Finding]:
        found = []
        kinds = {(row["with"], row["quantity"]): row for row in self.correlation if row["spearman"] is not None}
        loss, score = kinds.get(("importance", "loss")), kinds.get(("importance", "score"))
        if loss is not None:
            beside = "" if score is None else f"; with that of {self.metric} {share(score['spearman'])}"
            said = (
                "puts heads in much the same order as cutting them"
                if loss["spearman"] >= 0.6
                else "says something of what cutting does, but not all"
                if loss["spearman"] >= 0.3
                else "says little of what cutting does"
            )
            found.append(
                Finding(
                    f"Importance by gradients {said} (rank correlation with the size of the change of loss "
                    f"<b>{share(loss['spearman'])}</b>, {_interval(loss, 'spearman')}{beside})."
                )
            )
        other = kinds.get(("other corpus", "score"))
        if other is not None:
            other_loss = kinds["other corpus", "loss"]
            found.append(
                Finding(
                    f"On the second corpus the same heads' changes correlate with <b>{share(other['pearson'])}</b> "
                    f"({_interval(other, 'pearson')}) for {self.metric}, and {share(other_loss['pearson'])} "
                    f"({_interval(other_loss, 'pearson')}) for the loss.",
                    PUBLISHED["other"],
                )
            )
        return found

    def _from_to(self, row: Row) -> str:
        return f"goes from {number(self.whole['score'])} to <b>{number(row['score'])}</b>"


def label(row: Row, *, stream: bool = True) -> str:
    """A head in the papers' form, with its stream where that is not plain.

    >>> label({"stream": "cross", "layer": 5, "head": 2}), label({"stream": "encoder", "layer": 0, "head": 0})
    ('cross 6-3', '1-1')
    """
    name = paper_label(row["layer"], row["head"])
    return f"{row['stream']} {name}" if stream and row["stream"] == "cross" else name


def signed(value: float | None) -> str:
    """A change.

    >>> signed(0.0123), signed(-1.5), signed(0.0), signed(None)
    ('+.012', '−1.50', '0', '')
    """
    if value is None:
        return ""
    if value == 0:
        return "0"
    size = abs(value)
    text = f"{size:.1e}" if size < 0.001 else number(size)
    return ("−" if value < 0 else "+") + text


def _interval(row: Row, name: str) -> str:
    return f"{share(row[f'{name}_low'])} to {share(row[f'{name}_high'])}"
