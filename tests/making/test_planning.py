"""Which studies fit a model and its corpora, and what is said of those that do not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

import pytest

from attlas.errors import CorpusError, PlanError
from attlas.making import given, planning
from attlas.making.given import Models
from attlas.making.planning import Step, plan, unread, wanted
from attlas.run.parameters import Model, Running, Texts, study_call
from attlas.studies import Fits, Study, studies
from tools.same_figures.inputs import Inputs

LIGHT = ["align", "clusters", "coref", "importance", "noop", "norms", "relations", "roles", "survey"]


def planned(
    inputs: Inputs, model: str, *corpora: str, only: Sequence[str] | None = None, **more: Any
) -> tuple[dict[str, Step], dict[str, str]]:
    """The steps by the studies that they give, and the reasons of those that do not fit."""
    texts = [given.Texts(inputs[name]) for name in corpora]
    steps, unfit = plan(Models(inputs[model]), texts, wanted(only), **more)
    return {name: step for step in steps for name in step.gives}, {each.study: each.reason for each in unfit}


def test_light_studies_take_part_by_themselves_and_heavy_ones_by_name() -> None:
    assert [study.name for study in wanted(None)] == LIGHT
    assert [study.name for study in wanted(None, ["parse"])] == [*LIGHT, "parse"]
    assert [study.name for study in wanted(["prune", "norms"])] == ["norms", "prune"]
    assert [study.name for study in wanted(["heads"])] == ["clusters", "relations", "survey"], "what the pass gives"
    with pytest.raises(PlanError, match="no study 'tune' that takes part in an atlas; there are align, clusters"):
        wanted(["tune"])


def test_a_treebank_is_gone_over_once_for_three_studies(inputs: Inputs) -> None:
    steps, unfit = planned(inputs, "bert", "treebank one")
    assert steps["survey"] is steps["relations"] is steps["clusters"]
    assert steps["survey"].study.name == "heads"
    assert set(steps) == {"survey", "relations", "clusters", "coref", "noop", "norms", "roles"}
    assert set(unfit) == {"align", "importance"}
    alone, _ = planned(inputs, "bert", "treebank one", only=["survey", "relations"])
    assert {step.study.name for step in alone.values()} == {"survey", "relations"}, "not all three were wanted"


def test_what_a_corpus_lacks_is_said(inputs: Inputs) -> None:
    steps, unfit = planned(inputs, "bert", "plain one")
    assert set(steps) == {"survey", "clusters", "norms", "roles"}
    assert steps["survey"].study.name == "survey"
    assert unfit["relations"] == "plain.txt has no dependency trees; a treebank (CoNLL-U) has them"
    assert "it has no mentions" in unfit["coref"]
    assert unfit["noop"].startswith("bert has no head for a task on plain.txt (causal-lm: its checkpoint does not")


def test_each_study_takes_the_first_corpus_that_has_what_it_needs(inputs: Inputs) -> None:
    steps, _ = planned(inputs, "bert", "plain one", "treebank one")
    where = {name: Path(str(step.texts.given)).name for name, step in steps.items() if step.texts is not None}
    assert where["survey"] == where["clusters"] == where["norms"] == "plain.txt"
    assert where["relations"] == where["coref"] == where["noop"] == "treebank.conllu"
    assert steps["survey"].study.name == "survey", "the three are not of one corpus"
    texts = [given.Texts(inputs[name]) for name in ("treebank one", "labelled one")]
    own, _ = plan(Models(inputs["bert"]), texts, wanted(["survey", "relations"]))
    assert unread(own, texts) == ["labelled.tsv"]


def test_each_corpus_is_read_with_the_options_that_are_for_it(inputs: Inputs, tmp_path: Path) -> None:
    trees = tmp_path / "sentiment.txt"
    trees.write_text("(4 (3 fine) (2 day))\n(0 (1 bad) (2 day))\n(2 (2 a) (2 day))\n")
    how = {"label": "five", "unit": "document", "format": None}
    treebank, sentiment = given.Texts.all_of([inputs["treebank one"], trees], how)
    assert "label" not in treebank.how
    assert treebank.how["unit"] == "document"
    assert "unit" not in sentiment.how
    assert {document.label for document in sentiment.read().documents} == {"0", "2", "4"}
    with pytest.raises(CorpusError, match="the option 'label' is for labelled, csv and sst, not for conllu"):
        given.Texts.all_of([inputs["treebank one"]], how)


def test_the_task_is_the_first_that_model_and_corpus_share(inputs: Inputs) -> None:
    only = ["importance", "noop", "ablate", "faith"]
    tasks = {
        (model, corpus): planned(inputs, model, corpus, only=only)
        for model, corpus in (("classifier", "labelled one"), ("llama", "treebank one"), ("tagger", "treebank one"),
                              ("masked", "plain one"), ("marian", "bitext one"))
    }  # fmt: skip
    found = {key: {name: step.task for name, step in steps.items()} for key, (steps, _) in tasks.items()}
    assert found["classifier", "labelled one"] == dict.fromkeys(only, "classification")
    assert found["llama", "treebank one"] == dict.fromkeys(only[:3], "causal-lm")
    assert set(found["tagger", "treebank one"].values()) == {"tagging:upos"}
    assert found["masked", "plain one"] == dict.fromkeys(only[:3], "masked-lm")
    assert found["marian", "bitext one"] == dict.fromkeys(only[:3], "translation")
    assert tasks["llama", "treebank one"][1]["faith"] == "llama has no head for a task on treebank.conllu"
    steps, unfit = planned(inputs, "llama", "treebank one", only=["importance"], task="classification")
    assert not steps
    assert "classification" in unfit["importance"]


def test_a_model_without_a_head_has_one_trained_for_tags_where_a_study_does_that(inputs: Inputs) -> None:
    steps, _ = planned(inputs, "bert", "treebank one", only=["noop"])
    assert (steps["noop"].task, steps["noop"].options["task"]) == ("", "tagging:upos")


def test_words_are_aligned_where_there_is_gold(inputs: Inputs) -> None:
    _, unfit = planned(inputs, "marian", "bitext one", only=["align"])
    assert unfit["align"] == "bitext.txt has no gold links of words, by which heads are scored; give some (--gold)"
    steps, _ = planned(inputs, "marian", "bitext one", only=["align"], links={"gold": inputs["gold one"]})
    assert steps["align"].options["gold"] == inputs["gold one"]


@study_call()
def call_of_another(subject: Model = None, corpus: Texts = "sample", **running: Unpack[Running]) -> None:
    """A study of another package; it is not called here."""


def needs_long_texts(subject: Any, corpus: Any) -> str:
    """What a study of another package needs, in its own words."""
    short = max(len(document.words) for document in corpus.documents) < 1000
    return f"{corpus.name} has no text of a thousand words" if short else ""


@pytest.mark.parametrize(
    ("needs", "reason"), [((), ""), ((f"{__name__}:needs_long_texts",), "plain.txt has no text")]
)
def test_a_study_of_another_package_takes_part_by_its_record(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch, needs: tuple[str, ...], reason: str
) -> None:
    record = Study("mine", call=f"{__name__}:call_of_another", fits=Fits(needs=needs))
    monkeypatch.setattr(planning, "studies", lambda: {**studies(), "mine": record})
    steps, unfit = planned(inputs, "bert", "plain one", only=["mine"])
    if reason:
        assert unfit["mine"].startswith(reason)
    else:
        assert steps["mine"].study is record


def test_a_need_that_nobody_knows_is_named(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    record = Study("mine", call="attlas.studies.survey.call:survey", fits=Fits(needs=("shyness",)))
    monkeypatch.setattr(planning, "studies", lambda: {**studies(), "mine": record})
    with pytest.raises(PlanError, match="there is no need 'shyness'"):
        planned(inputs, "bert", "plain one", only=["mine"])
