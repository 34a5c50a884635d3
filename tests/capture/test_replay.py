"""Replays give the numbers of full passes with gates, and leave the model as it was."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

import twins
from attlas.capture import Gates, Subject
from attlas.capture.check import TARGETS, TEXTS, output_of
from attlas.capture.replay import Replay
from attlas.errors import CapabilityError
from attlas.ids import HeadId, Site
from attlas.models import AttentionCall, Instrument
from attlas.models.shrinking import spread
from tools.sweep.building import tiny_config
from tools.sweep.families import frozen, model_class
from tools.sweep.questions import tokenizer as words

FAMILIES = ["bert", "roberta", "gpt2", "llama", "t5", "marian", "bart", "modernbert", "albert", "mpnet"]


def make(family: str) -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


def classifier(family: str) -> Subject:
    torch.manual_seed(0)
    model = transformers.AutoModelForSequenceClassification.from_config(twins.config(family))
    twins.spread(model)
    return Subject.of(model.eval(), twins.tokenizer(family in twins.CAUSAL), family)


@pytest.fixture(scope="module", params=FAMILIES)
def subject(request: pytest.FixtureRequest) -> Subject:
    return make(request.param)


def padded(subject: Subject):
    return subject.batch(list(zip(TEXTS, TARGETS, strict=True)) if subject.pieces.translating else list(TEXTS))


def naive(subject: Subject, instrument: Instrument, **options: Any) -> Any:
    with torch.no_grad(), subject.use(instrument):
        return subject.run(padded(subject), **options)


def replayed(replay: Replay, kept: Any, site: Site, xi: torch.Tensor, means: torch.Tensor | None = None):
    """The main output of every pattern, (pattern, text, ...)."""
    found = [output_of(output).unflatten(0, (-1, kept.batch.size)) for _, output in replay.cut(kept, site, xi, means)]
    return torch.cat(found)


def traces(subject: Subject) -> list[tuple[int, int, bool]]:
    return [
        (len(module._forward_hooks), len(module._forward_pre_hooks), "forward" in module.__dict__)
        for module in subject.model.modules()
    ]


def test_every_head_off_in_turn_gives_what_full_passes_give(subject: Subject) -> None:
    replay = Replay(subject, pieces=150)  # several passes for each site
    batch = padded(subject)
    kept = replay.record(batch)
    real = (batch.target or batch.source).real
    assert torch.allclose(output_of(kept.output)[real], output_of(naive(subject, Gates({})))[real], atol=1e-5)
    for site in subject.sites:
        heads = subject.heads(site)
        found = replayed(replay, kept, site, 1 - torch.eye(heads))
        assert len(found) == heads
        for head in range(heads):
            expected = output_of(naive(subject, Gates.closed([HeadId(*site, head)], subject.layout.heads)))
            assert torch.allclose(found[head][real], expected[real], atol=1e-5), (site, head)
            assert not torch.allclose(found[head][real], output_of(kept.output)[real], atol=1e-4)
    assert bool(replay.why_full) is (subject.name == "albert")


class Replace(Instrument):
    """Puts a vector in a head's place, the slow way."""

    def __init__(self, site: Site, head: int, vector: torch.Tensor) -> None:
        self.site, self.head, self.vector = site, head, vector

    def finish(self, call: AttentionCall, output: torch.Tensor) -> torch.Tensor:
        if call.site == self.site:
            output = output.clone()
            output[:, :, self.head] = self.vector
        return output


def test_a_mean_stands_in_for_a_head(subject: Subject) -> None:
    replay = Replay(subject)
    kept = replay.record(padded(subject))
    real = (kept.batch.target or kept.batch.source).real
    for site in (subject.sites[0], subject.sites[-1]):
        means = torch.randn(subject.heads(site), kept.heads[site].shape[-1])
        found = replayed(replay, kept, site, 1 - torch.eye(subject.heads(site)), means)
        for head in (0, 2):
            expected = output_of(naive(subject, Replace(site, head, means[head])))
            assert torch.allclose(found[head][real], expected[real], atol=1e-5), (site, head)


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_one_pattern_of_one_text_is_replayed_too(family: str) -> None:
    subject = make(family)
    replay, site = Replay(subject), subject.sites[0]
    kept = replay.record(subject.batch([TEXTS[0]]))
    xi = torch.tensor([[0.0, 1.0, 1.0, 1.0]])
    found = replayed(replay, kept, site, xi)
    with torch.no_grad(), subject.use(Gates({site: xi[0]})):
        expected = output_of(subject.run(kept.batch))
    assert torch.allclose(found[0], expected, atol=1e-5)
    assert not replay.why_full


