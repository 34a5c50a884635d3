"""How much does a loss depend on each head? One pass of gradients for all of them (Michel et al. 2019).

Every head's output is multiplied by a gate xi that is 1. The derivative of a text's loss by that gate says, to first
order, what closing it would do; its size, averaged over texts, is the head's importance E|dL/dxi|. Each text has
gates of its own, so one backward pass over a batch gives the derivative of every text's own loss, whatever it was
batched with. As layers differ in how large their gradients are, importance is also given divided by its layer's
Euclidean norm; that is the order in which heads are pruned.

The signed mean is kept beside it: to first order, minus that is what the loss changes by when the head is cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.capture import Gates
from attlas.errors import NumberError
from attlas.ids import Site, Stream
from attlas.models import Example
from attlas.stats import Bundle, Ledger, PooledMean
from attlas.store.columns import as_columns
from attlas.tasks import Question, Scored, Task, mark_count

Numbers = NDArray[np.float64]


class Importance:
    """The study: for every head the mean size of dL/dxi, and its signed mean.

    With a number of ``texts``, items come with their numbers, and the marks of the whole model are written down of
    each text beside the gradients, to tell whether it does the task at all."""

    name = "importance"

    def __init__(self, task: Task, texts: int | None = None) -> None:
        self.task, self.subject, self.texts = task, task.subject, texts
        self.subject.require_gradients()
        self.sites = tuple(site for site in self.subject.sites if site.stream in task.streams)

    def empty(self) -> Bundle:
        """A bundle that has seen nothing. Layers of a stream may differ in their number of heads; its array is as
        wide as the widest."""
        parts: dict[str, Any] = {"loss": PooledMean(())}
        if self.texts is not None:
            parts["marks"] = Ledger(self.texts, (mark_count(self.task),))
        for stream in self.task.streams:
            shape = self._shape(stream)
            parts[f"{stream}-size"], parts[f"{stream}-signed"] = PooledMean(shape), PooledMean(shape)
        return Bundle(parts)

    def update(self, bundle: Bundle, items: Sequence[Example] | Sequence[tuple[int, Example]]) -> None:
        """Run a batch forward and back, and take the derivatives of all texts into the bundle."""
        if not items:
            return
        batch: list[Example] = [item[1] if isinstance(item, tuple) else item for item in items]
        question = self.task.ask(batch)
        scored, slopes = derivatives(self.task, question, self.sites)
        if self.texts is not None:
            numbers = [item[0] for item in items if isinstance(item, tuple)]
            bundle["marks"].update(numbers, scored.marks.detach().double().cpu().numpy())
        counted = (scored.predicted > 0).double().cpu().numpy()
        units = [example.unit for example in batch]
        bundle["loss"].update(scored.mean.double().cpu().numpy() * counted, counted, units)
        for stream in self.task.streams:
            layers, heads = self._shape(stream)
            found = np.zeros((len(batch), layers, heads))
            for site in self.sites:
                if site.stream is stream:
                    found[:, site.layer, : slopes[site].shape[1]] = slopes[site].double().cpu().numpy()
            bundle[f"{stream}-size"].update(np.abs(found), counted, units)
            bundle[f"{stream}-signed"].update(found, counted, units)

    def tables(self, bundle: Bundle) -> dict[str, dict[str, list[Any]]]:
        """One row per head."""
        rows = []
        for stream in self.task.streams:
            size, signed = bundle[f"{stream}-size"].result(), bundle[f"{stream}-signed"].result()
            scale = per_layer(size.value)
            for site in self.sites:
                if site.stream is not stream:
                    continue
                for head in range(self.subject.grid(stream)[site.layer].sum()):
                    at = site.layer, head
                    place = {"stream": stream.value, "layer": site.layer, "head": head}
                    low = np.maximum(size.low[at], 0.0)  # no size is below zero
                    figures = {"value": size.value[at], "low": low, "high": size.high[at]}
                    rows.append({**place, **figures, "normalised": scale[at], "signed": signed.value[at],
                                 "n": size.n[at]})  # fmt: skip
        return {"importance": as_columns(rows)}

    def _shape(self, stream: Stream) -> tuple[int, int]:
        counts = [self.subject.heads(site) for site in self.sites if site.stream is stream]
        return len(counts), max(counts)


def derivatives(task: Task, question: Question, sites: Sequence[Site]) -> tuple[Scored, dict[Site, Tensor]]:
    """Of every text the loss, and dL/dxi of every head at every site, (text, head); one pass forward and back."""
    subject, texts = task.subject, len(question.labels)
    with torch.enable_grad(), subject.frozen():
        own = {
            site: torch.ones(texts, subject.heads(site), device=subject.device, requires_grad=True) for site in sites
        }
        owners = question.owners
        with subject.use(Gates({site: xi[owners] for site, xi in own.items()})):
            scored = task.judge(question, task.run(question))
            made = torch.autograd.grad(scored.mean.sum(), list(own.values()), allow_unused=True)
    slopes = {}
    for site, slope in zip(own, made, strict=True):
        slopes[site] = torch.zeros(texts, subject.heads(site)) if slope is None else slope
        if not bool(torch.isfinite(slopes[site]).all()):
            raise NumberError(
                f"NaN or infinity in the gradients at {site}; the number format may be too narrow "
                "(try --dtype float32)"
            )
    return scored._replace(total=scored.total.detach()), slopes


def per_layer(importance: Numbers) -> Numbers:
    """Importance (layer, head) divided by the Euclidean norm of its layer."""
    norms = np.sqrt((importance**2).sum(-1, keepdims=True))
    return np.asarray(np.divide(importance, norms, out=np.zeros_like(importance), where=norms > 0))
