"""The card: verdicts on figures on either side of their bars, and a paragraph that says so."""

from __future__ import annotations

import math
from typing import Any

import pytest

from attlas.studies.faith.card import card_rows

MEANT = {"explanation": "weight", "layers": "last", "heads": "mean"}
NO_ATTENTION = {"layers": "", "heads": ""}


def tables(tau: float, moved: float, far: float, change: float, over: float, **evened: float) -> dict[str, Any]:
    """A study with these figures, all with narrow intervals."""
    whole = {
        "task": "classification", "metric": "accuracy", "better": "higher", "score": 0.9, "chance_score": 0.5,
        "layers": "last", "heads": "mean", "attention": "",
    }  # fmt: skip
    agreement = [{**MEANT, "against": name, "tau": tau, "low": tau - 0.01, "high": tau + 0.01}
                 for name in ("gradient", "leave-one-out")]  # fmt: skip
    agreement.append({"explanation": "gradient", **NO_ATTENTION, "against": "leave-one-out", "tau": 0.4})
    erasure = [{**MEANT, "over_random": over, "over_random_low": over - 0.01, "over_random_high": over + 0.01},
               {"explanation": "gradient", **NO_ATTENTION, "over_random": 0.2}]  # fmt: skip
    instances = [{"text": number, "permuted": moved, "adversary_jsd": far * math.log(2), "adversary_within": True}
                 for number in range(30)]  # fmt: skip
    changes = [_changed("uniform", change)]
    changes += [_changed("evened model", evened["evened"])] if evened else []
    return {"whole": [whole], "agreement": agreement, "erasure": erasure, "instances": instances,
            "interventions": changes}  # fmt: skip


def _changed(kind: str, change: float) -> dict[str, Any]:
    ends = {"change_low": change - 0.01, "change_high": change + 0.01}
    return {"intervention": kind, "layers": "last", "name": "", "change": change, "score": 0.9 + change, **ends}


def verdicts(made: dict[str, list[Any]]) -> dict[str, str]:
    return dict(zip(made["figure"], made["verdict"], strict=True))


def test_all_six_hold_or_none_does() -> None:
    good = card_rows(tables(tau=0.6, moved=0.3, far=0.1, change=-0.2, over=0.2))
    assert list(verdicts(good).values()) == ["holds"] * 6 + [""]
    assert "a fair account of which words decide" in good["says"][-1]
    bad = card_rows(tables(tau=0.1, moved=0.01, far=0.9, change=0.0, over=0.0))
    assert list(verdicts(bad).values()) == ["does not hold"] * 6 + [""]
    assert "must not be read as saying which words" in bad["says"][-1]
    assert "does not hang on it" in bad["says"][-1]
    assert bad["value"][3] == pytest.approx(0.9)


def test_a_task_that_does_not_need_attention_is_said_to_be_one() -> None:
    made = card_rows(tables(tau=0.6, moved=0.3, far=0.1, change=-0.3, over=0.2, evened=-0.005))
    assert verdicts(made)["uniform"] == "does not hold"
    assert made["says"][-1].startswith("This task does not need attention: trained with uniform attention")
    needed = card_rows(tables(tau=0.6, moved=0.3, far=0.1, change=-0.3, over=0.2, evened=-0.1))
    assert verdicts(needed)["uniform"] == "holds"
    assert needed["says"][-1].startswith("This task needs attention: trained without it the model loses 0.1")


def test_an_interval_across_the_bar_leaves_it_open() -> None:
    made = card_rows(tables(tau=0.4, moved=0.3, far=0.9, change=-0.04, over=0.1))
    found = verdicts(made)
    assert found["tau_gradient"] == found["uniform"] == found["comprehensiveness"] == "cannot tell"
    assert "this picture is one of many" in made["says"][-1]


def test_what_is_better_when_lower_is_turned_round() -> None:
    given = tables(tau=0.6, moved=0.3, far=0.1, change=0.2, over=0.2)
    given["whole"][0] |= {"better": "lower", "chance_score": None, "metric": "loss"}
    assert verdicts(card_rows(given))["uniform"] == "holds"


def test_a_score_that_is_chance_leaves_open_whether_attention_is_needed() -> None:
    given = tables(tau=0.6, moved=0.3, far=0.1, change=0.0, over=0.2)
    given["whole"][0]["chance_score"] = 0.9
    assert verdicts(card_rows(given))["uniform"] == "cannot tell"


def test_what_was_not_measured_is_left_out() -> None:
    given = tables(tau=0.6, moved=0.3, far=0.1, change=0.2, over=0.2)
    del given["interventions"], given["instances"]
    assert card_rows(given)["figure"] == ["tau_gradient", "tau_leave_one_out", "comprehensiveness", "paragraph"]
