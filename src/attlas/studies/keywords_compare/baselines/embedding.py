"""Phrases that are close to their document in the space of a model's states.

A text's vector is the mean of the model's last states over all its pieces, special ones too, as sentence embedders
take it; of a text that is longer than the window, over the pieces of all its windows. No prefix is put before a text.
Candidates are ranked by the cosine of their vector with the document's: what KeyBERT does with n-grams, here with
candidates that are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray

from attlas.capture import Subject
from attlas.models import Example
from attlas.run.batches import batches
from attlas.studies.keywords_compare.baselines.named import Named, named
from attlas.studies.keywords_compare.baselines.weighted import Pair
from attlas.studies.shared.keywords.weighing import cut, usual_budget
from attlas.text import Document

Vectors = NDArray[np.float32]
AT_ONCE = 16  # documents whose candidates are embedded together


def embed(subject: Subject, texts: Sequence[str], budget: int | None = None) -> Vectors:
    """Vectors of texts, (text, width), of length one."""
    parts: list[Example] = []
    owners: list[int] = []
    for index, (text, encoded) in enumerate(zip(texts, subject.pieces.encode_texts(texts), strict=True)):
        if encoded.length <= subject.pieces.window:
            windows = [encoded]
        else:
            windows = subject.pieces.encode_texts([part.text for part in cut(subject, Document.from_text(text))])
        parts += windows
        owners += [index] * len(windows)
    sums: list[torch.Tensor | float] = [0.0] * len(texts)
    for some in batches([part.length for part in parts], budget or usual_budget(subject)):
        for at, total in zip(some, _summed(subject, [parts[at] for at in some]), strict=True):
            sums[owners[at]] = sums[owners[at]] + total
    if not sums:
        return np.zeros((0, 0), np.float32)
    whole = torch.stack([torch.as_tensor(one) for one in sums])
    return np.asarray(torch.nn.functional.normalize(whole, dim=-1).cpu().numpy(), np.float32)


def _summed(subject: Subject, examples: Sequence[Example]) -> torch.Tensor:
    """The sum of the last states over the pieces of each example, (example, width)."""
    batch = subject.pieces.batch(examples, subject.device)
    headed = subject.task_head is not None or bool(subject.missing)
    with torch.no_grad():
        output = subject.read(batch, **({"output_hidden_states": True} if headed else {}))
    found = getattr(output, "last_hidden_state", None)
    states: torch.Tensor = output.hidden_states[-1] if found is None else found
    return torch.matmul(batch.inputs["attention_mask"][:, None].to(states.dtype), states)[:, 0].float()


def by_similarity(subject: Subject, candidates: Iterable[Pair], budget: int | None = None) -> Iterator[list[Named]]:
    """The candidates of each document, those that are closest to it first."""
    remaining = iter(candidates)
    while some := list(islice(remaining, AT_ONCE)):
        yield from _ranked(subject, some, budget)


def _ranked(subject: Subject, some: Sequence[Pair], budget: int | None) -> Iterator[list[Named]]:
    texts = list(dict.fromkeys(phrase.text for _, phrases in some for phrase in phrases))
    vectors = embed(subject, [document.text for document, _ in some] + texts, budget)
    at = {text: len(some) + index for index, text in enumerate(texts)}
    for number, (_, phrases) in enumerate(some):
        closeness = [float(vectors[number] @ vectors[at[phrase.text]]) for phrase in phrases]
        order = sorted(range(len(phrases)), key=lambda index: -closeness[index])
        yield named(phrases[index] for index in order)
