"""Instruments: what they do, that they are differentiable, and that they leave the model as it was."""

from __future__ import annotations

import pytest
import torch

import twins
from attlas.capture import Fold, Gates, Override, Recorder, Selection, Subject
from attlas.capture.check import TARGETS, TEXTS, output_of
from attlas.capture.instruments import uniform_weights
from attlas.errors import CapabilityError
from attlas.ids import HeadId, Site, Stream
from attlas.models import AttentionCall

FAMILIES = ["bert", "albert", "mpnet", "gpt2", "llama", "t5", "marian"]


@pytest.fixture(scope="module", params=FAMILIES)
def subject(request: pytest.FixtureRequest) -> Subject:
    return Subject.of(twins.model(request.param), twins.tokenizer(request.param in twins.CAUSAL), request.param)


def texts(subject: Subject) -> list:
    return list(zip(TEXTS, TARGETS, strict=True)) if subject.pieces.translating else list(TEXTS)


def run(subject: Subject, *instruments) -> torch.Tensor:
    batch = subject.batch(texts(subject))
    with torch.no_grad(), subject.use(*instruments):
        output = output_of(subject.run(batch))
    side = batch.target or batch.source
    return output[side.real]


def hooks(subject: Subject) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in subject.model.modules())


def test_the_model_is_as_before_also_after_an_error(subject: Subject) -> None:
    before, count = run(subject), hooks(subject)

    def fail(call: object) -> None:
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"), subject.use(Fold(fail), Override.uniform()):
        subject.run(subject.batch(texts(subject)))
    assert subject.seam.instruments == []
    assert hooks(subject) == count
    assert torch.equal(run(subject), before)


def test_closing_a_gate_is_zeroing_the_heads_rows_of_the_output_matrix(subject: Subject) -> None:
    site, head = subject.sites[-1], 2
    gated = run(subject, Gates.closed([HeadId(*site, head)], subject.layout.heads))
    projection = subject.layout.projections[site]
    kept = projection.weight.detach().clone()
    width = subject.output_matrix(site).shape[1]
    rows = slice(head * width, (head + 1) * width)
    if len(subject.seam.sites) < len(subject.sites):
        pytest.skip("layers share their matrix, so that one layer cannot be cut in the weights")
    with torch.no_grad():
        if isinstance(projection, torch.nn.Linear):
            projection.weight[:, rows] = 0
        else:
            projection.weight[rows] = 0
        cut = run(subject)
        projection.weight.copy_(kept)
    assert torch.allclose(gated, cut, atol=1e-5)
    assert not torch.allclose(gated, run(subject), atol=1e-4)


def test_gates_differ_by_example_when_given_so(subject: Subject) -> None:
    site = subject.sites[0]
    xi = torch.ones(3, 4)
    xi[1, 0] = 0
    batch = subject.batch(texts(subject))
    with torch.no_grad():
        plain = output_of(subject.run(batch))
        with subject.use(Gates({site: xi})):
            gated = output_of(subject.run(batch))
    assert torch.allclose(gated[0], plain[0], atol=1e-5)
    assert not torch.allclose(gated[1], plain[1], atol=1e-4)


def test_the_gradient_of_a_gate_is_the_slope_of_the_output(subject: Subject) -> None:
    site = subject.sites[0]
    batch = subject.batch(texts(subject)[:1])

    def total(xi: torch.Tensor) -> torch.Tensor:
        with subject.use(Gates({site: xi})):
            return output_of(subject.run(batch)).double().square().sum()

    xi = torch.ones(4, requires_grad=True)
    (slope,) = torch.autograd.grad(total(xi), xi)
    step = 1e-3
    for head in range(4):
        up, down = torch.ones(4), torch.ones(4)
        up[head] += step
        down[head] -= step
        with torch.no_grad():
            measured = (total(up) - total(down)) / (2 * step)
        assert float(slope[head]) == pytest.approx(float(measured), rel=0.05, abs=0.05)


def test_wrong_number_of_gates_is_refused(subject: Subject) -> None:
    with pytest.raises(CapabilityError, match="5 gates for the 4 heads"):
        run(subject, Gates({subject.sites[0]: torch.ones(5)}))


def test_frozen_weights_of_the_same_run_change_nothing(subject: Subject) -> None:
    recorder = Recorder(["weights"])
    plain = run(subject, recorder)
    frozen = run(subject, Override.frozen({site: recorder.get(site) for site in subject.sites}))
    assert torch.allclose(frozen, plain, atol=1e-5)


