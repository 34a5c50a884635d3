"""The experiment of the no-op test under test: halves that do not leak, a twin that is not the model, units.

What trains a head and what gradients are measured on is written down on the way. Gradients are made up where their
size or sign matters, so that a class of keys with small ones is known.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

import twins
from attlas.capture import Subject
from attlas.corpora import Corpus
from attlas.studies.noop import lessons, passes
from attlas.studies.noop.call import noop
from attlas.text import Document

TEXTS = [
    Document.from_words(
        ["The", "farmer", "offered", str(number), "apples", "."],
        upos=["DET", "NOUN", "VERB", "NUM", "NOUN", "PUNCT"],
        name=str(number),
    )
    for number in range(24)
]


@pytest.fixture
def model() -> Subject:
    torch.manual_seed(0)
    masked = transformers.BertForMaskedLM(twins.config("bert"))
    twins.spread(masked)
    return Subject.of(masked.eval(), twins.tokenizer(False), "made up")


def rows_of(result: Any) -> dict[tuple[int, str], dict[str, Any]]:
    return {(row["layer"], row["keys"]): row for row in result.rows("noop_layers")}


def test_no_text_is_both_trained_on_and_measured(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    trained: dict[str, set[str]] = {}
    measured: dict[str, set[str]] = {}
    train, update = lessons.train, passes.NoOp.update

    def training(run: Any, studied: Subject, loss: str, reading: Any, name: str) -> Any:
        who = "model" if studied is run.subject else "twin"
        trained.setdefault(who, set()).update(example.passage.first.name for example in reading.examples)
        return train(run, studied, loss, reading, name)

    def measuring(self: Any, bundle: Any, batch: Any) -> None:
        who = "model" if self.subject is model else "twin"
        measured.setdefault(who, set()).update(example.passage.first.name for _, example in batch)
        assert self.task.subject is self.subject
        update(self, bundle, batch)

    monkeypatch.setattr(lessons, "train", training)
    monkeypatch.setattr(passes.NoOp, "update", measuring)
    result = noop(model, TEXTS, "tagging:upos")
    assert trained.keys() == measured.keys() == {"model", "twin"}
    for who in trained:
        assert len(trained[who]) == len(measured[who]) == 12
        assert not trained[who] & measured[who]
    assert result.manifest.corpus["units"] == 12, "those that were measured"


def test_the_twin_is_not_the_model(model: Subject) -> None:
    how: Any = {"task": "masked-lm", "twins": 1}
    ours, theirs = noop(model, TEXTS[:8], **how), noop(model.twin(0), TEXTS[:8], **how)
    for place, row in rows_of(ours).items():
        assert row["twin"] == pytest.approx(rows_of(theirs)[place]["value"], rel=1e-4)
        assert row["twin_relative"] == pytest.approx(rows_of(theirs)[place]["relative"], rel=1e-4)
        assert row["twin"] != pytest.approx(row["value"], rel=1e-3)
        assert row["twins"] == 1
        assert row["twin_low"] is row["twin_relative_high"] is None, "a single draw has no spread"


def test_twins_are_drawn_one_by_one_and_their_spread_is_told(model: Subject) -> None:
    """Five where each costs a pass, with other weights each; one where each would need a training."""
    seeds, own = [], Subject.twin

    def drawing(self: Subject, seed: int = 0) -> Subject:
        seeds.append(seed)
        return own(self, seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Subject, "twin", drawing)
        result = noop(model, TEXTS[:8], "masked-lm")
        assert seeds == [0, 1, 2, 3, 4]
        trained = noop(model, TEXTS, "tagging:upos")
        assert seeds[5:] == [0]
    assert {row["twins"] for row in trained.rows("noop")} == {1}
    singles = [rows_of(noop(model.twin(seed), TEXTS[:8], "masked-lm", twins=1)) for seed in range(5)]
    for place, row in rows_of(result).items():
        for name, ends in (("value", ("twin", "twin_low", "twin_high")),
                           ("relative", ("twin_relative", "twin_relative_low", "twin_relative_high"))):  # fmt: skip
            drawn = [single[place][name] for single in singles]
            told = [row[end] for end in ends]
            assert told == pytest.approx([sum(drawn) / 5, min(drawn), max(drawn)], rel=1e-4)
        assert row["twins"] == 5
    (loss,) = result.rows("loss")
    assert loss["twin_low"] < loss["twin"] < loss["twin_high"]


def plant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients that are known: 1 at every pair but 0.1 at [SEP], the last piece, and all of them negative."""
    run = passes.forward_and_back

    def planted(*asked: Any) -> passes.Passed:
        passed = run(*asked)
        gradients = {}
        for site, gradient in passed.gradients.items():
            known = torch.full_like(gradient, -1.0)
            known[..., -1] = -0.1
            gradients[site] = known
        return passed._replace(gradients=gradients)

    monkeypatch.setattr(passes, "forward_and_back", planted)


def test_a_gradient_counts_by_its_size_and_is_set_against_other_keys(
    monkeypatch: pytest.MonkeyPatch, model: Subject
) -> None:
    plant(monkeypatch)
    rows = rows_of(noop(model, TEXTS[:8], "masked-lm"))
    for layer in range(3):
        assert (rows[layer, "sep"]["value"], rows[layer, "other"]["value"]) == pytest.approx((0.1, 1.0), abs=1e-6)
        assert rows[layer, "sep"]["relative"] == pytest.approx(0.1, abs=1e-6)
        assert rows[layer, "cls"]["relative"] == pytest.approx(1.0, abs=1e-6)


def test_documents_are_the_units_of_intervals(model: Subject) -> None:
    """Each text twice in one document is as wide as each once, by both kinds of interval."""
    once = TEXTS[:16]
    twice = tuple(text for text in once for _ in range(2))
    corpus = Corpus(twice, "documents", "corpus", "", tuple(number // 2 for number in range(32)))
    one, other = (rows_of(noop(model, given, "masked-lm")) for given in (once, corpus))
    wide = 0
    for place, row in one.items():
        for low, high in (("low", "high"), ("relative_low", "relative_high")):
            ends = other[place][low], other[place][high]
            assert ends == pytest.approx((row[low], row[high]), rel=1e-3, abs=1e-6)
            wide += ends[1] - ends[0] > 1e-6
    assert wide > len(one)


def test_below_six_units_there_is_no_interval(model: Subject) -> None:
    for count in (5, 6):
        rows = rows_of(noop(model, TEXTS[:count], "masked-lm")).values()
        special = [row for row in rows if row["keys"] in ("cls", "sep")]  # which every text has
        assert len(special) == 6
        for row in special:
            ends = [row[name] for name in ("low", "high", "relative_low", "relative_high")]
            assert [end is None for end in ends] == [count == 5] * 4
