"""Numbers survive their way to the browser: exactly where they are few, within 1/255 of a row's largest elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenes import reading, scene, strand

from attlas.errors import TextError
from attlas.ids import Stream
from attlas.views import Scene, Sequence, Strand
from attlas.views.payload import decode, encode, pack


def rows(draw: np.random.Generator, peak: float, shape: tuple[int, int]) -> np.ndarray:
    """Softmax rows, from flat (peak 0) to nearly one-hot."""
    scores = draw.normal(size=shape) * peak
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)


@given(st.integers(0, 1000), st.floats(0, 40), st.integers(1, 30), st.integers(1, 300))
def test_a_byte_keeps_weights_within_a_255th_of_the_largest_of_their_row(
    seed: int, peak: float, queries: int, keys: int
) -> None:
    weights = rows(np.random.default_rng(seed), peak, (queries, keys))
    back = decode(encode(weights, "u8"), "u8", keys)
    largest = weights.max(-1, keepdims=True)
    assert back.shape == weights.shape
    assert (np.abs(back - weights) <= largest / 255).all()
    assert (np.abs(back.max(-1, keepdims=True) - largest) <= 1e-7).all(), "the largest itself is exact"


def test_a_byte_keeps_zeros_and_rows_of_nothing() -> None:
    weights = np.zeros((3, 5), np.float32)
    weights[1, 2] = 1
    assert np.array_equal(decode(encode(weights, "u8"), "u8", 5), weights)


def test_small_weights_are_finer_than_large_ones() -> None:
    weights = np.array([[0.97, 0.01, 0.001]], np.float32)
    back = decode(encode(weights, "u8"), "u8", 3)
    assert abs(back[0, 1] - 0.01) < 0.001
    assert abs(back[0, 2] - 0.001) < 0.0005


@given(st.integers(0, 1000), st.integers(1, 20), st.integers(1, 40))
def test_four_bytes_keep_every_bit(seed: int, queries: int, keys: int) -> None:
    numbers = np.random.default_rng(seed).normal(size=(queries, keys)).astype(np.float32)
    assert np.array_equal(decode(encode(numbers, "f32"), "f32", keys), numbers)


@given(st.integers(0, 1000), st.integers(1, 20), st.integers(1, 40))
def test_a_signed_byte_keeps_vectors_within_half_a_step(seed: int, count: int, width: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)
    back = decode(encode(vectors, "i8"), "i8", width)
    assert (np.abs(back - vectors) <= np.abs(vectors).max(-1, keepdims=True) * 0.5001 / 127 + 1e-7).all()


def test_every_head_has_its_own_block_and_no_number_is_sent_twice() -> None:
    payload = pack([scene()])
    made = payload.header["scenes"][0]["strands"][0]
    layers, heads, width = 3, 4, 8
    assert made["weights"] == {"first": 0, "heads": heads, "columns": 10, "code": "f32"}
    assert payload.size == layers * heads * 3 + layers, "weights, queries, keys of a head; lengths of a layer"
    weights = payload.scenes[0].strands[0].weights
    for layer in range(layers):
        for head in range(heads):
            block = payload.block(made["weights"]["first"] + layer * heads + head)
            assert np.array_equal(decode(block, "f32", 10), weights[layer, head])
    assert made["query_vectors"]["columns"] == width
    assert "norms" not in made, "norms are weights times lengths, and are not sent"
    lengths = decode(payload.block(made["lengths"]["first"] + 1), "f32", 10)
    assert np.array_equal(lengths, payload.scenes[0].strands[0].lengths[1])


def test_large_scenes_are_rounded_and_their_rows_can_still_be_asked_for() -> None:
    payload = pack([scene()], exact_cells=100)
    made = payload.header["scenes"][0]["strands"][0]
    assert (made["weights"]["code"], made["query_vectors"]["code"], made["lengths"]["code"]) == ("u8", "i8", "f32")
    weights = payload.scenes[0].strands[0].weights
    assert np.array_equal(np.frombuffer(payload.row(0, 0, 2, 3, 4), "<f4"), weights[2, 3, 4])


def test_keys_that_heads_share_are_sent_once() -> None:
    plain = strand(heads=6)
    assert plain.key_vectors is not None
    grouped = replace(plain, key_vectors=np.repeat(plain.key_vectors[:, :2], 3, axis=1))
    header = pack([Scene("a model", (), (grouped,))]).header["scenes"][0]["strands"][0]
    assert header["key_vectors"]["heads"] == 2
    assert header["query_vectors"]["heads"] == 6


def test_blocks_made_by_threads_come_in_order() -> None:
    payload = pack([scene(), scene(seed=1)])
    assert list(payload.blocks()) == [payload.block(index) for index in range(payload.size)]


def test_weights_that_do_not_fit_the_text_are_refused_with_both_numbers() -> None:
    with pytest.raises(TextError, match="3 queries and 3 keys do not fit 10 and 10 pieces"):
        Strand(Stream.ENCODER, reading(), reading(), np.ones((1, 1, 3, 3), np.float32))
    with pytest.raises(TextError, match="layer, head, query, key"):
        Strand(Stream.ENCODER, reading(), reading(), np.ones((3, 3), np.float32))


def test_words_without_a_spelling_are_their_pieces() -> None:
    from attlas.text import Segmentation

    cut = Segmentation(("[CLS]", "play", "##ing", "now"), (-1, 0, 0, 1), (-1, 0, 0, 0), 2)
    assert Sequence.of(cut).spelled == ("playing", "now")
    assert Sequence.of(cut, ["PLAYING", "now"]).spelled == ("PLAYING", "now")
