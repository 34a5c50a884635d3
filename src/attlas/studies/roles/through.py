"""Roles through training, as one call: some definitions on every checkpoint, on the same texts.

At every checkpoint the head that scores highest on one half of the texts is scored on the other, and so is the head
that the last checkpoint's first half names: the one curve says whether there is such a head, the other what became
of the head that plays the role in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import numpy as np

from attlas.errors import CapabilityError, PlanError
from attlas.run.parameters import Help, Running, names_of, study_call
from attlas.run.session import Run, begin
from attlas.run.setting import as_corpus
from attlas.store import Result
from attlas.store.columns import as_columns
from attlas.studies.shared.figures import ends_of

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.stats import Bundle
    from attlas.studies.roles.checkpoints import Checkpoint
    from attlas.studies.roles.definition import Definition, Trial
    from attlas.studies.roles.tables import Outcome

    _Trial = tuple[Trial, list[Definition], Bundle]

USUAL = "prefix_matching,induction_text,duplicate,previous_text,first_key,retrieval_forced"
CURVES = (
    "stream", "definition", "step", "checkpoint", "which", "layer", "head", "value", "low", "high", "chance",
)  # fmt: skip
HEADS = ("stream", "definition", "step", "checkpoint", "layer", "head", "value", "low", "high", "chance")


def check_definitions(given: str | Sequence[str]) -> list[str]:
    """Refuse definitions that are not known.

    >>> check_definitions("prefix_matching, duplicate")
    ['prefix_matching', 'duplicate']
    >>> check_definitions("shyness")
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: there is no definition 'shyness'; choose some of prefix_matching, ...
    """
    from attlas.studies.roles.definitions import DEFINITIONS

    names = names_of(given)
    for name in names:
        if name not in DEFINITIONS:
            raise PlanError(f"there is no definition {name!r}; choose some of {', '.join(DEFINITIONS)}")
    if not names:
        raise PlanError(f"no definition was named; choose some of {', '.join(DEFINITIONS)}")
    return list(dict.fromkeys(names))


@study_call()
def roles_through(
    checkpoints: Annotated[
        Sequence[Path | str],
        Help("Checkpoints in their order: folders, NAME@REVISION of the hub, or a folder that holds some.",
             kind=list[str], argument=True),
    ],
    *,
    definitions: Annotated[
        str | Sequence[str],
        Help("What is scored, with commas between.", kind=str, check=f"{__name__}:check_definitions"),
    ] = USUAL,
    corpus: Annotated[Any, Help("A corpus for what is scored on text.", kind=str)] = "sample",
    texts: Annotated[int, Help("So many texts of each kind.", least=12)] = 24,
    max_pieces: Annotated[
        int | None, Help("Longest text in pieces; if left out, what the model's window holds.", least=4)
    ] = None,
    device: Annotated[str | None, Help("cpu, cuda, cuda:1 ...; cuda where there is one.")] = None,
    **running: Unpack[Running],
) -> Result:  # fmt: skip
    """Score heads at every checkpoint of a training: when does a role appear, and in which head?

    All checkpoints read the same texts. At each, the head that is highest on one half of the texts is scored on the
    other half, with an interval over texts; and the head that the last checkpoint names is followed back.

    >>> roles_through([])
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: this is one checkpoint alone; name two or more, or a folder that holds them
    """
    from attlas.studies.roles.checkpoints import checkpoints_of

    series, asked, given = checkpoints_of(checkpoints), check_definitions(definitions), as_corpus(corpus)
    last = _opened(series[-1], device)
    options = {
        "checkpoints": [one.opens for one in series], "definitions": asked, "texts": texts, "max_pieces": max_pieces,
    }  # fmt: skip
    with begin("roles-through", last, given, options, running) as run:
        carried: list[tuple[Checkpoint, str, list[_Trial]]] = []
        reasons: dict[str, str] = {}
        for number, one in enumerate(series):
            subject = last if one is series[-1] else _opened(one, device)
            _require_alike(subject, last, one, series[-1])
            run.progress.note(f"checkpoint {number + 1} of {len(series)}: {one.name}")
            sums = _carried(run, subject, asked, number, texts, max_pieces, reasons)
            carried.append((one, subject.fingerprint, sums))
        found = [(one, fingerprint, _outcomes(last, sums)) for one, fingerprint, sums in carried]
        return run.finish(_tables(last, found, asked, reasons))


def _opened(checkpoint: Checkpoint, device: str | None) -> Subject:
    from attlas.run.setting import Opening, as_subject

    return as_subject(Opening(checkpoint.folder(), device=device))


def _require_alike(subject: Subject, last: Subject, one: Checkpoint, end: Checkpoint) -> None:
    """Checkpoints of one training have the same heads."""
    for stream in last.streams:
        if stream not in subject.streams or subject.grid(stream).shape != last.grid(stream).shape:
            raise PlanError(
                f"{one.name} and {end.name} are no checkpoints of one training: their layers and heads differ"
            )


def _carried(
    run: Run, subject: Subject, asked: Sequence[str], number: int, texts: int, max_pieces: int | None,
    reasons: dict[str, str],
) -> list[_Trial]:  # fmt: skip
    """The sums of one checkpoint, trial by trial; a part is called by the weights, so that others are read anew."""
    from attlas.studies.roles.definition import at_place
    from attlas.studies.roles.definitions import TRIALS
    from attlas.studies.roles.texts import Setting

    setting = Setting(subject, as_corpus(run.corpus), texts, run.seed, max_pieces)
    carried: list[_Trial] = []
    for trial in TRIALS:
        kept = []
        for definition in (one for one in trial.definitions if one.key in asked):
            why = definition.why_not(subject)
            if why:
                reasons[definition.key] = why
            else:
                kept.append(definition)
        if not kept:
            continue
        try:
            items = list(at_place(trial.texts)(setting))
        except CapabilityError as error:
            reasons |= {definition.key: str(error) for definition in kept}
            continue
        part = at_place(trial.part)(subject, kept, setting)
        lengths = [int(getattr(item, "length", 1)) for item in items]
        bundle = run.carry(part, items, f"{number} {subject.fingerprint} {trial.key}", lengths=lengths)
        carried.append((trial, kept, bundle))
        run.counts["passages"] = run.counts.get("passages", 0) + len(items)
        run.counts["pieces"] = run.counts.get("pieces", 0) + sum(lengths)
    return carried


def _outcomes(last: Subject, carried: Sequence[_Trial]) -> list[Outcome]:
    """What the sums of one checkpoint say, stream by stream."""
    from attlas.studies.roles.scores import scored, streams_of
    from attlas.studies.roles.tables import Outcome

    return [
        Outcome(trial, kept, stream, scored(bundle, stream), ())
        for trial, kept, bundle in carried
        for stream in streams_of(last, kept)
    ]


def _tables(
    last: Subject, found: Sequence[tuple[Checkpoint, str, list[Outcome]]], asked: Sequence[str],
    reasons: dict[str, str],
) -> dict[str, Any]:  # fmt: skip
    from attlas.studies.roles.definitions import DEFINITIONS
    from attlas.studies.roles.tables import chosen, figures, left_out_table

    ends = {
        (outcome.stream, definition.key): chosen(outcome.own, number, definition, 1)
        for outcome in found[-1][2]
        for number, definition in enumerate(outcome.definitions)
    }
    curves: list[dict[str, Any]] = []
    heads: list[dict[str, Any]] = []
    for checkpoint, _, outcomes in found:
        for outcome in outcomes:
            grid = last.grid(outcome.stream)
            for number, definition in enumerate(outcome.definitions):
                if outcome.stream not in definition.streams or not (outcome.own.counts[..., number] > 0).any():
                    continue
                chance, second, whole = outcome.chance(number), figures(outcome, number, 2), figures(outcome, number)
                place = {
                    "stream": outcome.stream.value, "definition": definition.key, "step": checkpoint.step,
                    "checkpoint": checkpoint.name,
                }  # fmt: skip
                now = chosen(outcome.own, number, definition, 1)
                for which, named in (("now", now), ("end", ends.get((outcome.stream, definition.key), []))):
                    curves += [
                        {**place, "which": which, "layer": layer, "head": head,
                         **ends_of(second, (layer, head)), "chance": chance[layer]}
                        for layer, head in named
                        if np.isfinite(second.value[layer, head])
                    ]  # fmt: skip
                heads += [
                    {**place, "layer": layer, "head": head, **ends_of(whole, (layer, head)), "chance": chance[layer]}
                    for layer, head in np.argwhere(grid & (whole.n > 0)).tolist()
                ]
    if not curves:
        raise CapabilityError(
            f"nothing could be scored: {'; '.join(reasons.values()) or 'no definition applies to these checkpoints'}"
        )
    known = [
        {"definition": key, "title": DEFINITIONS[key].title, "by": DEFINITIONS[key].by,
         "reading": DEFINITIONS[key].reading}
        for key in asked
    ]  # fmt: skip
    series = [
        {"step": one.step, "checkpoint": one.name, "opens": one.opens, "fingerprint": fingerprint}
        for one, fingerprint, _ in found
    ]
    return {
        "curves": as_columns(curves, CURVES),
        "heads": as_columns(heads, HEADS),
        "definitions": as_columns(known, ("definition", "title", "by", "reading")),
        "checkpoints": as_columns(series, ("step", "checkpoint", "opens", "fingerprint")),
        "left_out": left_out_table(reasons),
    }
