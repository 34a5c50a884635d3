"""What a head would show that attends evenly to all it may see, in closed form: the chance level of every figure.

Even weights are one over the number of visible keys, so every sum over keys is a sum over those that are visible,
divided by their number. Where all keys up to the query are visible, or all of them, these sums are differences of
running sums; under a mask they are one product of matrices, some rows at a time. Neither asks an attention kernel.
The statistics of a :func:`~attlas.measures.rows.uniform_call` are the same, and the slow twin in the tests. A query
that sees nothing gives nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attlas.measures.kernels import OFFSETS, WINDOW
from attlas.measures.rows import RowStatistics
from attlas.models import AttentionCall

_NUMBERS = 1 << 26  # of a mask at a time


def even_statistics(
    call: AttentionCall, columns: Tensor, pairs: Tensor | None = None, readers: Tensor | None = None
) -> RowStatistics:
    """Row statistics of one head that attends evenly to what the heads of a call may see; no lengths, no outputs.

    ``columns`` are (batch, 1, key, C), ``pairs`` (batch, P, 2) and ``readers`` (batch, query), as
    :func:`attlas.measures.rows.statistics` takes them.

    >>> q = torch.randn(1, 2, 4, 8)
    >>> rows = even_statistics(AttentionCall("site", q, q, q, None, 0.5, causal=True), torch.eye(4)[None, None])
    >>> rows.weight[0, 0].tolist()[1], round(rows.entropy[0, 0, 3].item(), 4)
    ([0.5, 0.5, 0.0, 0.0], 1.3863)
    """
    batch, _, queries, keys = call.shape
    device = call.value.device
    reading = torch.ones(batch, queries, device=device) if readers is None else readers.float()
    reading = reading.expand(batch, queries)
    place = torch.arange(keys, dtype=torch.float64, device=device)
    summed = torch.cat([columns[:, 0].double().expand(batch, -1, -1), place.expand(batch, -1)[..., None]], -1)
    if call.mask is None:
        sums, count, received = _running(summed, reading, queries, causal=call.causal)
    else:
        visible = call.visible()
        assert visible is not None
        sums, count, received = _masked(summed, reading, visible[:, 0])
    some = (count > 0).double()
    share = some / count.clamp(min=1)
    i = torch.arange(queries, device=device)
    one_text = queries == keys
    near = torch.zeros(batch, queries, len(OFFSETS), dtype=torch.float64, device=device)
    within, distance = torch.zeros_like(share), torch.zeros_like(share)
    if one_text:
        offsets = torch.arange(-WINDOW, WINDOW + 1, device=device)
        reached = i + offsets[:, None]
        seen = _seen(call, i.expand(reached.shape).flatten(), reached.flatten())
        seen = seen.view(-1, len(offsets), queries).double().expand(batch, -1, -1)
        near = seen[:, WINDOW + OFFSETS[0] : WINDOW + OFFSETS[-1] + 1].transpose(1, 2) * share[..., None]
        within = seen.sum(1) * share
        distance = _distance(call, sums[..., -1], count, i) * share
    at_pairs = torch.zeros(batch, 0, dtype=torch.float64, device=device)
    if pairs is not None:
        at_pairs = _seen(call, pairs[..., 0], pairs[..., 1]) * share.gather(1, pairs[..., 0])
    shares = sums[..., :-1] * share[..., None]
    log = -count.clamp(min=1).log()

    def made(values: Tensor) -> Tensor:
        return values.float().expand(batch, *values.shape[1:])[:, None]

    within_both = torch.stack([within, within], -1)
    return RowStatistics(
        weight=made(shares), norm=made(shares), total=made(some), length=made(some), weight_log=made(log),
        norm_log=made(log), length_log=made(torch.zeros_like(log)), weight_distance=made(distance),
        norm_distance=made(distance), near=made(near), within=made(within_both),
        top=made(torch.where(some > 0, 0.0, -torch.inf)), received=made(received), pairs=made(at_pairs),
        mixed=made(torch.zeros(batch, queries, 0, device=device)),
    )  # fmt: skip


def _running(summed: Tensor, reading: Tensor, queries: int, *, causal: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Sums over visible keys, their number, and what keys receive, where all keys are visible, or all up to the
    query."""
    batch, keys, _ = summed.shape
    if not causal:
        sums = summed.sum(1, keepdim=True).expand(-1, queries, -1)
        count = torch.full((batch, queries), float(keys), dtype=torch.float64, device=summed.device)
        return sums, count, (reading.double().sum(1, keepdim=True) / keys).expand(-1, keys)
    count = torch.arange(1, queries + 1, dtype=torch.float64, device=summed.device).clamp(max=keys)
    sums = summed.cumsum(1)
    sums = sums[:, :queries] if queries <= keys else sums[:, (count.long() - 1)]
    given = (reading.double() / count).flip(1).cumsum(1).flip(1)  # from each query and all after it
    received = torch.zeros(batch, keys, dtype=torch.float64, device=summed.device)
    received[:, : min(queries, keys)] = given[:, : min(queries, keys)]
    return sums, count.expand(batch, -1), received


def _masked(summed: Tensor, reading: Tensor, visible: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same under a mask, (batch or 1, query, key)."""
    batch, keys, _ = summed.shape
    step = max(1, _NUMBERS // (len(visible) * keys))
    sums, counts, received = [], [], torch.zeros(batch, keys, dtype=torch.float64, device=summed.device)
    for start in range(0, visible.shape[1], step):
        rows = visible[:, start : start + step].double()
        count = rows.sum(-1)
        sums.append(torch.matmul(rows, summed))
        counts.append(count.expand(batch, -1))
        given = reading[:, start : start + step].double() / count.clamp(min=1)
        received = received + torch.matmul(given[:, None], rows)[:, 0]
    return torch.cat(sums, 1), torch.cat(counts, 1), received


def _seen(call: AttentionCall, i: Tensor, j: Tensor) -> Tensor:
    """Whether queries i see keys j, one by one; a key that is not there is not seen. Both (place) or (batch, place);
    the answer has an axis for the batch."""
    keys = call.shape[3]
    there = (j >= 0) & (j < keys)
    if call.mask is None:
        there = there & (j <= i) if call.causal else there
        return there if there.dim() == 2 else there[None]
    visible = call.visible()
    assert visible is not None
    visible = visible[:, 0]
    i, j, there = (part if part.dim() == 2 else part[None] for part in (i, j.clamp(0, keys - 1), there))
    texts = max(len(visible), len(i))
    text = torch.arange(len(visible), device=i.device)[:, None].expand(-1 if len(visible) > 1 else texts, 1)
    text = text if len(visible) > 1 else torch.zeros_like(text)
    return there & visible[text, i, j]


def _distance(call: AttentionCall, position: Tensor, count: Tensor, i: Tensor) -> Tensor:
    """Sum over visible keys of |i - j|; ``position`` is that of j."""
    if call.mask is None and call.causal:
        return i * count - position
    if call.mask is None:
        n = call.shape[3]
        before, after = i.double(), n - 1 - i.double()
        return ((before * (before + 1) + after * (after + 1)) / 2).expand(len(count), -1)
    visible = call.visible()
    assert visible is not None
    visible = visible[:, 0]
    step, apart = max(1, _NUMBERS // (len(visible) * visible.shape[2])), []
    for start in range(0, len(i), step):
        away = (i[start : start + step, None] - i).abs().double()
        apart.append((visible[:, start : start + step] * away).sum(-1))
    return torch.cat(apart, 1).expand(len(count), -1)
