"""Drawn command lines: each must end well, or in one sentence with nothing half done.

Every line runs in a process of its own, forked from one that has attlas and its models' classes loaded, through the
very function that the command ``attlas`` calls, in a folder of its own. What is at fault: a traceback; a failure
without a sentence, or with more than one; a value that is bad in itself and was taken, or told only after a model was
opened; files left behind that are neither a whole result nor work that can be gone on with; a success whose result
``attlas verify`` refuses; more than half a minute of processor time, or more than 4 GB.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import pkgutil
import re
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import typer.main

from tools.fuzz.forked import Fault, Outcome, forked
from tools.fuzz.ground import NAME, free, furnish, lay
from tools.fuzz.lines import Line, line

SECONDS, ENDLESS = 30.0, 5.0  # of a line, and of one that asks for endless work; it is then asked to end
WAITING = 20  # times as long by the clock, for what does not work but wait, on a machine that has other work
MEGABYTES = 4_000
LONGEST = 2_000  # letters of a sentence
LOADED = "modules.txt"
MADE = {  # results on the ground, by their commands
    "survey": "one/plain.txt --model models/bert --limit 6",
    "relations": "one/treebank.conllu --model models/bert --limit 6",
    "roles": "one/plain.txt --model models/llama --definitions duplicate,first_key --texts 12 --no-closing",
}
REPORTING = ("doctor", "verify", "atlas")  # commands whose finding that something is wrong is their output, status 1
TERMINATED = 128 + signal.SIGTERM


@dataclass(frozen=True)
class Said:
    """What a command line wrote, and its exit status."""

    status: int
    out: str
    err: str
    opened: bool

    @property
    def sentence(self) -> str:
        """Its last line."""
        return self.err.rstrip("\n").rpartition("\n")[2]


def outcomes(seed: int, indices: Sequence[int], keep: Path | None = None) -> Iterator[Outcome]:
    """What came of each of these command lines; the folders of those at fault are kept."""
    return outcomes_of({index: line(seed, index) for index in indices}, keep)


def outcomes_of(drawn: Mapping[int, Line], keep: Path | None = None) -> Iterator[Outcome]:
    """What came of each of some command lines, by their numbers."""
    with tempfile.TemporaryDirectory() as folder:
        ground, work = Path(folder) / NAME, Path(folder) / "work"
        lay(ground, _make_results)
        _load(ground)
        try:
            for index, each in drawn.items():
                call = partial(_attempt, each, work)
                (outcome,) = forked(call, [index], seconds=3 * SECONDS, megabytes=MEGABYTES)
                if outcome.at_fault:
                    outcome = replace(outcome, told=f"{outcome.told}\n    attlas {each}")
                    if keep is not None:
                        shutil.copytree(work, keep / str(index), symlinks=True)
                yield outcome
                shutil.rmtree(work, ignore_errors=True)
        finally:
            free(ground)


def attempt(drawn: Line, work: Path) -> str:
    """Run a command line in an empty folder beside the ground, and judge it; what is at fault is raised."""
    furnish(work)
    before = _files(work)
    os.chdir(work)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    _as_anybody()
    _without_the_world(work.parent / NAME)
    said = _run(drawn.words, work, ENDLESS if drawn.huge else SECONDS)
    _judge_words(drawn, said)
    for name, data in before.items():
        asked_for = said.status == 0 and any(name in word for word in drawn.words)  # a page may take a file's place
        if not asked_for and (work / name).read_bytes() != data:
            raise Fault("half a result", f"{name} was changed")
    added = sorted(set(_files(work)) - set(before))
    if said.status == 0:
        _judge_results(work, added)
        return "done"
    _judge_leftovers(drawn, said, work, added)
    if drawn.huge and said.status == TERMINATED:
        return "ended when asked to"
    return "usage" if said.sentence.startswith("Error: ") else "refused" if said.err else "told"


def _attempt(drawn: Line, work: Path, index: int) -> str:
    return attempt(drawn, work)


def _judge_words(drawn: Line, said: Said) -> None:
    if "Traceback (most recent call last)" in said.err + said.out:
        raise Fault("traceback", said.sentence[:300])
    if said.status == 0:
        if drawn.bad and "--help" not in drawn.words and "--version" not in drawn.words:
            raise Fault("accepted", f"{'; '.join(drawn.bad)} was taken")
        return
    if said.status == TERMINATED and not drawn.huge:
        raise Fault("too slow", f"over {SECONDS:.0f} s")
    lines = said.err.splitlines()
    usage = (
        said.status == 2 and said.sentence.startswith("Error: ") and (len(lines) == 1 or lines[0][:7] == "Usage: ")
    )
    reported = said.status == 1 and drawn.words[0] in REPORTING and said.out and not said.err
    no_words = not drawn.words and said.err.startswith("Usage: ")
    if not (usage or reported or no_words):
        quiet = "-q" in drawn.words or "--quiet" in drawn.words
        if not said.sentence.startswith("attlas: ") or (len(lines) > 1 and quiet):
            raise Fault("no sentence", f"status {said.status}: {said.err[-300:]!r}")
        if len(said.sentence) > LONGEST:
            raise Fault("no sentence", f"{len(said.sentence)} letters: {said.sentence[:200]!r}")
    if drawn.bad and said.opened:
        raise Fault("too late", f"{'; '.join(drawn.bad)} was told after a model was opened: {said.sentence[:200]!r}")


def _judge_results(work: Path, added: Sequence[str]) -> None:
    """After a success: results are whole, have their page, and nothing else of the run is left."""
    from attlas.studies import studies

    left = [
        name for name in added if re.search(r"(^|/)(\.running|\.saving|\.saved|checkpoint)(/|$)|\.unfinished", name)
    ]
    if left:
        raise Fault("half a result", f"left behind after a success: {left[:5]}")
    for name in added:
        if name.rpartition("/")[2] != "manifest.json":
            continue
        folder = work / Path(name).parent
        said = _run(("verify", str(folder)), work, SECONDS)
        if said.status:
            raise Fault("half a result", f"verify: {said.out[:300]}")
        study = studies().get(said.out.partition(f"{folder}: ")[2].partition(",")[0])
        if study is not None and study.page and not (folder / "report.html").is_file():
            raise Fault("half a result", f"{folder.name} has no page")


def _judge_leftovers(drawn: Line, said: Said, work: Path, added: Sequence[str]) -> None:
    """After a failure: nothing is left, or a checkpoint from which the run goes on, or else begins anew. A run that
    was asked to end after its result was written is resumed for its page."""
    if said.status == TERMINATED and any(name.endswith("/manifest.json") for name in added):
        more = () if drawn.words[0] == "demo" else ("--resume",)  # the demo goes on without being told to
        said = _run((*drawn.words, *more), work, SECONDS)
        if said.status not in (0, TERMINATED):
            raise Fault("half a result", f"it cannot be gone on with: {said.sentence[:300]!r}")
        if said.status == 0:
            _judge_results(work, added)
        return
    half = [name for name in added if not re.search(r"/checkpoint/|/\.", name)]  # what is hidden is in nobody's way
    if any(name.endswith("/steps.json") for name in added):  # an atlas goes on from the results that are finished
        half = []
    if half:
        raise Fault("half a result", f"left behind after {said.sentence[:200]!r}: {half[:5]}")
    if added and said.status != TERMINATED:
        for more in (("--resume",), ()):
            again = _run((*drawn.words, *more), work, SECONDS)
            if again.status == 0 or again.sentence == said.sentence:
                return
        raise Fault("half a result", f"{added[:5]} is in the way: {again.sentence[:300]!r}")


def _run(words: Sequence[str], work: Path, seconds: float) -> Said:
    """Call the command line in this process, and keep what it writes; after so many seconds it is asked to end."""
    opened: list[Any] = []
    _note_openings(opened)
    sys.argv = ["attlas", *words]
    with tempfile.TemporaryFile(dir=work.parent) as out, tempfile.TemporaryFile(dir=work.parent) as err:
        with _written_to(out, err), _asked_to_end(seconds):
            status = _status()
        written = [(file.seek(0), file.read().decode(errors="replace"))[1] for file in (out, err)]
    return Said(status, *written, bool(opened))


def _status() -> int:
    """The exit status of the command line; what the interpreter would print of an exception is printed."""
    from attlas.cli import main

    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


@contextmanager
def _written_to(*files: Any) -> Iterator[None]:
    """Standard output and error to these files, also of what does not write through Python."""
    kept = [os.dup(number) for number in (1, 2)]
    try:
        for number, file in zip((1, 2), files, strict=True):
            os.dup2(file.fileno(), number)
        with (
            open(1, "w", encoding="utf-8", closefd=False) as sys.stdout,
            open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False) as sys.stderr,
        ):
            yield
    finally:
        for number, descriptor in zip((1, 2), kept, strict=True):
            os.dup2(descriptor, number)


@contextmanager
def _asked_to_end(seconds: float) -> Iterator[None]:
    """A request to end after so many seconds of work, or some times as many of waiting."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    timers = {signal.ITIMER_PROF: (signal.SIGPROF, seconds), signal.ITIMER_REAL: (signal.SIGALRM, WAITING * seconds)}
    for timer, (number, limit) in timers.items():
        signal.signal(number, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
        signal.setitimer(timer, limit, limit)
    try:
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0)


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _note_openings(opened: list[Any]) -> None:
    """Have it noted when the weights of a model are opened."""
    from transformers import PreTrainedModel

    plain = PreTrainedModel.from_pretrained.__func__  # type: ignore[attr-defined]

    def noted(cls: Any, *given: Any, **more: Any) -> Any:
        opened.append(cls)
        return plain(cls, *given, **more)

    PreTrainedModel.from_pretrained = classmethod(noted)  # type: ignore[assignment]


