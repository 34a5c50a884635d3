"""Instances to look at: whole attention of a text, the model's own and its adversary's, for the head view.

Other tables hold words; a picture needs pieces, and the matrix of every head. So each row of the table ``shown`` is
one instance: its pieces and words, and weights as (layer, head, query, key) in bytes of float32, once as the model
has them and once with the adversary's in the rows that it was free to change. All other rows are the same in both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from attlas.capture import Recorder
from attlas.capture.selection import Selection
from attlas.ids import Site
from attlas.models import Example
from attlas.studies.shared.faith.adversary import Found
from attlas.studies.shared.faith.last import Own, Reweighed


def shown_rows(model: Reweighed, own: Own, adversary: Found, texts: Sequence[int]) -> list[dict[str, Any]]:
    """Rows of the table ``shown``: instances as they were recorded, with the adversaries found for them and the
    numbers of their texts.

    >>> from attlas.studies.shared.faith.adversary import Search, adversaries
    >>> from attlas.studies.shared.faith.instances import _example
    >>> task, asked = _example()
    >>> model = Reweighed(task)
    >>> own = model.record(asked)
    >>> row = shown_rows(model, own, adversaries(model, own, Search(steps=2)), [7, 9])[0]
    >>> row["text"], row["rows"], len(row["own"]) == 4 * 12 * len(row["pieces"]) ** 2
    (7, [3], True)
    """
    recorder = Recorder({"weights"}, Selection({model.last.stream}, model.sites))
    with torch.no_grad(), model.subject.use(recorder):
        model.task.run(own.asked.question)
    whole = {site: recorder.get(site).float() for site in model.sites}
    changed = {}
    for site, before in whole.items():
        rows_there = own.rows[site]
        new = rows_there.spread(adversary.weights[site]).to(before.dtype)
        changed[site] = torch.where(rows_there.chosen[:, None, :, None], new, before)
    answers = own.predicted.argmax(-1, keepdim=True)
    sure, still = (each.gather(1, answers)[:, 0].tolist() for each in (own.predicted, adversary.predicted))
    rows = []
    for number, (instance, text) in enumerate(zip(own.asked.instances, texts, strict=True)):
        length = instance.example.source.length
        rows.append(
            {
                "text": text, "place": instance.place, **_read(instance.example), "stream": model.last.stream.value,
                "layers": [site.layer for site in whole],
                "heads": max(weights.shape[1] for weights in whole.values()),
                "rows": own.asked.rows[number].nonzero()[:, 0].tolist(), "own": _bytes(whole, number, length),
                "adversary": _bytes(changed, number, length), "confidence": sure[number],
                "adversary_confidence": still[number], "jsd": float(adversary.jsd[number]),
                "tvd": float(adversary.tvd[number]),
            }
        )  # fmt: skip
    return rows


def _read(example: Example) -> dict[str, Any]:
    """A text as its model reads it."""
    segmentation = example.source.segmentation
    return {
        "spelled": spelled(example), "pieces": list(segmentation.pieces), "piece_words": list(segmentation.words),
        "piece_documents": list(segmentation.documents),
    }  # fmt: skip


def spelled(example: Example) -> list[str]:
    """The words of a text as they are written."""
    return [document.word(at) for document in example.passage.documents for at in range(len(document.words))]


def _bytes(weights: Mapping[Site, Tensor], number: int, length: int) -> bytes:
    """Weights of one instance; layers of a pruned model that have fewer heads than others end in zeros."""
    layers = [layer[number, :, :length, :length] for layer in weights.values()]
    widest = max(len(layer) for layer in layers)
    stacked = torch.stack([torch.nn.functional.pad(layer, (0, 0, 0, 0, 0, widest - len(layer))) for layer in layers])
    return bytes(stacked.cpu().numpy().astype("<f4").tobytes())
