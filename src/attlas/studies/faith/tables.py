"""The tables of attention as explanation, from what the parts of a run have written down."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attlas.store.columns import as_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from attlas.ids import Site
    from attlas.studies.faith.agreement import Pair
    from attlas.studies.faith.explaining import Explained
    from attlas.studies.faith.explanations import Named
    from attlas.studies.faith.interventions import Intervened
    from attlas.studies.faith.margins import Margin
    from attlas.studies.faith.middles import Middle
    from attlas.studies.shared.faith.adversary import Adversarial
    from attlas.studies.shared.faith.instances import Instance, Labelling
    from attlas.studies.shared.faith.last import Own

    Numbers = NDArray[np.float64]

SHOWN = 6  # instances that are shown word by word
LONGEST = 24  # words of one, where there are enough that are shorter
MOST_PIECES = 128  # of one whose whole attention is kept to be shown
Row = dict[str, Any]


@dataclass
class Measured:
    """What the parts of a run have written down."""

    task: Labelling
    instances: list[Instance]
    texts: list[int]
    units: list[int]
    chosen: Named
    seed: int
    explained: Explained
    lost: Any
    changed: Intervened
    adversary: Adversarial
    adversaries: Mapping[str, Any]


def faith_tables(measured: Measured) -> dict[str, Any]:
    """All tables of the study: agreement first, and the card, which is made of the others."""
    from attlas.studies.faith.agreement import agreement_rows, erasure_rows, pairs_of
    from attlas.studies.faith.card import card_rows
    from attlas.studies.faith.interventions import intervention_rows

    explained, texts, units, seed = measured.explained, measured.texts, measured.units, measured.seed
    pairs = pairs_of(explained)
    instances = _instances(measured, pairs)
    examples, shown = _examples(measured, shown_instances(instances))
    tables: dict[str, Any] = {
        "agreement": agreement_rows(pairs, explained.real, units),
        "erasure": erasure_rows(explained.names, measured.lost, units),
        "interventions": intervention_rows(measured.task.metric, measured.changed, texts, units, seed=seed),
        "instances": as_columns(instances),
        "examples": as_columns(examples),
        "whole": as_columns([_whole(measured)]),
    }
    rows = {name: _rows(columns) for name, columns in tables.items()}
    return {**tables, "card": card_rows(rows, _margins(measured, pairs), _medians(measured)), "shown": shown}


def _margins(measured: Measured, pairs: Mapping[tuple[Named, str], Pair]) -> dict[str, Margin]:
    """How far every figure of the card is from its bar."""
    from attlas.studies.faith import margins
    from attlas.studies.faith.agreement import over_random
    from attlas.studies.faith.explanations import Named
    from attlas.studies.faith.interventions import Intervention

    draws = margins.Resamples(measured.units, seed=measured.seed)
    gradient, names = Named("gradient"), measured.explained.names
    peers = pairs[gradient, "leave-one-out"].tau.mean(0)
    found = {
        f"tau_{against.replace('-', '_')}": margins.tau_margin(
            draws, pairs[measured.chosen, against].tau.mean(0), peers
        )
        for against in ("gradient", "leave-one-out")
    }
    found["comprehensiveness"] = margins.erased_margin(
        draws, *(over_random(names, measured.lost, name) for name in (measured.chosen, gradient))
    )
    values = _card_values(measured)
    for name, bar in (("permuted", margins.MOVED), ("adversary", margins.FAR)):
        if name in values:
            found[name] = margins.median_margin(*values[name], bar, above=name == "permuted")
    layers = "all" if measured.chosen.layers == "all" else "last"
    done = measured.changed.done
    places = [place for place, one in enumerate(done) if one.kind == "evened model"]
    places += [place for place, one in enumerate(done) if one == Intervention("uniform", layers)]
    for place in places[:1]:
        found["uniform"] = _needed(measured, place)
    return found


def _needed(measured: Measured, place: int) -> Margin:
    """How far what an intervention costs is from what attention should be worth."""
    from attlas.studies.faith.interventions import marks_by_unit
    from attlas.studies.faith.margins import needed_margin

    frequent = _frequent(measured)
    columns = [measured.changed.marks[:, 0], measured.changed.marks[:, place + 1]]
    columns += [] if frequent is None else [frequent]
    whole = np.concatenate(columns, 1)
    by_unit = marks_by_unit(whole, measured.texts, measured.units)
    parts = np.split(by_unit, np.cumsum([column.shape[1] for column in columns])[:-1], axis=1)
    return needed_margin(measured.task.metric, *parts, seed=measured.seed)


def _medians(measured: Measured) -> dict[str, Middle]:
    """The figures of the card that are medians of instances."""
    from attlas.studies.faith.middles import median_over_units

    return {name: median_over_units(*values) for name, values in _card_values(measured).items()}


def _card_values(measured: Measured) -> dict[str, tuple[Numbers, list[int]]]:
    """Of these, the values of instances, and the units of the instances: TVD with shuffled attention, and how far
    adversaries within the bound have got, of ln 2."""
    values = {
        "adversary": np.where(measured.adversaries["within"] > 0, measured.adversaries["jsd"] / math.log(2), np.nan)
    }
    moved = [np.nan if value is None else value for value in _changed(measured, "permuted")]
    values["permuted"] = np.array(moved, dtype=np.float64)
    known = {name: np.isfinite(numbers) for name, numbers in values.items()}
    return {
        name: (numbers[known[name]], [measured.units[at] for at in np.flatnonzero(known[name])])
        for name, numbers in values.items()
        if known[name].any()
    }


def _whole(measured: Measured) -> Row:
    """What the model does by itself on the texts of the instances, and what attention is meant."""
    from attlas.stats import compare
    from attlas.studies.faith.interventions import marks_by_unit

    marks = marks_by_unit(measured.explained.marks, measured.texts, measured.units)
    found = compare(measured.task.metric, marks, marks[None], seed=measured.seed, shuffles=1)
    return {
        "task": measured.task.name, "metric": measured.task.metric.name, "better": measured.task.metric.better,
        "score": found.whole, "score_low": found.score_low[0], "score_high": found.score_high[0],
        "chance_score": _chance(measured), "n": len(measured.instances),
        "texts": len(set(measured.texts)),
        "layers": measured.chosen.layers, "heads": measured.chosen.heads, "attention": _said(measured),
        "integration_error": float(measured.explained.facts["gap"].mean()),
    }  # fmt: skip


def _said(measured: Measured) -> str:
    """The attention that is meant, in words."""
    from attlas.studies.shared.faith.instances import describe_rows, sites_of

    rows, count = describe_rows(measured.task, measured.instances), len(sites_of(measured.task))
    layers, heads = measured.chosen.layers, measured.chosen.heads
    of_heads = "the mean over all heads" if heads == "mean" else f"head {int(heads) + 1}"
    if layers == "all":
        return f"weights, {of_heads} and all {count} layers: the last at {rows}, those below at all pieces"
    layer = count if layers == "last" else int(layers) + 1
    return f"weights, {of_heads} of layer {layer} of {count}, at {rows if layer == count else 'all pieces'}"


def _chance(measured: Measured) -> float | None:
    """The score that one gets without a model; None where there is no such thing."""
    from attlas.run.chance import chance_of

    first = np.unique(measured.texts, return_index=True)[1]
    examples = [measured.instances[at].example for at in first]
    chance = chance_of(measured.task, examples, seed=measured.seed)
    return None if chance is None else float(measured.task.metric.score(chance) if np.ndim(chance) else chance)


def _frequent(measured: Measured) -> Numbers | None:
    """For the text of every instance, how often the most frequent label of all is right, and of how many labels,
    (instance, 2); None for scores that have no such thing."""
    from attlas.tasks.tagging import wordwise

    if measured.task.metric.name != "accuracy":
        return None
    counts: dict[int, Counter[str]] = {}
    for text, instance in zip(measured.texts, measured.instances, strict=True):
        if text not in counts:
            example = instance.example
            labels = [example.passage.first.label or ""]
            if measured.task.name != "classification":
                labels = [tag for tag in wordwise(example, measured.task.name.split(":")[1]) if tag]
            counts[text] = Counter(labels)
    total: Counter[str] = sum(counts.values(), Counter())
    label = max(total, key=lambda name: total[name])
    return np.array([[counts[text][label], counts[text].total()] for text in measured.texts], dtype=np.float64)


def _instances(measured: Measured, pairs: Mapping[tuple[Named, str], Pair]) -> list[Row]:
    """One row for each instance."""
    names = tuple(getattr(measured.task, "tags", measured.task.subject.labels))
    facts, adversaries = measured.explained.facts, measured.adversaries
    label, predicted = (facts[name].astype(int) for name in ("label", "predicted"))
    columns = {
        "text": measured.texts, "place": [instance.place for instance in measured.instances],
        "words": measured.explained.real.sum(1).tolist(), "label": [names[at] for at in label],
        "predicted": [names[at] for at in predicted], "confidence": facts["confidence"],
        "right": (label == predicted).tolist(), "largest": facts["largest"],
        "permuted": _changed(measured, "permuted"), "uniform": _changed(measured, "uniform"),
        "adversary_jsd": adversaries["jsd"],
        "adversary_tvd": adversaries["tvd"], "adversary_within": adversaries["within"].astype(bool).tolist(),
        "tau_gradient": pairs[measured.chosen, "gradient"].tau[0],
        "tau_leave_one_out": pairs[measured.chosen, "leave-one-out"].tau[0],
    }  # fmt: skip
    return _rows(columns)


def _changed(measured: Measured, kind: str) -> Sequence[float | None]:
    """The TVD of every instance under an intervention at the layers that are meant; at the last where one layer by
    itself is, or where there is but one."""
    wanted = measured.changed.column(kind, "all" if measured.chosen.layers == "all" else "last")
    found = measured.changed.column(kind) if wanted is None else wanted
    return [None] * len(measured.instances) if found is None else found.tolist()


def shown_instances(rows: Sequence[Row], most: int = SHOWN, longest: int = LONGEST) -> list[int]:
    """The instances that are shown word by word: those whose adversaries went furthest, and typical ones, whose
    agreement with gradients is nearest to the median; short texts where there are enough of them.

    >>> shown_instances([{"words": 5, "tau_gradient": tau} for tau in (0.1, 0.9, 0.3)], most=2)
    [0, 2]
    """
    short = [number for number, row in enumerate(rows) if row["words"] <= longest]
    among = short if len(short) >= most else list(range(len(rows)))
    strong = [number for number in among if rows[number].get("adversary_within")]
    strong = sorted(strong, key=lambda number: (-rows[number]["adversary_jsd"], number))[: most // 2]
    known = [row["tau_gradient"] for row in rows if np.isfinite(row["tau_gradient"])]
    middle = float(np.median(known)) if known else 0.0
    rest = [number for number in among if number not in strong]
    typical = sorted(rest, key=lambda number: (abs(np.nan_to_num(rows[number]["tau_gradient"]) - middle), number))
    return [*strong, *sorted(typical[: most - len(strong)])]


def _examples(measured: Measured, numbers: Sequence[int]) -> tuple[list[Row], dict[str, list[Any]]]:
    """The words of some instances with what each explanation says of them, the model's own attention and its
    adversary's; and the whole attention of those that are not too long."""
    from attlas.studies.faith.explanations import REFERENCES, Named
    from attlas.studies.faith.shown import shown_rows, spelled
    from attlas.studies.shared.faith.adversary import adversaries
    from attlas.studies.shared.faith.instances import ask

    names = [Named(kind, measured.chosen.layers, measured.chosen.heads) for kind in ("weight", "norm")]
    names += [Named("rollout", "all", "mean"), *map(Named, REFERENCES)]
    explained = measured.explained
    columns = {name.explanation: explained.names.index(name) for name in names if name in explained.names}
    model, search = measured.adversary.model, measured.adversary.search
    own = model.record(ask(measured.task, [measured.instances[number] for number in numbers]))
    adversary = adversaries(model, own, search)
    texts = [measured.texts[number] for number in numbers]
    kept = [own.asked.instances[at].example.length <= MOST_PIECES for at in range(len(numbers))]
    shown = [row for row, short in zip(shown_rows(model, own, adversary, texts), kept, strict=True) if short]
    before, after = (_on_words(own, each, search.head) for each in (own.weights, adversary.weights))
    rows = []
    for at, number in enumerate(numbers):
        instance = measured.instances[number]
        words = spelled(instance.example)
        for word in np.flatnonzero(explained.real[number]):
            values = {kind: explained.values[number, place, word] for kind, place in columns.items()}
            where = {"text": texts[at], "place": instance.place, "word": int(word), "spelled": words[word]}
            rows.append({**where, **values, "own": before[at][word], "adversary": after[at][word]})
    return rows, as_columns(shown)


def _on_words(own: Own, weights: Mapping[Site, Tensor], head: int | None) -> list[list[float]]:
    """Weights of instances on their words: the mean over sites, rows and heads, or of one head."""
    import torch

    from attlas.studies.faith.explanations import to_words

    some = slice(None) if head is None else slice(head, head + 1)
    means = []
    for site, given in weights.items():
        there = own.rows[site].there[:, None, :, None].to(given.dtype)
        means.append(((given[:, some] * there).sum(2) / there.sum(2)).mean(1))
    values: list[list[float]] = to_words(own.asked, torch.stack(means).mean(0).float()).tolist()
    return values


def _rows(columns: Mapping[str, Sequence[Any]]) -> list[Row]:
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
