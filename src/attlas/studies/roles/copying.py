"""Copying by behaviour: do the logits that a head writes fall on pieces that the text has had?

The head's own output z_h W_O^h goes through what is left of the model's norms (a norm of the branch, where there is
one, and the final norm; the scale of a norm is one positive number for the whole state and cancels out of a share)
and the unembedding, is centred over the vocabulary and cut at 0. The share of that mass on pieces of the text so far
is scaled so that an even spread over the vocabulary gives 0 and all of it gives 1. It is read at two queries of each
text's second copy, drawn by the text, since the whole vocabulary is asked at each.
"""

from __future__ import annotations

import numpy as np
import torch

from attlas.models.circuits import through
from attlas.studies.roles.readout import found_circuits
from attlas.studies.roles.seen import Seen, Sums

QUERIES = 2  # of each text


def copies(seen: Seen) -> Sums:
    """The scaled share of what a head writes that falls on pieces of the text so far."""
    circuits, call = found_circuits(seen.subject), seen.call
    batch, heads = call.shape[:2]
    sums, counts = torch.zeros(2, batch, heads)
    weights = circuits.sites.get(call.site)
    if weights is None:
        return sums.to(call.value.device), counts.to(call.value.device)
    for text, example in enumerate(seen.texts):
        places = _drawn(example.unit, seen.queries.span("again")[text])
        z = torch.matmul(seen.weights[text][:, places], call.values[text].float())  # (head, query, width)
        written = through(weights.after, torch.einsum("hqw,hwd->hqd", z, weights.output))
        logits = circuits.logits(written)
        mass = (logits - logits.mean(-1, keepdim=True)).clamp(min=0)
        whole = mass.sum(-1)
        for number, place in enumerate(places.tolist()):
            known = seen.queries.ordinary[text, : place + 1]
            had = torch.unique(seen.queries.ids[text, : place + 1][known])
            writes = whole[:, number] > 0  # a head that writes nothing copies nothing and keeps nothing back
            share = mass[:, number, had].sum(-1) / whole[:, number].clamp(min=1e-30)
            even = len(had) / circuits.pieces
            sums[text] += (writes * (share - even) / (1 - even)).cpu()
            counts[text] += writes.cpu()
    return sums.to(call.value.device), counts.to(call.value.device)


def _drawn(unit: int, open_places: torch.Tensor) -> torch.Tensor:
    """Some queries of a text, in order."""
    places = torch.nonzero(open_places).flatten().cpu().numpy()
    generator = np.random.default_rng([unit, 1])
    return torch.from_numpy(np.sort(generator.permutation(places)[:QUERIES])).to(open_places.device)
