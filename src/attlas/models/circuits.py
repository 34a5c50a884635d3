"""What each head reads and writes, in a model's own matrices: W_V, W_O, and the norms next to them.

What can be said of a head without any text is said of products of these. They are found by looking, in one short
pass: which slice of which linear module's output stands at the seam as a head's values; which norm's output that
module reads; which norm, if any, reads what W_O gives before it is added to the residual (Gemma); and which norm the
language-model head reads. A norm stands for its gain, and for taking the mean away where it does: its scale is one
number for a whole state, which none of these products needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from attlas.ids import Site
from attlas.models.hooks import Hooks
from attlas.models.presence import at_hand
from attlas.models.projections import linear_modules
from attlas.models.residuals import norm_formula, norms_of
from attlas.models.seam import AttentionCall, Instrument, Seam
from attlas.models.sites import Layout, output_matrix

_CLOSE = 1e-4


@dataclass(frozen=True)
class Gain:
    """A norm but for its scale: a number for each coordinate, and whether the mean is taken away.

    >>> Gain(torch.tensor([1.0, 2.0]), True).through(torch.tensor([1.0, 3.0])).tolist()
    [-1.0, 2.0]
    """

    gain: Tensor
    centred: bool

    def through(self, states: Tensor) -> Tensor:
        """What the norm makes of states, but for its scale and its bias."""
        gain = self.gain.to(states.device, states.dtype)
        return gain * (states - states.mean(-1, keepdim=True) if self.centred else states)


def through(norm: Gain | None, states: Tensor) -> Tensor:
    """States as a norm leaves them, but for its scale; as they are where there is none.

    >>> through(None, torch.ones(2)).tolist()
    [1.0, 1.0]
    """
    return states if norm is None else norm.through(states)


@dataclass(frozen=True)
class HeadWeights:
    """The matrices of the heads of one site: ``value``, (head, hidden, width), reads a state through the norm
    ``before``; ``output``, (head, width, hidden), writes to it through the norm ``after``.

    >>> eye = torch.eye(2)[None]
    >>> HeadWeights(eye, eye, None, None).written(torch.tensor([[1.0, 2.0]])).tolist()
    [[[1.0, 2.0]]]
    """

    value: Tensor
    output: Tensor
    before: Gain | None
    after: Gain | None

    def written(self, states: Tensor) -> Tensor:
        """What each head writes of states that it attends to, (head, state, hidden)."""
        read = through(self.before, states)
        return through(self.after, torch.einsum("nd,hdw,hwe->hne", read, self.value, self.output))


@dataclass(frozen=True)
class Circuits:
    """What was found of a model: its embedding, its unembedding (piece, hidden) with the norm that it reads, and the
    matrices of sites; ``missing`` says why of others there are none.

    >>> Circuits(torch.eye(2), torch.eye(2), None, {}, {}).pieces
    2
    """

    embedding: Tensor
    unembedding: Tensor
    final: Gain | None
    sites: Mapping[Site, HeadWeights]
    missing: Mapping[Site, str]

    @property
    def pieces(self) -> int:
        """How many pieces the vocabulary has."""
        return len(self.unembedding)

    @cached_property
    def between(self) -> Tensor:
        """From the end of a model back to its beginning, over all pieces: W_U W_E, (hidden, hidden)."""
        return self.unembedding.T @ self.embedding

    def logits(self, states: Tensor, pieces: Tensor | None = None) -> Tensor:
        """What a state, or part of one, adds to the logits of all pieces, or of some, but for the scale of the norm.

        >>> Circuits(torch.eye(2), torch.eye(2), None, {}, {}).logits(torch.tensor([[1.0, 3.0]])).tolist()
        [[1.0, 3.0]]
        """
        rows = self.unembedding if pieces is None else self.unembedding[pieces]
        return through(self.final, states) @ rows.T


def find_circuits(model: Any, layout: Layout, seam: Seam, inputs: Mapping[str, Tensor]) -> Circuits | str:
    """Run one probing pass; a sentence where the model has no vocabulary at its end, or none of the right width.

    >>> from transformers import GPT2Config, GPT2LMHeadModel
    >>> from attlas.models.adopting import adopt, probing_inputs
    >>> model = GPT2LMHeadModel(GPT2Config(n_embd=8, n_layer=2, n_head=2, vocab_size=20)).eval()
    >>> layout = adopt("tiny", model, None).layout
    >>> seam = Seam(model, layout.modules, private=False)
    >>> found = find_circuits(model, layout, seam, probing_inputs(model))
    >>> found.sites[Site("decoder", 1)].value.shape, found.final.centred, dict(found.missing)
    (torch.Size([2, 8, 4]), True, {})
    """
    embedding, head = model.get_input_embeddings(), model.get_output_embeddings()
    if head is None or embedding is None or not isinstance(getattr(head, "weight", None), Tensor):
        return "it has no language-model head"
    watcher = _Watcher(layout, head)
    with torch.no_grad(), Hooks() as hooks, seam.put_on(watcher):
        for module in {*linear_modules(model), head}:
            hooks.after(module, watcher.project)
        for module in norms_of(model):
            hooks.after(module, watcher.normalise)
        model(**inputs)
    with torch.no_grad(), at_hand(embedding), at_hand(head):
        weight = embedding.weight
        vectors: Tensor = embedding(torch.arange(len(weight), device=weight.device)).detach().float()
        unembedding = head.weight.detach().float()
    if vectors.shape[-1] != unembedding.shape[-1]:
        return "its embedding and its language-model head are of different widths"
    sites, missing = {}, {}
    for site in layout.heads:
        found = watcher.weights(site)
        if isinstance(found, str):
            missing[site] = found
        else:
            sites[site] = found
    return Circuits(vectors, unembedding, watcher.final, sites, missing)


@dataclass
class _Watcher(Instrument):
    """Follows one pass: what linear modules and norms made, and what stood at the seam."""

    layout: Layout
    head: nn.Module
    final: Gain | None = None
    made: list[tuple[nn.Module, Tensor, Tensor]] = field(default_factory=list)
    normed: list[tuple[Gain, Tensor]] = field(default_factory=list)
    site: Site | None = None
    mixed: Tensor | None = None
    values: dict[Site, Tensor] = field(default_factory=dict)
    before: dict[Site, Gain | None] = field(default_factory=dict)
    after: dict[Site, Gain | None] = field(default_factory=dict)

    def observe(self, call: AttentionCall) -> None:
        self.site, self.mixed = call.site, None
        self.after[call.site] = None
        found = self._sources(call.values.float())
        if found is not None:
            self.values[call.site], read = found
            self.before[call.site] = self._norm_of(read)
        self.made.clear()

    def _sources(self, values: Tensor) -> tuple[Tensor, Tensor] | None:
        """The matrix behind each head's values, (head, hidden, width), and what it reads."""
        for module, read, output in reversed(self.made):
            with at_hand(module):
                weight: Tensor = torch.as_tensor(module.weight).detach().float()
            matrix = weight.T if isinstance(module, nn.Linear) else weight
            places = [_slice_of(values[0, head], output[0]) for head in range(values.shape[1])]
            if all(place is not None for place in places):
                wide = values.shape[-1]
                return torch.stack([matrix[:, place : place + wide] for place in places if place is not None]), read
        return None

    def _norm_of(self, read: Tensor) -> Gain | None:
        return next((norm for norm, output in reversed(self.normed) if _close(output, read)), None)

    def project(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if not isinstance(output, Tensor) or output.dim() != 3:
            return
        if module is self.head:
            self.final = self._norm_of(args[0].float())
        self.made.append((module, args[0].float().clone(), output.float().clone()))
        if self.site is not None and module is self.layout.projections.get(self.site):
            self.mixed = output.float().clone()

    def normalise(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        whole = args[0] if args else None
        if not isinstance(whole, Tensor) or not isinstance(output, Tensor) or whole.shape != output.shape:
            return
        formula = norm_formula(module, whole.float(), output.float())
        if formula is None:
            return
        norm = Gain(formula[1], formula[0])
        if self.mixed is not None and self.site is not None and _close(self.mixed, whole.float()):
            self.after[self.site] = norm
        self.mixed = None
        self.normed.append((norm, output.float().clone()))

    def weights(self, site: Site) -> HeadWeights | str:
        """The matrices of a site, or why there are none."""
        projection = self.layout.projections.get(site)
        if projection is None:
            return "no matrix W_O takes its heads as they leave attention"
        if site not in self.values:
            return "no linear module makes its values as they stand at attention"
        output = output_matrix(projection, self.layout.heads[site]).detach().float()
        return HeadWeights(self.values[site], output, self.before[site], self.after[site])


def _slice_of(values: Tensor, output: Tensor) -> int | None:
    """From which column on an output, (piece, column), holds these values, (piece, width)."""
    wide = values.shape[-1]
    if output.shape[0] != values.shape[0] or output.shape[1] < wide:
        return None
    starts = torch.nonzero((output[:, : output.shape[1] - wide + 1] == values[:, :1]).all(0)).flatten().tolist()
    return next((at for at in starts if torch.equal(output[:, at : at + wide], values)), None)


def _close(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape:
        return False
    return bool((one - other.to(one.device)).abs().max() <= _CLOSE * other.abs().max().clamp(min=1e-6))
