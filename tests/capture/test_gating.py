"""Heads by name and gates by shape: what is closed, and what is refused in which words."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import twins
from attlas.capture import Gates, Subject
from attlas.errors import CapabilityError
from attlas.ids import HeadId, Stream


def subject(family: str) -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


def states(model: Subject, gates: Any) -> torch.Tensor:
    batch = model.batch(
        [("The farmer slept.", "Nobody noticed.")] if model.pieces.translating else ["The farmer slept."]
    )
    with torch.no_grad(), model.gated(gates):
        found: torch.Tensor = model.run(batch).last_hidden_state
    return found


def test_a_mask_closes_the_heads_that_names_do() -> None:
    model = subject("bert")
    mask = torch.ones(3, 4)
    mask[0, 1] = mask[2, 3] = 0
    ids = [HeadId(Stream.ENCODER, 0, 1), HeadId(Stream.ENCODER, 2, 3)]
    wanted = states(model, ["1-2", "3-4"])
    for gates in (mask, ids, {"encoder": mask}, {Stream.ENCODER: mask}):
        assert torch.equal(states(model, gates), wanted)
    assert not torch.allclose(wanted, states(model, []))
    with torch.no_grad(), model.use(Gates.closed(ids, model.layout.heads)):
        assert torch.equal(model.run(model.batch(["The farmer slept."])).last_hidden_state, wanted)


def test_streams_are_named_where_there_are_several() -> None:
    model = subject("marian")
    assert model.named(["cross 2-4", "encoder:3-1"]) == [HeadId(Stream.CROSS, 1, 3), HeadId(Stream.ENCODER, 2, 0)]
    with pytest.raises(CapabilityError, match="say which, such as 'cross 1-1'"):
        model.named(["1-1"])
    closed = states(model, {"cross": torch.zeros(2, 4)})
    assert torch.equal(closed, states(model, [f"cross {layer}-{head}" for layer in (1, 2) for head in (1, 2, 3, 4)]))


@pytest.mark.parametrize(
    ("family", "gates", "words"),
    [
        ("bert", ["4-1"], "there is no head 4-1 in bert; its encoder has 3 layers of 4 heads"),
        ("bert", ["1-5"], "there is no head 1-5 in bert"),
        ("bert", ["0-1"], "there is no head 0-1 in bert"),
        ("bert", [2], "heads are named by label counted from 1: give '3' instead of the number 2"),
        ("bert", ["layer 1"], "does not name a head of bert"),
        ("bert", ["cross 1-1"], "does not name a head of bert"),
        ("bert", [HeadId(Stream.DECODER, 0, 0)], "there is no decoder layer 0, head 0 in bert"),
        ("bert", torch.ones(3, 5), r"gates of shape \(3, 5\) do not fit bert: its encoder has 3 layers of 4 heads"),
        ("bert", torch.ones(4), r"gates of shape \(4,\) do not fit bert"),
        ("bert", {"cross": torch.ones(3, 4)}, "bert has no cross"),
        ("marian", torch.ones(3, 4), "several streams"),
        ("marian", ["cross 3-1"], "there is no head cross 3-1 in marian; its cross has 2 layers of 4 heads"),
    ],
)
def test_what_does_not_fit_is_refused(family: str, gates: Any, words: str) -> None:
    with pytest.raises(CapabilityError, match=words):
        states(subject(family), gates)
