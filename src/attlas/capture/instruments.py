"""The four instruments that go on the seam.

A :class:`Recorder` keeps what passes; a :class:`Fold` turns each call into something small on the spot and keeps
nothing of size n x n; :class:`Gates` multiply each head's output; an :class:`Override` replaces the weights. All
are differentiable: what they keep is part of the graph unless you run under ``torch.no_grad()``, and gates and
weights may be leaves. Put them on with ``subject.use(...)``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.capture.selection import ALL, Selection
from attlas.errors import CapabilityError, NumberError
from attlas.ids import HeadId, Site
from attlas.models import AttentionCall, Instrument

KINDS = ("weights", "scores", "queries", "keys", "values", "outputs")


@dataclass
class Recorder(Instrument):
    """Keeps weights, queries, keys, values or heads' outputs of the chosen sites, as a list of calls per site.

    One forward pass makes one entry per site; generation makes one per step. Scores are kept where they are more
    than scaled products of queries and keys (position bias, soft cap); elsewhere ``scaling`` says all.

    >>> recorder = Recorder(kinds={"weights"})
    >>> recorder.kept
    {}
    """

    kinds: Collection[str] = ("weights",)
    selection: Selection = ALL
    kept: dict[Site, dict[str, list[Tensor]]] = field(default_factory=dict)
    scaling: dict[Site, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = set(self.kinds) - set(KINDS)
        if unknown:
            raise CapabilityError(f"a recorder cannot keep {', '.join(sorted(unknown))}; it keeps {', '.join(KINDS)}")

    def wants(self, site: Site) -> bool:
        """Whether a site is selected."""
        return site in self.selection

    def observe(self, call: AttentionCall) -> None:
        """Keep what is asked for."""
        if call.query is None and {"queries", "keys"} & set(self.kinds):
            raise CapabilityError("queries and keys are not to be had: this family keeps its softmax private")
        if "weights" in self.kinds:
            self._keep(call.site, "weights", self._heads(finite(call.weights(), call.site)))
        self.scaling[call.site] = call.scaling
        if "scores" in self.kinds and call.query is not None and call.adjusted:
            self._keep(call.site, "scores", self._heads(call.scores()))
        if "queries" in self.kinds and call.query is not None:
            self._keep(call.site, "queries", self._heads(call.query))
        if "keys" in self.kinds:
            self._keep(call.site, "keys", self._heads(call.keys))
        if "values" in self.kinds:
            self._keep(call.site, "values", self._heads(call.values))

    def finish(self, call: AttentionCall, output: Tensor) -> Tensor:
        """Keep the heads' outputs, if asked for, as (batch, head, query, width)."""
        if "outputs" in self.kinds and not call.again:
            self._keep(call.site, "outputs", self._heads(output.transpose(1, 2)))
        return output

    def get(self, site: Site, kind: str = "weights") -> Tensor:
        """What one forward pass left at a site.

        >>> Recorder().get(Site("encoder", 0))
        Traceback (most recent call last):
            ...
        attlas.errors.CapabilityError: nothing was recorded of weights at encoder layer 0; was the model run?
        """
        found = self.kept.get(site, {}).get(kind)
        if not found:
            raise CapabilityError(f"nothing was recorded of {kind} at {site}; was the model run?")
        return found[-1]

    def _keep(self, site: Site, kind: str, tensor: Tensor) -> None:
        self.kept.setdefault(site, {}).setdefault(kind, []).append(tensor)

    def _heads(self, tensor: Tensor) -> Tensor:
        if self.selection.heads is None:
            return tensor
        return tensor[:, [head for head in sorted(self.selection.heads) if head < tensor.shape[1]]]


@dataclass
class Fold(Instrument):
    """Hands every call to a function that reduces it at once.

    >>> seen = []
    >>> fold = Fold(lambda call: seen.append(call.site))
    >>> fold.wants(Site("encoder", 0))
    True
    """

    reduce: Callable[[AttentionCall], object]
    selection: Selection = ALL

    def wants(self, site: Site) -> bool:
        """Whether a site is selected."""
        return site in self.selection

    def observe(self, call: AttentionCall) -> None:
        """Reduce."""
        self.reduce(call)


