"""What is explained: the label of a text, or the tag of one of its words.

An *instance* is a text with the label that a model gives it, or one word of a text with its tag. Instances are put to
a task as one row of a batch each. The *reading rows* of an instance are those rows of attention (queries) of the last
layer that the task's head reads: the row of [CLS] in BERT, that of the last piece in a causal model, all rows where
states are averaged, the pieces of the word where it is tagged. For texts they are found by looking: rows whose heads'
outputs the scores have a gradient by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from attlas.errors import CapabilityError
from attlas.ids import Site
from attlas.measures.words import Grouping, group
from attlas.models import AttentionCall, Example, Instrument
from attlas.run.setting import drawn
from attlas.tasks import Question, Task, require_task
from attlas.tasks.tagging import wordwise

FEWEST = 2  # words of a text: with fewer there is nothing to rank, and nothing left once a word is gone


class Labelling(Task, Protocol):
    """A task that gives labels to texts or to their words."""

    choices: int

    def scores(self, question: Question, output: Any) -> Tensor:
        """The scores of all labels, (text, place, label); a text that is labelled as a whole has one place."""


class Instance(NamedTuple):
    """A text whose label is explained, or the word at ``place`` of a text whose tag is."""

    example: Example
    place: int | None = None


class Asked(NamedTuple):
    """Instances as a question, one row of the batch each, and their reading rows, (instance, piece).

    >>> _, asked = _example()
    >>> asked.repeated(3).rows.shape
    torch.Size([6, 6])
    """

    question: Question
    instances: tuple[Instance, ...]
    rows: Tensor

    @property
    def real(self) -> Tensor:
        """Which pieces are no padding, (instance, piece)."""
        return self.question.real

    def repeated(self, times: int) -> Asked:
        """The same instances so many times over: all of the first copy, then all of the second."""
        return Asked(self.question.repeated(times), self.instances * times, self.rows.repeat(times, 1))


def require_explainable(task: str) -> None:
    """Refuse a task without labels, before a model is opened for it.

    >>> require_explainable("similarity")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: the task similarity gives no labels whose reasons could be asked for; choose ...
    """
    require_task(task)
    if task != "classification" and not task.startswith("tagging:"):
        raise CapabilityError(
            f"the task {task} gives no labels whose reasons could be asked for; choose classification, "
            "tagging:upos, tagging:xpos, tagging:chunks or tagging:keyphrases"
        )


def require_labels(task: Task) -> Labelling:
    """The task, if it gives labels and its model reads with attention of one stream."""
    require_explainable(task.name)
    if task.subject.pieces.translating:
        raise CapabilityError(
            f"{task.subject.name} has an encoder and a decoder, whose attention cannot be read as one explanation; "
            "choose a model with one of them"
        )
    return cast(Labelling, task)


def sites_of(task: Task, layers: str = "all") -> list[Site]:
    """The sites of the stream that a task's model reads with, first layer first: of "all" layers, of the "last", or
    of one by its number from 0.

    >>> task, _ = _example()
    >>> len(sites_of(task)), [site.layer for site in sites_of(task, "last")]
    (6, [5])
    >>> sites_of(task, "6")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2 has no layer 7; choose one from 1 to 6, last or all
    """
    own = task.subject.pieces.own
    sites = [site for site in task.subject.sites if site.stream is own]
    if layers == "all":
        return sites
    at = len(sites) - 1 if layers == "last" else int(layers)
    if at >= len(sites):
        raise CapabilityError(
            f"{task.subject.name} has no layer {at + 1}; choose one from 1 to {len(sites)}, last or all"
        )
    return [sites[at]]


def words_of(example: Example) -> list[int]:
    """The words of a text that have pieces of their own; those of a second text count on from the first.

    >>> _, asked = _example()
    >>> words_of(asked.instances[0].example)
    [0, 1, 2, 3]
    """
    return sorted({word for word in example.source.segmentation.words if word >= 0})


def instances_of(
    task: Task, examples: Sequence[Example], *, limit: int | None, per_text: int = 1, seed: int = 0
) -> list[Instance]:
    """The instances of some texts: every text, or ``per_text`` of the words that have a tag, drawn by the seed; of
    these ``limit``, drawn too. Texts of a single word are left out.

    >>> task, asked = _example()
    >>> [instance.place for instance in instances_of(task, asked.question.examples, limit=None, per_text=2)]
    [1, 2, 1, 2]
    """
    instances: list[Instance] = []
    for number, example in enumerate(examples):
        if len(words_of(example)) < FEWEST:
            continue
        if not task.name.startswith("tagging:"):
            instances.append(Instance(example))
            continue
        known = frozenset(getattr(task, "tags", ()))
        tagged = [place for place, tag in enumerate(wordwise(example, task.name.split(":")[1])) if tag in known]
        instances += [Instance(example, place) for place in drawn(tagged, per_text, f"{seed} {number}")]
    return drawn(instances, limit, seed)


def texts_of(instances: Sequence[Instance]) -> list[int]:
    """The text of every instance, counted off.

    >>> _, asked = _example()
    >>> texts_of(asked.instances * 2)
    [0, 1, 0, 1]
    """
    numbers: dict[int, int] = {}
    return [numbers.setdefault(id(instance.example), len(numbers)) for instance in instances]


def units_of(instances: Sequence[Instance]) -> list[int]:
    """The unit of every instance, which is resampled as a whole: its document, or its text.

    >>> _, asked = _example()
    >>> len(units_of(asked.instances))
    2
    """
    return [instance.example.unit for instance in instances]


def ask(task: Labelling, instances: Sequence[Instance]) -> Asked:
    """Put instances to a task, one row of the batch each, and find their reading rows.

    >>> task, asked = _example()
    >>> ask(task, asked.instances).rows.int().tolist()
    [[0, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0]]
    """
    question = task.ask([instance.example for instance in instances])
    if any(instance.place is None for instance in instances):
        return Asked(question, tuple(instances), _reading_rows(task, question))
    grouping = grouping_of(question)
    places = torch.tensor([instance.place for instance in instances], device=grouping.members.device)
    rows = grouping.members[torch.arange(len(instances), device=places.device), places] > 0
    return Asked(question, tuple(instances), rows)


def describe_rows(task: Labelling, instances: Sequence[Instance], looked_at: int = 8) -> str:
    """The reading rows of some instances, in words.

    >>> task, asked = _example()
    >>> describe_rows(task, asked.instances)
    'the pieces of the word that is tagged'
    """
    if all(instance.place is not None for instance in instances):
        return "the pieces of the word that is tagged"
    asked = ask(task, instances[:looked_at])
    read = next((name for name, rows in _usual_rows(asked.real).items() if torch.equal(asked.rows, rows)), "")
    if read == "the first piece":
        pieces = {instance.example.source.segmentation.pieces[0] for instance in asked.instances}
        return f"{read} ({pieces.pop()})" if len(pieces) == 1 else read
    return read or "the pieces that the head reads"


def grouping_of(question: Question) -> Grouping:
    """Which pieces of a question's batch make which word.

    >>> _, asked = _example()
    >>> grouping_of(asked.question).words
    4
    """
    if question.words is not None:
        return question.words
    ids = question.batch.inputs["input_ids"]
    return group([example.source.segmentation for example in question.examples], ids.shape[1], device=ids.device)


def predicted(task: Labelling, asked: Asked, output: Any) -> Tensor:
    """The probabilities of all labels at every instance's place, (instance, label), from a forward pass; they can be
    differentiated.

    >>> task, asked = _example()
    >>> predicted(task, asked, task.run(asked.question)).sum(-1).tolist()
    [1.0, 1.0]
    """
    return probabilities(task, asked.question, asked.instances, output)


def probabilities(task: Labelling, question: Question, instances: Sequence[Instance], output: Any) -> Tensor:
    """The same of instances whose reading rows nobody has looked for."""
    scores = task.scores(question, output)
    places = torch.tensor([instance.place or 0 for instance in instances], device=scores.device)
    return scores[torch.arange(len(places), device=scores.device), places].float().softmax(-1)


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


_READS: WeakKeyDictionary[Task, str] = WeakKeyDictionary()  # tasks known to read the first, the last or all pieces


def _usual_rows(real: Tensor) -> dict[str, Tensor]:
    """The rows of which heads read one kind or another, by name, from the pieces that are no padding."""
    first, last = torch.zeros_like(real), torch.zeros_like(real)
    first[:, 0] = True
    last.scatter_(1, real.sum(-1, keepdim=True) - 1, True)
    return {"the first piece": first, "the last piece": last, "all pieces": real}


def _reading_rows(task: Labelling, question: Question) -> Tensor:
    """The reading rows of texts: looked for, until a batch of several texts has shown that it is always the first
    place, the last, or all of them."""
    usual = _usual_rows(question.real)
    if task in _READS:
        return usual[_READS[task]]
    rows = _looked_for(task, question)
    same = [name for name, way in usual.items() if torch.equal(rows, way)]
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
    rows = (found.flatten(2).abs().amax(-1) > 0) & question.real
    return torch.where(rows.any(-1, keepdim=True), rows, question.real)


def _example(subject: Any = None) -> tuple[Any, Asked]:
    """A task with a head of no training, and the tag of a word of each of two texts, for the examples of this
    package."""
    from attlas.capture import load
    from attlas.tasks import Tagging
    from attlas.tasks.tagging import LinearMap
    from attlas.text import Document, Passage

    subject = subject or load()
    weight = torch.randn(2, subject.model.config.hidden_size, generator=torch.Generator().manual_seed(0))
    task = Tagging(subject, "upos", tags=["X", "V"], head=LinearMap(weight, torch.zeros(2)))
    texts = ("It rained here .", "We stayed home .")
    passages = [Passage(Document.from_words(text.split(), upos=["X", "V", "X", "X"])) for text in texts]
    return task, ask(task, instances_of(task, subject.pieces.encode_all(passages), limit=None))
