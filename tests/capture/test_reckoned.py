"""Rows that are reckoned from queries, keys and sums are those of the model's own eager attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import twins
from attlas.capture import Subject
from attlas.capture.check import eager_weights
from attlas.capture.reckoned import _Watch, look_reckoned
from attlas.errors import CapabilityError, TextError
from attlas.ids import Stream
from attlas.views.payload import decode, pack
from attlas.views.telling import start_of

TEXT = "The farmer offered apples to the housekeeper, because he had too many of them. She asked the designer."


def subject_of(family: str) -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


@pytest.mark.parametrize("family", ["bert", "modernbert", "llama", "mistral", "qwen3", "gemma3"])
def test_rows_are_those_of_the_eager_model(family: str) -> None:
    subject = subject_of(family)
    eager = eager_weights(subject, subject.batch([TEXT]))
    scene = look_reckoned(subject, TEXT)
    strand = scene.strands[0]
    assert strand.weights.size == 0
    count = strand.queries.length
    assert count > 20
    for at, layer in enumerate(strand.layers):
        site = next(site for site in eager if site.layer == layer)
        weights = eager[site][0].numpy()
        for head in range(len(strand.heads)):
            found = strand.rows(at, head, np.arange(count))
            assert np.abs(found - weights[head]).max() < 4e-3, "half precision"
            assert (found[weights[head] == 0] == 0).all(), "what is masked is nothing"
            assert strand.received is not None
            assert np.abs(strand.received[at, head] - weights[head].mean(0)).max() < 1e-5
            assert strand.coarse is not None
            assert np.abs(strand.coarse[at, head] - weights[head]).max() < 1e-5, "a short text is a picture of itself"
            assert strand.links is not None
            query, key, value = strand.links[at, head]
            several = (weights[head] > 0).sum(1) > 1
            assert value == pytest.approx(weights[head][several].max(), abs=1e-5)
            assert value == pytest.approx(weights[head][int(query), int(key)], abs=1e-5)


def test_a_coarse_picture_has_the_largest_of_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attlas.capture.reckoned.CELLS", 7)
    monkeypatch.setattr("attlas.capture.reckoned.TILE", 4 * 40 * 3)  # three rows at a time
    subject = subject_of("llama")
    weights = subject.look(TEXT, layers="2").weights[Stream.DECODER][0].numpy()
    coarse = look_reckoned(subject, TEXT, layers="2").strands[0].coarse
    assert coarse is not None
    count = weights.shape[-1]
    cell = np.arange(count) * 7 // count
    for head in range(4):
        for row in range(7):
            for column in range(7):
                part = weights[head][np.ix_(cell == row, cell == column)]
                assert coarse[0, head, row, column] == pytest.approx(part.max(), abs=1e-6)


def test_the_page_gets_halves_and_sums_and_no_weights() -> None:
    scene = look_reckoned(subject_of("llama"), TEXT, layers="2", heads="1,3")
    payload = pack([scene])
    strand, header = scene.strands[0], payload.header["scenes"][0]["strands"][0]
    assert "weights" not in header
    assert header["heads"] == [0, 2]
    spec = header["query_vectors"]
    assert spec["code"] == "f16"
    assert strand.query_vectors is not None
    back = decode(payload.block(spec["first"] + 1), "f16", spec["columns"])
    assert np.array_equal(back, strand.query_vectors[0, 1].astype(np.float32))
    row = np.frombuffer(payload.row(0, 0, 0, 1, 5), "<f4")
    assert np.array_equal(row, strand.rows(0, 1, np.array([5]))[0])
    assert start_of(scene)["layer"] == 1


@pytest.mark.parametrize(
    ("family", "sentence"),
    [("gemma2", "more than scaled products"), ("gpt_oss", "sinks of its own"), ("mpnet", "a softmax of its own")],
)
def test_what_cannot_be_reckoned_is_refused_by_name(family: str, sentence: str) -> None:
    with pytest.raises(CapabilityError, match=sentence):
        look_reckoned(subject_of(family), TEXT)


def test_translations_and_texts_beyond_the_window_are_refused() -> None:
    with pytest.raises(CapabilityError, match="models that read one text"):
        look_reckoned(subject_of("marian"), TEXT)
    with pytest.raises(TextError, match="the window of llama holds"):
        look_reckoned(subject_of("llama"), TEXT * 30)


def test_too_many_numbers_are_refused_before_they_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attlas.capture.reckoned.MOST_NUMBERS", 5000)
    with pytest.raises(TextError, match="look at no more than"):
        look_reckoned(subject_of("llama"), TEXT)


def test_keys_that_do_not_lie_side_by_side_are_refused() -> None:
    watch = _Watch([0], 2, 1, "a model", ((0, 2),))
    assert watch._interval(torch.tensor([[False, True], [True, True]])).tolist() == [[1, 0], [2, 2]]
    with pytest.raises(CapabilityError, match="side by side"):
        watch._interval(torch.tensor([[True, False, True]]))


@pytest.mark.parametrize("family", ["bert", "llama", "mistral"])
@pytest.mark.parametrize(
    ("rows", "places"),
    [("last:5", range(-5, 0)), ("7", [6]), ("3..9,last:2,8..11", [*range(2, 11), -2, -1])],
    ids=["last", "one", "several"],
)
def test_chosen_rows_are_those_of_the_whole(
    family: str, rows: str, places: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers of the rows, layers and heads that are chosen are those of the matrix, and of none beside them."""
    monkeypatch.setattr("attlas.capture.reckoned.TILE", 2 * 40 * 2)  # two rows at a time
    subject = subject_of(family)
    weights = next(iter(subject.look(TEXT).weights.values())).numpy()
    strand = look_reckoned(subject, TEXT, layers="1,3", heads="2,4", rows=rows).strands[0]
    count = weights.shape[-1]
    asked = np.arange(count)[list(places)]
    assert strand.asked.tolist() == asked.tolist()
    assert (strand.layers, strand.heads) == ((0, 2), (1, 3))
    assert strand.query_vectors is not None
    assert strand.query_vectors.shape[2] == len(asked), "nothing is kept of the others"
    for at, layer in enumerate(strand.layers):
        for place, head in enumerate(strand.heads):
            whole = weights[layer, head]
            found = strand.rows(at, place, np.arange(count))
            assert np.abs(found[asked] - whole[asked]).max() < 4e-3
            assert not np.delete(found, asked, 0).any()
            for other in (weights[1, head], weights[layer, 0], np.roll(whole, 1, 0), np.roll(whole, -1, 0)):
                assert np.abs(found[asked] - other[asked]).max() > 8e-3, "the check would see another"
            assert strand.received is not None
            assert np.abs(strand.received[at, place] - whole[asked].mean(0)).max() < 1e-5
            assert strand.coarse is not None
            assert np.abs(strand.coarse[at, place] - whole[asked]).max() < 1e-5
            assert strand.links is not None
            query, key, value = strand.links[at, place]
            assert query in asked
            assert value == pytest.approx(whole[int(query), int(key)], abs=1e-5)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("900", "this text has no row 900; its pieces are 1 to "),
        ("20..900", r"this text has no rows 20\.\.900; its pieces are 1 to "),
        ("last:900", "this text has no last:900; its pieces are 1 to "),
        ("9..3", "ends before it begins; write '3..9'"),
        ("0", "'0' does not name rows"),
        ("5:9", "'5:9' does not name rows; write places in the text counted from 1"),
        ("1,,2", "'' does not name rows"),
        ("", "no row was asked for"),
        ([], "no row was asked for"),
        (200, "rows are named by label counted from 1"),
        (["3", 4], "rows are named by label counted from 1"),
    ],
)
def test_rows_that_are_not_there_are_refused(rows: Any, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = subject_of("llama")
    monkeypatch.setattr(subject, "read", lambda batch: pytest.fail("the model ran"))
    with pytest.raises((CapabilityError, TextError), match=sentence):
        look_reckoned(subject, TEXT, rows=rows)
