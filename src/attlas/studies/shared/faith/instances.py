"""What is explained: the label of a text, or the tag of one of its words.

An *instance* is a text with the label that a model gives it, or one word of a text with its tag. Instances are put to
a task as one row of a batch each. The *reading rows* of an instance are those rows of attention (queries) of the last
layer that the task's head reads: the row of [CLS] in BERT, that of the last piece in a causal model, all rows where
states are averaged, the pieces of the word where it is tagged. For texts they are found by looking: rows whose heads'
outputs the scores have a gradient by.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from attlas.errors import CapabilityError
from attlas.ids import Site
from attlas.measures.words import Grouping, group
from attlas.models import AttentionCall, Example, Instrument
from attlas.tasks import Question, Task
from attlas.tasks.tagging import wordwise

FEWEST = 2  # words of a text: with fewer there is nothing to rank, and nothing left once a word is gone


class Labelling(Task, Protocol):
    """A task that gives labels to texts or to their words."""

    choices: int

    def scores(self, question: Question, output: Any) -> Tensor:
        """The scores of all labels, (text, place, label); a text that is labelled as a whole has one place."""


class Instance(NamedTuple):
    """A text whose label is explained, or the word at ``place`` of a text whose tag is.

    >>> Instance._fields
    ('example', 'place')
    """

    example: Example
    place: int | None = None


class Asked(NamedTuple):
    """Instances as a question, one row of the batch each, and their reading rows, (instance, piece).

    >>> Asked._fields
    ('question', 'instances', 'rows')
    """

    question: Question
    instances: tuple[Instance, ...]
    rows: Tensor

    @property
    def real(self) -> Tensor:
        """Which pieces are no padding, (instance, piece)."""
        side = self.question.batch.source
        assert side is not None
        return side.real

    def repeated(self, times: int) -> Asked:
        """The same instances so many times over: all of the first copy, then all of the second.

        >>> from attlas.capture import load
        >>> task = _tagging(load())
        >>> asked = ask(task, instances_of(task, _sentences(task), limit=None))
        >>> asked.repeated(3).rows.shape == (3 * len(asked.instances), asked.rows.shape[1])
        True
        """
        return Asked(self.question.repeated(times), self.instances * times, self.rows.repeat(times, 1))


def labels_things(task: Task) -> TypeGuard[Labelling]:
    """Whether a task gives labels, so that there is a prediction to be explained.

    >>> from attlas.capture import load
    >>> from attlas.tasks import make_task
    >>> labels_things(make_task(load(), "similarity"))
    False
    """
    return hasattr(task, "scores") and hasattr(task, "choices")


def require_labels(task: Task) -> Labelling:
    """The task, if it gives labels and its model reads with attention of one stream.

    >>> from attlas.capture import load
    >>> from attlas.tasks import make_task
    >>> require_labels(make_task(load(), "similarity"))
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: the task similarity gives no labels whose reasons could be asked for; choose ...
    """
    if not labels_things(task):
        raise CapabilityError(
            f"the task {task.name} gives no labels whose reasons could be asked for; choose classification, or "
            "tagging:upos, tagging:xpos, tagging:chunks or tagging:keyphrases"
        )
    if task.subject.pieces.translating:
        raise CapabilityError(
            f"{task.subject.name} has an encoder and a decoder, whose attention cannot be read as one explanation; "
            "choose a model with one of them"
        )
    return task


def sites_of(task: Task) -> list[Site]:
    """The sites of the stream that a task's model reads with, first layer first.

    >>> from attlas.capture import load
    >>> [site.layer for site in sites_of(_tagging(load()))]
    [0, 1, 2, 3, 4, 5]
    """
    own = task.subject.pieces.own
    return [site for site in task.subject.sites if site.stream is own]


def words_of(example: Example) -> list[int]:
    """The words of a text that have pieces of their own; those of a second text count on from the first.

    >>> from attlas.capture import load
    >>> words_of(load().pieces.encode(_passage("It rained here.")))
    [0, 1, 2, 3]
    """
    return sorted({word for word in example.source.segmentation.words if word >= 0})


def instances_of(
    task: Task, examples: Sequence[Example], *, limit: int | None, per_text: int = 1, seed: int = 0
) -> list[Instance]:
    """The instances of some texts: every text, or ``per_text`` of the words that have a tag, drawn by the seed; of
    these ``limit``, drawn too. Texts of a single word are left out.

    >>> from attlas.capture import load
    >>> task = _tagging(load())
    >>> [instance.place for instance in instances_of(task, _sentences(task), limit=None, per_text=2)]
    [1, 2, 1, 2]
    """
    found: list[Instance] = []
    for number, example in enumerate(examples):
        if len(words_of(example)) < FEWEST:
            continue
        if not task.name.startswith("tagging:"):
            found.append(Instance(example))
            continue
        known = frozenset(getattr(task, "tags", ()))
        tagged = [place for place, tag in enumerate(wordwise(example, task.name.split(":")[1])) if tag in known]
        drawn = random.Random(f"{seed} {number}").sample(tagged, min(per_text, len(tagged)))
        found += [Instance(example, place) for place in sorted(drawn)]
    if limit is None or len(found) <= limit:
        return found
    kept = sorted(random.Random(seed).sample(range(len(found)), limit))
    return [found[number] for number in kept]


def texts_of(instances: Sequence[Instance]) -> list[int]:
    """The text of every instance, counted off: what is resampled together.

    >>> from attlas.capture import load
    >>> task = _tagging(load())
    >>> texts_of(instances_of(task, _sentences(task), limit=None, per_text=2))
    [0, 0, 1, 1]
    """
    numbers: dict[int, int] = {}
    return [numbers.setdefault(id(instance.example), len(numbers)) for instance in instances]


def ask(task: Task, instances: Sequence[Instance]) -> Asked:
    """Put instances to a task, one row of the batch each, and find their reading rows.

    >>> from attlas.capture import load
    >>> task = _tagging(load())
    >>> asked = ask(task, instances_of(task, _sentences(task), limit=None))
    >>> asked.rows.int().tolist()
    [[0, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0]]
    """
    question = task.ask([instance.example for instance in instances])
    if any(instance.place is None for instance in instances):
        return Asked(question, tuple(instances), _reading_rows(require_labels(task), question))
    grouping = grouping_of(question)
    places = torch.tensor([instance.place for instance in instances], device=grouping.members.device)
    rows = grouping.members[torch.arange(len(instances), device=places.device), places] > 0
    return Asked(question, tuple(instances), rows)


def describe_rows(task: Task, instances: Sequence[Instance], looked_at: int = 8) -> str:
    """The reading rows of some instances, in words.

    >>> from attlas.capture import load
    >>> task = _tagging(load())
    >>> describe_rows(task, instances_of(task, _sentences(task), limit=None))
    'the pieces of the word that is tagged'
    """
    if all(instance.place is not None for instance in instances):
        return "the pieces of the word that is tagged"
    asked = ask(task, instances[:looked_at])
    rows, real = asked.rows.cpu(), asked.real.cpu()
    first = torch.zeros_like(rows)
    first[:, 0] = True
    last = torch.zeros_like(rows).scatter(1, real.sum(-1, keepdim=True) - 1, True)
    if torch.equal(rows, first):
        piece = {instance.example.source.segmentation.pieces[0] for instance in instances[:looked_at]}
        return f"the first piece ({piece.pop()})" if len(piece) == 1 else "the first piece"
    if torch.equal(rows, last):
        return "the last piece"
    return "all pieces" if torch.equal(rows, real) else "the pieces that the head reads"


def grouping_of(question: Question) -> Grouping:
    """Which pieces of a question's batch make which word.

    >>> from attlas.capture import load
    >>> task = _tagging(load())
    >>> grouping_of(task.ask(_sentences(task))).words
    4
    """
    if question.words is not None:
        return question.words
    ids = question.batch.inputs["input_ids"]
    return group([example.source.segmentation for example in question.examples], ids.shape[1], device=ids.device)


def predicted(task: Task, asked: Asked, output: Any) -> Tensor:
    """The probabilities of all labels at every instance's place, (instance, label), from a forward pass; they can be
    differentiated.

    >>> from attlas.capture import load
    >>> task = _tagging(load())
    >>> asked = ask(task, instances_of(task, _sentences(task), limit=None))
    >>> predicted(task, asked, task.run(asked.question)).sum(-1).tolist()
    [1.0, 1.0]
    """
    return probabilities(require_labels(task), asked.question, output, [one.place for one in asked.instances])


def probabilities(task: Labelling, question: Question, output: Any, places: Sequence[int | None]) -> Tensor:
    """The probabilities of all labels at one place of every row, (row, label).

    >>> from attlas.capture import load
    >>> task = _tagging(load())
    >>> question = task.ask(_sentences(task))
    >>> probabilities(task, question, task.run(question), [0, 1]).shape
    torch.Size([2, 2])
    """
    scores = task.scores(question, output)
    chosen = torch.tensor([0 if place is None else place for place in places], device=scores.device)
    return scores[torch.arange(len(chosen), device=scores.device), chosen].float().softmax(-1)


class _Touched(Instrument):
    """Adds nothing to the heads' outputs of one site, so that there is something to take gradients by."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.nothing: Tensor | None = None

    def wants(self, site: Site) -> bool:
        return site == self.site

    def finish(self, call: AttentionCall, output: Tensor) -> Tensor:
        self.nothing = torch.zeros_like(output, requires_grad=True)
        return output + self.nothing


