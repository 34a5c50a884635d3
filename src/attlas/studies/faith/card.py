"""The faithfulness card: what of all this holds for a model and a task, in six figures and one paragraph.

Each figure is a test that attention passes, fails, or leaves open: it *holds* if the whole interval is on the right
side of its bar, *does not hold* if the whole interval is on the wrong side, and otherwise one *cannot tell*. The bars
are stated here, with the reason for each; they are conventions, and the figures stand beside them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attlas.store.columns import as_columns
from attlas.studies.faith.agreement import Middle, over_texts

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]

# Kendall's tau: attention should agree with another explanation as well as gradients and leave-one-out agree with
# each other. Where these hardly agree it should still put two words in the same order in three cases of five (that is
# tau .2); more than three cases of four (tau .5) is asked of nobody.
LEAST_TAU, MOST_TAU = 0.2, 0.5
# Shuffled attention should move a tenth of the probability in half of the instances: ten times the bound within which
# an adversary's prediction passes for the same.
MOVED = 0.1
# An adversary should get no further than if half of the attention on one word had gone elsewhere: that is a
# Jensen-Shannon divergence of .311 times ln 2.
FAR = 0.311
# Without attention a tenth should be lost of what the score is above always giving the most frequent label.
NEEDED = 0.1
# The most attended words should matter half as much, over random words, as those that gradients name.
HALF = 0.5
HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot tell"
AGREEMENT = {"gradient": "agreement with gradients (τ)", "leave-one-out": "agreement with leave-one-out (τ)"}
NEEDS = {  # whether the task needs attention (True), or else the model that was trained with it
    True: {HOLDS: "the task needs attention", FAILS: "the task does not need attention",
           OPEN: "whether the task needs attention remains open"},
    False: {HOLDS: "the model needs its attention there", FAILS: "the model does as well without it",
            OPEN: "whether the model needs it there remains open"},
}  # fmt: skip
LAYERS = {"all": "all layers", "last": "the last layer"}


def card_rows(tables: Tables, *, seed: int = 0) -> dict[str, list[Any]]:
    """The table of the card, from the tables of the study: what was not measured is left out.

    >>> weight = {"explanation": "weight", "layers": "last", "heads": "mean"}
    >>> row = {**weight, "against": "gradient", "tau": 0.1, "low": 0.05, "high": 0.15}
    >>> made = card_rows({"whole": [{"layers": "last", "heads": "mean"}], "agreement": [row]})
    >>> made["figure"], made["verdict"]
    (['tau_gradient', 'paragraph'], ['does not hold', ''])
    """
    whole = tables["whole"][0]
    measured = (
        _tau(tables, whole, "gradient"), _tau(tables, whole, "leave-one-out"), _permuted(tables, seed),
        _adversary(tables, seed), _uniform(tables, whole), _comprehensive(tables, whole),
    )  # fmt: skip
    figures = [figure for figure in measured if figure is not None]
    says = _paragraph({figure["figure"]: figure for figure in figures}, whole, _evened(tables))
    return as_columns([*figures, _figure("paragraph", "", Middle(math.nan, math.nan, math.nan), "", says)])


def _figure(figure: str, name: str, middle: Middle, verdict: str, says: str) -> Row:
    return {"figure": figure, "name": name, **middle._asdict(), "verdict": verdict, "says": says}


def _judged(middle: Middle, bar: float, *, above: bool = True) -> str:
    """The verdict on a figure that should be above its bar, or below it.

    >>> [_judged(Middle(0.3, 0.2, 0.4), bar) for bar in (0.1, 0.5, 0.3)]
    ['holds', 'does not hold', 'cannot tell']
    """
    low, high = (middle.low, middle.high) if above else (-middle.high, -middle.low)
    bar = bar if above else -bar
    if not (math.isfinite(low) and math.isfinite(high)):
        return OPEN
    return HOLDS if low >= bar else FAILS if high < bar else OPEN


def _tau(tables: Tables, whole: Row, against: str) -> Row | None:
    """How well attention agrees with another explanation, beside what gradients and leave-one-out have."""
    row = _of(tables.get("agreement", ()), whole, against=against)
    if row is None or row["tau"] is None:
        return None
    middle = _middle(row, "tau", "low", "high")
    beside = _found(tables["agreement"], explanation="gradient", against="leave-one-out")
    peers = None if beside is None else beside["tau"]
    bar = min(MOST_TAU, max(LEAST_TAU, MOST_TAU if peers is None else peers))
    says = f"of two words, both put the same one first in {(1 + middle.value) / 2:.0%} of cases"
    if against == "leave-one-out" and peers is not None:
        says += f"; gradients and leave-one-out do in {(1 + peers) / 2:.0%}"
    return _figure(f"tau_{against.replace('-', '_')}", AGREEMENT[against], middle, _judged(middle, bar), says)


def _permuted(tables: Tables, seed: int) -> Row | None:
    """How much shuffled attention moves the prediction."""
    rows = [row for row in tables.get("instances", ()) if row.get("permuted") is not None]
    if not rows:
        return None
    values = [row["permuted"] for row in rows]
    middle = over_texts(values, [row["text"] for row in rows], figure=np.median, seed=seed)
    moved = sum(value >= MOVED for value in values) / len(values)
    says = f"shuffling moves a tenth of the probability, or more, in {moved:.0%} of cases"
    name = "shuffled attention: median change of the output (TVD)"
    return _figure("permuted", name, middle, _judged(middle, MOVED), says)


def _adversary(tables: Tables, seed: int) -> Row | None:
    """How far attention can go while the prediction stays."""
    known = [row for row in tables.get("instances", ()) if row.get("adversary_jsd") is not None]
    rows = [row for row in known if row["adversary_within"]]
    if not rows:
        return None
    shares = [row["adversary_jsd"] / math.log(2) for row in rows]
    middle = over_texts(shares, [row["text"] for row in rows], figure=np.median, seed=seed)
    verdict = _judged(middle, FAR, above=False)
    says = {
        HOLDS: "other attention would have given another answer",
        FAILS: "very different attention gives the same answer",
        OPEN: "rather different attention gives the same answer",
    }[verdict]
    return _figure("adversary", "adversary: divergence of attention, of ln 2", middle, verdict, says)


def _uniform(tables: Tables, whole: Row) -> Row | None:
    """What the score loses when attention is uniform: after training with it, or else put on afterwards."""
    evened = _evened(tables)
    layers = "all" if whole["layers"] == "all" else "last"
    row = evened or _found(tables.get("interventions", ()), intervention="uniform", layers=layers)
    if row is None or row["change"] is None or whole["score"] is None:
        return None
    change = _middle(row, "change", "change_low", "change_high")
    lost = Middle(-change.value, -change.high, -change.low) if whole["better"] == "higher" else change
    bar = NEEDED * abs(whole["score"] - (whole["chance_score"] or 0.0))
    verdict = _judged(lost, bar) if bar else OPEN  # a score that is chance has nothing to lose
    done = f"uniform attention in {LAYERS[layers]}" if evened is None else "trained with uniform attention"
    says = NEEDS[evened is not None][verdict]
    return _figure("uniform", f"{done}: change of {whole['metric']}", change, verdict, says)


def _comprehensive(tables: Tables, whole: Row) -> Row | None:
    """What erasing the most attended words costs, over random ones."""
    row = _of(tables.get("erasure", ()), whole)
    if row is None or row["over_random"] is None:
        return None
    middle = _middle(row, "over_random", "over_random_low", "over_random_high")
    beside = _found(tables["erasure"], explanation="gradient")
    rival = None if beside is None else beside["over_random"]
    verdict = _judged(middle, max(0.0, HALF * (rival or 0.0)))
    says = "erasing the most attended words costs "
    says += f"{abs(middle.value):.2f} {'more' if middle.value >= 0 else 'less'} probability than random ones"
    if rival is not None:
        says += f"; those that gradients name, {rival:.2f}"
    return _figure("comprehensiveness", "erasing the most attended words, over random ones", middle, verdict, says)


def _paragraph(figures: Mapping[str, Row], whole: Row, evened: Row | None) -> str:
    """What may be read into a picture of this attention, and what not."""
    if not figures:
        return "Nothing was measured that says what a picture of this attention shows."
    verdicts = {key: figure["verdict"] for key, figure in figures.items()}
    tied = [verdicts[key] for key in ("permuted", "adversary") if key in verdicts]
    said = []
    if evened is not None and verdicts.get("uniform") == FAILS:
        said.append(
            f"This task does not need attention: trained with uniform attention the model reaches {whole['metric']} "
            f"{evened['score']:.3g}, with its own {whole['score']:.3g}; so where it looks is not what the task is "
            "solved by."
        )
    elif evened is not None and verdicts.get("uniform") == HOLDS:
        lost = f"{abs(figures['uniform']['value']):.3g} of its score"
        said.append(f"This task needs attention: trained without it the model loses {lost}.")
    said += [_reading(verdicts, tied), _ranking(figures)]
    if tied:
        said.append(_binding(verdicts.get("permuted"), verdicts.get("adversary")))
    if evened is None and "uniform" in figures:
        where = LAYERS["all" if whole["layers"] == "all" else "last"]
        said.append(f"With uniform attention put on in {where} after training, {figures['uniform']['says']}.")
    return " ".join(sentence for sentence in said if sentence)


def _reading(verdicts: Mapping[str, str], tied: Sequence[str]) -> str:
    """The sentence that comes first: how the picture may be read."""
    agree = {verdicts[key] for key in ("tau_gradient", "tau_leave_one_out", "comprehensiveness") if key in verdicts}
    if agree == {HOLDS} == {HOLDS, *tied}:
        return "A picture of this attention may be read as a fair account of which words decide."
    if agree == {HOLDS}:
        return (
            "A picture of this attention may be read as a hint at which words matter, but not as the way in which "
            "the model gets from them to its answer."
        )
    shows = "A picture of this attention shows where the model looks; "
    if agree == {FAILS}:
        return f"{shows}it must not be read as saying which words the answer is owed to."
    return f"{shows}which words the answer is owed to it tells in part at best."


def _ranking(figures: Mapping[str, Row]) -> str:
    """How far words that get much attention are those that matter."""
    agreeing = [figures[key] for key in ("tau_gradient", "tau_leave_one_out") if key in figures]
    parts = []
    if agreeing:
        names = " and ".join(row["name"].removeprefix("agreement with ").removesuffix(" (τ)") for row in agreeing)
        taus = " and ".join(f"{row['value']:.2f}" for row in agreeing)
        parts.append(f"Its ranking of words agrees with {names} by τ {taus}")
    if "comprehensiveness" in figures:
        parts.append(figures["comprehensiveness"]["says"])
    joined = ", and ".join(parts)
    return f"{joined[:1].upper()}{joined[1:]}." if joined else ""


def _binding(permuted: str | None, adversary: str | None) -> str:
    """Whether the answer hangs on this attention."""
    many = "that this picture is one of many."
    match permuted, adversary:
        case "does not hold", "does not hold":
            return (
                "The answer does not hang on it: shuffled attention mostly leaves it as it is, and very different "
                "attention can be found that gives the same."
            )
        case "holds", "does not hold":
            return (
                "The answer hangs on it, as shuffling shows, but not on it alone: very different attention can be "
                f"found that gives the same answer, so {many}"
            )
        case _, "does not hold":
            return f"Very different attention can be found that gives the same answer, so {many}"
        case "does not hold", _:
            return "Shuffled attention mostly leaves the answer as it is."
        case "holds", "holds":
            return "The answer hangs on it: shuffling moves it, and no very different attention gives the same."
    return "How much the answer hangs on it remains open."


def _evened(tables: Tables) -> Row | None:
    return _found(tables.get("interventions", ()), intervention="evened model")


def _of(rows: Sequence[Row], whole: Row, **more: str) -> Row | None:
    """The row of the attention that is meant."""
    return _found(rows, explanation="weight", layers=whole["layers"], heads=whole["heads"], **more)


def _found(rows: Sequence[Row], **wanted: str) -> Row | None:
    return next((row for row in rows if all(row[name] == value for name, value in wanted.items())), None)


def _middle(row: Row, *names: str) -> Middle:
    return Middle(*(math.nan if row[name] is None else float(row[name]) for name in names))
