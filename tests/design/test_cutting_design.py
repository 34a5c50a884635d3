"""The experiments of ablate and prune under test: a made-up model whose heads do other things on other texts.

What a text's marks, losses and gradients are is told by its name, in place of a forward pass. On the texts to choose
on, the first head of a layer is the best survivor and the least important; on the texts that are scored it is the
worst and the most important. Whoever chooses, or takes gradients, on the scored texts gets another answer than the
one asked for here; so does who forgets a correction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

import twins
from attlas.capture import Subject
from attlas.corpora import Corpus
from attlas.pages import Tables
from attlas.run.setting import as_corpus
from attlas.stats import Bundle, holm
from attlas.studies.ablate.call import ablate
from attlas.studies.ablate.page import PAGE
from attlas.studies.ablate.passes import Ablation
from attlas.studies.prune.call import prune
from attlas.studies.shared.cutting.importance import Importance
from attlas.studies.shared.cutting.removal import OneOff, Removal
from attlas.text import Document

LAYERS, HEADS = 3, 4


@pytest.fixture(scope="module")
def model() -> Subject:
    config = twins.config("bert")
    config.id2label, config.label2id = {0: "bad", 1: "good"}, {"bad": 0, "good": 1}
    torch.manual_seed(0)
    opened = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    return Subject.of(opened, twins.tokenizer(False), "made up")


def texts(kind: str, count: int = 60) -> Corpus:
    labels, words = ("bad", "good"), ["storm"] * 3
    return as_corpus(
        [Document.from_words(words[: 1 + at % 3], name=f"{kind} {at}", label=labels[at % 2]) for at in range(count)]
    )


def chosen_on(example: Any) -> bool:
    return str(example.passage.first.name).startswith("choose")


def number_of(example: Any) -> int:
    return int(example.passage.first.name.split()[-1])


def plant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every pass find what it is told to find."""

    def ablated(self: Ablation, bundle: Bundle, batch: Any) -> None:
        for number, example in batch:
            at, losses = number_of(example), [1.0]
            right = [1.0 if at % 10 else 0.0]
            for cut in self.cuts:
                place = cut.head if chosen_on(example) else HEADS - 1 - cut.head
                if cut.alone:  # the first head loses nothing where heads are chosen, and most where they are scored
                    losses.append(1.0 + 0.5 * place)
                    right.append(right[0] if at % HEADS >= place else 0.0)
                else:
                    rank = cut.site.layer * HEADS + cut.head
                    losses.append(1.0 + 0.02 * rank + 0.001 * (at % 7))
                    right.append(0.0 if at % 9 == 0 and rank < 6 else right[0])
            marks = np.stack([right, np.ones(len(right))], -1)
            bundle["loss"].update([number], np.array([losses]))
            bundle["marks"].update([number], marks[None])

    def graded(self: Importance, bundle: Bundle, items: Any) -> None:
        for item in items:
            example = item[1] if isinstance(item, tuple) else item
            rising = np.arange(1.0, LAYERS * HEADS + 1).reshape(1, LAYERS, HEADS)
            sizes = rising if chosen_on(example) else rising[:, ::-1, ::-1]
            for name in ("encoder-size", "encoder-signed"):
                bundle[name].update(sizes, 1, [example.unit])
            bundle["loss"].update([1.0], 1, [example.unit])

    def removed_alone(self: OneOff, bundle: Bundle, batch: Any) -> None:
        for example in batch:
            rising = np.arange(len(self.units), dtype=float)
            bundle["change"].update((rising if chosen_on(example) else -rising)[None], 1, [example.unit])

    def removed(self: Removal, bundle: Bundle, batch: Any) -> None:
        for number, example in batch:
            right = 0.0 if chosen_on(example) or number_of(example) % 10 == 0 else 1.0
            bundle["marks"].update([number], np.tile([right, 1.0], (1, len(self.gates), 1)))
            bundle["losses"].update([number], np.ones((1, len(self.gates), 2)))

    monkeypatch.setattr(Ablation, "update", ablated)
    monkeypatch.setattr(Importance, "update", graded)
    monkeypatch.setattr(OneOff, "update", removed_alone)
    monkeypatch.setattr(Removal, "update", removed)


def test_survivors_are_chosen_on_the_texts_that_are_not_scored(
    monkeypatch: pytest.MonkeyPatch, model: Subject
) -> None:
    plant(monkeypatch)
    result = ablate(model, texts("score"), "classification", choose_on=texts("choose", 40))
    rows = result.rows("survivors")
    assert [(row["layer"], row["head"]) for row in rows] == [(0, 0), (1, 0), (2, 0)]
    assert all(row["loss_change"] == pytest.approx(1.5) for row in rows)  # the worst where it is scored
    assert all(row["change"] < -0.3 for row in rows)
    assert (result.rows("whole")[0]["n"], result.manifest.corpus["chosen_on"]) == (60, 40)


def test_gradients_are_not_of_the_texts_they_are_correlated_with(
    monkeypatch: pytest.MonkeyPatch, model: Subject
) -> None:
    """Gradients rise with the changes of loss where heads are chosen, and fall with them where they are scored."""
    plant(monkeypatch)
    for survivors in (True, False):
        result = ablate(model, texts("score"), "classification", choose_on=texts("choose", 40), survivors=survivors)
        of = {(row["with"], row["quantity"]): row for row in result.rows("correlation")}
        assert of["importance", "loss"]["spearman"] == pytest.approx(1.0)
        assert of["first order", "loss"]["spearman"] == pytest.approx(-1.0)
        assert [row["importance"] for row in result.rows("ablation")] == list(range(1, LAYERS * HEADS + 1))
        told = [str(finding.text) for finding in PAGE.found(Tables(result, PAGE.schemas, PAGE.derived))]
        assert any("radients were taken on documents (40 texts)" in sentence for sentence in told)


