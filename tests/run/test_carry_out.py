"""Running, stopping, being killed, and going on to the same bits."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_study import BUDGET, ITEMS, LENGTHS, PLAN, Toy, bits

from attlas.errors import PlanError, StatsError, StoreError
from attlas.run import LOCAL, Keeping, Listed, batches
from attlas.run.progress import Silent
from attlas.stats import Bundle, PooledMean
from attlas.store import Manifest, Result, load_checkpoint, save_checkpoint

ORDER = batches(LENGTHS, BUDGET)


class Heard(Silent):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.total = self.done = self.finished = 0

    def start(self, description: str, total: int, done: int = 0) -> None:
        self.total, self.done = total, done

    def advance(self, pieces: int) -> None:
        self.done += pieces

    def note(self, text: str) -> None:
        self.notes.append(text)

    def finish(self) -> None:
        self.finished += 1


class Stopping(Toy):
    """Is interrupted in the middle of the update of one batch, after one of its two parts was updated."""

    def __init__(self, after: int, error: type[BaseException] = KeyboardInterrupt) -> None:
        super().__init__()
        self.left, self.error = after, error

    def update(self, bundle: Bundle, batch: Sequence[int]) -> None:
        if self.left == 0:
            bundle["a"].update(np.ones((1, 3)), 1, [0])
            raise self.error
        self.left -= 1
        super().update(bundle, batch)


def run(study: Any = None, budget: int = BUDGET, **keeping: Any) -> Bundle:
    source = Listed(ITEMS, LENGTHS, budget=budget)
    return LOCAL.carry_out(study or Toy(), source, Keeping(**{"plan": PLAN} | keeping))


def test_it_is_the_study_over_its_batches(tmp_path: Path) -> None:
    expected = Toy().empty()
    for batch in ORDER:
        Toy().update(expected, batch)
    heard = Heard()
    assert bits(run(progress=heard)) == bits(expected)
    assert bits(run(out=tmp_path / "out", checkpoint_every=0)) == bits(expected)
    assert (heard.total, heard.done, heard.finished, heard.notes) == (sum(LENGTHS), sum(LENGTHS), 1, [])


def test_the_sums_do_depend_on_the_order() -> None:
    """Else the tests for equal bits could not fail."""
    backwards = Toy().empty()
    for batch in reversed(ORDER):
        Toy().update(backwards, batch)
    assert bits(run()) != bits(backwards)


@pytest.mark.parametrize("after", [1, len(ORDER) // 2, len(ORDER) - 1])
def test_an_interrupted_run_goes_on_to_the_same_bits(tmp_path: Path, after: int) -> None:
    heard = Heard()
    with pytest.raises(KeyboardInterrupt):
        run(Stopping(after), out=tmp_path, progress=heard)
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint is not None
    assert checkpoint.progress["batches"] == after
    assert checkpoint.progress["seconds"] > 0
    assert heard.finished == 1
    assert heard.notes == [f"interrupted after {after} of {len(ORDER)} batches; go on with --resume"]
    again = Heard()
    assert bits(run(out=tmp_path, resume=True, progress=again)) == bits(run())
    assert again.notes == [f"resuming after {after} of {len(ORDER)} batches"]
    assert again.done == again.total == sum(LENGTHS)
    finished = load_checkpoint(tmp_path)
    assert finished is not None
    assert finished.progress["batches"] == len(ORDER)
    assert finished.progress["seconds"] > checkpoint.progress["seconds"]


class InStages(Stopping):
    """In stages, the last of which an interruption reaches after one of the bundle's two parts was updated: as a
    signal, which waits, or as an error, which does not."""

    overlaps = False

    def __init__(self, after: int, *, by_signal: bool) -> None:
        super().__init__(after)
        self.by_signal = by_signal

    def prepare(self, batch: Sequence[int]) -> Sequence[int]:
        return batch

    def launch(self, ready: Sequence[int]) -> Callable[[Bundle], None]:
        def give(bundle: Bundle) -> None:
            if self.left == 0 and self.by_signal:
                bundle = Between(bundle)
            self.update(bundle, ready)

        return give

    def update(self, bundle: Bundle, batch: Sequence[int]) -> None:
        if self.by_signal:
            self.left -= 1
            Toy.update(self, bundle, batch)
        else:
            super().update(bundle, batch)


class Between:
    """A bundle that the process is asked to end in the middle of: when its second part is wanted."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle

    def __getitem__(self, name: str) -> PooledMean:
        if name == "b":
            os.kill(os.getpid(), signal.SIGINT)
        return self.bundle[name]


@pytest.fixture
def handler() -> Iterator[object]:
    """What makes Ctrl-C an error; in the background, where it is ignored, Python has none."""
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.default_int_handler
    signal.signal(signal.SIGINT, kept)


