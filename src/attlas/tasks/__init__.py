"""Tasks: what heads are cut against, models are trained for, and gradients are taken of.

Each is a loss and a score over texts, behind one protocol (:mod:`attlas.tasks.protocol`): language modelling,
tagging, classification of texts and pairs, similarity, translation.
"""

from __future__ import annotations

from collections.abc import Collection

from attlas.capture import Subject
from attlas.errors import CapabilityError
from attlas.tasks import classification, translation
from attlas.tasks.classification import Classification
from attlas.tasks.language import LanguageModelling, require_head, text_seed
from attlas.tasks.protocol import NOTHING, Question, Scored, Task, mark_count
from attlas.tasks.similarity import Similarity
from attlas.tasks.tagging import LAYERS, Tagging
from attlas.tasks.translation import Translation

# Every task, and the head that a model needs for it.
HEADS: dict[str, str | None] = {
    "causal-lm": "causal-lm",
    "masked-lm": "masked-lm",
    "translation": "seq2seq",
    **{f"tagging:{layer}": "tagging" for layer in LAYERS},
    "classification": "classification",
    "similarity": None,
}
SCORES = {"classification": classification.SCORES, "translation": translation.SCORES}
READ_SCORES = {"translation": "perplexity"}  # of tasks that write: the score for which nothing has to be written


def make_task(
    subject: Subject, name: str, *, seed: int = 0, score: str | None = None, labels: Collection[str] = ()
) -> Task:
    """A task for a model that was opened with the head it needs.

    ``score`` chooses among the scores that a task has (:data:`SCORES`); ``labels`` are all that the corpus holds,
    from which similarity learns the ends of its scale.

    >>> from attlas.capture import load
    >>> make_task(load(), "similarity", labels=["0", "5"]).metric.name
    'Spearman'
    >>> make_task(load(), "similarity", score="bleu")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: the task similarity cannot be scored by 'bleu'; it has one score
    """
    require_score(name, score)
    known = SCORES.get(name, ())
    if name.startswith("tagging:"):
        return Tagging(subject, name.split(":")[1])
    if name == "classification":
        return Classification(subject, score or known[0])
    if name == "translation":
        return Translation(subject, score or known[0])
    if name == "similarity":
        numbers = [float(label) for label in labels] or [0.0, 1.0]
        return Similarity(subject, min(numbers), max(numbers))
    return LanguageModelling(subject, name, seed=seed)


def require_score(name: str, score: str | None) -> None:
    """Refuse a task that does not exist, and a score that it does not have.

    >>> require_score("classification", "bleu")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: the task classification cannot be scored by 'bleu'; choose accuracy or matthews
    """
    require_task(name)
    known = SCORES.get(name, ())
    if score is not None and score not in known:
        choice = f"choose {', '.join(known[:-1])} or {known[-1]}" if known else "it has one score"
        raise CapabilityError(f"the task {name} cannot be scored by {score!r}; {choice}")


def require_task(name: str) -> None:
    """Refuse a task that does not exist.

    >>> require_task("mlm")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: there is no task 'mlm'; choose causal-lm, masked-lm, translation, ...
    """
    if name not in HEADS:
        names = list(HEADS)
        raise CapabilityError(f"there is no task {name!r}; choose {', '.join(names[:-1])} or {names[-1]}")


__all__ = [
    "HEADS",
    "NOTHING",
    "READ_SCORES",
    "SCORES",
    "Classification",
    "LanguageModelling",
    "Question",
    "Scored",
    "Similarity",
    "Tagging",
    "Task",
    "Translation",
    "make_task",
    "mark_count",
    "require_head",
    "require_task",
    "text_seed",
]
