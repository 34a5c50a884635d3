"""The experiment of norms under test: twins are other models than the one studied, and documents are the units.

The figures of twins are asked for twice: beside a model, and of each twin as a model of its own. Whoever takes the
model for its twin, or one twin for several, gets another answer; so does whoever takes texts of one document for
independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import twins
from attlas.capture import Subject
from attlas.capture.reading import read_documents
from attlas.corpora import Corpus
from attlas.ids import Stream
from attlas.studies.norms import passes
from attlas.studies.norms.call import norms
from attlas.studies.norms.passes import Norms
from attlas.studies.norms.tables import REPLICATES, _copies, seen_of
from attlas.tasks import text_seed
from attlas.text import Document

WORDS = "The farmer near the old bridge offered {} apples, it is said."
TEXTS = [Document.from_text(WORDS.format(number)) for number in range(8)]
KEYS = {
    "norms": ("layer", "head", "keys"),
    "norms_layers": ("layer", "keys"),
    "spearman": ("layer", "head", "keys", "over"),
    "frequency": ("layer", "head", "words"),
    "bands": ("layer", "rank_from"),
    "mixing": ("layer", "step", "queries"),
}
FIGURES = {"norms": ("weight", "norm", "length", "relative"), "norms_layers": ("joint", "mean_joint", "weight")}


@pytest.fixture(scope="module")
def model() -> Subject:
    return Subject.of(twins.model("bert"), twins.tokenizer(False), "made up")


def rows_of(result: Any, table: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {tuple(row[name] for name in KEYS[table]): row for row in result.rows(table)}


def test_twins_are_untrained_models_of_their_own_and_stand_with_their_spread(model: Subject) -> None:
    own = norms(model, TEXTS, twins=3)
    others = [norms(model.twin(seed), TEXTS, twins=1) for seed in (0, 1, 2)]
    apart = 0
    for table in KEYS:
        ours, theirs = rows_of(own, table), [rows_of(other, table) for other in others]
        for place, row in ours.items():
            for name in FIGURES.get(table, ("value",)):
                twin = "twin" if name == "value" else f"twin_{name}"
                values = [other[place][name] for other in theirs if place in other]
                if len(values) < 3 or row[twin] is None:
                    continue
                assert row[twin] == pytest.approx(np.mean(values), abs=1e-5), (table, place, name)
                if f"{twin}_low" in row:
                    ends = row[f"{twin}_low"], row[f"{twin}_high"]
                    assert ends == pytest.approx((min(values), max(values)), abs=1e-5)
                    apart += max(values) - min(values) > 1e-3
                assert row["twins"] == 3
    assert apart > 50, "twins differ from each other"
    heads = rows_of(own, "norms").values()
    assert sum(abs(row["weight"] - row["twin_weight"]) > 0.02 for row in heads) > len(heads) / 3, "and from the model"


def test_no_interval_leaves_its_range(model: Subject) -> None:
    result = norms(model, TEXTS, twins=1)
    known = 0
    for table, name, (least, most) in (
        ("norms", "weight", (0, 1)), ("norms", "norm", (0, 1)), ("norms_layers", "joint", (0, 1)),
        ("norms_layers", "length", (0, np.inf)), ("spearman", "value", (-1, 1)), ("frequency", "value", (-1, 1)),
        ("mixing", "value", (0, 1)), ("bands", "value", (0, np.inf)),
    ):  # fmt: skip
        prefix = "" if name == "value" else f"{name}_"
        for row in result.rows(table):
            if row[f"{prefix}low"] is not None:
                assert least <= row[f"{prefix}low"] <= row[f"{prefix}high"] <= most, (table, name, row)
                known += 1
    assert known > 100


def test_texts_of_a_document_are_drawn_together(model: Subject) -> None:
    texts = [Document.from_text(f"The farmer offered {number} apples.") for number in range(32)]
    reading = read_documents(model, texts, articles=[number // 2 for number in range(32)])
    study = Norms(model)
    bundle = study.empty()
    study.update(bundle, reading.examples)
    units = {text_seed(example.passage, 0) >> 1: example.unit for example in reading.examples}
    cases = bundle["encoder-pairs"].result()[-1]
    copies = _copies(cases, units, REPLICATES)
    unit = np.array([units[int(text)] for text in cases.places[:, 0]])
    assert len(set(unit)) == 16
    for number in set(unit):
        of_unit = copies[1:, unit == number]
        assert (of_unit == of_unit[:, :1]).all()
    assert (copies[0] == 1).all()
    assert not (copies[1:, unit == 0][:, 0] == copies[1:, unit == 1][:, 0]).all()
    seen = seen_of(study, bundle, reading.examples)[Stream.ENCODER]
    assert all(by_layer[0][0].shape[1] == 1 + REPLICATES for by_layer in seen.related.values())


@pytest.mark.parametrize("sign", [1, -1])
def test_a_turned_sign_is_told(monkeypatch: pytest.MonkeyPatch, model: Subject, sign: int) -> None:
    """Lengths that rise with the weight, or fall with it, in every pair that is drawn."""
    take = passes._Pass.take

    def planted(self: Any, call: Any) -> None:
        take(self, call)
        *_, layer = layers = self.taken[call.site.stream]
        alpha = layer.pairs[..., :1]
        lengths = (alpha * 100 + 1) if sign > 0 else 1 / (alpha * 100 + 1)
        layers[-1] = layer._replace(pairs=torch.cat([alpha, lengths], -1))

    monkeypatch.setattr(passes._Pass, "take", planted)
    rows = [row for row in norms(model, TEXTS, twins=1).rows("spearman") if row["over"] == "pairs"]
    assert rows
    assert all(row["value"] * sign > 0.99 for row in rows)


def test_documents_are_the_units_of_all_intervals(model: Subject) -> None:
    """Each text twice in one document is as wide as each once: what is the same is no further evidence."""
    once = [Document.from_text(f"The farmer near the bridge offered {number} apples.") for number in range(16)]
    twice = tuple(text for text in once for _ in range(2))
    corpus = Corpus(twice, "documents", "corpus", "", tuple(number // 2 for number in range(32)))
    short, long = (norms(model, given, twins=1) for given in (once, corpus))
    assert long.manifest.corpus["unit"] == "document"
    for table, low, high in (("norms", "weight_low", "weight_high"), ("frequency", "low", "high")):
        one, other = (rows_of(result, table) for result in (short, long))
        for place, row in one.items():
            if row[low] is not None:
                assert (other[place][low], other[place][high]) == pytest.approx((row[low], row[high]), abs=1e-4)
