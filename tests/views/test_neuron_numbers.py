"""What the neuron view is given: from queries, keys and scores of the payload the weights follow again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import twins
from attlas.capture import Subject, load
from attlas.ids import Stream
from attlas.views import Scene
from attlas.views.payload import Payload, decode, pack

TEXT = "The farmer offered apples to the housekeeper."
TARGET = "Les enfants mangent des pommes."
Array = NDArray[np.float32]


def twin(family: str) -> Subject:
    torch.manual_seed(0)
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


def look(family: str, **options: Any) -> Scene:
    texts = (TEXT, TARGET) if family in twins.TRANSLATING else (TEXT,)
    return twin(family).look(*texts, **options).scene()


def block(payload: Payload, spec: dict[str, Any], layer: int, head: int) -> Array:
    """The matrix at a place, read as the browser reads it."""
    return decode(payload.block(spec["first"] + layer * spec["heads"] + head), spec["code"], spec["columns"])


def weights_from_neurons(payload: Payload, strand: dict[str, Any], layer: int, head: int) -> tuple[Array, Array]:
    """The weights of a head, and the softmax over what can be seen of the scores that its neurons give."""
    weights = block(payload, strand["weights"], layer, head)
    group = len(strand["heads"]) // strand["key_vectors"]["heads"]
    queries = block(payload, strand["query_vectors"], layer, head)
    keys = block(payload, strand["key_vectors"], layer, head // group)
    scores = queries.astype(np.float64) @ keys.T.astype(np.float64) * strand["scaling"][layer]
    if "scores" in strand:
        scores = block(payload, strand["scores"], layer, head).astype(np.float64)
    scores = np.where(weights > 0, scores, -np.inf)
    found = np.exp(scores - scores.max(-1, keepdims=True))
    return weights, found / found.sum(-1, keepdims=True)


def check(scene: Scene) -> None:
    payload = pack([scene])
    for strand in payload.header["scenes"][0]["strands"]:
        for layer in range(len(strand["layers"])):
            for head in range(len(strand["heads"])):
                weights, found = weights_from_neurons(payload, strand, layer, head)
                whole = weights / weights.sum(-1, keepdims=True)  # a sink may hold a part that no key gets
                assert np.abs(whole - found).max() < 1e-4, (strand["stream"], layer, head)


FAMILIES = [
    "bert",
    "gpt2",
    "gpt_neox",
    "llama",
    "qwen3",
    "mistral",
    "gemma2",
    "gemma3",
    "gpt_oss",
    "modernbert",
    "t5",
    "bart",
    "marian",
    "albert",
    "roberta",
    "electra",
]


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_follow_from_the_neurons(family: str) -> None:
    check(look(family))


@pytest.mark.parametrize("heads", [[0, 2], [0, 1], [1, 2], [0, 1, 2], [3]])
@pytest.mark.parametrize("family", ["llama", "gemma2", "t5", "marian", "gpt2"])
def test_weights_follow_from_the_neurons_of_some_layers_and_heads(family: str, heads: list[int]) -> None:
    scene = look(family, layers="2", heads=[str(head + 1) for head in heads])
    assert {(strand.layers, strand.heads) for strand in scene.strands} == {((1,), tuple(heads))}
    check(scene)


def test_the_check_can_fail() -> None:
    payload = pack([look("llama")])
    strand = payload.header["scenes"][0]["strands"][0]
    strand["key_vectors"]["first"] += 1  # the keys of another head
    weights, found = weights_from_neurons(payload, strand, 0, 0)
    assert np.abs(weights - found).max() > 1e-2


def test_keys_that_heads_share_are_sent_once_and_found_again() -> None:
    scene = look("llama")
    payload = pack([scene])
    strand = payload.header["scenes"][0]["strands"][0]
    assert (strand["query_vectors"]["heads"], strand["key_vectors"]["heads"]) == (4, 2)
    for heads, sent in (([0, 2], 2), ([0, 1], 1), ([0, 1, 2], 3), ([1, 2], 2)):
        some = pack([look("llama", heads=[str(head + 1) for head in heads])])
        part = some.header["scenes"][0]["strands"][0]["key_vectors"]
        assert part["heads"] == sent
        for place, head in enumerate(heads):
            keys = block(some, part, 2, place // (len(heads) // sent))
            assert np.array_equal(keys, scene.strands[0].key_vectors[2, head])  # type: ignore[index]


@pytest.mark.parametrize(("family", "adjusted"), [("t5", True), ("gemma2", True), ("llama", False), ("bert", False)])
def test_scores_go_along_where_products_are_not_all(family: str, adjusted: bool) -> None:
    scene = look(family)
    small = pack([scene]).header["scenes"][0]["strands"][0]
    assert (small["adjusted"], "scores" in small) == (adjusted, adjusted)
    large = pack([scene], exact_cells=10).header["scenes"][0]["strands"][0]
    assert large["adjusted"] is adjusted, "the browser is told that it does not have them"
    assert "scores" not in large


def test_soft_caps_and_biases_matter_here() -> None:
    for family in ("t5", "gemma2"):
        payload = pack([look(family)])
        strand = payload.header["scenes"][0]["strands"][0]
        del strand["scores"]
        weights, found = weights_from_neurons(payload, strand, 0, 0)
        assert np.abs(weights - found).max() > 1e-3, family


def test_rounded_neurons_are_near() -> None:
    scene = look("bert")
    payload = pack([scene], exact_cells=10)
    strand = payload.header["scenes"][0]["strands"][0]
    assert strand["query_vectors"]["code"] == "i8"
    queries = scene.strands[0].query_vectors
    assert queries is not None
    near = block(payload, strand["query_vectors"], 1, 2)
    assert np.all(np.abs(near - queries[1, 2]) <= np.abs(queries[1, 2]).max(-1, keepdims=True) / 250)


def test_a_private_softmax_sends_no_neurons() -> None:
    strand = pack([look("gpt_neo")]).header["scenes"][0]["strands"][0]
    assert "query_vectors" not in strand
    assert strand["weights"]["heads"] == 4


@pytest.mark.real
def test_weights_follow_from_the_neurons_of_a_real_model() -> None:
    subject = load()
    check(subject.look("The farmer offered apples to the housekeeper, because he had too many of them.").scene())
    some = subject.look(("The farmer slept.", "She worked."), layers="2", heads=["1", "3"]).scene()
    assert some.strands[0].stream is Stream.ENCODER
    check(some)
