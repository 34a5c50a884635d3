"""Which heads of two models do the same: matched by what they do, never by number.

A head is a row of figures: those that both models have, with intervals, of the same study and quantity. A difference
counts in spreads of its figure over heads, and the less, the more of that spread is chance: a figure whose intervals
are as wide as its spread tells no heads apart and counts nothing. Directions in which heads hardly spread, which are
mostly noise, are left out (principal components of both models together). Heads are paired so that the sum of their
distances is smallest.

A pair is *matched* where the two are nearer to each other, by a tenth at least, than either is to any further head
of its own model or of the other. So a head of which a model has several alike is not matched, and no heads are where
too little tells them apart: in untrained models, or after a handful of texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from attlas.errors import StoreError
from attlas.evidence.gathering import opened_as

Place = tuple[int, int]
Row = dict[str, Any]
Numbers = NDArray[np.float64]

IN_AN_INTERVAL = 2 * 1.96  # standard errors from one end of a 95 % interval to the other
LEAST = 0.02  # a spread below this, of shares, or of the mean of what is no share, counts as this much
KEPT = 0.9  # of the spread of heads, when directions of little spread are left out
NEARER = 0.9  # of the distance from the nearest further head: as near as that two heads must be to be matched
MOST = 8  # models that are compared with each other: so many have 28 pairs
KNOWN = 0.25  # of the spread of figures must be more than chance, on average, or nothing is matched


class Profile(NamedTuple):
    """The heads of a model in one stream, and their figures with standard errors, (head, figure)."""

    heads: list[Place]
    values: Numbers
    errors: Numbers


class Match(NamedTuple):
    """A head, the head of the other model that it is paired with, how far the two are apart, how far the nearest
    further head is from either, and whether they are matched."""

    head: Place
    other: Place
    distance: float
    runner_up: float
    matched: bool


def matches(heads: pa.Table, models: pa.Table) -> list[Row]:
    """The pairs of heads of all models of an atlas, two by two, as rows of its table of matches: by what heads do,
    and by number, too, for models of one family with as many layers, as one is before and after training or pruning.
    Of more than :data:`MOST` models there are none.

    >>> from attlas.evidence.example import example
    >>> matches(example().table, example().tables["models"])
    []
    """
    shapes: dict[str, set[tuple[Any, ...]]] = {}
    families: dict[str, set[str]] = {}
    for row in models.to_pylist():
        shapes.setdefault(row["model"], set()).add((row["stream"], row["layers"]))
        families.setdefault(row["model"], set()).update(opened_as(row))
    known = [name for name in dict.fromkeys(heads["model"].to_pylist()) if name in shapes]
    if len(known) > MOST:
        return []
    figures = {name: _figures(heads, name) for name in known}
    rows: list[Row] = []
    for model, other in combinations(known, 2):
        for stream, ours, theirs in _shared(figures[model], figures[other]):
            rows += _rows(match(ours, theirs), model, other, stream, "behaviour")
            if shapes[model] == shapes[other] and families[model] & families[other]:
                rows += _rows(match_by_number(ours, theirs), model, other, stream, "number")
    return rows


def match_rows(heads: pa.Table, model: str, other: str, *, by_number: bool = False) -> list[Row]:
    """The pairs of heads of two models, stream by stream, as rows of an atlas' table of matches, from its table of
    heads. ``by_number`` pairs heads of the same number, as of one model before and after training.

    >>> from attlas.evidence.example import example
    >>> match_rows(example().table, "tiny", "large")
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: there is no model 'large' in this atlas; its models are tiny
    """
    return [
        row
        for stream, ours, theirs in profiles(heads, model, other)
        for row in _rows(
            match_by_number(ours, theirs) if by_number else match(ours, theirs),
            model, other, stream, "number" if by_number else "behaviour",
        )
    ]  # fmt: skip


def _rows(pairs: Iterable[Match], model: str, other: str, stream: str, by: str) -> Iterator[Row]:
    for (layer, head), (other_layer, other_head), distance, runner_up, matched in pairs:
        yield {
            "model": model, "other": other, "stream": stream, "layer": layer, "head": head,
            "other_layer": other_layer, "other_head": other_head, "distance": distance,
            "runner_up": runner_up if np.isfinite(runner_up) else None, "matched": matched, "by": by,
        }  # fmt: skip


def match(ours: Profile, theirs: Profile) -> list[Match]:
    """Pair heads so that the sum of distances is smallest, and say which pairs are matched; heads that are more than
    the other model has stay without a partner.

    >>> rng = np.random.default_rng(0)
    >>> values, errors = rng.uniform(size=(6, 8)), np.full((6, 8), 0.01)
    >>> order = rng.permutation(6)
    >>> pairs = match(Profile([(0, head) for head in range(6)], values, errors),
    ...               Profile([(0, int(head)) for head in order], values[order] + 0.01, errors))
    >>> all(pair.head == pair.other and pair.matched for pair in pairs)
    True
    """
    from scipy.optimize import linear_sum_assignment

    known, ours_at, theirs_at = _embedded(ours, theirs)
    between = _distances(ours_at, theirs_at)
    chosen = zip(*(side.tolist() for side in linear_sum_assignment(between)), strict=True)
    return _told(ours, theirs, chosen, between, ours_at, theirs_at, known)


def match_by_number(ours: Profile, theirs: Profile) -> list[Match]:
    """Pair heads of the same number, and say which of them are also matched by what they do.

    >>> values, errors = np.eye(4), np.full((4, 4), 0.01)
    >>> heads = [(0, head) for head in range(4)]
    >>> mirrored = Profile(heads, values[::-1], errors)
    >>> [pair.matched for pair in match_by_number(Profile(heads, values, errors), mirrored)]
    [False, False, False, False]
    """
    known, ours_at, theirs_at = _embedded(ours, theirs)
    at = {head: number for number, head in enumerate(theirs.heads)}
    same = [(number, at[head]) for number, head in enumerate(ours.heads) if head in at]
    return _told(ours, theirs, same, _distances(ours_at, theirs_at), ours_at, theirs_at, known)


def profiles(heads: pa.Table, model: str, other: str) -> Iterator[tuple[str, Profile, Profile]]:
    """The streams of two models that can be compared, with the figures that both have of every head."""
    models = list(dict.fromkeys(heads["model"].to_pylist()))
    for name in (model, other):
        if name not in models:
            raise StoreError(f"there is no model {name!r} in this atlas; its models are {', '.join(models)}")
    if model == other:
        raise StoreError(f"{model} cannot be matched with itself; name two models")
    yield from _shared(_figures(heads, model), _figures(heads, other))


_Of = dict[tuple[str, str], dict[Place, tuple[float, float]]]  # value and error by figure and head


def _figures(heads: pa.Table, model: str) -> dict[str, _Of]:
    """By stream, figure and head the values of a model that have an interval, each from its first source."""
    mask = compute.equal(heads["model"].cast(pa.string()), model)
    columns = ("stream", "study", "quantity", "layer", "head", "value", "low", "high", "source")
    cells = (column.to_pylist() for column in heads.filter(mask).select(columns).columns)
    streams: dict[str, _Of] = {}
    taken: dict[tuple[str, str], int] = {}
    for stream, study, quantity, layer, head, value, low, high, source in zip(*cells, strict=True):
        if None in (value, low, high) or taken.setdefault((study, quantity), source) != source:
            continue
        of_figure = streams.setdefault(stream, {}).setdefault((study, quantity), {})
        of_figure[layer, head] = value, (high - low) / IN_AN_INTERVAL
    return streams


def _shared(ours: dict[str, _Of], theirs: dict[str, _Of]) -> Iterator[tuple[str, Profile, Profile]]:
    """The streams of two models, with the figures that both have of as many heads as there are."""
    for stream in sorted(ours.keys() & theirs.keys()):
        names = _complete(ours[stream]) & _complete(theirs[stream])
        if names:
            yield stream, _profile(ours[stream], sorted(names)), _profile(theirs[stream], sorted(names))


def _complete(figures: _Of) -> set[tuple[str, str]]:
    heads = max(map(len, figures.values()))
    return {name for name, of_figure in figures.items() if len(of_figure) == heads}


def _profile(figures: _Of, shared: Iterable[tuple[str, str]]) -> Profile:
    named = [figures[name] for name in shared]
    heads = sorted(set.intersection(*(set(of_figure) for of_figure in named)))
    cells = np.array([[of_figure[head] for of_figure in named] for head in heads])
    return Profile(heads, cells[..., 0], cells[..., 1])


def _embedded(ours: Profile, theirs: Profile) -> tuple[float, Numbers, Numbers]:
    """How much of the spread of figures is more than chance, and places of all heads such that distances count what
    is."""
    spread = np.sqrt((ours.values.var(0) + theirs.values.var(0)) / 2)
    sure = np.sqrt(_beyond_chance(ours) * _beyond_chance(theirs))
    least = LEAST * np.maximum(1, np.abs(np.concatenate([ours.values, theirs.values])).mean(0))
    scale = np.sqrt(sure) / np.maximum(spread, least)
    ours_at, theirs_at = ours.values * scale, theirs.values * scale
    centred = np.concatenate([at - at.mean(0) for at in (ours_at, theirs_at)])
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    explained = np.cumsum(sizes**2) / max(float((sizes**2).sum()), np.finfo(float).tiny)
    kept = directions[: int((explained < KEPT).sum()) + 1].T
    return float(sure.mean()), ours_at @ kept, theirs_at @ kept


def _beyond_chance(profile: Profile) -> Numbers:
    """Of each figure, the share of its variance over heads that is not that of its estimates."""
    variance = np.maximum(profile.values.var(0), np.finfo(float).tiny)
    share: Numbers = np.clip(1 - (profile.errors**2).mean(0) / variance, 0, 1)
    return share


def _distances(one: Numbers, other: Numbers) -> Numbers:
    apart: Numbers = np.linalg.norm(one[:, None] - other[None], axis=-1)
    return apart


def _told(
    ours: Profile,
    theirs: Profile,
    pairs: Iterable[tuple[int, int]],
    between: Numbers,
    ours_at: Numbers,
    theirs_at: Numbers,
    known: float,
) -> list[Match]:
    """Pairs with their distances; matched are those that lie nearer to each other than to any further head."""
    within = [_distances(at, at) + np.diag(np.full(len(at), np.inf)) for at in (ours_at, theirs_at)]
    told = []
    for one, other in pairs:
        further = [
            np.delete(between[one], other), np.delete(between[:, other], one), within[0][one], within[1][other],
        ]  # fmt: skip
        runner_up = min(float(distances.min(initial=np.inf)) for distances in further)
        distance = float(between[one, other])
        matched = known >= KNOWN and distance < NEARER * runner_up
        told.append(Match(ours.heads[one], theirs.heads[other], distance, runner_up, matched))
    return told
