"""Joint norms of one text beside vectors built one by one; between words; and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import twins
from attlas.capture import Subject
from attlas.capture.mixing import STEPS
from attlas.errors import CapabilityError
from attlas.ids import Site, Stream
from joint_by_hand import joint_by_hand

TEXT = "The farmers forgot the unbelievably stormy bridges."


def twin(family: str) -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_equal_to_vectors_built_one_by_one(family: str) -> None:
    subject = twin(family)
    stream = subject.pieces.own
    capture = subject.look(TEXT, joint=STEPS, hidden_states=True)
    for step, expected in joint_by_hand(subject, capture, stream).items():
        found = capture.joint(step)[stream].double()
        assert found.shape == expected.shape == (3, *capture.weights[stream].shape[2:])
        assert torch.allclose(found, expected, rtol=1e-4, atol=1e-5 * float(expected.max())), step
    only = subject.look(TEXT, joint="attention").joint()[stream]
    assert torch.allclose(only, capture.joint("attention")[stream], atol=1e-6), "the step that needs no residual"


def test_every_stream_of_a_translation() -> None:
    subject = twin("marian")
    capture = subject.look("The farmer slept.", "Les enfants mangent des pommes.", joint=STEPS)
    for stream in Stream:
        for layer in capture.layers[stream]:
            matrix = subject.output_matrix(Site(stream, layer)).detach()
            alone = torch.einsum(
                "hqk,hkw,hwd->qkd", capture.weights[stream][layer], capture.values[stream][layer], matrix
            )
            assert torch.allclose(capture.joint()[stream][layer], alone.norm(dim=-1), rtol=1e-4, atol=1e-5)
        own = [capture.joint(step)[stream].diagonal(dim1=1, dim2=2) for step in STEPS[:2]]
        assert torch.allclose(*own) == (stream is Stream.CROSS), "the residual goes to oneself alone"


def test_some_layers_and_heads_are_still_all_heads_together() -> None:
    subject = twin("bert")
    whole = subject.look(TEXT, joint=STEPS)
    some = subject.look(TEXT, joint="normalised", layers="3", heads=["1", "4"])
    assert some.weights[Stream.ENCODER].shape[:2] == (1, 2)
    assert torch.equal(some.joint("normalised")[Stream.ENCODER], whole.joint("normalised")[Stream.ENCODER][2:])


def test_between_words_against_a_naive_loop() -> None:
    capture = twin("bert").look(TEXT, joint="residual")
    norms = capture.joint("residual")[Stream.ENCODER][1].double().numpy()
    groups = capture.source.groups
    count = groups.max() + 1
    assert count < len(groups), "some word has several pieces"
    naive = np.zeros((count, count))
    for query, key in np.ndindex(count, count):
        rows = [sum(norms[q, groups == key]) for q in range(len(groups)) if groups[q] == query]
        naive[query, key] = np.mean(rows)
    assert np.allclose(capture.words(Stream.ENCODER, joint="residual")[1], naive)


def test_what_cannot_be_had_is_refused() -> None:
    subject = twin("gpt_neox")  # which adds attention and feed-forward part at once
    assert subject.look(TEXT, joint="attention").joint()[Stream.DECODER].shape[0] == 3
    with pytest.raises(CapabilityError, match="gpt_neox: what its attention is added to was not found"):
        subject.look(TEXT, joint=["attention", "residual"])
    capture = twin("bert").look(TEXT)
    with pytest.raises(CapabilityError, match=r"no joint norms of the step residual .*joint='residual'"):
        capture.joint("residual")
    with pytest.raises(CapabilityError, match="no step 'residuals'; choose attention, residual or normalised"):
        capture.view("model", joint="residuals")
    with pytest.raises(CapabilityError, match="no step 'x'"):
        twin("bert").look(TEXT, joint="x")


def test_a_scene_has_one_map_for_each_layer_and_no_neurons() -> None:
    capture = twin("bert").look(TEXT, joint="residual")
    (strand,) = capture.scene("residual").strands
    assert strand.weights.shape[:2] == (3, 1)
    assert "with the residual" in strand.joint
    assert strand.query_vectors is strand.lengths is None
    assert "with the residual" in capture.view("matrix", joint="residual", widget=False).data
    with pytest.raises(CapabilityError, match="the neuron view shows the queries and keys of one head"):
        capture.view("neuron", joint="residual", widget=False)
