"""Pruning as one call: orders on some texts, a curve on others, and a model whose heads are gone from the weights.

Everything that takes long is a part of its own with a checkpoint: importance, one-off losses, the curve. The smaller
model is written last, into the very folder of the result: its tables and page lie beside ``config.json`` and
``model.safetensors``, and :func:`attlas.load` opens it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attlas.corpora import Corpus
from attlas.errors import CapabilityError, PlanError
from attlas.run.local import carry_out
from attlas.run.progress import Progress
from attlas.run.setting import Setting, Texts, as_corpus, say_cutting
from attlas.run.tasks import apart, open_for_task, read_for_task, require_layer, task_for
from attlas.store import Result
from attlas.store.columns import as_columns
from attlas.studies.shared.cutting.measured import measured
from attlas.studies.shared.cutting.removing import Job, curve, put_in_order

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.reading import Reading

BUDGET = 2048
ORDERS = ("importance", "loss", "score")
BESIDE = {"both": ("importance", "loss"), "score": ("score", "importance")}  # curves that are shown together
STAGING = ".model"


def prune(
    subject: Subject | str | None = None,
    corpus: Texts = "sample",
    task: str = "causal-lm",
    *,
    by: str = "both",
    order_on: Texts | None = None,
    ablation: Path | str | Result | None = None,
    steps: int = 10,
    reverse: bool = False,
    keep: float | None = None,
    even: bool = False,
    heads: Iterable[str] | None = None,
    retune: Texts | None = None,
    speed: bool = True,
    score: str | None = None,
    max_pieces: int | None = None,
    long: str = "cut",
    limit: int | None = None,
    seed: int = 0,
    out: Path | str | None = None,
    resume: bool = False,
    budget: int = BUDGET,
    checkpoint_every: float = 20.0,
    progress: Progress | None = None,
) -> Result:
    """Remove heads in order, score what is left, and with ``keep`` or ``heads`` take heads out of the weights.

    ``by`` is importance, loss, both (which cuts by importance and shows both curves) or score (which cuts by how much
    the score falls without each head, and shows importance beside it); orders come from ``order_on``, or from one
    half of the documents while the other is scored; ``ablation``, a result of ``attlas ablate``, may stand in for the
    one-off losses, and is needed for those of the score; ``reverse`` adds a curve along which what costs most goes
    first. ``keep`` is the share of heads that stay, ``even`` lets every layer lose as many, ``heads`` are heads to
    remove by name instead. ``retune`` are texts to train the smaller
    model on. With ``out`` the smaller model is written there.

    >>> from attlas.text import Document
    >>> pairs = [("Hello", "Hi", "5"), ("Cats", "Rain", "0"), ("A dog", "Dogs", "4"), ("Tea", "War", "1")]
    >>> texts = [Document.from_words(a.split(), pair=Document.from_text(b), label=label) for a, b, label in pairs]
    >>> result = prune(None, texts, "similarity", by="importance", steps=2)
    >>> result.manifest.study, list(result.tables)
    ('prune', ['curve', 'shares', 'order'])
    """
    from attlas.studies.shared.cutting.removal import units_of

    named = list(heads) if heads is not None else None
    _check(by, steps, keep, named, retune, reverse)
    texts = as_corpus(corpus)
    model = open_for_task(subject, task, texts)
    made = task_for(model, task, texts, seed=seed, score=score)
    job = Job(model, made, units_of(model, made.streams), steps, keep, even, seed)
    if named is not None:
        job.gone = _named_units(job, named)
    learned_on = None if retune is None else as_corpus(retune)
    if learned_on is not None:
        require_layer(learned_on, task)
    chosen_on, scored_on = (texts, texts) if named is not None else apart(texts, order_on, task, seed=seed)
    orders = () if named is not None else BESIDE.get(by, (by,))
    losses = None
    if ablation is not None and {"loss", "score"} & set(orders):
        losses = measured(ablation, model, other_than=texts)
    if losses is None and "score" in orders:
        raise PlanError("what a head's absence does to the score is measured by attlas ablate; give its folder too")
    options = {
        "task": task, "by": by, "steps": steps, "keep": keep, "even": even, "heads": named, "score": score,
        "speed": speed, "max_pieces": max_pieces, "long": long, "limit": limit,
        "losses": None if losses is None else losses.manifest.plan, **({"reverse": True} if reverse else {}),
    }  # fmt: skip
    more = {} if order_on is None else {"order_on": chosen_on}
    more |= {} if learned_on is None else {"retune": learned_on}
    setting = Setting("prune", model, texts, options, seed, budget, None if out is None else Path(out), more)
    setting.require_free(resume=resume)
    say_cutting(progress, len(texts.documents))
    reading: dict[str, Any] = {"max_pieces": max_pieces, "long": long, "limit": limit, "seed": seed}
    running: dict[str, Any] = {
        "out": setting.out, "resume": resume, "report_progress": progress, "checkpoint_every": checkpoint_every
    }  # fmt: skip
    chosen = None
    if orders:
        chosen = read_for_task(made, chosen_on, **reading)
        put_in_order(job, orders, losses, chosen, setting, running, reverse=reverse)
    scored = read_for_task(made, scored_on, **reading)
    tables = curve(job, scored, setting, running)
    if job.gone is not None:
        tables |= _cut(job, scored, learned_on, setting, running, speed, options)
    counts = {"documents": len(texts.documents), "passages": len(scored.examples), "pieces": scored.pieces}
    counts |= {} if chosen is None else {"order_passages": len(chosen.examples)}
    result = setting.finish(tables, counts=counts, skipped=scored.skipped)
    if setting.out is not None:
        _publish(setting.out)
    return result


def _check(
    by: str, steps: int, keep: float | None, heads: Sequence[str] | None, retune: Texts | None, reverse: bool
) -> None:
    if by not in (*ORDERS, "both"):
        raise PlanError(f"heads are put in order by importance, loss, score or both, not by {by!r}")
    if steps < 1:
        raise PlanError(f"a curve needs at least one step, not {steps}")
    if keep is not None and not 0 <= keep < 1:
        raise PlanError(f"the share of heads to keep must be from 0 up to, but not, 1, and it is {keep}")
    if keep is not None and heads is not None:
        raise PlanError("give the share of heads to keep, or heads to remove by name, but not both")
    if heads is not None and not heads:
        raise PlanError("no head was named; give at least one, such as 3-1")
    if reverse and (by == "importance" or heads is not None):
        raise PlanError("there is no measured order to be reversed; leave it out, or order by loss, score or both")
    if retune is not None and keep is None and heads is None:
        raise PlanError("there is nothing to train again without a cut; say what share to keep, or which heads go")


def _named_units(job: Job, names: Sequence[str]) -> list[int]:
    """The units of heads that a person has named; only whole groups can go."""
    from attlas.ids import paper_label

    wanted = set(job.subject.named(names))
    gone = []
    for place, unit in enumerate(job.units):
        inside = wanted & set(unit.ids)
        if inside and inside != set(unit.ids):
            group = ", ".join(paper_label(unit.site.layer, head) for head in unit.heads)
            raise CapabilityError(
                f"{job.subject.name}: heads {group} of the {unit.site.stream} share their keys and values, and only "
                "whole groups can be taken out of the weights; name all of them or none"
            )
        if inside:
            gone.append(place)
            wanted -= inside
    if wanted:
        raise CapabilityError(f"{next(iter(wanted))} is not at work in the task {job.task.name}")
    return gone


def _cut(
    job: Job,
    reading: Reading,
    train: Corpus | None,
    setting: Setting,
    running: Mapping[str, Any],
    speed: bool,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Take the heads out of the weights, prove it, measure, and leave the model to be published."""
    from attlas.capture.pruned import difference, keeping, padded_inputs
    from attlas.models import loads_plainly
    from attlas.studies.shared.cutting.removal import gates_without, kept_without
    from attlas.studies.speed import measure

    assert job.gone is not None
    removed = [job.units[place] for place in job.gone]
    kept = kept_without(job.subject, removed)
    progress = running["report_progress"]
    if progress is not None:
        progress.note(f"taking {sum(len(unit.heads) for unit in removed)} heads out of the weights")
    smaller = keeping(job.subject, kept)
    read = job.task.ask(reading.examples[:4]).batch.inputs
    inputs = (padded_inputs(job.subject.model), read)
    apart = max(difference(job.subject, smaller, kept, given) for given in inputs)
    tables: dict[str, Any] = {}
    if speed:
        rows = []
        for row in measure(job.subject, smaller, gates_without(job.subject, removed)):
            rows.append(row)
            if progress is not None:
                progress.note(f"timed {row['batch']} x {row['length']} pieces: {row['reason'] or 'done'}")
        tables["speed"] = as_columns(rows)
    scores = job.values["scores"]
    low, high = np.nanquantile(scores.resampled, (0.025, 0.975), axis=0)
    stages = [("whole", 0, job.subject), ("cut", -1, smaller)]
    described = [
        {"stage": stage, "score": scores.values[at], "low": low[at], "high": high[at], "loss": scores.losses[at]}
        | _size(model) for stage, at, model in stages
    ]  # fmt: skip
    if train is not None:
        described.append(_retuned(job, smaller, reading, train, setting, running, options))
    if setting.out is not None:
        for row, model in ((described[0], job.subject), (described[-1], smaller)):
            row["file"] = _written(model, setting.out / STAGING)
        described[1]["file"] = described[-1]["file"]
    plain, silent = loads_plainly(smaller.model.config), sum(not heads for heads in kept.values())
    metric = job.task.metric
    shared = {"difference": apart, "plain": plain, "silent_layers": silent}
    rows = [
        {**row, "metric": metric.name, "better": metric.better}
        | (shared if row["stage"] == "cut" else dict.fromkeys(shared))
        for row in described
    ]
    return {"sizes": as_columns(rows), **tables}


