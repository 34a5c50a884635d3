"""Cutting heads: the study against full passes text by text, survivors, means, and the run as a whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import twins
from attlas.capture import Gates, Subject
from attlas.errors import CapabilityError, CorpusError, PlanError
from attlas.ids import HeadId, Site, Stream
from attlas.models import AttentionCall, Instrument
from attlas.pages.laws import check_page
from attlas.run.progress import Silent
from attlas.run.setting import as_corpus
from attlas.run.tasks import read_for_task, task_for
from attlas.stats import METRICS
from attlas.studies.ablate.call import ablate
from attlas.studies.ablate.page import PAGE
from attlas.studies.ablate.passes import Ablation, Cut, Means, every_head
from attlas.studies.ablate.tables import choose, effects
from attlas.text import Document

HEADED = {
    "causal-lm": ("llama", "AutoModelForCausalLM"),
    "translation": ("marian", "AutoModelForSeq2SeqLM"),
    "tagging:upos": ("bert", "AutoModelForTokenClassification"),
    "classification": ("roberta", "AutoModelForSequenceClassification"),
    "similarity": ("bert", "AutoModel"),
}
LABELS = {"tagging:upos": ("NOUN", "VERB", "X"), "classification": ("bad", "good")}
TASKS = sorted(HEADED)


def subject(task: str) -> Subject:
    family, auto = HEADED[task]
    config = twins.config(family)
    if task in LABELS:
        config.id2label = dict(enumerate(LABELS[task]))
        config.label2id = {label: number for number, label in config.id2label.items()}
    torch.manual_seed(0)
    model = getattr(transformers, auto).from_config(config).eval()
    twins.spread(model)
    return Subject.of(model, twins.tokenizer(family in twins.CAUSAL), family)


def corpus(task: str, copies: int = 1) -> Any:
    made = []
    for number, sentence in enumerate(twins.SENTENCES[:4] * copies):
        plain = Document.from_text(sentence if number < 4 else f"{sentence} {'Again. ' * (number // 4)}".strip())
        more: dict[str, Any] = {"upos": tuple(["NOUN", "VERB", "X", "NOUN"] * 12)[: len(plain.words)]}
        if task == "translation":
            more["translation"] = Document.from_text(twins.SENTENCES[(number + 1) % 4])
        elif task == "similarity":
            more |= {"label": str(number % 3), "pair": Document.from_text(twins.SENTENCES[(number + 1) % 4])}
        else:
            more["label"] = ("good", "bad", "good", "bad")[number % 4]
        made.append(replace(plain, name=f"text {number}", **more))
    return as_corpus(made)


def texts_of(task: Any, texts: Any) -> list[Any]:
    return list(enumerate(read_for_task(task, texts).examples))


def filled(study: Any, items: list[Any]) -> Any:
    bundle = study.empty()
    study.update(bundle, items[:2])
    study.update(bundle, items[2:])
    return bundle


@pytest.mark.parametrize("name", TASKS)
def test_every_cut_gives_what_a_full_pass_over_each_text_gives(name: str) -> None:
    model, texts = subject(name), corpus(name)
    task = task_for(model, name, texts, score="perplexity" if name == "translation" else None)
    cuts = [*every_head(model, task.streams)[::3], *every_head(model, task.streams, alone=True)[::5]]
    items = texts_of(task, texts)
    study = Ablation(task, cuts, len(items))
    bundle = filled(study, items)
    losses, marks = bundle["loss"].result(), bundle["marks"].result()
    for number, example in items:
        question = task.ask([example])
        for place, gates in enumerate([Gates({})] + [Gates({c.site: c.gates(model.heads(c.site))}) for c in cuts]):
            with torch.no_grad(), model.use(gates):
                expected = task.judge(question, model.run(question.batch, **task.options))
            assert losses[number, place] == pytest.approx(expected.mean.item(), abs=1e-4)
            assert marks[number, place] == pytest.approx(expected.marks[0].double().numpy(), abs=1e-3)


def test_what_a_cut_model_writes_is_what_it_writes_by_itself() -> None:
    model, texts = subject("translation"), corpus("translation")
    task = task_for(model, "translation", texts, score="bleu")
    cuts = [Cut(Site(stream, 1), 2, alone) for stream in Stream for alone in (False, True)]
    items = texts_of(task, texts)
    study = Ablation(task, cuts, len(items))
    bundle = study.empty()
    study.update(bundle, items[:2])
    marks = bundle["marks"].result()
    question = task.ask([example for _, example in sorted(items[:2], key=lambda item: item[1].source.length)])
    order = sorted((0, 1), key=lambda number: items[number][1].source.length)
    for place, gates in enumerate([Gates({})] + [Gates({cut.site: cut.gates(4)}) for cut in cuts]):
        with model.use(gates):
            assert marks[order, place].tolist() == task.answer(question).tolist(), place


class Watch(Instrument):
    """All outputs of a site, the slow way."""

    def __init__(self, site: Site) -> None:
        self.site, self.seen = site, []

    def finish(self, call: AttentionCall, output: torch.Tensor) -> torch.Tensor:
        if call.site == self.site:
            self.seen.append(output[0])
        return output


def test_means_are_over_all_places_of_all_texts() -> None:
    model, texts = subject("tagging:upos"), corpus("tagging:upos")
    task = task_for(model, "tagging:upos", texts)
    items = texts_of(task, texts)
    study = Means(task)
    found = study.result(filled(study, items))
    watch = Watch(model.sites[1])
    with torch.no_grad(), model.use(watch):
        for _, example in items:
            model.run(task.ask([example]).batch)
    assert torch.allclose(found[model.sites[1]], torch.cat(watch.seen).mean(0), atol=1e-5)
    cut = Cut(model.sites[1], 2)
    cut_to_mean = Ablation(task, [cut], len(items), means=found)
    losses = filled(cut_to_mean, items)["loss"].result()

    class Replace(Instrument):
        def finish(self, call: AttentionCall, output: torch.Tensor) -> torch.Tensor:
            if call.site == cut.site:
                output = output.clone()
                output[:, :, 2] = found[cut.site][2]
            return output

    question = task.ask([items[0][1]])
    with torch.no_grad(), model.use(Replace()):
        expected = task.judge(question, model.run(question.batch, **task.options)).mean.item()
    assert losses[0, 1] == pytest.approx(expected, abs=1e-5)


def test_the_survivor_is_the_head_that_leaves_most() -> None:
    model, texts = subject("classification"), corpus("classification")
    task = task_for(model, "classification", texts)
    cuts = every_head(model, task.streams, alone=True)
    study = Ablation(task, cuts, 2)
    bundle = study.empty()
    losses, marks = np.ones((2, 13)), np.ones((2, 13, 2))
    marks[:, 1:, 0] = 0  # every survivor ruins the score ...
    marks[0, 1 + 4 + 3, 0] = 1  # ... but the last of layer 1, half of it
    losses[:, 1 + 8 + 2] = 0.5  # and in layer 2 only the loss tells them apart
    bundle["loss"].update([0, 1], losses)
    bundle["marks"].update([0, 1], marks)
    assert [(cut.site.layer, cut.head) for cut in choose(study, bundle)] == [(0, 0), (1, 3), (2, 2)]
    found = effects(study, bundle, tested=False)
    assert found.score.whole == 1.0
    assert found.score.change[7] == -0.5


def test_a_run_has_all_its_tables_and_repeats() -> None:
    model, texts = subject("classification"), corpus("classification", 3)
    result = ablate(model, texts, "classification", other=corpus("classification", 2), seed=3)
    assert list(result.tables) == ["ablation", "survivors", "other", "whole", "correlation"]
    rows, layers = result.tables["ablation"].to_pylist(), result.tables["survivors"].to_pylist()
    assert len(rows) == 12
    assert [row["layer"] for row in layers] == [0, 1, 2]
    assert all(row["p_corrected"] >= row["p"] and row["loss_p_corrected"] >= row["loss_p"] for row in rows)
    whole = result.tables["whole"].to_pylist()
    assert [one["part"] for one in whole] == ["scored", "other"]
    assert whole[0]["n"] + result.manifest.corpus["chosen_on"] == 12
    assert whole[0]["chance"] >= 0.5
    for row in rows:
        assert row["change"] == pytest.approx(row["score"] - whole[0]["score"])
        assert row["loss_change_low"] <= row["loss_change"] <= row["loss_change_high"]
    kinds = {(row["with"], row["quantity"]) for row in result.tables["correlation"].to_pylist()}
    assert {("importance", "loss"), ("other corpus", "score"), ("first order", "loss")} <= kinds
    check_page(PAGE, result)
    again = ablate(model, texts, "classification", other=corpus("classification", 2), seed=3, budget=40)
    for name in ("ablation", "survivors", "other"):
        for one, other in zip(result.tables[name].to_pylist(), again.tables[name].to_pylist(), strict=True):
            assert one["loss_change"] == pytest.approx(other["loss_change"], abs=1e-5)


def test_the_score_may_be_the_loss_and_means_may_stand_in() -> None:
    model, texts = subject("translation"), corpus("translation", 2)
    named = ["encoder 1-2", "cross 2-4"]
    result = ablate(model, texts, "translation", score="loss", means=True, heads=named, importance=False)
    rows, whole = result.tables["ablation"].to_pylist(), result.tables["whole"].to_pylist()[0]
    assert (whole["metric"], whole["score"]) == ("loss", whole["loss"])
    check_page(PAGE, result)
    assert [(row["stream"], row["layer"], row["head"]) for row in rows] == [("encoder", 0, 1), ("cross", 1, 3)]
    assert all(row["change"] == row["loss_change"] for row in rows)
    zero = ablate(model, texts, "translation", score="loss", heads=named, importance=False)
    assert zero.tables["ablation"].to_pylist()[0]["loss"] != pytest.approx(rows[0]["loss"], abs=1e-4)
    assert len(result.tables["survivors"]) == 3 + 2 + 2


def test_without_survivors_all_texts_are_scored() -> None:
    model, texts = subject("similarity"), corpus("similarity")
    result = ablate(model, texts, "similarity", survivors=False, importance=False, heads=["1-1"])
    assert result.tables["whole"].to_pylist()[0]["n"] == 4
    assert "survivors" not in result.tables


def test_what_does_not_fit_is_refused() -> None:
    model, texts = subject("classification"), corpus("classification")
    with pytest.raises(CapabilityError, match="4-1"):
        ablate(model, texts, "classification", heads=["4-1"])
    with pytest.raises(CapabilityError, match="3 names no head"):
        ablate(model, texts, "classification", heads=[3])
    with pytest.raises(PlanError, match="no head was named"):
        ablate(model, texts, "classification", heads=[])
    with pytest.raises(PlanError, match="the very texts that are scored"):
        ablate(model, texts, "classification", choose_on=texts)
    unlabelled = as_corpus([Document.from_text("It rained.")])
    with pytest.raises(CorpusError, match="labels of whole texts"):
        ablate(model, texts, "classification", other=unlabelled)
    with pytest.raises(CapabilityError, match="cannot be scored by 'bleu'"):
        ablate(model, texts, "classification", score="bleu")


def test_cuts_are_named_and_metrics_known() -> None:
    assert Cut(Site(Stream.CROSS, 1), 2).id == HeadId(Stream.CROSS, 1, 2)
    model, texts = subject("classification"), corpus("classification")
    matthews = task_for(model, "classification", texts, score="matthews")
    study = Ablation(matthews, [Cut(model.sites[0], 0)], 4)
    assert study.empty()["marks"].shape == (2, 4)
    marks = filled(study, texts_of(matthews, texts))["marks"].result()
    assert marks.sum(-1).tolist() == [[1.0, 1.0]] * 4
    assert METRICS["matthews"].score(marks[:, 0]).shape == ()


class Interrupted(Silent):
    """Stops the run at its so many-th batch."""

    def __init__(self, batches: int) -> None:
        self.left = batches

    def advance(self, pieces: int) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


@pytest.mark.parametrize("batches", [2, 5, 8])
def test_an_interrupted_run_goes_on_to_the_same_bits(batches: int, tmp_path: Path) -> None:
    model, texts = subject("classification"), corpus("classification", 3)
    options: dict[str, Any] = {"budget": 60, "seed": 1, "means": True}
    with pytest.raises(KeyboardInterrupt):
        ablate(model, texts, "classification", out=tmp_path / "out", progress=Interrupted(batches), **options)
    with pytest.raises(PlanError, match="interrupted here"):
        ablate(model, texts, "classification", out=tmp_path / "out", **options)
    resumed = ablate(model, texts, "classification", out=tmp_path / "out", resume=True, **options)
    whole = ablate(model, texts, "classification", **options)
    for name, table in whole.tables.items():
        assert resumed.tables[name].to_pylist() == table.to_pylist(), name
