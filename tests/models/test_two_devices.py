"""A call on another device than the one that a model's inputs come from: instruments see it on that one, and what
they give goes back. The other device is imagined: its tensors have no numbers, and refuse to meet the first's."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from attlas.ids import Site, Stream
from attlas.models.seam import AttentionCall, Instrument, Seam

HOME, AWAY = torch.device("cpu"), torch.device("cuda:0")
SITE = Site(Stream.ENCODER, 0)


class _Doubling(Instrument):
    """Notes where it sees things, and lets them meet tensors of the first device."""

    def __init__(self) -> None:
        self.seen: list[torch.device] = []

    def replace(self, call: AttentionCall) -> Tensor | None:
        return None

    def observe(self, call: AttentionCall) -> None:
        assert call.query is not None
        assert call.mask is not None
        self.seen += [call.query.device, call.keys.device, call.values.device, call.mask.device]

    def finish(self, call: AttentionCall, output: Tensor) -> Tensor:
        return output * torch.full((2, 1), 2.0, device=HOME)


def test_a_call_comes_home_and_its_output_goes_back() -> None:
    model, instrument = nn.Linear(2, 2), _Doubling()
    seam = Seam(model, {model: [SITE]}, private=False)
    with FakeTensorMode(allow_non_fake_inputs=True), seam.put_on(instrument):
        states = torch.ones(1, 2, 3, 4, device=AWAY)
        call = AttentionCall(SITE, states, states, states, torch.ones(1, 1, 3, 3, device=AWAY).bool(), 0.5)
        output = seam.carry(call, lambda: torch.ones(1, 3, 2, 4, device=AWAY))
        with pytest.raises(RuntimeError, match="same device"):  # which is what would happen else
            instrument.finish(call, torch.ones(1, 3, 2, 4, device=AWAY))
    assert set(instrument.seen) == {HOME}
    assert (output.device, call.value.device) == (AWAY, AWAY)
