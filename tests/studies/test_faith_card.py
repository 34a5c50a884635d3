"""The card: verdicts on margins on either side of their bars, and a paragraph that says so."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from attlas.stats import METRICS
from attlas.studies.faith.card import card_rows, erased
from attlas.studies.faith.margins import (
    FAR,
    MOVED,
    Margin,
    Resamples,
    _extremes,
    erased_margin,
    median_margin,
    needed_margin,
    tau_margin,
)
from attlas.studies.faith.middles import Middle

MEANT = {"explanation": "weight", "layers": "last", "heads": "mean"}
NO_ATTENTION = {"layers": "", "heads": ""}
UNITS = 40


def tables(tau: float, moved: float, far: float, change: float, over: float, **evened: float) -> dict[str, Any]:
    """A study with these figures."""
    whole = {
        "task": "classification", "metric": "accuracy", "better": "higher", "score": 0.9, "score_low": 0.8,
        "chance_score": 0.5, "layers": "last", "heads": "mean", "attention": "",
    }  # fmt: skip
    agreement = [{**MEANT, "against": name, "tau": tau, "low": tau - 0.01, "high": tau + 0.01}
                 for name in ("gradient", "leave-one-out")]  # fmt: skip
    agreement.append({"explanation": "gradient", **NO_ATTENTION, "against": "leave-one-out", "tau": 0.4})
    erasure = [{**MEANT, "over_random": over, "over_random_low": over - 0.01, "over_random_high": over + 0.01},
               {"explanation": "gradient", **NO_ATTENTION, "over_random": 0.2}]  # fmt: skip
    instances = [{"text": number, "permuted": moved, "adversary_jsd": far * math.log(2), "adversary_within": True}
                 for number in range(UNITS)]  # fmt: skip
    changes = [_changed("uniform", change)]
    changes += [_changed("evened model", evened["evened"])] if evened else []
    return {"whole": [whole], "agreement": agreement, "erasure": erasure, "instances": instances,
            "interventions": changes}  # fmt: skip


def _changed(kind: str, change: float) -> dict[str, Any]:
    ends = {"change_low": change - 0.01, "change_high": change + 0.01}
    return {"intervention": kind, "layers": "last", "name": "", "change": change, "score": 0.9 + change, **ends}


def around(value: float, spread: float = 0.02) -> np.ndarray:
    """Values of all instances around a mean that is exactly this."""
    noise = np.random.default_rng(0).normal(0, spread, UNITS)
    return value + noise - noise.mean()


def margins(tau: float, moved: float, far: float, change: float, over: float, **evened: float) -> dict[str, Margin]:
    draws = Resamples(range(UNITS))
    lost = -evened.get("evened", change) - 0.04
    return {
        "tau_gradient": tau_margin(draws, around(tau), np.full(UNITS, 0.4)),
        "tau_leave_one_out": tau_margin(draws, around(tau), np.full(UNITS, 0.4)),
        "permuted": median_margin(around(moved, 0.001), range(UNITS), MOVED),
        "adversary": median_margin(around(far), range(UNITS), FAR, above=False),
        "uniform": Margin(-0.04, lost, lost - 0.01, lost + 0.01),
        "comprehensiveness": erased_margin(draws, around(over), np.full(UNITS, 0.2)),
    }


def card(*, without: tuple[str, ...] = (), whole: dict[str, Any] | None = None, **figures: float) -> Any:
    """The card of a study with these figures."""
    medians = {"permuted": Middle(figures["moved"], 0, 1), "adversary": Middle(figures["far"], 0, 1)}
    given = {name: table for name, table in tables(**figures).items() if name not in without}
    given["whole"][0] |= whole or {}
    return card_rows(given, margins(**figures), {} if "instances" in without else medians)


def verdicts(made: dict[str, list[Any]]) -> dict[str, str]:
    return dict(zip(made["figure"], made["verdict"], strict=True))


GOOD = {"tau": 0.6, "moved": 0.3, "far": 0.1, "change": -0.2, "over": 0.2}
BAD = {"tau": 0.1, "moved": 0.01, "far": 0.9, "change": 0.0, "over": 0.0}


def test_all_six_hold_or_none_does() -> None:
    good = card(**GOOD)
    assert list(verdicts(good).values()) == ["holds"] * 6 + [""]
    assert "a fair account of which words decide" in good["says"][-1]
    bad = card(**BAD)
    assert list(verdicts(bad).values()) == ["does not hold"] * 6 + [""]
    assert "must not be read as saying which words" in bad["says"][-1]
    assert "does not hang on it" in bad["says"][-1]
    assert bad["value"][3] == pytest.approx(0.9)
    assert bad["bar"][:3] == pytest.approx([0.4, 0.4, MOVED])
    assert bad["margin"][0] == pytest.approx(-0.3)


def test_a_task_that_does_not_need_attention_is_said_to_be_one() -> None:
    made = card(**GOOD, evened=-0.005)
    assert verdicts(made)["uniform"] == "does not hold"
    assert made["says"][-1].startswith("This task does not need attention: trained with uniform attention")
    needed = card(**GOOD, evened=-0.1)
    assert verdicts(needed)["uniform"] == "holds"
    assert needed["says"][-1].startswith("This task needs attention: trained without it the model loses 0.1")


def test_an_interval_across_the_bar_leaves_it_open() -> None:
    made = card(tau=0.4, moved=0.3, far=0.9, change=-0.04, over=0.1)
    found = verdicts(made)
    assert found["tau_gradient"] == found["uniform"] == found["comprehensiveness"] == "cannot tell"
    assert "this picture is one of many" in made["says"][-1]


def test_a_model_that_learned_nothing_gets_no_verdict() -> None:
    for figures in (GOOD, BAD):
        made = card(**figures, whole={"score_low": 0.45})
        assert set(verdicts(made).values()) == {"cannot tell", ""}
        assert made["says"][-1].startswith("The model does no better than if it had learned nothing")
        assert set(made["margin_low"]) == {None}
    chunks = card(**GOOD, whole={"score_low": 0.03, "chance_score": 0.04, "metric": "chunk F1"})
    assert set(verdicts(chunks).values()) == {"cannot tell", ""}


def test_with_few_texts_nothing_is_judged() -> None:
    few = Resamples(range(19))
    assert math.isnan(tau_margin(few, np.ones(19), np.zeros(19)).low)
    assert math.isnan(median_margin(np.ones(19), range(19), 0.1).low)
    assert tau_margin(Resamples(range(20)), np.ones(20), np.zeros(20)).low == pytest.approx(0.8)
    assert median_margin(np.ones(20), range(20), 0.1).low == pytest.approx(0.9)


def test_a_score_that_is_chance_leaves_open_whether_attention_is_needed() -> None:
    marks = np.tile([0.0, 1.0], (40, 1))
    margin = needed_margin(METRICS["accuracy"], marks, marks, marks)
    given = tables(**GOOD)
    made = card_rows(given, {**margins(**GOOD), "uniform": margin}, {})
    assert verdicts(made)["uniform"] == "cannot tell"


@pytest.mark.parametrize("labels", [2, 3])
def test_a_text_that_is_all_right_is_so_by_matthews_too(labels: int) -> None:
    metric, given = METRICS["matthews"], np.arange(40) % labels
    marks = np.eye(labels**2)[given * (labels + 1)]
    right, wrong = _extremes(metric, marks)
    assert right.sum() == wrong.sum() == pytest.approx(1)
    assert metric.of(marks.sum(0) + right) == pytest.approx(1)
    assert metric.of(wrong) < 0


def test_what_was_not_measured_is_left_out() -> None:
    made = card(**GOOD, without=("interventions", "instances"))
    assert made["figure"] == ["tau_gradient", "tau_leave_one_out", "comprehensiveness", "paragraph"]


def test_what_rounds_to_nothing_makes_no_difference() -> None:
    nothing = "it makes no difference whether the most attended words are erased, or random ones"
    assert erased(-0.004, 0.004) == f"{nothing}; nor does it with those that gradients name"
    assert erased(0.004, -0.2) == f"{nothing}; those that gradients name cost 0.20 less"
    some = "erasing the most attended words costs 0.14 more probability than random ones"
    assert erased(0.14, 0.071) == f"{some}; those that gradients name, 0.07 more"
    assert erased(0.14, 0.001) == f"{some}; it makes no difference with those that gradients name"
    assert "0.00" not in card(**{**BAD, "over": 0.001})["says"][-1]
