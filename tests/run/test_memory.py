"""Running out of memory: batches go on in halves, a run goes on with another budget, and what is left is a
sentence."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from toy_study import BUDGET, ITEMS, LENGTHS, PLAN, Toy

import twins
from attlas.capture import Subject
from attlas.corpora import stream
from attlas.errors import PlanError
from attlas.run import LOCAL, Keeping, Listed, Plan
from attlas.run.memory import is_out_of_memory
from attlas.run.progress import Silent
from attlas.stats import Bundle
from attlas.store import load_checkpoint
from attlas.studies.relations.call import relations
from attlas.studies.survey.call import survey


@pytest.fixture(autouse=True, scope="module")
def nothing_old_is_looked_through() -> None:
    """When memory runs out all that can be freed is looked for, a hundred times in here."""
    gc.collect()
    gc.freeze()


ERRORS = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB"),
    MemoryError(),
    RuntimeError("[enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory"),
]


class Notes(Silent):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


class Cramped(Toy):
    """Has room for so many items at a time, and fails in the middle of an update, when half of it is done."""

    def __init__(self, room: int, error: Exception = ERRORS[0]) -> None:
        super().__init__()
        self.room, self.error, self.tries = room, error, list[int]()

    def update(self, bundle: Bundle, batch: Sequence[int]) -> None:
        self.tries.append(len(batch))
        if len(batch) > self.room:
            bundle["a"].update(np.ones((1, 3)), 1, [0])
            raise self.error
        super().update(bundle, batch)


class Step(Cramped):
    stepwise = True


def run(part: Any, budget: int = BUDGET, **keeping: Any) -> Bundle:
    plan = Plan(**{**vars(PLAN), "batching": {"budget": budget}})
    return LOCAL.carry_out(part, Listed(ITEMS, LENGTHS, budget=budget), Keeping(**{"plan": plan} | keeping))


def assert_same(one: Bundle, other: Bundle) -> None:
    ours, theirs = one.state(), other.state()
    assert list(ours) == list(theirs)
    for name, array in ours.items():
        if np.issubdtype(array.dtype, np.floating):
            np.testing.assert_allclose(array, theirs[name], rtol=1e-12, atol=0, err_msg=name)
        else:
            np.testing.assert_array_equal(array, theirs[name], err_msg=name)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("room", [1, 3])
@pytest.mark.parametrize("kept", [True, False])
def test_halves_give_what_the_batch_would(room: int, error: Exception, kept: bool, tmp_path: Path) -> None:
    notes, part = Notes(), Cramped(room, error)
    keeping = Keeping(PLAN, out=tmp_path if kept else None, checkpoint_every=0, progress=notes)
    bundle = LOCAL.carry_out(part, Listed(ITEMS, LENGTHS, budget=BUDGET), keeping)
    assert_same(bundle, run(Toy()))
    assert max(part.tries) > room
    assert keeping.halved.total() > 0
    (said,) = [note for note in notes.notes if "memory ran out" in note]
    assert "--budget" in said


def test_later_batches_begin_with_as_many_parts() -> None:
    """Else every batch would fail once more."""
    part = Cramped(2)
    run(part)
    failed = [size for size in part.tries if size > 2]
    assert len(failed) < len(part.tries) / 4


def test_what_fits_is_left_as_it_was() -> None:
    part = Cramped(1000)
    keeping = Keeping(PLAN)
    bundle = LOCAL.carry_out(part, Listed(ITEMS, LENGTHS, budget=BUDGET), keeping)
    assert {key: array.tobytes() for key, array in bundle.state().items()} == {
        key: array.tobytes() for key, array in run(Toy()).state().items()
    }
    assert keeping.halved.total() == 0


def test_a_single_item_that_does_not_fit_ends_it_and_so_does_what_goes_step_by_step(tmp_path: Path) -> None:
    with pytest.raises(torch.OutOfMemoryError):
        run(Cramped(0))
    step = Step(3)
    with pytest.raises(torch.OutOfMemoryError):
        run(step, out=tmp_path)
    assert len(step.tries) == 1 or max(step.tries[:-1]) <= 3


@pytest.mark.parametrize("budget", [7, 31, 59, 240])
@pytest.mark.parametrize("after", [1, 4])
def test_a_run_goes_on_with_another_budget(budget: int, after: int, tmp_path: Path) -> None:
    class Stopping(Toy):
        left = after

        def update(self, bundle: Bundle, batch: Sequence[int]) -> None:
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            super().update(bundle, batch)

    with pytest.raises(KeyboardInterrupt):
        run(Stopping(), out=tmp_path)
    kept = load_checkpoint(tmp_path)
    assert kept is not None
    seen: list[int] = []

    class Seeing(Toy):
        def update(self, bundle: Bundle, batch: Sequence[int]) -> None:
            seen.extend(batch)
            super().update(bundle, batch)

    notes = Notes()
    again = run(Seeing(), budget, out=tmp_path, resume=True, progress=notes)
    assert len(seen) == len(set(seen)) == len(ITEMS) - kept.progress["place"], (
        "each item once, and none that was done"
    )
    assert_same(again, run(Toy()))
    assert any("batches of another size" in note for note in notes.notes)


def test_what_goes_step_by_step_wants_the_budget_that_it_had(tmp_path: Path) -> None:
    class Stopping(Toy):
        stepwise = True
        left = 2

        def update(self, bundle: Bundle, batch: Sequence[int]) -> None:
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1

    with pytest.raises(KeyboardInterrupt):
        run(Stopping(), out=tmp_path)
    with pytest.raises(PlanError, match="budget: was 60, is now 31"):
        run(Stopping(), 31, out=tmp_path, resume=True)


def test_other_texts_are_still_refused(tmp_path: Path) -> None:
    run(Toy(), out=tmp_path)
    for items, lengths in ((ITEMS[:-1], LENGTHS[:-1]), (ITEMS, [*LENGTHS[:-1], LENGTHS[-1] + 1])):
        source = Listed(items, lengths, budget=BUDGET)
        with pytest.raises(PlanError, match="no longer the same"):
            LOCAL.carry_out(Toy(), source, Keeping(PLAN, out=tmp_path, resume=True))


def test_which_errors_say_so() -> None:
    assert all(map(is_out_of_memory, ERRORS))
    assert not any(map(is_out_of_memory, (RuntimeError("shapes differ"), KeyError("memory"), ValueError())))


def bert() -> Subject:
    model = twins.model("bert").double()
    return Subject.of(model, twins.tokenizer(False), "bert")


@pytest.fixture
def cramped(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A model that has room for so many texts at a time, once told."""
    room = {"texts": 10**6, "after": 0, "failed": 0}
    run_batch = Subject.run

    def tight(subject: Subject, batch: Any, **options: Any) -> Any:
        room["after"] -= 1
        if room["after"] < 0 and batch.size > room["texts"]:
            room["failed"] += 1
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return run_batch(subject, batch, **options)

    monkeypatch.setattr(Subject, "run", tight)
    return room


