"""Pruning as one call: orders on some texts, a curve on others, and a model whose heads are gone from the weights.

Everything that takes long is a part of its own with a checkpoint: importance, one-off losses, the curve. The smaller
model is written last, into the very folder of the result: its tables and page lie beside ``config.json`` and
``model.safetensors``, and :func:`attlas.load` opens it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from attlas.errors import CapabilityError, PlanError
from attlas.run.parameters import CHECK_HEADS, ChooseOn, Help, Model, Reading, Role, Task, Texts, study_call
from attlas.run.session import Run, begin
from attlas.run.setting import as_corpus
from attlas.store import Result
from attlas.store.columns import as_columns

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.reading import Reading as Texted
    from attlas.corpora import Corpus
    from attlas.studies.shared.cutting.removing import Job

BUDGET = 2048
ORDERS = ("importance", "loss", "score")
BESIDE = {"both": ("importance", "loss"), "score": ("score", "importance")}  # curves that are shown together
STAGING, RETUNING, REMOVING = ".model", ".retuning", ".removing"


class Cutting(Reading, total=False):
    """What is taken out of the weights, and what is then done with the smaller model."""

    keep: Annotated[float | None, Help("Write a model that has this share of its heads, such as .6.")]
    even: Annotated[bool, Help("Every layer loses the same number.")]
    heads: Annotated[
        str | Iterable[str] | None,
        Help(
            "Remove exactly these, by label counted from 1: 8-10,3-1 or 'cross 6-3'.",
            kind=list[str] | None,
            check=CHECK_HEADS,
        ),
    ]
    retune: Annotated[
        Texts | None,
        Role("other corpus"),
        Help("A corpus to train the smaller model on again, before it is scored.", flag="+target"),
    ]
    speed: Annotated[bool, Help("Time the models before and after.", flag="--speed/--no-speed")]
    save: Annotated[bool, Help("Write the smaller model even if the whole one is no better than chance.")]


@study_call(
    whole="what goes next depends on what all texts gave before", budget=BUDGET, keep=None, even=False, heads=None,
    retune=None, speed=True, save=False,
)  # fmt: skip
def prune(
    subject: Model = None,
    corpus: Texts = "sample",
    task: Task = "causal-lm",
    *,
    by: Annotated[
        str, Help("The order in which heads go: importance, loss (measured), both, or score (--ablation).")
    ] = "both",
    choose_on: ChooseOn = None,
    ablation: Annotated[
        Path | str | Result | None,
        Help("Take measured changes from this folder of attlas ablate (other texts).", kind=Path | None),
    ] = None,
    steps: Annotated[int, Help("Steps of the curve.", least=1)] = 10,
    reverse: Annotated[bool, Help("A curve of its own for the reverse: what costs most goes first.")] = False,
    score: Annotated[
        str | None, Help("accuracy or matthews (classification); bleu, chrf, perplexity (translation).")
    ] = None,
    **cutting: Unpack[Cutting],
) -> Result:
    """Remove heads step by step and score what is left; with keep or heads, write a model that is really smaller.

    Orders come from the texts to choose on, or from one half of the documents while the other is scored; both cuts by
    importance and shows both curves, score cuts by how much the score falls without each head, and shows importance
    beside it. The folder of the result is a model's too, which attlas.load opens. Of a model that is not shown to do
    the task better than chance, no smaller one is written unless that is asked for (save).

    >>> from attlas.text import Document
    >>> pairs = [("Hello", "Hi", "5"), ("Cats", "Rain", "0"), ("A dog", "Dogs", "4"), ("Tea", "War", "1")]
    >>> texts = [Document.from_words(a.split(), pair=Document.from_text(b), label=label) for a, b, label in pairs]
    >>> result = prune(None, texts, "similarity", by="importance", steps=2)
    >>> result.manifest.study, list(result.tables)
    ('prune', ['curve', 'shares', 'order', 'whole'])
    """
    from attlas.run.tasks import apart, open_for_task, read_for_task, require_layer, task_for
    from attlas.studies.shared.cutting.chance import unshown
    from attlas.studies.shared.cutting.measured import measured
    from attlas.studies.shared.cutting.removal import units_of
    from attlas.studies.shared.cutting.removing import Job, curve, put_in_order

    named = [cutting["heads"]] if isinstance(cutting["heads"], str) else cutting["heads"]
    named = None if named is None else list(named)
    keep, seed = cutting["keep"], cutting["seed"]
    _check(by, steps, reverse, named, cutting)
    texts = as_corpus(corpus)
    model = open_for_task(subject, task, texts, score=score)
    posed = task_for(model, task, texts, seed=seed, score=score)
    job = Job(model, posed, units_of(model, posed.streams), steps, keep, cutting["even"], seed)
    if named is not None:
        job.gone = _named_units(job, named)
    learned_on = None if cutting["retune"] is None else as_corpus(cutting["retune"])
    if learned_on is not None:
        require_layer(learned_on, task)
    chosen_on, scored_on = (texts, texts) if named is not None else apart(texts, choose_on, task, seed=seed)
    orders = () if named is not None else BESIDE.get(by, (by,))
    losses = None
    if ablation is not None and {"loss", "score"} & set(orders):
        losses = measured(ablation, model, other_than=texts)
    if losses is None and "score" in orders:
        raise PlanError("what a head's absence does to the score is measured by attlas ablate; give its folder too")
    how: dict[str, Any] = {name: cutting[name] for name in ("max_pieces", "long", "limit")}
    options = {
        "task": task, "by": by, "steps": steps, "keep": keep, "even": cutting["even"], "heads": named, "score": score,
        "speed": cutting["speed"], **how, "losses": None if losses is None else losses.manifest.plan,
        **({"reverse": True} if reverse else {}), **({"save": True} if cutting["save"] else {}),
    }  # fmt: skip
    more = {"choose_on": None if choose_on is None else chosen_on, "retune": learned_on}
    with begin("prune", model, texts, options, cutting, more=more) as run:
        run.note_cutting(len(texts.documents))
        if orders:
            chosen = read_for_task(posed, chosen_on, **how, seed=seed)
            run.counts["chosen_on"] = len(chosen.examples)
            put_in_order(job, orders, losses, chosen, run, reverse=reverse)
        scored = run.read(read_for_task(posed, scored_on, **how, seed=seed))
        tables = curve(job, scored, run)
        if job.gone is not None:
            told = None if cutting["save"] else unshown({name: cells[0] for name, cells in tables["whole"].items()})
            if told is not None:
                run.progress.note(f"{told} No model was written; ask for it with --save.")
            tables |= _cut(job, scored, learned_on, run, write=told is None)
        result = run.finish(tables)
        if run.out is not None:
            _publish(run.out)
        return result


def _check(by: str, steps: int, reverse: bool, heads: list[str] | None, cutting: Cutting) -> None:
    keep = cutting["keep"]
    if by not in (*ORDERS, "both"):
        raise PlanError(f"heads are put in order by importance, loss, score or both, not by {by!r}")
    if steps < 1:
        raise PlanError(f"a curve needs at least one step, not {steps}")
    if keep is not None and not 0 <= keep < 1:
        raise PlanError(f"the share of heads to keep must be from 0 up to, but not, 1, and it is {keep}")
    if keep is not None and heads is not None:
        raise PlanError("give the share of heads to keep, or heads to remove by name, but not both")
    if reverse and (by == "importance" or heads is not None):
        raise PlanError("there is no measured order to be reversed; leave it out, or order by loss, score or both")
    if cutting["retune"] is not None and keep is None and heads is None:
        raise PlanError("there is nothing to train again without a cut; say what share to keep, or which heads go")


def _named_units(job: Job, names: Iterable[str]) -> list[int]:
    """The units of heads that a person has named; only whole groups can go."""
    from attlas.ids import paper_label
    from attlas.studies.shared.cutting.named import heads_named

    wanted = set(heads_named(job.subject, names))
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


def _cut(job: Job, reading: Texted, train: Corpus | None, run: Run, *, write: bool) -> dict[str, Any]:
    """Take the heads out of the weights, prove it, measure, and leave the model to be published if it is to be
    written."""
    from attlas.capture.pruned import difference, keeping, padded_inputs
    from attlas.models import loads_plainly
    from attlas.studies.prune.speed import measure
    from attlas.studies.shared.cutting.removal import gates_without, kept_without

    assert job.gone is not None
    removed = [job.units[place] for place in job.gone]
    kept = kept_without(job.subject, removed)
    run.progress.note(f"taking {sum(len(unit.heads) for unit in removed)} heads out of the weights")
    smaller = keeping(job.subject, kept)
    read = job.task.ask(reading.examples[:4]).batch.inputs
    inputs = (padded_inputs(job.subject.model), read)
    apart = max(difference(job.subject, smaller, kept, given) for given in inputs)
    tables: dict[str, Any] = {}
    if run.options["speed"]:
        rows = []
        for row in measure(job.subject, smaller, gates_without(job.subject, removed)):
            rows.append(row)
            run.progress.note(f"timed {row['batch']} x {row['length']} pieces: {row['reason'] or 'done'}")
        tables["speed"] = as_columns(rows)
    scores = job.values["scores"]
    described = [_stage("whole", scores, 0, job.subject), _stage("cut", scores, -1, smaller)]
    if train is not None:
        described.append(_retuned(job, smaller, reading, train, run))
    if run.out is not None and write:
        for row, model in ((described[0], job.subject), (described[-1], smaller)):
            row["file"] = _written(model, run.out / STAGING)
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


def _stage(stage: str, scores: Any, at: int, subject: Subject) -> dict[str, Any]:
    """A model's score, with its interval, and its size."""
    heads = sum(count for site, count in subject.layout.heads.items() if subject.kept[site])
    return {
        "stage": stage, "score": scores.values[at], "low": scores.low[at], "high": scores.high[at],
        "loss": scores.losses[at], "parameters": subject.describe()["parameters"], "heads": heads, "file": None,
    }  # fmt: skip


