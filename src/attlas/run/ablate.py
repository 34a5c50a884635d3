"""Cutting heads as one call: each off in turn, each layer left with one, on one corpus or two.

A run has up to five parts, each with a checkpoint of its own: the heads' means (where these stand in for what is
cut) and the choice of survivors on some texts, the scores on others, the same on another corpus, and the gradients
that importance is made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus
from attlas.errors import CapabilityError, PlanError
from attlas.run.local import carry_out
from attlas.run.progress import Progress
from attlas.run.setting import Setting, Texts, as_corpus, say_cutting
from attlas.run.tasks import apart, open_for_task, read_for_task, require_layer, task_for
from attlas.store import Result
from attlas.store.columns import as_columns

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.reading import Reading
    from attlas.stats import Bundle
    from attlas.studies.ablation import Ablation, Cut
    from attlas.studies.ablation_tables import Effects
    from attlas.tasks import Task

BUDGET = 2048  # pieces of the texts between two checkpoints; each goes through as many times as there are cuts
GRADIENTS = 1024  # pieces of a batch whose graph is kept until the way back


@dataclass
class _Job:
    """What all parts of a run need."""

    task: Task
    setting: Setting
    running: dict[str, Any]
    progress: Progress | None
    by_loss: bool

    def carry(self, study: Any, reading: Reading, part: str, *, budget: int | None = None) -> Bundle:
        """Take numbered texts through a study."""
        items = list(enumerate(reading.examples))
        lengths = [example.length for example in reading.examples]
        return carry_out(
            study, items, lengths, self.setting.plan, part=part, budget=budget or self.setting.budget, **self.running
        )

    def measure(
        self, cuts: Sequence[Cut], reading: Reading, part: str, means: Any, task: Task | None = None
    ) -> tuple[Ablation, Effects]:
        """Score cuts on some texts."""
        from attlas.studies.ablation import Ablation
        from attlas.studies.ablation_tables import effects

        study = Ablation(task or self.task, cuts, len(reading.examples), means=means, by_loss=self.by_loss)
        bundle = self.carry(study, reading, part)
        if study.replay.why_full and self.progress is not None:
            self.progress.note(study.replay.why_full)
        return study, effects(study, bundle, seed=self.setting.seed)


def ablate(
    subject: Subject | str | None = None,
    corpus: Texts = "sample",
    task: str = "causal-lm",
    *,
    other: Texts | None = None,
    choose_on: Texts | None = None,
    survivors: bool = True,
    means: bool = False,
    importance: bool = True,
    heads: Sequence[str] | None = None,
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
    """Cut every head in turn, and all heads of each layer but one, and test what that does to a task's score.

    The one that is left is chosen on ``choose_on``, or else on one half of the documents, and scored on the rest;
    with ``survivors=False`` nothing is chosen and all texts are scored. With ``means`` a head that is cut gives its
    mean output, taken from the texts for choosing, instead of nothing. ``heads`` names the heads to cut; ``score`` is
    one of the task's scores, or "loss"; ``other`` is a second corpus, to see whether the same heads matter there.

    >>> from attlas.text import Document
    >>> pairs = [("Hello", "Hi", "5"), ("Cats", "Rain", "0"), ("A dog", "Dogs", "4"), ("Tea", "War", "1")]
    >>> texts = [Document.from_words(a.split(), pair=Document.from_text(b), label=label) for a, b, label in pairs]
    >>> result = ablate(None, texts, "similarity", survivors=False, heads=["1-1", "6-12"], importance=False)
    >>> result.table.column("layer").to_pylist(), list(result.tables)
    ([0, 5], ['ablation', 'whole'])
    """
    from attlas.studies.ablation import Ablation, Means, every_head
    from attlas.studies.ablation_tables import choose, cut_rows
    from attlas.tasks import READ_SCORES

    texts = as_corpus(corpus)
    model = open_for_task(subject, task, texts)
    by_loss = score == "loss"
    made = task_for(model, task, texts, seed=seed, score=READ_SCORES.get(task) if by_loss else score)
    cuts = _cuts(made, heads)
    second = None if other is None else as_corpus(other)
    if second is not None:
        require_layer(second, task)
    chosen_on, scored_on = None, texts
    if survivors or means or choose_on is not None:
        chosen_on, scored_on = apart(texts, choose_on, task, seed=seed)
    options = {
        "task": task, "score": score, "survivors": survivors, "means": means, "importance": importance,
        "heads": None if heads is None else [str(cut.id) for cut in cuts], "max_pieces": max_pieces, "long": long,
        "limit": limit,
    }  # fmt: skip
    more = {} if choose_on is None or chosen_on is None else {"choose_on": chosen_on}
    more |= {} if second is None else {"other": second}
    setting = Setting("ablate", model, texts, options, seed, budget, None if out is None else Path(out), more)
    setting.require_free(resume=resume)
    say_cutting(progress, len(texts.documents))
    running = {
        "out": setting.out, "resume": resume, "report_progress": progress, "checkpoint_every": checkpoint_every
    }  # fmt: skip
    job = _Job(made, setting, running, progress, by_loss)
    how: dict[str, Any] = {"max_pieces": max_pieces, "long": long, "limit": limit, "seed": seed}
    scored = read_for_task(made, scored_on, **how)
    skipped, counts = Counter(scored.skipped), {"passages": len(scored.examples), "pieces": scored.pieces}

    stand_ins, alone, choices = None, [], None
    if chosen_on is not None:
        choosing = read_for_task(made, chosen_on, **how)
        skipped, counts["chosen_on"] = skipped + choosing.skipped, len(choosing.examples)
        if means:
            study = Means(made)
            stand_ins = study.result(job.carry(study, choosing, "means"))
        if survivors:
            every = every_head(model, made.streams, alone=True)
            single = Ablation(
                made, every, len(choosing.examples), means=stand_ins, writing=False, by_loss=by_loss
            )  # fmt: skip
            choices = (single, job.carry(single, choosing, "choosing"))
            alone = choose(*choices)
    both = [*cuts, *alone]
    study_scored, found = job.measure(both, scored, "scoring", stand_ins)
    tables: dict[str, Any] = {"ablation": cut_rows(both, range(len(cuts)), found)}
    if alone:
        tables["survivors"] = cut_rows(both, range(len(cuts), len(both)), found)
    wholes = [_whole(study_scored, found, scored, "scored", scored_on)]
    if second is not None:
        again = task_for(model, task, second, seed=seed, score=READ_SCORES.get(task) if by_loss else score)
        there = read_for_task(again, second, **how)
        skipped, counts["other_passages"] = skipped + there.skipped, len(there.examples)
        study_there, elsewhere = job.measure(cuts, there, "other", stand_ins, again)
        tables["other"] = cut_rows(cuts, range(len(cuts)), elsewhere)
        wholes.append(_whole(study_there, elsewhere, there, "other", second))
    if importance:
        _add_importance(tables, job, scored)
    _add_tables(tables, wholes, seed)
    counts["documents"] = len(texts.documents)
    return setting.finish(tables, counts=counts, skipped=skipped)


def _cuts(task: Task, heads: Sequence[str] | None) -> list[Cut]:
    """One cut for each head that was named, or for all."""
    from attlas.ids import Site
    from attlas.studies.ablation import Cut, every_head

    if heads is None:
        return every_head(task.subject, task.streams)
    if not heads:
        raise PlanError("no head was named; give at least one, such as 3-1")
    named = task.subject.named(heads)
    for head in named:
        if head.stream not in task.streams:
            raise CapabilityError(f"{head} is not at work in the task {task.name}")
    return [Cut(Site(head.stream, head.layer), head.head) for head in sorted(set(named), key=named.index)]


def _whole(study: Ablation, found: Effects, reading: Reading, part: str, corpus: Corpus) -> dict[str, Any]:
    """What the whole model does on some texts."""
    return {
        "part": part, "corpus": corpus.name, "task": study.task.name, "metric": study.metric.name,
        "better": study.metric.better, "score": found.score.whole, "loss": found.loss.whole,
        "baseline": _baseline(study, reading), "n": found.texts,
    }  # fmt: skip


def _baseline(study: Ablation, reading: Reading) -> float | None:
    """The accuracy of always giving the most frequent label; None for scores that have no such thing."""
    from attlas.tasks.tagging import wordwise

    if study.metric.name != "accuracy":
        return None
    labels: Counter[str] = Counter()
    for example in reading.examples:
        if study.task.name == "classification":
            labels[example.passage.first.label or ""] += 1
        else:
            labels.update(tag for tag in wordwise(example, study.task.name.split(":")[1]) if tag)
    return max(labels.values()) / labels.total() if labels else None


def _add_importance(tables: dict[str, Any], job: _Job, scored: Reading) -> None:
    """Importance by gradients, on the same texts, beside what was measured."""
    from attlas.studies.shared.cutting.importance import Importance

    study = Importance(job.task)
    bundle = carry_out(
        study, scored.examples, [example.length for example in scored.examples], job.setting.plan, part="gradients",
        budget=GRADIENTS, **job.running,
    )  # fmt: skip
    found = study.tables(bundle)["importance"]
    places = zip(found["stream"], found["layer"], found["head"], strict=True)
    rows = dict(zip(places, zip(found["value"], found["normalised"], found["signed"], strict=True), strict=True))
    own = tables["ablation"]
    cells = [rows[place] for place in zip(own["stream"], own["layer"], own["head"], strict=True)]
    for number, name in enumerate(("importance", "normalised", "signed")):
        own[name] = [cell[number] for cell in cells]


def _add_tables(tables: dict[str, Any], wholes: Sequence[dict[str, Any]], seed: int) -> None:
    """The whole model's figures, and how well figures of the same heads agree."""
    from attlas.studies.ablation_tables import correlation_rows

    own, there = tables["ablation"], tables.get("other")
    tables["whole"] = as_columns(wholes)
    pairs: dict[tuple[str, str], Any] = {}
    for quantity, column in (("score", "change"), ("loss", "loss_change")):
        if there is not None:
            pairs["other corpus", quantity] = own[column], there[column]
        if "importance" in own:
            sizes = [None if value is None else abs(value) for value in own[column]]
            pairs["importance", quantity] = own["importance"], sizes
    if "signed" in own:
        pairs["first order", "loss"] = [-value for value in own["signed"]], own["loss_change"]
    if pairs:
        tables["correlation"] = correlation_rows(pairs, seed)
