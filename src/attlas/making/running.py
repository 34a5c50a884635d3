"""Running the studies of one model, one after the other: each leaves its result in a folder of its name.

What is finished is not repeated, what was begun goes on from its own checkpoint, and what fails is noted with its
reason while the rest goes on.
"""

from __future__ import annotations

import inspect
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.errors import AttlasError, first_line
from attlas.making.planning import Step, Unfit, corpus_of, named_by_role
from attlas.making.state import DONE, FAILED, UNFIT, Outcome, State
from attlas.making.telling import Among
from attlas.run.progress import Progress
from attlas.store.folder import MANIFEST, finish_up, locate
from attlas.store.lock import holding

if TYPE_CHECKING:
    from attlas.making.given import Models


def run_steps(
    models: Models,
    steps: Sequence[Step],
    unfit: Sequence[Unfit],
    folder: Path,
    state: State,
    running: Mapping[str, Any],
    progress: Progress,
) -> State:
    """Run what is not finished yet, and write down after each what has become of it.

    ``running`` is what is said of all of them (limit, seed, twins ...); each is told what it takes.
    """
    state.add(*(Outcome(each.study, UNFIT, each.reason) for each in unfit))
    state.write(folder)
    for number, step in enumerate(steps, start=1):
        told = Among(progress, number, len(steps), step.study.name)
        if is_finished(step, folder):
            told.note("was finished before")
            seconds = [state.outcomes[name].seconds for name in step.gives if name in state.outcomes]
            _note(state, step, DONE, seconds=max(seconds, default=0.0))
        else:
            _run(models, step, folder, state, running, told)
        state.write(folder)
    return state


def is_finished(step: Step, folder: Path) -> bool:
    """Whether all results of a step lie in the model's folder; what a kill has cut off at the end of one is done.

    >>> from attlas.studies import studies
    >>> is_finished(Step(studies()["survey"], None), Path("no such folder"))
    False
    """
    places = [folder / name for name in step.gives]
    if not all(locate(place, MANIFEST).is_file() for place in places):
        return False
    for place in places:
        with holding(place):  # which takes over, and takes away, the lock of a run that was killed
            finish_up(place)
    if len(places) > 1:
        _clear_shared(folder)
    return True


def unforeseen(error: Exception) -> str:
    """What is said of an error that is our own mistake, and stops one study or model of many.

    >>> unforeseen(ValueError("no such thing"))
    'it was stopped by an error that was not foreseen (ValueError: no such thing)'
    """
    return f"it was stopped by an error that was not foreseen ({type(error).__name__}: {first_line(error)})"


def _run(
    models: Models, step: Step, folder: Path, state: State, running: Mapping[str, Any], progress: Progress
) -> None:
    """Run one step, and note what has become of it."""
    began = time.monotonic()
    try:
        corpus = corpus_of(step.study, step.texts)
        subject = models.for_task(step.task, corpus.beginning) if step.task else models.plain
        call = step.study.load_call()
        taken = inspect.signature(call).parameters
        shared = {**running, "out": folder if len(step.gives) > 1 else folder / step.study.name, "progress": progress}
        given = {name: value for name, value in shared.items() if name in taken and value is not None}
        for role, value in (("model", subject), ("corpus", corpus)):
            if (name := named_by_role(step.study, role)) is not None:
                given[name] = value
        call(**{**given, **step.options})
    except AttlasError as error:
        _note(state, step, FAILED, str(error), time.monotonic() - began)
    except Exception as error:  # a fault of one study must not cost the others
        _note(state, step, FAILED, unforeseen(error), time.monotonic() - began)
    else:
        _note(state, step, DONE, seconds=time.monotonic() - began)
        return
    finally:
        progress.finish()
    progress.note(f"failed: {state.outcomes[step.gives[0]].reason}")


def _note(state: State, step: Step, became: str, reason: str = "", seconds: float = 0.0) -> None:
    corpus = "" if step.texts is None else step.texts.name
    state.add(*(Outcome(name, became, reason, corpus, round(seconds, 1)) for name in step.gives))


def _clear_shared(folder: Path) -> None:
    """Remove what the one pass of several studies has kept on its way."""
    from attlas.studies.heads.call import RUN

    shutil.rmtree(folder / RUN, ignore_errors=True)