def _retuned(job: Job, smaller: Subject, reading: Texted, train: Corpus, run: Run) -> dict[str, Any]:
    """Train the smaller model, in place, and score it on the same texts as before."""
    from attlas.run.tasks import task_for
    from attlas.run.tuning import tune
    from attlas.studies.shared.cutting.removal import Removal, marks_per_text
    from attlas.studies.shared.cutting.removal_tables import scores_of

    folder, score = None if run.out is None else run.out / RETUNING, run.options["score"]
    tuned = tune(
        smaller, train, job.task.name, score=score, max_pieces=run.options["max_pieces"], long=run.options["long"],
        seed=job.seed, out=folder,
        resume=folder is not None and folder.exists(), progress=run.progress,
    )  # fmt: skip
    if tuned.subject is not smaller:  # it was trained by an earlier run: take its weights
        smaller.model.load_state_dict(tuned.subject.model.state_dict())
    task = task_for(smaller, job.task.name, as_corpus(run.corpus), seed=job.seed, score=score)
    marks = marks_per_text(task, reading.examples[0])
    part = Removal(task, [[]], texts=len(reading.examples), marks=marks)
    bundle = run.carry(part, reading, "retuned", numbered=True)
    units = [example.unit for example in reading.examples]
    scores = scores_of(task.metric, bundle["marks"].result(), bundle["losses"].result(), job.seed, units=units)
    return _stage("retuned", scores, 0, smaller)


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
    removing = out / REMOVING
    shutil.rmtree(removing, ignore_errors=True)
    if (out / RETUNING).is_dir():
        (out / RETUNING).rename(removing)  # at once, or a run that goes on would find half of a finished training
    shutil.rmtree(removing, ignore_errors=True)
