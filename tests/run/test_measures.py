"""The measure of attention: one option with the same words and the same refusals in every study that has it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import twins
from attlas.capture import Subject
from attlas.cli.app import app
from attlas.corpora import read
from attlas.errors import CapabilityError
from attlas.studies.clusters.call import clusters
from attlas.studies.coref.call import coref
from attlas.studies.heads.call import heads
from attlas.studies.noop.call import noop
from attlas.studies.parse.call import parse
from attlas.studies.relations.call import relations
from attlas.studies.reporting import page_of
from attlas.text import Document

STUDIES: dict[str, Callable[..., Any]] = {
    "clusters": clusters, "coref": coref, "heads": heads, "parse": parse, "relations": relations,
}  # fmt: skip
WITHOUT = ("ablate", "importance", "noop", "prune", "survey", "tune")
FEW = read("sample").documents[:8]


def bert() -> Subject:
    return Subject.of(twins.model("bert"), twins.tokenizer(False), "bert")


def closed() -> Subject:
    """A subject whose W_O was not found."""
    subject = bert()
    subject.layout.projections.clear()
    return subject


@pytest.mark.parametrize("name", STUDIES)
def test_refusals_are_the_same_everywhere(name: str) -> None:
    study = STUDIES[name]
    assert inspect.signature(study).parameters["measure"].default == "weight"
    with pytest.raises(CapabilityError, match=r"^there is no measure 'weights'; choose weight or norm$"):
        study(bert(), FEW, measure="weights")
    with pytest.raises(CapabilityError, match=r"^bert: no matrix W_O takes the heads as they leave"):
        study(closed(), FEW, measure="norm")


def test_every_command_that_has_a_measure_says_so_with_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.testing._get_command", functools.cache(get_command))  # they take a while to make
    runner = CliRunner()
    for name in (*STUDIES, "view", *WITHOUT):
        shown = " ".join(runner.invoke(app, [name, "--help"], env={"COLUMNS": "200"}).output.split())
        assert ("--measure" in shown) == (name not in WITHOUT), name
        assert name in WITHOUT or "norm (of weight times vector)" in shown, name


def test_a_noop_test_without_norms_leaves_their_columns_empty() -> None:
    texts = [Document.from_words([noun, "slept"], upos=["NOUN", "VERB"]) for noun in ("Cats", "Dogs", "Men", "Cows")]
    for subject, known in ((bert(), True), (closed(), False)):
        rows = noop(subject, texts, task="tagging:upos").tables["noop_layers"].to_pylist()
        assert {row["norm"] is not None for row in rows} == {known}
        assert all(row["weight"] is not None for row in rows)


def test_pages_say_by_which_measure() -> None:

    said = "by the norms ‖αf(x)‖, each row divided by its sum, in place of the weights α"
    by_norm, by_weight = (page_of(clusters(bert(), FEW, measure=measure)) for measure in ("norm", "weight"))
    assert said in by_norm
    assert said not in by_weight
    page = page_of(relations(bert(), FEW, measure="norm"))
    assert "the word with the largest norm ‖αf(x)‖ between them" in page
    assert "&quot;measure&quot;: &quot;norm&quot;" in page, "examples open in the measure that they were found by"
    found = parse(bert(), FEW, measure="norm", epochs=1, structural=False)
    assert "in all 12 heads, by norms ‖αf(x)‖;" in page_of(found)
