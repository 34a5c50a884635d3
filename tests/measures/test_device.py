"""The kernels of a GPU against the matrix in float64: on a GPU, or on a CPU in Triton's interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch.nn.functional import one_hot

from attlas.ids import Site, Stream
from attlas.measures import device
from attlas.measures.kernels import attend, way_of
from attlas.models import AttentionCall
from attlas.models.masks import intervals_of

ON_GPU = torch.cuda.is_available() and not device._missing(torch.device("cuda"))

# In a process of its own, since Triton decides once whether kernels are interpreted. Small tiles, so that a text has
# several: some that need no care, some at the edges.
INTERPRETED = """
import torch
from attlas.measures import device
from benchmarks.device import by_matrix, random_call, worst
small = device.Launch(16, 16, 4, 1)
device._summing = device._attending = lambda call, width: small
torch.manual_seed(0)
half, shape = torch.float16, {"pieces": 54, "texts": 2, "heads": 2, "groups": 1, "width": 16, "value": 16}
cases = [("causal", torch.float32, {}), ("padded left", half, {}), ("window", torch.float32, {}), ("chunk", half, {}),
         ("both ways within 30", half, {}), ("padded right", torch.float32, {"softcap": 3.0, "sinks": True}),
         ("causal", half, {"bias": "ALiBi", "width": 24, "value": 12, "norms": False})]
for kind, dtype, more in cases:
    norms = more.pop("norms", True)
    call = random_call(kind, dtype, **{**shape, **more})
    share, name = worst(call, norms=norms)
    print(kind, dtype, round(share, 3), name)
    assert share <= 1, (kind, dtype, share, name)
call = random_call("window", half, **shape)
grams = torch.randn(2, 16, 20)
grams = grams @ grams.transpose(1, 2)
slow = (call.values.float() @ grams * call.values.float()).sum(-1).clamp(min=0).sqrt()
assert torch.allclose(device.lengths(call, grams), slow, rtol=1e-3)
pairs, weights = torch.randint(54, (2, 40, 2)), call.weights().float()
lse = call.scores().float().logsumexp(-1)
at = weights[torch.arange(2)[:, None], :, pairs[..., 0], pairs[..., 1]].transpose(1, 2)
assert torch.allclose(device.weights_at(call, lse, pairs), at, atol=1e-3)
"""


def test_interpreted_kernels_equal_the_matrix() -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    if ON_GPU:
        pytest.skip("the kernels run on the GPU itself")
    run = subprocess.run(
        [sys.executable, "-c", INTERPRETED],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr[-2000:]


@pytest.mark.skipif(not ON_GPU, reason="there is no GPU with Triton")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("kind", "more"),
    [("plain", {}), ("causal", {}), ("padded right", {}), ("padded left", {}), ("window", {}), ("chunk", {}),
     ("both ways within 30", {}), ("causal", {"softcap": 5.0}), ("causal", {"bias": "ALiBi"}),
     ("causal", {"bias": "T5 buckets"}), ("causal", {"sinks": True}), ("causal", {"width": 192, "value": 128})],
)  # fmt: skip
def test_kernels_equal_the_matrix(kind: str, more: dict[str, Any], dtype: torch.dtype) -> None:
    from benchmarks.device import random_call, worst

    share, name = worst(random_call(kind, dtype, **more))
    assert share <= 1, name


@pytest.mark.skipif(not ON_GPU, reason="there is no GPU with Triton")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_million_keys_add_up(dtype: torch.dtype) -> None:
    """Of so many tiles it would show if each were added to a sum that is cut off and not rounded."""
    torch.manual_seed(0)
    query = torch.randn(1, 1, 64, 64, device="cuda").to(dtype)
    key, value = (torch.randn(1, 1, 1 << 20, 64, device="cuda").to(dtype) for _ in range(2))
    call = AttentionCall(Site(Stream.CROSS, 0), query, key, value, None, 0.125)
    columns = one_hot(torch.randint(4, (1, 1, 1 << 20), device="cuda"), 4).float()
    got = attend(call, columns, None, torch.ones(1, 1, 64, 1, device="cuda"))
    weights = (query[0, 0].double() @ key[0, 0].double().T * 0.125).softmax(-1)
    for name, expected in {
        "weight": weights @ columns[0, 0].double(), "total": weights.sum(-1),
        "weight_log": torch.xlogy(weights, weights).sum(-1),
    }.items():  # fmt: skip
        found = getattr(got, name)[0, 0].double()
        assert bool(((found - expected).abs() <= 1e-3 * expected.abs()).all()), name


def test_what_kernels_do_not_cover_is_said() -> None:
    query = torch.zeros(1, 2, 3, 4)

    def call(**more: Any) -> AttentionCall:
        given = {"query": query, "key": query, "value": query, "mask": None, "scaling": 0.5, **more}
        return AttentionCall(Site(Stream.ENCODER, 0), **given)

    assert device.uncovered(call(query=None)) == "a softmax of its own"
    assert (
        device.uncovered(call(query=query.double(), key=query.double(), value=query.double())) == "numbers of float64"
    )
    wide = torch.zeros(1, 2, 3, 300)
    assert device.uncovered(call(query=wide, key=wide, value=wide)) == "heads wider than 256"
    assert way_of(call(mask=torch.zeros(1, 1, 3, 3)))[0] == "matrix"
    assert way_of(call()) == ("tiles", "")


@pytest.mark.parametrize("kind", ["tril", "window", "padded", "empty rows", "all alike"])
def test_intervals_say_what_a_mask_says(kind: str) -> None:
    i = torch.arange(9)
    masks = {
        "tril": (i[None] <= i[:, None])[None, None],
        "window": ((i[None] <= i[:, None]) & (i[None] > i[:, None] - 3))[None, None],
        "padded": (i[None] < torch.tensor([9, 5])[:, None])[:, None, None].expand(2, 1, 9, 9),
        "empty rows": ((i[None] <= i[:, None]) & (i[None] >= 4))[None, None],
        "all alike": torch.ones(1, 1, 9, 9, dtype=torch.bool),
    }
    known = intervals_of(masks[kind])
    assert known is not None
    start, stop = (part[:, None, :, None] for part in known)
    assert torch.equal((i >= start) & (i < stop), masks[kind])


def test_a_mask_with_holes_has_no_intervals() -> None:
    mask = torch.ones(1, 1, 4, 4, dtype=torch.bool)
    mask[0, 0, 2, 1] = False
    assert intervals_of(mask) is None
    assert intervals_of(torch.ones(1, 2, 4, 4, dtype=torch.bool)) is None  # heads that see different keys
