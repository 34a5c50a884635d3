"""Freed memory is given back as soon as a process holds a tenth more than it needs, and not before."""

from __future__ import annotations

import pytest

from attlas.run import trimming


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the C library was asked, in place of the library."""
    calls: list[int] = []
    monkeypatch.setattr(trimming, "_most", 0.0)
    monkeypatch.setattr(trimming, "_trim", lambda: calls.append)
    return calls


def test_it_is_asked_for_when_the_process_holds_a_tenth_more_than_it_needs(
    asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def calls_after(megabytes: int) -> int:
        monkeypatch.setattr(trimming, "held", lambda: megabytes << 20)
        trimming.give_back_freed()
        return len(asked)

    assert calls_after(1000) == 1  # the first time in any case
    assert calls_after(900) == 1  # which a layer is seen to need
    assert calls_after(989) == 1  # no tenth more
    assert calls_after(991) == 2
    assert calls_after(1200) == 2  # more was in use than it seemed: that is the need from now on
    assert calls_after(1319) == 2
    assert calls_after(1321) == 3
    assert calls_after(500) == 3  # and less is one again
    assert calls_after(551) == 4


def test_a_small_process_is_left_alone_until_it_has_grown_by_some_megabytes(
    asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for megabytes in (60, 50, 65):
        monkeypatch.setattr(trimming, "held", lambda now=megabytes: now << 20)
        trimming.give_back_freed()
    assert len(asked) == 1
    monkeypatch.setattr(trimming, "held", lambda: 67 << 20)
    trimming.give_back_freed()
    assert len(asked) == 2


def test_nothing_is_asked_where_the_system_does_not_say(asked: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trimming, "held", lambda: None)
    trimming.give_back_freed()
    assert asked == []


def test_what_a_process_holds_is_told_by_the_system() -> None:
    before = trimming.held()
    if before is None:
        pytest.skip("the system does not say what a process holds")
    room = bytearray(64 << 20)
    room[:: 1 << 12] = b"x" * len(room[:: 1 << 12])  # a page is only held once it was written to
    after = trimming.held()
    assert after is not None
    assert 60 << 20 <= after - before <= 80 << 20
