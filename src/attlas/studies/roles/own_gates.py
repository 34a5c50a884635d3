"""The gates of gated attention: how far does a model itself let through what a head gives?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attlas.ids import Site, Stream
from attlas.models import AttentionCall, Example, Instrument
from attlas.models.hooks import Hooks
from attlas.models.own_gates import gates_of
from attlas.stats import Bundle
from attlas.studies.roles.definition import Definition
from attlas.studies.roles.readout import own_gates_of
from attlas.studies.roles.scores import add_scores, empty_scores
from attlas.studies.shared.reducing import stacked

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.studies.roles.texts import Setting


class OwnGateScores:
    """The part of a run that reads gates: the mean over a head's coordinates, at every piece of a text.

    >>> OwnGateScores.name
    'own gates'
    """

    name = "own gates"

    def __init__(self, subject: Subject, definitions: Sequence[Definition], setting: Setting | None = None) -> None:
        self.subject, self.definitions = subject, tuple(definitions)
        self.modules = own_gates_of(subject)

    def empty(self) -> Bundle:
        """Scores that have seen nothing."""
        return Bundle(empty_scores(self.subject, self.definitions))

    def update(self, bundle: Bundle, batch: Sequence[Example]) -> None:
        """Read some texts."""
        made = self.subject.pieces.batch(batch, self.subject.device)
        side = made.queries(Stream.DECODER)
        assert side is not None
        watcher = _Given()
        sites = {module: site for site, module in self.modules.items()}
        sums: dict[Site, tuple[Tensor, Tensor]] = {}

        def take(module: nn.Module, args: tuple[Any, ...]) -> None:
            site, given = sites[module], watcher.given[sites[module]]
            gates = gates_of(args[0], given.flatten(2)).view(given.shape).nanmean(-1)  # (text, piece, head)
            real = side.real[..., None] & gates.isfinite()
            sums[site] = (gates.nan_to_num(0.0) * real).sum(1)[..., None], real.sum(1)[..., None].float()

        with torch.no_grad(), Hooks() as hooks, self.subject.use(watcher):
            for module in sites:
                hooks.before(module, take)
            self.subject.read(made)
        decoder = [site for site in self.subject.sites if site.stream is Stream.DECODER]
        none = [torch.zeros(len(batch), self.subject.heads(site), 1) for site in decoder]
        layers = [sums.get(site, (nothing, nothing)) for site, nothing in zip(decoder, none, strict=True)]
        add_scores(
            bundle, Stream.DECODER, *stacked(layers, self.subject.grid(Stream.DECODER)), [text.unit for text in batch]
        )


class _Given(Instrument):
    """Keeps what heads give, (text, piece, head, width), by site."""

    def __init__(self) -> None:
        self.given: dict[Site, Tensor] = {}

    def finish(self, call: AttentionCall, output: Tensor) -> Tensor:
        self.given[call.site] = output
        return output
