"""What a model's heads do, as one call: make texts, score every definition, name heads, and test the names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from attlas.errors import CapabilityError
from attlas.ids import HeadId
from attlas.run.parameters import Help, Model, Running, SpareTexts, Twin, Twins, names_of, study_call
from attlas.run.session import Run, begin
from attlas.run.setting import as_corpus, as_subject
from attlas.store import Result
from attlas.store.columns import as_columns

SETS = 40  # of heads that are closed between two checkpoints, at most

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.stats import Bundle
    from attlas.studies.roles.behaviour import Behaviour
    from attlas.studies.roles.definition import Definition, Trial
    from attlas.studies.roles.tables import Outcome
    from attlas.studies.roles.texts import Setting


@study_call()
def roles(
    subject: Model = None,
    corpus: SpareTexts = "sample",
    *,
    texts: Annotated[int, Help("So many texts of each kind.", least=12)] = 40,
    definitions: Annotated[
        str | Sequence[str] | None,
        Help(
            "Only these definitions, or all on these texts, by their keys, with commas between; all if left out.",
            kind=str | None,
            check="attlas.studies.roles.definitions:check_asked",
        ),
    ] = None,
    max_pieces: Annotated[
        int | None, Help("Longest text in pieces; if left out, what the model's window holds.", least=4)
    ] = None,
    gates: Annotated[
        bool, Help("Train DuoAttention's gates, too, which takes as long as some thousand texts.")
    ] = False,
    twins: Twins = 1,
    twin: Twin = "beside",
    closing: Annotated[
        bool,
        Help("Close the named heads, against as many others: the longest part.", flag="--closing/--no-closing"),
    ] = True,
    **running: Unpack[Running],
) -> Result:
    """Score every head under every published definition of a role that the model allows.

    Texts are made here (random pieces, the same text twice) or are the beginnings of a corpus's texts. Each score has
    its chance level, that of an untrained twin, an interval over texts, and both halves of the texts; heads are named
    on one half and scored on the other.

    >>> result = roles(texts=12)
    >>> sorted(set(result.table.column("definition").to_pylist()))[:2]
    ['dormant', 'duplicate']
    """
    from attlas.studies.roles.concordance import agreement_table
    from attlas.studies.roles.loudest import loudest_table
    from attlas.studies.roles.sharing import sharing_table
    from attlas.studies.roles.tables import head_tables
    from attlas.studies.roles.texts import Setting

    asked = None if definitions is None else names_of(definitions)
    model, given = as_subject(subject), as_corpus(corpus)
    options = {
        "texts": texts,
        "definitions": asked,
        "max_pieces": max_pieces,
        "gates": gates,
        "twins": twins,
        "closing": closing,
    }
    with begin("roles", model, given, options, running, twin=twin) as run:
        setting = Setting(model, given, texts, run.seed, max_pieces, gates)
        tables_of_states = states(run, setting) if asked is None else dict
        outcomes, tables = score(run, setting, twins, asked)
        tables |= {"agreement": agreement_table(outcomes, run.seed), "sharing": sharing_table(model)}
        tables |= tables_of_states()
        if asked is None:
            tables["loudest"] = run.once("loudest", lambda: loudest_table(setting))
        if closing:
            tables |= close(run, setting, outcomes)
        return run.finish(head_tables(model, outcomes, run.seed) | tables)


def score(
    run: Run, setting: Setting, twins: int, asked: Sequence[str] | None = None
) -> tuple[list[Outcome], dict[str, Any]]:
    """Take all trials through the model and its twins: what they give, and the tables ``definitions``, ``texts`` and
    ``left_out``."""
    from attlas.studies.roles.definition import at_place
    from attlas.studies.roles.definitions import TRIALS
    from attlas.studies.roles.readout import forget_circuits
    from attlas.studies.roles.scores import scored, streams_of
    from attlas.studies.roles.tables import Outcome, left_out_table

    reasons: dict[str, str] = {}
    fitting: list[tuple[Trial, list[Definition], list[Any]]] = []
    told: list[dict[str, Any]] = []
    for trial in TRIALS:
        wanted = [each for each in trial.definitions if asked is None or {each.key, trial.key} & set(asked)]
        why = {definition.key: definition.why_not(run.subject) for definition in wanted}
        if trial.by_name and asked is None:
            why = {key: reason or f"it takes long, and is scored where it is asked for: --definitions {key}"
                   for key, reason in why.items()}  # fmt: skip
        reasons |= {key: reason for key, reason in why.items() if reason}
        kept = [definition for definition in wanted if not why[definition.key]]
        if not kept:
            continue
        try:
            items = list(at_place(trial.texts)(setting))
        except CapabilityError as error:
            reasons |= {definition.key: str(error) for definition in kept}
            continue
        fitting.append((trial, kept, items))
        told.append(_text_row(trial, items, setting))
    bundles: dict[str, list[Any]] = {trial.key: [] for trial, _, _ in fitting}
    for who, studied in run.twins(twins):
        for trial, kept, items in fitting:
            part = at_place(trial.part)(studied, kept, setting)
            bundles[trial.key].append(
                run.carry(part, items, f"{who}{trial.key}", lengths=[_length(i) for i in items])
            )
        forget_circuits(studied)
    outcomes = [
        Outcome(trial, kept, stream, *_first_and_rest([scored(bundle, stream) for bundle in bundles[trial.key]]))
        for trial, kept, _ in fitting
        for stream in streams_of(run.subject, kept)
    ]
    known = [
        {"definition": definition.key, "title": definition.title, "by": definition.by, "reading": definition.reading,
         "texts": trial.key}
        for trial, kept, _ in fitting
        for definition in kept
    ]  # fmt: skip
    columns = ("key", "title", "texts", "unit", "pieces", "longest", "begun")
    run.counts |= {"passages": sum(row["texts"] for row in told), "pieces": sum(row["pieces"] for row in told)}
    return outcomes, {
        "definitions": as_columns(known, ("definition", "title", "by", "reading", "texts")),
        "texts": as_columns(told, columns),
        "left_out": left_out_table(reasons),
    }


def states(run: Run, setting: Setting) -> Callable[[], dict[str, Any]]:
    """What states, queries and keys are made of, summed; what is given makes the tables of it, ``massive`` and, where
    positions are rotary, ``spectrum``."""
    from attlas.studies.roles.spectrum import States
    from attlas.studies.roles.texts import natural

    if run.subject.pieces.translating:
        return dict
    part = States(run.subject)
    return partial(part.tables, run.carry(part, natural(setting), "states"))


def close(run: Run, setting: Setting, outcomes: list[Outcome]) -> dict[str, Any]:
    """Close the heads that each role names, and as many others: the tables ``effects`` and ``untested``."""
    from attlas.studies.roles.behaviour import BEHAVIOURS, rival_sets
    from attlas.studies.roles.closing import Closings
    from attlas.studies.roles.definition import at_place
    from attlas.studies.roles.definitions import DEFINITIONS
    from attlas.studies.roles.effects import Closed, effect_table

    tested: list[tuple[Behaviour, tuple[HeadId, ...], Bundle]] = []
    untested: list[dict[str, str]] = []
    for behaviour in BEHAVIOURS:
        why = str(at_place(behaviour.check)(run.subject))
        heads = () if why else named_heads(run.subject, outcomes, behaviour.chosen_by, behaviour.most)
        try:
            if not why and not heads:
                raise CapabilityError(f"no head was named by {DEFINITIONS[behaviour.chosen_by].name}")
            texts = [] if why else list(at_place(behaviour.texts)(setting))
        except CapabilityError as error:
            why = str(error)
        if why:
            untested.append({"role": behaviour.key, "reason": why})
            continue
        rivals = sorted(rival_sets(run.subject, heads, run.seed), key=lambda some: min(head.layer for head in some))
        part = Closings(run.subject, behaviour, texts, 2 + len(rivals))
        sets = [(), heads, *rivals]
        bundle = run.carry(
            part, sets, f"closing {behaviour.key}", numbered=True, lengths=[1] * len(sets), max_items=SETS
        )
        tested.append((behaviour, heads, bundle))
    closed = [Closed(behaviour, heads, bundle["losses"].result()) for behaviour, heads, bundle in tested]
    return {"effects": effect_table(closed), "untested": as_columns(untested, ("role", "reason"))}


def named_heads(subject: Subject, outcomes: list[Outcome], definition: str, most: int) -> tuple[HeadId, ...]:
    """The heads that a definition names on the texts for choosing, those of its first stream.

    >>> named_heads(None, [], "prefix_matching", 5)
    ()
    """
    from attlas.studies.roles.behaviour import how_many
    from attlas.studies.roles.tables import chosen

    for outcome in outcomes:
        for number, known in enumerate(outcome.definitions):
            if known.key == definition and outcome.stream in known.streams:
                places = chosen(outcome.own, number, known, how_many(subject, outcome.stream, most))
                return tuple(sorted(HeadId(outcome.stream, layer, head) for layer, head in places))
    return ()


def _first_and_rest(scores: list[Any]) -> tuple[Any, list[Any]]:
    return scores[0], scores[1:]


def _length(item: Any) -> int:
    return int(getattr(item, "length", 1))


def _text_row(trial: Trial, items: list[Any], setting: Setting) -> dict[str, Any]:
    """What is told of a trial's texts."""
    lengths = [_length(item) for item in items]
    begun = any(getattr(item, "source", None) is not None and item.source.roles[:1] == ("cls",) for item in items)
    return {
        "key": trial.key, "title": trial.title, "texts": len(items), "unit": trial.unit, "pieces": sum(lengths),
        "longest": max(lengths, default=0), "begun": begun,
    }  # fmt: skip
