"""Chaos: what differs is seen, changes are held up and drawn as they should be, and a short run finds nothing."""

from __future__ import annotations

import ctypes
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from attlas.store import Manifest, Result
from attlas.studies import studies
from tools.chaos.children import TOLD, Child, Ended, all_ended
from tools.chaos.commands import COMMANDS, chosen, resuming
from tools.chaos.contents import contents, differences
from tools.chaos.kills import sampled
from tools.chaos.page import page_of
from tools.chaos.place import Alone, Moment, Watched, killing
from tools.chaos.races import _judged, _Runner
from tools.chaos.states import FOLDER, Known, State, Untouched, look
from tools.chaos.trials import Came, Planned, Trial, carried_out, mended, read_record
from tools.chaos.watch import SYSCALLS, Call, Watch, ask_to_be_watched, possible

watching = pytest.mark.skipif(not possible(), reason="files can be watched on Linux and x86-64 alone")
ROOT = Path(__file__).resolve().parents[2]
COLUMNS = {
    "stream": ["encoder"],
    "layer": [0],
    "head": [0],
    "value": [0.5],
    "normalised": [1.0],
    "signed": [1.0],
    "n": [4],
}


def saved(folder: Path, started: str = "", **more: list[float]) -> Path:
    manifest = Manifest("importance", model={"name": "tiny"}, started=started)
    result = Result(manifest, {"importance": {**COLUMNS, **more}})
    result.save(folder)
    result.page()
    return folder


def planned(trial: Trial) -> Planned:
    """A trial of which this comes."""
    came = Came(trial.done, trial.wrong, trial.note, trial.figures)
    return Planned(trial.kind, trial.run, trial.number, lambda: came)


def test_every_study_that_resumes_has_a_tiny_run() -> None:
    assert set(resuming()) == {run.split()[0] for run in COMMANDS}
    assert set(resuming()) < {*studies(), "atlas", "atlas-many"}
    assert chosen(["prune"]) == ["prune", "prune retuned"]


def test_what_differs_but_for_times_is_told(tmp_path: Path) -> None:
    expected = contents(saved(tmp_path / "one", "2026-01-01"))
    later = saved(tmp_path / "later", "2026-01-02")
    assert not differences(contents(later), expected)
    (later / "checkpoint").mkdir()
    (later / "report.html").write_text("half")
    assert differences(contents(later), expected) == [
        "./importance.parquet is not there", "./manifest.json is not there", "checkpoint is too many",
        "./report.html is another",
    ]  # fmt: skip
    other = contents(saved(tmp_path / "other", value=[0.25]))
    assert differences(other, expected) == ["./importance.parquet is another", "./manifest.json is another"]


def test_every_kind_of_change_to_every_file_comes_first() -> None:
    changes = ["open of /a", *["write of /a"] * 50, "fsync of /a", "rename of /b"]
    changes += ["open of /.tmpAbC", "open of /.tmpXyZ"]
    places = sampled(changes, 0, random.Random(0))
    assert sorted(places) == list(range(len(changes)))
    assert len({changes[place].replace("XyZ", "AbC") for place in places[:5]}) == 5
    assert places[5:6] in ([53], [54])
    assert sampled(changes, 3, random.Random(0)) == places[:3]


def test_states_are_told_apart_and_made_again(tmp_path: Path) -> None:
    here, kept = tmp_path / "here", tmp_path / "kept"
    kept.mkdir()
    assert look(here) == State(())
    (here / "checkpoint").mkdir(parents=True)
    (here / "plan.json").write_bytes(b"plan")
    (here / "checkpoint" / "state.npz.new").write_bytes(b"half")
    half = look(here, kept)
    half.make(tmp_path / "again", kept)
    assert look(tmp_path / "again") == half
    (here / "checkpoint" / "state.npz.new").write_bytes(b"more than half")
    more = look(here)
    assert more.key != half.key
    assert more.lasting == half.lasting
    (here / "plan.json").write_bytes(b"plot")
    assert look(here).lasting != more.lasting
    (here / "checkpoint" / "state.npz.new").rename(here / "checkpoint" / "state.npz")
    assert look(here).lasting != more.lasting


