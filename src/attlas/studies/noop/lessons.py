"""The texts of a no-op test, and the small head that is trained on half of them where a model has none of its own.

Training goes through a run like everything else: lessons are taken in their order, with a checkpoint of their own.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from attlas.capture import Subject
from attlas.capture.reading import Reading
from attlas.corpora import Corpus
from attlas.errors import CorpusError
from attlas.models import Example
from attlas.run.batches import batches
from attlas.run.session import Run
from attlas.run.tasks import labels_of, read_for_task, task_for
from attlas.studies.noop.training import Lesson, Training
from attlas.tasks import READ_SCORES, Tagging
from attlas.tasks.tagging import wordwise

LESSON, HELD = 256, 10
EPOCHS, STEPS, MOST = 8, 240, 40  # passes; more of them where they are short


def readings(model: Subject, texts: Corpus, options: Mapping[str, Any], seed: int) -> tuple[Reading | None, Reading]:
    """The texts that a small head is trained on, where the model has none, and those that gradients are measured on.

    >>> from attlas.capture import load
    >>> from attlas.corpora import read
    >>> options = {"task": "tagging:upos", "pairs": False, "max_pieces": 64, "long": "cut", "limit": 5}
    >>> trained_on, measured_on = readings(load(), read("sample"), options, 0)
    >>> len(trained_on.examples), len(measured_on.examples)
    (5, 5)
    """
    loss = options["task"]
    how: dict[str, Any] = {name: value for name, value in options.items() if name not in ("task", "twins")} | {
        "seed": seed
    }
    if not loss.startswith("tagging:") or model.task_head == "tagging":
        return None, read_for_task(task_for(model, loss, texts, score=READ_SCORES.get(loss)), texts, **how)
    tags = sorted({tag for document in texts.documents for tag in labels_of(document, loss)})
    task = Tagging(model, loss.split(":")[1], tags=tags)
    trained_on, measured_on = (read_for_task(task, half, **how) for half in texts.halves(seed))
    if len(trained_on.examples) < 2:
        raise CorpusError("a head cannot be trained on a single text; give more texts", file=texts.name)
    return trained_on, measured_on


def _lessons(reading: Reading, seed: int) -> list[Lesson]:
    """All lessons of all passes: groups of texts of like length in an order drawn anew for each pass, then the tenth
    of the texts that is held out."""
    shuffled = list(reading.examples)
    random.Random(seed).shuffle(shuffled)
    cut = max(1, len(shuffled) // HELD)
    held, learned = _groups(shuffled[:cut]), _groups(shuffled[cut:])
    planned = []
    for epoch in range(min(MOST, max(EPOCHS, math.ceil(STEPS / len(learned))))):
        order = list(learned)
        random.Random(f"{seed} {epoch}").shuffle(order)
        planned += [Lesson(group, False, False) for group in order]
        planned += [Lesson(group, True, number == len(held) - 1) for number, group in enumerate(held)]
    return planned


def train(run: Run, subject: Subject, loss: str, reading: Reading, name: str) -> tuple[Tagging, float]:
    """Train a head, as a part of a run, for the tags that are in the training texts; gives the task with that head,
    and the number of passes it took to the best one."""
    layer = loss.split(":")[1]
    task = Tagging(subject, layer, tags=sorted(tag_counts(reading, layer)))
    training, planned = Training(task), _lessons(reading, run.seed)
    pieces = sum(example.source.length for lesson in planned for example in lesson.examples)
    alike = [max(1, pieces // len(planned))] * len(planned)  # so that lessons are taken in their order
    learner = training.learner(run.carry(training, planned, name, lengths=alike, budget=1))
    task.head = learner.linear()
    return task, learner.numbers["best_epoch"]


def tag_counts(reading: Reading, layer: str) -> Counter[str]:
    """How often each tag of a layer occurs.

    >>> tag_counts(Reading(), "upos")
    Counter()
    """
    return Counter(tag for example in reading.examples for tag in wordwise(example, layer) if tag)


def _groups(examples: Sequence[Example]) -> list[tuple[Example, ...]]:
    lengths = [example.source.length for example in examples]
    return [tuple(examples[index] for index in group) for group in batches(lengths, LESSON)]
