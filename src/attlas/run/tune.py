"""Training a model for a task, as one call: from a corpus to a folder with a model in it.

Texts are held out (a file of their own, or a tenth of the corpus) to tell which pass over the others was the best.
The folder is a model folder like any other (config, safetensors, tokenizer), with ``training.json`` beside them: the
plan, the hashes of the data, what was seen after each pass. While the run goes on, it holds a checkpoint instead.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus
from attlas.errors import CapabilityError, CorpusError, PlanError, StoreError
from attlas.run.plan import differences
from attlas.run.progress import Progress, Silent
from attlas.run.setting import Setting, Texts, as_corpus, describe
from attlas.store import plain, require_free, versions_here
from attlas.store.checkpoint import FOLDER as CHECKPOINT
from attlas.store.folder import locate, publish
from attlas.store.tensors import clear_arrays, load_arrays, save_arrays

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.reading import Reading
    from attlas.tasks import Task
    from attlas.tasks.training import Trainer

RECORD = "training.json"
RATE, HEAD_RATE = 5e-5, 1e-3
HELD = 0.1
MANY = 20  # so many numbers as labels are a scale, not classes
_STRANGE = 0.05  # the share of held-out words that may have tags which the training texts lack
_SECONDS_BETWEEN_NOTES = 30.0


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

    ``task`` is classification, tagging:upos, tagging:xpos, tagging:chunks, similarity, causal-lm, masked-lm or
    translation. ``dev`` are the texts held out; without it a tenth of the corpus is. ``rate`` defaults to 5e-5, or
    1e-3 for a head alone. ``dtype`` is float32 or, on a GPU, bfloat16 (which is the default there; weights and their
    updates stay in float32). ``limit`` draws so many texts to learn from. ``opening`` is as for
    :func:`attlas.load`. A subject that is given instead of a name must have the head of the task already, and is
    trained in place.

    >>> from attlas.text import Document
    >>> texts = [Document.from_words([mood, "film"], label=mood) for mood in ("good", "bad") * 10]
    >>> tuned = tune(None, texts, task="classification", epochs=1, only_head=True)
    >>> tuned.subject.labels, [row["epoch"] for row in tuned.record["curve"]]
    (('bad', 'good'), [0, 1])
    """
    from attlas.run.tasks import read_for_task, require_layer, task_for
    from attlas.tasks import require_task
    from attlas.tasks.training import Recipe, Trainer

    require_task(task)
    texts = as_corpus(corpus)
    require_layer(texts, task)
    learned_from, held_out = texts, as_corpus(dev) if dev is not None else None
    if held_out is None:
        learned_from, held_out = texts.divide((1 - HELD, HELD), seed)
    require_layer(held_out, task)
    labels = labels_for(task, learned_from, held_out)
    model = _opened(subject, task, labels, seed, opening)
    recipe = Recipe(
        epochs, rate or (HEAD_RATE if only_head else RATE), batch_size, patience, only_head, _half(dtype, model), seed
    )
    options = {"task": task, "score": score, "max_pieces": max_pieces, "limit": limit, **asdict(recipe)}
    more = {} if dev is None else {"dev": held_out}
    setting = Setting("tune", model, texts, options, seed, batch_size, None if out is None else Path(out), more)
    if setting.out is not None and (done := _require_free(setting.out, setting.plan.to_dict(), resume)):
        return _finished(setting.out, task, done, progress)
    made = task_for(model, task, learned_from, seed=seed, score=score)
    learned = read_for_task(made, learned_from, max_pieces=max_pieces, limit=limit, seed=seed)
    held = read_for_task(made, held_out, max_pieces=max_pieces, seed=seed)
    trainer = Trainer(made, learned.examples, held.examples, recipe)
    _carry_out(trainer, setting, resume, checkpoint_every, progress or Silent())
    plan = setting.plan.to_dict()  # which tells of the model as it was
    model.fingerprint = _fingerprint(model)
    record = {**_record(setting, trainer, made, learned, held, labels), "plan": plan}
    if setting.out is not None:
        _save(setting.out, model, record)
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
    model = Subject(open_to_train(subject, head=HEADS[task], labels=labels, seed=seed, **opening))
    prove(model)
    return checked(model, task)


def _half(dtype: str | None, model: Subject) -> bool:
    """Whether to compute in bfloat16: as asked, or where a GPU can."""
    import torch

    able = model.device.type == "cuda" and torch.cuda.is_bf16_supported()
    if dtype in (None, "bfloat16"):
        if dtype is not None and not able:
            raise CapabilityError(
                f"training in bfloat16 needs a GPU that knows it, and the model is on {model.device}"
            )
        return able
    if dtype != "float32":
        raise CapabilityError(f"training is done in float32 or bfloat16, not in {dtype}")
    return False