@pytest.mark.parametrize("after", [0, 1, len(ORDER) // 2])
def test_a_signal_does_not_break_a_batch_in_two(tmp_path: Path, after: int, handler: object) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(InStages(after, by_signal=True), out=tmp_path)
    assert signal.getsignal(signal.SIGINT) is handler
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint is not None
    assert checkpoint.progress["batches"] == after + 1
    assert bits(run(out=tmp_path, resume=True)) == bits(run())


def test_a_bundle_that_was_left_in_the_middle_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(InStages(3, by_signal=False), out=tmp_path / "seldom")
    assert load_checkpoint(tmp_path / "seldom") is None
    with pytest.raises(KeyboardInterrupt):
        run(InStages(3, by_signal=False), out=tmp_path / "always", checkpoint_every=0)
    checkpoint = load_checkpoint(tmp_path / "always")
    assert checkpoint is not None
    assert checkpoint.progress["batches"] == 3
    assert bits(run(out=tmp_path / "always", resume=True)) == bits(run())


def test_another_error_leaves_the_last_regular_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        run(Stopping(5, ZeroDivisionError), out=tmp_path, checkpoint_every=0)
    assert bits(run(out=tmp_path, resume=True)) == bits(run())
    with pytest.raises(ZeroDivisionError):
        run(Stopping(5, ZeroDivisionError), out=tmp_path / "seldom")
    assert load_checkpoint(tmp_path / "seldom") is None


def test_a_finished_run_is_saved_and_its_checkpoint_goes(tmp_path: Path) -> None:
    bundle = run(out=tmp_path)
    assert bits(run(Stopping(0), out=tmp_path, resume=True)) == bits(bundle)  # nothing is left to be done
    Result(Manifest("toy", plan=PLAN.to_dict()), Toy().tables(bundle)).save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json", "toy.parquet"]
    assert bits(run(out=tmp_path)) == bits(bundle)  # the same plan may run again there


def test_resuming_without_a_checkpoint_starts_over_and_says_so(tmp_path: Path) -> None:
    heard = Heard()
    assert bits(run(out=tmp_path / "new", resume=True, progress=heard)) == bits(run())
    assert heard.notes == [f"there is no checkpoint in {tmp_path / 'new'}; starting from the beginning"]
    with pytest.raises(PlanError, match="give it with --out"):
        run(resume=True)


def test_a_checkpoint_is_not_overrun(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(Stopping(3), out=tmp_path)
    before = (tmp_path / "checkpoint" / "state.npz").read_bytes()
    with pytest.raises(PlanError, match="interrupted here; go on with --resume, or delete this file"):
        run(out=tmp_path)
    changed = replace(PLAN, seed=2, corpus={"sha256": "xyz"})
    words = re.escape('(corpus, sha256: was "abc", is now "xyz"; seed: was 1, is now 2)')
    with pytest.raises(PlanError, match=words):
        run(out=tmp_path, plan=changed, resume=True)
    fewer = Listed(ITEMS[1:], LENGTHS[1:], budget=BUDGET)
    with pytest.raises(PlanError, match="the texts are no longer the same"):
        LOCAL.carry_out(Toy(), fewer, Keeping(PLAN, out=tmp_path, resume=True))
    assert (tmp_path / "checkpoint" / "state.npz").read_bytes() == before


def test_a_checkpoint_of_other_statistics_is_refused(tmp_path: Path) -> None:
    class Other(Toy):
        def empty(self) -> Bundle:
            return Bundle({"a": PooledMean(shape=(4,))})

    with pytest.raises(KeyboardInterrupt):
        run(Stopping(3), out=tmp_path)
    with pytest.raises(StatsError, match="cannot be merged"):
        run(Other(), out=tmp_path, resume=True)


def test_a_foreign_folder_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(StoreError, match=r"holds thesis\.tex"):
        run(Stopping(0), out=tmp_path)


def test_items_and_lengths_must_match() -> None:
    with pytest.raises(PlanError, match="2 items but 1 lengths"):
        Listed([1, 2], [1], budget=4)
    nothing = LOCAL.carry_out(Toy(), Listed([], [], budget=4), Keeping(PLAN))
    assert nothing["b"].result().n.item() == 0


def test_checkpoints_come_as_often_as_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[int] = []

    def counting(folder: Path, plan: Any, state: Any, progress: Any, part: str) -> None:
        saved.append(progress["batches"])
        save_checkpoint(folder, plan, state, progress, part)

    monkeypatch.setattr("attlas.run.course.save_checkpoint", counting)
    run(out=tmp_path / "a", checkpoint_every=0)
    assert saved == list(range(1, len(ORDER) + 1))
    saved.clear()
    run(out=tmp_path / "b", checkpoint_every=1000)
    assert saved == [len(ORDER)]


def kill_once_past(batch: int, out: Path, every: str) -> int:
    """Start the toy as a program, kill it when its checkpoint is past a batch, and tell how far it had come."""
    child = subprocess.Popen([sys.executable, str(Path(__file__).with_name("toy_study.py")), str(out), every])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and child.poll() is None:
        checkpoint = load_checkpoint(out)
        if checkpoint is not None and checkpoint.progress["batches"] > batch:
            break
        time.sleep(0.003)
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL, "the child ended before it could be killed"
    checkpoint = load_checkpoint(out)
    assert checkpoint is not None
    return int(checkpoint.progress["batches"])


@pytest.mark.parametrize("every", ["0", "0.03"])
def test_killed_three_times_it_still_ends_with_the_same_bits(tmp_path: Path, every: str) -> None:
    out = tmp_path / "out"
    reached = [0]
    for share in (0.15, 0.35, 0.55):
        reached.append(kill_once_past(int(share * len(ORDER)), out, every))
    assert reached == sorted(set(reached))
    assert reached[-1] < len(ORDER)
    assert bits(run(out=out, resume=True)) == bits(run())
