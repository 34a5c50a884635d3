"""Gates are trained towards what a head needs: one that looks far stays open, one that looks near closes."""

from __future__ import annotations

import pytest
import torch
from test_roles_long import causal, setting_of

from attlas.capture.instruments import Override
from attlas.errors import CapabilityError
from attlas.ids import Stream
from attlas.models import AttentionCall
from attlas.studies.roles import gates
from attlas.studies.roles.definitions import DEFINITIONS
from attlas.studies.roles.scores import scored
from attlas.studies.roles.sharing import key_heads, sharing_table
from attlas.studies.roles.texts import Setting


def test_cut_weights_are_those_of_a_softmax_over_fewer_keys() -> None:
    scores = torch.randn(1, 2, 120, 120, generator=torch.Generator().manual_seed(0))
    ahead = torch.ones(120, 120, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(ahead, -torch.inf).softmax(-1)
    expected = scores.clone()
    for query in range(120):
        for key in range(120):
            if key > query or (key >= gates.SINK and query - key >= gates.RECENT):
                expected[..., query, key] = -torch.inf
    assert torch.allclose(gates.streaming(weights), expected.softmax(-1), atol=1e-6)


def test_gates_of_heads_that_look_near_close_and_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """All heads of the model are made to look near, but for one group of heads, which reads the needle."""
    subject = causal("llama")
    monkeypatch.setattr(gates, "LENGTH", 200)
    setting = Setting(subject, None, 4, gates=True)  # type: ignore[arg-type]
    texts = [one for part in gates.gate_texts(setting)[:1] for one in part.texts[:4]]
    far = 1  # of the two heads of keys, in the second layer
    plain = AttentionCall.weights

    def planted(call: AttentionCall) -> torch.Tensor:
        own = plain(call)
        keys = own.shape[-1]
        apart = torch.arange(own.shape[-2])[:, None] - torch.arange(keys)
        near = own * (apart < 8)
        distant = own * ((apart >= gates.RECENT) & (torch.arange(keys) >= gates.SINK) | (apart == 0))
        made = near.clone()
        if call.site.layer == 1:
            made[:, 2:] = distant[:, 2:]
        return made / made.sum(-1, keepdim=True).clamp(min=1e-9)

    with subject.use(Override(planted)):
        monkeypatch.setattr(AttentionCall, "weights", planted)
        found = gates.train_gates(subject, texts, key_heads(subject), steps=40)
    monkeypatch.undo()
    values = torch.stack([found[site] for site in subject.sites if site.stream is Stream.DECODER])
    rest = torch.ones_like(values, dtype=torch.bool)
    rest[1, far] = False
    assert float(values[1, far]) > 0.5
    assert float(values[rest].max()) < 0.2


def test_gates_are_scored_like_any_definition_and_shared_by_their_group(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = causal("llama")
    for name, value in (("UNITS", 2), ("TEXTS", 2), ("STEPS", 3), ("LENGTH", 200)):
        monkeypatch.setattr(gates, name, value)
    before = {name: value.clone() for name, value in subject.model.state_dict().items()}
    part = gates.GateScores(subject, [DEFINITIONS["streaming_gate"]])
    bundle = part.empty()
    texts = gates.gate_texts(Setting(subject, None, 4, gates=True))  # type: ignore[arg-type]
    part.update(bundle, texts)
    found = scored(bundle, Stream.DECODER)
    value = found.mean()[..., 0]
    assert sorted(found.halves.tolist()) == [1, 2]
    assert (value[:, 0] == value[:, 1]).all()  # two heads to a head of keys
    assert (value < 1).any()
    assert all(torch.equal(before[name], now) for name, now in subject.model.state_dict().items())
    assert all(parameter.requires_grad for parameter in subject.model.parameters())


def test_gates_are_left_out_unless_asked_for() -> None:
    with pytest.raises(CapabilityError, match="ask for them with --gates"):
        gates.gate_texts(setting_of(causal("llama")))


def test_sharing_is_told() -> None:
    rows = sharing_table(causal("llama"))
    assert rows["key_head"][:4] == [0, 0, 1, 1]
    assert len(rows["head"]) == 12
