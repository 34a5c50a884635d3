"""The kernel of a GPU against the one of a CPU, with a stand-in for torch's own that is as strict as that one is."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from attlas.measures import tiles
from attlas.measures.efficient import attend_by_torch
from attlas.measures.tiles import Asked, Scored, attend_in_tiles


def _strict(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, with_lse: bool, dropout: float, causal: bool, *,
    scale: float,
) -> tuple[Tensor, Tensor, int, int]:  # fmt: skip
    """What torch's memory-efficient kernel computes; widths, and rows of a bias, come in eights there."""
    assert with_lse
    assert dropout == 0.0
    assert all(tensor.shape[-1] % 8 == 0 for tensor in (query, key, value))
    scores = scale * query @ key.transpose(-1, -2)
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    if bias is not None:
        assert bias.stride(-2) % 8 == 0
        scores = scores + bias
    lse = torch.nn.functional.pad(scores.logsumexp(-1), (0, -scores.shape[-2] % 32))  # padded, as on a device
    return scores.softmax(-1) @ value, lse, 0, 0


@pytest.mark.parametrize("lower", [0, 2])
@pytest.mark.parametrize("kind", ["plain", "causal", "padded"])
def test_both_ways_give_the_same(kind: str, lower: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.ops.aten, "_scaled_dot_product_efficient_attention", _strict)
    generator = torch.Generator().manual_seed(2)
    query, key = (torch.randn(2, 3, 11, 5, generator=generator) for _ in range(2))
    value = torch.cat([torch.rand(2, 3, 11, 6, generator=generator), torch.ones(2, 3, 11, 1)], -1)
    mask = torch.ones(2, 1, 11, 11, dtype=torch.bool)
    mask[1, ..., 8:] = False
    readers = torch.rand(2, 1, 11, 2, generator=generator)
    scored = Scored(query, key, 0.7, mask if kind == "padded" else None, kind == "causal")
    asked = Asked(lower, 3, 2, readers)
    theirs = attend_in_tiles(scored, value, asked)
    ours = attend_by_torch(scored, value, asked)
    for name in ("out", "lse", "logs", "top", "within", "received", *(["lower"] if lower else [])):
        assert torch.allclose(getattr(ours, name), getattr(theirs, name), atol=1e-5), name
    assert (ours.lower.numel() == 0) == (lower == 0)


