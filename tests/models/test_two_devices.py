"""A model over two devices, of which one is only imagined: tensors without numbers are on a device all the same and
refuse to meet those of another. So it is seen that what instruments see is brought together on the first device and
goes back to its layer's; numbers are not seen, and no real pair of devices is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import transformers
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import twins
from attlas.capture import Fold, Gates, Override, Recorder, Subject
from attlas.text import Document, Passage

HOME, AWAY = torch.device("cpu"), torch.device("cuda:0")


@pytest.fixture
def subject() -> Iterator[Subject]:
    utils = pytest.importorskip("accelerate.utils", reason="accelerate is not installed")
    made = Subject.of(transformers.BertModel(twins.config("bert")), twins.tokenizer(False), "spread")
    model: Any = made.model
    with FakeTensorMode(allow_non_fake_inputs=True) as imagined:
        for name, module in model.named_modules():
            device = AWAY if name.startswith(("encoder.layer.2", "pooler")) else HOME
            for key, weight in module._parameters.items():
                if weight is not None:
                    module._parameters[key] = nn.Parameter(imagined.from_tensor(weight.data).to(device))
            for key, kept in module._buffers.items():
                module._buffers[key] = imagined.from_tensor(kept).to(device)
        model.encoder.layer[2].register_forward_pre_hook(
            lambda _, args, options: (utils.send_to_device(args, AWAY), utils.send_to_device(options, AWAY)),
            with_kwargs=True,
        )
        yield made


def _examples(subject: Subject) -> Any:
    return subject.pieces.encode_all([Passage(Document.from_text("The farmer slept."))])


def test_what_is_seen_is_brought_together(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attlas.capture.instruments.finite", lambda weights, site: weights)  # it looks at numbers
    assert subject.device == HOME
    inputs = subject.pieces.batch(_examples(subject), HOME)
    recorder, seen = Recorder(["weights", "queries", "keys", "values"]), []

    def measure(call: Any) -> None:
        seen.append((call.value.device, call.weights().device))

    gates = Gates({site: torch.zeros(4) for site in subject.sites})
    with torch.no_grad(), subject.use(recorder, gates, Fold(measure)):
        output = subject.read(inputs).last_hidden_state
    assert output.device == AWAY, "the last layer is there"
    assert seen == [(HOME, HOME)] * 3
    assert torch.stack([recorder.get(site) for site in subject.sites]).device == HOME
    even = Override(make=lambda call: torch.full(call.shape, 0.1, device=call.value.device))
    with torch.no_grad(), subject.use(even):
        assert subject.read(inputs).last_hidden_state.device == AWAY


def test_without_bringing_it_together_devices_would_meet(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attlas.models.seam.place_of", lambda model: AWAY)
    inputs = subject.pieces.batch(_examples(subject), HOME)
    marks = torch.ones(1, 1, 1, inputs.inputs["input_ids"].shape[1])
    with (
        pytest.raises(RuntimeError, match="same device"),
        torch.no_grad(),
        subject.use(Fold(lambda call: call.weights() * marks)),
    ):
        subject.read(inputs)
