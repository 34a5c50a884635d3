"""Three studies in one pass, against each of them alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twins
from attlas.capture import Subject
from attlas.corpora import read
from attlas.run.setting import as_corpus
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
    together = heads(subject, FEW, measure=measure, twins=2)
    chosen_on, scored_on = as_corpus(FEW).halves(0)
    ordered = [*scored_on.documents, *chosen_on.documents]  # as units are numbered there
    alone = {
        "survey": survey(subject, ordered, max_pieces=128),
        "relations": relations(subject, FEW, max_pieces=128, measure=measure, twins=2),
    }
    for table in ("relations", "relation_heads", "offsets"):
        assert_alike(together["relations"], alone["relations"], table)
    for table in ("heads", "pos", "spearman", "portraits"):
        assert_alike(together["survey"], alone["survey"], table)
    apart = clusters(subject, ordered, max_pieces=128, measure=measure, twins=2)
    for table in ("pairs", "layer_pairs", "togetherness"):
        assert_alike(together["clusters"], apart, table)


def test_units_of_both_halves_are_told_apart() -> None:
    """Thirty sentences are thirty units, of which relations are scored on half."""
    results = heads(bert(), FEW, twins=1)
    scored = results["relations"].manifest.corpus["scored_on"]
    assert {name: result.manifest.corpus["units"] for name, result in results.items()} == {
        "survey": 30,
        "relations": scored,
        "clusters": 30,
    }
    alone = survey(bert(), FEW, max_pieces=128).rows("heads")
    ends = [(row["value"], row["low"], row["high"]) for row in alone if row["low"] is not None]
    together = [(row["value"], row["low"], row["high"]) for row in results["survey"].rows("heads")]
    np.testing.assert_allclose([row for row in together if row[1] is not None], ends, rtol=1e-3, atol=1e-5)


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
    (out / ".tryingAbC.new").touch()  # as a kill leaves it while the place is tried
    results = heads(subject, FEW, out=out, resume=True)
    assert sorted(path.name for path in out.iterdir()) == ["clusters", "relations", "survey"]
    fresh = heads(subject, FEW)
    for name, table in (("survey", "heads"), ("relations", "relations"), ("clusters", "pairs")):
        assert results[name].tables[table] == fresh[name].tables[table]
