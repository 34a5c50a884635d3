"""Plans and their differences; batches and their limits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attlas.errors import PlanError, StoreError
from attlas.run import Plan, batches, differences
from attlas.run.plan import require_resumable


def test_a_plan_survives_json() -> None:
    plan = Plan("survey", {"layers": (0, 1), "file": Path("a/b"), "rate": 0.5}, model={"fingerprint": "x"}, seed=3)
    assert Plan.from_dict(json.loads(plan.to_json())) == plan
    assert differences(plan, json.loads(plan.to_json())) == []
    with pytest.raises(StoreError, match="options, rate"):
        Plan("survey", {"rate": float("inf")})


def test_a_plan_does_not_follow_its_source() -> None:
    options = {"layers": [0]}
    plan = Plan("survey", options)
    options["layers"].append(1)
    assert plan.options == {"layers": [0]}


def test_differences_name_each_leaf() -> None:
    one = Plan("survey", {"top": 5, "deep": {"a": True, "b": [1, 2]}, "gone": None}, version="0.1")
    two = Plan("heads", {"top": 5.0, "deep": {"a": 1, "b": [1, 2, 3]}, "came": "ü"}, version="0.1")
    assert differences(one, two) == [
        'study: was "survey", is now "heads"',
        "options, top: was 5, is now 5.0",
        "options, deep, a: was true, is now 1",
        "options, deep, b: was [1, 2], is now [1, 2, 3]",
        "options, gone: was null, is now not set",
        'options, came: was not set, is now "ü"',
    ]
    assert differences(one, one) == []


@given(
    st.lists(st.integers(0, 40), max_size=40),
    st.integers(1, 60),
    st.one_of(st.none(), st.integers(1, 5)),
)
def test_batches_keep_their_promises(lengths: list[int], budget: int, max_items: int | None) -> None:
    made = batches(lengths, budget, max_items)
    assert sorted(index for batch in made for index in batch) == list(range(len(lengths)))
    flat = [index for batch in made for index in batch]
    assert flat == sorted(flat, key=lambda index: (-lengths[index], index))
    for number, batch in enumerate(made):
        longest = max(lengths[index] for index in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget
        assert max_items is None or len(batch) <= max_items
        if number + 1 < len(made):  # it could not have taken one more
            assert (len(batch) + 1) * max(longest, 1) > budget or len(batch) == max_items
    assert batches(tuple(lengths), budget, max_items) == made


def test_batches_refuse_what_cannot_be() -> None:
    for arguments in (([1], 0), ([1], 5, 0), ([3, -1], 5)):
        with pytest.raises(PlanError, match=r"at least 1|item 1 has -1 pieces"):
            batches(*arguments)


def test_a_plan_that_differs_in_everything_is_told_in_one_short_sentence() -> None:
    before = {"options": {f"option {number}": "9" * 5_000 for number in range(50)}}
    with pytest.raises(PlanError, match="another plan") as refused:
        require_resumable(Path("state.npz"), before, Plan("survey"), resume=True)
    assert len(str(refused.value)) < 2_000
    assert "more)" in str(refused.value)