def test_gates_in_between_are_weights_and_several_may_be_closed(subject: Subject) -> None:
    site = subject.sites[len(subject.sites) // 2]
    replay = Replay(subject)
    kept = replay.record(padded(subject))
    real = (kept.batch.target or kept.batch.source).real
    xi = torch.tensor([[0.0, 0.0, 1.0, 0.0], [0.5, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    found = replayed(replay, kept, site, xi)
    for number, pattern in enumerate(xi):
        expected = output_of(naive(subject, Gates({site: pattern})))
        assert torch.allclose(found[number][real], expected[real], atol=1e-5)


def test_the_model_is_as_before_also_after_an_error(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    before = traces(subject)
    plain = output_of(naive(subject, Gates({})))
    replay = Replay(subject)
    kept = replay.record(padded(subject))
    assert traces(subject) == before
    last = subject.layout.projections[subject.sites[-1]]

    def fail(*_: object) -> None:
        raise RuntimeError("in the middle")

    handle = last.register_forward_pre_hook(fail)
    try:
        with pytest.raises(RuntimeError, match="in the middle"):
            list(replay.cut(kept, subject.sites[0], torch.ones(1, 4)))
    finally:
        handle.remove()
    assert traces(subject) == before
    assert subject.seam.instruments == []
    assert torch.equal(output_of(naive(subject, Gates({}))), plain)


def test_hidden_states_can_be_had(subject: Subject) -> None:
    site = subject.sites[1]
    options = {"output_hidden_states": True}
    replay = Replay(subject, options)
    kept = replay.record(padded(subject))
    (_, output), *_ = replay.cut(kept, site, torch.tensor([[1.0, 0.0, 1.0, 1.0]]))
    expected = naive(subject, Gates.closed([HeadId(*site, 1)], subject.layout.heads), **options)
    name = "decoder_hidden_states" if subject.pieces.translating else "hidden_states"
    real = (kept.batch.target or kept.batch.source).real
    assert len(output[name]) == len(expected[name])
    for found, other in zip(output[name], expected[name], strict=True):
        assert torch.allclose(found[real], other[real], atol=1e-5)


def test_the_encoder_of_a_translator_alone() -> None:
    subject = make("marian")
    batch = subject.batch(list(TEXTS))
    replay = Replay(subject)
    kept = replay.record(batch)
    found = replayed(replay, kept, subject.sites[1], 1 - torch.eye(4))
    with torch.no_grad(), subject.use(Gates.closed([HeadId(*subject.sites[1], 3)], subject.layout.heads)):
        expected = output_of(subject.run(batch))
    assert torch.allclose(found[3][batch.source.real], expected[batch.source.real], atol=1e-5)
    with pytest.raises(CapabilityError, match="nothing was recorded at decoder layer 0"):
        next(replay.cut(kept, Site(subject.sites[-1].stream.DECODER, 0), torch.ones(1, 4)))


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "modernbert", "mpnet", "gpt2", "albert"])
def test_classifiers_are_right_though_their_last_layer_runs_at_one_place(family: str) -> None:
    subject = classifier(family)
    replay = Replay(subject)
    kept = replay.record(subject.batch(list(TEXTS)))
    narrow = replay._narrow is not None
    assert narrow is (family not in ("gpt2", "albert"))  # GPT-2 reads the last place; ALBERT cannot be replayed
    for site in subject.sites:
        found = replayed(replay, kept, site, 1 - torch.eye(4))
        for head in range(4):
            expected = naive(subject, Gates.closed([HeadId(*site, head)], subject.layout.heads)).logits
            assert torch.allclose(found[head], expected, atol=1e-5), (site, head)


def test_gates_that_are_on_already_stay_on() -> None:
    subject = make("bert")
    first, second = subject.sites[0], subject.sites[1]
    off = Gates.closed([HeadId(*first, 2), HeadId(*second, 0)], subject.layout.heads)
    replay = Replay(subject)
    with subject.use(off):
        kept = replay.record(padded(subject))
        found = replayed(replay, kept, second, torch.tensor([[1.0, 0.0, 1.0, 1.0]]))[0]
    all_off = Gates.closed([HeadId(*first, 2), HeadId(*second, 0), HeadId(*second, 1)], subject.layout.heads)
    expected = output_of(naive(subject, all_off))
    assert torch.allclose(found[kept.batch.source.real], expected[kept.batch.source.real], atol=1e-5)


def test_a_model_that_fails_its_proof_makes_full_passes() -> None:
    subject = make("bert")
    layer = subject.model.encoder.layer[2]
    count = iter(range(10_000))
    # A layer whose output depends on how often it ran: no replay can be right.
    layer.register_forward_hook(lambda m, a, output: output + 0.1 * next(count))
    replay = Replay(subject)
    kept = replay.record(padded(subject))
    assert "differs from a full pass" in replay.why_full
    assert len(replayed(replay, kept, subject.sites[0], torch.ones(2, 4))) == 2


def test_patterns_of_the_wrong_shape_are_refused() -> None:
    subject = make("bert")
    replay = Replay(subject)
    kept = replay.record(padded(subject))
    with pytest.raises(CapabilityError, match="patterns of 4 gates were expected"):
        next(replay.cut(kept, subject.sites[0], torch.ones(4)))


def test_layers_that_take_keys_and_values_from_lower_ones_are_cut_in_full_passes() -> None:
    """Gemma 3n: the middle and the last layer can be replayed, those between need what was passed by."""
    family = next(family for family in frozen() if family.kind == "gemma3n")
    config = tiny_config(family)
    fields = {
        "num_hidden_layers": 8, "num_kv_shared_layers": 2, "intermediate_size": config.intermediate_size * 2,
        "layer_types": config.layer_types * 2, "activation_sparsity_pattern": [0.0] * 8,
    }  # fmt: skip
    model = model_class(family)._from_config(type(config)(**{**config.to_dict(), **fields}), dtype=torch.float32)
    spread(model)
    subject = Subject.of(model.eval(), words(), "gemma3n")
    replay, batch = Replay(subject), subject.batch(["the farmer slept"])
    kept = replay.record(batch)
    assert "so every cut is a full pass" in (replay.why_full or "")
    site = subject.sites[-2]
    xi = torch.ones(1, subject.heads(site))
    xi[0, 1] = 0
    _, found = next(replay.cut(kept, site, xi))
    with torch.no_grad(), subject.gated([HeadId(*site, 1)]):
        assert torch.allclose(found.logits, subject.run(batch, use_cache=False).logits, atol=1e-5)
