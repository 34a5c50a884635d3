"""Cutting heads as one call: each off in turn, each layer left with one, on one corpus or two.

A run has up to five parts, each with a checkpoint of its own: the gradients that importance is made of, the heads'
means (where these stand in for what is cut) and the choice of survivors on some texts, the scores on others, and the
same on another corpus. Importance and the effects it is correlated with never come from the same texts: what is
odd about a text would show in both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from attlas.errors import CapabilityError
from attlas.run.parameters import CHECK_HEADS, ChooseOn, Help, Model, Reading, Role, Task, Texts, study_call
from attlas.run.session import Run, begin
from attlas.run.setting import as_corpus
from attlas.store import Result
from attlas.store.columns import as_columns

if TYPE_CHECKING:
    from attlas.capture.reading import Reading as Texted
    from attlas.stats import Bundle
    from attlas.studies.ablate.passes import Ablation, Cut
    from attlas.studies.ablate.tables import Effects
    from attlas.tasks import Task as PosedTask

BUDGET = 2048  # pieces of the texts between two checkpoints; each goes through as many times as there are cuts
GRADIENTS = 1024  # pieces of a batch whose graph is kept until the way back


@study_call(budget=BUDGET, keeps="the loss and the score of every text under every cut")
def ablate(
    subject: Model = None,
    corpus: Texts = "sample",
    task: Task = "causal-lm",
    *,
    other: Annotated[
        Texts | None, Role("other corpus"), Help("A second corpus: do the same heads matter there?", flag="+target")
    ] = None,
    choose_on: ChooseOn = None,
    survivors: Annotated[
        bool, Help("Leave each layer one head, too, chosen on other texts.", flag="--survivors/--no-survivors")
    ] = True,
    means: Annotated[bool, Help("A head that is cut gives its mean output instead of nothing.")] = False,
    importance: Annotated[
        bool, Help("Compare with importance by gradients.", flag="--importance/--no-importance")
    ] = True,
    heads: Annotated[
        str | Iterable[str] | None,
        Help(
            "Only these, by label counted from 1: 8-10,3-1 or 'cross 6-3'.", kind=list[str] | None, check=CHECK_HEADS
        ),
    ] = None,
    score: Annotated[
        str | None,
        Help("accuracy or matthews (classification); bleu, chrf or perplexity (translation); loss (any task)."),
    ] = None,
    **running: Unpack[Reading],
) -> Result:
    """Cut each head in turn, and all heads of each layer but one; test what that does to a task's score.

    The one that is left is chosen on ``choose_on``, or else on one half of the documents, and scored on the rest.
    Gradients, and mean outputs where they stand in for what is cut, are taken from the texts for choosing, too;
    without survivors, importance and means, all texts are scored. Each text goes through the whole model once, and on
    from each cut.

    >>> from attlas.text import Document
    >>> pairs = [("Hello", "Hi", "5"), ("Cats", "Rain", "0"), ("A dog", "Dogs", "4"), ("Tea", "War", "1")]
    >>> texts = [Document.from_words(a.split(), pair=Document.from_text(b), label=label) for a, b, label in pairs]
    >>> result = ablate(None, texts, "similarity", survivors=False, heads=["1-1", "6-12"], importance=False)
    >>> result.table.column("layer").to_pylist(), list(result.tables)
    ([0, 5], ['ablation', 'whole'])
    """
    from attlas.run.tasks import apart, open_for_task, read_for_task, require_layer, task_for
    from attlas.studies.ablate.passes import Ablation, Means, every_head
    from attlas.studies.ablate.tables import choose, cut_rows
    from attlas.studies.shared.cutting.importance import Importance
    from attlas.studies.shared.cutting.named import label_in_full
    from attlas.tasks import READ_SCORES

    texts, seed = as_corpus(corpus), running["seed"]
    by_loss = score == "loss"
    asked = READ_SCORES.get(task) if by_loss else score
    model = open_for_task(subject, task, texts, score=asked)
    posed = task_for(model, task, texts, seed=seed, score=asked)
    cuts = _cuts(posed, heads)
    second = None if other is None else as_corpus(other)
    if second is not None:
        require_layer(second, task)
    chosen_on, scored_on = None, texts
    if survivors or means or importance or choose_on is not None:
        chosen_on, scored_on = apart(texts, choose_on, task, seed=seed)
    how: dict[str, Any] = {name: running[name] for name in ("max_pieces", "long", "limit")}
    options = {
        "task": task, "score": score, "survivors": survivors, "means": means, "importance": importance,
        "heads": None if heads is None else [label_in_full(cut.id) for cut in cuts], **how,
    }  # fmt: skip
    more = {"choose_on": None if choose_on is None else chosen_on, "other": second}
    with begin("ablate", model, texts, options, running, more=more) as run:
        run.note_cutting(len(texts.documents))
        scored = run.read(read_for_task(posed, scored_on, **how, seed=seed))
        stand_ins, alone, gradients = None, [], None
        if chosen_on is not None:
            choosing = run.read(read_for_task(posed, chosen_on, **how, seed=seed), into="chosen_on")
            if importance:
                gradients = run.carry(Importance(posed), choosing, "gradients", budget=GRADIENTS)
            if means:
                taken = Means(posed)
                stand_ins = taken.result(run.carry(taken, choosing, "means", numbered=True))
            if survivors:
                every = every_head(model, posed.streams, alone=True)
                single = Ablation(
                    posed, every, len(choosing.examples), means=stand_ins, writing=False, by_loss=by_loss
                )
                alone = choose(single, run.carry(single, choosing, "choosing", numbered=True))
        both, wholes = [*cuts, *alone], []
        here = Ablation(posed, both, len(scored.examples), means=stand_ins, by_loss=by_loss)
        bundle = _carried(run, here, scored, "scoring")
        if second is not None:
            again = task_for(model, task, second, seed=seed, score=asked)
            elsewhere = run.read(read_for_task(again, second, **how, seed=seed), into="other_passages")
            there = Ablation(again, cuts, len(elsewhere.examples), means=stand_ins, by_loss=by_loss)
            beside = _carried(run, there, elsewhere, "other")
        effects, whole = _scored(run, here, scored, bundle)
        wholes.append({"part": "scored", "corpus": scored_on.name, **whole})
        tables: dict[str, Any] = {"ablation": cut_rows(both, range(len(cuts)), effects)}
        if alone:
            tables["survivors"] = cut_rows(both, range(len(cuts), len(both)), effects)
        if second is not None:
            changes, whole = _scored(run, there, elsewhere, beside)
            tables["other"] = cut_rows(cuts, range(len(cuts)), changes)
            wholes.append({"part": "other", "corpus": second.name, **whole})
        if gradients is not None:
            _add_importance(tables, Importance(posed).tables(gradients)["importance"])
        tables["whole"] = as_columns(wholes)
        _correlate(tables)
        return run.finish(tables)


def _carried(run: Run, part: Ablation, reading: Texted, name: str) -> Bundle:
    """All cuts on some texts; where each needs a whole pass, that is said."""
    bundle = run.carry(part, reading, name, numbered=True)
    if part.replay.why_full:
        run.progress.note(part.replay.why_full)
    return bundle


def _scored(run: Run, part: Ablation, reading: Texted, bundle: Bundle) -> tuple[Effects, dict[str, Any]]:
    """What every cut does on some texts, and what the whole model does there."""
    from attlas.studies.ablate.tables import effects
    from attlas.studies.shared.cutting.chance import standing_row

    changes = effects(part, bundle, units=[example.unit for example in reading.examples], seed=run.seed)
    marks = bundle["marks"].result()[:, 0]
    return changes, {
        "task": part.task.name, **standing_row(part.task, reading.examples, marks, metric=part.metric, seed=run.seed),
        "loss": changes.loss.whole, "n": changes.texts,
    }  # fmt: skip


def _cuts(task: PosedTask, heads: str | Iterable[str] | None) -> list[Cut]:
    """One cut for each head that was named, or for all."""
    from attlas.ids import Site
    from attlas.studies.ablate.passes import Cut, every_head
    from attlas.studies.shared.cutting.named import heads_named

    if heads is None:
        return every_head(task.subject, task.streams)
    named = heads_named(task.subject, heads)
    for head in named:
        if head.stream not in task.streams:
            raise CapabilityError(f"{head} is not at work in the task {task.name}")
    return [Cut(Site(head.stream, head.layer), head.head) for head in named]


def _add_importance(tables: dict[str, Any], gradients: dict[str, list[Any]]) -> None:
    """Importance by gradients, on the texts to choose on, beside what was measured on the others."""
    own, places = tables["ablation"], ("stream", "layer", "head")
    rows = {place: at for at, place in enumerate(zip(*(gradients[name] for name in places), strict=True))}
    chosen = [rows[place] for place in zip(*(own[name] for name in places), strict=True)]
    for name, column in (("importance", "value"), ("normalised", "normalised"), ("signed", "signed")):
        own[name] = [gradients[column][at] for at in chosen]


def _correlate(tables: dict[str, Any]) -> None:
    """How well figures of the same heads agree."""
    from attlas.studies.shared.cutting.measured import correlation_rows, sizes

    own, elsewhere = tables["ablation"], tables.get("other")
    pairs: dict[tuple[str, str], Any] = {}
    for quantity, column in (("score", "change"), ("loss", "loss_change")):
        if elsewhere is not None:
            pairs["other corpus", quantity] = own[column], elsewhere[column]
        if "importance" in own:
            pairs["importance", quantity] = own["importance"], sizes(own[column])
    if "signed" in own:
        pairs["first order", "loss"] = [-value for value in own["signed"]], own["loss_change"]
    if pairs:
        tables["correlation"] = correlation_rows(("with", "quantity"), pairs)
