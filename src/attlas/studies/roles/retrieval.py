"""Roles in long texts, summed call by call: who looks a needle up, who looks far, who looks at few keys.

A query that writes a piece is the place before it. A head with a window that sees none of the pieces that are asked
about has no case in that text. In a head that attends evenly no key is the most attended one;
there, each key that the query sees is taken to be it with the same chance.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from attlas.studies.roles.seen import Seen, Sums

FIRST = 4  # pieces that count as the beginning
RECENT = 64  # pieces that count as near
TENTH = 0.1  # of the keys
WINDOW = 32  # queries at the end that vote on the keys before them (SnapKV)
POOL = 5  # neighbouring keys whose votes are joined
APART = 4  # sentences between one and the first that counts for it


def _nothing(seen: Seen) -> Sums:
    zeros = torch.zeros(seen.call.shape[0], seen.call.shape[1], device=seen.call.value.device)
    return zeros, zeros.clone()


def retrieved(seen: Seen) -> Sums:
    """The share of a needle's pieces that are copied while the right answer is read."""
    return _copied(seen, "answer")


def retrieved_in_writing(seen: Seen) -> Sums:
    """The share of a needle's pieces that are copied while the model's own answer is read again."""
    return _copied(seen, "written")


def _copied(seen: Seen, name: str) -> Sums:
    """A piece of the needle is copied where the most attended key of the query that writes is in the needle and holds
    the piece that is written; each is counted once."""
    sums, counts = _nothing(seen)
    weights = seen.weights
    for text, spans in enumerate(seen.queries.spans):
        if not {"needle", name} <= set(spans):
            continue
        (first, last), (begin, end) = spans["needle"], spans[name]
        ids = seen.keys.ids[text]
        written, needle = ids[begin:end], ids[first:last]
        same = written[:, None] == needle[None]  # (written, needle)
        counts[text] = 1
        if seen.even:
            visible = (weights[text, :, begin - 1 : end - 1] > 0).sum(-1, keepdim=True)  # (head, written, 1)
            missed = torch.where(same[None], 1 - 1 / visible, 1.0).prod(1)  # (head, needle)
            sums[text] = 1 - missed.mean(-1)
            continue
        most = weights[text, :, begin - 1 : end - 1].argmax(-1)  # (head, written)
        at = most[:, :, None] == torch.arange(first, last, device=ids.device)
        sums[text] = (at & same[None]).any(1).float().mean(-1)
    return sums, counts


def lookback(seen: Seen) -> Sums:
    """The mean weight on what the model was given over that and the mean weight on what it has written, at every
    piece that it has written but the last, which nothing follows."""
    sums, counts = _nothing(seen)
    for text, spans in enumerate(seen.queries.spans):
        if "written" not in spans:
            continue
        begin, end = spans["written"]
        start = int(seen.queries.real[text].int().argmax())
        rows = seen.weights[text, :, begin : end - 1]
        sizes = torch.arange(1, end - begin, device=rows.device)
        context = rows[:, :, start:begin].sum(-1) / (begin - start)
        own = rows[:, :, begin:end].sum(-1) / sizes
        total = context + own
        sums[text] = torch.where(total > 0, context / total.clamp(min=1e-30), 0.0).sum(-1)
        counts[text] = (total > 0).sum(-1)
    return sums, counts


def distant(seen: Seen) -> Sums:
    """What goes neither to the first pieces nor to the nearest ones, over the queries that have both and others."""
    real = seen.queries.real
    order = real.cumsum(1) - 1  # place in the text
    apart = order[:, :, None] - order[:, None, :]
    far = (apart >= RECENT) & (order[:, None, :] >= FIRST) & real[:, None, :]
    return seen.mass(far, real & (order >= 2 * RECENT))


def heavy_hitters(seen: Seen) -> Sums:
    """The share of all attention that goes to the tenth of the keys that get most (H2O)."""
    return _share_of_few(seen, lambda weights: weights.sum(-2))


def window_hitters(seen: Seen) -> Sums:
    """The same of the votes of the last queries on the keys before them, joined with their neighbours' (SnapKV)."""

    def votes(weights: Tensor) -> Tensor:
        asking = min(WINDOW, weights.shape[-1] // 2)
        summed = weights[:, -asking:, :-asking].sum(-2)
        return functional.avg_pool1d(summed, POOL, stride=1, padding=POOL // 2)

    return _share_of_few(seen, votes)


def _share_of_few(seen: Seen, columns: object) -> Sums:
    sums, counts = _nothing(seen)
    assert callable(columns)
    for text, real in enumerate(seen.queries.real):
        weights = seen.weights[text][:, real][:, :, real]
        taken = columns(weights)  # (head, key)
        few = max(1, round(TENTH * taken.shape[-1]))
        total = taken.sum(-1)
        sums[text] = torch.where(total > 0, taken.topk(few).values.sum(-1) / total.clamp(min=1e-30), 0.0)
        counts[text] = total > 0
    return sums, counts


def receiving(seen: Seen) -> Sums:
    """The kurtosis, over sentences, of the mean weight that each gets from sentences at least four later."""
    sums, counts = _nothing(seen)
    for text, spans in enumerate(seen.queries.spans):
        places = [spans[f"s{number}"] for number in range(len(spans)) if f"s{number}" in spans]
        if len(places) <= APART + 3:
            continue
        of = torch.zeros(len(places), seen.weights.shape[-1], device=seen.weights.device)
        for number, (first, last) in enumerate(places):
            of[number, first:last] = 1 / (last - first)
        between = of @ seen.weights[text] @ of.T  # (head, later sentence, earlier sentence)
        gets = torch.stack(
            [between[:, number + APART :, number].mean(-1) for number in range(len(places) - APART)], dim=-1
        ).double()
        aside = gets - gets.mean(-1, keepdim=True)
        spread = aside.square().mean(-1)
        uneven = spread > 1e-20 * gets.mean(-1).square()
        found = aside.pow(4).mean(-1) / spread.square().clamp(min=1e-300) - 3
        sums[text] = torch.where(uneven, found, 0.0).float()
        counts[text] = uneven
    return sums, counts


def instructed(seen: Seen) -> Sums:
    """The weight on the instruction over that on instruction and data, at the last piece."""
    sums, counts = _nothing(seen)
    for text, spans in enumerate(seen.queries.spans):
        if not {"instruction", "data"} <= set(spans):
            continue
        last = int(seen.queries.real[text].nonzero()[-1])
        row = seen.weights[text, :, last]
        masses = [row[:, slice(*spans[name])].sum(-1) for name in ("instruction", "data")]
        total = masses[0] + masses[1]
        sums[text] = torch.where(total > 0, masses[0] / total.clamp(min=1e-30), 0.0)
        counts[text] = total > 0
    return sums, counts
