"""Work that takes turns: one at a time, in the order of the list, and the first error ends it for all."""

from __future__ import annotations

import threading

import pytest
import torch

from attlas.models.turns import give_way, leave_until_last, take_turns


def test_turns_come_in_order_and_short_work_drops_out() -> None:
    said: list[str] = []
    running = 0

    def work(name: str, steps: int) -> None:
        nonlocal running
        for step in range(steps):
            running += 1
            assert running == 1, "two at a time"
            said.append(f"{name}{step}")
            running -= 1
            give_way()

    take_turns([lambda: work("a", 3), lambda: work("b", 1), lambda: work("c", 2)])
    assert said == ["a0", "b0", "c0", "a1", "c1", "a2"]


def test_an_error_stops_all_and_nothing_is_left_behind() -> None:
    said, before = [], threading.active_count()

    def fail() -> None:
        leave_until_last(lambda: said.append("last"))
        give_way()
        raise LookupError("lost")

    def wait() -> None:
        give_way()
        give_way()
        said.append("never")

    with pytest.raises(LookupError, match="lost"):
        take_turns([fail, wait])
    assert said == ["last"]
    assert threading.active_count() == before


def test_gradients_are_asked_for_as_by_the_caller() -> None:
    asked: list[bool] = []
    with torch.no_grad():
        take_turns([lambda: asked.append(torch.is_grad_enabled())])
    take_turns([lambda: asked.append(torch.is_grad_enabled())])
    assert asked == [False, True]
