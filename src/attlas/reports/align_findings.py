"""What an alignment study found, in sentences: norms against weights, the choice of a layer, heads, and aligners.

Scores stand in the tables as shares and in the sentences as points out of a hundred, as the field writes error rates.
Numbers in the sentences are computed from the tables and nothing else; what was published for another model and
another pair of languages stands beside them, marked as such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

from attlas.ids import paper_label
from attlas.measures.names import MEASURES
from attlas.reports.findings import Finding, is_number

Row = Mapping[str, Any]

PUBLISHED = "a German-English model of 6 layers and 4 heads, Kobayashi et al. 2020"
BY_NORM, BY_HEADS = "largest mean norm", "largest mean norm, heads summed"
ORACLE, HALVES = "oracle: lowest AER", "chosen on one half, scored on the other"
SETTINGS = {
    "output": "with output",
    "input": "with input",
    "to source": "from target words to source words",
    "to target": "from source words to target words",
    "": "in both blocks",
}
DIRECTIONS = ("forward", "backward", "intersection", "grow-diag-final-and")
_BEST = {"output": (47.7, 41.4), "input": (29.8, 25.0)}  # weight, norm: the best layer of the published model


@dataclass(frozen=True)
class Scores:
    """The tables of a study, found by what was asked.

    >>> row = {"aligner": "attention", "direction": "forward", "measure": "norm", "setting": "input"}
    >>> scores = Scores([{**row, "layer": 1, "head": None, "score": "AER", "value": 0.25}])
    >>> scores.views, scores.layers("input", "forward", "norm")[1]["value"]
    ([('input', 'forward')], 0.25)
    """

    rows: Sequence[Row]
    choices: Sequence[Row] = ()
    gains: Sequence[Row] = ()

    @cached_property
    def views(self) -> list[tuple[str, str]]:
        """The pairs of setting and direction that attention was read in, forward first."""
        found = dict.fromkeys(
            (row["setting"], row["direction"]) for row in self.rows if row["aligner"] == "attention"
        )
        return sorted(found, key=lambda view: (DIRECTIONS.index(view[1]), list(SETTINGS).index(view[0])))

    @cached_property
    def single(self) -> list[tuple[str, str]]:
        """The views of one model in one direction."""
        return [view for view in self.views if view[1] in ("forward", "backward")]

    @cached_property
    def scored(self) -> bool:
        """Whether there was gold."""
        return any(row["score"] == "AER" for row in self.rows)

    def layers(self, setting: str, direction: str, measure: str, score: str = "AER") -> dict[int, Row]:
        """The rows of whole layers, by layer; those without a number are left out."""
        return {
            row["layer"]: row
            for row in self.rows
            if (row["aligner"], row["setting"], row["direction"]) == ("attention", setting, direction)
            and (row["measure"], row["score"], row["head"]) == (measure, score, None)
            and row["layer"] is not None
            and is_number(row["value"])
        }

    def choice(self, setting: str, direction: str, measure: str, how: str, unit: str = "layer") -> Row | None:
        """What was chosen in one way, where it has an error rate."""
        wanted = (setting, direction, measure, how, unit)
        names = ("setting", "direction", "measure", "how", "unit")
        found = (row for row in self.choices if tuple(row[name] for name in names) == wanted)
        return next((row for row in found if is_number(row["value"])), None)

    def aligners(self, direction: str, score: str = "AER") -> list[Row]:
        """The rows of aligners that know no network, best first."""
        kept = [
            row
            for row in self.rows
            if row["aligner"] != "attention" and row["direction"] == direction and row["score"] == score
        ]
        return sorted((row for row in kept if is_number(row["value"])), key=lambda row: float(row["value"]))


def view_name(setting: str, direction: str) -> str:
    """A setting and a direction in words.

    >>> view_name("input", "forward"), view_name("input", "backward"), view_name("to target", "backward")
    ('with input', 'with input, backward', 'from source words to target words')
    """
    own = direction == ("backward" if setting == "to target" else "forward")
    return SETTINGS.get(setting, setting) + ("" if own else f", {direction}")


def aligner_name(row: Row) -> str:
    """An aligner with what it was trained on.

    >>> aligner_name({"aligner": "eflomal", "trained_on": "these pairs"})
    'eflomal (these pairs)'
    """
    trained = str(row["trained_on"] or "")
    return f"{row['aligner']} ({trained})" if trained else str(row["aligner"])


def points(value: float) -> str:
    """A share as points out of a hundred.

    >>> points(0.2504)
    '25.0'
    """
    return f"{100 * value:.1f}".replace("-", "−")


def interval(row: Row) -> str:
    """The two ends of a row's interval in points; nothing where it has none.

    >>> interval({"low": 0.2, "high": 0.3}), interval({"low": None, "high": None})
    ('20.0 to 30.0', '')
    """
    if not is_number(row["low"]) or not is_number(row["high"]):
        return ""
    return f"{points(row['low'])} to {points(row['high'])}"


def findings(scores: Scores) -> list[Finding]:
    """All findings, the main one first.

    >>> findings(Scores([]))
    []
    """
    if not scores.scored:
        return [finding for finding in (_linked(scores), _largest(scores)) if finding is not None]
    found = [_norms(scores, *view) for view in scores.single if view[1] == "forward" or view[0] == "to target"]
    found += [_choice(scores), _head(scores), _aligners(scores), _together(scores), _twin(scores)]
    return [finding for finding in found if finding is not None]


def best_view(scores: Scores) -> tuple[str, str] | None:
    """The view of one direction in which norms of some layer have the lowest error rate.

    >>> best_view(Scores([])) is None
    True
    """
    lows = {view: _lowest(scores.layers(*view, "norm")) for view in scores.single}
    known = {view: row["value"] for view, row in lows.items() if row is not None}
    return min(known, key=lambda view: float(known[view])) if known else None


def _lowest(rows: Mapping[int, Row]) -> Row | None:
    return min(rows.values(), key=lambda row: float(row["value"]), default=None)


def _norms(scores: Scores, setting: str, direction: str) -> Finding | None:
    weight, norm = (scores.layers(setting, direction, measure) for measure in MEASURES)
    best = [_lowest(rows) for rows in (weight, norm)]
    if best[0] is None or best[1] is None:
        return None
    gains = [row for row in scores.gains if (row["setting"], row["direction"]) == (setting, direction)]
    text = (
        f"Read {view_name(setting, direction)}, the best layer has an AER of <b>{points(best[1]['value'])}</b> by "
        f"norm ({interval(best[1])}; layer {best[1]['layer'] + 1}) and <b>{points(best[0]['value'])}</b> by weight "
        f"({interval(best[0])}; layer {best[0]['layer'] + 1}); the mean over layers is "
        f"{points(fmean(row['value'] for row in norm.values()))} against "
        f"{points(fmean(row['value'] for row in weight.values()))}."
    )
    if gains:
        better = sum(row["high"] < 0 for row in gains if is_number(row["high"]))
        worse = sum(row["low"] > 0 for row in gains if is_number(row["low"]))
        largest = min(gains, key=lambda row: float(row["change"]))
        text += f" Beyond the interval, norms are better in {better} of {len(gains)} layers"
        text += f" and worse in {worse or 'none'}"
        if largest["change"] < 0:
            text += (
                f"; they gain most in layer {largest['layer'] + 1}: {points(-largest['change'])} points "
                f"({points(-largest['high'])} to {points(-largest['low'])})"
            )
        text += "."
    published = _BEST.get(setting) if direction == "forward" else None
    said = f"{PUBLISHED}, best layer: {published[0]} by weight, {published[1]} by norm" if published else ""
    return Finding(text, said)


def _choice(scores: Scores) -> Finding | None:
    view = best_view(scores)
    blind = scores.choice(*view, "norm", BY_NORM) if view else None
    oracle = scores.choice(*view, "norm", ORACLE) if view else None
    if view is None or blind is None or oracle is None:
        return None
    text = (
        f"Without looking at gold, the layer of the largest mean norm {view_name(*view)} is layer "
        f"<b>{blind['layer'] + 1}</b>, with an AER of <b>{points(blind['value'])}</b> by norm. "
    )
    if blind["layer"] == oracle["layer"]:
        text += "It is the layer that the gold would choose."
    else:
        text += (
            f"The gold would choose layer {oracle['layer'] + 1}, at {points(oracle['value'])}: not to know it costs "
            f"{points(blind['value'] - oracle['value'])} points."
        )
    other = scores.choice(*view, "norm", BY_HEADS)
    if other is not None and other["layer"] != blind["layer"]:
        text += (
            f" By the sum of its heads' mean norms one would take layer {other['layer'] + 1}, at "
            f"{points(other['value'])}."
        )
    honest = scores.choice(*view, "norm", HALVES)
    if honest is not None:
        text += (
            f" Chosen on one half of the pairs and scored on the other, the best layer has {points(honest['value'])}."
        )
    return Finding(text)


def _head(scores: Scores) -> Finding | None:
    view = best_view(scores)
    if view is None:
        return None
    found = {measure: scores.choice(*view, measure, HALVES, "head") for measure in MEASURES}
    known = {measure: row for measure, row in found.items() if row is not None}
    layer = scores.choice(*view, "norm", HALVES)
    if not known or layer is None:
        return None
    best = min(known, key=lambda measure: float(known[measure]["value"]))
    row, oracle = known[best], scores.choice(*view, best, ORACLE, "head")
    named = "" if oracle is None else f" (on all pairs: {paper_label(oracle['layer'], oracle['head'])})"
    gap = layer["value"] - row["value"]
    verdict = "more than" if gap > 0.005 else "less than" if gap < -0.005 else "as much as"
    return Finding(
        f"A single head{named} knows {verdict} a layer: chosen on one half and scored on the other, the best head "
        f"has an AER of <b>{points(row['value'])}</b> by {best}, the best layer {points(layer['value'])} by norm."
    )


def _aligners(scores: Scores) -> Finding | None:
    view = best_view(scores)
    own = scores.choice(*view, "norm", BY_NORM) if view else None
    if view is None or own is None:
        return None
    rows = scores.aligners(view[1])
    if not rows:
        return None
    told = ", ".join(f"{aligner_name(row)} <b>{points(row['value'])}</b>" for row in rows)
    below = [row for row in rows if row["value"] < own["value"]]
    verdict = (
        "All of them are better" if len(below) == len(rows)
        else "None of them is better" if not below
        else f"Better than attention: {', '.join(aligner_name(row) for row in below)}"
    )  # fmt: skip
    return Finding(
        f"In the same direction, aligners that know no network have {told}, against {points(own['value'])} by norm "
        f"in the layer chosen without gold. {verdict}.",
        "fast_align 28.4, GIZA++ 21.0 (German-English, trained on far more text)",
    )


def _together(scores: Scores) -> Finding | None:
    kept = [
        row
        for row in scores.choices
        if row["direction"] in DIRECTIONS[2:] and row["how"] == BY_NORM and is_number(row["value"])
    ]
    if not kept:
        return None
    best = min(kept, key=lambda row: float(row["value"]))
    single = [scores.choice(*view, best["measure"], BY_NORM) for view in scores.single]
    alone = ", ".join(
        f"{points(row['value'])} {view_name(row['setting'], row['direction'])}"
        for row in single
        if row is not None and best["setting"] in ("", row["setting"])
    )
    return Finding(
        f"Both directions put together ({best['direction']}) have <b>{points(best['value'])}</b> by "
        f"{best['measure']}{_read(best['setting'])}, in layers chosen without gold; one direction alone has {alone}."
    )


def _read(setting: str) -> str:
    return f" {SETTINGS[setting]}" if setting else ""


def _twin(scores: Scores) -> Finding | None:
    view = best_view(scores)
    if view is None:
        return None
    rows = [row for measure in MEASURES for row in scores.layers(*view, measure).values()]
    best = min(float(row["value"]) for row in rows)
    twins = [float(row["twin"]) for row in rows if is_number(row.get("twin"))]
    if not twins:
        return None
    diagonal = next((float(row["value"]) for row in scores.aligners(view[1]) if row["aligner"] == "diagonal"), 1.0)
    beside = f", and the diagonal, which knows the two lengths alone, has {points(diagonal)}" if diagonal < 1 else ""
    verdict = (
        "What attention knows beyond that was learnt" if best < min(*twins, diagonal)
        else "So attention does not even know the order of words" if best > diagonal
        else "So training has taught attention nothing here"
    )  # fmt: skip
    return Finding(
        f"The untrained twin does no better than <b>{points(min(twins))}</b> in any layer {view_name(*view)}, by "
        f"weight or norm{beside}. {verdict}."
    )


def _largest(scores: Scores) -> Finding | None:
    rows = [row for row in scores.choices if row["how"] == BY_NORM and row["unit"] == "layer" and row["head"] is None]
    named = dict.fromkeys(
        f"<b>{row['layer'] + 1}</b> {view_name(row['setting'], row['direction'])}"
        for row in rows
        if row["measure"] == "norm" and row["direction"] in DIRECTIONS[:2]
    )
    if not named:
        return None
    return Finding(f"The layer of the largest mean norm is layer {', layer '.join(named)}: the one to take, blindly.")


def _linked(scores: Scores) -> Finding | None:
    layers = [row for row in scores.rows if row["layer"] is not None and row["head"] is None]
    rows = [row for row in layers if row["score"] == "linked" and is_number(row["value"])]
    if not rows:
        return None
    low, high = (pick(rows, key=lambda row: float(row["value"])) for pick in (min, max))
    return Finding(
        f"There is no gold here, so nothing is scored. From <b>{points(low['value'])} %</b> "
        f"({low['measure']}, {view_name(low['setting'], low['direction'])}, layer {low['layer'] + 1}) to "
        f"<b>{points(high['value'])} %</b> ({high['measure']}, {view_name(high['setting'], high['direction'])}, "
        f"layer {high['layer'] + 1}) of words have a link; the rest pick the end of the sentence or another piece "
        "outside words."
    )
