"""Heads that look from a question to the document that answers it (QRHead): one text read twice.

A document's piece gets the mean weight from the question's pieces, less what it gets from a question that asks
nothing. Pieces that lie more than two standard deviations below the mean of the document's are dropped; the rest is
summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attlas.capture.instruments import Fold, finite
from attlas.ids import Stream
from attlas.measures.rows import uniform_call
from attlas.models import AttentionCall
from attlas.stats import Bundle
from attlas.studies.roles.definition import Definition
from attlas.studies.roles.long_texts import Asked
from attlas.studies.roles.scores import add_scores, empty_scores
from attlas.studies.shared.reducing import heads_by_site, stacked

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.studies.roles.texts import RoleText, Setting

LOW = 2.0  # standard deviations below the mean


def asked_score(real: Tensor, null: Tensor) -> Tensor:
    """The score of heads from what a document's pieces get, (head, piece), with a question and with none.

    >>> asked_score(torch.full((1, 9), 0.1), torch.tensor([[0.0] * 8 + [0.9]])).round(decimals=4)
    tensor([0.8000])
    """
    gains = real - null
    bar = gains.mean(-1, keepdim=True) - LOW * gains.std(-1, correction=0, keepdim=True)
    return torch.where(gains < bar, 0.0, gains).sum(-1)


class AskedScores:
    """The part of a run that reads every text with both questions.

    >>> from attlas.studies.roles.definition import Definition
    >>> AskedScores.name
    'asked'
    """

    name = "asked"

    def __init__(self, subject: Subject, definitions: Sequence[Definition], setting: Setting | None = None) -> None:
        self.subject = subject
        self.definitions = tuple(definitions)

    def empty(self) -> Bundle:
        """Scores that have seen nothing."""
        return Bundle(empty_scores(self.subject, self.definitions))

    def update(self, bundle: Bundle, batch: Sequence[Asked]) -> None:
        """Read some texts, each twice, and take their scores into the bundle."""
        got = [self._read([one.real for one in batch]), self._read([one.null for one in batch])]
        for even in (False, True):
            scores = [
                torch.stack([asked_score(*pair) for pair in zip(real, null, strict=True)])
                for real, null in zip(got[0][even], got[1][even], strict=True)
            ]  # by layer, (text, head)
            if even:
                counts = torch.ones_like(scores[0][:, 0])[:, None]
                layers = [(layer[:, 0, None], counts) for layer in scores]
                bundle[f"{Stream.DECODER}-chance"].update(*stacked(layers))
            else:
                pairs = [(layer[..., None], torch.ones_like(layer)[..., None]) for layer in scores]
                sums, cases = stacked(pairs, self.subject.grid(Stream.DECODER))
                add_scores(bundle, Stream.DECODER, sums, cases, [one.unit for one in batch])

    def _read(self, texts: Sequence[RoleText]) -> dict[bool, list[list[Tensor]]]:
        """What the pieces of the document get from the question, (head, piece) for every layer and text: of the
        model's heads, and of one that attends evenly."""
        made = self.subject.pieces.batch(texts, self.subject.device)
        side, heads = made.queries(Stream.DECODER), heads_by_site(self.subject)
        starts = [0] * len(texts) if side is None else side.starts
        found: dict[bool, list[list[Tensor]]] = {False: [], True: []}

        def take(call: AttentionCall) -> None:
            if call.site.stream is not Stream.DECODER:
                return
            for even, weights in ((False, call.weights()), (True, uniform_call(call).weights()[:, :1])):
                weights = finite(weights[:, : heads[call.site]], call.site).float()
                rows = []
                for row, (text, start) in enumerate(zip(texts, starts, strict=True)):
                    (asking, end), (first, last) = text.spans["question"], text.spans["gold"]
                    part = weights[row, :, start + asking : start + end, start + first : start + last]
                    rows.append(part.mean(1))
                found[even].append(rows)

        with torch.no_grad(), self.subject.use(Fold(take)):
            self.subject.read(made)
        return found
