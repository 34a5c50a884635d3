"""The fuzz suites: mutants are the same each time, what is at fault is seen, and a short run finds nothing."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tools.fuzz import corpora
from tools.fuzz.forked import forked


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
