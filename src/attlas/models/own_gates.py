"""A model's own gates, between what its heads give and W_O (Qwen3-Next and later), found by looking.

Such a model multiplies what its heads give by numbers that it makes of the states, and feeds the products to W_O. So
the input of a linear module after a call of attention, over what the heads gave, is a gate where it does not depend
on what they gave. Two short passes tell: in the second, heads give something else, and every linear module is handed
what it was handed in the first, so that all layers see the same states as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from attlas.ids import Site
from attlas.models.hooks import Hooks
from attlas.models.projections import linear_modules
from attlas.models.seam import AttentionCall, Instrument, Seam
from attlas.models.sites import Layout

_CLOSE = 1e-3


def find_own_gates(
    model: nn.Module, layout: Layout, seam: Seam, inputs: Mapping[str, Tensor]
) -> dict[Site, nn.Module]:
    """The module behind the gates of each site that has some: what it is fed, over what the heads gave, are gates.

    >>> from transformers import GPT2Config, GPT2Model
    >>> from attlas.models.adopting import adopt, probing_inputs
    >>> model = GPT2Model(GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=20)).eval()
    >>> layout = adopt("tiny", model, None).layout
    >>> find_own_gates(model, layout, Seam(model, layout.modules, private=False), probing_inputs(model))
    {}
    """
    if set(layout.heads) <= set(layout.projections):
        return {}
    watcher = _Watcher(layout)
    for _ in range(2):
        watcher.begin()
        with torch.no_grad(), Hooks() as hooks, seam.put_on(watcher):
            for module in linear_modules(model):
                hooks.before(module, watcher.fed)
            model(**inputs)
    return watcher.found


@dataclass
class _Watcher(Instrument):
    """Follows two passes; in the second, heads give other numbers."""

    layout: Layout
    again: bool = True
    site: Site | None = None
    given: Tensor | None = None
    before: dict[tuple[Site, nn.Module], tuple[Tensor, Tensor]] = field(default_factory=dict)  # its input, and gates
    found: dict[Site, nn.Module] = field(default_factory=dict)

    def begin(self) -> None:
        self.again, self.site = not self.again, None

    def finish(self, call: AttentionCall, output: Tensor) -> Tensor:
        self.site = None if call.site in self.layout.projections else call.site
        if self.again:
            drawn = torch.rand(output.shape, generator=torch.Generator().manual_seed(0))
            output = output * (0.5 + drawn).to(output)
        self.given = output.flatten(2)
        return output

    def fed(self, module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if self.site is None or self.given is None or not args or not isinstance(args[0], Tensor):
            return None
        key = self.site, module
        if not self.again:
            if args[0].shape == self.given.shape:
                self.before[key] = args[0], gates_of(args[0], self.given)
            return None
        if key not in self.before:
            return None
        own, gates = self.before[key]
        apart = (gates_of(args[0], self.given) - gates).abs().nan_to_num(0.0)
        if self.site not in self.found and bool((apart <= _CLOSE * gates.abs().nan_to_num(0.0).max()).all()):
            self.found[self.site] = module
        return (own, *args[1:])


def gates_of(fed: Tensor, given: Tensor) -> Tensor:
    """What a module is fed over what the heads gave; NaN where they gave nothing.

    >>> gates_of(torch.tensor([1.0, 0.0]), torch.tensor([2.0, 0.0])).tolist()
    [0.5, nan]
    """
    return torch.where(given == 0, torch.nan, fed.float() / given.float())
