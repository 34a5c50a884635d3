"""An atlas as one call: run the studies that fit a model and some corpora, and bring together what they found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Unpack

from attlas.corpora import Corpus
from attlas.errors import PlanError
from attlas.making.choosing import keep_examples
from attlas.making.finishing import Made, finish
from attlas.making.given import Models, Texts
from attlas.making.places import require_atlas_folder
from attlas.making.planning import plan, unread, wanted
from attlas.making.running import run_steps
from attlas.making.state import State
from attlas.run.given import NAMED
from attlas.run.parameters import (
    CHECK_MEASURE,
    Help,
    Model,
    Reading,
    Role,
    Twin,
    names_of,
    study_call,
)
from attlas.run.progress import Silent
from attlas.run.session import slug
from attlas.run.setting import describe
from attlas.store import versions_here
from attlas.store.lock import holding

Names = str | Sequence[str] | None
FOR_ALL = ("limit", "max_pieces", "long", "seed", "budget", "checkpoint_every", "resume", "twins", "twin",
           "measure")  # fmt: skip


@study_call(alone="it runs one study after the other")
def make_atlas(
    subject: Model = None,
    corpora: Annotated[
        Sequence[Corpus | str | Path] | Corpus | str | Path,
        Role("corpora"),
        Help(
            'Files, datasets of the hub, or "sample", which is read if none is given; each study takes the first '
            "that has what it needs.",
            argument=True,
        ),
    ] = ("sample",),
    *,
    only: Annotated[Names, Help("Only these studies, by name, with commas between.", kind=str | None)] = None,
    more: Annotated[
        Names,
        Help(
            "Heavy studies, too, by name, with commas between, such as ablate,parse.", flag="--with", kind=str | None
        ),
    ] = None,
    task: Annotated[
        str | None,
        Help(
            "What heads are cut against; if left out, what model and corpora offer.",
            check="attlas.tasks:require_task",
        ),
    ] = None,
    gold: Annotated[
        Path | str | None, Help("Gold links of words, where a corpus is a bitext.", kind=Path | None)
    ] = None,
    one_indexed: Annotated[bool, Help("The gold links count words from 1.")] = False,
    format: Annotated[str | None, Help("The corpora's format, where it cannot be told.")] = None,
    unit: Annotated[
        str | None,
        Help("What is one document: sentence, document (treebank); paragraph, line, document."),
    ] = None,
    target: Annotated[
        Path | str | None,
        Help("The translations, line by line, where they are another file.", kind=Path | None),
    ] = None,
    label: Annotated[
        str | None, Help("The column that holds the labels; for sentiment trees binary or five.")
    ] = None,
    measure: Annotated[
        str | None, Help("weight, or norm (of weight times vector), where a study goes by one.", check=CHECK_MEASURE)
    ] = None,
    twins: Annotated[
        int | None, Help("So many untrained twins, drawn one by one; if left out, what each study asks for.", least=1)
    ] = None,
    twin: Twin = "beside",
    **running: Unpack[Reading],
) -> Made:
    """Run every study that fits a model and its corpora, and bring together what they say of each head.

    Light studies take part by themselves, heavy ones (ablate, parse ...) where they are named. What does not fit is
    listed with its reason, and so is what fails; the rest goes on.

    >>> import tempfile
    >>> made = make_atlas(None, "sample", out=Path(tempfile.mkdtemp()) / "atlas", only="survey", limit=6)
    >>> [outcome.state for outcome in made.outcomes["all-MiniLM-L6-v2"]]
    ['done']
    """
    if running["out"] is None:
        raise PlanError("an atlas is a folder of files; say where it is to go (--out)")
    asked_for = wanted(None if only is None else names_of(only), names_of(more or ()))
    how = {"format": format, "unit": unit, "target": target, "label": label}
    several = [corpora] if isinstance(corpora, Corpus | str | Path) else list(corpora)
    texts = [Texts(corpus, how) for corpus in several or ["sample"]]
    for each in texts:  # what is wrong with one is told before the model is opened
        each.read()
    models, progress = Models(subject), running["progress"] or Silent()
    folder = Path(f"atlas-{slug(models.name)}") if running["out"] == NAMED else Path(running["out"])
    shared = {**running, "measure": measure, "twins": twins, "twin": twin}
    shared = {name: shared[name] for name in FOR_ALL}
    with holding(folder) as stale:
        if stale is not None:
            progress.note(stale)
        own = folder / slug(models.name)
        links = {} if gold is None else {"gold": gold, "one_indexed": one_indexed}
        planned = _planned(models, texts, [study.name for study in asked_for], task, links, shared)
        state = _begun(folder, own, planned, resume=running["resume"])
        steps, unfit = plan(models, texts, asked_for, task=task, links=links)
        for name in unread(steps, texts):
            progress.note(f"{name} is read by no study")
        for each in unfit:
            progress.note(f"{each.study} does not fit: {each.reason}")
        run_steps(models, steps, unfit, own, state, shared, progress)
        keep_examples(models, steps, own, running["seed"], progress)
        return finish(folder, progress)


def _planned(
    models: Models,
    texts: Sequence[Texts],
    studies: list[str],
    task: str | None,
    links: Mapping[str, Any],
    shared: Mapping[str, Any],
) -> dict[str, Any]:
    """All that decides the results of one model."""
    silent = ("resume", "budget", "checkpoint_every")
    options = {name: value for name, value in shared.items() if name not in silent and value is not None}
    return {
        "studies": studies,
        "options": {**options, "task": task, **links},
        "model": models.plain.describe(),
        "corpora": [describe(each.read()) for each in texts],
        "version": versions_here()["attlas"],
    }


def _begun(folder: Path, own: Path, planned: dict[str, Any], *, resume: bool) -> State:
    """What an earlier run of the same plan has left; refused where the folder is not free."""
    state = State.of(own)
    if state is None:
        require_atlas_folder(folder, own)
        return State(planned)
    if not resume:
        raise PlanError(f"{own}: an atlas of this model was begun here; go on with --resume, or choose another --out")
    state.require(planned, own)
    return state
