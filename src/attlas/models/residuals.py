"""What a layer's attention is added to, and the norm that comes after: found by looking, like the sites.

In nearly every transformer the output of W_O is added to a *residual*, and the sum is what the next norm reads: the
layer's own norm in the original, post-norm arrangement (BERT, Marian), the norm in front of the feed-forward part or
of the cross attention where norms come first (GPT-2, Llama, T5). One short pass shows both: the first norm that is
fed after W_O, less what W_O gave, must be a state that was there before the attention. Where that does not come out
(a norm on the branch itself, as in Gemma 2, a branch that is scaled, attention beside the feed-forward part), the
site has no residual in this sense, and the reason is kept.

A norm is taken at its word by its numbers: what it makes of its input must be the input, less its mean or not, times
a gain, over the root of its mean square.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from attlas.ids import Site
from attlas.models.hooks import Hooks
from attlas.models.presence import at_hand
from attlas.models.projections import linear_modules
from attlas.models.seam import AttentionCall, Instrument, Seam
from attlas.models.sites import Layout

_CLOSE = 1e-4


@dataclass(frozen=True)
class Residual:
    """Where a site's attention is added to its residual: ``norm`` is the module that reads the sum, ``first`` says
    whether norms come first (pre-norm); ``centred``, ``gain`` and ``eps`` are that norm's formula.

    >>> Residual(nn.LayerNorm(2), False, True, torch.ones(2), 0.0).through(torch.tensor([1.0, 3.0])).tolist()
    [-1.0, 1.0]
    """

    norm: nn.Module
    first: bool
    centred: bool
    gain: Tensor
    eps: float

    def through(self, part: Tensor) -> Tensor:
        """What the norm makes of one part of its input, but for the scale that depends on the whole and its own bias.

        >>> Residual(nn.LayerNorm(2), False, False, torch.ones(2), 0.0).through(torch.tensor([1.0, 3.0])).tolist()
        [1.0, 3.0]
        """
        return self.gain.to(part.device) * (part - part.mean(-1, keepdim=True) if self.centred else part)

    def scale(self, whole: Tensor) -> Tensor:
        """By what the norm divides, for every row of its input.

        >>> float(Residual(nn.LayerNorm(2), False, True, torch.ones(2), 0.0).scale(torch.tensor([1.0, 5.0])))
        2.0
        """
        apart = whole - whole.mean(-1, keepdim=True) if self.centred else whole
        return (apart.square().mean(-1) + self.eps).sqrt()


def find_residuals(
    model: nn.Module, layout: Layout, seam: Seam, inputs: dict[str, Tensor]
) -> tuple[dict[Site, Residual], dict[Site, str]]:
    """Run one probing pass; the sites' residuals, and for those that have none the reason.

    >>> from attlas.models.adopting import probing_inputs
    >>> from attlas.models.opening import open_model
    >>> opened = open_model()
    >>> seam = Seam(opened.model, opened.layout.modules, private=False)
    >>> found, missing = find_residuals(opened.model, opened.layout, seam, probing_inputs(opened.model))
    >>> len(found), missing, found[Site("encoder", 0)].first
    (6, {}, False)
    """
    watcher = _Watcher(layout)
    with torch.no_grad(), _listening(model, watcher), seam.put_on(watcher):
        model(**inputs)
    missing = {
        site: watcher.reasons.get(site, "no norm reads what its attention is added to")
        for site in layout.heads
        if site not in watcher.found
    }
    pre = {site.stream for site, residual in watcher.found.items() if residual.first}
    # The first layer of a pre-norm model may read the embeddings as they are.
    found = {site: replace(residual, first=site.stream in pre) for site, residual in watcher.found.items()}
    return found, missing


class _Watcher(Instrument):
    """Follows one pass: states as they are read, each site's attention, and the first norm after it."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.found: dict[Site, Residual] = {}
        self.reasons: dict[Site, str] = {}
        self.states: list[tuple[bool, Tensor]] = []  # read by a norm (or else by a linear module), and the state
        self.site: Site | None = None
        self.output: Tensor | None = None

    def observe(self, call: AttentionCall) -> None:
        self.site, self.output = call.site, None

    def project(self, module: nn.Module, output: Tensor) -> None:
        if self.site is not None and module is self.layout.projections.get(self.site):
            self.output = output.float().clone()

    def read(self, state: Any, by_norm: bool) -> None:
        if isinstance(state, Tensor) and state.dtype.is_floating_point:
            self.states.append((by_norm, state.float().clone()))

    def normalise(self, module: nn.Module, whole: Tensor, made: Tensor) -> None:
        site, output = self.site, self.output
        if site is None or output is None or whole.shape != output.shape:
            return
        self.site = self.output = None
        whole, made = whole.float(), made.float()
        if _close(whole, output):
            self.reasons[site] = "a norm of its own stands between its attention and the residual"
            return
        earlier = [by_norm for by_norm, state in self.states if _close(state, whole - output)]
        formula = norm_formula(module, whole, made)
        if not earlier:
            self.reasons[site] = "its attention is scaled, or added together with something else"
        elif formula is None:
            self.reasons[site] = f"the norm after its attention ({type(module).__name__}) is of an unknown kind"
        else:
            self.found[site] = Residual(module, any(earlier), *formula)


def _close(one: Tensor, other: Tensor) -> bool:
    same = one.shape == other.shape
    return same and bool((one.to(other.device) - other).abs().max() <= _CLOSE * other.abs().max().clamp(min=1e-6))


def norm_formula(module: nn.Module, whole: Tensor, made: Tensor) -> tuple[bool, Tensor, float] | None:
    """Whether a norm takes the mean away, its gain and its epsilon, if this is what it computes.

    >>> norm, states = nn.LayerNorm(4), torch.randn(3, 4)
    >>> centred, gain, eps = norm_formula(norm, states, norm(states).detach())
    >>> centred, gain.tolist(), eps
    (True, [1.0, 1.0, 1.0, 1.0], 1e-05)
    """
    with at_hand(module):
        weight, bias = getattr(module, "weight", None), getattr(module, "bias", None)
    eps = float(getattr(module, "eps", None) or getattr(module, "variance_epsilon", None) or 0.0)
    gains = [torch.ones(whole.shape[-1], device=whole.device)]
    if isinstance(weight, Tensor):
        gains = [weight.detach().float(), 1 + weight.detach().float()]
    for centred in (True, False):
        for gain in gains:
            tried = Residual(module, False, centred, gain, eps)
            again = tried.through(whole) / tried.scale(whole)[..., None]
            if _close(again if bias is None else again + bias.detach().float(), made):
                return centred, gain, eps
    return None


def norms_of(model: nn.Module) -> list[nn.Module]:
    """Modules that call themselves norms; whether they are is seen by their numbers.

    >>> len(norms_of(nn.Sequential(nn.LayerNorm(2), nn.Linear(2, 2))))
    1
    """
    return [m for m in model.modules() if "norm" in type(m).__name__.lower() and not list(m.children())]


@contextmanager
def _listening(model: nn.Module, watcher: _Watcher) -> Iterator[None]:
    """Have all norms and linear modules tell the watcher what they read and make, for a ``with`` block."""
    with Hooks() as hooks:
        for module in linear_modules(model):
            hooks.before(module, lambda _, args: watcher.read(args[0], False))
            hooks.after(module, lambda m, _, output: watcher.project(m, output))
        for module in norms_of(model):
            hooks.after(module, lambda m, args, output: watcher.normalise(m, args[0], output))
            hooks.before(module, lambda _, args: watcher.read(args[0], True))
        yield
