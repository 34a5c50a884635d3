"""What an atlas runs: the studies that fit a model and some corpora, and for all others the reason why not.

A study takes part by its record (:class:`~attlas.studies.Fits`), so one of another package is asked like those of
attlas. Each is run on the first corpus, of those given, that has what it needs; where one pass gives the results of
several, and all of them are wanted on one corpus, that pass is made in their place.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attlas.errors import AttlasError, PlanError
from attlas.making.needs import Answer, Asked, answer
from attlas.run.parameters import reader_of, role_of
from attlas.studies import Fits, Study, studies

if TYPE_CHECKING:
    from attlas.making.given import Models, Texts


@dataclass(frozen=True)
class Step:
    """A study that is to be run: on which corpus, against which task, with which options; ``gives`` are the studies
    whose results it leaves.

    >>> Step(Study("survey", "x:y"), None).gives
    ('survey',)
    """

    study: Study
    texts: Texts | None
    task: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gives(self) -> tuple[str, ...]:
        """The studies whose results it leaves, each in a folder of that name."""
        return (self.study.fits and self.study.fits.gives) or (self.study.name,)


@dataclass(frozen=True)
class Unfit:
    """A study that does not fit, and why."""

    study: str
    reason: str


def wanted(only: Sequence[str] | None, more: Sequence[str] = ()) -> list[Study]:
    """The studies that are asked for: those ``only``, or all light ones and some ``more``; light ones first.

    >>> [study.name for study in wanted(["norms", "survey"])]
    ['norms', 'survey']
    >>> "ablate" in [study.name for study in wanted(None, ["ablate"])]
    True
    >>> wanted(["cooking"])
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: there is no study 'cooking' that takes part in an atlas; there are align, ...
    """
    known = {name: study for name, study in studies().items() if study.fits is not None}
    for name in (*(only or ()), *more):
        if name not in known:
            shown = sorted(known, key=lambda name: (_fits(known[name]).heavy, name))
            raise PlanError(f"there is no study {name!r} that takes part in an atlas; there are {', '.join(shown)}")
    named = set(only or ()) | set(more)
    for name in tuple(named):  # who names a pass wants what it gives
        named |= set(_fits(known[name]).gives)
    alone = [study for study in known.values() if not _fits(study).gives]
    light = {study.name for study in alone if not _fits(study).heavy} if only is None else set()
    return sorted(
        (study for study in alone if study.name in named | light),
        key=lambda study: (_fits(study).heavy, study.name),
    )


def plan(
    models: Models,
    corpora: Sequence[Texts],
    asked_for: Sequence[Study],
    *,
    task: str | None = None,
    links: Mapping[str, Any] | None = None,
) -> tuple[list[Step], list[Unfit]]:
    """What is run, in order, and what is not, with reasons.

    >>> from attlas.making.given import Models, Texts
    >>> asked_for = wanted(["survey", "relations", "clusters", "importance"])
    >>> steps, unfit = plan(Models(None), [Texts("sample")], asked_for)
    >>> [step.study.name for step in steps], [step.gives for step in steps][0]
    (['heads'], ('survey', 'relations', 'clusters'))
    >>> unfit[0].study, unfit[0].reason
    ('importance', 'all-MiniLM-L6-v2 has no head for a task on sample (causal-lm: its checkpoint does not hold ...')
    """
    steps, unfit = [], []
    for study in asked_for:
        fitting = _fit(study, models, corpora, task=task, links=links)
        if isinstance(fitting, Step):
            steps.append(fitting)
        else:
            unfit.append(fitting)
    steps = _shared(steps, models, corpora)
    return sorted(steps, key=lambda step: (_fits(step.study).heavy, bool(step.task), len(step.gives) < 2)), unfit


def unread(steps: Iterable[Step], corpora: Collection[Texts]) -> list[str]:
    """The names of corpora that no study reads.

    >>> from attlas.making.given import Texts
    >>> unread([], [Texts("sample")])
    ['sample']
    """
    read = [step.texts for step in steps]
    return [texts.name for texts in corpora if texts not in read]


def corpus_of(study: Study, texts: Texts | None) -> Any:
    """A corpus, read as a study reads it; None where it takes none.

    >>> from attlas.making.given import Texts
    >>> corpus_of(studies()["survey"], Texts("sample")).name
    'sample'
    """
    parameter = _of_role(study, "corpus")
    return None if parameter is None or texts is None else texts.read(reader_of(parameter))


def named_by_role(study: Study, role: str) -> str | None:
    """What a study's call names its model or corpus.

    >>> named_by_role(studies()["survey"], "model")
    'subject'
    """
    parameter = _of_role(study, role)
    return None if parameter is None else parameter.name


def _fit(
    study: Study, models: Models, corpora: Sequence[Texts], *, task: str | None, links: Mapping[str, Any] | None
) -> Step | Unfit:  # fmt: skip
    """A study on the first corpus that has what it needs; or why there is none."""
    reasons = []
    for texts in corpora if _of_role(study, "corpus") is not None else (None,):
        try:
            corpus = corpus_of(study, texts)
        except AttlasError as error:
            reasons.append(str(error))
            continue
        answers = _answers(_fits(study), Asked(models, corpus, task, links or {}))
        why = next((each.why for each in answers if not each.met), "")
        if not why:
            posed = next((each.task for each in answers if each.task), "")
            options = {name: value for each in answers for name, value in each.options.items()}
            return Step(study, texts, posed, {**_fits(study).options, **options})
        reasons.append(why)
    return Unfit(study.name, "; ".join(dict.fromkeys(reasons)))


def _answers(fits: Fits, asked: Asked) -> list[Answer]:
    """The answers to all that a study needs, up to the first that is not met."""
    answers = []
    for need in fits.needs:
        answers.append(answer(need, asked))
        if not answers[-1].met:
            break
    return answers


def _shared(steps: list[Step], models: Models, corpora: Sequence[Texts]) -> list[Step]:
    """The same steps, with one pass in the place of several studies wherever all that it gives is wanted of one
    corpus."""
    for study in studies().values():
        given = [] if study.fits is None else [step for step in steps if step.study.name in study.fits.gives]
        if study.fits is None or not given or len(given) < len(study.fits.gives):
            continue
        texts = {id(step.texts): step.texts for step in given}
        if len(texts) > 1:
            continue
        fitting = _fit(study, models, [each for each in texts.values() if each is not None], task=None, links=None)
        if isinstance(fitting, Step):
            steps = [fitting, *(step for step in steps if step not in given)]
    return steps


def _of_role(study: Study, role: str) -> inspect.Parameter | None:
    """The parameter that is a study's model or corpus."""
    taken = inspect.signature(study.load_call()).parameters.values()
    return next((parameter for parameter in taken if role_of(parameter) == role), None)


def _fits(study: Study) -> Fits:
    assert study.fits is not None
    return study.fits