@dataclass
class Gates(Instrument):
    """Multiplies each head's output by xi: 0 closes it, 1 leaves it, a leaf tensor gives it a gradient.

    ``xi`` maps sites to tensors of shape (heads,) or (batch, heads); other sites are left alone. What a gate takes
    away is made up for by ``means``, (heads, width), where a site has some: xi times the output plus (1 - xi) times
    the mean.

    >>> gates = Gates({Site("encoder", 0): torch.tensor([0.0, 1.0])})
    >>> gates.wants(Site("encoder", 1))
    False
    """

    xi: Mapping[Site, Tensor]
    means: Mapping[Site, Tensor] = field(default_factory=dict)

    def wants(self, site: Site) -> bool:
        """Whether a site has gates."""
        return site in self.xi

    def finish(self, call: AttentionCall, output: Tensor) -> Tensor:
        """Multiply."""
        xi = self.xi[call.site].to(output.device, output.dtype)
        if xi.shape[-1] != output.shape[2]:
            raise CapabilityError(f"{xi.shape[-1]} gates for the {output.shape[2]} heads of {call.site}")
        xi = xi[:, None, :, None] if xi.dim() == 2 else xi[None, None, :, None]
        means = self.means.get(call.site)
        if means is None:
            return output * xi
        return output * xi + (1 - xi) * means.to(output.device, output.dtype)

    @classmethod
    def closed(cls, heads: Iterable[HeadId], counts: Mapping[Site, int]) -> Gates:
        """Close some heads and leave all others of their sites open; ``subject.gated`` takes them by label.

        >>> Gates.closed([HeadId("encoder", 0, 1)], {Site("encoder", 0): 3}).xi[Site("encoder", 0)].tolist()
        [1.0, 0.0, 1.0]
        """
        xi: dict[Site, Tensor] = {}
        for head in heads:
            if not isinstance(head, HeadId):
                raise CapabilityError(
                    f"gates close heads that are given as HeadId, and this is {head!r}; by label: "
                    "subject.gated(['6-3'])"
                )
            xi.setdefault(head.site, torch.ones(counts[head.site]))[head.head] = 0.0
        return cls(xi)


@dataclass
class Override(Instrument):
    """Replaces weights: by uniform, frozen, permuted or learned ones, or by any function of the call.

    Give ``make``, or use one of the constructors. Heads that are not selected keep their own weights.

    >>> Override.uniform(Selection(layers="3")).wants(Site("encoder", 0))
    False
    """

    make: Callable[[AttentionCall], Tensor]
    selection: Selection = ALL

    def wants(self, site: Site) -> bool:
        """Whether a site is selected."""
        return site in self.selection

    def replace(self, call: AttentionCall) -> Tensor:
        """Make the new weights, for the selected heads."""
        made = self.make(call)
        if self.selection.heads is None:
            return made
        own = call.weights()
        chosen = torch.zeros(own.shape[1], dtype=torch.bool, device=own.device)
        chosen[sorted(self.selection.heads)] = True
        return torch.where(chosen[None, :, None, None], made.to(own.dtype), own)

    @classmethod
    def uniform(cls, selection: Selection = ALL) -> Override:
        """Equal weight on every key that a query may see.

        >>> Override.uniform().selection == ALL
        True
        """
        return cls(uniform_weights, selection)

    @classmethod
    def frozen(cls, weights: Mapping[Site, Tensor], selection: Selection = ALL) -> Override:
        """Weights from another run, by site: (batch, head, query, key), or (head, query, key) for every text alike.

        >>> Override.frozen({}).wants(Site("encoder", 0))
        True
        >>> q = torch.zeros(1, 2, 3, 4)
        >>> call = AttentionCall(Site("encoder", 0), q, q, q, None, 0.5)
        >>> Override.frozen({call.site: torch.ones(4, 3, 3) / 3}).replace(call)
        Traceback (most recent call last):
            ...
        attlas.errors.CapabilityError: frozen weights of 4 heads and (3, 3) pieces do not fit 2 heads and ...
        """

        def recall(call: AttentionCall) -> Tensor:
            if call.site not in weights:
                return call.weights()
            kept = weights[call.site]
            if tuple(kept.shape) not in (call.shape, (1, *call.shape[1:]), call.shape[1:]):
                raise CapabilityError(_unlike(tuple(kept.shape), call))
            return kept.to(call.value.device, call.value.dtype).expand(call.shape)

        return cls(recall, selection)

    @classmethod
    def learned(cls, scores: Mapping[Site, Tensor], selection: Selection = ALL) -> Override:
        """Free weights: the softmax of scores that may be leaves with a gradient, under the call's own mask.

        >>> Override.learned({}).selection == ALL
        True
        """

        def soften(call: AttentionCall) -> Tensor:
            if call.site not in scores:
                return call.weights()
            free = scores[call.site].expand(call.shape)
            visible = call.visible()
            if visible is not None:
                free = free.masked_fill(~visible, torch.finfo(free.dtype).min)
            return torch.softmax(free, dim=-1)

        return cls(soften, selection)

    @classmethod
    def permuted(cls, seed: int, selection: Selection = ALL) -> Override:
        """The model's own weights, shuffled among the keys that each query may see.

        >>> Override.permuted(0).selection == ALL
        True
        """
        generator = torch.Generator().manual_seed(seed)

        def shuffle(call: AttentionCall) -> Tensor:
            weights = call.weights()
            visible = call.visible()
            hidden = torch.zeros_like(weights) if visible is None else (~visible).to(weights.dtype).expand_as(weights)
            noise = torch.rand(weights.shape, generator=generator).to(weights.device)
            places = torch.argsort(hidden, dim=-1, stable=True)  # visible keys first, in order
            shuffled = torch.argsort(noise + 2 * hidden, dim=-1)  # visible keys first, in random order
            return torch.zeros_like(weights).scatter(-1, places, weights.gather(-1, shuffled))

        return cls(shuffle, selection)


