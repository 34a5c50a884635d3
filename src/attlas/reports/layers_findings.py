"""What the probes of layers found, in sentences a person can read, each with what was published beside it.

:class:`Picture` finds numbers in the tables by task and measure, and puts the tasks in the order of their expected
layer; the findings are written from it and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from html import escape
from itertools import combinations
from statistics import fmean
from typing import Any, NamedTuple

from attlas.reports.findings import Finding, is_number
from attlas.reports.tables import ends, percent
from attlas.studies.shared.published import PIPELINE, PIPELINE_LAYERS, PIPELINE_MODEL

Row = Mapping[str, Any]
Rows = Sequence[Row]

NAMES = {
    "pos": "part of speech",
    "constituents": "constituents",
    "dependencies": "dependencies",
    "entities": "entities",
    "roles": "semantic roles",
    "coreference": "coreference",
    "proto-roles": "proto-roles",
    "relations": "relations",
}
ALIKE = 0.03  # nats, within which two means of K are called alike
SYNTAX, SEMANTICS = ("pos", "constituents", "dependencies"), ("roles", "coreference", "proto-roles", "relations")


class Known(NamedTuple):
    """A number of a task with the ends of its interval, if it has one, and the number of seeds.

    >>> str(Known(3.14, 3.0, 3.3))
    '3.1 (3.0–3.3)'
    """

    value: float
    low: float | None = None
    high: float | None = None
    seeds: int = 1

    def __str__(self) -> str:
        known = self.low is not None and self.high is not None
        span = f" ({ends(f'{self.low:.1f}', f'{self.high:.1f}')})" if known else ""
        return f"{self.value:.1f}".replace("-", "−") + span


class Picture:
    """The numbers of a result, found by task, measure, model and labels.

    >>> row = {"task": "pos", "model": "trained", "labels": "gold", "measure": "expected layer", "value": 3.4, "n": 1}
    >>> picture = Picture({"tasks": [row | {"low": None, "high": None}]})
    >>> picture.tasks, picture.of("pos", "expected layer").value
    (['pos'], 3.4)
    """

    def __init__(self, rows: Mapping[str, Rows]) -> None:
        self.rows = rows
        self._known = {
            (row["task"], row["measure"], row["model"], row["labels"]): Known(
                row["value"], row["low"], row["high"], row["n"]
            )
            for row in rows["tasks"]
            if is_number(row["value"])
        }

    def of(self, task: str, measure: str, model: str = "trained", labels: str = "gold") -> Known | None:
        """A number; None where it was not measured.

        >>> Picture({"tasks": []}).of("pos", "score") is None
        True
        """
        return self._known.get((task, measure, model, labels))

    def place(self, task: str, model: str = "trained", labels: str = "gold") -> Known | None:
        """The expected layer; None where further layers add nothing that can be told from chance, or where losses
        push it out of the model, since a mean over such gains is no place.

        >>> row = {"task": "pos", "model": "trained", "labels": "gold", "low": -0.1, "high": 0.3, "n": 1}
        >>> rows = [row | {"measure": "expected layer", "value": 3.4}, row | {"measure": "gain", "value": 0.1}]
        >>> Picture({"tasks": rows}).place("pos") is None
        True
        """
        gain = self.of(task, "gain", model, labels)
        if gain is not None and (gain.value <= 0 or (gain.low is not None and gain.low <= 0)):
            return None
        known = self.of(task, "expected layer", model, labels)
        return None if known is None or not 0 <= known.value <= (self.layers or known.value) else known

    @cached_property
    def tasks(self) -> list[str]:
        """The tasks in the order of their expected layer; those that have none come last.

        >>> Picture({"tasks": []}).tasks
        []
        """
        names = list(dict.fromkeys(row["task"] for row in self.rows["tasks"]))
        at = {name: self.place(name) for name in names}
        return sorted(names, key=lambda name: float("inf") if (known := at[name]) is None else known.value)

    @cached_property
    def layers(self) -> int:
        """How many layers the model has: the number of the last.

        >>> Picture({"tasks": []}).layers
        0
        """
        return max((int(row["layer"]) for row in self.rows.get("scores", ())), default=0)

    @cached_property
    def first(self) -> int:
        """The number of the first layer: 0, what the model reads, or 1 where heads were mixed.

        >>> Picture({"tasks": []}).first
        0
        """
        return min((int(row["layer"]) for row in self.rows.get("scores", ())), default=0)

    @cached_property
    def heads(self) -> int:
        """How many heads a layer has where heads were mixed, else 0.

        >>> Picture({"tasks": []}).heads
        0
        """
        return max(
            (1 + int(row["head"]) for row in self.rows.get("weights", ()) if row["head"] is not None), default=0
        )

    def seeds(self, task: str) -> int:
        """How many seeds the model's own probes were trained with.

        >>> Picture({"tasks": []}).seeds("pos")
        0
        """
        known = self.of(task, "score")
        return 0 if known is None else known.seeds


class Order(NamedTuple):
    """How an order of tasks agrees with the published one: pairs of tasks, those in the same order, those whose
    intervals are apart, and of these the ones in the same order; and the pairs that are turned round.

    >>> Order(3, 3, 2, 2, ()).tau
    1.0
    """

    pairs: int
    same: int
    apart: int
    apart_same: int
    turned: tuple[tuple[str, str], ...]

    @property
    def tau(self) -> float:
        """Kendall's rank correlation.

        >>> Order(4, 1, 0, 0, ()).tau
        -0.5
        """
        return (2 * self.same - self.pairs) / self.pairs


def order_of(picture: Picture, measure: str, *, across: bool = False) -> Order | None:
    """Compare the order of tasks by a measure with the published order, pair by pair: of all tasks, or with
    ``across`` of syntactic with semantic ones, where the syntactic one is to come first. None where there is no pair.

    >>> order_of(Picture({"tasks": []}), "expected layer") is None
    True
    """
    column = measure.replace(" ", "_")
    find = picture.place if measure == "expected layer" else partial(picture.of, measure=measure)
    known = {task: found for task in PIPELINE if (found := find(task)) is not None}
    pairs = same = apart = apart_same = 0
    turned = []
    for one, other in combinations(known, 2):
        if across and not (one in SYNTAX and other in SEMANTICS):
            continue
        first, later = one, other
        if not across and getattr(PIPELINE[one], column) > getattr(PIPELINE[other], column):
            first, later = other, one
        agrees = known[first].value < known[later].value
        distinct = _apart(known[first], known[later])
        pairs, same = pairs + 1, same + agrees
        apart, apart_same = apart + distinct, apart_same + (distinct and agrees)
        if not agrees:
            turned.append((first, later))
    return Order(pairs, same, apart, apart_same, tuple(turned)) if pairs else None


def findings(picture: Picture) -> list[Finding]:
    """What was found; a finding whose numbers are not there is left out.

    >>> findings(Picture({"tasks": []}))
    []
    """
    makers = (_places, _nowhere, _published_order, _syntax_first, _spread, _gain, _twin, _selectivity, _single)
    return [finding for maker in makers if (finding := maker(picture)) is not None]


def name_of(task: str) -> str:
    """A task's name to read, as HTML.

    >>> name_of("pos"), name_of("<x>")
    ('part of speech', '&lt;x&gt;')
    """
    return escape(NAMES.get(task, task))


def _places(picture: Picture) -> Finding | None:
    known = [(task, at) for task in picture.tasks if (at := picture.place(task)) is not None]
    if not known:
        return None
    told = ", ".join(
        f"{NAMES[task]} {PIPELINE[task].expected_layer:.1f}"
        for task in sorted(PIPELINE, key=lambda task: PIPELINE[task].expected_layer)
        if any(task == one for one, _ in known)
    )
    beside = f"of {PIPELINE_LAYERS} layers, {PIPELINE_MODEL}: {told}" if told else ""
    if len(known) == 1:
        task, at = known[0]
        centre = picture.of(task, "centre of gravity")
        listens = "" if centre is None else f"; the probe over all layers listens around layer {centre}"
        text = (
            f"The score for {name_of(task)} rises around layer <b>{at.value:.1f}</b>{_ends(at)} of "
            f"{picture.layers}{listens}."
        )
        return Finding(text, beside)
    listed = ", ".join(f"{name_of(task)} <b>{at.value:.1f}</b>{_ends(at)}" for task, at in known)
    text = f"From early to late, by the layer at which the score rises (of {picture.layers}): {listed}."
    return Finding(text, beside)


def _nowhere(picture: Picture) -> Finding | None:
    lost = [name_of(task) for task in picture.tasks if picture.of(task, "gain") and not picture.place(task)]
    if not lost:
        return None
    return Finding(
        f"For {' and '.join(lost)} the layers add nothing that can be told from chance: no place is given."
    )


def _published_order(picture: Picture) -> Finding | None:
    order = order_of(picture, "expected layer")
    if order is None or order.pairs < 2:
        return None
    sure = (
        f" Of the {order.apart} whose intervals are apart, {order.apart_same} do."
        if order.apart
        else " No two of them have intervals that are apart."
    )
    text = (
        f"Of {order.pairs} pairs of tasks, <b>{order.same}</b> stand in the published order by expected layer "
        f"(Kendall's τ {_signed(order.tau)}).{sure}"
    )
    centre = order_of(picture, "centre of gravity")
    if centre is not None:
        text += f" By centre of gravity it is {centre.same} of {centre.pairs} (τ {_signed(centre.tau)})."
    return Finding(text)


def _syntax_first(picture: Picture) -> Finding | None:
    order = order_of(picture, "expected layer", across=True)
    if order is None or order.pairs < 2:
        return None
    turned = "; ".join(
        f"{name_of(first)} ({_at(picture, first)}) comes after {name_of(later)} ({_at(picture, later)})"
        for first, later in order.turned[:4]
    )
    more = f" and {len(order.turned) - 4} more" if len(order.turned) > 4 else ""
    verdict = (
        "<b>Syntax comes before semantics</b> throughout"
        if not order.turned
        else "<b>Syntax mostly comes before semantics</b>"
        if order.same > 0.75 * order.pairs
        else "<b>Syntax does not clearly come before semantics</b>"
        if order.same >= 0.25 * order.pairs
        else "<b>Syntax comes after semantics</b>"
    )
    text = (
        f"{verdict}: in {order.same} of {order.pairs} pairs of a syntactic task (part of speech, constituents, "
        f"dependencies) and a semantic one (roles, coreference, proto-roles, relations) the syntactic one has the "
        f"lower expected layer{f', but {turned}{more}' if turned else ''}."
    )
    return Finding(text, f"all {order.pairs} of these pairs ({PIPELINE_MODEL})")


def _spread(picture: Picture) -> Finding | None:
    """Whether syntax is local and semantics spread, by how far gains and weights are from uniform."""
    said, more = [], []
    for measure, what in (("K(D)", "gains"), ("K(s)", "mixing weights")):
        sides = [
            [known.value for task in group if (known := picture.of(task, measure)) is not None]
            for group in (SYNTAX, SEMANTICS)
        ]
        if all(sides):
            syntax, semantics = (fmean(side) for side in sides)
            more.append(syntax - semantics)
            said.append(
                f"for {what} {measure} is <b>{syntax:.2f}</b> in syntax and <b>{semantics:.2f}</b> in semantics"
            )
    if not said:
        return None
    verdict = "Whether syntax is more local depends on the measure"
    if max(map(abs, more)) < ALIKE:
        verdict = "Neither syntax nor semantics is more local"
    elif min(more) > -ALIKE:
        verdict = "Syntax is the more local"
    elif max(more) < ALIKE:
        verdict = "Semantics is the more local"
    text = f"<b>{verdict}</b>: {'; '.join(said)} (mean of the tasks; the larger, the more in a few layers)."
    return Finding(text, "syntax is local, semantics is spread over layers")


def _gain(picture: Picture) -> Finding | None:
    known = [(task, gain) for task in picture.tasks if (gain := picture.of(task, "gain")) is not None]
    if not known:
        return None
    most, least = max(known, key=lambda pair: pair[1].value), min(known, key=lambda pair: pair[1].value)

    def said(task: str, gain: Known) -> str:
        base, score = picture.of(task, "score at layer 0"), picture.of(task, "score")
        ends = f", {percent(base.value)} to {percent(score.value)}" if base is not None and score is not None else ""
        return f"{name_of(task)} (<b>{_points(gain.value)}</b>{ends})"

    text = (
        f"All layers together are better than layer {picture.first} by {said(*most)} points of F1."
        if len(known) == 1
        else f"Layers above {picture.first} bring most to {said(*most)} and least to {said(*least)}, in points of F1."
    )
    told = ", ".join(
        f"{NAMES[task]} {_points(PIPELINE[task].score - PIPELINE[task].base)}"
        for task in dict.fromkeys((most[0], least[0]))
        if task in PIPELINE
    )
    return Finding(text, f"{told} ({PIPELINE_MODEL}, dev)" if told else "")


def _twin(picture: Picture) -> Finding | None:
    known = [
        (task, whole.value - twin.value, twin)
        for task in picture.tasks
        if (whole := picture.of(task, "score")) is not None
        and (twin := picture.of(task, "score", "untrained")) is not None
    ]
    if not known:
        return None
    task, lead, twin = min(known, key=lambda found: found[1])
    if len(known) == 1:
        text = (
            f"The same probes on the untrained twin reach {percent(twin.value)}: {_points(lead)} points are learned."
        )
        return Finding(text)
    text = (
        f"The same probes on the untrained twin stay <b>{fmean(found[1] for found in known) * 100:.1f}</b> points "
        f"below on average, the least for {name_of(task)} ({_points(lead)}; the twin has {percent(twin.value)}). "
        "What it has, words and positions alone give away."
    )
    return Finding(text)


def _selectivity(picture: Picture) -> Finding | None:
    known = [(task, found) for task in picture.tasks if (found := picture.of(task, "selectivity")) is not None]
    if not known:
        return None
    task, least = min(known, key=lambda pair: pair[1].value)
    control = picture.of(task, "score", labels="control")
    by_heart = "" if control is None else f", where control labels are told at {percent(control.value)}"
    listed = f"<b>{_points(least.value)}</b> points{_ends(least, 100)}"
    text = (
        f"Selectivity, gold less control labels, is {listed}{by_heart}."
        if len(known) == 1
        else f"Selectivity, gold less control labels, is {100 * fmean(found.value for _, found in known):.1f} points "
        f"on average and least for {name_of(task)}: {listed}{by_heart}."
    )
    return Finding(text)


def _single(picture: Picture) -> Finding | None:
    known = [
        (task, best, score, whole)
        for task in picture.tasks
        if (best := picture.of(task, "best single layer")) is not None
        and (score := picture.of(task, "score of it")) is not None
        and (whole := picture.of(task, "score")) is not None
    ]
    if not known:
        return None
    listed = ", ".join(
        f"{name_of(task)} {best.value:.0f} ({_points(score.value - whole.value)})"
        for task, best, score, whole in known
    )
    return Finding(
        f"The best layer alone, chosen on dev, and how it scores against the mix of all, in points: {listed}."
    )


def _apart(one: Known, other: Known) -> bool:
    """Whether two intervals have nothing in common."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.high < other.low or other.high < one.low


def _at(picture: Picture, task: str) -> str:
    known = picture.place(task)
    return "" if known is None else f"{known.value:.2f}"


def _ends(known: Known, times: int = 1) -> str:
    if known.low is None or known.high is None:
        return ""
    return f" ({ends(f'{times * known.low:.1f}', f'{times * known.high:.1f}')})"


def _points(value: float) -> str:
    return f"{100 * value:+.1f}".replace("-", "−")


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")
