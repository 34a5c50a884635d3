"""Parts on their way to workers: the same model arrives, its weights go once, and what cannot go is refused."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import torch

import twins
from attlas.capture import Subject
from attlas.errors import CapabilityError

if find_spec("ray") is None:
    pytest.skip("the package ray is not installed", allow_module_level=True)

from spread import subject_for

from attlas.run.setting import as_corpus
from attlas.run.shipping import Shipper, Unpacker, filled, thinned
from attlas.stats import Bundle, Largest, Ledger, PooledMean
from attlas.studies.roles.definitions import DEFINITIONS
from attlas.studies.roles.passes import SeamScores
from attlas.studies.roles.texts import Setting, repeated

TEXT = "The farmer asked the designer what she was working on."


class Store:
    """Keeps what is put, and counts what is fetched."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.fetched = 0

    def put(self, array: Any) -> int:
        self.kept.append(np.array(array))
        return len(self.kept) - 1

    def get(self, place: int) -> Any:
        self.fetched += 1
        return self.kept[place]


def tiny(family: str = "bert") -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), "twin")


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "albert"])
def test_the_same_model_arrives(family: str) -> None:
    subject, store = tiny(family), Store()
    one = subject.look(TEXT)
    arrived = Unpacker(store.get).unpack(Shipper(store.put).pack("part", subject))
    other = arrived.look(TEXT)
    assert arrived.model is not subject.model
    assert arrived.describe() == subject.describe()
    assert one.weights
    for stream, weights in one.weights.items():
        np.testing.assert_array_equal(weights, other.weights[stream])


def test_a_model_that_has_handed_out_its_states_does_so_where_it_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    subject, store = tiny(), Store()
    wanted = subject.read(subject.batch([TEXT]), output_hidden_states=True).hidden_states
    assert subject.has_residuals
    shipment = Shipper(store.put).pack("part", subject)
    monkeypatch.setattr("transformers.utils.output_capturing._CAN_RECORD_REGISTRY", {})  # as in a fresh process
    arrived = Unpacker(store.get).unpack(shipment)
    states = arrived.read(arrived.batch([TEXT]), output_hidden_states=True).hidden_states
    assert all(torch.equal(one, other) for one, other in zip(wanted, states, strict=True))
    assert "_looked_for_residuals" in vars(arrived)


def test_definitions_of_roles_find_a_model_s_matrices_where_it_arrives() -> None:
    subject, store = subject_for("roles"), Store()
    part = SeamScores(subject, [DEFINITIONS[key] for key in ("copying", "learned_sink", "prefix_matching")])
    texts = repeated(Setting(subject, as_corpus("sample"), 2, max_pieces=24))
    arrived = Unpacker(store.get).unpack(Shipper(store.put).pack("part", part))  # which no pass has probed yet
    here, there = part.empty(), arrived.empty()
    part.update(here, texts)
    arrived.update(there, texts)
    assert {key: array.tobytes() for key, array in here.state().items()} == {
        key: array.tobytes() for key, array in there.state().items()
    }


def test_weights_go_once_and_again_when_they_change() -> None:
    subject, store = tiny(), Store()
    shipper, unpacker = Shipper(store.put), Unpacker(store.get)
    first = shipper.pack("part", {"subject": subject, "number": 1})
    large = len(store.kept)
    second = shipper.pack("part", {"subject": subject, "number": 2})
    assert len(store.kept) == large > 0
    assert first.tensors == second.tensors
    unpacker.unpack(first)
    assert unpacker.unpack(second)["number"] == 2
    assert store.fetched == large
    weight = subject.model.embeddings.word_embeddings.weight
    with torch.no_grad():
        weight += 1
    third = unpacker.unpack(shipper.pack("part", {"subject": subject}))
    assert (len(store.kept), store.fetched) == (large + 1, large + 1)
    assert torch.equal(third["subject"].model.embeddings.word_embeddings.weight, weight)


def test_tied_weights_stay_tied_and_flags_are_kept() -> None:
    store = Store()
    tied = torch.nn.Linear(64, 64)
    tied.weight.requires_grad_(False)
    parts = Unpacker(store.get).unpack(Shipper(store.put).pack("part", [tied, tied.weight]))
    assert parts[0].weight is parts[1]
    assert not parts[1].requires_grad
    assert isinstance(parts[1], torch.nn.Parameter)


@pytest.mark.parametrize(("rows", "columns"), [(384, 256), (16, 16)])
@pytest.mark.parametrize("behind", [0, 8, 24, 40])
def test_weights_lie_where_they_lay_so_that_products_have_the_same_bits(rows: int, columns: int, behind: int) -> None:
    """As those do that are mapped from a file, whose header ends anywhere."""
    torch.manual_seed(rows)
    layer, store = torch.nn.Linear(columns, rows), Store()
    room = torch.empty(rows * columns + 32)
    begin = (behind - room.data_ptr()) % 64 // 4
    layer.weight.data = room[begin : begin + rows * columns].view(rows, columns).copy_(layer.weight.data)
    assert layer.weight.data_ptr() % 64 == behind
    arrived = Unpacker(store.get).unpack(Shipper(store.put).pack("part", layer))
    assert arrived.weight.data_ptr() % 64 == behind
    for texts in (1, 2, 33):
        given = torch.randn(texts, columns)
        assert torch.equal(arrived(given), layer(given))


def test_axes_lie_in_memory_as_they_lay() -> None:
    tensors, store = [torch.rand(40, 30, 20).permute(order) for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0))], Store()
    for one, other in zip(tensors, Unpacker(store.get).unpack(Shipper(store.put).pack("part", tensors)), strict=True):
        assert one.stride() == other.stride()
        assert torch.equal(one, other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.bool])
def test_tensors_of_all_kinds_arrive_as_they_were(dtype: torch.dtype) -> None:
    store = Store()
    tensor = (torch.rand(80, 70) > 0.5).to(dtype).T
    arrived = Unpacker(store.get).unpack(Shipper(store.put).pack("part", tensor))
    assert arrived.dtype is dtype
    assert torch.equal(arrived, tensor)


def test_what_comes_back_is_the_same_to_the_bit_and_smaller() -> None:
    bundle = Bundle({"mean": PooledMean((50, 40)), "best": Largest(600, 2, 1), "texts": Ledger(5000, (3,))})
    empty = bundle.state()
    bundle["mean"].update(np.random.default_rng(0).random((3, 50, 40)), 1, [2, 5, 130])
    bundle["best"].update([7, 599], [0.5, -0.5], [[1], [2]])
    bundle["texts"].update([3, 4999], [[1.0, 0.0, -2.0], [0.0, 0.0, 0.0]])
    thin = thinned(bundle.state(), empty)
    again = filled(thin, empty)
    assert all(again[key].tobytes() == array.tobytes() for key, array in bundle.state().items())
    assert sum(values.nbytes for _, values in thin.values()) < sum(array.nbytes for array in empty.values()) / 20


def test_weights_that_are_not_there_are_refused() -> None:
    with pytest.raises(CapabilityError, match="part cannot be sent to workers: weights of its model lie on disk"):
        Shipper(Store().put).pack("part", torch.nn.Linear(64, 64, device="meta"))
