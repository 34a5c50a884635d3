"""Which linear modules make the queries, keys and values of which head, found by looking and not by their names.

One short pass, in which every linear module's output is swapped for small random numbers that are leaves of the
graph. What then stands at the seam depends on these leaves alone, through nothing but reshaping, rotary positions and
norms, so the gradient of one head's queries (or keys, or values) with respect to them says which columns are that
head's: also where the three are one fused matrix, laid out in whatever order a family likes. A family with a
private softmax shows its weights instead of queries and keys, which depend on the same columns.

Heads whose values come from the same columns share them: they are one *group*, and can only be taken out together.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from attlas.errors import CapabilityError
from attlas.ids import Site
from attlas.models.hooks import Hooks
from attlas.models.seam import AttentionCall, Instrument, Seam
from attlas.models.sites import Layout


@dataclass(frozen=True)
class Users:
    """What was found of one model: for each linear module, which heads use which of its output columns.

    ``columns[module][site]`` is boolean, (heads, columns). ``groups[site]`` are the heads that share values.
    ``biased`` are the sites that are handed a position bias, ``sinks`` the parameters with one number per head.

    >>> Users({}, {}, frozenset(), {}).groups
    {}
    """

    columns: dict[nn.Module, dict[Site, Tensor]]
    groups: dict[Site, tuple[tuple[int, ...], ...]]
    biased: frozenset[Site]
    sinks: dict[Site, str]


def linear_modules(model: nn.Module) -> list[nn.Module]:
    """All matrices with a bias or without: ``nn.Linear`` and GPT-2's ``Conv1D``.

    >>> len(linear_modules(nn.Sequential(nn.Linear(2, 2), nn.ReLU())))
    1
    """
    return [m for m in model.modules() if isinstance(m, nn.Linear) or type(m).__name__ == "Conv1D"]


def find_users(model: nn.Module, layout: Layout, inputs: dict[str, Tensor]) -> Users:
    """Run one probing pass with leaves in it and say which columns are whose.

    The model must have no seam on it (a copy, or one that was just made), for it gets one of its own here.

    >>> from attlas.models.adopting import adopt, probing_inputs
    >>> from transformers import GPT2Config, GPT2Model
    >>> model = GPT2Model(GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=20))
    >>> users = find_users(model, adopt("tiny", model, None).layout, probing_inputs(model))
    >>> [[site[0].nonzero().flatten().tolist() for site in sites.values()] for sites in users.columns.values()]
    [[[0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19]]]
    """
    tracer = _Tracer()
    seam = Seam(model, layout.modules, private=layout.private, repeats=layout.repeats)
    try:
        with torch.enable_grad(), _leaves(model, tracer), seam.put_on(tracer):
            model(**inputs)
    finally:
        seam.close()
    groups = {site: _groups(tracer.kinds[site], site, type(model).__name__) for site in layout.heads}
    columns: dict[nn.Module, dict[Site, Tensor]] = {}
    for site, kinds in tracer.kinds.items():
        for found in kinds:
            for module, used in found.items():
                sites = columns.setdefault(module, {})
                sites[site] = used | sites[site] if site in sites else used
    return Users(columns, groups, frozenset(tracer.biased), tracer.sinks)


class _Tracer(Instrument):
    """At every call, asks for the gradients of each head's queries, keys and values."""

    def __init__(self) -> None:
        self.leaves: list[tuple[nn.Module, Tensor]] = []
        self.kinds: dict[Site, list[dict[nn.Module, Tensor]]] = {}
        self.biased: set[Site] = set()
        self.sinks: dict[Site, str] = {}
        self.generator = torch.Generator().manual_seed(0)

    def noise(self, like: Tensor) -> Tensor:
        return torch.randn(like.shape, generator=self.generator).to(like)

    def observe(self, call: AttentionCall) -> None:
        parts = [call.given] if call.query is None else [call.query, call.keys]
        self.kinds[call.site] = [self._columns(part) for part in (*parts, call.values) if part is not None]
        if call.bias is not None:
            self.biased.add(call.site)
        if call.sinks is not None and call.module is not None:
            own = dict(call.module.named_parameters(recurse=False))
            here = [name for name, parameter in own.items() if parameter.shape == (call.shape[1],)]
            if here:
                self.sinks[call.site] = here[0]

    def _columns(self, states: Tensor) -> dict[nn.Module, Tensor]:
        """Which columns of which module each head of these states depends on."""
        found: dict[nn.Module, list[Tensor]] = {}
        for head in range(states.shape[1]):
            total = (states[:, head] * self.noise(states[:, head])).sum()
            if total.grad_fn is None:
                continue
            slopes = torch.autograd.grad(
                total, [leaf for _, leaf in self.leaves], retain_graph=True, allow_unused=True
            )
            for (module, leaf), slope in zip(self.leaves, slopes, strict=True):
                if slope is not None:
                    width = leaf.shape[-1]
                    rows = found.setdefault(
                        module, [torch.zeros(width, dtype=torch.bool) for _ in range(states.shape[1])]
                    )
                    rows[head] |= (slope.reshape(-1, width) != 0).any(0).cpu()
        return {module: torch.stack(rows) for module, rows in found.items()}


@contextmanager
def _leaves(model: nn.Module, tracer: _Tracer) -> Iterator[None]:
    """Swap the output of every linear module for random leaves, for the length of a ``with`` block."""

    def swap(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
        leaf = (0.1 * tracer.noise(output)).requires_grad_()  # small, so that no softmax is saturated
        tracer.leaves.append((module, leaf))
        return leaf.clone()  # some families scale their queries in place

    with Hooks() as hooks:
        for module in linear_modules(model):
            hooks.after(module, swap)
        yield


def _groups(kinds: list[dict[nn.Module, Tensor]], site: Site, name: str) -> tuple[tuple[int, ...], ...]:
    """Heads that share their values; refused where some of a group's columns are not its own."""
    *others, values = kinds
    if not values or not all(others):
        raise CapabilityError(
            f"{name}: the matrices that make the queries, keys and values of {site} were not found, so its heads "
            "cannot be taken out of the weights; gates can close them"
        )
    together = torch.cat(list(values.values()), dim=1)
    groups: list[list[int]] = []
    for head in range(together.shape[0]):
        same = next((group for group in groups if torch.equal(together[group[0]], together[head])), None)
        groups.append([head]) if same is None else same.append(head)
    for found in kinds:
        used = torch.cat(list(found.values()), dim=1)
        own = torch.stack([used[group].any(0) for group in groups])
        alone = own & (own.sum(0) == 1)
        if not bool(alone.any(1).all()):
            raise CapabilityError(
                f"{name}: the heads of {site} cannot be told apart in the weights (something between the matrices "
                "and the heads mixes them, such as a norm over all heads); gates can close them"
            )
    return tuple(tuple(group) for group in groups)
