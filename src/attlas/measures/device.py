"""All sums of a call at the speed of attention itself: what :mod:`attlas.measures.device_kernels` does on a GPU.

Queries, keys and values go in as the model has them, with fewer keys than heads where heads share them; sums are
float32. Two passes over the scores are made. The first is attention: torch's own where that tells the log-sum-exps,
too (nothing hidden but what lies ahead, no more than products of queries and keys), so that the model's output is
the plain one; else ours. The second takes every sum, and needs no softmax any more.

What a query may see is told by an interval of keys (:func:`attlas.models.masks.intervals_of`). Triton compiles
kernels when they are first called, and is imported no sooner.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import torch
from torch import Tensor

from attlas.models import AttentionCall
from attlas.models.masks import Intervals, intervals_of

WIDEST = 256  # of queries, keys and values
OLDEST = (8, 0)  # the oldest generation of GPUs with bfloat16
DTYPES = (torch.float16, torch.bfloat16, torch.float32)
SHORT = 256  # up to so many pieces, smaller tiles lose less
_FLASH, _CUDNN = 1, 3  # as torch numbers its kernels
_WHOLE = 2.0**-40
_ROWS = 10  # what rows have beside the columns; see the kernel


class Launch(NamedTuple):
    """How a kernel is laid out: queries and keys of a tile, warps, and loads that are under way.

    >>> Launch(128, 64, 8, 2).queries
    128
    """

    queries: int
    keys: int
    warps: int
    stages: int


def uncovered(call: AttentionCall) -> str:
    """Why the kernels do not cover a call; nothing where they do.

    >>> q = torch.zeros(1, 2, 3, 4, dtype=torch.float64)
    >>> uncovered(AttentionCall("site", q, q, q, None, 0.5)) != ""
    True
    """
    if call.query is None or call.key is None:
        return "a softmax of its own"
    if call.replaced is not None:
        return "weights that were replaced"
    if call.value.dtype not in DTYPES or call.query.dtype != call.value.dtype or call.key.dtype != call.value.dtype:
        return f"numbers of {str(call.query.dtype).removeprefix('torch.')}"
    if max(call.query.shape[-1], call.value.shape[-1]) > WIDEST:
        return f"heads wider than {WIDEST}"
    if (missing := _missing(call.value.device)) != "":
        return missing
    if call.mask is not None and call.mask.dtype != torch.bool:
        return "a mask that is added to the scores"
    if call.mask is not None and intervals_of(call.mask) is None:
        return "a mask with holes"
    return ""


@cache
def _missing(device: torch.device) -> str:
    """What a device lacks to run the kernels."""
    if find_spec("triton") is None:
        return "Triton is not installed"
    if device.type == "cpu":
        from triton import knobs

        return "" if knobs.runtime.interpret else "no GPU"
    if device.type != "cuda" or torch.version.hip is not None:
        return f"devices of the kind {device.type}"
    if torch.cuda.get_device_capability(device) < OLDEST:
        return f"a GPU older than {torch.cuda.get_device_name(device)} would have to be for bfloat16"
    return ""


def attend(
    call: AttentionCall, columns: Tensor, lengths: Tensor | None, readers: Tensor, window: int
) -> tuple[Tensor, ...]:
    """All sums of a call, in the order of :class:`attlas.measures.kernels.Attended`.

    >>> attend.__name__
    'attend'
    """
    assert call.query is not None
    assert call.key is not None
    mixed, lse = outputs(call)
    batch, heads, queries, keys = call.shape
    width = columns.shape[-1]
    after = width + 2  # where the columns with nu begin
    wide = max(16, 1 << (after + (0 if lengths is None else width + 3) - 1).bit_length())
    launch = _summing(call, wide)
    nu = None if lengths is None else lengths.contiguous()
    most = None if lengths is None else lengths.float().amax(-1).contiguous()
    packed = _packed(call, columns, nu, most, wide, launch.keys)
    sums = lse.new_empty(batch, heads, queries, wide)
    rows = lse.new_empty(batch, heads, _ROWS, queries)
    received = lse.new_zeros(batch, heads, readers.shape[-1], keys, dtype=torch.int64)
    _add_up(
        call, lse, packed, nu, most, readers[:, 0].float().contiguous(), sums, rows, received, window, after, launch
    )
    weight, total = sums[..., 2:after], sums[..., 0]
    if lengths is None:
        norm, length, length_log = weight, total, torch.zeros_like(total)
    else:
        norm, length, length_log = sums[..., after + 3 : after + 3 + width], sums[..., after], sums[..., after + 2]
    return (
        mixed.transpose(1, 2), lse, rows[:, :, 0], weight, norm, total, length, rows[:, :, 1], rows[:, :, 2],
        length_log, rows[:, :, 3], rows[:, :, 4], rows[:, :, 5:7].transpose(2, 3), rows[:, :, 7:].transpose(2, 3),
        received[:, :, 0] * _WHOLE,
    )  # fmt: skip


def lengths(call: AttentionCall, grams: Tensor) -> Tensor | None:
    """||f(x)|| of every key and head, (batch, head, key), from the :func:`attlas.measures.norms.gram` of every head;
    None where the kernel does not cover the values.

    >>> lengths.__name__
    'lengths'
    """
    value = call.value
    covered = value.dtype in DTYPES and value.shape[-1] <= WIDEST // 2 and _missing(value.device) == ""
    if not covered or (value.dtype == torch.float32 and value.shape[-1] > WIDEST // 4):
        return None
    from attlas.measures import device_kernels

    batch, heads, _, keys = call.shape
    found = torch.empty(batch, heads, keys, dtype=torch.float32, device=value.device)
    device_kernels.bring[((keys + 63) // 64, batch * heads)](
        value, grams.float().contiguous(), found, keys, heads, heads // value.shape[1], *value.stride(),
        DV=max(16, 1 << (value.shape[-1] - 1).bit_length()), WIDTH_V=value.shape[-1], BLOCK=64,
        PRECISION=_precision(value), num_warps=4,
    )  # fmt: skip
    return found


def weights_at(call: AttentionCall, lse: Tensor, pairs: Tensor) -> Tensor:
    """Weights of single pairs of query and key, (batch, head, P), from pairs (batch, P, 2).

    >>> weights_at.__name__
    'weights_at'
    """
    from attlas.measures import device_kernels

    query, key = call.query, call.key
    assert query is not None
    assert key is not None
    batch, heads, queries, keys = call.shape
    pairs = pairs.contiguous()
    kind, starts, stops, by_text = _seen(call)
    bias, strides = _bias(call)
    found = lse.new_empty(batch, heads, pairs.shape[1])
    device_kernels.weigh[((pairs.shape[1] + 31) // 32, batch * heads)](
        query, key, lse, pairs, starts, stops, bias, found, float(call.scaling), float(call.softcap or 1.0),
        pairs.shape[1], heads, heads // key.shape[1], queries, keys, *query.stride(), *key.stride(),
        pairs.stride(0) if len(pairs) > 1 else 0, by_text, *strides, KIND=kind, HAS_CAP=call.softcap is not None,
        HAS_BIAS=call.bias is not None, D=max(16, 1 << (query.shape[-1] - 1).bit_length()), WIDTH=query.shape[-1],
        BLOCK=32, num_warps=4,
    )  # fmt: skip
    return found


def outputs(call: AttentionCall) -> tuple[Tensor, Tensor]:
    """The heads' outputs, (batch, query, head, width) in the model's own precision, and log-sum-exps in float32.

    >>> outputs.__name__
    'outputs'
    """
    assert call.query is not None
    assert call.key is not None
    plain = _of_torch(call)
    if plain is not None:
        return plain
    from attlas.measures import device_kernels

    batch, heads, queries, keys = call.shape
    value, query, key = call.value, call.query, call.key
    out = torch.empty(batch, queries, heads, value.shape[-1], dtype=value.dtype, device=value.device)
    lse = torch.empty(batch, heads, queries, dtype=torch.float32, device=value.device)
    kind, starts, stops, by_text = _seen(call)
    bias, strides = _bias(call)
    widths = [max(16, 1 << (width - 1).bit_length()) for width in (query.shape[-1], value.shape[-1])]
    launch = _attending(call, max(widths))
    device_kernels.attend[((queries + launch.queries - 1) // launch.queries, batch * heads)](
        query, key, value, out, lse, starts, stops, bias, bias if call.sinks is None else call.sinks.float(),
        float(call.scaling), float(call.softcap or 1.0), heads, heads // key.shape[1], queries, keys,
        *query.stride(), *key.stride(), *value.stride(), out.stride(0), out.stride(2), out.stride(1), by_text,
        *strides, KIND=kind, HAS_CAP=call.softcap is not None, HAS_BIAS=call.bias is not None,
        HAS_SINKS=call.sinks is not None, D=widths[0], WIDTH=query.shape[-1], DV=widths[1],
        WIDTH_V=value.shape[-1], BLOCK_M=launch.queries, BLOCK_N=launch.keys, PRECISION=_precision(value),
        num_warps=launch.warps, num_stages=launch.stages,
    )  # fmt: skip
    return out, lse


def _of_torch(call: AttentionCall) -> tuple[Tensor, Tensor] | None:
    """Outputs and log-sum-exps by the kernel that the plain model's attention would choose, where that tells both."""
    assert call.query is not None
    assert call.key is not None
    query, key, value = call.query, call.key, call.value
    odd = call.mask is not None or call.bias is not None or call.softcap is not None or call.sinks is not None
    if odd or query.device.type != "cuda" or (call.causal and query.shape[2] != key.shape[2]):
        return None
    grouped = key.shape[1] != query.shape[1]
    choice = torch._fused_sdp_choice(
        query, key, value, None, 0.0, call.causal, scale=call.scaling, enable_gqa=grouped
    )
    if choice not in (_FLASH, _CUDNN):
        return None
    if choice == _FLASH:
        out, lse, *_ = torch.ops.aten._scaled_dot_product_flash_attention(
            query, key, value, 0.0, call.causal, False, scale=call.scaling
        )
    else:
        out, lse, *_ = torch.ops.aten._scaled_dot_product_cudnn_attention(
            query, key, value, None, True, 0.0, call.causal, False, scale=call.scaling
        )
    batch, heads, queries, _ = query.shape
    return out.transpose(1, 2).contiguous(), lse.reshape(batch, heads, -1)[..., :queries].contiguous()


