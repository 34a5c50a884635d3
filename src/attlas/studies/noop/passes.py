"""The no-op test: does it matter to a loss how much attention goes to the places where heads rest?

Many heads put most of their weight on [SEP], on the first piece or on punctuation. If that is a way of doing nothing,
the loss should hardly change with those weights. So for every head and every visible pair of a query and a key the
gradient |dL/d alpha| is taken, and averaged by the class of the key (Clark et al. 2019): the first piece, [CLS],
[SEP], periods and commas, all others; and by its place: the query itself, the piece before, the piece after.

The weights of all layers enter the graph as tensors of their own, through the seam, in one backward pass for each
batch. L is the mean loss of a text, and the texts of a batch are added up: so every text's gradient is that of its
own loss, whatever it was batched with. As a piece of a long text has a smaller share in that mean, gradients are
averaged over the pairs of a text first and then over texts; and a class is compared with other keys in the texts that
have both. Pairs of all texts in one heap would set classes with one key to a text against classes that long texts
have most of.

Beside the share of the weight that a class takes stands its share of the norm, ||alpha f(x)||, where the model lets
it be computed: a resting place that takes much weight and adds next to nothing is a no-op from the other side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from attlas.capture import Override, Subject
from attlas.capture.instruments import finite
from attlas.capture.measuring import row_shares
from attlas.errors import NumberError
from attlas.ids import Site, Stream
from attlas.measures.quantities import CLASSES
from attlas.models import AttentionCall, Example
from attlas.stats import Bundle, Ledger, PooledMean
from attlas.stats.pooled import BLOCKS
from attlas.studies.shared.piece_classes import mark, texts_of
from attlas.studies.shared.reducing import stacked_heads
from attlas.tasks import Question, Scored, Task, mark_count

PLACES = ("self", "previous", "next")
KEYS = (*CLASSES, *PLACES)
OTHER = KEYS.index("other")
OFFSETS = {"self": 0, "previous": -1, "next": 1}


@dataclass
class Kept:
    """The weights of one pass that are part of the graph, with what may be seen, by site; and the lengths ||f(x)|| of
    the keys, if there is a way to have them."""

    lengths_of: Callable[[AttentionCall], Tensor] | None = None
    weights: dict[Site, Tensor] = field(default_factory=dict)
    visible: dict[Site, Tensor | None] = field(default_factory=dict)
    lengths: dict[Site, Tensor] = field(default_factory=dict)

    def keep(self, call: AttentionCall) -> Tensor:
        """Hand the model its own weights, as a tensor that a gradient can be asked for."""
        weights = finite(call.weights(), call.site)
        if not weights.requires_grad:  # before the first layer there is nothing to differentiate
            weights = weights.detach().requires_grad_()
        self.weights[call.site], self.visible[call.site] = weights, call.visible()
        if self.lengths_of is not None:
            with torch.no_grad():
                self.lengths[call.site] = self.lengths_of(call)
        return weights


class Passed(NamedTuple):
    """One pass forward and back: the weights, dL/d alpha by site, and the loss text by text."""

    kept: Kept
    gradients: dict[Site, Tensor]
    scored: Scored


def forward_and_back(subject: Subject, task: Task, question: Question) -> Passed:
    """Run one batch forward and back, every text by its own mean loss.

    >>> from attlas.capture import load
    >>> from attlas.tasks.tagging import LinearMap, Tagging
    >>> from attlas.text import Document, Passage
    >>> subject = load()
    >>> task = Tagging(subject, "upos", tags=["A", "B"], head=LinearMap(torch.randn(2, 384), torch.zeros(2)))
    >>> document = Document.from_words(["It", "rained"], upos=["A", "B"])
    >>> passed = forward_and_back(subject, task, task.ask([subject.pieces.encode(Passage(document))]))
    >>> passed.gradients[subject.sites[0]].shape
    torch.Size([1, 12, 4, 4])
    """
    kept = Kept(subject.lengths if subject.has_norms else None)
    with torch.enable_grad(), subject.frozen(), subject.use(Override(make=kept.keep)):
        scored = task.judge(question, task.run(question))
        weights = list(kept.weights.values())
        derived = torch.autograd.grad(scored.mean.sum(), weights, allow_unused=True)
    gradients = {
        site: torch.zeros_like(own) if gradient is None else _finite(gradient, site)
        for (site, own), gradient in zip(kept.weights.items(), derived, strict=True)
    }
    return Passed(kept, gradients, scored._replace(total=scored.total.detach()))


class NoOp:
    """What is summed, of one task's loss.

    With a number of ``texts``, items come with their numbers, and the marks of each text are written down beside the
    gradients, to tell whether the model does the task at all.

    >>> from attlas.capture import load
    >>> from attlas.tasks import Tagging
    >>> sorted(NoOp(load(), Tagging(load(), "upos", tags=["NOUN"])).empty())[:3]
    ['encoder-beside', 'encoder-gradient', 'encoder-layers']
    """

    name = "noop"

    def __init__(self, subject: Subject, task: Task, texts: int | None = None) -> None:
        self.subject, self.task, self.texts = subject, task, texts
        self.streams = task.streams
        subject.require_gradients()

    def empty(self) -> Bundle:
        """A bundle that has seen nothing. Per stream, for every head: the gradient, that of other keys in the same
        texts (its rival), gradient times weight, weight, norm, and pairs; for every layer the gradient, that of
        texts that have both beside that of the rival, and what rides on a class in all. Also the loss and the share
        of right predictions."""
        parts: dict[str, Any] = {"loss": PooledMean(()), "right": PooledMean(())}
        if self.texts is not None:
            parts["marks"] = Ledger(self.texts, (mark_count(self.task),))
        for stream in self.streams:
            layers, heads = self.subject.grid(stream).shape
            norm = ("norm",) if self.subject.has_norms else ()
            for what in ("gradient", "rival", "paid", "weight", *norm, "pairs"):
                blocks = BLOCKS if what in ("gradient", "rival") else 1  # of the others no interval is told
                parts[f"{stream}-{what}"] = PooledMean((layers, heads, len(KEYS)), blocks=blocks)
            for what, blocks in (("layers", BLOCKS), ("rides", 1)):
                parts[f"{stream}-{what}"] = PooledMean((layers, len(KEYS)), blocks=blocks)
            parts[f"{stream}-beside"] = PooledMean((2, layers, len(KEYS)))
        return Bundle(parts)

    def update(self, bundle: Bundle, items: Sequence[Example] | Sequence[tuple[int, Example]]) -> None:
        """Run a batch forward and back, and take in its sums; texts without a prediction do not count."""
        if not items:
            return
        batch: list[Example] = [item[1] if isinstance(item, tuple) else item for item in items]
        question = self.task.ask(batch)
        passed = forward_and_back(self.subject, self.task, question)
        if self.texts is not None:
            numbers = [item[0] for item in items if isinstance(item, tuple)]
            bundle["marks"].update(numbers, passed.scored.marks.detach().double().cpu().numpy())
        total, count, right = (part.double().cpu().numpy() for part in passed.scored[:3])
        units = [example.unit for example in batch]
        bundle["loss"].update(total, count, units)
        bundle["right"].update(right, count, units)
        for stream in self.streams:
            queries, real, classes = self._sides(question, batch, stream)
            pairs = (queries & (passed.scored.predicted > 0)[:, None])[:, None, :, None] & real[:, None, None, :]
            sites = [site for site in self.subject.sites if site.stream is stream]
            layers = [_sums(passed, site, pairs, classes) for site in sites]
            gradient, paid, weight, norm, seen, rows = (
                stacked_heads([layer[part] for layer in layers], self.subject.grid(stream)) for part in range(6)
            )
            present = (seen > 0).astype(float)
            mean, mean_paid = (part / np.maximum(seen, 1) for part in (gradient, paid))
            both = present * present[..., OTHER, None]
            rival = mean[..., OTHER, None] * both
            bundle[f"{stream}-gradient"].update(mean, present, units)
            bundle[f"{stream}-rival"].update(rival, both, units)
            bundle[f"{stream}-paid"].update(mean_paid, present, units)
            bundle[f"{stream}-weight"].update(weight, rows, units)
            if self.subject.has_norms:
                bundle[f"{stream}-norm"].update(norm, rows, units)
            bundle[f"{stream}-pairs"].update(seen, 1, units)
            bundle[f"{stream}-layers"].update(mean.sum(2), present.sum(2), units)
            bundle[f"{stream}-rides"].update(paid.sum(2), 1, units)
            sums = np.stack([(mean * both).sum(2), rival.sum(2)], axis=1)
            bundle[f"{stream}-beside"].update(sums, np.stack([both.sum(2)] * 2, axis=1), units)

    def _sides(
        self, question: Question, examples: Sequence[Example], stream: Stream
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Which queries and keys are real, and the class of each key (text, key, class)."""
        queries, keys = question.batch.queries(stream), question.batch.keys(stream)
        assert queries is not None
        assert keys is not None
        texts = texts_of(question.batch, keys, examples, self.subject.pieces.translating)
        classes = mark(keys, texts, (), {}).classes
        if question.altered is not None:  # what is shown as a mask or another piece is no period any more
            classes = classes.clone()
            classes[question.altered] = torch.eye(len(CLASSES), device=classes.device)[CLASSES.index("other")]
        return queries.real, keys.real, classes