def _size(subject: Subject) -> dict[str, Any]:
    kept = subject.kept
    heads = sum(count for site, count in subject.layout.heads.items() if kept[site])
    return {"parameters": subject.describe()["parameters"], "heads": heads, "file": None}


def _retuned(
    job: Job,
    smaller: Subject,
    reading: Reading,
    train: Corpus,
    setting: Setting,
    running: Mapping[str, Any],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Train the smaller model, in place, and score it on the same texts as before."""
    from attlas.run.tuning import tune
    from attlas.studies.shared.cutting.removal import Removal, marks_per_text
    from attlas.studies.shared.cutting.removal_tables import scores_of

    folder = None if setting.out is None else setting.out / ".retuning"
    tuned = tune(
        smaller, train, task=job.task.name, score=options["score"], max_pieces=options["max_pieces"], seed=job.seed,
        out=folder, resume=folder is not None and folder.exists(), progress=running["report_progress"],
    )  # fmt: skip
    if tuned.subject is not smaller:  # it was trained by an earlier run: take its weights
        smaller.model.load_state_dict(tuned.subject.model.state_dict())
    task = task_for(smaller, job.task.name, setting.corpus, seed=job.seed, score=options["score"])
    marks = marks_per_text(task, reading.examples[0])
    study = Removal(task, [[]], texts=len(reading.examples), marks=marks)
    bundle = carry_out(
        study, list(enumerate(reading.examples)), [example.length for example in reading.examples], setting.plan,
        part="retuned", budget=setting.budget, **running,
    )  # fmt: skip
    found = scores_of(task.metric, bundle["marks"].result(), bundle["losses"].result(), job.seed)
    low, high = np.nanquantile(found.resampled, (0.025, 0.975), axis=0)
    row = {"stage": "retuned", "score": found.values[0], "low": low[0], "high": high[0], "loss": found.losses[0]}
    return row | _size(smaller)


def _written(subject: Subject, folder: Path) -> int:
    """Write a model into a folder of its own; gives the size of its weights in bytes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subject.save(folder)
    return sum(path.stat().st_size for path in folder.glob("*.safetensors"))


def _publish(out: Path) -> None:
    """Bring the model that was written aside into the folder of the result."""
    staged = out / STAGING
    if staged.is_dir():
        for path in staged.iterdir():
            path.replace(out / path.name)
        staged.rmdir()
    shutil.rmtree(out / ".retuning", ignore_errors=True)
