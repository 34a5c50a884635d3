"""Every head closed by itself: how much more does a copy of a text cost without it?

All texts go through the model once; then one head after the other is closed, and only what lies above it is run again
(:meth:`attlas.capture.replay.Replay.without`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from attlas.capture.replay import Replay
from attlas.ids import HeadId, Stream
from attlas.stats import Bundle
from attlas.studies.roles.closing import SpanLoss
from attlas.studies.roles.definition import Definition
from attlas.studies.roles.scores import add_scores, empty_scores

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.studies.roles.texts import RoleText, Setting


class AloneScores:
    """The part of a run that closes every head in turn.

    >>> AloneScores.name
    'alone'
    """

    name = "alone"

    def __init__(self, subject: Subject, definitions: Sequence[Definition], setting: Setting | None = None) -> None:
        self.subject, self.definitions = subject, tuple(definitions)

    def empty(self) -> Bundle:
        """Scores that have seen nothing."""
        return Bundle(empty_scores(self.subject, self.definitions))

    def update(self, bundle: Bundle, batch: Sequence[RoleText]) -> None:
        """Take some texts through the model, whole and without each of its heads."""
        losses = SpanLoss(self.subject, batch)
        replay = Replay(self.subject, losses.options, pieces=2 * sum(text.length for text in batch))
        kept = replay.record(losses.batch)
        whole = losses.of(kept.output)[0]
        grid = self.subject.grid(Stream.DECODER)
        heads = [HeadId(Stream.DECODER, int(layer), int(head)) for layer, head in np.argwhere(grid)]
        sums = np.zeros((len(batch), *grid.shape, 1))
        for part, output in replay.without(kept, [[head] for head in heads]):
            rises = (losses.of(output) - whole).double().cpu().numpy()  # (head, text)
            for head, rise in zip(heads[part], rises, strict=True):
                sums[:, head.layer, head.head, 0] = rise
        counts = np.broadcast_to(grid[None, :, :, None], sums.shape).astype(float)
        add_scores(bundle, Stream.DECODER, sums, counts, [text.unit for text in batch])
