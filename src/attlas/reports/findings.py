"""What a survey found, in sentences a person can read.

Each function looks at one stream of the survey and writes one finding, or nothing where the numbers for it are not
there. Numbers in the sentences are computed from the tables and nothing else; what was published about
bert-base-uncased stands beside them, marked as such, for encoders only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any, NamedTuple

from attlas.ids import paper_label

Row = Mapping[str, Any]
Place = tuple[int, int]

CLARK = "bert-base-uncased, Clark et al. 2019"
KOBAYASHI = "BERT-base, Kobayashi et al. 2020"
NAMES = {
    "previous": "the previous piece",
    "next": "the next piece",
    "first": "the first piece",
    "cls": "[CLS]",
    "sep": "[SEP]",
}
_COUNTS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve")


class Finding(NamedTuple):
    """One finding: a sentence or two of HTML, and what was published for comparison.

    >>> Finding("Three heads.").published
    ''
    """

    text: str
    published: str = ""


class Reading(NamedTuple):
    """A number of one head, what chance would give, and the number on either half of the passages.

    >>> Reading(0.97, None).chance is None
    True
    """

    value: float
    chance: float | None
    first_half: float | None = None
    second_half: float | None = None


class Numbers:
    """The numbers of a survey, found by stream, quantity and measure.

    >>> row = {"stream": "encoder", "layer": 2, "head": 0, "measure": "weight", "quantity": "previous", "value": 0.97}
    >>> numbers = Numbers([row])
    >>> numbers.of("encoder", "previous")
    {(2, 0): Reading(value=0.97, chance=None, first_half=None, second_half=None)}
    """

    def __init__(self, heads: Iterable[Row], spearman: Iterable[Row] = (), frequency: Iterable[Row] = ()) -> None:
        self._heads: dict[tuple[str, str, str], dict[Place, Reading]] = {}
        for row in heads:
            if is_number(row["value"]):
                key = (row["stream"], row["quantity"], row["measure"])
                chance = row.get("chance")
                halves = (row.get("first_half"), row.get("second_half"))
                known = [half if is_number(half) else None for half in (chance, *halves)]
                reading = Reading(row["value"], *known)
                self._heads.setdefault(key, {})[row["layer"], row["head"]] = reading
        self.spearman = [row for row in spearman if is_number(row["value"])]
        self.frequency = [row for row in frequency if is_number(row["value"])]

    def of(self, stream: str, quantity: str, measure: str = "weight") -> dict[Place, Reading]:
        """The readings of all heads of a stream; empty where there are none.

        >>> Numbers([]).of("encoder", "sep")
        {}
        """
        return self._heads.get((stream, quantity, measure), {})


def findings(numbers: Numbers, stream: str, most: int = 6) -> list[Finding]:
    """The findings about a stream, those first that a reader would ask for first.

    >>> findings(Numbers([]), "encoder")
    []
    """
    makers = (_neighbours, _resting_place, _lengths, _edges, _breadth, _reach)
    found = [maker(numbers, stream) for maker in makers]
    shown = [finding for finding in found if finding is not None][:most]
    return shown if stream == "encoder" else [Finding(finding.text) for finding in shown]


def is_number(value: object) -> bool:
    """Whether a value of a table is a number and not missing.

    >>> is_number(0.5), is_number(None), is_number(float("nan"))
    (True, False, False)
    """
    return isinstance(value, int | float) and math.isfinite(value)


def figure(value: float, digits: int = 2) -> str:
    """Write a number as the papers do, without the zero before the point.

    >>> figure(0.968), figure(-0.3), figure(3.891), figure(12.04, 1), figure(0.999)
    ('.97', '−.30', '3.89', '12.0', '1.00')
    """
    text = f"{abs(value):.{digits}f}"
    text = text[1:] if text.startswith("0.") else text
    return f"−{text}" if value < 0 and text.strip(".0") else text


def number(value: float | None) -> str:
    """A score or a loss, with as many digits as it bears.

    >>> number(0.91234), number(36.054), number(134.2), number(None)
    ('.912', '36.05', '134.2', '')
    """
    if value is None:
        return ""
    digits = 3 if abs(value) < 1 else 2 if abs(value) < 100 else 1
    text = f"{abs(value):.{digits}f}"
    return ("−" if value < 0 else "") + (text[1:] if text.startswith("0.") else text)


def layers_in_words(layers: Sequence[int]) -> str:
    """Name a run of layers, counted from one.

    >>> layers_in_words([5, 6, 7]), layers_in_words([0])
    ('layers 6–8', 'layer 1')
    """
    return f"layer {layers[0] + 1}" if len(layers) == 1 else f"layers {layers[0] + 1}–{layers[-1] + 1}"


def by_layer(readings: Mapping[Place, Reading]) -> dict[int, float]:
    """Mean over heads, layer by layer.

    >>> by_layer({(0, 0): Reading(0.2, None), (0, 1): Reading(0.4, None)})[0]
    0.3...
    """
    layers: dict[int, list[float]] = {}
    for (layer, _), reading in sorted(readings.items()):
        layers.setdefault(layer, []).append(reading.value)
    return {layer: fmean(values) for layer, values in layers.items()}


def longest_run(layers: Iterable[int]) -> list[int]:
    """The longest run of layers that follow each other; the earlier one of two equals.

    >>> longest_run([0, 4, 5, 6, 9])
    [4, 5, 6]
    """
    best: list[int] = []
    run: list[int] = []
    for layer in sorted(layers):
        run = [*run, layer] if run and layer == run[-1] + 1 else [layer]
        if len(run) > len(best):
            best = run
    return best


def best(readings: Mapping[Place, Reading], sign: int = 1) -> tuple[Place, Reading]:
    """The head with the most (or, with -1, the least): chosen on one half of the passages, its number from the other.

    Without halves, both come from all passages.

    >>> best({(0, 0): Reading(0.8, None, 0.9, 0.7), (0, 1): Reading(0.8, None, 0.7, 0.9)})
    ((0, 0), Reading(value=0.7, chance=None, first_half=0.9, second_half=0.7))
    """
    halved = all(r.first_half is not None and r.second_half is not None for r in readings.values())

    def rank(place: Place) -> float:
        first = readings[place].first_half
        return sign * (first if halved and first is not None else readings[place].value)

    place = max(readings, key=rank)
    reading = readings[place]
    second = reading.second_half
    return place, reading._replace(value=second) if halved and second is not None else reading


def _chance(readings: Mapping[Place, Reading]) -> float | None:
    known = [reading.chance for reading in readings.values() if reading.chance is not None]
    return fmean(known) if known else None


def _named(ranked: Sequence[tuple[Place, Reading]], unit: str = "", most: int = 5) -> str:
    named = ", ".join(
        f"<b>{paper_label(*place)}</b> ({figure(reading.value)}{unit})" for place, reading in ranked[:most]
    )
    return named + (f" and {len(ranked) - most} more" if len(ranked) > most else "")


def _neighbours(numbers: Numbers, stream: str) -> Finding | None:
    sentences: list[str] = []
    chances: list[str] = []
    for quantity in ("previous", "next"):
        readings = numbers.of(stream, quantity)
        if not readings:
            continue
        ranked = sorted(readings.items(), key=lambda item: -item[1].value)
        over = [item for item in ranked if item[1].value > 0.5]
        count = _COUNTS[len(over)] if len(over) < len(_COUNTS) else str(len(over))
        there = f"the {quantity} one" if sentences else NAMES[quantity]
        if over:
            plural = "head puts" if len(over) == 1 else "heads put"
            whose = "its" if len(over) == 1 else "their"
            clause = f"{count} {plural} more than half of {whose} attention on {there}: {_named(over)}"
        else:
            clause = (
                f"No head puts more than half of its attention on {there}; the most is {_named([best(readings)])}"
            )
        sentences.append(clause)
        chance = _chance(readings)
        chances += [] if chance is None else [figure(chance, 3)]
    if not sentences:
        return None
    text = ". ".join(sentences) + "."
    if chances and len(chances) == len(sentences):
        there = "there" if len(chances) == 1 else "on either" if len(set(chances)) == 1 else "there, respectively"
        text += f" Uniform attention would put {' and '.join(dict.fromkeys(chances))} {there}."
    published = "4 heads over half on the previous piece (layers 2, 4, 7, 8), 5 on the next (layers 1, 2, 2, 3, 6)"
    return Finding(text, f"{CLARK}: {published}")


def _resting_place(numbers: Numbers, stream: str) -> Finding | None:
    """The piece on which attention rests: whichever of [SEP], [CLS] and the first piece has the most in any layer."""
    means = {name: by_layer(numbers.of(stream, name)) for name in ("sep", "cls", "first")}
    quantity = max(means, key=lambda name: max(means[name].values(), default=0.0))
    weights = means[quantity]
    if not weights:
        return None
    norms = by_layer(numbers.of(stream, quantity, "norm"))
    run = longest_run(layer for layer, mean in weights.items() if mean > 0.5)
    layers = run or [max(weights, key=lambda layer: weights[layer])]
    weight = fmean(weights[layer] for layer in layers)
    name = NAMES[quantity].capitalize() if quantity == "first" else NAMES[quantity]
    where = f"in {layers_in_words(layers)}" if run else f"at most, in {layers_in_words(layers)}"
    text = f"{name} takes <b>{figure(weight)}</b> of the weight {where}"
    if all(layer in norms for layer in layers):
        norm = fmean(norms[layer] for layer in layers)
        text += f", {'but only' if norm < weight / 2 else 'and'} <b>{figure(norm)}</b> of the norm"
    chance = _chance(numbers.of(stream, quantity))
    text += "." if chance is None else f"; uniform attention would give it {figure(chance)}."
    own = by_layer(numbers.of(stream, "sep_to_sep"))
    if quantity == "sep" and all(layer in own for layer in layers):
        text += f" [SEP] itself puts {figure(fmean(own[layer] for layer in layers))} on [SEP] there."
    published = "over half of the attention of layers 6–10 goes to [SEP]; [SEP] puts over .90 on [SEP]"
    return Finding(text, f"{CLARK}: {published}")


def _breadth(numbers: Numbers, stream: str) -> Finding | None:
    readings = numbers.of(stream, "entropy")
    if not readings:
        return None
    means = by_layer(readings)
    broad, narrow = max(means, key=lambda layer: means[layer]), min(means, key=lambda layer: means[layer])
    chance = _chance(readings)
    against = "" if chance is None else f", where uniform attention has {figure(chance)}"
    ends = [_named([best(readings)], " nats"), _named([best(readings, -1)])]
    text = f"The broadest head is {ends[0]}{against}; the most focused is {ends[1]}."
    if len(means) > 1:
        text += f" Layer {broad + 1} is the broadest ({figure(means[broad])} on average)"
        text += f" and layer {narrow + 1} the most focused ({figure(means[narrow])})."
    own = by_layer(numbers.of(stream, "entropy_cls"))
    if own:
        last = max(own)
        text += f" From [CLS], the last layer's entropy is {figure(own[last])} nats."
    return Finding(
        text, f"{CLARK}: last-layer entropy from [CLS] 3.89 nats; layer 1 has heads that spread over the whole text"
    )


def _reach(numbers: Numbers, stream: str) -> Finding | None:
    readings = numbers.of(stream, "distance")
    if not readings:
        return None
    chance = _chance(readings)
    against = "" if chance is None else f" (uniform attention: {figure(chance, 1)})"
    mean = fmean(reading.value for reading in readings.values())
    extremes = (best(readings, -1), best(readings))
    ends = [(paper_label(*place), figure(reading.value, 1)) for place, reading in extremes]
    return Finding(
        f"A head looks {figure(mean, 1)} pieces away on average{against}: the nearest <b>{ends[0][0]}</b> "
        f"({ends[0][1]}), the farthest <b>{ends[1][0]}</b> ({ends[1][1]})."
    )


def _lengths(numbers: Numbers, stream: str) -> Finding | None:
    values = [row["value"] for row in numbers.spearman if row["stream"] == stream]
    if not values:
        return None
    below = sum(value < 0 for value in values)
    if median(values) >= 0:
        tendency = "much weight does not go with short vectors"
    else:
        strength = "tends" if median(values) <= -0.3 else "tends, weakly,"
        tendency = f"what gets much weight {strength} to have a short vector"
    text = (
        f"In <b>{below} of {len(values)}</b> heads, weight and ‖f(x)‖ are negatively related (median rank "
        f"correlation {figure(median(values))}): {tendency}."
    )
    bands: dict[int, list[float]] = {}
    for row in numbers.frequency:
        if row["stream"] == stream:
            bands.setdefault(row["rank_from"], []).append(row["value"])
    if len(bands) > 1 and fmean(bands[min(bands)]) > 0:
        ratio = fmean(bands[max(bands)]) / fmean(bands[min(bands)])
        text += f" The rarest words' vectors are {figure(ratio)} times as long as those of the most frequent."
    return Finding(text, f"{KOBAYASHI}: negatively related; rare words have the longer vectors")


def _edges(numbers: Numbers, stream: str) -> Finding | None:
    readings = {place: reading for place, reading in numbers.of(stream, "edges").items() if reading.chance}
    if not readings:
        return None
    place, top = best(readings)
    twice = sum(reading.value > 2 * (reading.chance or 0) for reading in readings.values())
    times = top.value / (top.chance or 1)
    return Finding(
        f"Head <b>{paper_label(*place)}</b> follows dependency edges most: {figure(top.value)} of its attention "
        f"between words, {figure(times, 1)} times chance. {twice} of {len(readings)} heads put more than twice "
        "chance there."
    )