def test_of_each_class_some_states_are_gone_on_from_and_others_by_lot() -> None:
    """Two classes: one of a single state, and one of 60, each met twice."""
    plan = State((("", FOLDER),))
    written = [State((("", FOLDER), ("/a.new", str(size)))) for size in range(60)]
    states = [plan, *(state for state in written for _ in range(2))]
    moments = tuple(Moment(place + 1, False, "write of /a.new", state.key) for place, state in enumerate(states))
    seen = Watched(moments, {state.key: state for state in states})
    assert (seen.first, seen.others) == ([0, 1], [61, 119])
    assert seen.drawn == Watched(moments, seen.states).drawn
    assert len({*seen.drawn}) == 20
    assert not {*seen.drawn} & {*seen.first, *seen.others}
    assert all(place % 2 for place in seen.drawn)  # a state counts once, where it is met first
    assert seen.kept == {states[place].key for place in (*seen.first, *seen.others, *seen.drawn)}


def test_files_that_may_have_changed_are_read_again(tmp_path: Path) -> None:
    """Also where neither size nor time tells it: what the last calls were about, and what is mapped into memory."""

    def write(name: str, data: bytes) -> None:
        (tmp_path / name).write_bytes(data)
        os.utime(tmp_path / name, ns=(0, 0))

    known = Known({"/mapped"})
    for name in ("called", "mapped", "longer"):
        write(name, b"one")
    assert look(tmp_path, known=known) == look(tmp_path)
    for name, data in (("called", b"two"), ("mapped", b"two"), ("longer", b"three")):
        write(name, data)
    known.last += ["/called", ""]
    assert look(tmp_path, known=known) == look(tmp_path)
    (tmp_path / "called").rename(tmp_path / "renamed")
    assert look(tmp_path, known=known) == look(tmp_path)
    write("longer", b"there")
    assert look(tmp_path, known=known) != look(tmp_path)  # so that it is known what is trusted


@pytest.mark.parametrize(
    ("calls", "looked_into"),
    [
        ([Call("unlink", "/a.new"), Call("read", "/a.new", reads=True)], False),
        ([Call("open", "/a.new", empties=True), Call("rename", "/a", "/a.new")], False),
        ([Call("read", "/a", reads=True), Call("rename", "/a.new", "/b.new")], False),
        ([Call("read", "/a.new", reads=True), Call("unlink", "/a.new")], True),
        ([Call("open", "/a.new", reads=True)], True),
        ([Call("rename", "/a", "/a.new")], True),
        ([Call("rename", "/.saved", "/.saving")], True),
    ],
)
def test_whoever_looks_into_an_unfinished_file_is_seen(calls: list[Call], looked_into: bool) -> None:
    state = State((("", FOLDER), ("/.saving", FOLDER), ("/.saving/t.parquet", "2"), ("/a", "0"), ("/a.new", "1")))
    untouched = Untouched(state)
    for call in calls:
        untouched.see(call)
    assert bool(untouched.looked_into) == looked_into


def changing(folder: Path) -> None:
    """Some changes of files: by Python, and past it and the C library's own functions."""
    folder.mkdir()
    with open(folder / "a", "wb", buffering=0) as file:
        file.write(b"abcdef")
        os.writev(file.fileno(), [b"gh", b"ij"])
        os.pwrite(file.fileno(), b"AB", 0)
        os.posix_fallocate(file.fileno(), 0, 12)
    ctypes.CDLL(None).syscall(SYSCALLS["rename"], os.fsencode(folder / "a"), os.fsencode(folder / "b"))
    os.write(2, secrets.token_bytes(4).hex().encode())
    (folder / "b").unlink()


def watched_child(watch: Watch, call: Callable[[], None], room: Path) -> Child:
    """A child that is watched while it calls something."""
    ours, its = socket.socketpair()
    for name in TOLD:
        (room / name).touch()
    number = os.fork()
    if not number:
        os.dup2(os.open(room / "err", os.O_WRONLY), 2)
        ask_to_be_watched(its, reads=watch.reads, writes=watch.writes)
        call()
        os._exit(0)
    child = Child(number, os.pidfd_open(number), room, watch, socket.recv_fds(ours, 1, 1)[1][0])
    its.close()
    ours.close()
    return child