def _unlike(shape: tuple[int, ...], call: AttentionCall) -> str:
    """Why frozen weights of a shape cannot be put in a call's place."""
    if len(shape) not in (3, 4):
        return f"frozen weights at {call.site} have the shape {shape}; (batch, head, query, key) was expected"
    batch, heads, *pieces = call.shape
    if shape[-3:] == call.shape[-3:]:
        return f"frozen weights of {shape[0]} texts do not fit a batch of {batch} at {call.site}"
    return (
        f"frozen weights of {shape[-3]} heads and {tuple(shape[-2:])} pieces do not fit {heads} heads and "
        f"{tuple(pieces)} at {call.site}"
    )


def uniform_weights(call: AttentionCall) -> Tensor:
    """Equal weight on every visible key.

    >>> q = torch.zeros(1, 1, 2, 4)
    >>> uniform_weights(AttentionCall(Site("decoder", 0), q, q, q, None, 1.0, causal=True))[0, 0].tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    visible = call.visible()
    if visible is None:
        return torch.full(call.shape, 1.0 / call.shape[-1], device=call.value.device, dtype=call.value.dtype)
    even = visible.to(call.value.dtype)
    return (even / even.sum(-1, keepdim=True).clamp(min=1)).expand(call.shape)


def finite(weights: Tensor, site: Site) -> Tensor:
    """Pass weights on, unless there is a NaN or infinity in them.

    >>> finite(torch.tensor([float("nan")]), Site("encoder", 2))
    Traceback (most recent call last):
        ...
    attlas.errors.NumberError: NaN or infinity in the attention of encoder layer 2; ...
    """
    if not bool(_sum(weights).isfinite()):
        raise not_finite(site)
    return weights


def not_finite(site: Site) -> NumberError:
    """What is said where there is a NaN or infinity in the attention of a site.

    >>> str(not_finite(Site("encoder", 2)))
    'NaN or infinity in the attention of encoder layer 2; the weights file may be damaged, or the number ...'
    """
    return NumberError(
        f"NaN or infinity in the attention of {site}; the weights file may be damaged, or the number format "
        "too narrow (try --dtype float32)"
    )


class Finite:
    """Whether there is a NaN or infinity in any of many weights, asked once at their end: to ask of each would be to
    wait for the device each time.

    >>> asked = Finite()
    >>> asked.note(torch.ones(2), Site("encoder", 1)).tolist()
    [1.0, 1.0]
    >>> _ = asked.note(torch.tensor([float("inf")]), Site("encoder", 2))
    >>> asked.settle()
    Traceback (most recent call last):
        ...
    attlas.errors.NumberError: NaN or infinity in the attention of encoder layer 2; ...
    """

    def __init__(self) -> None:
        self._sums: list[Tensor] = []
        self._sites: list[Site] = []

    def note(self, weights: Tensor, site: Site) -> Tensor:
        """Pass weights on, to be asked about later.

        >>> Finite().note(torch.ones(1), Site("encoder", 1)).item()
        1.0
        """
        self._sums.append(_sum(weights))
        self._sites.append(site)
        return weights

    def sums(self) -> Tensor:
        """A number for each of the weights, which any NaN or infinity in them has spoiled, to be brought over from
        the device with all else.

        >>> Finite().sums().shape
        torch.Size([0])
        """
        return torch.stack(self._sums) if self._sums else torch.zeros(0)

    def settle(self, sums: NDArray[np.floating] | None = None) -> None:
        """Name the first site that has a NaN or infinity, if one has; :meth:`sums` may have been brought over.

        >>> Finite().settle()
        """
        known = self.sums().double().cpu().numpy() if sums is None else sums
        for site, fine in zip(self._sites, np.isfinite(known).tolist(), strict=True):
            if not fine:
                raise not_finite(site)


def _sum(weights: Tensor) -> Tensor:
    """A number that any NaN or infinity spoils; of half precision, many whole rows would be too much to sum."""
    return weights.detach().sum(dtype=torch.promote_types(weights.dtype, torch.float32))
