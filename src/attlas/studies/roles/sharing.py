"""Which heads share their keys: what a file of gates, which has one for every head of keys, must know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from attlas.capture.instruments import Fold
from attlas.ids import Site
from attlas.models import AttentionCall
from attlas.store.columns import as_columns
from attlas.studies.shared.reducing import heads_by_site
from attlas.text import Document, Passage

if TYPE_CHECKING:
    from attlas.capture import Subject


def key_heads(subject: Subject) -> dict[Site, list[int]]:
    """Of every site, which head of keys each head reads, as one short text shows it.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> key_heads(subject)[subject.sites[0]][:3]
    [0, 1, 2]
    """
    known, found = heads_by_site(subject), dict[Site, list[int]]()

    def take(call: AttentionCall) -> None:
        key = call.value if call.key is None else call.key
        group = call.shape[1] // key.shape[1]
        found[call.site] = [head // group for head in range(known[call.site])]

    batch = subject.pieces.batch([subject.pieces.encode(_passage(subject))], subject.device)
    with torch.no_grad(), subject.use(Fold(take)):
        subject.read(batch)
    return found


def _passage(subject: Subject) -> Passage:
    document = Document.from_words(["a", "b"])
    return Passage(document, document) if subject.pieces.translating else Passage(document)


def sharing_table(subject: Subject) -> dict[str, list[Any]]:
    """The table ``sharing``: a row for every head.

    >>> from attlas.capture import load
    >>> sharing_table(load())["key_head"][:3]
    [0, 1, 2]
    """
    rows = [
        {"stream": site.stream.value, "layer": site.layer, "head": head, "key_head": key}
        for site, keys in key_heads(subject).items()
        for head, key in enumerate(keys)
    ]
    return as_columns(rows, ("stream", "layer", "head", "key_head"))
