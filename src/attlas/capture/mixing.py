"""Mixing: what a piece takes in from others through a layer's attention, against what it keeps of itself.

Attention alone says y_i = sum_j alpha_ij f(x_j), but the layer adds the piece's own state to it, and a norm follows
(Kobayashi et al., 2021). Three *steps* of the same layer can be looked at: the attention alone; with the residual x_i
added to what the piece brings to itself; and both through the norm that reads the sum, which takes the mean from each
part, multiplies it by the gain and divides it by the scale of the whole. Each key's part is a sum over heads, so its
length is a *joint* norm, got from Gram matrices; what comes from all others at once is a single vector per piece. The
biases of W_O and of the norm are nobody's part and are left out.

The *mixing ratio* is ||others|| / (||others|| + ||oneself||). In cross attention no key is oneself: all keys stand
against the residual, and for the attention alone there is no ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attlas.capture.instruments import Fold
from attlas.capture.selection import ALL, Selection
from attlas.errors import CapabilityError
from attlas.ids import Site, Stream
from attlas.measures.norms import joint_norms, key_grams
from attlas.models import AttentionCall, Residual
from attlas.models.hooks import Hooks
from attlas.models.sites import output_bias

if TYPE_CHECKING:
    from attlas.capture.subject import Subject

STEPS = ("attention", "residual", "normalised")


def check_step(step: str) -> str:
    """Refuse a step that does not exist.

    >>> check_step("layernorm")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: there is no step 'layernorm'; choose attention, residual or normalised
    """
    if step not in STEPS:
        raise CapabilityError(f"there is no step {step!r}; choose {', '.join(STEPS[:-1])} or {STEPS[-1]}")
    return step


@dataclass(frozen=True)
class Mixing:
    """One layer's attention, and what it is added to. Handed out by :func:`mixing`.

    ``matrix`` is W_O as (head, width, hidden); ``output`` what it gives with its bias, ``total`` what the next norm
    reads, both (batch, query, hidden).

    >>> from attlas.capture import load
    >>> subject, seen = load(), []
    >>> with mixing(subject, seen.append):
    ...     _ = subject.run(subject.batch(["Hello there."]))
    >>> seen[0].joint("residual").shape, seen[0].ratio().shape
    (torch.Size([1, 5, 5]), torch.Size([1, 5]))
    """

    call: AttentionCall
    matrix: Tensor
    bias: Tensor | None
    output: Tensor
    total: Tensor
    after: Residual

    @property
    def site(self) -> Site:
        """Where this is."""
        return self.call.site

    @property
    def residual(self) -> Tensor:
        """What the attention is added to, (batch, query, hidden)."""
        return self.total - self.output

    def joint(self, step: str = "attention") -> Tensor:
        """The length of what every key brings to every query, all heads together, (batch, query, key)."""
        matrix = self._through(self.matrix, step)
        norms = joint_norms(self.call.weights().float(), key_grams(self.call.values.float(), matrix))
        if step != "attention" and self._within:
            own = (self._own(None, step) + self._through(self.residual, step)).norm(dim=-1)
            norms = norms.diagonal_scatter(own, dim1=1, dim2=2)
        return norms / self.after.scale(self.total)[..., None] if step == "normalised" else norms

    def ratio(self, step: str = "attention", own: Tensor | None = None) -> Tensor:
        """The mixing ratio of every query, (batch, query). ``own`` are the weights that pieces put on themselves,
        (batch, head, query), where they are known already."""
        attended = self._through(self.output if self.bias is None else self.output - self.bias, step)
        if not self._within:
            kept = torch.full_like(attended, torch.nan)
            others = attended
        else:
            kept = self._own(own, step)
            others = attended - kept
        if step != "attention":
            residual = self._through(self.residual, step)
            kept = kept + residual if self._within else residual
        taken, own_part = others.norm(dim=-1), kept.norm(dim=-1)
        share: Tensor = taken / (taken + own_part).clamp(min=1e-30)
        return share

    @property
    def _within(self) -> bool:
        """Whether queries and keys are the same pieces."""
        if self.site.stream is Stream.CROSS:
            return False
        _, _, queries, keys = self.call.shape
        if queries != keys:
            raise CapabilityError(f"mixing needs a whole text at once, not {queries} of its {keys} pieces")
        return True

    def _own(self, weights: Tensor | None, step: str) -> Tensor:
        """What pieces bring to themselves through attention, (batch, query, hidden)."""
        if weights is None:
            weights = self.call.weights().diagonal(dim1=-2, dim2=-1)
        values = self.call.values.float() * weights.float()[..., None]
        return torch.einsum("bhqw,hwd->bqd", values, self._through(self.matrix, step))

    def _through(self, part: Tensor, step: str) -> Tensor:
        return self.after.through(part) if check_step(step) == "normalised" else part


@contextmanager
def mixing(subject: Subject, reduce: Callable[[Mixing], object], selection: Selection = ALL) -> Iterator[None]:
    """While this is on, every forward pass hands each layer's :class:`Mixing` to ``reduce``, as soon as the norm
    after its attention has been reached.

    >>> from attlas.capture import load
    >>> subject, ratios = load(), []
    >>> with mixing(subject, lambda layer: ratios.append(layer.ratio("normalised"))):
    ...     _ = subject.run(subject.batch(["Hello there."]))
    >>> len(ratios)
    6
    """
    subject.require("residuals")
    residuals, projections = subject.residuals, subject.layout.projections
    pending: dict[str, Any] = {}

    def meet(call: AttentionCall) -> None:
        pending.clear()
        pending["call"] = call

    def project(module: nn.Module, _: Any, output: Tensor) -> None:
        call = pending.get("call")
        if call is not None and projections[call.site] is module:
            pending["output"] = output.float()

    def add(module: nn.Module, args: tuple[Any, ...]) -> None:
        call, output = pending.get("call"), pending.get("output")
        if call is None or output is None or residuals[call.site].norm is not module:
            return
        pending.clear()
        bias, home = output_bias(projections[call.site]), subject.device
        reduce(
            Mixing(
                call,
                subject.output_matrix(call.site).float(),
                bias.float().to(home) if isinstance(bias, Tensor) else None,
                output.to(home),
                args[0].float().to(home),
                residuals[call.site],
            )
        )

    with Hooks() as hooks, subject.use(Fold(meet, selection)):
        for module in set(projections.values()):
            hooks.after(module, project)
        for module in {r.norm for r in residuals.values()}:
            hooks.before(module, add)
        yield
