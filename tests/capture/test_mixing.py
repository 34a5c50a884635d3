"""Mixing ratios and joint norms with residual and norm, beside vectors that are built one by one."""

from __future__ import annotations

import pytest
import torch

import twins
from attlas.capture import Subject
from attlas.capture.mixing import STEPS, mixing
from attlas.errors import CapabilityError
from attlas.ids import Site, Stream

TEXTS = [("The farmer slept.", "Le fermier dort."), ("It rained on the old bridge near the station.", "Il pleut.")]
FAMILIES = ["bert", "gpt2", "llama", "t5", "marian", "albert", "modernbert", "distilbert", "gpt_oss"]


def subject_of(family: str) -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


def texts_for(family: str):
    return TEXTS if family in twins.TRANSLATING else [first for first, _ in TEXTS]


def parts(layer) -> dict[str, torch.Tensor]:
    """What every key brings to every query at each step, (batch, query, key, hidden), built as it stands on paper."""
    call, norm = layer.call, layer.after.norm
    vectors = torch.einsum("bhkw,hwd->bhkd", call.values.double(), layer.matrix.double())
    alone = (call.weights().double()[..., None] * vectors[:, :, None]).sum(1)
    added = alone.clone()
    if call.site.stream is not Stream.CROSS:
        for place in range(added.shape[1]):
            added[:, place, place] += layer.residual.double()[:, place]
    total = layer.total.double()
    gain = norm.weight.double()
    if isinstance(norm, torch.nn.LayerNorm):
        spread = (total.var(-1, unbiased=False) + norm.eps).sqrt()
        through = (added - added.mean(-1, keepdim=True)) * gain
    else:
        spread = (total.square().mean(-1) + norm.variance_epsilon).sqrt()
        through = added * gain
    return {"attention": alone, "residual": added, "normalised": through / spread[:, :, None, None]}


@pytest.mark.parametrize("family", FAMILIES)
def test_equal_to_vectors_built_one_by_one(family):
    subject, seen = subject_of(family), set()
    batch = subject.batch(texts_for(family))

    def compare(layer):
        built = parts(layer)
        real = batch.queries(layer.site.stream).real  # padding may see nothing, or anything
        cross = layer.site.stream is Stream.CROSS
        for step in STEPS:
            lengths = built[step].norm(dim=-1)
            joint = layer.joint(step).double()
            assert torch.allclose(joint[real], lengths[real], rtol=1e-4, atol=1e-5 * float(lengths.max()))
            ratio = layer.ratio(step).double()
            if cross and step == "attention":
                assert ratio.isnan().all()
                continue
            own = torch.eye(lengths.shape[1], dtype=torch.bool)[None, :, :, None]
            if cross:
                others, oneself = built[step].sum(2), layer.residual.double()
                if step == "normalised":
                    oneself = layer.after.through(layer.residual).double()
                    oneself = oneself / layer.after.scale(layer.total).double()[..., None]
            else:
                others = built[step].masked_fill(own, 0).sum(2)
                oneself = built[step].masked_fill(~own, 0).sum(2)
            expected = others.norm(dim=-1) / (others.norm(dim=-1) + oneself.norm(dim=-1))
            assert torch.allclose(ratio[real], expected[real], atol=1e-5)
        seen.add(layer.site)

    with torch.no_grad(), mixing(subject, compare):
        subject.run(batch)
    assert seen == set(subject.sites)


def test_the_parts_add_up_to_what_the_norm_makes():
    """With biases, all keys' parts and the residual are the norm's output: nothing is forgotten or counted twice."""
    subject, checked = subject_of("bert"), []

    def compare(layer):
        through = parts(layer)["normalised"].sum(2)
        bias = layer.after.through(layer.bias) / layer.after.scale(layer.total)[..., None]
        made = layer.after.norm(layer.total)
        assert torch.allclose((through + bias + layer.after.norm.bias).float(), made, atol=1e-5)
        checked.append(layer.site)

    with torch.no_grad(), mixing(subject, compare):
        subject.run(subject.batch(["The farmer slept."]))
    assert len(checked) == 3


@pytest.mark.parametrize(
    ("family", "first"), [("bert", False), ("marian", False), ("gpt2", True), ("llama", True), ("modernbert", True)]
)
def test_tells_where_norms_come_first(family, first):
    assert {residual.first for residual in subject_of(family).residuals.values()} == {first}


@pytest.mark.parametrize(
    ("family", "reason"),
    [("gemma2", "a norm of its own stands between"), ("gpt_neox", "scaled, or added together with something else")],
)
def test_refuses_other_arrangements_with_the_reason(family, reason):
    subject = subject_of(family)
    assert not subject.has_residuals
    with pytest.raises(CapabilityError, match=reason), mixing(subject, lambda layer: None):
        pass


def test_weights_on_oneself_may_be_given():
    subject = subject_of("bert")

    def compare(layer):
        own = layer.call.weights().diagonal(dim1=-2, dim2=-1)
        assert torch.equal(layer.ratio("residual", own), layer.ratio("residual"))
        assert (layer.ratio("residual", torch.zeros_like(own)) != layer.ratio("residual")).any()

    with torch.no_grad(), mixing(subject, compare):
        subject.run(subject.batch(["The farmer slept."]))


def test_an_unknown_step_is_refused():
    subject, seen = subject_of("bert"), []
    with torch.no_grad(), mixing(subject, seen.append):
        subject.run(subject.batch(["The farmer slept."]))
    with pytest.raises(CapabilityError, match="no step 'feed-forward'; choose attention, residual or normalised"):
        seen[0].ratio("feed-forward")


def test_the_model_is_as_it_was():
    subject = subject_of("bert")
    hooks = [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in subject.model.modules()]
    with torch.no_grad(), mixing(subject, lambda layer: None):
        subject.run(subject.batch(["The farmer slept."]))
    assert [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in subject.model.modules()] == hooks
    assert Site("encoder", 0) in subject.residuals