def _as_anybody() -> None:
    """Have closed folders be closed, also where the person is root: two rights over files are given up."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, rights = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    libc.capget(header, rights)
    rights[0] &= ~0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    libc.capset(header, rights)


def _without_the_world(ground: Path) -> None:
    """No network, no browser, one thread, a small model in place of the bundled one, and a server that stops as soon
    as it answers."""
    import webbrowser

    import huggingface_hub.constants
    import torch

    from attlas.models import bundled
    from attlas.views.server import Server

    huggingface_hub.constants.HF_HUB_OFFLINE = True
    torch.set_num_threads(1)
    webbrowser.open = lambda *_, **__: True
    bundled.bundled_folder = lambda: ground / "models" / "bert"
    run = Server.run

    def stopping(server: Server) -> None:
        server.stop()
        run(server)

    Server.run = stopping  # type: ignore[method-assign]


def _load(ground: Path) -> None:
    """Import, once for all processes that are forked from this one, attlas and what its commands have imported."""
    import attlas

    own = (module.name for module in pkgutil.walk_packages(attlas.__path__, "attlas."))
    for name in (*(ground / LOADED).read_text(encoding="utf-8").splitlines(), *own):
        if not name.endswith("__main__"):
            with suppress(ImportError, AttributeError):  # of names that are made up while running
                importlib.import_module(name)
    typer.main.get_command = cache(typer.main.get_command)  # with all options, a tenth of a second at each call


def _make_results(ground: Path) -> None:
    """Results of some small studies, made by their commands."""

    def make(_: int) -> str:
        os.chdir(ground)
        for study, words in MADE.items():
            said = _run((study, *words.split(), "-q", "--out", f"results/{study}"), ground, SECONDS)
            if said.status:
                raise Fault("no sentence", said.err)
        (ground / LOADED).write_text("\n".join(sys.modules), encoding="utf-8")
        return "made"

    (outcome,) = forked(make, [0], seconds=SECONDS, megabytes=MEGABYTES)
    if outcome.at_fault:
        raise RuntimeError(f"the ground could not be laid: {outcome.told}")
