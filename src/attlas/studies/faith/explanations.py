"""Explanations: a number for every word of a text that says how much the prediction owes to it.

From attention: the *weights* of the rows that the task's head reads in the last layer, averaged over heads; or of all
layers, where below the last one all rows count, since all of them flow into what is read; or of a single layer or
head. The same with *norms*, the lengths of what the weights carry; and *rollout* (Abnar & Zuidema 2020), which
follows attention down through all layers as if each passed half of itself straight on: the product of (A + I) / 2,
with A averaged over heads.

Without attention, all of the label that the model predicts: the *gradient* of its probability, as Jain & Wallace take
it, |e . dp/de| with e a piece's embedding; *integrated gradients* (Sundararajan et al. 2017) along the straight line
from the embedding of the padding piece to the text, special pieces left as they are; and *leave-one-out*, the total
variation distance of the prediction when the word is gone.

Values of a word's pieces are added up, before the absolute value is taken where there is one; pieces that belong to
no word, special pieces above all, are left out. All values are sizes: none says whether a word speaks for or against.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from attlas.capture import Fold, Subject
from attlas.errors import CapabilityError, PlanError
from attlas.measures.distances import tvd
from attlas.models import AttentionCall
from attlas.models.hooks import Hooks
from attlas.studies.faith.erasing import Eraser, answers
from attlas.studies.shared.faith.instances import Asked, Labelling, grouping_of, predicted, sites_of, words_of
from attlas.tasks import Task

REFERENCES = ("gradient", "integrated gradients", "leave-one-out")
STEPS = 20


class Named(NamedTuple):
    """An explanation: what it is made of, of which layers ("last", "all", or a number counted from 0) and of which
    heads ("mean", or a number counted from 0); both empty where there is no attention in it.

    >>> Named("gradient").layers
    ''
    """

    explanation: str
    layers: str = ""
    heads: str = ""


def chosen_attention(task: Task, layers: str = "last", head: int | None = None) -> Named:
    """The attention that is meant, after a look at whether the model has it. Layers and heads count from 0.

    >>> from attlas.studies.shared.faith.instances import _example
    >>> chosen_attention(_example()[0], "5", 9)
    Named(explanation='weight', layers='5', heads='9')
    """
    sites = sites_of(task, layers)
    if head is None:
        return Named("weight", layers, "mean")
    if layers == "all":
        raise PlanError("a single head is in a single layer; choose that layer too (last, or its label)")
    count = task.subject.heads(sites[0])
    if head >= count:
        raise CapabilityError(f"{task.subject.name} has no head {head + 1} there; choose one from 1 to {count}")
    return Named("weight", layers, str(head))


def names_of(task: Task, chosen: Named) -> list[Named]:
    """All explanations from attention that are compared: of the last layer, of all layers, and as chosen; norms where
    the model lets them be computed.

    >>> from attlas.studies.shared.faith.instances import _example
    >>> [tuple(name) for name in names_of(_example()[0], Named("weight", "last", "mean"))][:3]
    [('weight', 'last', 'mean'), ('weight', 'all', 'mean'), ('norm', 'last', 'mean')]
    """
    kinds = ("weight", "norm") if task.subject.has_norms else ("weight",)
    places = dict.fromkeys([(chosen.layers, chosen.heads), ("last", "mean"), ("all", "mean")])
    return [*(Named(kind, *place) for kind in kinds for place in places), Named("rollout", "all", "mean")]


def attention_explanations(task: Task, asked: Asked, names: Sequence[Named]) -> dict[Named, Tensor]:
    """Explanations from the attention of one forward pass, each (instance, word).

    >>> from attlas.studies.shared.faith.instances import _example
    >>> rollout = Named("rollout", "all", "mean")
    >>> attention_explanations(*_example(), [rollout])[rollout].shape
    torch.Size([2, 4])
    """
    seen = _Seen(task.subject, asked, {name.explanation for name in names}, len(sites_of(task)))
    with torch.no_grad(), task.subject.use(Fold(seen.take)):
        task.run(asked.question)
    return {name: to_words(asked, seen.pieces(name)) for name in names}


class _Seen:
    """What one forward pass shows of attention: weights and norms (head, instance, piece) that the rows give, on
    average, in every layer; and rollout, (instance, piece, piece)."""

    def __init__(self, subject: Subject, asked: Asked, kinds: set[str], layers: int) -> None:
        self.subject, self.asked, self.kinds, self.layers = subject, asked, kinds, layers
        self.found: dict[tuple[str, int], Tensor] = {}
        self.flow: Tensor | None = None

    def take(self, call: AttentionCall) -> None:
        """Look at a layer."""
        if call.site.stream is not self.subject.pieces.own:
            return
        layer, weights = call.site.layer, call.weights().float()
        rows = self.asked.rows if layer == self.layers - 1 else self.asked.real
        given = torch.einsum("bq,bhqk->bhk", _evenly(rows), weights)
        self.found["weight", layer] = given
        if "norm" in self.kinds:
            self.found["norm", layer] = given * self.subject.lengths(call)
        if "rollout" in self.kinds:
            passed = (weights.mean(1) + torch.eye(weights.shape[-1], device=weights.device)) / 2
            self.flow = passed if self.flow is None else passed @ self.flow

    def pieces(self, name: Named) -> Tensor:
        """An explanation by pieces, (instance, piece)."""
        if name.explanation == "rollout":
            assert self.flow is not None
            return torch.einsum("bq,bqk->bk", _evenly(self.asked.rows), self.flow)
        every = range(self.layers)
        layers = every if name.layers == "all" else every[-1:] if name.layers == "last" else [int(name.layers)]
        values = [self.found[name.explanation, layer] for layer in layers]
        by_layer = [one.mean(1) if name.heads == "mean" else one[:, int(name.heads)] for one in values]
        return torch.stack(by_layer).mean(0)


def _evenly(rows: Tensor) -> Tensor:
    """Rows as weights of a mean."""
    return rows.float() / rows.sum(-1, keepdim=True).clamp(min=1)


def to_words(asked: Asked, pieces: Tensor) -> Tensor:
    """Values of pieces added up over those of each word, (instance, word).

    >>> from attlas.studies.shared.faith.instances import _example
    >>> _, asked = _example()
    >>> to_words(asked, torch.ones(asked.rows.shape)).tolist()
    [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    """
    members = grouping_of(asked.question).members[:, :-1]
    return torch.einsum("bwp,bp->bw", members.to(pieces.dtype), pieces)


def gradient(task: Labelling, asked: Asked) -> Tensor:
    """|e . dp/de| of every word, for the probability p of the label that is predicted, (instance, word).

    >>> from attlas.studies.shared.faith.instances import _example
    >>> gradient(*_example()).shape
    torch.Size([2, 4])
    """
    plain = _embedded(task.subject, asked.question.batch.inputs["input_ids"])
    slope = _slopes(task, asked, plain, None)
    return to_words(asked, (plain * slope).sum(-1)).abs()


def integrated_gradients(task: Labelling, asked: Asked, steps: int = STEPS) -> Tensor:
    """Integrated gradients of every word, with their signs, (instance, word), by Gauss-Legendre quadrature in so many
    steps. They add up to the probability of the label less that of the baseline, within the error of the quadrature.

    >>> from attlas.studies.shared.faith.instances import _example
    >>> integrated_gradients(*_example(), steps=2).shape
    torch.Size([2, 4])
    """
    plain, start = baseline(task, asked)
    with torch.no_grad():
        label = predicted(task, asked, task.run(asked.question)).argmax(-1)
    points, parts = np.polynomial.legendre.leggauss(steps)
    total = torch.zeros_like(plain)
    for point, part in zip((points + 1) / 2, parts / 2, strict=True):
        total += float(part) * _slopes(task, asked, start + float(point) * (plain - start), label)
    return to_words(asked, ((plain - start) * total).sum(-1))


def baseline(task: Labelling, asked: Asked) -> tuple[Tensor, Tensor]:
    """The embeddings of a question, and those that integrated gradients start from: the padding piece's in the place
    of every word's pieces, or the mask's, or else nothing.

    >>> from attlas.studies.shared.faith.instances import _example
    >>> plain, start = baseline(*_example())
    >>> bool(torch.equal(plain[:, 0], start[:, 0])), bool(torch.equal(plain[:, 1], start[:, 1]))
    (True, False)
    """
    ids, tokenizer = asked.question.batch.inputs["input_ids"], task.subject.pieces.tokenizer
    plain = _embedded(task.subject, ids)
    known = [found for found in (tokenizer.pad_token_id, tokenizer.mask_token_id) if found is not None]
    empty = _embedded(task.subject, torch.full_like(ids, known[0])) if known else torch.zeros_like(plain)
    of_words = grouping_of(asked.question).members[:, :-1].sum(1) > 0
    return plain, torch.where(of_words[..., None], empty, plain)


def gap(task: Labelling, asked: Asked, signed: Tensor) -> Tensor:
    """How far signed integrated gradients (instance, word) are from complete: the difference between their sum and
    what the probability of the label gains from the baseline to the text, (instance,).

    >>> from attlas.studies.shared.faith.instances import _example
    >>> task, asked = _example()
    >>> bool((gap(task, asked, integrated_gradients(task, asked, 20)) < 0.01).all())
    True
    """
    _, start = baseline(task, asked)
    with torch.no_grad():
        full = predicted(task, asked, task.run(asked.question))
        with _embedding_as(task.subject, start):
            empty = predicted(task, asked, task.run(asked.question))
    label = full.argmax(-1, keepdim=True)
    return (signed.sum(-1) - (full - empty).gather(1, label)[:, 0]).abs()


def leave_one_out(task: Labelling, asked: Asked, eraser: Eraser | None = None) -> Tensor:
    """The total variation distance of the prediction when each word is gone, (instance, word).

    >>> from attlas.studies.shared.faith.instances import _example
    >>> leave_one_out(*_example()).shape
    torch.Size([2, 4])
    """
    eraser = eraser or Eraser.of(task.subject.pieces.tokenizer)
    places = [(row, word) for row, one in enumerate(asked.instances) for word in words_of(one.example)]
    cut = [eraser.without(asked.instances[row], {word}) for row, word in places]
    rows, words = (torch.tensor(column) for column in zip(*places, strict=True))
    moved = torch.zeros(len(asked.instances), grouping_of(asked.question).words)
    moved[rows, words] = tvd(answers(task, asked.instances)[rows], answers(task, cut))
    return moved.to(asked.rows.device)


def _slopes(task: Labelling, asked: Asked, embeddings: Tensor, label: Tensor | None) -> Tensor:
    """The gradient of the probability of a label (None: of the one predicted here) by embeddings."""
    leaf = embeddings.detach().clone().requires_grad_()
    with torch.enable_grad(), task.subject.frozen(), _embedding_as(task.subject, leaf):
        chances = predicted(task, asked, task.run(asked.question))
        label = chances.detach().argmax(-1) if label is None else label
        (slope,) = torch.autograd.grad(chances.gather(-1, label[:, None]).sum(), leaf)
    return slope


def _embedded(subject: Subject, ids: Tensor) -> Tensor:
    """The embeddings of pieces, as the model's first module gives them."""
    with torch.no_grad():
        made: Tensor = subject.model.get_input_embeddings()(ids)
    return made


@contextmanager
def _embedding_as(subject: Subject, embeddings: Tensor) -> Iterator[None]:
    """Have other embeddings of pieces than the model's own for the length of a ``with`` block."""
    with Hooks() as hooks:
        hooks.after(subject.model.get_input_embeddings(), lambda *_: embeddings)
        yield
