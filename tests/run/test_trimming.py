"""Freed memory is given back as soon as a process holds more than a tenth beyond what it had, and not before."""

from __future__ import annotations

import pytest

from attlas.run import trimming


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the C library was asked, in place of the library."""
    calls: list[int] = []
    monkeypatch.setattr(trimming, "_next", 0.0)
    monkeypatch.setattr(trimming, "_trim", lambda: calls.append)
    return calls


def test_it_is_asked_for_when_the_process_has_grown_by_a_tenth(
    asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = iter([1000 << 20, 900 << 20, 980 << 20, 989 << 20, 991 << 20, 991 << 20, 1000 << 20])
    monkeypatch.setattr(trimming, "held", lambda: next(sizes))
    trimming.give_back_freed()  # the first time in any case: 900 MiB are left
    assert len(asked) == 1
    trimming.give_back_freed()
    trimming.give_back_freed()  # 989 MiB are not a tenth more
    assert len(asked) == 1
    trimming.give_back_freed()  # 991 are, and nothing could be given back
    assert len(asked) == 2
    trimming.give_back_freed()  # so the bar has risen
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
