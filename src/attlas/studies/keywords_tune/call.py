"""A tagger of key phrases as one call: trained, its heads cut one by one and in order, made smaller, and scored.

Each part is a whole result of a call that exists: the model (:func:`attlas.tune`), one head off at a time on the
validation texts (:func:`attlas.ablate`), curves of removal on the test texts (:func:`attlas.prune`). Their folders
lie in the folder of the result; while the run goes on they are hidden there. Parts that are finished are not repeated
when a run is resumed, and those that are not go on from their own checkpoints.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from attlas.corpora import Corpus
from attlas.errors import PlanError
from attlas.run.parameters import Help, Model, Role, Texts, study_call
from attlas.run.parts import SHARES, parts_of
from attlas.run.plan import differences
from attlas.run.session import Run, begin
from attlas.run.setting import as_corpus, drawn
from attlas.run.tuning import Training, Tuned, opening_of
from attlas.store import Result, require_free
from attlas.store.columns import as_columns
from attlas.store.folder import MANIFEST, finish_up, locate
from attlas.store.lock import holding
from attlas.whole import write_whole

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.studies.shared.cutting.removal import Unit
    from attlas.studies.shared.keywords.scoring import Given
    from attlas.text import Document

TASK = "tagging:keyphrases"
BUDGET = 2048
FINE = 12  # steps of the curve by which it is told how many heads can go, at least
UNSEEN, PLAN = ".parts", "plan.json"  # where the parts are until the result is there, and by which plan


@study_call(
    alone="it trains a model, step after step",
    without=("long",), budget=BUDGET, checkpoint_every=60.0, epochs=10, batch_size=16, patience=3, dtype=None,
    device=None, remote_code=False, allow_pickle=False,
)  # fmt: skip
def keywords_tune(
    subject: Model = None,
    corpus: Texts = "sample",
    *,
    validation: Annotated[
        Texts | None,
        Role("other corpus"),
        Help("Texts to stop by and to put heads in order on; else a tenth of the others is."),
    ] = None,
    test: Annotated[
        Texts | None, Role("other corpus"), Help("Texts to score on; else a tenth of the others is.")
    ] = None,
    keep: Annotated[
        float | None, Help("The share of heads to keep; else those go that cost less than a standard error.")
    ] = None,
    retune: Annotated[bool, Help("Train the smaller tagger again.")] = False,
    steps: Annotated[int, Help("Steps of a curve of removal.", least=1)] = 10,
    learning_rate: Annotated[float, Help("The highest learning rate.")] = 1e-4,
    **training: Unpack[Training],
) -> Result:
    """Train a model to tag key phrases, ask which of its heads it needs, take out those it does not, and score all.

    The corpus has texts with key phrases to learn from (JSON lines). The smaller tagger has ``keep`` of the heads;
    without it, as many are gone as can go for less than one standard error of F1 on the validation texts, worst
    first or by importance, whichever lets more go. Minutes on a GPU, hours on a processor. The taggers, the ablation
    and the curves of removal lie in folders inside the result's.

    >>> keywords_tune("minilm", "sample", validation="sample")
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: sample holds the very texts of train; give others as validation
    """
    from attlas.capture import Subject, load
    from attlas.run.tasks import longest_window
    from attlas.studies.ablate.call import ablate
    from attlas.studies.keywords_tune import tables as lay
    from attlas.studies.prune.call import prune

    name, opening, dtype = opening_of(subject, training)
    if isinstance(name, Subject):
        raise PlanError("a tagger is trained from a model as it lies in its folder; give its name, not the model")
    if keep is not None and not 0 <= keep < 1:
        raise PlanError(f"the share of heads to keep must be from 0 up to, but not, 1, and it is {keep}")
    if steps < 1:
        raise PlanError(f"a curve needs at least one step, not {steps}")
    seed, limit = training["seed"], training["limit"]
    parts, divided = _parts(corpus, validation, test, limit, seed)
    model = load(name, **opening)
    pieces = longest_window(model, TASK, training["max_pieces"])
    recipe: dict[str, Any] = {
        "epochs": training["epochs"], "learning_rate": learning_rate, "batch_size": training["batch_size"],
        "patience": training["patience"],
    }  # fmt: skip
    options = {
        "task": TASK, **recipe, "keep": keep, "retune": retune, "steps": steps, "max_pieces": pieces, "limit": limit,
        "dtype": dtype, "parts": divided or None,
    }  # fmt: skip
    more = {part: parts[part] for part in ("validation", "test")}
    with begin("keywords-tune", model, parts["train"], options, training, more=more) as run:
        if run.out is not None:
            require_free(run.out, run.plan.to_dict())
        if (finished := run.finished_before()) is not None:
            _publish(run.out)
            return finished
        job = _Job(run, parts, pieces, {**recipe, "dtype": dtype}, opening)
        job.read_test()
        job.begin()
        if divided:
            run.progress.note(divided)
        trained = {"tuned": job.train("model", name)}
        tuned = job.opened("model", trained["tuned"], f"tuned {model.name}")
        cutting = "cutting one head at a time, on the validation texts"
        ablation = job.part("ablation", cutting, ablate, tuned, parts["validation"], survivors=False)
        removal = job.part(
            "removal", "removing heads in order, on the test texts", prune, tuned, parts["test"], by="score",
            choose_on=parts["validation"], ablation=ablation, steps=steps, reverse=True,
        )  # fmt: skip
        gone, choosing = job.chosen(tuned, ablation, keep, steps)
        smaller = job.pruned(tuned, gone)
        stages = {"tuned": tuned, "pruned": smaller}
        scores = [row for stage, tagger in stages.items() for row in job.scored(stage, tagger)]
        if retune:  # in place, so that it was scored before
            trained["retuned"] = job.train("retuned", smaller)
            stages["retuned"] = job.opened("retuned", trained["retuned"], f"{smaller.name}, tuned again")
            scores += job.scored("retuned", stages["retuned"])
        passes = [row for stage, each in trained.items() for row in lay.passes_of(stage, each.record)]
        tables = {
            "scores": as_columns(scores),
            "ablation": lay.ranked(ablation),
            "curve": lay.curve_of(removal),
            "training": as_columns(passes),
            "whole": as_columns([lay.size_of(stage, tagger, tuned) for stage, tagger in stages.items()]),
            **({"choosing": choosing} if choosing else {}),
        }
        seconds = ablation.manifest.seconds + removal.manifest.seconds
        result = run.finish(tables, seconds=seconds + sum(each.record["seconds"] for each in trained.values()))
        _publish(run.out)
        return result


@dataclass
class _Job:
    """What all parts of a run need."""

    run: Run
    parts: Mapping[str, Corpus]
    pieces: int
    recipe: Mapping[str, Any]
    opening: Mapping[str, Any]
    tested: list[Document] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    @property
    def running(self) -> dict[str, Any]:
        run = self.run
        return {"resume": run.resume, "checkpoint_every": run.checkpoint_every, "progress": run.progress}

    def folder(self, name: str) -> Path | None:
        return None if self.run.out is None else self.run.out / UNSEEN / name

    def read_test(self) -> None:
        """The texts that are scored: those that have key phrases. All must fit, window by window."""
        from attlas.studies.shared.keywords.scoring import given_in
        from attlas.studies.shared.keywords.weighing import cut

        run, test = self.run, self.parts["test"]
        for document in test.documents:
            given = given_in(document)
            if given.all:
                self.tested.append(document)
                self.given.append(given)
                windows = cut(run.subject, document, self.pieces)
                self.lengths += [run.subject.pieces.length(window) for window in windows]
        run.skipped["test texts without a key phrase"] += len(test.documents) - len(self.tested)
        run.counts |= {
            "validation_documents": len(self.parts["validation"].documents), "test_documents": len(self.tested),
            "test_windows": len(self.lengths), "test_pieces": sum(self.lengths),
        }  # fmt: skip

    def begin(self) -> None:
        """Make the folder of the parts, or find that it is of this very plan."""
        folder = self.folder(PLAN)
        if folder is None:
            return
        plan, where = self.run.plan, folder.parent
        if folder.exists():
            if not self.run.resume:
                raise PlanError(f"{where}: an earlier run was interrupted here; go on with --resume, or delete this")
            changed = differences(json.loads(folder.read_text(encoding="utf-8")), plan)
            if changed:
                raise PlanError(f"{where}: its parts have another plan ({changed[0]}); go back to it, or delete this")
            return
        if self.run.resume:
            self.run.progress.note(f"there is nothing to go on with in {self.run.out}; starting from the beginning")
        folder.parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder, plan.to_json())

    def train(self, name: str, model: Subject | str | Path | None) -> Tuned:
        """Train a model, given by its name or in memory."""
        from attlas.run.tuning import tune

        folder = self.folder(name)
        by_name = self.opening if model is None or isinstance(model, str | Path) else {}
        running = {**self.running, "resume": folder is not None and folder.exists()}
        return tune(
            model, self.parts["train"], TASK, validation=self.parts["validation"], max_pieces=self.pieces,
            seed=self.run.seed, out=folder, **running, **self.recipe, **by_name,
        )  # fmt: skip

    def opened(self, name: str, tuned: Tuned, called: str) -> Subject:
        """The model that was trained, from its folder where it has one: so a resumed run has the very same."""
        from attlas.capture import load
        from attlas.tasks import HEADS

        folder = self.folder(name)
        subject = tuned.subject if folder is None else load(folder, task_head=HEADS[TASK], **self.opening)
        subject.name = called
        return subject

    def part(
        self, name: str, said: str, study: Callable[..., Result], tuned: Subject, texts: Corpus, **options: Any
    ) -> Result:
        """The result of another study of the tagger: as it lies in its folder, or made now."""
        folder = self.folder(name)
        if folder is not None and locate(folder, MANIFEST).exists():
            with holding(folder):
                finish_up(folder)
            return Result.open(folder)
        self.run.progress.note(said)
        return study(
            tuned, texts, TASK, max_pieces=self.pieces, seed=self.run.seed, out=folder, budget=self.run.budget,
            **options, **self.running,
        )  # fmt: skip

    def chosen(
        self, tuned: Subject, ablation: Result, keep: float | None, steps: int
    ) -> tuple[list[Unit], dict[str, Any] | None]:
        """The heads that go: as many as was asked for, worst first; or as many as can go for less than a standard
        error of F1 on the validation texts (for nothing, where they are too few to know it), in the order in which
        more can go; and the curves that say so."""
        from attlas.run.tasks import read_for_task, task_for
        from attlas.studies.keywords_tune.tables import NAMES
        from attlas.studies.shared.cutting.removal import by_value, to_remove, units_of
        from attlas.studies.shared.cutting.removing import Job, changes_of, curve, importance_of

        seed, texts = self.run.seed, self.parts["validation"]
        task = task_for(tuned, TASK, texts, seed=seed)
        units = units_of(tuned, task.streams)
        drops = task.metric.worse(changes_of(units, ablation, "change"))
        orders = {"score": by_value(units, drops), "importance": by_value(units, importance_of(units, ablation))}
        if keep is not None:
            return [units[place] for place in to_remove(units, orders["score"], keep, even=False)], None
        job = Job(tuned, task, units, max(steps, FINE), None, False, seed, orders, draws=0)
        self.run.progress.note("looking for how many heads can go, on the validation texts")
        reading = read_for_task(task, texts, max_pieces=self.pieces, seed=seed)
        steps_of = curve(job, reading, self.run)["curve"]
        low, high = steps_of["low"][0], steps_of["high"][0]
        bar = steps_of["score"][0] - (0.0 if low is None or high is None else (high - low) / (2 * 1.96))
        rows = list(zip(steps_of["units"], steps_of["order"], steps_of["score"], strict=True))
        free, by = max((count, order) for count, order, score in rows if score >= bar)
        choosing = {
            "order": [NAMES.get(order, order) for order in steps_of["order"]], "removed": steps_of["heads"],
            **{name: steps_of[name] for name in ("share", "score", "low", "high", "loss")},
            "chosen": [count == free > 0 and order == by for count, order, _ in rows],
        }  # fmt: skip
        return [units[place] for place in orders[by][:free]], choosing

    def pruned(self, tuned: Subject, gone: Sequence[Unit]) -> Subject:
        """The tagger without some heads in its weights."""
        from attlas.capture.pruned import keeping
        from attlas.studies.shared.cutting.removal import kept_without

        self.run.progress.note(f"taking {sum(len(unit.heads) for unit in gone)} heads out of the weights")
        smaller = keeping(tuned, kept_without(tuned, gone))
        folder = self.folder("pruned")
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
            smaller.save(folder)
        return smaller

    def scored(self, stage: str, model: Subject) -> list[dict[str, Any]]:
        """The scores of a tagger on the test texts."""
        from attlas.studies.keywords_tune.tagged import tag_documents, tagged_rows
        from attlas.studies.shared.published import KEYWORDS
        from attlas.tasks.tagging import Tagging

        progress = self.run.progress
        progress.start(f"tagging the test texts, {stage}", sum(self.lengths))
        try:
            task = Tagging(model, TASK.split(":")[1])
            how: dict[str, Any] = {"max_pieces": self.pieces, "budget": self.run.budget}
            tagged = list(tag_documents(task, self.tested, each=progress.advance, **how))
        finally:
            progress.finish()
        rows = tagged_rows(self.tested, tagged, self.given)
        places = {("phrases", "M", "all"): KEYWORDS.get(stage)}
        return [
            {"stage": stage, **row, "published": places.get((row["unit"], row["at"], row["gold"]))} for row in rows
        ]


def _parts(
    corpus: Texts, validation: Texts | None, test: Texts | None, limit: int | None, seed: int
) -> tuple[dict[str, Corpus], str]:
    """The three parts, all of which have key phrases that occur, and how they came about where they were not given.

    What was divided or drawn gets a hash of its own texts, so that one part is not taken for another."""
    from attlas.run.tasks import require_layer

    given = {"train": corpus, "validation": validation, "test": test}
    known = {name: as_corpus(texts) for name, texts in given.items() if texts is not None}
    for part in known.values():
        require_layer(part, TASK)
    for name, other in (("validation", "train"), ("test", "train"), ("test", "validation")):
        if name in known and other in known and known[name].sha256 == known[other].sha256:
            raise PlanError(f"{known[name].name} holds the very texts of {other}; give others as {name}")
    called = dict(zip(given, SHARES, strict=True))
    divided, how = parts_of({called[name]: part for name, part in known.items()}, seed)
    parts = dict(zip(given, divided.values(), strict=True))
    for name, part in parts.items():
        word = "dev" if name == "validation" else name  # of which draws are made since the first version
        some = drawn(list(zip(part.documents, part.articles, strict=True)), limit, f"{word} {seed}")
        if len(some) == len(part.documents) and part is known.get(name):
            continue
        texts, articles = zip(*some, strict=True)
        parts[name] = replace(part, documents=texts, articles=articles, sha256=as_corpus(texts).sha256)
        require_layer(parts[name], TASK)
    return parts, how


def _publish(out: Path | None) -> None:
    """Bring the parts into the folder of the result."""
    if out is not None and (unseen := out / UNSEEN).is_dir():
        for path in [path for path in unseen.iterdir() if path.is_dir()]:
            shutil.rmtree(out / path.name, ignore_errors=True)
            path.replace(out / path.name)
        shutil.rmtree(unseen)