@watching
def test_every_change_is_held_up_and_seen(tmp_path: Path) -> None:
    seen: list[tuple[str, bytes]] = []
    out = tmp_path / "out"

    def see(call: Call, half: bool) -> bool:
        here = next((path.read_bytes() for path in (out / "a", out / "b") if path.exists()), b"-")
        seen.append((f"{'half ' * half}{call}", here))
        return False

    said = []
    for _ in range(2):
        room = Path(tempfile.mkdtemp(dir=tmp_path))
        ended = watched_child(Watch(out, see, seed=1), lambda: changing(out), room).end()
        assert ended.status == 0
        said.append(ended.err)
        out.rmdir()
    assert said[0] == said[1] != ""
    once = len(seen) // 2
    assert seen[:once] == seen[once:]
    assert seen[:once] == [
        ("mkdir of /", b"-"), ("open of /a", b"-"), ("write of /a", b""), ("half write of /a", b"abc"),
        ("write of /a", b"abcdef"), ("half write of /a", b"abcdefgh"), ("write of /a", b"abcdefghij"),
        ("half write of /a", b"Abcdefghij"), ("truncate of /a", b"ABcdefghij"), ("rename of /b", b"ABcdefghij\0\0"),
        ("unlink of /b", b"ABcdefghij\0\0"),
    ]  # fmt: skip


@watching
def test_of_open_files_nothing_is_told_where_nobody_asks(tmp_path: Path) -> None:
    seen: list[str] = []
    watch = Watch(tmp_path / "out", lambda call, half: bool(seen.append(str(call))), writes=False)
    room = tmp_path / "room"
    room.mkdir()
    assert watched_child(watch, lambda: changing(tmp_path / "out"), room).end().status == 0
    assert seen == ["mkdir of /", "open of /a", "rename of /b", "unlink of /b"]


