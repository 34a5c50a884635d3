"""One set of laws for every accumulator. A new class joins by adding a Case to CASES, and gets all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as scipy_t

from attlas.stats import Bundle, Drawn, Largest, Latest, Ledger, PooledMean, Resampled
from attlas.stats.accumulator import KINDS
from attlas.stats.intervals import FEWEST
from attlas.stats.laws import LAWS, Case, Data, check


def draw_pooled(rng: np.random.Generator, texts: int, whole: bool) -> Data:
    counts = rng.integers(0, 5, (texts, 2, 3)).astype(float)
    sums = rng.integers(-9, 9, counts.shape) if whole else rng.normal(0, 3, counts.shape)
    return {"sums": np.where(counts > 0, sums, 0.0), "counts": counts, "units": rng.integers(0, 20, texts)}


def naive_pooled(data: Data) -> Any:
    """Cell by cell and unit by unit, with scipy's quantiles."""
    value, n, low, high = (np.full((2, 3), np.nan) for _ in range(4))
    for cell in np.ndindex(2, 3):
        units: dict[int, tuple[float, float]] = {}
        for s, c, unit in zip(data["sums"], data["counts"], data["units"], strict=True):
            before = units.get(int(unit), (0.0, 0.0))
            units[int(unit)] = (before[0] + float(s[cell]), before[1] + float(c[cell]))
        pairs = [(s, c) for s, c in units.values() if c > 0]
        n[cell] = sum(c for _, c in pairs)
        if pairs:
            value[cell] = sum(s for s, _ in pairs) / n[cell]
        if len(pairs) >= FEWEST:
            low[cell], high[cell] = naive_ends(pairs)
    return value, n, low, high


def naive_ends(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    """Hall's interval of a ratio, number by number."""
    total = sum(c for _, c in pairs)
    ratio = sum(s for s, _ in pairs) / total
    errors = [s - ratio * c for s, c in pairs]
    if sum(e * e for e in errors) <= 1e-12 * sum(s * s for s, _ in pairs):
        return ratio, ratio
    variance = sum((e / (1 - c / total)) ** 2 for e, (_, c) in zip(errors, pairs, strict=True)) / total**2
    skew = sum(e**3 for e in errors) / sum(e**2 for e in errors) ** 1.5
    quantile = float(scipy_t.ppf(0.975, max(total**2 / sum(c * c for _, c in pairs) - 1, 1)))

    def turned(x: float) -> float:
        if abs(skew) < 1e-6:
            return x
        inner = 1 + skew * (x - skew / 6)
        return float(3 / skew * (np.sign(inner) * abs(inner) ** (1 / 3) - 1))

    below, above = (min(max(reach, 1.6), 60.0) for reach in (turned(quantile), -turned(-quantile)))
    return ratio - below * variance**0.5, ratio + above * variance**0.5


def draw_bundle(rng: np.random.Generator, texts: int, whole: bool) -> Data:
    first, second = draw_pooled(rng, texts, whole), draw_pooled(rng, texts, whole)
    return {f"a_{key}": value for key, value in first.items()} | {f"b_{key}": value for key, value in second.items()}


def part(data: Data, name: str) -> Data:
    return {key: data[f"{name}_{key}"] for key in ("sums", "counts", "units")}


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
        feed=lambda accumulator, data: accumulator.update(data["sums"], data["counts"], data["units"]),
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


@pytest.mark.parametrize("law", LAWS, ids=[law.__name__ for law in LAWS])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_accumulators_keep_the_laws(case: Case, law: Callable[[Case, int], None], seed: int) -> None:
    law(case, seed)


def test_every_registered_class_is_under_the_laws() -> None:
    assert set(KINDS) == set(CASES)


class Forgetful(PooledMean):
    """Forgets what it had when it takes in another."""

    def merge(self, other: PooledMean) -> None:
        self._sums, self._counts = other._sums, other._counts


class Growing(PooledMean):
    """Keeps one array more with every update."""

    updates = 0

    def update(self, sums: Any, counts: Any, units: Any = None) -> None:
        super().update(sums, counts, units)
        self.updates += 1

    def state(self) -> dict[str, Any]:
        return super().state() | {f"more{place}": np.zeros(1) for place in range(self.updates)}


@pytest.mark.parametrize("broken", [Forgetful, Growing])
def test_a_broken_accumulator_breaks_a_law(broken: type[PooledMean]) -> None:
    good = CASES["PooledMean"]
    check(good, [0])
    with pytest.raises(AssertionError):
        check(Case(lambda: broken(shape=(2, 3)), good.unlike, good.draw, good.feed, good.naive), range(5))