@pytest.mark.parametrize("kind", ["plain", "causal", "padded"])
@pytest.mark.parametrize("scale", [0.7, 60.0])
def test_scores_however_large_in_tiles_however_small(
    kind: str, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exponentials of scores in the hundreds are shifted; several texts, one, or some of its rows are a tile."""
    generator = torch.Generator().manual_seed(4)
    query, key = (torch.randn(3, 2, 70, 4, generator=generator) for _ in range(2))
    value = torch.cat([torch.rand(3, 2, 70, 2, generator=generator), torch.ones(3, 2, 70, 1)], -1)
    mask = torch.ones(3, 1, 70, 70, dtype=torch.bool)
    mask[1, ..., 60:] = False
    scores = scale * query @ key.transpose(-1, -2)
    if kind != "plain":
        hidden = torch.ones(70, 70, dtype=torch.bool).triu(1) if kind == "causal" else ~mask
        scores = scores.masked_fill(hidden, -torch.inf)
    weights = scores.double().softmax(-1)
    near = (torch.arange(70)[:, None] - torch.arange(70)).abs() <= 3
    readers = torch.rand(3, 1, 70, 2, generator=generator)
    for tile in (1, 2 * 70 * 70, 1 << 19):
        monkeypatch.setattr(tiles, "TILE", tile)
        scored = Scored(query, key, scale, mask if kind == "padded" else None, kind == "causal")
        got = attend_in_tiles(scored, value, Asked(lower=1, window=3, readers=readers))
        assert torch.allclose(got.top[..., 0].double(), scores.double().amax(-1), atol=1e-3)
        assert torch.allclose(got.within[..., 0].double(), (weights * near).sum(-1), atol=1e-4)
        received = weights.transpose(-1, -2) @ readers.double()
        assert torch.allclose(got.received.transpose(2, 3).double(), received, atol=1e-3)
        assert torch.allclose(got.out.double(), weights @ value.double(), atol=1e-4)
        assert torch.allclose(got.lse[..., 0].double(), scores.double().logsumexp(-1), atol=1e-3)
        assert torch.allclose(got.lower[..., 0].double(), weights.tril().sum(-1), atol=1e-4)
        assert torch.allclose(got.logs[..., 0].double(), torch.xlogy(weights, weights).sum(-1), atol=1e-3)


@pytest.mark.parametrize("way", ["tiles", "fused"])
def test_a_query_that_sees_nothing_gives_nothing(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As at padding on the left: its row is empty, and no key receives anything of it."""
    monkeypatch.setattr(torch.ops.aten, "_scaled_dot_product_efficient_attention", _strict)
    query, value = torch.randn(1, 2, 9, 4), torch.ones(1, 2, 9, 1)
    mask = torch.ones(9, 9, dtype=torch.bool).tril()[None, None].clone()
    mask[..., :3] = False
    attend = attend_by_torch if way == "fused" else attend_in_tiles
    got = attend(Scored(query, query, 0.5, mask), value, Asked(window=2, readers=torch.ones(1, 1, 9, 1)))
    weights = (0.5 * query @ query.transpose(-1, -2)).masked_fill(~mask, -torch.inf).softmax(-1)[:, :, 3:]
    assert torch.allclose(got.received[:, :, 0], weights.sum(2), atol=1e-5)
    assert bool((got.top[:, :, :3, 0] == -torch.inf).all())


@pytest.mark.parametrize(
    ("tile", "planes", "rows"), [(1, 1, 32), (100 * 70, 1, 70), (2 * 70 * 70, 2, 70), (5 * 70 * 70, 4, 70)]
)
def test_a_tile_has_as_many_scores_as_it_may(
    tile: int, planes: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory stays what it is however many texts there are and however long: never all scores at once."""
    sizes: list[tuple[int, ...]] = []
    product = torch.baddbmm

    def watched(*tensors: Tensor, **more: Any) -> Tensor:
        sizes.append(tuple(tensors[0].shape))
        return product(*tensors, **more)

    monkeypatch.setattr(tiles, "TILE", tile)
    monkeypatch.setattr(torch, "baddbmm", watched)
    attend_in_tiles(Scored(torch.ones(4, 2, 70, 4), torch.ones(4, 2, 70, 4), 1.0), torch.ones(4, 2, 70, 1))
    assert max(sizes) == (planes, rows, 70)


@pytest.mark.parametrize("kind", ["plain", "causal", "padded"])
def test_any_number_of_threads_gives_the_same_bits(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which thread carries out a tile, and in which mode torch is, makes no difference."""
    monkeypatch.setattr(tiles, "SMALL", 0)
    monkeypatch.setattr(tiles, "TILE", 1 << 10)
    generator = torch.Generator().manual_seed(6)
    query, key = (torch.randn(5, 3, 50, 8, generator=generator) for _ in range(2))
    value = torch.cat([torch.rand(5, 3, 50, 4, generator=generator), torch.ones(5, 3, 50, 1)], -1)
    mask = torch.rand(5, 1, 50, 50, generator=generator) > 0.2 if kind == "padded" else None
    before = torch.get_num_threads()
    sums = []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            with torch.inference_mode(threads == 3):
                pairs = torch.arange(100).view(1, 50, 2).expand(5, -1, -1) % 50
                asked = Asked(lower=2, logs=2, window=4, readers=torch.ones(5, 1, 50, 1), pairs=pairs)
                got = attend_in_tiles(Scored(query, key, 0.4, mask, kind == "causal"), value, asked)
                sums.append([part.clone() for part in got if part is not None])
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert len(sums[0]) == 9
    assert all(torch.equal(one, other) for one, other in zip(*sums, strict=True))