@watching
def test_a_kill_leaves_what_was_seen(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for number, left in (
        (3, {"a": b""}),
        (5, {"a": b"abcdefghij"}),
        (6, {"a": b"ABcdefghij"}),
        (7, {"a": b"ABcdefghij\0\0"}),
        (8, {"b": b"ABcdefghij\0\0"}),
    ):
        for half in (False, True) if number == 3 else (False,):
            room = Path(tempfile.mkdtemp(dir=tmp_path))
            moment = Moment(number, half, "", "")
            ended = watched_child(Watch(out, killing(moment)), lambda: changing(out), room).end()
            assert ended.killed
            found = {path.name: path.read_bytes() for path in out.iterdir()}
            assert found == ({"a": b"abc"} if half else left)
            shutil.rmtree(out)


@watching
def test_a_child_works_until_it_is_ended(tmp_path: Path) -> None:
    """By the processor's time: what it sleeps does not count, and one that has ended is not waited for."""

    def works() -> None:
        time.sleep(0.2)
        for _ in iter(int, 1):
            pass

    for call, least, killed in ((works, 0.1, True), (lambda: None, 0.0, False)):
        room = Path(tempfile.mkdtemp(dir=tmp_path))
        child = watched_child(Watch(tmp_path / "out", lambda call, half: False), call, room)
        with all_ended([child]):
            child.until(0.1 if killed else 60)
            assert child.worked() >= least
            child.send(signal.SIGKILL)
            ended = child.end()
        assert ended.killed == killed
        assert least <= ended.work < 2


@watching
def test_what_is_not_understood_is_told(tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    child = watched_child(
        Watch(tmp_path, lambda call, half: False), lambda: os.link(room / "err", tmp_path / "b"), room
    )
    with all_ended([child]), pytest.raises(NotImplementedError, match="link, of which nothing is known"):
        child.end()


def test_a_trial_that_is_run_again_counts_once(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    first = Trial("states", "survey", 3, "rename of /a (3 of 90)", ("a is another",))
    again = Trial("states", "survey", 3, "rename of /a (3 of 90)", (), "killed again")
    other = Trial("races", "survey", 0, "same plan", (), "one after the other")
    assert carried_out([lambda: [planned(first), planned(other)]], record) == (2, 1)
    left = Planned("races", "survey", 0, pytest.fail)
    assert carried_out([lambda: [planned(again)], lambda: [left]], record) == (2, 0)
    assert read_record(record) == [again, other]
    assert mended(record) == [first]
    assert "made again since:\n\n- survey, states, rename of /a (3 of 90): a is another" in page_of([again], [first])
    seen = Trial(
        "watched", "survey", 0, "", figures={"changes": 90, "moments": 120, "states": 99, "classes": 7, "mapped": 1}
    )
    page = page_of([*read_record(record), seen])
    assert "1 runs make 90 changes of a file" in page
    assert "(120 moments) leaves one of 99 different states of 7 classes. 1 states were gone on from, the" in page
    assert "the first of 1 classes among them (1 were killed again" in page
    assert "300 kills at\nrandom times, 100 of each signal" in page
    assert "Of 1 races 1 came to run one after the other. 0 of 3 trials are at fault" in page
    assert "| survey | 90 | 99 | 7 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 1 | 0 |" in page
    assert f"on {date.today()}: 1 runs" in page
    assert f"on {date.today()}, all of commit abc: 0 runs" in page_of([replace(first, code="abc")])
    assert "(2 trials of commit abc, 1 trials of commit b)" in page_of(
        [replace(trial, code=code) for trial, code in ((first, "abc"), (other, "abc"), (seen, "b"))]
    )
    assert "These map files below their folder into memory: survey." in page
    assert "- survey, states, rename of /a (3 of 90): a is another" in page_of([first, other])


def test_a_trial_that_fails_is_at_fault(tmp_path: Path) -> None:
    def fails() -> Came:
        raise RuntimeError("no such place")

    record = tmp_path / "record.jsonl"
    assert carried_out([lambda: [Planned("races", "survey", 0, fails)]], record) == (1, 1)
    assert read_record(record)[0].wrong == ("RuntimeError: no such place",)


def runner(
    status: int = 0, err: str = "", *, worked: tuple[float, ...] = (), asked: float = 0, back: float = 99
) -> _Runner:
    return _Runner(list(worked), asked, back, 7, Ended(status, "", err))


HELD = "attlas: out: another run works here (process 7 on this machine, since then); wait for it"


@pytest.mark.parametrize(
    ("runners", "wrong"),
    [
        ([runner(worked=(1, 5), back=6), runner(2, HELD, asked=3)], ""),
        ([runner(worked=(1, 5), back=6), runner(2, HELD.replace("7", "8"), asked=3)], "no such process"),
        ([runner(worked=(1, 5), back=6), runner(2, "attlas: it holds a survey result of another plan", asked=3)], ""),
        ([runner(worked=(1, 5), back=6), runner(2, "attlas: use --resume", asked=3)], "refused otherwise"),
        ([runner(worked=(1, 5), back=6), runner(2, "attlas: use --resume", asked=7)], ""),
        ([runner(worked=(1, 5), back=6), runner(worked=(7, 9), back=10)], ""),
        ([runner(worked=(1, 5), back=6), runner(worked=(5.5, 9), back=10)], "2 went on at once"),
        ([runner(2, HELD), runner(2, HELD)], "none went on"),
        ([runner(worked=(1, 5), back=6), runner(1, "Traceback", asked=7)], "refused otherwise"),
    ],
)
def test_races_are_judged(runners: list[_Runner], wrong: str, tmp_path: Path) -> None:
    alone = Alone("survey", (), 1.0, {})
    told, _ = _judged(alone, tmp_path, "same plan", runners)
    assert (wrong in "; ".join(told)) if wrong else told == []


@watching
def test_a_short_run_of_kills(tmp_path: Path) -> None:
    """A training, which has no page to draw: some states gone on from, and some real kills."""
    record = tmp_path / "record.jsonl"
    words = [sys.executable, "-m", "tools.chaos", "states", "kills", "--study", "tune"]
    words += ["--most", "4", "--kills", "3", "--record", str(record)]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    run = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    trials = read_record(record)
    assert Counter(trial.kind for trial in trials) == {"watched": 1, "finished": 1, "states": 4, "kills": 3}
    assert {trial.note for trial in trials if trial.kind == "kills"} == {"as seen"}
