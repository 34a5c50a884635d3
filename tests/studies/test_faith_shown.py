"""What is shown of an instance is what the model did, and what it does again under the adversary's weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import twins
from attlas.capture import Override, Subject
from attlas.store import Manifest, Result
from attlas.store.columns import as_columns
from attlas.studies.faith.page import SHOWN
from attlas.studies.faith.shown import shown_rows
from attlas.studies.faith.words import _picture
from attlas.studies.shared.faith.adversary import Search, adversaries
from attlas.studies.shared.faith.instances import _example, ask, instances_of, predicted, sites_of
from attlas.studies.shared.faith.last import Reweighed
from attlas.text import Document, Passage

SENTENCES = ["The farmer offered unbelievable apples .", "The designer slept ."]


@pytest.mark.parametrize(("family", "layers"), [("bert", "last"), ("bert", "all"), ("llama", "last")])
def test_weights_in_the_table_are_those_of_the_model(family: str, layers: str) -> None:
    subject = Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)
    task, _ = _example(subject)
    documents = [Document.from_words(text.split(), upos=["X"] * len(text.split())) for text in SENTENCES]
    instances = instances_of(task, subject.pieces.encode_all([Passage(one) for one in documents]), limit=None)
    model = Reweighed(task, sites_of(task, layers))
    own = model.record(ask(task, instances))
    found = adversaries(model, own, Search(bound=0.05, steps=15))
    rows = shown_rows(model, own, found, [3, 5])
    assert [row["text"] for row in rows] == [3, 5]
    by_itself = model.record(ask(task, instances[1:]))
    (alone,) = shown_rows(model, by_itself, adversaries(model, by_itself, Search(bound=0.05, steps=15)), [5])
    size = 2 * [len(rows[1]["pieces"])]
    once, again = (np.frombuffer(each["adversary"], "<f4").reshape(-1, *size) for each in (rows[1], alone))
    np.testing.assert_allclose(once, again, atol=1e-3)
    for row, instance, text in zip(rows, instances, SENTENCES, strict=True):
        seen = subject.look(instance.example.passage)
        assert row["spelled"] == text.split()
        assert tuple(row["pieces"]) == seen.source.pieces
        size = (len(row["layers"]), row["heads"], len(row["pieces"]), len(row["pieces"]))
        weights, changed = (np.frombuffer(row[name], "<f4").reshape(size) for name in ("own", "adversary"))
        whole = seen.weights[model.last.stream][list(row["layers"])].numpy()
        np.testing.assert_allclose(weights, whole, atol=1e-6)
        np.testing.assert_allclose(changed.sum(-1), 1, atol=1e-5)
        moved = (np.abs(changed - weights).max((0, 1, 3)) > 1e-7).nonzero()[0].tolist()
        assert set(moved) <= set(row["rows"]) or layers == "all"
        asked = ask(task, [instance])
        sites = {site: torch.tensor(changed[place]) for place, site in enumerate(model.sites)}
        with torch.no_grad(), subject.use(Override.frozen(sites)):
            again = predicted(task, asked, task.run(asked.question))[0]
        assert again.max().item() == pytest.approx(row["adversary_confidence"], abs=1e-5)
        assert row["confidence"] == pytest.approx(row["adversary_confidence"], abs=0.05 + 1e-5)
        ((_, _, selection),) = _picture(row, {}, "it").pairs
        assert selection["query"] == int(asked.rows[0].nonzero()[0])  # the first row that is read
        assert selection["layer"] == model.last.layer
    table = Result(Manifest("faith"), {"shown": as_columns(rows)}).table
    assert tuple(table.column_names) == SHOWN.names
    assert table.to_pylist()[0]["own"] == rows[0]["own"]
