"""Training a model for a task, as one call: from a corpus to a folder with a model in it.

Texts are held out (a file of their own, or a tenth of the corpus) to tell which pass over the others was the best.
The folder is a model folder like any other (config, safetensors, tokenizer), with ``training.json`` beside them: the
plan, the hashes of the data, what was seen after each pass. While the run goes on, it holds a checkpoint instead.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from attlas.corpora import Corpus
from attlas.errors import CapabilityError, CorpusError
from attlas.run.parameters import Help, Model, Reading, Role, Texts, study_call
from attlas.run.parameters import Task as TaskName
from attlas.run.progress import Silent
from attlas.run.session import Run, folder_of
from attlas.run.setting import Opening, as_corpus, describe
from attlas.run.training import (
    Trained,
    carry_out_training,
    computes_in_half,
    done_before,
    fingerprint_of,
    record_of,
    require_format,
    save_trained,
)

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.reading import Reading as Texted
    from attlas.models import Example
    from attlas.stats import Metric
    from attlas.tasks import Task
    from attlas.tasks.training import Trainer

RATE, HEAD_RATE = 5e-5, 1e-3
HELD = 0.1
ATTENTION = ("own", "uniform")
MANY = 20  # so many numbers as labels are a scale, not classes
_STRANGE = 0.05  # the share of held-out words that may have tags which the training texts lack


class Tuned(Trained):
    """A model that was trained for a task.

    >>> Tuned(None, {"score": {"name": "accuracy", "value": 0.9}}).score
    0.9
    """

    @property
    def score(self) -> float | None:
        """The score of the best pass on the texts held out."""
        value: float | None = self.record["score"]["value"]
        return value


class Training(Reading, total=False):
    """How to train, and how to open a model by its name."""

    epochs: Annotated[int, Help("Passes over the texts, at most.", least=1)]
    batch_size: Annotated[int, Help("Texts in a step.", least=1)]
    patience: Annotated[int, Help("Stop after so many passes without a better score.", least=1)]
    dtype: Annotated[
        str | None, Help("float32, or bfloat16 on a GPU that knows it (the default there).", python=True)
    ]
    device: Annotated[str | None, Help("cpu, cuda, cuda:1 ...", python=True)]
    remote_code: Annotated[bool, Help("Run code that the model's repository brings.", python=True)]
    allow_pickle: Annotated[bool, Help("Read weights that are not safetensors.", python=True)]


@study_call(
    alone="it trains a model, step after step",
    without=("budget",), checkpoint_every=60.0, epochs=3, batch_size=32, patience=2, dtype=None,
    device=None, remote_code=False, allow_pickle=False,
)  # fmt: skip
def tune(
    subject: Model = None,
    corpus: Texts = "sample",
    task: TaskName = "classification",
    *,
    validation: Annotated[
        Texts | None,
        Role("other corpus"),
        Help("Texts held out, to stop in time; else a tenth of the corpus is.", flag="+target"),
    ] = None,
    only_head: Annotated[bool, Help("Train the task's head alone, and leave the model as it is.")] = False,
    score: Annotated[str | None, Help("Of classification: accuracy, or matthews where labels are uneven.")] = None,
    attention: Annotated[
        str, Help("own, or uniform: every head attends evenly, to see what the task needs it for.")
    ] = "own",
    learning_rate: Annotated[
        float | None, Help("The highest learning rate; 5e-5 if left out, or 1e-3 for a head alone.")
    ] = None,
    **training: Unpack[Training],
) -> Tuned:
    """Train (fine-tune) a model for a task: the whole of it, or only its head.

    Writes a model folder (safetensors) that any program can load, with the record of its training beside it. Weights
    and their updates stay in float32 where bfloat16 is computed in. A subject that is given instead of a name must
    have the head of the task already, and is trained in place.

    >>> from attlas.text import Document
    >>> texts = [Document.from_words([mood, "film"], label=mood) for mood in ("good", "bad") * 10]
    >>> tuned = tune(None, texts, "classification", epochs=1, only_head=True)
    >>> tuned.subject.labels, [row["epoch"] for row in tuned.record["curve"]]
    (('bad', 'good'), [0, 1])
    """
    from attlas.capture import Override, load
    from attlas.run.tasks import read_for_task, require_layer, task_for
    from attlas.tasks import HEADS, require_score
    from attlas.tasks.recipe import Recipe
    from attlas.tasks.training import Trainer

    require_score(task, score)
    if attention not in ATTENTION:
        raise CapabilityError(f"a model cannot be trained with attention {attention!r}; choose own or uniform")
    seed = training["seed"]
    texts = as_corpus(corpus)
    require_layer(texts, task)
    learned_from, held_out = texts, as_corpus(validation) if validation is not None else None
    if held_out is None:
        learned_from, held_out = texts.divide((1 - HELD, HELD), seed)
    require_layer(held_out, task)
    labels = labels_for(task, learned_from, held_out)
    name, opening, dtype = opening_of(subject, training)
    model = _opened(name, task, labels, seed, opening)
    recipe = Recipe(
        training["epochs"], learning_rate or (HEAD_RATE if only_head else RATE), training["batch_size"],
        training["patience"], only_head, computes_in_half(dtype, model), seed,
    )  # fmt: skip
    limits: dict[str, Any] = {name: training[name] for name in ("max_pieces", "long", "limit")}
    options = {"task": task, "score": score, **limits, **asdict(recipe)}
    options |= {} if attention == "own" else {"attention": attention}
    named = name if isinstance(name, str | Path) else getattr(name, "name", "minilm")
    run = Run(
        "tune", model, texts, options, seed, recipe.batch_size,
        folder_of(training["out"], "tuned", str(named), task, texts.name), training["resume"],
        training["checkpoint_every"], training["progress"] or Silent(),
        {} if validation is None else {"validation": held_out},
    )  # fmt: skip
    with run.held():
        if run.out is not None and (done := done_before(run.out, run.plan.to_dict(), run.resume)):
            run.progress.note(f"{run.out}: the training was finished already")
            return Tuned(load(run.out, task_head=HEADS[task]), done, run.out)
        run.note_plan()
        posed = task_for(model, task, learned_from, seed=seed, score=score)
        if attention == "uniform":
            posed.instruments = (Override.uniform(),)
        learned = read_for_task(posed, learned_from, **limits, seed=seed)
        held = read_for_task(posed, held_out, max_pieces=training["max_pieces"], long=training["long"], seed=seed)
        trainer = Trainer(posed, learned.examples, held.examples, recipe)
        carry_out_training(trainer, run)
        plan = run.plan.to_dict()  # which tells of the model as it was
        model.fingerprint = fingerprint_of(model)
        record = {**_record(run, trainer, posed, learned, held, labels), "attention": attention, "plan": plan}
        if run.out is not None:
            save_trained(run.out, model, record)
        return Tuned(model, record, run.out)


def opening_of(
    subject: Subject | Opening | str | Path | None, given: Training
) -> tuple[Subject | str | Path | None, dict[str, Any], str | None]:
    """A model that is open, or its name and how to open it; and the number format to compute in."""
    names = ("device", "remote_code", "allow_pickle")
    said = {name: value for name in names if (value := given[name])}  # type: ignore[literal-required]
    if not isinstance(subject, Opening):
        require_format(given["dtype"])
        return subject, said, given["dtype"]
    elsewhere = [name for name, value in subject.options.items() if value and name not in ("dtype", *names)]
    if elsewhere:
        raise CapabilityError(
            f"a model is trained whole, in memory and on one device; leave out --{elsewhere[0].replace('_', '-')}"
        )
    dtype = given["dtype"] or subject.dtype
    require_format(dtype)
    return subject.name, {name: subject.options[name] for name in names} | said, dtype


def labels_for(task: str, learned_from: Corpus, held_out: Corpus) -> list[str]:
    """The labels that a head is to tell apart: those of the texts to learn from, in order.

    A held-out text with a label that is never learned is refused. Rare tags of words are known to be missing from any
    corpus; they are learned as labels that never occur, so that such a word counts as wrong."""
    from attlas.run.tasks import is_number, labels_of

    if task != "classification" and not task.startswith("tagging:"):
        return []
    here, there = (
        Counter(label for document in corpus.documents for label in labels_of(document, task))
        for corpus in (learned_from, held_out)
    )
    if len(here) < 2:
        what = "texts have" if task == "classification" else "words have"
        raise CorpusError(
            f"all of its {what} the label {next(iter(here), None)!r}, and a classifier needs two to tell apart",
            file=learned_from.name,
        )
    if task == "classification" and len(here) > MANY and all(map(is_number, here)):
        raise CorpusError(
            f"its {len(here)} labels are numbers on a scale and no classes; the task similarity is for pairs with "
            "such a number",
            file=learned_from.name,
        )
    strange = Counter({label: count for label, count in there.items() if label not in here})
    if strange and (task == "classification" or strange.total() > _STRANGE * there.total()):
        raise CorpusError(
            f"its label {strange.most_common(1)[0][0]!r} is none of those to be learned from {learned_from.name} "
            f"({', '.join(_ordered(here)[:6])}{' ...' if len(here) > 6 else ''}); give validation texts of the "
            "same kind",
            file=held_out.name,
        )
    return _ordered([*here, *strange])


def _ordered(labels: Any) -> list[str]:
    from attlas.run.tasks import is_number

    return sorted(labels, key=float) if all(map(is_number, labels)) else sorted(labels)


def _opened(
    subject: Subject | str | Path | None, task: str, labels: Sequence[str], seed: int, opening: Mapping[str, Any]
) -> Subject:
    """The model with the head of the task, fresh where it has none yet."""
    from attlas.capture import Subject
    from attlas.capture.check import prove
    from attlas.models import open_to_train
    from attlas.run.tasks import checked
    from attlas.tasks import HEADS

    if isinstance(subject, Subject):
        unknown = [label for label in labels if label not in subject.labels]
        if unknown:
            raise CapabilityError(
                f"the head of {subject.name} does not know the label {unknown[0]!r}; give the model by its name to "
                "have a fresh head put on"
            )
        return checked(subject, task)
    model = Subject(open_to_train(subject, task_head=HEADS[task], labels=labels, seed=seed, **opening))
    prove(model)
    return checked(model, task)


def _record(
    run: Run, trainer: Trainer, task: Task, learned: Texted, held: Texted, labels: Sequence[str]
) -> dict[str, Any]:
    """What training.json says."""
    from attlas.stats import METRICS, not_shown
    from attlas.tasks import READ_SCORES

    assert trainer.best is not None
    skipped = {f"learned from: {reason}": count for reason, count in learned.skipped.items()}
    skipped |= {f"held out: {reason}": count for reason, count in held.skipped.items()}
    metric, weights = task.metric, run.subject.model.parameters()
    read = METRICS[READ_SCORES[task.name]] if task.writes else metric  # of what is read, not written
    standing = _standing(task, read, held.examples, trainer, run.seed)
    return record_of(
        run, trainer, task=task.name, labels=labels, skipped=skipped, majority=_majority(task, learned, held),
        standing=standing, warning=not_shown(read.name, standing),
        score={"name": metric.name, "better": metric.better, "value": trainer.best.score},
        stopped_early=trainer.step < trainer.steps,
        texts={"learned": len(learned.examples), "held_out": len(held.examples)},
        weights={
            "trained": sum(tensor.numel() for tensor in trainer.trained.values()),
            "all": sum(parameter.numel() for parameter in weights),
        },
        validation={name: describe(corpus) for name, corpus in run.more.items()}.get("validation"),
    )  # fmt: skip


def _standing(task: Task, metric: Metric, held: Sequence[Example], trainer: Trainer, seed: int) -> dict[str, Any]:
    """How the trained model stands against chance on the texts held out."""
    from attlas.run.chance import guess_of, standing_of
    from attlas.tasks.training import judged

    known = standing_of(task, held, judged(task, held, trainer.recipe)[2], metric=metric, seed=seed)._asdict()
    cells = {name: value if math.isfinite(value) else None for name, value in known.items()}
    return cells | {"guess": guess_of(task, metric), "n": len(held)}


def _majority(task: Task, learned: Texted, held: Texted) -> float | None:
    """The accuracy of always giving the most frequent label, where the score is an accuracy."""
    from attlas.run.tasks import labels_of

    if task.metric.name != "accuracy":
        return None
    here, there = (
        Counter(label for example in reading.examples for label in labels_of(example.passage.first, task.name))
        for reading in (learned, held)
    )
    return there[here.most_common(1)[0][0]] / max(1, there.total())
