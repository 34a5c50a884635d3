"""A look at a text that is too long for its weights: queries, keys and what each row sums up to.

A weight is exp(q·k · scaling − lse), with lse the logarithm of its row's sum. So of 30,000 pieces a head needs no
matrix of 900 million weights, but some 8 MB: its queries and keys in half precision and one lse for each query; rows
and columns are reckoned from them when somebody points at a word. One pass over the rows, a few at a time, gives the
lse, what each key receives on average, and a coarse picture in which each dot is the largest weight of its cells.

That works where scores are scaled products and queries see an interval of keys (causal order, windows). Position
biases, soft caps and sinks are refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from attlas.capture.chosen_rows import Rows, Span, spans_of
from attlas.capture.instruments import Fold
from attlas.capture.look import as_passage, chosen
from attlas.capture.room import within_memory
from attlas.capture.selection import Heads, Layers
from attlas.errors import CapabilityError, TextError
from attlas.ids import Site, Stream
from attlas.models import AttentionCall

if TYPE_CHECKING:
    from attlas.capture.subject import Subject
    from attlas.views import Scene

CELLS = 512  # dots a side of the coarse picture, at most
TILE = 24_000_000  # weights that are made at once
MOST_NUMBERS = 500_000_000  # of queries and keys together: 1 GB in half precision


def look_reckoned(
    subject: Subject, text: Any, *, layers: Layers | None = None, heads: Heads | None = None, rows: Rows | None = None
) -> Scene:
    """Look at some rows, layers and heads of a long text without ever making the matrix; gives what the viewer shows.
    ``rows`` are the pieces that are looked from, by their places counted from 1: ``"5000..5200"``, ``"last:200"`` for
    an answer at the end of a long prompt, or several; :meth:`attlas.views.scene.Strand.rows` has their numbers.

    >>> from attlas.capture import load
    >>> strand = look_reckoned(load(), "The farmer slept.", layers="6", heads="3", rows="2..4").strands[0]
    >>> strand.weights.size, strand.sums.shape, strand.asked.tolist()
    (0, (1, 1, 3), [1, 2, 3])
    >>> strand.rows(0, 0, strand.asked).sum(1).round(2).tolist()
    [1.0, 1.0, 1.0]
    """
    from attlas.views import Scene, Sequence, Strand
    from attlas.views.regions import with_regions

    if subject.pieces.translating:
        raise CapabilityError(f"{subject.name}: rows are reckoned for models that read one text; look at it whole")
    example = subject.pieces.encode(as_passage(text))
    if example.length > subject.pieces.window:
        raise TextError(
            f"the text has {example.length:,} pieces and the window of {subject.name} holds "
            f"{subject.pieces.window:,}; shorten it, or look at its parts"
        )
    looked = spans_of(rows, example.length)
    selection = chosen(subject, layers, heads)
    sites = [site for site in subject.sites if site in selection]
    kept = [
        [head for head in range(subject.heads(site)) if selection.heads is None or head in selection.heads]
        for site in sites
    ]
    if len({tuple(row) for row in kept}) > 1:
        raise CapabilityError(f"{subject.name} has other heads in every layer; look at one layer of a long text")
    watch = _Watch(kept[0], example.length, len(sites), subject.name, looked or ((0, example.length),))
    batch = subject.pieces.batch([example], subject.device)
    with within_memory(subject), torch.no_grad(), subject.use(Fold(watch.take, selection)):
        subject.read(batch)
    words = [document.word(at) for document in example.passage.documents for at in range(len(document.words))]
    read = Sequence.of(example.source.segmentation, words)
    queries, keys, sums, seen, coarse, received, links = (
        np.stack([part[site] for site in sites]) for part in watch.parts()
    )
    blocks = subject.blocks(subject.pieces.own)
    nothing = np.zeros((len(sites), len(kept[0]), 0, 0), np.float32)
    strand = Strand(
        subject.pieces.own, read, read, nothing, tuple(site.layer for site in sites), tuple(kept[0]),
        query_vectors=queries, key_vectors=keys, scaling=tuple(watch.scaling[site] for site in sites),
        blocks=tuple(blocks[site.layer] for site in sites) if blocks else (),
        sums=sums, seen=seen, coarse=coarse, received=received, links=links, looked=looked,
    )  # fmt: skip
    return with_regions(Scene(subject.name, tuple(d.text for d in example.passage.documents), (strand,)))


@dataclass
class _Watch:
    """Takes each call and keeps of it what rows are reckoned from."""

    heads: list[int]
    length: int
    layers: int
    model: str
    looked: tuple[Span, ...]
    queries: dict[Site, Any] = field(default_factory=dict)
    keys: dict[Site, Any] = field(default_factory=dict)
    sums: dict[Site, Any] = field(default_factory=dict)
    seen: dict[Site, Any] = field(default_factory=dict)
    coarse: dict[Site, Any] = field(default_factory=dict)
    received: dict[Site, Any] = field(default_factory=dict)
    links: dict[Site, Any] = field(default_factory=dict)
    scaling: dict[Site, float] = field(default_factory=dict)

    def parts(self) -> tuple[dict[Site, Any], ...]:
        return self.queries, self.keys, self.sums, self.seen, self.coarse, self.received, self.links

    def take(self, call: AttentionCall) -> None:
        site = call.site
        if call.again or site.stream is Stream.CROSS:
            return
        if call.unreadable or call.sinks is not None or call.adjusted:
            why = call.unreadable or ("sinks of its own" if call.sinks is not None else "more than scaled products")
            raise CapabilityError(
                f"{self.model}: rows of a long text are reckoned from queries and keys, and this model has {why}; "
                "look at a shorter text"
            )
        assert call.query is not None
        heads, width = self.heads, call.query.shape[-1]
        asked = torch.cat([torch.arange(*span) for span in self.looked])
        if self.layers * len(heads) * (self.length + len(asked)) * width > MOST_NUMBERS:
            most = max(1, MOST_NUMBERS // (self.layers * (self.length + len(asked)) * width))
            raise TextError(
                f"{self.length:,} pieces with {len(heads) * self.layers} heads are more queries and keys than "
                f"{MOST_NUMBERS:,}; look at no more than {most} heads of each layer, or at fewer layers"
            )
        query, key = call.query[0, heads][:, asked].float(), call.keys[0, heads].float()
        self.scaling[site] = float(call.scaling)
        self.queries[site] = query.half().cpu().numpy()
        self.keys[site] = key.half().cpu().numpy()
        count, keys = len(asked), key.shape[1]
        most = max(1, min(256, TILE // (len(heads) * keys)))
        down, across = min(CELLS, count), min(CELLS, keys)
        column_of = torch.arange(keys, device=key.device) * across // keys
        row_of = torch.arange(count, device=key.device) * down // count
        lse = query.new_empty(len(heads), count)
        seen = torch.zeros(2, count, dtype=torch.int32)
        coarse = query.new_zeros(len(heads), down, across)
        received = query.new_zeros(len(heads), keys)
        links = torch.zeros(len(heads), 3, dtype=torch.float64)  # the query, the key and the weight of the strongest
        for at, rows in self._tiles(most):
            here = slice(at, at + rows.stop - rows.start)
            scores = query[:, here] @ key.transpose(1, 2) * call.scaling
            visible = call.visible(rows)
            if visible is not None:
                see = visible[0, 0].expand(scores.shape[1], keys)
                scores.masked_fill_(~see, -torch.inf)
                seen[:, here] = self._interval(see)
            else:
                seen[:, here] = torch.tensor([[0], [keys]], dtype=torch.int32)
            lse[:, here] = scores.logsumexp(-1)
            weights = scores.sub_(lse[:, here, None]).exp_()
            received += weights.sum(1) / count
            self._keep_strongest(links, weights, rows, alone=seen[1, here] - seen[0, here] < 2)
            pooled = query.new_zeros(len(heads), scores.shape[1], across)
            pooled.scatter_reduce_(2, column_of.expand_as(weights), weights, "amax")
            coarse.scatter_reduce_(1, row_of[None, here, None].expand_as(pooled), pooled, "amax")
        self.sums[site], self.seen[site] = lse.cpu().numpy(), seen.numpy()
        self.coarse[site], self.received[site] = coarse.cpu().numpy(), received.cpu().numpy()
        self.links[site] = links.numpy()

    def _keep_strongest(self, links: Tensor, weights: Tensor, rows: slice, *, alone: Tensor) -> None:
        """Put the strongest link of each head in the place of a weaker one; queries that see one key do not count."""
        counted = weights.masked_fill(alone.to(weights.device)[:, None], 0) if alone.any() else weights
        for head, found in enumerate(counted.flatten(1)):
            place = int(found.argmax())
            if float(found[place]) > links[head, 2]:
                query, key = divmod(place, weights.shape[2])
                links[head] = torch.tensor([rows.start + query, key, float(found[place])])

    def _tiles(self, most: int) -> Iterator[tuple[int, slice]]:
        """At most so many rows at once: where they stand among those that are kept, and their places in the text."""
        at = 0
        for first, stop in self.looked:
            for start in range(first, stop, most):
                rows = slice(start, min(stop, start + most))
                yield at, rows
                at += rows.stop - rows.start

    def _interval(self, see: Tensor) -> Tensor:
        """Where what each query sees begins and ends."""
        count = see.sum(-1, dtype=torch.int32)
        start = see.to(torch.uint8).argmax(-1).to(torch.int32)
        last = (see.shape[1] - 1 - see.flip(-1).to(torch.uint8).argmax(-1)).to(torch.int32)
        if bool((last + 1 - start != count).any()):
            raise CapabilityError(
                f"{self.model}: rows of a long text are reckoned where queries see keys side by side, and here they "
                "see some with others between; look at a shorter text"
            )
        return torch.stack([start, last + 1]).cpu()
