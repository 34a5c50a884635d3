"""Layers of one model that differ in their heads, or in the width of their heads, as a look shows them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import twins
import uneven
from attlas.capture import Subject, load
from attlas.errors import CapabilityError
from attlas.ids import HeadId, Site, Stream
from attlas.studies.ablate.passes import every_head
from attlas.views.payload import pack
from tools.sweep.building import build
from tools.sweep.families import frozen
from tools.sweep.questions import tokenizer

DECODER = Stream.DECODER
TEXT = twins.SENTENCES[0]


@pytest.fixture(scope="module")
def subject() -> Subject:
    return uneven.subject()


def test_weights_and_norms_are_those_of_the_eager_model(subject: Subject) -> None:
    capture = subject.look(TEXT)
    eager = uneven.model(attn_implementation="eager")
    ids = subject.batch([TEXT]).inputs["input_ids"]
    with torch.no_grad():
        attentions = eager(ids, output_attentions=True).attentions
    assert capture.weights[DECODER].shape[:2] == (3, 6)
    for layer, (heads, _) in enumerate(uneven.HEADS):
        seen = capture.weights[DECODER][layer]
        assert torch.allclose(seen[:heads], attentions[layer][0], atol=1e-5)
        assert seen[heads:].isnan().all(), "a head that is not there has no weights"
        matrix = eager.model.layers[layer].self_attn.o_proj.weight.T.reshape(heads, uneven.WIDTH, -1)
        vectors = torch.einsum("hkw,hwd->hkd", capture.values[DECODER][layer, :heads], matrix)
        norms = attentions[layer][0] * vectors.norm(dim=-1)[:, None]
        assert torch.allclose(capture.norms[DECODER][layer, :heads], norms, atol=1e-4)
    assert capture.heads_of(DECODER) == tuple(tuple(range(heads)) for heads, _ in uneven.HEADS)
    assert np.isnan(capture.words(DECODER)[0, 2:]).all()


def test_views_are_told_which_heads_there_are(subject: Subject) -> None:
    (strand,) = pack([subject.look(TEXT).scene()]).header["scenes"][0]["strands"]
    assert strand["own"] == [[0, 1], [0, 1, 2, 3, 4, 5], [0, 1, 2]]
    assert "own" not in pack([load().look("Hi.").scene()]).header["scenes"][0]["strands"][0]


def test_vectors_of_narrower_layers_make_the_same_weights() -> None:
    family = next(family for family in frozen() if family.kind == "gemma4_text")
    capture = Subject.of(build(family), tokenizer(), "gemma4").look("the farmer slept")
    widths = capture.widths[DECODER]
    assert len(set(widths)) == 2
    for layer, width in enumerate(widths):
        queries, keys = capture.queries[DECODER][layer], capture.keys[DECODER][layer]
        assert not queries[..., width:].any()
        scores = queries[..., :width] @ keys[..., :width].transpose(-1, -2) * capture.scaling[DECODER][layer]
        hidden = capture.weights[DECODER][layer] == 0
        weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
        assert torch.allclose(weights, capture.weights[DECODER][layer], atol=1e-5)
    (strand,) = pack([capture.scene()]).header["scenes"][0]["strands"]
    assert strand["widths"] == list(widths)


def test_gates_and_labels_know_which_heads_there_are(subject: Subject) -> None:
    batch = subject.batch([TEXT])
    mask = torch.ones(3, 6)
    mask[0, 1] = mask[2, 0] = 0
    mask[0, 5] = 0  # nobody's
    with subject.gated(["1-2", "3-1"]):
        closed = subject.run(batch).logits
    with subject.gated(mask):
        assert torch.equal(subject.run(batch).logits, closed)
    with pytest.raises(CapabilityError, match="there is no head 1-3"):
        subject.named("1-3")
    with pytest.raises(CapabilityError, match="there is no decoder layer 0, head 2"):
        subject.named(HeadId(DECODER, 0, 2))
    with pytest.raises(CapabilityError, match="no head 3 in the layers asked for; its heads are 1 to 2"):
        subject.look(TEXT, heads="1-3")
    assert subject.look(TEXT, heads="2,4").heads_of(DECODER) == ((1,), (1, 3), (1,))


def test_heads_cut_out_of_the_weights_are_closed_gates(subject: Subject) -> None:
    batch, going = subject.batch([TEXT]), ["2-1", "2-2", "2-3", "1-1"]
    with subject.gated(going):
        closed = subject.run(batch).logits
    smaller = subject.pruned(going)
    assert smaller.grid(DECODER).sum(1).tolist() == [1, 3, 3]
    assert torch.allclose(smaller.run(batch).logits, closed, atol=1e-4)


def test_a_layer_that_has_lost_its_heads_has_none() -> None:
    whole = load()
    pruned = whole.pruned([HeadId(Stream.ENCODER, 1, head) for head in range(12)] + ["1-1"])
    assert pruned.grid(Stream.ENCODER).sum(1).tolist() == [11, 0, 12, 12, 12, 12]
    assert pruned.describe()["streams"]["encoder"]["heads"] == [11, 0, 12, 12, 12, 12]
    capture = pruned.look("The farmer slept.")
    assert capture.weights[Stream.ENCODER][1].isnan().all()
    assert capture.heads_of(Stream.ENCODER)[1] == ()
    assert len(every_head(pruned, [Stream.ENCODER])) == 59
    assert not any(cut.site == Site(Stream.ENCODER, 1) for cut in every_head(pruned, [Stream.ENCODER]))
    with pytest.raises(CapabilityError, match="there is no head 2-1"):
        pruned.named("2-1")


def test_what_needs_equal_layers_says_so(subject: Subject) -> None:
    with pytest.raises(CapabilityError, match=r"differ in their number of heads \(2, 3, 6\), and this needs equally"):
        subject.shape(DECODER)
