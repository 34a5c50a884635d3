"""Linear probes of single layers, which show where the network of the others underfits.

A linear probe reads an edge off the mean of each span's pieces: one logistic regression for every label, without
anything between. Its problem is convex, so that it cannot get stuck, and its weights are kept small by a penalty on
their squares. How strong the penalty has to be is not known beforehand: each layer has a probe for each of
:data:`STRENGTHS`, and the one that is best on the validation part is taken. Where it scores better than the network
on the same layer, the network has not learned what there is.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attlas.probes.edges.series import Asked, Numbers, Origin, Probes, Spec

STRENGTHS = (0.01, 0.1, 1.0)  # what the edges together weigh against the penalty, as C in libraries


def linear_specs(origins: Sequence[Origin]) -> tuple[Spec, ...]:
    """A linear probe on gold labels for each layer and strength, the strengths of a layer together.

    >>> [spec.layer for spec in linear_specs([Origin(0), Origin(1)])]
    [0, 0, 0, 1, 1, 1]
    """
    layers = sorted({origin.layer for origin in origins})
    return tuple(Spec("gold", "linear", layer) for layer in layers for _ in STRENGTHS)


def best_of(specs: Sequence[Spec], scores: Numbers) -> list[int]:
    """The place of the best probe of each layer by these scores, which are those on the validation part.

    >>> import numpy as np
    >>> best_of(linear_specs([Origin(0), Origin(1)]), np.array([0.1, 0.3, 0.2, 0.5, 0.5, 0.4]))
    [1, 3]
    """
    layers = dict.fromkeys(spec.layer for spec in specs)
    return [
        max((place for place, spec in enumerate(specs) if spec.layer == layer), key=lambda place: scores[place])
        for layer in layers
    ]


class LinearSeries(Probes):
    """Linear probes that are trained together: as many as ``allowed`` (probe, origin) has rows; what a probe sees of
    several origins (the heads of a layer) is summed. ``edges`` are those to train on, which the penalty goes by.

    >>> allowed = torch.tensor([[True, False]] * 3 + [[False, True]] * 3)
    >>> series = LinearSeries(allowed, size=8, labels=3, edges=100)
    >>> asked = Asked(torch.randn(2, 1, 3, 8), torch.tensor([[[0, 1], [0, 3]]]), torch.ones(1, 2, dtype=torch.bool))
    >>> series(asked).shape, series.penalty().tolist()
    (torch.Size([6, 2, 3]), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    """

    allowed: Tensor
    factors: Tensor

    def __init__(self, allowed: Tensor, size: int, labels: int, *, edges: int, paired: bool = False) -> None:
        super().__init__()
        self.labels, self.sides = labels, 2 if paired else 1
        probes = len(allowed)
        self.register_buffer("allowed", allowed)
        strengths = torch.tensor(STRENGTHS).repeat(probes // len(STRENGTHS))
        self.register_buffer("factors", 0.5 / (strengths * max(1, edges)))
        self.weight = nn.Parameter(torch.zeros(probes, self.sides * size, labels))
        self.bias = nn.Parameter(torch.zeros(probes, 1, labels))

    def forward(self, asked: Asked, dropped: Tensor | None = None) -> Tensor:
        """Scores before the sigmoid, (probe, edge, label), of all edges of a batch, sentence by sentence."""
        pieces = asked.states.shape[2]
        place = torch.arange(pieces, device=asked.spans.device)
        chosen = asked.real.reshape(-1).nonzero()[:, 0]
        sides = []
        for side in range(self.sides):
            start, stop = asked.spans[..., 2 * side], asked.spans[..., 2 * side + 1]
            inside = ((place >= start[..., None]) & (place < stop[..., None])).to(asked.states.dtype)
            means = inside / inside.sum(-1, keepdim=True).clamp(min=1.0)
            sides.append((means @ asked.states).flatten(1, 2).index_select(1, chosen))
        spans = torch.cat(sides, -1)  # (origin, edge, size)
        summed = torch.einsum("po,oes->pes", self.allowed[:: len(STRENGTHS)].to(spans.dtype), spans)
        return torch.baddbmm(self.bias, summed.repeat_interleave(len(STRENGTHS), 0), self.weight)

    def penalty(self) -> Tensor:
        """What weights cost each probe beside its errors."""
        return self.factors * self.weight.square().sum((1, 2))
