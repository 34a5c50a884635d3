"""Tagging with an eye on another model's attention: to differ from it, or to be led by it.

An :class:`Adversary` is taught to tag as an original does while attending as differently as it can: its loss is the
NLL of the original's tags less ``weight`` times the divergence of its attention from the original's, per word and
head, padding left out. A :class:`Guided` model is taught the gold tags, but its attention is given from outside, by a
*guide*: another model, even weights, or random ones that stay the same for the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attlas.capture import Override, Recorder, Subject
from attlas.errors import PlanError
from attlas.ids import Site
from attlas.measures.distances import js, kl
from attlas.models import Example
from attlas.tasks.language import text_seed
from attlas.tasks.protocol import NOTHING, Question, Scored, compare_labels
from attlas.tasks.tagging import Tagging

DIVERGENCES = ("kl", "kl-reversed", "jsd")
Weights = dict[Site, Tensor]
Guide = Callable[[Question], Weights]


@dataclass(frozen=True)
class Watched(Question):
    """A question with attention that was given to it, by site as (text, head, query, key), and what the model that
    gave it has tagged words with."""

    weights: Weights = field(default_factory=dict)
    tags: Tensor | None = None


class Seen(NamedTuple):
    """What a pass of an adversary leaves: scores of tags, and its attention."""

    logits: Tensor
    weights: Weights


def watch(subject: Subject, question: Question, **options: Any) -> Seen:
    """Run a model and keep its attention at all sites; it can be differentiated.

    >>> from attlas.capture import load
    >>> subject = load(task_head="tagging")
    >>> batch = subject.batch(["Hello there."])
    >>> seen = watch(subject, Question(batch, torch.zeros(1, 5), ()))
    >>> len(seen.weights), seen.weights[subject.sites[0]].shape
    (6, torch.Size([1, 12, 5, 5]))
    """
    recorder = Recorder({"weights"})
    with subject.use(recorder):
        logits = subject.run(question.batch, **options).logits
    return Seen(logits, {site: recorder.get(site) for site in recorder.kept})


def divergence(own: Weights, other: Weights, kind: str = "kl", *, per_key: bool = False) -> Tensor:
    """How far attention is from another's: per text and query, the mean over sites and heads.

    "kl" is the sum of own ln (own / other), which has no bound where the other's weight is nothing; "kl-reversed" is
    the sum of other ln (other / own), which the least of one's own weights bounds; "jsd" is at most ln 2. ``per_key``
    divides by the number of keys that a query can see, as a mean over the elements of a matrix does.

    >>> site, even = Site("encoder", 0), torch.full((1, 2, 3, 3), 1 / 3)
    >>> divergence({site: torch.eye(3).expand(1, 2, 3, 3)}, {site: even})[0].tolist()
    [1.098..., 1.098..., 1.098...]
    """
    if kind not in DIVERGENCES:
        raise PlanError(f"there is no divergence {kind!r}; choose {', '.join(DIVERGENCES[:-1])} or {DIVERGENCES[-1]}")
    if kind == "kl-reversed":
        own, other = other, own
    measure = js if kind == "jsd" else kl
    found = torch.stack([measure(own[site], other[site]).mean(1) for site in own]).mean(0)
    if per_key:
        keys = torch.stack([(own[site] > 0).any(1).sum(-1) for site in own]).amax(0)
        found = found / keys.clamp(min=1)
    return found


class Adversary(Tagging):
    """Tagging as an original model does, with attention as far from its own as can be.

    ``original`` has the same shape and tags. ``weight`` is lambda; of ``divergence`` see :func:`divergence`.
    """

    def __init__(
        self, subject: Subject, layer: str, original: Subject, weight: float, divergence: str = "kl",
        *, per_key: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(subject, layer)
        self.original, self.weight, self.divergence, self.per_key = original, weight, divergence, per_key

    def ask(self, examples: Sequence[Example]) -> Watched:
        """Make the batch, and let the original tag it."""
        question = super().ask(examples)
        with torch.no_grad():
            seen = watch(self.original, question)
            tags = self.scores(question, seen).argmax(-1)
        tags = tags.masked_fill(question.labels == NOTHING, NOTHING)
        return _watched(question, seen.weights, tags)

    def run(self, question: Question) -> Seen:
        """Run the model with an eye on its attention."""
        return watch(self.subject, question)

    def judge(self, question: Question, output: Any) -> Scored:
        """Marks are against the gold tags; the loss is that of an adversary."""
        assert isinstance(question, Watched)
        assert question.tags is not None
        assert question.words is not None
        scored = super().judge(question, output)
        total, _, _ = compare_labels(self.scores(question, output), question.tags)
        apart = divergence(question.weights, output.weights, self.divergence, per_key=self.per_key)
        words = question.words.members[:, :-1].to(apart.dtype)
        by_word = torch.matmul(words, apart[..., None])[..., 0] / words.sum(-1).clamp(min=1)
        far = (by_word * (question.labels != NOTHING)).sum(-1)
        return scored._replace(total=total - self.weight * far)


class Guided(Tagging):
    """Tagging with attention that a guide gives."""

    def __init__(self, subject: Subject, layer: str, guide: Guide) -> None:
        super().__init__(subject, layer)
        self.guide = guide

    def ask(self, examples: Sequence[Example]) -> Watched:
        """Make the batch, and have attention for it."""
        question = super().ask(examples)
        with torch.no_grad():
            return _watched(question, self.guide(question), None)

    def run(self, question: Question) -> Any:
        """Run the model with the attention that was given."""
        assert isinstance(question, Watched)
        with self.subject.use(Override.frozen(question.weights)):
            return super().run(question)


def guided_by(model: Subject) -> Guide:
    """A guide that attends as a model does."""
    return lambda question: watch(model, question).weights


def even_guide(site: Site, heads: int) -> Guide:
    """A guide that attends evenly to all real pieces.

    >>> from attlas.capture import load
    >>> question = Question(load().batch(["Hi.", "Hello there."]), torch.zeros(2, 1), ())
    >>> even_guide(Site("encoder", 0), 2)(question)[Site("encoder", 0)][0, 0, 0].tolist()
    [0.25, 0.25, 0.25, 0.25, 0.0]
    """

    def guide(question: Question) -> Weights:
        real = question.real
        rows = real.float() / real.sum(-1, keepdim=True)
        return {site: rows[:, None, None].expand(-1, heads, real.shape[-1], -1)}

    return guide


def random_guide(site: Site, heads: int, seed: int) -> Guide:
    """A guide whose rows are drawn at random, evenly among all that there can be; the same for the same text.

    >>> from attlas.capture import load
    >>> from attlas.text import Document, Passage
    >>> subject = load()
    >>> examples = tuple(subject.pieces.encode_all([Passage(Document.from_text("Hello there."))]))
    >>> question = Question(subject.pieces.batch(examples, subject.device), torch.zeros(1, 1), examples)
    >>> one, again = (random_guide(Site("encoder", 0), 2, 0)(question)[Site("encoder", 0)] for _ in range(2))
    >>> bool(torch.equal(one, again)), bool(torch.allclose(one.sum(-1), torch.ones(1, 2, 5)))
    (True, True)
    """

    def guide(question: Question) -> Weights:
        real = question.real
        rows = torch.zeros(len(real), heads, real.shape[-1], real.shape[-1])
        for number, example in enumerate(question.examples):
            draw = torch.Generator().manual_seed(text_seed(example.passage, seed) % (1 << 63))
            pieces = int(real[number].sum())
            drawn = -torch.rand(heads, pieces, pieces, generator=draw).clamp(min=1e-12).log()
            rows[number, :, :pieces, :pieces] = drawn / drawn.sum(-1, keepdim=True)
        return {site: rows.to(real.device)}

    return guide


def _watched(question: Question, weights: Weights, tags: Tensor | None) -> Watched:
    kept = {item.name: getattr(question, item.name) for item in fields(Question)}
    return Watched(**kept, weights=weights, tags=tags)