@pytest.mark.parametrize("make", [Override.uniform, lambda: Override.permuted(0)], ids=["uniform", "permuted"])
def test_replaced_weights_keep_the_mask_and_sum_to_one(subject: Subject, make) -> None:
    plain, replaced = Recorder(["weights"]), Recorder(["weights"])
    one, other = run(subject, plain), run(subject, make(), replaced)
    assert not torch.allclose(one, other, atol=1e-4)
    batch = subject.batch(texts(subject))
    for site in subject.sites:
        side = batch.queries(site.stream)
        before = plain.get(site).transpose(1, 2)[side.real]
        after = replaced.get(site).transpose(1, 2)[side.real]
        assert torch.allclose(after.sum(-1), before.sum(-1), atol=1e-4)
        assert not bool(after[before == 0].any())


def test_permuted_weights_of_the_first_layer_are_the_same_numbers(subject: Subject) -> None:
    first = Selection(layers=subject.sites[0])
    plain, shuffled = Recorder(["weights"], first), Recorder(["weights"], first)
    run(subject, plain)
    run(subject, Override.permuted(1, first), shuffled)
    one, other = plain.get(subject.sites[0]), shuffled.get(subject.sites[0])
    assert torch.allclose(one.sort(-1).values, other.sort(-1).values, atol=1e-6)
    assert not torch.equal(one, other)


def test_only_selected_heads_are_replaced(subject: Subject) -> None:
    site = subject.sites[0]
    chosen = Selection.of(HeadId(site.stream, site.layer, 1))
    plain, replaced = Recorder(["weights"]), Recorder(["weights"])
    run(subject, plain)
    run(subject, Override.uniform(chosen), replaced)
    one, other = plain.get(site), replaced.get(site)
    assert torch.equal(one[:, [0, 2, 3]], other[:, [0, 2, 3]])
    assert not torch.equal(one[:, 1], other[:, 1])


def test_learned_weights_have_a_gradient_and_respect_the_mask(subject: Subject) -> None:
    recorder = Recorder(["weights"])
    batch = subject.batch(texts(subject)[:1])
    with torch.no_grad(), subject.use(recorder):
        subject.run(batch)
    site = subject.sites[0]
    own = recorder.get(site)
    scores = own.clamp(min=1e-30).log().clone().requires_grad_()
    seen = Recorder(["weights"])
    with subject.use(Override.learned({site: scores}), seen):
        output_of(subject.run(batch)).square().sum().backward()
    subject.model.zero_grad()
    assert torch.allclose(seen.get(site), own, atol=1e-5)
    assert scores.grad is not None
    assert bool(scores.grad.any())


def test_instruments_nest_and_select_heads(subject: Subject) -> None:
    stream = subject.sites[0].stream
    outer, inner = Recorder(["weights"], Selection(heads=["1", "4"])), Recorder(["values"], Selection((stream,), "2"))
    batch = subject.batch(texts(subject))
    with torch.no_grad(), subject.use(outer), subject.use(inner):
        subject.run(batch)
    assert outer.get(subject.sites[0]).shape[1] == 2
    assert set(outer.kept[subject.sites[0]]) == {"weights"}  # nothing that was not asked for
    assert set(inner.kept) == {Site(stream, 1)}


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(CapabilityError, match="thoughts"):
        Recorder(["thoughts"])


def test_frozen_weights_of_another_length_are_refused(subject: Subject) -> None:
    site = subject.sites[0]
    with pytest.raises(CapabilityError, match="do not fit"):
        run(subject, Override.frozen({site: torch.ones(1, 4, 2, 2)}))


def test_outputs_are_weights_times_values(subject: Subject) -> None:
    recorder = Recorder(["weights", "values", "outputs"])
    batch = subject.batch(texts(subject)[:1])
    with torch.no_grad(), subject.use(recorder):
        subject.run(batch)
    for site in subject.sites:
        built = recorder.get(site, "weights") @ recorder.get(site, "values")
        assert torch.allclose(recorder.get(site, "outputs"), built, atol=1e-5)
    assert Stream.CROSS not in subject.streams or subject.pieces.translating


def test_even_weights_are_shared_among_the_keys() -> None:
    q, k = torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 5, 4)
    assert torch.allclose(
        uniform_weights(AttentionCall(Site(Stream.CROSS, 0), q, k, k, None, 1.0)), torch.tensor(0.2)
    )
