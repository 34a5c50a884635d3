"""The law of tiles: whatever the call, what comes of them equals the matrix in float64 up to tol x |value| + 1e-6.

The value of a log-sum-exp, or of a score, is the largest product, or sink, that it is made of; where products are
beyond 16, float32 has fewer digits of them to give, and the law allows for as many fewer."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attlas.measures import tiles
from attlas.measures.tiles import Asked, Scored, attend_in_tiles

MASKS = ("none", "causal", "right", "left", "window", "chunk", "any")
PRECISIONS = (torch.float32, torch.bfloat16, torch.float16)  # of what is put in; sums are those of float32
TOLERANCE = 1e-5


class Call(NamedTuple):
    """One attention, and what is asked of it."""

    query: Tensor
    key: Tensor
    value: Tensor
    scale: float
    causal: bool
    mask: Tensor | None
    softcap: float | None
    bias: Tensor | None
    sinks: Tensor | None
    readers: Tensor
    window: int
    lower: int
    logs: int
    pairs: Tensor


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """A call of any kind: masks, grouped keys, widths that differ, soft cap, biases, sinks, precisions."""
    batch, shared, groups = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2])), draw(st.integers(1, 2))
    heads, n, width = shared * groups, draw(st.integers(1, 70)), draw(st.sampled_from([1, 4, 24]))
    wide, logs, kind = draw(st.integers(2, 9)), draw(st.integers(1, 2)), draw(st.sampled_from(MASKS))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))

    def normal(*shape: int) -> Tensor:
        drawn = torch.randn(*shape, generator=generator)
        return drawn.to(precision).float()

    precision = draw(st.sampled_from(PRECISIONS))
    value = torch.cat([normal(batch, heads, n, wide - 1), torch.ones(batch, heads, n, 1)], -1)
    bias = None
    if (form := draw(st.sampled_from(["none", "alibi", "tensor", "text"]))) == "alibi":
        slopes = 2.0 ** -torch.arange(1, heads + 1).float()
        bias = -(slopes[:, None, None] * (torch.arange(n)[:, None] - torch.arange(n)).abs())[None]
    elif form != "none":
        bias = normal(batch if form == "text" else 1, 1 if form == "text" else heads, n, n)
    return Call(
        normal(batch, heads, n, width), normal(batch, groups, n, width), value,
        draw(st.sampled_from([0.1, 1.0, 9.0])), kind == "causal", masked(kind, batch, n, generator),
        draw(st.sampled_from([None, 5.0])), bias,
        normal(heads) * draw(st.sampled_from([4, 90])) if draw(st.booleans()) else None, normal(batch, 1, n, 2).abs(),
        draw(st.sampled_from([0, 1, 3, 100])), draw(st.sampled_from([0, 2])), logs,
        torch.randint(n, (batch, draw(st.sampled_from([0, 1, 50])), 2), generator=generator),
    )  # fmt: skip


def masked(kind: str, batch: int, n: int, generator: torch.Generator) -> Tensor | None:
    """A boolean mask of a kind, with texts of different lengths."""
    ahead = torch.ones(n, n, dtype=torch.bool).tril()
    i = torch.arange(n)
    lengths = torch.randint(1, n + 1, (batch, 1, 1, 1), generator=generator)
    everywhere = torch.ones(batch, 1, n, n, dtype=torch.bool)
    return {
        "none": None,
        "causal": None,
        "right": everywhere & (i < lengths),
        "left": ahead & (i >= n - lengths),
        "window": everywhere & ahead & (i[:, None] - i < 5),
        "chunk": everywhere & ahead & (i[:, None] // 7 == i // 7),
        "any": torch.rand(batch, 1, n, n, generator=generator) > 0.4,
    }[kind]


def by_matrix(call: Call) -> dict[str, Tensor]:
    """The same from the matrix, in float64."""
    n, heads = call.query.shape[2], call.query.shape[1]
    query, value = call.query.double(), call.value.double()
    key = call.key.double().repeat_interleave(heads // call.key.shape[1], 1)
    scores = query @ key.transpose(2, 3) * call.scale
    largest = scores.abs().max() if call.sinks is None else torch.maximum(scores.abs().max(), call.sinks.abs().max())
    if call.softcap is not None:
        scores = call.softcap * torch.tanh(scores / call.softcap)
    if call.bias is not None:
        scores = scores + call.bias.double()
    seen = torch.ones_like(scores, dtype=torch.bool) if call.mask is None else call.mask.expand_as(scores)
    if call.causal:
        seen = seen & torch.ones(n, n, dtype=torch.bool).tril()
    scores = scores.masked_fill(~seen, -torch.inf)
    with_sink = scores
    if call.sinks is not None:
        with_sink = torch.cat([scores, call.sinks.double()[None, :, None, None].expand(*scores.shape[:3], 1)], -1)
    lse = with_sink.logsumexp(-1)
    weights = (scores - lse[..., None]).exp().nan_to_num(nan=0.0)
    logs = torch.where(weights > 0, (scores - lse[..., None]) * weights, 0.0)
    i = torch.arange(n)
    apart = i[:, None] - i
    near = torch.stack([(weights * (apart == -offset)).sum(-1) for offset in (-1, 0, 1)], -1)
    readers = call.readers.double().expand(-1, heads, -1, -1)
    at = torch.arange(len(weights))[:, None], slice(None), *call.pairs.unbind(-1)
    wide = value.shape[-1]
    return {
        "out": weights @ value,
        "lse": lse[..., None],
        "lower": (weights * (apart >= 0)) @ value[..., wide - call.lower :],
        "logs": logs @ value[..., wide - call.logs :],
        "top": scores.amax(-1, keepdim=True),
        "within": (weights * (apart.abs() <= call.window)) @ value[..., wide - call.logs :],
        "near": near,
        "received": readers.transpose(2, 3) @ weights,
        "pairs": weights[at].transpose(1, 2),
        "largest": torch.maximum(largest, scores.abs().nan_to_num(posinf=0.0).max()),
        "seen": seen.any(-1, keepdim=True),
        "size": weights @ value.abs(),
        "log_size": logs.abs() @ value.abs()[..., wide - call.logs :],
    }


def in_tiles(call: Call) -> dict[str, Tensor]:
    """All that tiles give."""
    scored = Scored(
        call.query, call.key, call.scale, call.mask, call.causal, call.softcap, call.bias, call.sinks
    )  # fmt: skip
    got = attend_in_tiles(scored, call.value, Asked(call.lower, call.logs, call.window, call.readers, call.pairs))
    return {name: part.double() for name, part in got._asdict().items()}


@settings(max_examples=100, deadline=None)
@given(call=calls(), tile=st.sampled_from([1, 3000, 1 << 18]))
def test_tiles_equal_the_matrix(call: Call, tile: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "TILE", tile)
        ours = in_tiles(call)
    matrix = by_matrix(call)
    whole = matrix["size"]
    lower, logs = (whole[..., whole.shape[-1] - last :] for last in (call.lower, call.logs))
    size = {
        "out": whole,
        "lower": lower,
        "within": logs,
        "logs": matrix["log_size"] + logs,
        "lse": matrix["largest"],
        "top": matrix["largest"],
    }
    steep = max(1.0, float(matrix["largest"]) / 16)  # float32 has so many digits of a score, and weights no more
    for name, mine in ours.items():
        wrong = (mine - matrix[name]).abs() > steep * (TOLERANCE * size.get(name, matrix[name].abs()) + 1e-6)
        wrong &= mine != matrix[name]
        if name == "lse":
            wrong &= matrix["seen"]
        assert not bool(wrong.any()), (name, float((mine - matrix[name]).abs().nan_to_num().max()))


@pytest.mark.parametrize(
    "change",
    [{"softcap": 4.0}, {"bias": torch.randn(1, 2, 9, 9)}, {"sinks": torch.ones(2)}, {"causal": True}, {"scale": 0.7}],
    ids=lambda change: next(iter(change)),
)
def test_every_part_of_a_call_counts(change: dict[str, Any]) -> None:
    """What the law compares does depend on each part, so that none can be dropped unseen."""
    torch.manual_seed(3)
    query, value = torch.randn(1, 2, 9, 4), torch.cat([torch.randn(1, 2, 9, 3), torch.ones(1, 2, 9, 1)], -1)
    call = Call(query, query, value, 0.5, False, None, None, None, None, torch.ones(1, 1, 9, 1), 2, 0, 1,
                torch.zeros(1, 0, 2, dtype=torch.long))  # fmt: skip
    other = call._replace(**change)
    assert not torch.allclose(in_tiles(call)["out"], in_tiles(other)["out"], atol=1e-3)
    assert torch.allclose(in_tiles(other)["out"], by_matrix(other)["out"], atol=1e-5)


def test_a_row_that_only_a_sink_sees_gives_nothing() -> None:
    query, value = torch.randn(1, 1, 4, 4), torch.ones(1, 1, 4, 1)
    mask = torch.zeros(1, 1, 4, 4, dtype=torch.bool)
    mask[..., 2:, 0] = True
    got = attend_in_tiles(Scored(query, query, 1.0, mask, sinks=torch.tensor([0.3])), value)
    assert got.out[0, 0, :2, 0].tolist() == [0.0, 0.0]
    assert math.isclose(float(got.lse[0, 0, 0, 0]), 0.3, abs_tol=1e-5)
    assert got.top[0, 0, :2, 0].tolist() == [-math.inf, -math.inf]
