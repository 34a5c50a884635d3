"""Spectra and massive states against plain loops; and what a model does not allow is said in a sentence each."""

from __future__ import annotations

import numpy as np
import planted_heads
import pytest
import torch

import twins
from attlas.capture import Fold, Subject
from attlas.errors import AttlasError
from attlas.run.setting import as_corpus
from attlas.studies.roles.call import roles
from attlas.studies.roles.spectrum import BANDS, States, rotated
from attlas.studies.roles.texts import Setting, natural
from attlas.text import Document

TEXTS = [Document.from_text(" ".join(twins.SENTENCES[:4] * 3), name=f"t{at}") for at in range(4)]


def test_the_turned_coordinates_are_found() -> None:
    found = {family: rotated(Subject.of(twins.model(family), twins.tokenizer(True), family))
             for family in ("llama", "gpt2", "gpt_neox", "gemma3")}  # fmt: skip
    assert found == {"llama": 8, "gpt2": 0, "gpt_neox": 2, "gemma3": 8}


def test_spectra_and_massive_states_equal_loops() -> None:
    model = twins.model("llama")
    with torch.no_grad():
        model.layers[1].mlp.down_proj.weight[3] += 5e4
    subject = Subject.of(model, twins.tokenizer(True), "llama")
    texts = natural(Setting(subject, as_corpus(TEXTS), texts=2))
    part = States(subject)
    bundle = part.empty()
    part.update(bundle, texts)
    tables = part.tables(bundle)
    calls, large = {}, []
    for text in texts:
        batch = subject.pieces.batch([text])
        with torch.no_grad(), subject.use(Fold(lambda call: calls.setdefault(call.site.layer, []).append(call))):
            large.append(subject.read(batch, output_hidden_states=True).hidden_states)
    shares = []
    for call in calls[2]:
        q, k = call.query[0, 1].double().numpy(), call.keys[0, 1].double().numpy()
        each = [
            np.mean([np.hypot(row[f], row[f + 4]) for row in q])
            * np.mean([np.hypot(row[f], row[f + 4]) for row in k])
            for f in range(4)
        ]
        shares.append(np.array(each) / sum(each))
    rows = zip(*(tables["spectrum"][name] for name in ("layer", "head", "band", "value")), strict=True)
    ours = {band: value for layer, head, band, value in rows if (layer, head) == (2, 1)}
    assert [ours[band] for band in range(4)] == pytest.approx(np.mean(shares, 0), abs=1e-5)
    assert [ours[band] for band in range(4, BANDS)] == [0] * (BANDS - 4)  # four frequencies alone
    for state in range(4):
        naive = [
            float(row.abs().max() > 100 and row.abs().max() > 1000 * row.abs().median())
            for states in large
            for row in states[state][0][1:]
        ]
        places = list(zip(tables["massive"]["state"], tables["massive"]["place"], strict=True))
        at = places.index((state, "others"))
        assert tables["massive"]["value"][at] == pytest.approx(np.mean(naive))
    assert max(tables["massive"]["value"]) > 0


def test_what_a_model_does_not_allow_is_said_and_the_rest_runs() -> None:
    model = planted_heads.planted()
    words = [[f"w{n}" for n in np.random.default_rng(at).integers(1, 60, 70)] for at in range(12)]
    texts = [Document.from_words(each, name=f"t{at}") for at, each in enumerate(words)]
    result = roles(model, texts, texts=12, max_pieces=12, closing=False)
    why = {row["definition"]: row["reason"] for row in result.rows("left_out")}
    assert "too short for a text that is repeated" in why["prefix_matching"]
    assert "ordinals are one piece" in why["successor"]
    assert why["learned_sink"] == "planted has no learned sinks"
    assert why["retrieval_forced"]
    assert all("\n" not in reason and len(reason) < 250 for reason in why.values())
    assert {row["definition"] for row in result.rows("heads")} >= {"previous_text", "sink", "copying_weights"}


def test_an_encoder_is_scored_where_that_makes_sense() -> None:
    subject = Subject.of(twins.model("bert"), twins.tokenizer(False), "an encoder")
    result = roles(subject, TEXTS, texts=12, max_pieces=40)
    scored = {row["definition"] for row in result.rows("heads")}
    assert {"duplicate", "duplicate_text", "sink"} <= scored
    assert not {"prefix_matching", "copying", "successor", "retrieval"} & scored
    why = {row["definition"]: row["reason"] for row in result.rows("left_out")}
    assert "encoder attention alone" in why["prefix_matching"]
    assert {row["role"] for row in result.rows("untested")} >= {"induction", "sink"}


@pytest.mark.parametrize("definitions", ["shyness", ["natural", "shyness"]])
def test_unknown_definitions_are_refused_before_the_work(definitions: str | list[str]) -> None:
    with pytest.raises(AttlasError, match="shyness"):
        roles("no such model", definitions=definitions)