def _add_up(
    call: AttentionCall, lse: Tensor, packed: Tensor, nu: Tensor | None, most: Tensor | None, readers: Tensor,
    sums: Tensor, rows: Tensor, received: Tensor, window: int, one_nu: int, launch: Launch,
) -> None:  # fmt: skip
    """Have everything added up: where no care is needed, if there are such tiles, and at the edges."""
    from attlas.measures import device_kernels

    query, key = call.query, call.key
    assert query is not None
    assert key is not None
    batch, heads, queries, keys = call.shape
    kind, starts, stops, by_text = _seen(call)
    bias, strides = _bias(call)
    one_text = queries == keys
    wide = max(16, 1 << (query.shape[-1] - 1).bit_length())
    long = keys > launch.keys + (window if one_text else -1)
    for edges in (False, True) if long else (True,):
        device_kernels.add_up[((queries + launch.queries - 1) // launch.queries, batch * heads)](
            query, key, lse, packed, lse if nu is None else nu, lse if most is None else most, readers, starts,
            stops, bias, sums, rows, received,
            float(call.scaling), float(call.softcap or 1.0), heads, heads // key.shape[1], queries, keys, window,
            one_nu, *query.stride(), *key.stride(), packed.stride(0), packed.stride(1),
            readers.stride(0) if len(readers) > 1 else 0, readers.stride(1), received.stride(2), by_text, *strides,
            KIND=kind, HAS_CAP=call.softcap is not None, HAS_BIAS=call.bias is not None, HAS_NU=nu is not None,
            READERS=readers.shape[-1], SAME=one_text, BOTH=one_text and kind != 1, COLUMNS=packed.shape[-1], D=wide,
            WIDTH=query.shape[-1], BLOCK_M=launch.queries, BLOCK_N=launch.keys, BAND=window if one_text else -1,
            EDGES=edges, MORE=long, PRECISION=_precision(key), num_warps=launch.warps, num_stages=launch.stages,
        )  # fmt: skip


def _packed(
    call: AttentionCall, columns: Tensor, nu: Tensor | None, most: Tensor | None, wide: int, tile: int
) -> Tensor:
    """What keys carry, side by side, in half precision where the model has it."""
    from attlas.measures import device_kernels

    batch, heads, _, keys = call.shape
    columns = columns[:, 0].float().contiguous()
    alone = 1 if nu is None else heads  # without nu all heads have the same
    half = call.value.dtype != torch.float32
    packed = columns.new_empty(batch, alone, keys, wide, dtype=torch.float16 if half else torch.float32)
    block = 128
    device_kernels.pack[((keys + block - 1) // block, batch * alone)](
        columns, columns if nu is None else nu, columns if most is None else most, packed, keys, columns.shape[-1],
        alone, columns.stride(0),
        columns.stride(1), HAS_NU=nu is not None, COLUMNS=wide, BLOCK=block, TILE=tile, num_warps=4,
    )  # fmt: skip
    return packed.expand(batch, heads, keys, wide)


def _seen(call: AttentionCall) -> tuple[int, Tensor, Tensor, int]:
    """How the kernels are told what may be seen: the kind, starts and stops, and the step from text to text."""
    known: Intervals | None = None if call.mask is None else intervals_of(call.mask)
    if known is None:
        return (1 if call.causal else 0), call.value, call.value, 0
    return 2, known.start, known.stop, known.start.stride(0) if len(known.start) > 1 else 0


def _bias(call: AttentionCall) -> tuple[Tensor, tuple[int, ...]]:
    """A position bias and its steps, which are 0 where it is the same for all; any tensor where there is none."""
    if call.bias is None:
        return call.value, (0, 0, 0, 0)
    bias = call.bias.expand(call.shape)
    return bias, bias.stride()


def _precision(tensor: Tensor) -> str:
    return "ieee" if tensor.dtype == torch.float32 else "tf32"


def _attending(call: AttentionCall, width: int) -> Launch:
    queries = call.shape[2]
    if call.value.dtype == torch.float32:
        return Launch(32, 32 if width <= 128 else 16, 4, 1)
    if queries <= SHORT or width > 128:
        return Launch(64, 64, 4, 2)
    return Launch(128, 64, 8 if width > 64 else 4, 3)


def _summing(call: AttentionCall, columns: int) -> Launch:
    assert call.query is not None
    if call.value.dtype == torch.float32:
        return Launch(32, 32, 4, 1)
    if call.shape[2] > SHORT and columns <= 32 and call.query.shape[-1] <= 64:
        return Launch(64, 128, 4, 3)
    return Launch(64, 64, 4, 3 if columns <= 64 else 2)
