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
from attlas.studies.shared.faith.adversary import Found, Search, adversaries, chosen_sites
from attlas.studies.shared.faith.instances import Instance, ask
from attlas.studies.shared.faith.last import Own, Reweighed
from attlas.tasks import Task

COLUMNS = (
    "text", "place", "spelled", "pieces", "piece_words", "piece_documents", "stream", "layers", "heads", "rows",
    "own", "adversary", "confidence", "adversary_confidence", "jsd", "tvd",
)  # fmt: skip


def shown_of(
    task: Task,
    instances: Sequence[Instance],
    texts: Sequence[int],
    search: Search | None = None,
    layers: str = "last",
) -> dict[str, list[Any]]:
    """The table ``shown`` of a few instances, whose adversaries are looked for once more: an instance's adversary
    depends on nothing but itself, the search and its seed, so that these are the same as in any other batch.

    >>> from attlas.capture import load
    >>> from attlas.studies.shared.faith.instances import _sentences, _tagging, instances_of
    >>> task = _tagging(load())
    >>> table = shown_of(task, instances_of(task, _sentences(task), limit=None), [4, 9], Search(steps=2))
    >>> table["text"], table["layers"]
    ([4, 9], [[5], [5]])
    """
    if not instances:
        return shown_columns([])
    model = Reweighed(task, chosen_sites(task, layers))
    own = model.record(ask(task, instances))
    return shown_columns(shown_rows(model, own, adversaries(model, own, search), texts))


def shown_rows(model: Reweighed, own: Own, found: Found, texts: Sequence[int]) -> list[dict[str, Any]]:
    """Rows of the table ``shown``: instances as they were recorded, with the adversaries found for them and the
    numbers of their texts.

    >>> from attlas.capture import load
    >>> from attlas.studies.shared.faith.adversary import Search, adversaries
    >>> from attlas.studies.shared.faith.instances import _sentences, _tagging, ask, instances_of
    >>> task = _tagging(load())
    >>> model = Reweighed(task)
    >>> own = model.record(ask(task, instances_of(task, _sentences(task), limit=1)))
    >>> (row,) = shown_rows(model, own, adversaries(model, own, Search(steps=2)), [7])
    >>> row["text"], row["rows"], len(row["own"]) == 4 * 12 * len(row["pieces"]) ** 2
    (7, [2], True)
    """
    whole = _recorded(model, own)
    changed = {
        site: _put(own.rows[site].chosen, own.rows[site].spread(found.weights[site]), whole[site]) for site in whole
    }
    answers = own.predicted.argmax(-1, keepdim=True)
    sure, still = (each.gather(1, answers)[:, 0].tolist() for each in (own.predicted, found.predicted))
    rows = []
    for number, (instance, text) in enumerate(zip(own.asked.instances, texts, strict=True)):
        length = instance.example.source.length
        rows.append(
            {
                "text": text,
                "place": instance.place,
                **_read(instance.example),
                "stream": model.last.stream.value,
                "layers": [site.layer for site in whole],
                "heads": max(weights.shape[1] for weights in whole.values()),
                "rows": own.asked.rows[number].nonzero()[:, 0].tolist(),
                "own": _bytes(whole, number, length),
                "adversary": _bytes(changed, number, length),
                "confidence": sure[number],
                "adversary_confidence": still[number],
                "jsd": float(found.jsd[number]),
                "tvd": float(found.tvd[number]),
            }
        )
    return rows


def shown_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The table ``shown`` of some rows.

    >>> list(shown_columns([]))[:2]
    ['text', 'place']
    """
    return {name: [row[name] for row in rows] for name in COLUMNS}


def _recorded(model: Reweighed, own: Own) -> dict[Site, Tensor]:
    """The model's own weights at its sites, all rows: (instance, head, query, key)."""
    recorder = Recorder({"weights"}, Selection({model.last.stream}, model.sites))
    with torch.no_grad(), model.subject.use(recorder):
        model.task.run(own.asked.question)
    return {site: recorder.get(site).float() for site in model.sites}


def _put(chosen: Tensor, new: Tensor, before: Tensor) -> Tensor:
    return torch.where(chosen[:, None, :, None], new.to(before.dtype), before)


def _read(example: Example) -> dict[str, Any]:
    """A text as its model reads it."""
    segmentation = example.source.segmentation
    return {
        "spelled": [document.word(at) for document in example.passage.documents for at in range(len(document.words))],
        "pieces": list(segmentation.pieces),
        "piece_words": list(segmentation.words),
        "piece_documents": list(segmentation.documents),
    }


def _bytes(weights: Mapping[Site, Tensor], number: int, length: int) -> bytes:
    """Weights of one instance; layers of a pruned model that have fewer heads than others end in zeros."""
    layers = [layer[number, :, :length, :length] for layer in weights.values()]
    widest = max(len(layer) for layer in layers)
    stacked = torch.stack([torch.nn.functional.pad(layer, (0, 0, 0, 0, 0, widest - len(layer))) for layer in layers])
    return bytes(stacked.cpu().numpy().astype("<f4").tobytes())
