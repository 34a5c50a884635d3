"""The fuzz suites: mutants are the same each time, what is at fault is seen, and a short run finds nothing."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

import twins
from attlas.store import Manifest, Result
from attlas.views import Scene
from attlas.views.question import Question
from tools.fuzz import bits, commands, corpora, folders, large, lines, requests
from tools.fuzz.asking import TEXT
from tools.fuzz.forked import Outcome, forked
from tools.fuzz.lines import Line
from tools.fuzz.results import Seeds, cut_runs

sys.path.append(str(Path(__file__).parents[1] / "views"))  # where a server answers with invented scenes

from serving import look, running


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


def test_large_files_are_read_or_refused() -> None:
    """Those of treebanks, which are quick; the times of others depend on what else the machine does."""
    names = [case.options["format"] for case in large.cases() if case.entry == "edges"]
    assert {len(data) // 1000 for case in large.cases() for data in case.files.values()} <= {499, 500, 999}
    first = len(large.cases()) - len(names)
    chosen = [first + at for at, name in enumerate(names) if name in ("conllu", "uds")][:4]
    outcomes = list(large.outcomes(seed=0, indices=[*chosen, 10_000]))
    assert [outcome for outcome in outcomes if outcome.at_fault] == []
    assert len(outcomes) == 4


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
        (ends(2, "Usage: attlas\n\n  Look.\n"), Line(()), "refused"),
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
    assert refused <= {"layers case", "layers together", "merge"}  # which go on from results that are not there


def test_command_lines_end_well_or_in_a_sentence() -> None:
    """Forty that are quick: those in which something is surely bad, and those of commands that look and read."""
    quick = ("view", "report", "verify", "doctor")
    drawn = {index: lines.line(0, index) for index in range(200)}
    chosen = [index for index, line in drawn.items() if line.bad or (line.words and line.words[0] in quick)]
    outcomes = list(commands.outcomes(seed=0, indices=chosen[:40]))
    assert [outcome for outcome in outcomes if outcome.at_fault] == []
    assert {outcome.kind for outcome in outcomes} >= {"done", "refused", "usage"}


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Seeds:
    """Two results of heads, and a survey of a tiny model that was cut off."""
    folder = tmp_path_factory.mktemp("seeds")
    place = {"stream": ["encoder"] * 4, "layer": [0, 0, 1, 1], "head": [0, 1, 0, 1], "value": [0.5, 0.2, 0.1, 0.4]}
    model = {"name": "tiny", "streams": {"encoder": {"layers": 2, "heads": 2}}}
    columns = {
        "survey": {"heads": {**place, "measure": ["weight"] * 4, "quantity": ["sep"] * 4}},
        "importance": {
            "importance": {
                **place,
                "low": [0.1] * 4,
                "high": [0.6] * 4,
                "n": [9] * 4,
                "normalised": [0.9, 0.3, 0.2, 0.9],
                "signed": [0.1, 0.2, -0.1, 0.0],
            }
        },
    }
    results = {
        study: Result(Manifest(study, {"options": {"task": "causal-lm"}}, model=model), tables).save(folder / study)
        for study, tables in columns.items()
    }
    twins.model("bert").save_pretrained(folder / "bert")
    twins.tokenizer(False).save_pretrained(folder / "bert")
    (folder / "plain.txt").write_text("\n\n".join(twins.SENTENCES[:4]), encoding="utf-8")
    inputs = {"bert": str(folder / "bert"), "plain one": str(folder / "plain.txt")}
    return Seeds(results, *cut_runs(folder, inputs, ["survey"], [1]), inputs)


def at_fault(outcomes: list[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.at_fault]


def test_damaged_folders_are_right_or_refused(seeds: Seeds) -> None:
    outcomes = list(folders.outcomes(0, range(30), seeds=seeds))
    assert at_fault(outcomes) == []
    assert {"read", "refused", "resumed"} <= {outcome.kind for outcome in outcomes}


def test_other_values_are_seen(seeds: Seeds, tmp_path: Path) -> None:
    sound = Result.open(seeds.results["importance"])
    table = sound.table.to_pydict()
    Result(sound.manifest, {"importance": {**table, "value": [0.5, 0.2, 0.1, 0.41]}}).save(tmp_path / "other")
    with pytest.raises(AssertionError, match="other values were read"):
        folders.opened(tmp_path / "other", seeds.results["importance"])
    (name,) = seeds.cut_off
    shutil.copytree(seeds.cut_off[name], tmp_path / "cut")
    with pytest.raises(AssertionError, match="other figures"):
        folders.resumed(replace(seeds, truth={"survey": {}}), name, tmp_path / "cut")


def test_single_bits_are_told_or_do_no_harm(seeds: Seeds) -> None:
    assert at_fault(list(bits.outcomes(0, range(40), seeds=seeds))) == []


def test_hostile_requests_are_answered_or_refused(tmp_path: Path) -> None:
    with running() as server:
        target = requests.Target.of(server.address, "one", requests.forbidden(tmp_path / "outside"))
        outcomes = list(requests.outcomes(0, range(80), target=target))
    assert at_fault(outcomes) == []
    assert {"answered", "refused"} <= {outcome.kind for outcome in outcomes}


def test_a_mistake_of_the_server_is_seen(tmp_path: Path) -> None:
    def breaking(question: Question) -> Scene:
        if question.text != TEXT:
            raise ZeroDivisionError("a secret of ours")
        return look(question)

    with running(breaking) as server:
        target = requests.Target.of(server.address, "one", requests.forbidden(tmp_path / "outside"))
        outcomes = list(requests.outcomes(0, range(60), target=target))
    assert {outcome.kind for outcome in at_fault(outcomes)} == {"5xx"}
