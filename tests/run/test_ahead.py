"""Batches made ready ahead of time: the same, in the same order, with errors and interruptions where they belong."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from attlas.errors import CorpusError
from attlas.run.ahead import Ahead
from attlas.run.course import Keeping
from attlas.run.local import LOCAL
from attlas.run.plan import Plan
from attlas.run.source import Handed, Listed
from attlas.stats import Bundle, PooledMean


def source(count: int = 7) -> Listed[int]:
    return Listed(list(range(count)), [1] * count, budget=2)


class Toy:
    """A part in stages that keeps a record of what is asked of it."""

    name = "toy"

    def __init__(self, *, overlaps: bool = False, fails_at: int | None = None) -> None:
        self.overlaps, self.fails_at = overlaps, fails_at
        self.said: list[tuple[str, int]] = []
        self.threads: set[int] = set()

    def empty(self) -> Bundle:
        return Bundle({"sum": PooledMean((), blocks=1)})

    def prepare(self, batch: list[int]) -> list[int]:
        self.threads.add(threading.get_ident())
        if self.fails_at in batch:
            raise CorpusError("this batch cannot be read")
        return [10 * item for item in batch]

    def launch(self, ready: list[int]) -> Any:
        self.said.append(("launch", ready[0] // 10))

        def give(bundle: Bundle) -> None:
            self.said.append(("give", ready[0] // 10))
            bundle["sum"].update([float(item) for item in ready], 1)

        return give

    def update(self, bundle: Bundle, batch: list[int]) -> None:
        self.launch(self.prepare(batch))(bundle)


def keeping(**more: Any) -> Keeping:
    return Keeping(Plan("toy"), **more)


def assert_same(one: Bundle, other: Bundle) -> None:
    assert [part.tolist() for part in one["sum"].rows()] == [part.tolist() for part in other["sum"].rows()]


def test_the_same_batches_come_in_the_same_order_each_with_what_was_made_of_it() -> None:
    with Ahead(source().from_place(), sum) as batches:
        made = list(batches)
    assert [batch for batch, _ in made] == list(source().from_place())
    assert [ready for _, ready in made] == [sum(batch.items) for batch in source().from_place()]


def test_one_batch_is_made_ready_while_another_is_worked_on() -> None:
    ready = threading.Event()
    seen = []

    def prepare(items: list[int]) -> None:
        seen.append(items)
        if len(seen) == 2:
            ready.set()

    with Ahead(source().from_place(), prepare) as batches:
        next(iter(batches))
        assert ready.wait(10)  # which nobody has asked for yet


def test_no_more_than_two_are_ahead() -> None:
    seen = []
    with Ahead(source(100).from_place(), seen.append) as batches:
        next(iter(batches))
        time.sleep(0.2)
        assert len(seen) <= 3


@pytest.mark.parametrize("overlaps", [False, True])
def test_an_error_comes_where_its_batch_would_have(overlaps: bool) -> None:
    part = Toy(overlaps=overlaps, fails_at=4)
    with pytest.raises(CorpusError, match="cannot be read"):
        LOCAL.carry_out(part, source(), keeping())
    assert [first for what, first in part.said if what == "launch"] == [0, 2]


def test_an_error_of_the_source_comes_through() -> None:
    def broken() -> Iterator[Handed[int]]:
        yield from source(2).from_place()
        raise CorpusError("the file ends in the middle of a line")

    seen = []
    with pytest.raises(CorpusError, match="in the middle"), Ahead(broken(), sum) as batches:
        seen.extend(ready for _, ready in batches)
    assert seen == [1]


def test_who_leaves_early_leaves_no_thread_and_closes_the_source() -> None:
    closed = []

    def endless() -> Iterator[Handed[int]]:
        try:
            for number in range(10**9):
                yield Handed(number, [number], 1, number + 1)
        finally:
            closed.append(True)

    def leave() -> None:
        with Ahead(endless(), sum) as batches:
            for batch, _ in batches:
                if batch.number == 3:
                    raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        leave()
    assert closed == [True]
    assert threading.active_count() == before


@pytest.mark.parametrize("overlaps", [False, True])
def test_stages_give_what_updates_give_and_the_next_begins_before_the_last_is_taken(overlaps: bool) -> None:
    part = Toy(overlaps=overlaps)
    staged = LOCAL.carry_out(part, source(), keeping())
    plain = SimpleNamespace(name="toy", empty=part.empty, update=Toy().update)
    whole = LOCAL.carry_out(plain, source(), keeping())
    assert_same(staged, whole)
    gives = [first for what, first in part.said if what == "give"]
    assert gives == [0, 2, 4, 6]
    order = [
        ("launch", 0),
        ("launch", 2),
        ("give", 0),
        ("launch", 4),
        ("give", 2),
        ("launch", 6),
        ("give", 4),
        ("give", 6),
    ]
    assert part.said == (order if overlaps else [(what, at) for at in gives for what in ("launch", "give")])
    assert threading.get_ident() not in part.threads


@pytest.mark.parametrize("overlaps", [False, True])
def test_an_interrupted_run_goes_on_to_the_same_bits(overlaps: bool, tmp_path: Any) -> None:
    class Interrupted(Toy):
        def launch(self, ready: list[int]) -> Any:
            if ready[0] == 40:
                raise KeyboardInterrupt
            return super().launch(ready)

    with pytest.raises(KeyboardInterrupt):
        LOCAL.carry_out(Interrupted(overlaps=overlaps), source(), keeping(out=tmp_path))
    part = Toy(overlaps=overlaps)
    went_on = LOCAL.carry_out(part, source(), keeping(out=tmp_path, resume=True))
    whole = LOCAL.carry_out(Toy(), source(), keeping())
    assert_same(went_on, whole)
    assert ("launch", 0) not in part.said  # which was done, and is not done again
