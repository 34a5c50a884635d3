"""The fuzz suites: mutants are the same each time, what is at fault is seen, and a short run finds nothing."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tools.fuzz import commands, corpora, lines
from tools.fuzz.forked import forked
from tools.fuzz.lines import Line


def test_what_is_at_fault_is_told_and_the_rest_goes_on() -> None:
    def call(index: int) -> str:
        if index == 1:
            raise KeyError("a")
        if index == 2:
            bytearray(600 * 10**6)
        if index == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        if index == 4:
            os.kill(os.getpid(), signal.SIGXCPU)
        return "well"

    kinds = [outcome.kind for outcome in forked(call, range(6))]
    assert kinds == ["well", "traceback", "too large", "crash", "too slow", "well"]


def test_every_seed_is_read_as_it_is(tmp_path: Path) -> None:
    """Where it is not, its mutants would all be refused for one reason; some pairs of task and format are not made
    for each other."""
    outcomes = [corpora.attempt(case, tmp_path) for case in corpora.seeds() if case.entry == "read"]
    assert outcomes.count("read") > 0.8 * len(outcomes)


def test_mutants_are_the_same_each_time() -> None:
    assert [corpora.mutant(3, index) for index in range(50)] == [corpora.mutant(3, index) for index in range(50)]


def test_mutated_corpora_end_in_a_corpus_or_a_sentence() -> None:
    outcomes = list(corpora.outcomes(seed=0, indices=range(400)))
    assert [outcome for outcome in outcomes if outcome.at_fault] == []
    assert {outcome.kind for outcome in outcomes} == {"read", "refused"}


def test_command_lines_are_the_same_each_time_and_name_every_command() -> None:
    drawn = [lines.line(3, index) for index in range(600)]
    assert drawn == [lines.line(3, index) for index in range(600)]
    begun = {" ".join(each.words[:count]) for each in drawn for count in (1, 2)}
    assert set(lines.commands()) <= begun


def ends(status: int, said: str = "", file: str = "", *, opens: bool = False) -> Callable[[], None]:
    """A command line that says something, leaves a file, perhaps opens a model, and ends."""

    def main() -> None:
        if opens:
            from transformers import BertModel

            with suppress(OSError):
                BertModel.from_pretrained("missing")
        if file:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text("x", encoding="utf-8")
        sys.stderr.write(said)
        sys.exit(status)

    return main


@pytest.mark.parametrize(
    ("main", "line", "kind"),
    [
        (ends(2, "attlas: no such file\n"), Line(("survey", "x", "-q")), "refused"),
        (ends(2, "attlas: no such file\n"), Line(("survey", "x"), bad=("x",)), "refused"),
        (ends(0), Line(("survey", "x")), "done"),
        (ends(2), Line(("survey", "x")), "no sentence"),
        (ends(2, "attlas: one\nattlas: two\n"), Line(("survey", "x", "-q")), "no sentence"),
        (ends(2, "attlas: " + "x" * 9999), Line(("survey", "x")), "no sentence"),
        (ends(1, "Traceback (most recent call last):\nKeyError: 1\n"), Line(("survey", "x")), "traceback"),
        (lambda: [][0], Line(("survey", "x")), "traceback"),
        (ends(0), Line(("survey", "x"), bad=("x",)), "accepted"),
        (ends(2, "attlas: no x\n", opens=True), Line(("survey", "x"), bad=("x",)), "too late"),
        (ends(2, "attlas: no x\n", "out/heads.parquet"), Line(("survey", "x")), "half a result"),
        (ends(2, "attlas: no x\n", "taken/letter.txt"), Line(("survey", "x")), "half a result"),
        (ends(0, "", "out/.running"), Line(("survey", "x")), "half a result"),
        (ends(2, "attlas: no x\n", "out/checkpoint/plan.json"), Line(("survey", "x")), "refused"),
    ],
)
def test_what_is_wrong_with_a_command_line_is_seen(
    main: Callable[[], None], line: Line, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import BertModel  # noqa: F401, before it is forked: each process would import it anew

    import attlas.views.server  # noqa: F401

    monkeypatch.setattr("attlas.cli.main", main)
    (outcome,) = forked(lambda _: commands.attempt(line, tmp_path / "work"), [0], seconds=30, megabytes=4000)
    assert outcome.kind == kind, outcome


@pytest.mark.campaign
def test_lines_that_fit_their_command_end_well() -> None:
    """Where one does not, all that are drawn of it would be refused for one reason."""
    names = list(lines.commands())
    outcomes = commands.outcomes_of({number: lines.fitting(name) for number, name in enumerate(names)})
    refused = {names[outcome.index] for outcome in outcomes if outcome.kind != "done"}
    assert refused <= {"layers case", "layers together"}  # which go on from results that are not there


def test_command_lines_end_well_or_in_a_sentence() -> None:
    """Forty that are quick: those in which something is surely bad, and those of commands that look and read."""
    quick = ("view", "report", "verify", "doctor")
    drawn = {index: lines.line(0, index) for index in range(200)}
    chosen = [index for index, line in drawn.items() if line.bad or (line.words and line.words[0] in quick)]
    outcomes = list(commands.outcomes(seed=0, indices=chosen[:40]))
    assert [outcome for outcome in outcomes if outcome.at_fault] == []
    assert {outcome.kind for outcome in outcomes} >= {"done", "refused", "usage"}
