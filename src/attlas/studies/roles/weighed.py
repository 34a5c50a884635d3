"""Roles read off the weights, without any text: copying, succession, and pairs of words in a relation.

A head's W_V W_O is held between the embedding and the unembedding; norms count with their gains (and centring), for
their scale is one positive number. Heads of the first layer read embeddings, those of others what the first block's
feed-forward part makes of a piece (:mod:`~attlas.studies.roles.first_block`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from attlas.ids import Stream
from attlas.models.circuits import Circuits, HeadWeights, through
from attlas.stats import Bundle
from attlas.studies.roles.definition import Definition
from attlas.studies.roles.first_block import fed_forward
from attlas.studies.roles.ordinals import LISTS, Pair, one_piece
from attlas.studies.roles.readout import found_circuits, why_no_circuits
from attlas.studies.roles.scores import add_scores, empty_scores
from attlas.studies.roles.texts import Setting

if TYPE_CHECKING:
    from attlas.capture import Subject

TOP = 10  # pieces among which a relation's other word is looked for (MAPS)


def copying_score(circuits: Circuits, weights: HeadWeights) -> Tensor:
    """Re Σλ / Σ|λ| over the eigenvalues of W_E W_V W_O W_U, for every head of a site (Elhage et al. 2021), which are
    those of the small matrix W_O W_U W_E W_V.

    >>> eye = torch.eye(3)
    >>> one = HeadWeights(eye[None], eye[None], None, None)
    >>> copying_score(Circuits(eye, eye, None, {}, {}), one).tolist()
    [1.0]
    >>> copying_score(Circuits(eye, -eye, None, {}, {}), one).tolist()
    [-1.0]
    """
    whole = circuits.between
    between = through(circuits.final, torch.eye(len(whole), device=whole.device)) @ through(weights.before, whole)
    written = through(weights.after, weights.output)
    small = torch.einsum("hwd,de,hev->hwv", written, between, weights.value)
    eigen = torch.linalg.eigvals(small.double())
    sizes = eigen.abs().sum(-1)
    return torch.where(sizes > 0, eigen.real.sum(-1) / sizes.clamp(min=1e-300), torch.nan).float()


class WeightScores:
    """What can be said of every head from its weights: definitions are told apart by their keys.

    >>> WeightScores.name
    'roles'
    """

    name = "roles"

    def __init__(self, subject: Subject, definitions: Sequence[Definition], setting: Setting) -> None:
        self.subject, self.definitions = subject, tuple(definitions)
        assert not why_no_circuits(subject)
        self.circuits = found_circuits(subject)

    def empty(self) -> Bundle:
        """Scores that have seen nothing."""
        return Bundle(empty_scores(self.subject, self.definitions))

    def update(self, bundle: Bundle, batch: Sequence[Any]) -> None:
        """Score the heads of a decoder: once for all, or for some pairs of pieces."""
        layers, heads = self.subject.grid(Stream.DECODER).shape
        shape = (len(batch), layers, heads, len(self.definitions))
        sums, counts, chance = np.zeros(shape), np.zeros(shape), np.zeros((len(batch), layers, len(self.definitions)))
        pairs = isinstance(batch[0], Pair)
        first = [pair.first for pair in batch] if pairs else []
        states = (self.circuits.embedding[first], fed_forward(self.subject, first)) if pairs else ()
        for site, weights in self.circuits.sites.items():
            if site.stream is not Stream.DECODER:
                continue
            count = len(weights.value)
            if not pairs:
                score = copying_score(self.circuits, weights).cpu().numpy()
                known = np.isfinite(score)
                sums[:, site.layer, :count, 0] = np.where(known, score, 0.0)
                counts[:, site.layer, :count, 0] = known
                continue
            read = states[min(site.layer, 1)]
            hits, even = self._hits(weights, read, batch)
            sums[:, site.layer, :count] = hits.permute(1, 0, 2).cpu().numpy()
            counts[:, site.layer, :count] = 1.0
            chance[:, site.layer] = even
        add_scores(bundle, Stream.DECODER, sums, counts, [item.unit for item in batch])
        bundle[f"{Stream.DECODER}-chance"].update(chance, np.ones_like(chance))

    def _hits(self, weights: HeadWeights, read: Tensor, pairs: Sequence[Pair]) -> tuple[Tensor, list[float]]:
        """Whether each head finds the other piece of each pair, (head, pair, definition), and how often luck does."""
        targets = torch.tensor([pair.second for pair in pairs], device=read.device)
        written = weights.written(read)
        logits: Tensor | None = None
        found, even = [], []
        for definition in self.definitions:
            if definition.key == "successor":  # the likeliest of all ordinals
                every = torch.tensor(sorted(ordinal_pieces(self.subject)), device=read.device)
                found.append(every[self.circuits.logits(written, every).argmax(-1)] == targets)
                even.append(1 / len(every))
                continue
            logits = self.circuits.logits(written) if logits is None else logits
            own = logits.gather(2, targets[None, :, None].expand(len(logits), -1, 1))
            ahead = logits < own if definition.key.endswith("suppressed") else logits > own
            found.append(ahead.sum(-1) < TOP)
            even.append(TOP / self.circuits.pieces)
        return torch.stack(found, -1).float(), even


def ordinal_pieces(subject: Subject) -> set[int]:
    """All ordinals that are one piece, the first and the last of lists, too.

    >>> from attlas.capture import load
    >>> len(ordinal_pieces(load())) > 50
    True
    """
    found = (one_piece(subject, word) for each in LISTS for word in each)
    return {piece for piece in found if piece is not None}