def _sums(passed: Passed, site: Site, pairs: Tensor, classes: Tensor) -> tuple[Tensor, ...]:
    """Per text, head and class or place of key: sums of |g|, of alpha |g|, of alpha, of the norms' shares of their
    rows; how many pairs and queries."""
    visible = passed.kept.visible[site]
    pairs = pairs if visible is None else pairs & visible
    alpha = passed.kept.weights[site].detach().float() * pairs
    size = passed.gradients[site].float().abs() * pairs
    lengths = passed.kept.lengths.get(site)
    norms = torch.zeros_like(alpha) if lengths is None else row_shares(alpha * lengths[:, :, None])
    places = site.stream is not Stream.CROSS
    summed = [_by_key(values, classes, places) for values in (size, alpha * size, alpha, norms)]
    seen = _by_key(pairs.float().expand_as(alpha), classes, places)
    rows = pairs.any(-1).sum(-1).float().expand(alpha.shape[:2])[..., None].expand_as(seen).clone()
    rows[..., len(CLASSES) :] = seen[..., len(CLASSES) :]  # each query has at most one key of a place
    return (*summed, seen, rows)


def _by_key(values: Tensor, classes: Tensor, places: bool) -> Tensor:
    """Sum (text, head, query, key) over pairs, by class of key and by place: (text, head, class or place)."""
    by_class = torch.matmul(values.sum(2), classes)
    if not places:
        return torch.cat([by_class, by_class.new_zeros(*by_class.shape[:2], len(PLACES))], -1)
    by_place = [torch.diagonal(values, OFFSETS[place], dim1=2, dim2=3).sum(-1) for place in PLACES]
    return torch.cat([by_class, torch.stack(by_place, -1)], -1)


def _finite(gradient: Tensor, site: Site) -> Tensor:
    if not bool(torch.isfinite(gradient.sum())):
        raise NumberError(
            f"NaN or infinity in the gradients at {site}; the number format may be too narrow (try --dtype float32)"
        )
    return gradient
