"""Three studies in one pass, against each of them alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twins
from attlas.capture import Subject
from attlas.corpora import read
from attlas.studies.clusters.call import clusters
from attlas.studies.heads.call import heads
from attlas.studies.relations.call import relations
from attlas.studies.survey.call import survey

FEW = read("sample").sentences().documents[:30]


def bert() -> Subject:
    return Subject.of(twins.model("bert"), twins.tokenizer(False), "twin")


def assert_alike(one: Any, other: Any, table: str) -> None:
    """The same rows, and the same numbers but for what the padding of other batches does to the last digits."""
    ours, theirs = (result.tables[table].to_pydict() for result in (one, other))
    assert list(ours) == list(theirs)
    for name, column in ours.items():
        if any(isinstance(value, float) for value in column):
            here, there = (np.array(values, dtype=float) for values in (column, theirs[name]))
            np.testing.assert_allclose(here, there, rtol=1e-3, atol=1e-5, err_msg=name)
        else:
            assert column == theirs[name], name


@pytest.mark.parametrize("measure", ["weight", "norm"])
def test_together_they_say_what_each_says_alone(measure: str) -> None:
    subject = bert()
    together = heads(subject, FEW, measure=measure)
    alone = {
        "survey": survey(subject, FEW, max_pieces=128),
        "relations": relations(subject, FEW, max_pieces=128, measure=measure),
    }
    for table in ("relations", "relation_heads", "offsets"):
        assert_alike(together["relations"], alone["relations"], table)
    for table in ("heads", "pos", "spearman", "portraits"):
        assert_alike(together["survey"], alone["survey"], table)
    apart = clusters(subject, FEW, max_pieces=128, measure=measure)
    for table in ("pairs", "layer_pairs"):
        assert_alike(together["clusters"], apart, table)


@pytest.mark.campaign
def test_a_killed_run_goes_on_and_leaves_three_results(tmp_path: Path) -> None:
    subject, calls = bert(), []
    out = tmp_path / "out"

    class Stop:
        def start(self, name: str, total: int, done: int) -> None:
            calls.append(name)
            if len(calls) == 2:
                raise KeyboardInterrupt

        def advance(self, pieces: int) -> None: ...
        def note(self, text: str) -> None: ...
        def finish(self) -> None: ...

    with pytest.raises(KeyboardInterrupt):
        heads(subject, FEW, out=out, progress=Stop(), checkpoint_every=0)
    assert (out / ".run" / "checkpoint" / "state-choosing.npz").exists()
    results = heads(subject, FEW, out=out, resume=True)
    assert sorted(path.name for path in out.iterdir()) == ["clusters", "relations", "survey"]
    fresh = heads(subject, FEW)
    for name, table in (("survey", "heads"), ("relations", "relations"), ("clusters", "pairs")):
        assert results[name].tables[table] == fresh[name].tables[table]