def figures(result: Any, table: str) -> dict[str, list[Any]]:
    return dict(result.tables[table].to_pydict())


def assert_alike(one: dict[str, list[Any]], other: dict[str, list[Any]]) -> None:
    assert list(one) == list(other)
    for name, values in one.items():
        if any(isinstance(value, float) for value in values):
            ours, theirs = (np.array(each, dtype=float) for each in (values, other[name]))
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7, err_msg=name)
        else:
            assert values == other[name], name


@pytest.mark.parametrize(("texts", "after"), [(1, 0), (3, 2)])
def test_a_survey_in_halves_has_the_same_tables_and_the_manifest_counts_them(
    cramped: dict[str, int], texts: int, after: int, tmp_path: Path
) -> None:
    subject, how = bert(), {"limit": 30, "budget": 256}
    whole = survey(subject, "sample", **how)
    cramped |= {"texts": texts, "after": after}
    halved = survey(subject, "sample", out=tmp_path / "run", **how)
    assert cramped["failed"] > 0
    assert halved.manifest.corpus["batches_halved"] >= 1
    assert "batches_halved" not in whole.manifest.corpus
    for table in ("heads", "pos"):
        assert_alike(figures(halved, table), figures(whole, table))


def test_a_study_that_ran_out_of_memory_says_what_to_lower_and_is_finished_with_less(
    cramped: dict[str, int], tmp_path: Path
) -> None:
    subject, how = bert(), {"limit": 24, "twins": 1, "out": tmp_path / "run"}
    whole = relations(subject, "sample", limit=24, twins=1, budget=256)
    cramped |= {"texts": 0, "after": 3}
    with pytest.raises(PlanError) as told:
        relations(subject, "sample", budget=256, **how)
    said = str(told.value)
    assert "\n" not in said
    assert all(option in said for option in ("--budget", "--max-pieces", "--twin after", "--resume"))
    cramped["texts"] = 10**6
    again = relations(subject, "sample", budget=64, resume=True, **how)
    assert_alike(figures(again, "relations"), figures(whole, "relations"))


def test_a_stream_goes_on_with_another_budget(cramped: dict[str, int], tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(
        "".join(f'{{"text": "It rained for {day} days{" and nights" * (day % 3)}."}}\n' for day in range(40))
    )
    subject = bert()
    whole = survey(subject, stream(file, buffer=7), budget=64)
    cramped |= {"texts": 0, "after": 6}
    with pytest.raises(PlanError, match="memory ran out"):
        survey(subject, stream(file, buffer=7), budget=64, out=tmp_path / "run", checkpoint_every=0)
    cramped["texts"] = 10**6
    again = survey(subject, stream(file, buffer=7), budget=30, out=tmp_path / "run", resume=True)
    assert_alike(figures(again, "heads"), figures(whole, "heads"))
