"""Agreement, erasing and the card: against naive loops, and on figures that were planted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

import faith_models
from attlas.studies.faith.agreement import agree, agreement_rows, erasure_rows, pairs_of
from attlas.studies.faith.erasing import SHARES, Erasing
from attlas.studies.faith.explaining import DRAWS, LAST, Explained, Explaining
from attlas.studies.faith.explanations import REFERENCES, Named
from attlas.studies.faith.middles import median_over_units, over_units
from attlas.studies.shared.faith.instances import texts_of


def test_agreement_is_that_of_a_loop_over_instances() -> None:
    rng = np.random.default_rng(0)
    names = (LAST, *map(Named, REFERENCES), *[Named("random")] * DRAWS)
    values, real = rng.random((12, len(names), 30)), np.arange(30) < rng.integers(5, 30, (12, 1))
    explained = Explained(names, values, real, {}, np.zeros((12, 2)))
    table = agreement_rows(pairs_of(explained), real, list(range(12)))
    rows = [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]
    assert len(rows) == 3 * (1 + 2 + 1)
    for against, beside in zip(REFERENCES, (1, 2, 3), strict=True):
        taus, overlaps, sure, first = [], [], [], []
        for one, other, there in zip(values[:, 0], values[:, beside], real, strict=True):
            a, b = one[there], other[there]
            found = kendalltau(a, b, method="asymptotic")
            k = math.ceil(len(a) / 10)
            first.append(k)
            taus.append(found.statistic)
            sure.append(found.pvalue < 0.05)
            overlaps.append(len(set(np.argsort(-a)[:k]) & set(np.argsort(-b)[:k])) / k)
        row = next(row for row in rows if row["explanation"] == "weight" and row["against"] == against)
        assert row["tau"] == pytest.approx(np.mean(taus))
        assert row["overlap"] == pytest.approx(np.mean(overlaps))
        assert row["significant"] == pytest.approx(np.mean(sure))
        assert row["low"] < row["tau"] < row["high"]
        assert (row["k"], row["n"]) == (pytest.approx(np.mean(first)), 12)
    random = [row for row in rows if row["explanation"] == "random"]
    assert all(abs(row["tau"]) < 0.2 for row in random)


def test_an_explanation_agrees_with_itself_and_not_with_its_opposite() -> None:
    values, every = np.random.default_rng(1).random((3, 15)), np.ones((3, 15), dtype=bool)
    assert agree(values, 2 * values, every).tau.tolist() == [1.0] * 3
    opposite = agree(values, -values, every)
    assert opposite.tau.tolist() == [-1.0] * 3
    assert opposite.overlap.tolist() == [0.0] * 3


def test_intervals_are_wider_where_instances_come_in_few_texts() -> None:
    rng = np.random.default_rng(2)
    values = np.repeat(rng.normal(0, 1, 25), 8) + rng.normal(0, 0.1, 200)
    free, clustered = over_units(values, range(200)), over_units(values, np.repeat(np.arange(25), 8).tolist())
    assert (free.value, clustered.value) == pytest.approx((values.mean(), values.mean()))
    assert clustered.high - clustered.low > 2 * (free.high - free.low)
    width = 2 * 1.96 * values.std() / math.sqrt(200)
    assert free.high - free.low == pytest.approx(width, rel=0.1)
    middle = median_over_units(values, range(200))
    assert middle.value == np.median(values)
    assert middle.low < middle.value < middle.high
    together = median_over_units(values, np.repeat(np.arange(25), 8).tolist())
    assert together.high - together.low > 1.5 * (middle.high - middle.low)
    assert math.isnan(over_units([0.5, math.nan], [0, 1]).low)
    assert math.isnan(median_over_units([0.5, 0.6, 0.7], [0, 1, 2]).low)
    assert median_over_units([0.5, 0.6, 0.7], [0, 1, 2]).value == 0.6


def _erased(task: Any, instance: Any, kept: set[int]) -> np.ndarray:
    """What the model itself says of a text with some of its words, cut by hand."""
    source = instance.example.source
    ids = [
        piece for piece, word in zip(source.ids, source.segmentation.words, strict=True) if word < 0 or word in kept
    ]
    with torch.no_grad():
        found: np.ndarray = task.subject.model(torch.tensor([ids])).logits.softmax(-1)[0].numpy()
    return found


def test_what_is_lost_is_what_a_loop_over_shares_of_words_loses() -> None:
    task, instances = faith_models.posed()
    count = max(instance.example.source.segmentation.word_count for instance in instances)
    values = np.random.default_rng(3).random((len(instances), 2, count))
    study = Erasing(task, values)
    bundle = study.empty()
    study.update(bundle, list(enumerate(instances))[:2])
    study.update(bundle, list(enumerate(instances))[2:])
    lost = bundle["lost"].result()
    for number, instance in enumerate(instances):
        words = range(instance.example.source.segmentation.word_count)
        whole = _erased(task, instance, set(words))
        label = whole.argmax()
        for place in (0, 1):
            order = sorted(words, key=lambda word: -values[number, place, word])
            gone, left = [], []
            for share in SHARES:
                k = max(1, math.ceil(share * len(words)))
                gone.append(whole[label] - _erased(task, instance, set(order[k:]))[label])
                left.append(whole[label] - _erased(task, instance, set(order[:k]))[label])
            assert lost[number, place] == pytest.approx([np.mean(gone), np.mean(left)], abs=1e-5)
    rows = erasure_rows([LAST, Named("random")], lost, texts_of(instances))
    assert rows["over_random"][0] == pytest.approx((lost[:, 0, 0] - lost[:, 1, 0]).mean())
    assert rows["over_random"][1] is None


def test_words_can_be_masked_where_they_stand() -> None:
    task, instances = faith_models.posed("tagging:upos", "bert", per_text=2)
    words = max(instance.example.source.segmentation.word_count for instance in instances)
    values = np.random.default_rng(4).random((len(instances), 1, words))
    found = []
    for way in ("delete", "mask"):
        study = Erasing(task, values, way=way)
        bundle = study.empty()
        study.update(bundle, list(enumerate(instances)))
        found.append(bundle["lost"].result())
    assert np.isfinite(found).all()
    assert not np.allclose(*found)


def test_all_is_written_down_and_the_same_in_any_batches() -> None:
    task, instances = faith_models.posed("tagging:upos", "bert", per_text=2)
    study = Explaining(task, instances, [LAST], steps=3)
    items = list(enumerate(instances))
    one, two = study.empty(), study.empty()
    study.update(one, items)
    study.update(two, items[3:])
    study.update(two, items[:3])
    whole, parts = study.result(one), study.result(two)
    assert whole.values == pytest.approx(parts.values, rel=1e-3, abs=1e-5)
    assert whole.names[0] == LAST
    assert whole.facts["largest"] == pytest.approx(whole.values[:, 0].max(1))
    assert whole.facts["confidence"].min() >= 1 / 3
    near = whole.values[0, -DRAWS - 1]
    assert near.argmax() == instances[0].place
    gold = [faith_models.LABELS["tagging:upos"][int(label)] for label in whole.facts["label"]]
    assert gold == [instance.example.passage.first.upos[instance.place] for instance in instances]
