"""The faithfulness card: what of all this holds for a model and a task, in six figures and one paragraph.

Each figure is a test that attention passes, fails, or leaves open: it *holds* if the whole interval of its margin is
on the right side of the bar, *does not hold* if the whole interval is on the wrong side, and otherwise one *cannot
tell*. The bars, the reason for each, and how sure a verdict is, are stated in :mod:`attlas.studies.faith.margins`;
they are conventions, and the figures stand beside them. A model that has not learned its task gets no verdicts: there
is nothing that its attention could explain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from attlas.store.columns import as_columns
from attlas.studies.faith.margins import MOVED, Margin
from attlas.studies.faith.middles import NOTHING, Middle
from attlas.studies.shared.faith.guard import has_learned

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]
Margins = Mapping[str, Margin]

HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot tell"
AGREEMENT = {"gradient": "agreement with gradients (τ)", "leave-one-out": "agreement with leave-one-out (τ)"}
NEEDS = {  # whether the task needs attention (True), or else the model that was trained with it
    True: {HOLDS: "the task needs attention", FAILS: "the task does not need attention",
           OPEN: "whether the task needs attention remains open"},
    False: {HOLDS: "the model needs its attention there", FAILS: "the model does as well without it",
            OPEN: "whether the model needs it there remains open"},
}  # fmt: skip
LAYERS = {"all": "all layers", "last": "the last layer"}
UNLEARNED = (
    "The model does no better than if it had learned nothing: it has given no answer whose reasons a picture of its "
    "attention could show, and none of the tests is judged."
)


def card_rows(tables: Tables, margins: Margins, medians: Mapping[str, Middle]) -> dict[str, list[Any]]:
    """The table of the card, from the tables of the study, the margins of its figures, and those of them that are
    medians: what was not measured is left out.

    >>> weight = {"explanation": "weight", "layers": "last", "heads": "mean"}
    >>> row = {**weight, "against": "gradient", "tau": 0.1, "low": 0.05, "high": 0.15}
    >>> tables = {"whole": [{"layers": "last", "heads": "mean"}], "agreement": [row]}
    >>> made = card_rows(tables, {"tau_gradient": Margin(0.2, -0.1, -0.15, -0.05)}, {})
    >>> made["figure"], made["verdict"]
    (['tau_gradient', 'paragraph'], ['does not hold', ''])
    """
    whole = tables["whole"][0]
    learned = has_learned(whole)
    if not learned:
        margins = {key: margin._replace(low=math.nan, high=math.nan) for key, margin in margins.items()}
    measured = (
        _tau(tables, margins, whole, "gradient"), _tau(tables, margins, whole, "leave-one-out"),
        _permuted(tables, margins, medians), _adversary(margins, medians), _uniform(tables, margins, whole),
        _comprehensive(tables, margins, whole),
    )  # fmt: skip
    figures = [figure for figure in measured if figure is not None]
    says = UNLEARNED
    if learned:
        says = _paragraph({figure["figure"]: figure for figure in figures}, whole, _evened(tables))
    paragraph = _figure("paragraph", "", NOTHING, Margin(math.nan, math.nan), says)
    return as_columns([*figures, {**paragraph, "verdict": ""}])


def _figure(figure: str, name: str, middle: Middle, margin: Margin, says: str) -> Row:
    return {
        "figure": figure, "name": name, **middle._asdict(), **margin.columns(), "verdict": judged(margin),
        "says": says,
    }  # fmt: skip


def judged(margin: Margin) -> str:
    """The verdict that a margin gives.

    >>> [judged(Margin(0.2, 0.1, low, high)) for low, high in ((0.0, 0.2), (-0.2, -0.1), (-0.1, 0.3))]
    ['holds', 'does not hold', 'cannot tell']
    """
    if not (math.isfinite(margin.low) and math.isfinite(margin.high)):
        return OPEN
    return HOLDS if margin.low >= 0 else FAILS if margin.high < 0 else OPEN


def _tau(tables: Tables, margins: Margins, whole: Row, against: str) -> Row | None:
    """How well attention agrees with another explanation, beside what gradients and leave-one-out have."""
    row, key = _of(tables.get("agreement", ()), whole, against=against), f"tau_{against.replace('-', '_')}"
    if row is None or row["tau"] is None:
        return None
    middle = _middle(row, "tau", "low", "high")
    beside = _found(tables["agreement"], explanation="gradient", against="leave-one-out")
    peers = None if beside is None else beside["tau"]
    says = f"of two words, both put the same one first in {(1 + middle.value) / 2:.0%} of cases"
    if against == "leave-one-out" and peers is not None:
        says += f"; gradients and leave-one-out do in {(1 + peers) / 2:.0%}"
    return _figure(key, AGREEMENT[against], middle, margins[key], says)


def _permuted(tables: Tables, margins: Margins, medians: Mapping[str, Middle]) -> Row | None:
    """How much shuffled attention moves the prediction."""
    values = [row["permuted"] for row in tables.get("instances", ()) if row.get("permuted") is not None]
    if "permuted" not in medians:
        return None
    moved = sum(value >= MOVED for value in values) / len(values)
    says = f"shuffling moves a tenth of the probability, or more, in {moved:.0%} of cases"
    name = "shuffled attention: median change of the output (TVD)"
    return _figure("permuted", name, medians["permuted"], margins["permuted"], says)


def _adversary(margins: Margins, medians: Mapping[str, Middle]) -> Row | None:
    """How far attention can go while the prediction stays."""
    if "adversary" not in medians:
        return None
    margin = margins["adversary"]
    says = {
        HOLDS: "other attention would have given another answer",
        FAILS: "very different attention gives the same answer",
        OPEN: "rather different attention gives the same answer",
    }[judged(margin)]
    return _figure("adversary", "adversary: divergence of attention, of ln 2", medians["adversary"], margin, says)


def _uniform(tables: Tables, margins: Margins, whole: Row) -> Row | None:
    """What the score loses when attention is uniform: after training with it, or else put on afterwards."""
    evened = _evened(tables)
    layers = "all" if whole["layers"] == "all" else "last"
    row = evened or _found(tables.get("interventions", ()), intervention="uniform", layers=layers)
    if row is None or row["change"] is None or whole["score"] is None:
        return None
    change, margin = _middle(row, "change", "change_low", "change_high"), margins["uniform"]
    if margin.bar == 0:  # a score that is chance has nothing to lose
        margin = margin._replace(low=math.nan, high=math.nan)
    done = f"uniform attention in {LAYERS[layers]}" if evened is None else "trained with uniform attention"
    says = NEEDS[evened is not None][judged(margin)]
    return _figure("uniform", f"{done}: change of {whole['metric']}", change, margin, says)


def _comprehensive(tables: Tables, margins: Margins, whole: Row) -> Row | None:
    """What erasing the most attended words costs, over random ones."""
    row = _of(tables.get("erasure", ()), whole)
    if row is None or row["over_random"] is None:
        return None
    middle = _middle(row, "over_random", "over_random_low", "over_random_high")
    beside = _found(tables["erasure"], explanation="gradient")
    says = erased(middle.value, None if beside is None else beside["over_random"])
    name = "erasing the most attended words, over random ones"
    return _figure("comprehensiveness", name, middle, margins["comprehensiveness"], says)


def erased(over: float, rival: float | None) -> str:
    """What erasing the most attended words costs over random ones, and what those that gradients name cost.

    >>> erased(0.142, None)
    'erasing the most attended words costs 0.14 more probability than random ones'
    >>> erased(-0.001, None)
    'it makes no difference whether the most attended words are erased, or random ones'
    """
    none = _cost(over) is None
    if none:
        says = "it makes no difference whether the most attended words are erased, or random ones"
    else:
        says = f"erasing the most attended words costs {_cost(over)} probability than random ones"
    if rival is None:
        return says
    if _cost(rival) is None:
        return f"{says}; {'nor does it' if none else 'it makes no difference'} with those that gradients name"
    return f"{says}; those that gradients name{' cost' if none else ','} {_cost(rival)}"


def _cost(over: float) -> str | None:
    """A cost over that of random words, as it is written; None where that is nothing."""
    written = f"{abs(over):.2f}"
    return None if not written.strip("0.") else f"{written} {'more' if over > 0 else 'less'}"


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
