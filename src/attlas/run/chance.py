"""What one gets in a task without a model: the most frequent label, tags by lot, how frequent each piece is, the
translation of another text.

Where it answers text by text, chance leaves marks as the model does, so that :mod:`attlas.stats.chance` can compare
the two on the same texts. The most frequent label is that of the very texts that are scored, and so are the
frequencies of labels and pieces: chance may look.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attlas.stats import METRICS, Metric, Standing, standing
from attlas.stats.chance import GUESSES

if TYPE_CHECKING:
    from attlas.models import Example
    from attlas.tasks import Task

Marks = NDArray[np.float64]
PREDICTING = ("causal-lm", "masked-lm", "translation")  # pieces
PIECES = "knowing nothing but how frequent each piece is"


def chance_of(task: Task, examples: Sequence[Example], *, metric: Metric | None = None, seed: int = 0) -> Any:
    """Marks (text, column) of chance in a task, or its score; None where a score has no chance level.

    >>> from attlas.capture import load
    >>> from attlas.run.tasks import read_for_task
    >>> from attlas.corpora import read
    >>> from attlas.tasks import Tagging
    >>> task = Tagging(load(), "upos", tags=["NOUN", "VERB", "DET"])
    >>> marks = chance_of(task, read_for_task(task, read("sample"), limit=20).examples)
    >>> bool(0.3 < METRICS["accuracy"].score(marks) < 0.7)
    True
    """
    score = task.metric if metric is None else metric
    if score in (METRICS["matthews"], METRICS["spearman"]):
        return 0.0
    if score in (METRICS["bleu"], METRICS["chrf"]):
        return _of_another(task, examples, seed)
    labels = [_labels(task, example) for example in examples]
    frequent = Counter(label for text in labels for label in text)
    if not frequent:
        return None
    if score is METRICS["f1"]:
        return _by_lot(task, examples, labels, frequent, seed)
    if score in (METRICS["loss"], METRICS["perplexity"]):
        nats = {label: -math.log(count / frequent.total()) for label, count in frequent.items()}
        sums = [(sum(nats[label] for label in text), len(text)) for text in labels]
        return np.array([(total, count) if score is METRICS["perplexity"] else (total / max(1, count), 1.0)
                         for total, count in sums])  # fmt: skip
    most = frequent.most_common(1)[0][0]
    return np.array([[sum(label == most for label in text), len(text)] for text in labels], dtype=np.float64)


def guess_of(task: Task, metric: Metric | None = None) -> str:
    """What chance does in a task, in words.

    >>> from attlas.capture import load
    >>> from attlas.tasks import make_task
    >>> guess_of(make_task(load(), "similarity"))
    'numbers that have nothing to do with the pairs'
    """
    score = task.metric if metric is None else metric
    if task.name in PREDICTING and score in (METRICS["loss"], METRICS["perplexity"]):
        return PIECES
    return GUESSES.get(score.name, "chance")


def standing_of(
    task: Task, examples: Sequence[Example], marks: Any, *, metric: Metric | None = None, seed: int = 0
) -> Standing:
    """How a model stands that has left these marks of these examples; what it is compared with is NaN where the score
    has no chance level.

    >>> from attlas.capture import load
    >>> from attlas.corpora import read
    >>> from attlas.run.tasks import read_for_task
    >>> from attlas.tasks import Tagging
    >>> task = Tagging(load(), "upos", tags=["NOUN", "VERB", "DET"])
    >>> examples = read_for_task(task, read("sample"), limit=20).examples
    >>> standing_of(task, examples, chance_of(task, examples)).gain
    0.0
    """
    score = task.metric if metric is None else metric
    units = [example.unit for example in examples]
    chance = chance_of(task, examples, metric=score, seed=seed)
    if chance is None:
        nan = float("nan")
        return Standing(float(score.score(marks)), nan, nan, nan, nan, len(set(units)))
    return standing(marks, score, chance, units=units)


def _labels(task: Task, example: Example) -> list[Any]:
    """What the task asks for in an example: labels that the model knows, or pieces; nothing in other tasks."""
    from attlas.tasks import NOTHING
    from attlas.tasks.tagging import wordwise

    if task.name in PREDICTING:
        asked = task.ask([example]).labels
        return asked[asked != NOTHING].tolist()
    if task.name == "classification":
        return [example.passage.first.label or ""]
    known = set(getattr(task, "tags", ()))
    return [tag for tag in wordwise(example, task.name.split(":")[1]) if tag in known] if known else []


def _of_another(task: Any, examples: Sequence[Example], seed: int) -> Marks:
    """Marks of giving each text the translation of another one, drawn by lot; a single one has no other."""
    order = np.random.default_rng(seed).permutation(len(examples))
    written = [""] * len(examples)
    for place, other in zip(order, np.roll(order, 1), strict=True):
        if place != other:
            written[place] = examples[other].passage.documents[1].text
    marks: Marks = task.mark(examples, written).numpy()
    return marks


def _by_lot(
    task: Any, examples: Sequence[Example], labels: Sequence[Sequence[str]], frequent: Counter[str], seed: int
) -> Marks:
    """Marks of tags that are drawn by their frequency, word by word."""
    import torch

    numbers = {tag: number for number, tag in enumerate(task.tags)}
    tags, counts = zip(*frequent.items(), strict=True)
    rng, rows = np.random.default_rng(seed), []
    for example, text in zip(examples, labels, strict=True):
        given = task.ask([example]).labels.cpu()
        drawn = torch.zeros(*given.shape, len(task.tags))
        places = (given[0] >= 0).nonzero()[:, 0]
        for place, tag in zip(places, rng.choice(tags, len(text), p=np.array(counts) / sum(counts)), strict=True):
            drawn[0, place, numbers[str(tag)]] = 1.0
        rows.append(task.marks(drawn, given)[0].double().numpy())
    return np.stack(rows)
