"""Training a model for a task, as one call: from a corpus to a folder with a model in it.

Texts are held out (a file of their own, or a tenth of the corpus) to tell which pass over the others was the best.
The folder is a model folder like any other (config, safetensors, tokenizer), with ``training.json`` beside them: the
plan, the hashes of the data, what was seen after each pass. While the run goes on, it holds a checkpoint instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus
from attlas.errors import CapabilityError, CorpusError
from attlas.run.progress import Progress, Silent
from attlas.run.setting import Setting, Texts, as_corpus, describe
from attlas.run.training import carry_out_training, computes_in_half, done_before, fingerprint_of, save_trained
from attlas.store import plain, versions_here

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.reading import Reading
    from attlas.tasks import Task
    from attlas.tasks.training import Trainer

RATE, HEAD_RATE = 5e-5, 1e-3
HELD = 0.1
ATTENTION = ("own", "uniform")
MANY = 20  # so many numbers as labels are a scale, not classes
_STRANGE = 0.05  # the share of held-out words that may have tags which the training texts lack


@dataclass(frozen=True)
class Tuned:
    """A model that was trained: the subject itself, the record of its training, and its folder if it was saved.

    >>> sorted(Tuned.__dataclass_fields__)
    ['folder', 'record', 'subject']
    """

    subject: Subject
    record: dict[str, Any]
    folder: Path | None = None

    @property
    def score(self) -> float | None:
        """The score of the best pass on the texts held out.

        >>> Tuned(None, {"score": {"name": "accuracy", "value": 0.9}}).score
        0.9
        """
        value: float | None = self.record["score"]["value"]
        return value


def tune(
    subject: Subject | str | Path | None,
    corpus: Texts,
    *,
    task: str,
    dev: Texts | None = None,
    only_head: bool = False,
    epochs: int = 3,
    rate: float | None = None,
    batch_size: int = 32,
    patience: int = 2,
    score: str | None = None,
    attention: str = "own",
    max_pieces: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    dtype: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    checkpoint_every: float = 60.0,
    progress: Progress | None = None,
    **opening: Any,
) -> Tuned:
    """Train a model for a task; the whole of it, or only its head.

    ``task`` is classification, tagging:upos, tagging:xpos, tagging:chunks, tagging:keyphrases, similarity, causal-lm,
    masked-lm or translation. ``dev`` are the texts held out; without it a tenth of the corpus is. ``rate`` defaults
    to 5e-5, or 1e-3 for a head alone. ``dtype`` is float32 or, on a GPU, bfloat16 (which is the default there;
    weights and their updates stay in float32). With ``attention="uniform"`` every head attends evenly while the model
    is trained: what a task needs attention for is what such a model cannot do (see :func:`attlas.faith`). ``limit``
    draws so many texts to learn from. ``opening`` is as for :func:`attlas.load`. A subject that is given instead of a
    name must have the head of the task already, and is trained in place.

    >>> from attlas.text import Document
    >>> texts = [Document.from_words([mood, "film"], label=mood) for mood in ("good", "bad") * 10]
    >>> tuned = tune(None, texts, task="classification", epochs=1, only_head=True)
    >>> tuned.subject.labels, [row["epoch"] for row in tuned.record["curve"]]
    (('bad', 'good'), [0, 1])
    """
    from attlas.capture import Override
    from attlas.run.tasks import read_for_task, require_layer, task_for
    from attlas.tasks import require_task
    from attlas.tasks.recipe import Recipe
    from attlas.tasks.training import Trainer

    require_task(task)
    if attention not in ATTENTION:
        raise CapabilityError(f"a model cannot be trained with attention {attention!r}; choose own or uniform")
    texts = as_corpus(corpus)
    require_layer(texts, task)
    learned_from, held_out = texts, as_corpus(dev) if dev is not None else None
    if held_out is None:
        learned_from, held_out = texts.divide((1 - HELD, HELD), seed)
    require_layer(held_out, task)
    labels = labels_for(task, learned_from, held_out)
    model = _opened(subject, task, labels, seed, opening)
    recipe = Recipe(
        epochs, rate or (HEAD_RATE if only_head else RATE), batch_size, patience, only_head,
        computes_in_half(dtype, model), seed,
    )  # fmt: skip
    options = {"task": task, "score": score, "max_pieces": max_pieces, "limit": limit, **asdict(recipe)}
    options |= {} if attention == "own" else {"attention": attention}
    more = {} if dev is None else {"dev": held_out}
    setting = Setting("tune", model, texts, options, seed, batch_size, None if out is None else Path(out), more)
    if setting.out is not None and (done := done_before(setting.out, setting.plan.to_dict(), resume)):
        return _finished(setting.out, task, done, progress)
    made = task_for(model, task, learned_from, seed=seed, score=score)
    if attention == "uniform":
        made.instruments = (Override.uniform(),)
    learned = read_for_task(made, learned_from, max_pieces=max_pieces, limit=limit, seed=seed)
    held = read_for_task(made, held_out, max_pieces=max_pieces, seed=seed)
    trainer = Trainer(made, learned.examples, held.examples, recipe)
    carry_out_training(
        trainer, setting, resume=resume, checkpoint_every=checkpoint_every, progress=progress or Silent()
    )
    plan = setting.plan.to_dict()  # which tells of the model as it was
    model.fingerprint = fingerprint_of(model)
    record = {**_record(setting, trainer, made, learned, held, labels), "attention": attention, "plan": plan}
    if setting.out is not None:
        save_trained(setting.out, model, record)
    return Tuned(model, record, setting.out)


def labels_for(task: str, learned_from: Corpus, held_out: Corpus) -> list[str]:
    """The labels that a head is to tell apart: those of the texts to learn from, in order.

    A held-out text with a label that is never learned is refused. Rare tags of words are known to be missing from any
    corpus; they are learned as labels that never occur, so that such a word counts as wrong.

    >>> from attlas.text import Document
    >>> one = as_corpus([Document.from_words(["Hi"], label="good")])
    >>> labels_for("classification", one, one)
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: documents: all of its texts have the label 'good', and a classifier needs two to ...
    """
    from attlas.run.tasks import labels_of

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
    if task == "classification" and len(here) > MANY and all(map(_is_number, here)):
        raise CorpusError(
            f"its {len(here)} labels are numbers on a scale and no classes; the task similarity is for pairs with "
            "such a number",
            file=learned_from.name,
        )
    strange = Counter({label: count for label, count in there.items() if label not in here})
    if strange and (task == "classification" or strange.total() > _STRANGE * there.total()):
        raise CorpusError(
            f"its label {strange.most_common(1)[0][0]!r} is none of those to be learned from {learned_from.name} "
            f"({', '.join(_ordered(here)[:6])}{' ...' if len(here) > 6 else ''}); give a dev set of the same kind",
            file=held_out.name,
        )
    return _ordered([*here, *strange])


def _ordered(labels: Any) -> list[str]:
    found = list(labels)
    return sorted(found, key=float) if all(map(_is_number, found)) else sorted(found)


def _is_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


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


def _finished(out: Path, task: str, record: dict[str, Any], progress: Progress | None) -> Tuned:
    from attlas.capture import load
    from attlas.tasks import HEADS

    (progress or Silent()).note(f"{out}: the training was finished already")
    return Tuned(load(out, task_head=HEADS[task]), record, out)


def _record(
    setting: Setting, trainer: Trainer, task: Task, learned: Reading, held: Reading, labels: Sequence[str]
) -> dict[str, Any]:
    """What training.json says."""
    best = trainer.best
    assert best is not None
    skipped = {f"learned from: {reason}": count for reason, count in learned.skipped.items()}
    skipped |= {f"held out: {reason}": count for reason, count in held.skipped.items()}
    made: dict[str, Any] = plain(
        {
            "task": task.name,
            "score": {"name": task.metric.name, "better": task.metric.better, "value": best.score},
            "majority": _majority(task, learned, held),
            "best_epoch": best.epoch,
            "stopped_early": trainer.step < trainer.steps,
            "labels": labels,
            "curve": [asdict(one) for one in trainer.passes],
            "texts": {"learned": len(learned.examples), "held_out": len(held.examples)},
            "weights": {
                "trained": sum(tensor.numel() for tensor in trainer.trained.values()),
                "all": sum(parameter.numel() for parameter in setting.subject.model.parameters()),
            },
            "fingerprint": setting.subject.fingerprint,
            "data": describe(setting.corpus),
            "dev": {name: describe(corpus) for name, corpus in setting.more.items()}.get("dev"),
            "skipped": skipped,
            "versions": versions_here(),
            "device": str(setting.subject.device),
            "started": setting.started.isoformat(timespec="seconds"),
            "seconds": round(trainer.seconds, 1),
        },
        "record",
    )
    return made


def _majority(task: Task, learned: Reading, held: Reading) -> float | None:
    """The accuracy of always giving the most frequent label, where the score is an accuracy."""
    from attlas.run.tasks import labels_of

    if task.metric.name != "accuracy":
        return None
    here, there = (
        Counter(label for example in reading.examples for label in labels_of(example.passage.first, task.name))
        for reading in (learned, held)
    )
    return there[here.most_common(1)[0][0]] / max(1, there.total())
