"""Batches for probes, copied out of the mapped files, and what can be counted on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.errors import CorpusError
from attlas.probes.attention import offsets
from attlas.probes.files import Features
from attlas.probes.trees import Part
from attlas.probes.vectors import Vectors

SAMPLED = 100  # batches on which sizes are measured
LEAST = 1e-5
RIDGE = 1e-3  # of the mean: directions in which heads hardly differ are not blown up without end


class _Batch(NamedTuple):
    """Some sentences of one length: what the probe reads, numbers of vectors, governors, and which words count."""

    given: Tensor
    ids: Tensor
    governors: Tensor
    scored: Tensor
    members: NDArray[np.int64]


@dataclass
class Reader:
    """Reads batches of one kind ("attention", "states" or "offsets") for training and scoring.

    >>> Reader(None, {}, None, "offsets", 512, torch.device("cpu")).kind
    'offsets'
    """

    features: Features | None
    parts: dict[str, Part]
    vectors: Vectors | None
    kind: str
    words: int
    device: torch.device
    seed: int = 0

    def __post_init__(self) -> None:
        self._root: Tensor | None = None
        self._random = np.random.default_rng(self.seed)

    def batches(self, part: str, shuffled: bool = False) -> Iterator[_Batch]:
        """Go through a part once; shuffled batches are drawn anew each time."""
        for group, rows in self.parts[part].batches(self.words, self._random if shuffled else None):
            ids = None if self.vectors is None else self.vectors.ids[part][group.words][rows]
            yield _Batch(
                self._given(part, group.words, rows),
                torch.zeros(0, dtype=torch.long) if ids is None else torch.from_numpy(ids).to(self.device),
                torch.from_numpy(group.governors[rows]).to(self.device),
                torch.from_numpy(group.scored[rows]).to(self.device),
                group.members[rows],
            )

    def distances(self, part: str, words: int, members: NDArray[np.int64]) -> Tensor:
        """Distances in the trees of some sentences of one length."""
        assert self.features is not None
        rows = [self.parts[part].places[member][1] for member in members]
        return torch.from_numpy(self.features.block(part, "distances", words)[rows]).to(self.device)

    def scale(self) -> Tensor:
        """How much each number of a state varies, (layer, size): its standard deviation on a sample of the training
        part."""
        count, sums = 0, torch.zeros((), dtype=torch.float64, device=self.device)
        squares = sums
        for batch in islice(self.batches("train", shuffled=True), SAMPLED):
            given = batch.given.double()
            sums, squares = sums + given.sum((1, 2)), squares + given.square().sum((1, 2))
            count += given[0, ..., 0].numel()
        mean = sums / max(count, 1)
        return (squares / max(count, 1) - mean.square()).clamp(min=LEAST**2).sqrt().float()

    def measure(self) -> tuple[Tensor, Tensor]:
        """What is usual of attention between two words, on a sample of the training part: the size of each head's,
        and a matrix (head, head) that takes the heads' likeness out: after it all have size one and none goes with
        another. From then on ROOT's attention, which is of another size, is brought to that of the words.
        """
        if self.kind != "attention":
            heads = offsets(1).shape[-1]
            return torch.ones(heads), torch.eye(heads)
        total, root, count, ends = torch.zeros((), device=self.device), torch.zeros((), device=self.device), 0, 0
        for batch in islice(self.batches("train", shuffled=True), SAMPLED):
            others = ~torch.eye(batch.governors.shape[1], dtype=torch.bool, device=self.device)
            between = batch.given[:, :-1, :-1][:, others].flatten(0, 1)
            both = torch.stack([batch.given[:, -1, :-1], batch.given[:, :-1, -1]]).square().sum((1, 2))
            total, count = total + between.T @ between, count + len(between)
            root, ends = root + both, ends + batch.governors.numel()
        moments = (total / max(count, 1)).double().cpu()
        if not moments.dim():
            raise CorpusError("no sentence to train on has two words; give other sentences")
        size = moments.diagonal().sqrt().clamp(min=LEAST)
        sizes = (root.cpu() / max(ends, 1)).sqrt()
        ratio = torch.where(sizes > LEAST, size / sizes.clamp(min=LEAST), torch.ones_like(sizes))
        self._root = ratio.float().to(self.device)
        values, directions = torch.linalg.eigh(moments)
        values = values.clamp(min=0) + RIDGE * values.mean().clamp(min=LEAST**2)
        return size.float(), (directions * values.rsqrt() @ directions.T).float()

    def _given(self, part: str, words: int, rows: NDArray[np.int64]) -> Tensor:
        if self.kind == "offsets":
            return offsets(words).to(self.device)
        assert self.features is not None
        block = self.features.block(part, self.kind, words)
        taken = np.ascontiguousarray(block[:, rows] if self.kind == "states" else block[rows])
        given = torch.from_numpy(taken).to(self.device).float()
        if self._root is not None:
            given[:, -1, :-1] *= self._root[0]
            given[:, :-1, -1] *= self._root[1]
        return given