def _checkpoint(out: Path) -> Path:
    return out / CHECKPOINT / "training.safetensors"


def _require_free(out: Path, plan: Mapping[str, Any], resume: bool) -> dict[str, Any] | None:
    """Refuse a folder that holds anything but this very run; the record of a finished one that is to be resumed."""
    place = locate(out, RECORD)
    if not place.exists():
        require_free(out, plan)
        return None
    try:
        there: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
        changed = differences(there["plan"], plan)
    except (ValueError, KeyError, TypeError):
        raise StoreError(f"{place}: attlas did not write this; choose another --out") from None
    if changed:
        raise StoreError(
            f"{out}: it holds a model that was trained by another plan ({changed[0]}); choose another --out or "
            "delete it"
        )
    return there if resume else None


def _finished(out: Path, task: str, record: dict[str, Any], progress: Progress | None) -> Tuned:
    from attlas.capture import load
    from attlas.tasks import HEADS

    (progress or Silent()).note(f"{out}: the training was finished already")
    return Tuned(load(out, head=HEADS[task]), record, out)


def _carry_out(trainer: Trainer, setting: Setting, resume: bool, checkpoint_every: float, progress: Progress) -> None:
    """Let the trainer work, with checkpoints and word of how it goes."""
    plan, out = setting.plan.to_dict(), setting.out
    if out is None and resume:
        raise PlanError("resuming needs the folder of the interrupted run; give it with --out")
    if out is not None:
        _restore(trainer, _checkpoint(out), plan, resume, progress)
    epochs = trainer.recipe.epochs
    pieces = trainer.pieces_per_epoch
    progress.start(
        f"tuning for {trainer.task.name}", epochs * pieces, round(pieces * trainer.step / trainer.steps_per_epoch)
    )
    saved = noted = time.monotonic()
    try:
        for moment in trainer.moments():
            progress.advance(moment.pieces)
            now = time.monotonic()
            if moment.judged is not None:
                progress.note(said(trainer, moment.judged))
                noted = now
            elif now - noted > _SECONDS_BETWEEN_NOTES:
                progress.note(f"step {trainer.step:,} of {trainer.steps:,}: loss {moment.loss:.3f}")
                noted = now
            if out is not None and (now - saved >= checkpoint_every or (moment.judged and trainer.step)):
                arrays, numbers = trainer.state()
                save_arrays(_checkpoint(out), arrays, {"plan": plan, "numbers": numbers})
                saved = time.monotonic()
    except KeyboardInterrupt:
        if out is not None and _checkpoint(out).exists():
            progress.note("interrupted; go on from the last checkpoint with --resume")
        raise
    finally:
        progress.finish()


def said(trainer: Trainer, one: Any) -> str:
    """A pass in words."""
    parts = [] if one.loss is None else [f"loss {one.loss:.3f}"]
    parts += [] if one.held_loss is None else [f"held-out loss {one.held_loss:.3f}"]
    parts += [] if one.score is None else [f"{trainer.task.metric.name} {one.score:.4f}"]
    when = f"epoch {one.epoch} of {trainer.recipe.epochs}" if one.epoch else "before training"
    return f"{when}: {', '.join(parts)}" + (" (best so far)" if one.best and one.epoch else "")


def _restore(trainer: Trainer, path: Path, plan: Mapping[str, Any], resume: bool, progress: Progress) -> None:
    earlier = load_arrays(path)
    if earlier is None:
        if resume:
            progress.note(f"there is no checkpoint in {path.parent.parent}; starting from the beginning")
        return
    if not resume:
        raise PlanError(f"{path}: an earlier run was interrupted here; go on with --resume, or delete this file")
    arrays, about = earlier
    changed = "; ".join(differences(about["plan"], plan))
    if changed:
        raise PlanError(f"{path}: this checkpoint has another plan ({changed}); go back to it, or delete this file")
    trainer.restore(arrays, about["numbers"])
    progress.note(f"resuming after {trainer.step} of {trainer.steps} steps")


def _fingerprint(model: Subject) -> str:
    from attlas.models.opening import fingerprint

    return fingerprint(model.model)


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


def _save(out: Path, model: Subject, record: Mapping[str, Any]) -> None:
    from attlas.models import save_model

    def write(staged: Path) -> None:
        save_model(model.model, model.pieces.tokenizer, staged)
        (staged / RECORD).write_text(json.dumps(record, indent=2, ensure_ascii=False), encoding="utf-8")

    publish(out, write)
    clear_arrays(_checkpoint(out))