_READS: WeakKeyDictionary[Task, str] = WeakKeyDictionary()  # tasks known to read the first, last or all places


def _reading_rows(task: Labelling, question: Question) -> Tensor:
    """The reading rows of texts: looked for, until a batch of several texts has shown that it is always the first
    place, the last, or all of them."""
    side = question.batch.source
    assert side is not None
    ends = torch.zeros_like(side.real)
    ends[torch.arange(len(ends), device=ends.device), side.real.sum(-1) - 1] = True
    firsts = torch.zeros_like(side.real)
    firsts[:, 0] = True
    ways = {"first": firsts, "last": ends, "all": side.real}
    if task in _READS:
        return ways[_READS[task]]
    rows = _looked_for(task, question)
    same = [name for name, way in ways.items() if torch.equal(rows, way)]
    if len(same) == 1 and len(rows) > 1:
        _READS[task] = same[0]
    return rows


def _looked_for(task: Labelling, question: Question) -> Tensor:
    """Rows of the last layer by whose heads' outputs the scores have a gradient."""
    touched = _Touched(sites_of(task)[-1])
    subject = task.subject
    with torch.enable_grad(), subject.frozen(), subject.use(touched):
        scores = task.scores(question, task.run(question)).float()
        assert touched.nothing is not None
        uneven = torch.linspace(1.0, 2.0, scores.shape[-1], device=scores.device)  # so that nothing cancels
        (found,) = torch.autograd.grad((scores * uneven).sum(), touched.nothing)
    rows = found.flatten(2).abs().amax(-1) > 0
    side = question.batch.source
    assert side is not None
    rows &= side.real
    return torch.where(rows.any(-1, keepdim=True), rows, side.real)


def _passage(text: str) -> Any:
    """A text as models take it, for the examples of this package."""
    from attlas.text import Document, Passage

    return Passage(Document.from_text(text))


def _sentences(task: Task) -> list[Example]:
    """Two texts with tags, for the examples of this package."""
    from attlas.text import Document, Passage

    tagged = [("It rained here .", "X V X X"), ("We stayed home .", "X V X X")]
    documents = [Document.from_words(words.split(), upos=tags.split()) for words, tags in tagged]
    return task.subject.pieces.encode_all([Passage(document) for document in documents])


def _tagging(subject: Any) -> Any:
    """A task with a head of no training, for the examples of this package."""
    from attlas.tasks import Tagging
    from attlas.tasks.tagging import LinearMap

    width = subject.model.config.hidden_size
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(2, width, generator=generator)
    return Tagging(subject, "upos", tags=["X", "V"], head=LinearMap(weight, torch.zeros(2)))
