"""The fuzz suites: mutants are the same each time, what is at fault is seen, and a short run finds nothing."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import twins
from attlas.store import Manifest, Result
from attlas.views import Scene
from attlas.views.question import Question
from tools.fuzz import bits, corpora, folders, requests
from tools.fuzz.asking import TEXT
from tools.fuzz.forked import Outcome, forked
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
