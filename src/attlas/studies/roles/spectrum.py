"""Rotary spectra and massive activations: what queries are made of, and which states are out of all measure.

Rotation turns pairs of coordinates, each by its own frequency, and leaves the length of a pair as it is; so how much
a frequency can matter in a head, the mean over queries of ||q^(k)|| times the mean over keys of ||k^(k)||, is read at
the seam (Barbero et al. 2025). High frequencies go with places, low ones with content. Which coordinates are turned
together is found by looking: one piece is said several times, and in the first layer its queries must differ while
the lengths of pairs do not. A state is massive (Sun et al. 2024) where a coordinate is above 100 in size and above
1000 times the median size of its state's coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from attlas.capture import Fold
from attlas.ids import Stream
from attlas.models import AttentionCall, Example, probing_inputs
from attlas.stats import Bundle, PooledMean
from attlas.store.columns import as_columns
from attlas.studies.shared.reducing import heads_by_site

if TYPE_CHECKING:
    from attlas.capture import Subject

LARGE, TIMES = 100.0, 1000.0
BANDS = 8  # of frequencies, from the fastest to the slowest
_SPECTRUM = ("stream", "layer", "head", "band", "value", "low", "high", "n")
_MASSIVE = ("state", "place", "value", "low", "high", "coordinates", "n")


def rotated(subject: Subject) -> int:
    """How many coordinates of a query are turned, the first half of them together with the second; 0 where none are,
    or in another arrangement.

    >>> from attlas.capture import load
    >>> rotated(load())
    0
    """
    if not subject.has_queries or Stream.DECODER not in subject.streams or subject.pieces.translating:
        return 0
    queries: list[Tensor] = []

    def take(call: AttentionCall) -> None:
        if call.query is not None and not queries:
            queries.append(call.query[0].float())  # (head, piece, width)

    inputs = probing_inputs(subject.model)
    same = inputs["input_ids"][:, :1].repeat(1, 6)
    with torch.no_grad(), subject.use(Fold(take)):
        subject.model(**{**inputs, "input_ids": same})
    if not queries:
        return 0
    query, wide = queries[0], queries[0].shape[-1]
    close = 1e-3 * float(query.abs().max())
    for turned in (wide, wide // 2, wide // 4):
        part = query[..., :turned]
        lengths = _pairs(part)
        if turned >= 2 and bool((lengths - lengths[:, :1]).abs().max() < close):
            return turned if bool((part - part[:, :1]).abs().max() > close) else 0
    return 0


class States:
    """What states and, where positions are rotary, queries and keys are made of, over some texts.

    >>> from attlas.capture import load
    >>> sorted(States(load()).empty())
    ['massive', 'sizes']
    """

    name = "states"

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.turned = rotated(subject)
        self.states = 1 + int(subject.model.config.get_text_config().num_hidden_layers)

    def empty(self) -> Bundle:
        """Of every state whether the first place and the others are massive, and how large they are; of every head
        its spectrum."""
        parts: dict[str, Any] = {
            "massive": PooledMean((self.states, 2)),
            "sizes": PooledMean((self.states, 2)),
        }
        if self.turned:
            layers, heads = self.subject.grid(Stream.DECODER).shape
            parts["spectrum"] = PooledMean((layers, heads, BANDS))
        return Bundle(parts)

    def update(self, bundle: Bundle, batch: Sequence[Example]) -> None:
        """Read some texts."""
        made = self.subject.pieces.batch(batch, self.subject.device)
        side = made.source
        assert side is not None
        real, units = side.real, [example.unit for example in batch]
        counts = heads_by_site(self.subject)
        spectra: dict[int, Any] = {}

        def take(call: AttentionCall) -> None:
            if self.turned and call.site.stream is Stream.DECODER:
                assert call.query is not None
                spectra[call.site.layer] = _spectrum(call.query, call.keys, real, self.turned)[:, : counts[call.site]]

        with torch.no_grad(), self.subject.use(Fold(take)):
            given = self.subject.read(made, output_hidden_states=True)
        states = getattr(given, "hidden_states", None)
        states = states if states is not None else given.encoder_hidden_states
        first = real & (real.cumsum(1) == 1)
        for name in ("massive", "sizes"):
            sums, cases = np.zeros((2, len(batch), self.states, 2))
            for number, state in enumerate(states[: self.states]):
                size = state.float().abs()
                top = size.amax(-1)
                figure = (
                    ((top > LARGE) & (top > TIMES * size.median(-1).values)).float() if name == "massive" else top
                )
                for place, kept in enumerate((first, real & ~first)):
                    sums[:, number, place] = (figure * kept).sum(1).cpu().numpy()
                    cases[:, number, place] = kept.sum(1).cpu().numpy()
            bundle[name].update(sums, cases, units)
        if self.turned:
            layers, heads = self.subject.grid(Stream.DECODER).shape
            sums, cases = np.zeros((2, len(batch), layers, heads, BANDS))
            for layer, found in spectra.items():
                sums[:, layer, : found.shape[1]] = found.cpu().numpy()
                cases[:, layer, : found.shape[1]] = 1.0
            bundle["spectrum"].update(sums, cases, units)

    def tables(self, bundle: Bundle) -> dict[str, dict[str, list[Any]]]:
        """The tables ``massive`` and ``spectrum``."""
        share = bundle.pooled("massive").result((0.0, 1.0), hits=True)
        size = bundle["sizes"].result().value
        rows = [
            {"state": state, "place": place, "value": share.value[state, at], "low": share.low[state, at],
             "high": share.high[state, at], "coordinates": size[state, at], "n": int(share.n[state, at])}
            for state in range(self.states)
            for at, place in enumerate(("first", "others"))
            if share.n[state, at] > 0
        ]  # fmt: skip
        tables = {"massive": as_columns(rows, _MASSIVE)}
        if self.turned:
            found = bundle.pooled("spectrum").result((0.0, 1.0))
            tables["spectrum"] = as_columns([
                {"stream": Stream.DECODER.value, "layer": layer, "head": head, "band": band,
                 "value": found.value[layer, head, band], "low": found.low[layer, head, band],
                 "high": found.high[layer, head, band], "n": int(found.n[layer, head, band])}
                for layer, head, band in np.argwhere(found.n > 0).tolist()
            ], _SPECTRUM)  # fmt: skip
        return tables


def _pairs(states: Tensor) -> Tensor:
    """The lengths of pairs of coordinates that are turned together: each with the one half a width further on."""
    half = states.shape[-1] // 2
    return (states[..., :half].square() + states[..., half : 2 * half].square()).sqrt()


def _spectrum(query: Tensor, keys: Tensor, real: Tensor, turned: int) -> Tensor:
    """The share of each band of frequencies, fastest first, (text, head, band), in the sum over frequencies of
    ||q^(k)|| ||k^(k)||."""
    kept = real[:, None, :, None].float()
    one, other = ((_pairs(part.float()[..., :turned]) * kept).sum(2) / kept.sum(2) for part in (query, keys))
    bands = torch.stack([band.sum(-1) for band in (one * other).tensor_split(BANDS, dim=-1)], -1)
    return bands / bands.sum(-1, keepdim=True).clamp(min=1e-30)
