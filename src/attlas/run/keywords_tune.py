"""A tagger of key phrases as one call: trained, its heads cut one by one and in order, made smaller, and scored.

Each part is a whole result of a call that exists: the model (:func:`attlas.tune`), one head off at a time on the dev
texts (:func:`attlas.ablate`), curves of removal on the test texts (:func:`attlas.prune`). Their folders lie in the
folder of the result; while the run goes on they are hidden there. Parts that are finished are not repeated when a run
is resumed, and those that are not go on from their own checkpoints.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus
from attlas.errors import PlanError
from attlas.run.parts import parts_of
from attlas.run.plan import differences
from attlas.run.progress import Progress, Silent
from attlas.run.setting import Setting, Texts, as_corpus
from attlas.run.tasks import longest_window, read_for_task, require_layer, task_for
from attlas.store import Result, require_free
from attlas.store.columns import as_columns
from attlas.store.folder import MANIFEST, locate

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.studies.keywords.scoring import Given
    from attlas.studies.shared.cutting.removal import Unit
    from attlas.text import Document

TASK = "tagging:keyphrases"
BUDGET = 2048
FINE = 12  # steps of the curve by which it is told how many heads can go, at least
EPOCHS, RATE, BATCH, PATIENCE = 10, 1e-4, 16, 3
UNSEEN, PLAN = ".parts", "plan.json"  # where the parts are until the result is there, and by which plan
NAMES = {"score": "worst first", "score reversed": "best first"}


def keywords_tune(
    subject: str | Path | None = None,
    corpus: Texts = "sample",
    *,
    dev: Texts | None = None,
    test: Texts | None = None,
    epochs: int = EPOCHS,
    rate: float = RATE,
    batch_size: int = BATCH,
    patience: int = PATIENCE,
    keep: float | None = None,
    retune: bool = False,
    steps: int = 10,
    max_pieces: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    dtype: str | None = None,
    out: Path | str | None = None,
    resume: bool = False,
    budget: int = BUDGET,
    checkpoint_every: float = 60.0,
    progress: Progress | None = None,
    **opening: Any,
) -> Result:
    """Train a model to tag key phrases, ask which of its heads it needs, take out those it does not, and score all.

    ``subject`` is a model by its name or folder. It learns from ``corpus``; ``dev`` says which pass was the best and
    puts heads in order, ``test`` is scored; those that are not given are taken from the corpus, a tenth each. The
    smaller tagger has ``keep`` of the heads; without it, as many are gone as can go for less than one standard error
    of F1 on the dev texts, worst first or by importance, whichever lets more go. With ``retune`` it is trained again.
    ``steps`` are those of a curve, ``limit`` draws so many texts of each part; ``epochs``, ``rate``, ``batch_size``,
    ``patience``, ``dtype`` and ``opening`` are as for :func:`attlas.tune`.

    >>> keywords_tune("minilm", "sample", dev="sample")
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: sample holds the very texts of train; give others as dev
    """
    from attlas.capture import Subject, load

    if isinstance(subject, Subject):
        raise PlanError("a tagger is trained from a model as it lies in its folder; give its name, not the model")
    _check(keep, steps)
    parts, said = _parts(corpus, dev, test, limit, seed)
    model = load(subject, **opening)
    pieces = longest_window(model, TASK, max_pieces)
    options = {
        "task": TASK, "epochs": epochs, "rate": rate, "batch_size": batch_size, "patience": patience, "keep": keep,
        "retune": retune, "steps": steps, "max_pieces": pieces, "limit": limit, "dtype": dtype, "parts": said or None,
    }  # fmt: skip
    where = None if out is None else Path(out)
    more = {name: parts[name] for name in ("dev", "test")}
    setting = Setting("keywords-tune", model, parts["train"], options, seed, budget, where, more)
    if resume and where is None:
        raise PlanError("resuming needs the folder of the interrupted run; give it with --out")
    say = progress or Silent()
    if where is not None and (done := _done_before(setting, resume)):
        say.note(f"{where}: the run was finished already")
        return done
    job = _Job(setting, parts, pieces, resume, checkpoint_every, progress)
    job.read_test()
    job.begin()
    if said:
        say.note(said)
    recipe = {"epochs": epochs, "rate": rate, "batch_size": batch_size, "patience": patience, "dtype": dtype}
    trained = {"tuned": job.train("model", subject, recipe, **opening)}
    tuned = job.opened("model", trained["tuned"], f"tuned {model.name}", opening)
    ablation = job.ablation(tuned)
    removal = job.removal(tuned, ablation, steps)
    gone, choosing = job.chosen(tuned, ablation, keep, steps)
    smaller = job.pruned(tuned, gone)
    stages = {"tuned": tuned, "pruned": smaller}
    scores = [row for stage, one in stages.items() for row in job.scored(stage, one)]
    if retune:  # in place, so that it was scored before
        trained["retuned"] = job.train("retuned", smaller, recipe)
        stages["retuned"] = job.opened("retuned", trained["retuned"], f"{smaller.name}, tuned again", opening)
        scores += job.scored("retuned", stages["retuned"])
    tables = {
        "scores": as_columns(scores),
        "ablation": _ranked(ablation),
        "curve": _curve(removal),
        "training": as_columns([row for stage, one in trained.items() for row in _passes(stage, one.record)]),
        "whole": as_columns([_size(stage, one, tuned) for stage, one in stages.items()]),
        **({"choosing": choosing} if choosing else {}),
    }
    seconds = ablation.manifest.seconds + removal.manifest.seconds
    seconds += sum(one.record["seconds"] for one in trained.values())
    result = setting.finish(tables, counts=job.counts, skipped=job.skipped, seconds=seconds)
    if where is not None:
        _publish(where)
    return result


@dataclass
class _Job:
    """What all parts of a run need."""

    setting: Setting
    parts: Mapping[str, Corpus]
    pieces: int
    resume: bool
    checkpoint_every: float
    progress: Progress | None
    tested: list[Document] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    @property
    def counts(self) -> dict[str, int]:
        return {
            "documents": len(self.parts["train"].documents), "dev_documents": len(self.parts["dev"].documents),
            "test_documents": len(self.tested), "test_windows": len(self.lengths), "test_pieces": sum(self.lengths),
        }  # fmt: skip

    @property
    def say(self) -> Progress:
        return self.progress or Silent()

    @property
    def running(self) -> dict[str, Any]:
        return {"resume": self.resume, "checkpoint_every": self.checkpoint_every, "progress": self.progress}

    def folder(self, name: str) -> Path | None:
        return None if self.setting.out is None else self.setting.out / UNSEEN / name

    def read_test(self) -> None:
        """The texts that are scored: those that have key phrases. All must fit, window by window."""
        from attlas.studies.keywords.scoring import given_in
        from attlas.studies.keywords.weighing import cut

        for document in self.parts["test"].documents:
            given = given_in(document)
            if given.all:
                self.tested.append(document)
                self.given.append(given)
                windows = cut(self.setting.subject, document, self.pieces)
                self.lengths += [self.setting.subject.pieces.length(window) for window in windows]
        self.skipped["test texts without a key phrase"] += len(self.parts["test"].documents) - len(self.tested)

    def begin(self) -> None:
        """Make the folder of the parts, or find that it is of this very plan."""
        folder = self.folder(PLAN)
        if folder is None:
            return
        plan, where = self.setting.plan, folder.parent
        if folder.exists():
            if not self.resume:
                raise PlanError(f"{where}: an earlier run was interrupted here; go on with --resume, or delete this")
            changed = differences(json.loads(folder.read_text(encoding="utf-8")), plan)
            if changed:
                raise PlanError(f"{where}: its parts have another plan ({changed[0]}); go back to it, or delete this")
            return
        if self.resume:
            self.say.note(f"there is nothing to go on with in {self.setting.out}; starting from the beginning")
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = folder.with_suffix(".new")
        unfinished.write_text(plan.to_json(), encoding="utf-8")
        unfinished.replace(folder)

    def train(self, name: str, model: Subject | str | Path | None, recipe: Mapping[str, Any], **opening: Any) -> Any:
        """Train a model, given by its name or in memory."""
        from attlas.run.tuning import tune

        folder = self.folder(name)
        return tune(
            model, self.parts["train"], task=TASK, dev=self.parts["dev"], max_pieces=self.pieces,
            seed=self.setting.seed, out=folder, **{**self.running, "resume": folder is not None and folder.exists()},
            **recipe, **opening,
        )  # fmt: skip

    def opened(self, name: str, tuned: Any, called: str, opening: Mapping[str, Any]) -> Subject:
        """The model that was trained, from its folder where it has one: so a resumed run has the very same."""
        from attlas.capture import load
        from attlas.tasks import HEADS

        folder = self.folder(name)
        found: Subject = tuned.subject if folder is None else load(folder, task_head=HEADS[TASK], **opening)
        found.name = called
        return found

    def ablation(self, tuned: Subject) -> Result:
        """One head off at a time, on the dev texts."""
        from attlas.run.ablate import ablate

        folder = self.folder("ablation")
        if folder is not None and locate(folder, MANIFEST).exists():
            return Result.open(folder)
        self.say.note("cutting one head at a time, on the dev texts")
        return ablate(
            tuned, self.parts["dev"], TASK, survivors=False, max_pieces=self.pieces, seed=self.setting.seed,
            out=folder, budget=self.setting.budget, **self.running,
        )  # fmt: skip

    def removal(self, tuned: Subject, ablation: Result, steps: int) -> Result:
        """Curves on the test texts, in orders that come from the dev texts."""
        from attlas.run.prune import prune

        folder = self.folder("removal")
        if folder is not None and locate(folder, MANIFEST).exists():
            return Result.open(folder)
        self.say.note("removing heads in order, on the test texts")
        return prune(
            tuned, self.parts["test"], TASK, by="score", order_on=self.parts["dev"], ablation=ablation, steps=steps,
            reverse=True, max_pieces=self.pieces, seed=self.setting.seed, out=folder, budget=self.setting.budget,
            **self.running,
        )  # fmt: skip

    def chosen(
        self, tuned: Subject, ablation: Result, keep: float | None, steps: int
    ) -> tuple[list[Unit], dict[str, Any] | None]:
        """The heads that go: as many as was asked for, worst first; or as many as can go for less than a standard
        error of F1 on the dev texts, in the order in which more can go; and the curves that say so."""
        from attlas.studies.shared.cutting.removal import by_value, to_remove, units_of
        from attlas.studies.shared.cutting.removing import Job, changes_of, curve, importance_of

        task = task_for(tuned, TASK, self.parts["dev"], seed=self.setting.seed)
        units = units_of(tuned, task.streams)
        drops = task.metric.worse(changes_of(units, ablation, "change"))
        orders = {"score": by_value(units, drops), "importance": by_value(units, importance_of(units, ablation))}
        if keep is not None:
            return [units[place] for place in to_remove(units, orders["score"], keep, even=False)], None
        job = Job(tuned, task, units, max(steps, FINE), None, False, self.setting.seed, orders, draws=0)
        self.say.note("looking for how many heads can go, on the dev texts")
        running = {
            "out": self.setting.out, "resume": self.resume, "report_progress": self.progress,
            "checkpoint_every": self.checkpoint_every,
        }  # fmt: skip
        reading = read_for_task(task, self.parts["dev"], max_pieces=self.pieces, seed=self.setting.seed)
        found = curve(job, reading, self.setting, running)["curve"]
        bar = found["score"][0] - (found["high"][0] - found["low"][0]) / (2 * 1.96)
        rows = list(zip(found["units"], found["order"], found["score"], strict=True))
        free, by = max((count, order) for count, order, score in rows if score >= bar)
        kept = {
            "order": [NAMES.get(order, order) for order in found["order"]], "removed": found["heads"],
            **{name: found[name] for name in ("share", "score", "low", "high", "loss")},
            "chosen": [count == free > 0 and order == by for count, order, _ in rows],
        }  # fmt: skip
        return [units[place] for place in orders[by][:free]], kept

    def pruned(self, tuned: Subject, gone: Sequence[Unit]) -> Subject:
        """The tagger without some heads in its weights."""
        from attlas.capture.pruned import keeping
        from attlas.studies.shared.cutting.removal import kept_without

        self.say.note(f"taking {sum(len(unit.heads) for unit in gone)} heads out of the weights")
        smaller = keeping(tuned, kept_without(tuned, gone))
        folder = self.folder("pruned")
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
            smaller.save(folder)
        return smaller

    def scored(self, stage: str, model: Subject) -> list[dict[str, Any]]:
        """The scores of a tagger on the test texts."""
        from attlas.studies.keywords.tagged import tag_documents, tagged_rows
        from attlas.studies.shared.published import KEYWORDS
        from attlas.tasks.tagging import Tagging

        self.say.start(f"tagging the test texts, {stage}", sum(self.lengths))
        try:
            task = Tagging(model, TASK.split(":")[1])
            how: dict[str, Any] = {"max_pieces": self.pieces, "budget": self.setting.budget}
            tagged = list(tag_documents(task, self.tested, each=self.say.advance, **how))
        finally:
            self.say.finish()
        rows = tagged_rows(self.tested, tagged, self.given, seed=self.setting.seed)
        places = {("phrases", "M", "all"): KEYWORDS.get(stage)}
        return [
            {"stage": stage, **row, "published": places.get((row["unit"], row["at"], row["gold"]))} for row in rows
        ]  # fmt: skip


def _check(keep: float | None, steps: int) -> None:
    if keep is not None and not 0 <= keep < 1:
        raise PlanError(f"the share of heads to keep must be from 0 up to, but not, 1, and it is {keep}")
    if steps < 1:
        raise PlanError(f"a curve needs at least one step, not {steps}")


def _parts(
    corpus: Texts, dev: Texts | None, test: Texts | None, limit: int | None, seed: int
) -> tuple[dict[str, Corpus], str]:
    """The three parts, all of which have key phrases that occur, and how they came about where they were not given.

    What was divided or drawn gets a hash of its own texts, so that one part is not taken for another."""
    import random

    given = {"train": corpus, "dev": dev, "test": test}
    known = {name: as_corpus(texts) for name, texts in given.items() if texts is not None}
    for part in known.values():
        require_layer(part, TASK)
    for one, other in (("dev", "train"), ("test", "train"), ("test", "dev")):
        if one in known and other in known and known[one].sha256 == known[other].sha256:
            raise PlanError(f"{known[one].name} holds the very texts of {other}; give others as {one}")
    parts, said = parts_of(known, seed)
    for name, part in parts.items():
        documents = list(zip(part.documents, part.articles, strict=True))
        if limit is not None and len(documents) > limit:
            drawn = sorted(random.Random(f"{name} {seed}").sample(range(len(documents)), limit))
            documents = [documents[at] for at in drawn]
        elif part is known.get(name):
            continue
        texts, articles = zip(*documents, strict=True)
        parts[name] = replace(part, documents=texts, articles=articles, sha256=as_corpus(texts).sha256)
        require_layer(parts[name], TASK)
    return parts, said


def _done_before(setting: Setting, resume: bool) -> Result | None:
    """Refuse a folder that holds anything but this very run; the result of a finished one that is to be resumed."""
    assert setting.out is not None
    require_free(setting.out, setting.plan.to_dict())
    if not resume or not locate(setting.out, MANIFEST).exists():
        return None
    _publish(setting.out)
    return Result.open(setting.out)


def _publish(out: Path) -> None:
    """Bring the parts into the folder of the result."""
    unseen = out / UNSEEN
    if unseen.is_dir():
        for path in [path for path in unseen.iterdir() if path.is_dir()]:
            shutil.rmtree(out / path.name, ignore_errors=True)
            path.replace(out / path.name)
        shutil.rmtree(unseen)


def _ranked(ablation: Result) -> dict[str, Any]:
    """The table of an ablation with the rank of each head: 1 is the one without which F1 falls most."""
    rows = ablation.rows("ablation")
    order = sorted(range(len(rows)), key=lambda row: (rows[row]["change"], -rows[row]["loss_change"]))
    ranks = {row: rank for rank, row in enumerate(order, start=1)}
    return as_columns([{**row, "rank": ranks[number]} for number, row in enumerate(rows)])


def _curve(removal: Result) -> dict[str, Any]:
    """The curves of removal under the names that they have here."""
    return as_columns(
        [
            {
                "order": NAMES.get(row["order"], row["order"]), "draw": row["draw"], "removed": row["heads"],
                **{name: row[name] for name in ("share", "score", "low", "high", "loss", "n")},
            }
            for row in removal.rows("curve")
        ]
    )  # fmt: skip


def _passes(stage: str, record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What was seen after each pass of a training."""
    wanted = ("epoch", "loss", "held_loss", "score")
    return [
        {"stage": stage, **{name: row[name] for name in wanted}, "best": row["epoch"] == record["best_epoch"]}
        for row in record["curve"]
    ]


def _size(stage: str, model: Subject, tuned: Subject) -> dict[str, Any]:
    """How large a tagger is."""
    heads, all_ = (
        sum(count for site, count in one.layout.heads.items() if one.kept[site]) for one in (model, tuned)
    )  # fmt: skip
    return {
        "stage": stage, "parameters": model.describe()["parameters"], "heads": heads, "kept": heads / all_,
        "metric": "chunk F1",
    }  # fmt: skip
