"""Linear probes of single layers, which show where the network of the others underfits.

A linear probe reads an edge off the mean of each span's pieces: one logistic regression for every label, without
anything between. Its problem is convex, and is solved to the end (L-BFGS on all edges at once, layer by layer), so
that it can neither get stuck nor be stopped too early. Its weights are kept small by a penalty on their squares. How
strong the penalty has to be is not known beforehand: each layer has a probe for each of :data:`STRENGTHS`, and the
one that is best on the validation part is taken. Where it scores better than the network on the same layer, the
network has not learned what there is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attlas.probes.edges.reading import Reader
from attlas.probes.edges.series import Asked, Numbers, Origin, Probes, Spec

STRENGTHS = (0.01, 0.1, 1.0)  # what the edges together weigh against the penalty, as C in libraries
STEPS = 60  # at most, for each strength, which begins where the last ended
MOST_NUMBERS = 100_000_000  # that the edges to learn from may have; of more of them some are drawn


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
    several origins (the heads of a layer) is summed.

    >>> allowed = torch.tensor([[True, False]] * 3 + [[False, True]] * 3)
    >>> series = LinearSeries(allowed, size=8, labels=3)
    >>> asked = Asked(torch.randn(2, 1, 3, 8), torch.tensor([[[0, 1], [0, 3]]]), torch.ones(1, 2, dtype=torch.bool))
    >>> series(asked).shape
    torch.Size([6, 2, 3])
    """

    allowed: Tensor

    def __init__(self, allowed: Tensor, size: int, labels: int, *, paired: bool = False) -> None:
        super().__init__()
        self.labels, self.sides = labels, 2 if paired else 1
        probes = len(allowed)
        self.register_buffer("allowed", allowed)
        self.weight = nn.Parameter(torch.zeros(probes, self.sides * size, labels))
        self.bias = nn.Parameter(torch.zeros(probes, 1, labels))

    def forward(self, asked: Asked, dropped: Tensor | None = None) -> Tensor:
        """Scores before the sigmoid, (probe, edge, label), of all edges of a batch, sentence by sentence."""
        return torch.baddbmm(self.bias, self.read(asked).repeat_interleave(len(STRENGTHS), 0), self.weight)

    def read(self, asked: Asked) -> Tensor:
        """What probes read of each edge, the same for all strengths of a layer: (layer, edge, number)."""
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
        return torch.einsum("lo,oes->les", self.allowed[:: len(STRENGTHS)].to(spans.dtype), spans)


def solve(
    series: LinearSeries, reader: Reader, seed: int, advance: Callable[[int], None] = lambda layers: None
) -> None:
    """Give every probe the weights that are best for the training part: least loss (as for the networks: summed over
    labels, mean over edges) plus the penalty. ``advance`` is told when a layer is done.

    >>> callable(solve)
    True
    """
    layout = reader.layouts["train"]
    numbers, edges = int(series.weight.shape[1]), len(layout.spans)
    kept = np.zeros(edges, dtype=bool)
    most = max(1, MOST_NUMBERS // numbers)
    kept[np.random.default_rng(seed).permutation(edges)[:most]] = True
    for layer in range(len(series.weight) // len(STRENGTHS)):
        read, given, among = _edges(series, reader, layer, kept)
        weight, bias = (torch.zeros_like(start[0]) for start in (series.weight, series.bias))
        for place, strength in enumerate(STRENGTHS, start=layer * len(STRENGTHS)):  # each begins where the last ended
            weight, bias = _minimum(read, given, among, 0.5 / (strength * len(read)), weight, bias)
            with torch.no_grad():
                series.weight[place], series.bias[place] = weight, bias
        advance(1)


def _edges(
    series: LinearSeries, reader: Reader, layer: int, kept: NDArray[np.bool_]
) -> tuple[Tensor, Tensor, Tensor]:
    """What is read of the edges that are kept, the labels they have, and those that were asked about."""
    parts = []
    with torch.no_grad():
        for lesson in reader.lessons("train"):
            chosen = torch.from_numpy(np.flatnonzero(kept[lesson.edges])).to(series.weight.device)
            given, among, _ = lesson.answers["gold"]
            parts.append((series.read(lesson.asked)[layer][chosen], given[chosen], among[chosen]))
    read, given, among = (torch.cat(several) for several in zip(*parts, strict=True))
    return read, given, among


def _minimum(
    read: Tensor, given: Tensor, among: Tensor, factor: float, weight: Tensor, bias: Tensor
) -> tuple[Tensor, Tensor]:
    weight, bias = (start.detach().clone().requires_grad_() for start in (weight, bias))
    optimiser = torch.optim.LBFGS(
        [weight, bias], max_iter=STEPS, tolerance_grad=1e-6, tolerance_change=1e-8, line_search_fn="strong_wolfe"
    )

    def loss() -> Tensor:
        optimiser.zero_grad()
        errors = nn.functional.binary_cross_entropy_with_logits(read @ weight + bias, given, among, reduction="sum")
        total = errors / len(read) + factor * weight.square().sum()
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    return weight.detach(), bias.detach()
