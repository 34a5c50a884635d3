"""The probe of edge probing, and a series of them that learns as one.

A probe mixes the *origins* that it may see (states of layers, or outputs of heads) by weights s = softmax(a) and a
factor gamma, projects the mixed state of each piece, pools the pieces of a span by an attention of its own, and puts
the one or two spans through a small network with a sigmoid for every label.

Every parameter has the probe as its first axis. Probes share nothing but the numbers they begin with and the units
that are dropped in a step: so each learns what it would have learned alone, and differences between layers are not
blurred by different beginnings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Numbers = NDArray[np.float64]
WIDTH, HIDDEN, DROPOUT = 256, 256, 0.2


class Origin(NamedTuple):
    """One thing that is mixed: the state after so many layers (0: what the model reads), or what one head of the
    layer with this number brings.

    >>> Origin(3).head is None
    True
    """

    layer: int
    head: int | None = None


class Spec(NamedTuple):
    """One probe of a series: its labels ("gold", "control"), and the layers that it mixes: all up to ``layer``
    ("cumulative"), or that one ("single", and "linear" for a probe without a network).

    >>> [origin.layer for origin in map(Origin, range(4)) if Spec("gold", "cumulative", 2).sees(origin)]
    [0, 1, 2]
    """

    labels: str
    series: str
    layer: int

    def sees(self, origin: Origin) -> bool:
        """Whether this probe mixes an origin."""
        return origin.layer <= self.layer if self.series == "cumulative" else origin.layer == self.layer


def specs_for(origins: Sequence[Origin], *, singles: bool = True, control: bool = True) -> tuple[Spec, ...]:
    """The probes for these origins: a cumulative one for each layer, a single one for each but the first (where the
    two are the same), and a cumulative one on control labels for each.

    >>> len(specs_for([Origin(0), Origin(1), Origin(2)]))
    8
    """
    layers = sorted({origin.layer for origin in origins})
    specs = [Spec("gold", "cumulative", layer) for layer in layers]
    specs += [Spec("gold", "single", layer) for layer in layers[1:]] if singles else []
    specs += [Spec("control", "cumulative", layer) for layer in layers] if control else []
    return tuple(specs)


class Trained(NamedTuple):
    """What training one series on one model with one seed has left.

    ``who`` is the model or its twin; ``marks`` (probe, test sentence, 3) count labels that are common to probe and
    corpus, predicted, and given; ``label_marks`` (probe, label, 3) the same by label; ``weights`` (probe, origin) are
    those of the mix; ``dev`` are scores on the validation part. ``forced`` are the marks where each probe always says
    the one label that it takes for the most likely; there are none where edges may have several labels.

    >>> Trained._fields[:3]
    ('who', 'seed', 'specs')
    """

    who: str
    seed: int
    specs: tuple[Spec, ...]
    marks: Numbers
    label_marks: Numbers
    weights: Numbers
    gammas: Numbers
    dev: Numbers
    forced: Numbers | None = None


class Asked(NamedTuple):
    """What a batch asks a series: states (origin, sentence, piece, size); spans (sentence, edge, 2 or 4) as start and
    stop among a sentence's pieces; and ``real`` (sentence, edge), where there is an edge at all.

    >>> Asked._fields
    ('states', 'spans', 'real')
    """

    states: Tensor
    spans: Tensor
    real: Tensor


class Probes(nn.Module):
    """What all series have that a training may train or judge: parameters with the probe as their first axis, some of
    which may learn at a rate of their own, and what is dropped in a step.

    >>> Probes().fast(), Probes().drop(3, torch.Generator())
    ([], None)
    """

    labels: int

    def fast(self) -> list[nn.Parameter]:
        """The parameters that learn at the rate of the mix."""
        return []

    def drop(self, edges: int, generator: torch.Generator) -> Tensor | None:
        """The factors of dropout for one step; None where nothing is dropped."""
        return None


class Series(Probes):
    """Probes that are trained together: as many as ``allowed`` (probe, origin) has rows, which say what each mixes.

    >>> series = Series(torch.tensor([[True, False], [True, True]]), size=8, labels=3, width=4, hidden=5)
    >>> spans = torch.tensor([[[0, 1], [0, 3]]])
    >>> series(Asked(torch.randn(2, 1, 3, 8), spans, torch.ones(1, 2, dtype=torch.bool))).shape
    torch.Size([2, 2, 3])
    >>> series.mixing().tolist(), series.drop(50, torch.Generator()).unique().tolist()
    ([[1.0, 0.0], [0.5, 0.5]], [0.0, 1.25])
    """

    allowed: Tensor

    def __init__(
        self,
        allowed: Tensor,
        size: int,
        labels: int,
        *,
        paired: bool = False,
        seed: int = 0,
        width: int = WIDTH,
        hidden: int = HIDDEN,
        dropout: float = DROPOUT,
    ) -> None:
        super().__init__()
        self.register_buffer("allowed", allowed)
        self.sides, self.dropout, self.labels = 2 if paired else 1, dropout, labels
        probes, origins = allowed.shape
        drawn = torch.Generator().manual_seed(seed)

        def begin(*shape: int, into: int) -> nn.Parameter:
            start = (2 * torch.rand(*shape, generator=drawn) - 1) * into**-0.5
            return nn.Parameter(start[None].repeat(probes, *[1] * len(shape)))

        self.mix = nn.Parameter(torch.zeros(probes, origins))
        self.gamma = nn.Parameter(torch.ones(probes))
        self.project = nn.ParameterList(begin(size, width, into=size) for _ in range(self.sides))
        self.project_bias = nn.ParameterList(begin(1, width, into=size) for _ in range(self.sides))
        self.attend = nn.ParameterList(begin(width, 1, into=width) for _ in range(self.sides))
        self.inner = begin(self.sides * width, hidden, into=self.sides * width)
        self.inner_bias = begin(1, hidden, into=self.sides * width)
        self.scale = nn.Parameter(torch.ones(probes, 1, hidden))
        self.shift = nn.Parameter(torch.zeros(probes, 1, hidden))
        self.outer = begin(hidden, labels, into=hidden)
        self.outer_bias = begin(1, labels, into=hidden)

    def fast(self) -> list[nn.Parameter]:
        """The weights of the mix and its factor."""
        return [self.mix, self.gamma]

    def mixing(self) -> Tensor:
        """The weights s of the mix, (probe, origin), 0 where a probe does not look."""
        return torch.softmax(self.mix.masked_fill(~self.allowed, float("-inf")), -1)

    def forward(self, asked: Asked, dropped: Tensor | None = None) -> Tensor:
        """Scores before the sigmoid, (probe, edge, label), of all edges of a batch, sentence by sentence.

        ``dropped`` (edge, hidden) are the factors of dropout, the same for all probes.
        """
        origins, sentences, pieces, size = asked.states.shape
        factors = self.mixing() * self.gamma[:, None]
        mixed = (factors @ asked.states.reshape(origins, -1)).view(-1, sentences * pieces, size)
        place = torch.arange(pieces, device=asked.spans.device)
        chosen = asked.real.reshape(-1).nonzero()[:, 0]
        sides = []
        for side in range(self.sides):
            start, stop = asked.spans[..., 2 * side], asked.spans[..., 2 * side + 1]
            inside = (place >= start[..., None]) & (place < stop[..., None])
            projected = torch.baddbmm(self.project_bias[side], mixed, self.project[side])
            scores = torch.bmm(projected, self.attend[side]).view(-1, sentences, 1, pieces)
            weights = torch.softmax(scores.masked_fill(~inside, -1e9), -1)
            pooled = weights @ projected.view(-1, sentences, pieces, projected.shape[-1])
            sides.append(pooled.flatten(1, 2).index_select(1, chosen))
        spans = torch.cat(sides, -1) if self.sides > 1 else sides[0]
        inner = torch.tanh(torch.baddbmm(self.inner_bias, spans, self.inner))
        inner = nn.functional.layer_norm(inner, inner.shape[-1:]) * self.scale + self.shift
        if dropped is not None:
            inner = inner * dropped
        return torch.baddbmm(self.outer_bias, inner, self.outer)

    def drop(self, edges: int, generator: torch.Generator) -> Tensor | None:
        """The factors of dropout for one step; None where nothing is dropped."""
        if not self.dropout:
            return None
        kept = torch.rand(edges, self.outer.shape[1], generator=generator) >= self.dropout
        return (kept / (1 - self.dropout)).to(self.outer)


def allowed_for(specs: Sequence[Spec], origins: Sequence[Origin]) -> Tensor:
    """Which origin each probe mixes, (probe, origin).

    >>> allowed_for([Spec("gold", "single", 1)], [Origin(0), Origin(1)]).tolist()
    [[False, True]]
    """
    return torch.tensor([[spec.sees(origin) for origin in origins] for spec in specs])
