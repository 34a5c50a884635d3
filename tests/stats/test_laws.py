"""One set of laws for every accumulator. A new class joins by adding a Case to CASES, and gets all of them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from attlas.errors import StatsError
from attlas.stats import Accumulator, Bundle, Drawn, Largest, Latest, Ledger, PooledMean, Resampled, rebuild
from attlas.stats.accumulator import KINDS, describe

Data = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Case:
    """How the laws make, feed and check accumulators of one class; arrays of data have texts as their first axis."""

    empty: Callable[[], Accumulator]
    unlike: Callable[[], Accumulator]
    draw: Callable[[np.random.Generator, int, bool], Data]
    feed: Callable[[Any, Data], None]
    naive: Callable[[Data], Any]


def draw_pooled(rng: np.random.Generator, texts: int, whole: bool) -> Data:
    counts = rng.integers(0, 5, (texts, 2, 3)).astype(float)
    sums = rng.integers(-9, 9, counts.shape) if whole else rng.normal(0, 3, counts.shape)
    return {"sums": np.where(counts > 0, sums, 0.0), "counts": counts}


def naive_pooled(data: Data) -> Any:
    value, n, low, high = (np.full((2, 3), np.nan) for _ in range(4))
    for cell in np.ndindex(2, 3):
        pairs = [(float(s[cell]), float(c[cell])) for s, c in zip(data["sums"], data["counts"], strict=True)]
        pairs = [(s, c) for s, c in pairs if c > 0]
        n[cell] = sum(c for _, c in pairs)
        if pairs:
            value[cell] = sum(s for s, _ in pairs) / n[cell]
        if len(pairs) > 1:
            # the linearised variable of each text, its sample variance, the variance of the mean of T such
            scaled = [(s - value[cell] * c) / (n[cell] / len(pairs)) for s, c in pairs]
            half = 1.959963984540054 * np.sqrt(np.var(scaled, ddof=1) / len(pairs))
            low[cell], high[cell] = value[cell] - half, value[cell] + half
    return value, n, low, high


def draw_bundle(rng: np.random.Generator, texts: int, whole: bool) -> Data:
    first, second = draw_pooled(rng, texts, whole), draw_pooled(rng, texts, whole)
    return {f"a_{key}": value for key, value in first.items()} | {f"b_{key}": value for key, value in second.items()}


def part(data: Data, name: str) -> Data:
    return {key: data[f"{name}_{key}"] for key in ("sums", "counts")}


def feed_bundle(bundle: Bundle, data: Data) -> None:
    bundle.update(a=tuple(part(data, "a").values()))
    bundle["inner"].update(b=tuple(part(data, "b").values()))


def draw_resampled(rng: np.random.Generator, texts: int, whole: bool) -> Data:
    return draw_pooled(rng, texts, whole) | {"keys": np.arange(texts, dtype=float)}


def naive_resampled(data: Data) -> Any:
    """Every replicate drawn and summed text by text."""
    value, n, low, high = (np.full((2, 3), np.nan) for _ in range(4))
    drawn = [np.random.default_rng([5, int(key)]).poisson(1.0, 20) for key in data["keys"]]
    for cell in np.ndindex(2, 3):
        sums, counts = [float(s[cell]) for s in data["sums"]], [float(c[cell]) for c in data["counts"]]
        n[cell] = sum(counts)
        if n[cell] > 0:
            value[cell] = sum(sums) / n[cell]
        means = []
        for replicate in range(20):
            copies = [int(copy[replicate]) for copy in drawn]
            total = sum(k * c for k, c in zip(copies, counts, strict=True))
            if total > 0:
                means.append(sum(k * s for k, s in zip(copies, sums, strict=True)) / total)
        if means:
            low[cell], high[cell] = np.percentile(means, 2.5), np.percentile(means, 97.5)
    return value, n, low, high


def draw_cases(rng: np.random.Generator, texts: int, whole: bool) -> Data:
    values = rng.integers(0, 4, texts) if whole else rng.normal(0, 1, texts)  # whole numbers make ties
    return {"cells": rng.integers(0, 3, texts), "values": values.astype(float), "places": np.arange(texts) % 7}


def naive_largest(data: Data) -> Any:
    kept = []
    for cell in range(3):
        rows = zip(data["cells"], data["values"], data["places"], strict=True)
        cases = sorted((-float(v), int(p)) for c, v, p in rows if c == cell)[:2]
        kept.append(tuple((-v, (p,)) for v, p in cases))
    return tuple(kept)


def draw_steps(rng: np.random.Generator, texts: int, whole: bool) -> Data:
    values = rng.integers(-3, 3, (texts, 2)) if whole else rng.normal(0, 1, (texts, 2))
    return {"steps": rng.integers(1, 6, texts).astype(float), "values": values.astype(float)}


def feed_steps(latest: Latest, data: Data) -> None:
    for step, values in zip(data["steps"], data["values"], strict=True):
        latest.update(int(step), values)


def naive_latest(data: Data) -> Any:
    rows = sorted((int(step), tuple(map(float, row))) for step, row in zip(*data.values(), strict=True))
    return rows[-1] if rows else (0, (0.0, 0.0))


def draw_rows(rng: np.random.Generator, texts: int, whole: bool) -> Data:
    values = rng.integers(-3, 3, (texts, 2)) if whole else rng.normal(0, 1, (texts, 2))
    return {"rows": rng.integers(0, 9, texts).astype(float), "values": values.astype(float)}


def naive_ledger(data: Data) -> Any:
    found = np.full((9, 2), np.nan)
    for row in range(9):
        entered = [values for at, values in zip(data["rows"], data["values"], strict=True) if at == row]
        if entered:
            found[row] = sum(entered) / len(entered)
    return found


def draw_sample(rng: np.random.Generator, texts: int, whole: bool) -> Data:
    data = draw_cases(rng, texts, whole)
    return data | {"measured": rng.integers(0, 3, (texts, 2)).astype(float)}


def naive_drawn(data: Data) -> Any:
    kept = []
    for cell in range(3):
        rows = zip(data["cells"], data["values"], data["places"], data["measured"], strict=True)
        cases = sorted((float(d), int(p), *map(float, m)) for c, d, p, m in rows if c == cell)[:2]
        places = np.array([[p] for _, p, *_ in cases], np.int64).reshape(-1, 1)
        kept.append((places, np.array([m for _, _, *m in cases], np.float32).reshape(-1, 2)))
    return tuple(kept)


CASES = {
    "Drawn": Case(
        empty=lambda: Drawn(cells=3, keep=2, width=1, size=2),
        unlike=lambda: Drawn(cells=3, keep=2, width=1, size=3),
        draw=draw_sample,
        feed=lambda accumulator, data: accumulator.update(
            data["cells"], data["values"], data["places"][:, None], data["measured"]
        ),
        naive=naive_drawn,
    ),
    "Ledger": Case(
        empty=lambda: Ledger(texts=9, shape=(2,)),
        unlike=lambda: Ledger(texts=9, shape=(3,)),
        draw=draw_rows,
        feed=lambda accumulator, data: accumulator.update(data["rows"].astype(np.int64), data["values"]),
        naive=naive_ledger,
    ),
    "Latest": Case(
        empty=lambda: Latest(size=2),
        unlike=lambda: Latest(size=3),
        draw=draw_steps,
        feed=feed_steps,
        naive=lambda data: (naive_latest(data)[0], np.array(naive_latest(data)[1])),
    ),
    "Resampled": Case(
        empty=lambda: Resampled(shape=(2, 3), replicates=20, seed=5),
        unlike=lambda: Resampled(shape=(2, 3), replicates=20, seed=6),
        draw=draw_resampled,
        feed=lambda accumulator, data: accumulator.update(
            data["sums"], data["counts"], [int(key) for key in data["keys"]]
        ),
        naive=naive_resampled,
    ),
    "Largest": Case(
        empty=lambda: Largest(cells=3, keep=2, width=1),
        unlike=lambda: Largest(cells=3, keep=3, width=1),
        draw=draw_cases,
        feed=lambda accumulator, data: accumulator.update(data["cells"], data["values"], data["places"][:, None]),
        naive=naive_largest,
    ),
    "PooledMean": Case(
        empty=lambda: PooledMean(shape=(2, 3)),
        unlike=lambda: PooledMean(shape=(3, 2)),
        draw=draw_pooled,
        feed=lambda accumulator, data: accumulator.update(data["sums"], data["counts"]),
        naive=naive_pooled,
    ),
    "Bundle": Case(
        empty=lambda: Bundle({"a": PooledMean(shape=(2, 3)), "inner": Bundle({"b": PooledMean(shape=(2, 3))})}),
        unlike=lambda: Bundle({"a": PooledMean(shape=(2, 3)), "inner": Bundle({"c": PooledMean(shape=(2, 3))})}),
        draw=draw_bundle,
        feed=feed_bundle,
        naive=lambda data: {"a": naive_pooled(part(data, "a")), "inner": {"b": naive_pooled(part(data, "b"))}},
    ),
}

seeds = st.integers(0, 2**32 - 1)
texts = st.integers(0, 12)
every = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
few = settings(max_examples=25, deadline=None)


def fed(case: Case, data: Data, start: int = 0, stop: int | None = None) -> Accumulator:
    accumulator = case.empty()
    case.feed(accumulator, {key: values[start:stop] for key, values in data.items()})
    return accumulator


def drawn(case: Case, seed: int, count: int, whole: bool) -> Data:
    return case.draw(np.random.default_rng(seed), count, whole)


def leaves(result: Any) -> Iterator[NDArray[Any]]:
    if isinstance(result, Mapping):
        for value in result.values():
            yield from leaves(value)
    elif isinstance(result, tuple):
        for value in result:
            yield from leaves(value)
    else:
        yield np.asarray(result)


def same_bits(one: Accumulator, other: Accumulator) -> bool:
    a, b = one.state(), other.state()
    return list(a) == list(b) and all(
        a[k].dtype == b[k].dtype and a[k].shape == b[k].shape and a[k].tobytes() == b[k].tobytes() for k in a
    )


def assert_equal(one: Accumulator, other: Accumulator, whole: bool) -> None:
    if whole:
        assert same_bits(one, other)
        return
    a, b = one.state(), other.state()
    assert list(a) == list(b)
    for key in a:
        if a[key].dtype.kind == "f":
            # sums of signed numbers may cancel, so the tolerance is relative to what went into them
            np.testing.assert_allclose(a[key], b[key], rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_array_equal(a[key], b[key])


def test_every_registered_class_is_under_the_laws() -> None:
    assert set(KINDS) == set(CASES)


@every
@few
@given(seed=seeds, count=texts)
def test_empty_is_an_identity(case: Case, seed: int, count: int) -> None:
    data = drawn(case, seed, count, False)
    left, right = case.empty(), fed(case, data)
    left.merge(fed(case, data))
    right.merge(case.empty())
    assert same_bits(left, fed(case, data))
    assert same_bits(right, fed(case, data))


@every
def test_empty_with_empty_is_empty(case: Case) -> None:
    both = case.empty()
    both.merge(case.empty())
    assert same_bits(both, case.empty())
    assert all(np.isnan(leaf).all() or (leaf == 0).all() for leaf in leaves(both.result()))


@every
@few
@given(seed=seeds, counts=st.tuples(texts, texts, texts), whole=st.booleans())
def test_merge_is_associative_and_commutative(case: Case, seed: int, counts: tuple[int, ...], whole: bool) -> None:
    data = [drawn(case, seed + i, count, whole) for i, count in enumerate(counts)]
    a, b, c = (fed(case, one) for one in data)
    a.merge(b)
    a.merge(c)  # (a + b) + c
    right, tail = fed(case, data[0]), fed(case, data[1])
    tail.merge(fed(case, data[2]))
    right.merge(tail)  # a + (b + c)
    assert_equal(a, right, whole)
    backwards = fed(case, data[2])
    backwards.merge(fed(case, data[1]))
    backwards.merge(fed(case, data[0]))
    assert_equal(a, backwards, whole)


@every
@few
@given(seed=seeds, count=texts)
def test_merge_leaves_the_other_alone(case: Case, seed: int, count: int) -> None:
    data = drawn(case, seed, count, False)
    one, other = fed(case, data), fed(case, data)
    one.merge(other)
    case.feed(one, data)
    assert same_bits(other, fed(case, data))


@every
@few
@given(seed=seeds, count=texts, cuts=st.lists(st.integers(0, 12), max_size=4), whole=st.booleans())
def test_any_split_equals_the_whole(case: Case, seed: int, count: int, cuts: list[int], whole: bool) -> None:
    data = drawn(case, seed, count, whole)
    edges = [0, *sorted(min(cut, count) for cut in cuts), count]
    updated, merged = case.empty(), case.empty()
    for start, stop in pairwise(edges):
        case.feed(updated, {key: values[start:stop] for key, values in data.items()})
        merged.merge(fed(case, data, start, stop))
    assert_equal(updated, fed(case, data), whole)
    assert_equal(merged, fed(case, data), whole)


@every
@few
@given(seed=seeds, count=texts)
def test_state_round_trips_bit_for_bit_also_through_a_file(case: Case, seed: int, count: int) -> None:
    accumulator = fed(case, drawn(case, seed, count, False))
    state = accumulator.state()
    assert same_bits(type(accumulator).from_state(state), accumulator)
    file = io.BytesIO()
    np.savez(file, **state)  # type: ignore[arg-type]
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        again = rebuild(dict(stored))
    assert type(again) is type(accumulator)
    assert same_bits(again, accumulator)
    assert again.configuration == accumulator.configuration


@every
def test_a_rebuilt_accumulator_goes_on_as_the_first_would(case: Case) -> None:
    data = drawn(case, 1, 9, False)
    paused = type(case.empty()).from_state(fed(case, data, 0, 4).state())
    case.feed(paused, {key: values[4:] for key, values in data.items()})
    straight = fed(case, data, 0, 4)
    case.feed(straight, {key: values[4:] for key, values in data.items()})
    assert same_bits(paused, straight)


@every
def test_state_is_a_copy(case: Case) -> None:
    accumulator = fed(case, drawn(case, 2, 5, False))
    for array in accumulator.state().values():
        array[...] = np.zeros_like(array)
    assert same_bits(accumulator, fed(case, drawn(case, 2, 5, False)))


@every
def test_memory_does_not_grow(case: Case) -> None:
    def size(accumulator: Accumulator) -> int:
        return sum(array.nbytes for array in accumulator.state().values())

    accumulator = case.empty()
    at_first = size(accumulator)
    for seed in range(30):
        case.feed(accumulator, drawn(case, seed, 50, False))
    assert size(accumulator) == at_first


@every
@few
@given(seed=seeds, count=texts, whole=st.booleans())
def test_result_equals_naive(case: Case, seed: int, count: int, whole: bool) -> None:
    data = drawn(case, seed, count, whole)
    results, expected = list(leaves(fed(case, data).result())), list(leaves(case.naive(data)))
    assert len(results) == len(expected)
    for have, want in zip(results, expected, strict=True):
        # a vanishing variance is the small difference of large sums, hence 1e-6 on the ends of the interval
        np.testing.assert_allclose(have, want, rtol=1e-9, atol=1e-6)


@every
def test_unlike_configurations_show_both(case: Case) -> None:
    one, other = case.empty(), case.unlike()
    case.feed(one, drawn(case, 3, 4, False))
    with pytest.raises(StatsError) as caught:
        one.merge(other)
    assert describe(one) in str(caught.value)
    assert describe(other) in str(caught.value)
    assert describe(one) != describe(other)
    assert same_bits(one, fed(case, drawn(case, 3, 4, False)))


@every
def test_another_class_is_refused(case: Case) -> None:
    class Stranger:
        configuration: dict[str, Any] = case.empty().configuration

    with pytest.raises(StatsError, match="Stranger"):
        case.empty().merge(Stranger())  # type: ignore[arg-type]


@every
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": np.array(99)}, "schema 99"),
        ({"kind": np.array("Nonesuch")}, "Nonesuch"),
        ({"kind": None}, "lacks kind"),
    ],
)
def test_a_foreign_state_is_refused(case: Case, change: dict[str, Any], words: str) -> None:
    state = {key: value for key, value in (case.empty().state() | change).items() if value is not None}
    with pytest.raises(StatsError, match=words):
        type(case.empty()).from_state(state)