def test_without_other_texts_gradients_are_of_the_other_half(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    read: dict[str, set[str]] = {"gradients": set(), "scored": set()}

    def names(key: str, items: Any) -> None:
        examples = [item[1] if isinstance(item, tuple) else item for item in items]
        read[key].update(example.passage.first.name for example in examples)

    plant(monkeypatch)
    graded, ablated = Importance.update, Ablation.update
    monkeypatch.setattr(
        Importance, "update", lambda self, bundle, items: (names("gradients", items), graded(self, bundle, items))
    )
    monkeypatch.setattr(
        Ablation, "update", lambda self, bundle, items: (names("scored", items), ablated(self, bundle, items))
    )
    ablate(model, texts("score"), "classification", survivors=False)
    assert not read["gradients"] & read["scored"]
    assert len(read["gradients"]) + len(read["scored"]) == 60


def test_p_is_corrected_for_the_number_of_cuts(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    plant(monkeypatch)
    result = ablate(model, texts("score", 80), "classification", choose_on=texts("choose", 40))
    for table in ("ablation", "survivors"):
        rows = result.rows(table)
        for p, corrected in (("p", "p_corrected"), ("loss_p", "loss_p_corrected")):
            assert [row[corrected] for row in rows] == pytest.approx(holm([row[p] for row in rows]).tolist())
    rows = result.rows("ablation")
    assert any(row["p"] < 0.01 < row["p_corrected"] for row in rows)  # alone it would be taken for sure
    told = str(PAGE.found(Tables(result, PAGE.schemas, PAGE.derived))[0].text)
    assert told.startswith("0 of 12 heads matter at p < 0.01 (Holm's correction)")


def test_documents_are_swapped_as_a_whole(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    """Windows of one document change alike; taken for independent, they would make anything sure."""

    def ablated(self: Ablation, bundle: Bundle, batch: Any) -> None:
        for number, example in batch:
            change = 1.0 if number_of(example) // 10 % 5 else -1.0  # of twenty documents, four the other way
            bundle["loss"].update([number], np.array([[3.0] + [3.0 + change] * len(self.cuts)]))
            marks = np.tile([1.0 if number_of(example) % 10 else 0.0, 1.0], (1 + len(self.cuts), 1))
            bundle["marks"].update([number], marks[None])

    plant(monkeypatch)
    monkeypatch.setattr(Ablation, "update", ablated)
    documents = texts("score", 200).documents
    how: dict[str, Any] = {"choose_on": texts("choose", 20), "survivors": False, "heads": "1-1", "importance": False}

    def unit(reading_task: Any, corpus: Corpus, *args: Any, **more: Any) -> Any:
        reading = original(reading_task, corpus, *args, **more)
        from dataclasses import replace

        reading.keep(replace(e, unit=number_of(e) // 10 if by_document else e.unit) for e in reading.examples)
        return reading

    from attlas.run import tasks

    original, p = tasks.read_for_task, {}
    monkeypatch.setattr(tasks, "read_for_task", unit)
    for by_document in (False, True):
        result = ablate(model, documents, "classification", **how)
        p[by_document] = result.rows("ablation")[0]["loss_p"]
    assert p[False] < 0.0005
    assert 0.002 < p[True] < 0.05


def test_orders_are_made_on_the_texts_that_are_not_scored(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    plant(monkeypatch)
    result = prune(model, texts("score"), "classification", choose_on=texts("choose", 40), steps=3)
    rows = result.rows("order")
    assert [row["loss_turn"] for row in rows] == list(range(LAYERS * HEADS))
    assert [row["loss"] for row in rows] == list(range(LAYERS * HEADS))
    assert [row["importance_size"] for row in rows] == list(range(1, LAYERS * HEADS + 1))
    curve = result.rows("curve")
    assert all(row["score"] == pytest.approx(0.9) and row["n"] == 60 for row in curve)  # of the scored texts alone
    assert result.manifest.corpus["chosen_on"] == 40


def test_a_curve_is_of_the_orders_that_were_made(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    """Removing the heads that cost least first, the score falls late; in the reverse order it falls at once."""

    def removed(self: Removal, bundle: Bundle, batch: Any) -> None:
        for number, example in batch:
            marks = []
            for gates in self.gates:
                gone = [layer * HEADS + head for layer in range(LAYERS) for head in range(HEADS)
                        if not closed(gates, layer)[head]]  # fmt: skip
                right = 0.0 if any(place >= 8 for place in gone) or number_of(example) % 10 == 0 else 1.0
                marks.append([right, 1.0])
            bundle["marks"].update([number], np.array([marks]))
            bundle["losses"].update([number], np.ones((1, len(self.gates), 2)))

    def closed(gates: Any, layer: int) -> list[float]:
        rows = {site.layer: row.tolist() for site, row in gates.xi.items()}
        return rows.get(layer, [1.0] * HEADS)

    plant(monkeypatch)
    monkeypatch.setattr(Removal, "update", removed)
    result = prune(
        model, texts("score"), "classification", by="loss", choose_on=texts("choose", 40), steps=12, reverse=True
    )
    shares = {(row["order"], row["fall"]): row["share"] for row in result.rows("shares") if row["draw"] == 0}
    assert shares["loss", 0.01] == pytest.approx(8 / 12, abs=0.01)
    assert shares["loss reversed", 0.01] < 0.01
