"""An atlas as one call: run the studies that fit a model and some corpora, and bring together what they found."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from attlas.corpora import Corpus
from attlas.errors import PlanError
from attlas.making.given import Models, Texts
from attlas.making.made import Made
from attlas.making.parameters import USUAL, Corpora, Making
from attlas.making.places import of_model, require_atlas_folder
from attlas.making.planning import plan, unread, wanted
from attlas.making.running import run_steps
from attlas.making.state import State
from attlas.run.given import NAMED
from attlas.run.parameters import DEFAULTS, Model, names_of, study_call
from attlas.run.progress import Progress, Silent
from attlas.run.session import slug
from attlas.run.setting import describe
from attlas.run.settling import First
from attlas.store import versions_here
from attlas.store.lock import holding
from attlas.studies import Study

ALONE = "it runs one study after the other"
FOR_ALL = ("limit", "max_pieces", "long", "seed", "budget", "checkpoint_every", "twins", "twin", "measure")
DECIDING = ("limit", "max_pieces", "long", "seed", "twins", "twin", "measure")


@study_call(alone=ALONE, **USUAL)
def make_atlas(subject: Model = None, corpora: Corpora = ("sample",), **making: Unpack[Making]) -> Made:
    """Run every study that fits a model and its corpora, and bring together what they say of each head.

    Light studies take part by themselves, heavy ones (ablate, parse ...) where they are named. What does not fit is
    listed with its reason, and so is what fails; the rest goes on.

    >>> import tempfile
    >>> made = make_atlas(None, "sample", out=Path(tempfile.mkdtemp()) / "atlas", only="survey", limit=6)
    >>> [outcome.state for outcome in made.outcomes["all-MiniLM-L6-v2"]]
    ['done']
    """
    from attlas.making.finishing import finish

    if making["out"] is None:
        raise PlanError("an atlas is a folder of files; say where it is to go (--out)")
    order = Order.of(corpora, making)
    models, progress = Models(subject), making["progress"] or Silent()
    folder = Path(f"atlas-{slug(models.name)}") if making["out"] == NAMED else Path(making["out"])
    with holding(folder) as stale:
        if stale is not None:
            progress.note(stale)
        order.run(models, folder, progress, resume=making["resume"])
        return finish(folder, progress, command_of(["--model", models.name], corpora, making))


def command_of(models: Sequence[str], corpora: Any, making: Mapping[str, Any]) -> str:
    """The command line that makes an atlas again, as far as what it was given has a name.

    >>> command_of(["--model", "tiny"], "a book.txt", {"limit": 3, "more": ["ablate"], "twin": "beside"})
    "attlas atlas 'a book.txt' --model tiny --with ablate --limit 3"
    """
    several = [corpora] if isinstance(corpora, Corpus | str | Path) else list(corpora)
    words = ["attlas", "atlas", *(each.name if isinstance(each, Corpus) else str(each) for each in several), *models]
    usual = {**DEFAULTS, **USUAL}
    for name in (*USUAL, "limit", "max_pieces", "long", "seed"):
        value = making.get(name)
        if value is None or value == usual[name]:
            continue
        flag = (
            "--first" if isinstance(value, First) else "--with" if name == "more" else f"--{name.replace('_', '-')}"
        )
        told = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        words += [flag] if value is True else [flag, told]
    return shlex.join(words)


@dataclass(frozen=True)
class Order:
    """What is to be run of each model: which studies, on which corpora, how.

    >>> order = Order.of("sample", {"only": "survey", "seed": 3})
    >>> [study.name for study in order.studies], order.running
    (['survey'], {'seed': 3})
    """

    texts: Sequence[Texts]
    studies: Sequence[Study]
    task: str | None
    links: Mapping[str, Any]
    running: Mapping[str, Any]

    @classmethod
    def of(cls, corpora: Any, making: Mapping[str, Any]) -> Order:
        """What a call was given; the corpora are read, so that what is wrong with one is told before a model is
        opened."""
        only = making.get("only")
        studies = wanted(None if only is None else names_of(only), names_of(making.get("more") or ()))
        how = {name: making.get(name) for name in ("format", "unit", "target", "label")}
        several = [corpora] if isinstance(corpora, Corpus | str | Path) else list(corpora)
        texts = Texts.all_of(several or ["sample"], how)
        gold = making.get("gold")
        links = {} if gold is None else {"gold": gold, "one_indexed": bool(making.get("one_indexed"))}
        running = {name: making[name] for name in FOR_ALL if making.get(name) is not None}
        return cls(texts, studies, making.get("task"), links, running)

    def run(self, models: Models, folder: Path, progress: Progress, *, resume: bool) -> None:
        """Run the studies that fit a model, each into its place in the folder, and choose examples."""
        from attlas.making.choosing import keep_examples

        planned = self._planned(models)
        own = of_model(folder, models.name, models.plain.fingerprint)
        state = State.of(own)
        if state is None:
            require_atlas_folder(folder, own)
            state = State(planned)
        elif not resume:
            raise PlanError(
                f"{own}: an atlas of this model was begun here; go on with --resume, or choose another --out"
            )
        state.require(planned, own)
        steps, unfit = plan(models, self.texts, self.studies, task=self.task, links=self.links)
        if not steps:
            why = "; ".join(f"{each.study}: {each.reason}" for each in unfit)
            raise PlanError(f"no study fits {models.name} ({why})")
        for name in unread(steps, self.texts):
            progress.note(f"{name} is read by no study")
        for each in unfit:
            progress.note(f"{each.study} does not fit: {each.reason}")
        run_steps(models, steps, unfit, own, state, {**self.running, "resume": resume}, progress)
        keep_examples(models, steps, own, int(self.running.get("seed", 0)), progress)

    def _planned(self, models: Models) -> dict[str, Any]:
        """All that decides the results of one model."""
        links = {**self.links, **({"gold": Path(self.links["gold"]).name} if self.links else {})}
        return {
            "studies": [study.name for study in self.studies],
            "options": {name: self.running[name] for name in DECIDING if name in self.running} | links,
            "task": self.task,
            "model": models.plain.describe(),
            "corpora": [describe(each.read()) for each in self.texts],
            "version": versions_here()["attlas"],
        }
