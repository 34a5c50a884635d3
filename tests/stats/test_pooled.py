"""The pooled mean's own behaviour: its interval, its shapes, and the numbers it refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats as reference

from attlas.errors import NumberError, StatsError
from attlas.stats import Bundle, PooledMean, rebuild


def test_with_one_case_per_text_it_is_the_plain_interval_of_a_mean() -> None:
    values = np.random.default_rng(0).normal(5, 2, 40)
    mean = PooledMean(shape=())
    mean.update(values, 1)
    low, high = reference.norm.interval(0.95, values.mean(), reference.sem(values))
    np.testing.assert_allclose([*mean.result()], [values.mean(), 40, low, high], rtol=1e-12)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """Texts of unlike length, with an effect of the text itself, and length related to it."""
    rng = np.random.default_rng(7)
    runs, texts = 600, 60
    lengths = rng.integers(1, 40, (texts, runs))
    effects = rng.normal(0, 0.3, (texts, runs)) + 0.01 * (lengths - 20)
    sums = lengths * (1.0 + effects) + rng.normal(0, 1, (texts, runs)) * np.sqrt(lengths)
    grid = np.arange(1, 40)
    truth = (grid * (1 + 0.01 * (grid - 20))).sum() / grid.sum()
    mean = PooledMean(shape=(runs,))
    mean.update(sums, lengths)
    estimate = mean.result()
    covered = float(((estimate.low <= truth) & (truth <= estimate.high)).mean())
    assert 0.90 < covered < 0.98
    # the interval which takes each case as independent would not do
    variance = (1.0 + 0.3**2) / lengths.sum(axis=0)
    naive = np.abs(estimate.value - truth) <= 1.96 * np.sqrt(variance)
    assert naive.mean() < 0.85


def test_empty_cells_and_single_texts_are_nan_without_warnings() -> None:
    mean = PooledMean(shape=(3,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean.result()
        mean.update([[0.0, 2.0, 1.0], [0.0, 0.0, 2.0]], [[0, 1, 1], [0, 0, 1]])
        value, n, low, high = mean.result()
    np.testing.assert_array_equal(value, [np.nan, 2.0, 1.5])
    np.testing.assert_array_equal(n, [0, 1, 2])
    np.testing.assert_array_equal(np.isnan(low), [True, True, False])
    np.testing.assert_array_equal(np.isnan(high), [True, True, False])


def test_constant_ratio_has_an_interval_of_no_width() -> None:
    mean = PooledMean(shape=())
    mean.update([0.1, 0.2, 0.7], [1, 2, 7])
    assert mean.result().high - mean.result().low == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_counts_may_be_full_per_text_or_one(shape: tuple[int, ...]) -> None:
    sums = np.random.default_rng(1).normal(size=(4, *shape))
    per_text = np.array([1.0, 2.0, 3.0, 4.0])
    full = np.broadcast_to(per_text.reshape(4, *[1] * len(shape)), sums.shape)
    states = []
    for counts in (per_text, full, full.astype(np.int32)):
        mean = PooledMean(shape)
        mean.update(sums, counts)
        states.append(mean.state()["products"])
    np.testing.assert_allclose(states[0], np.einsum("t...,t->...", sums, per_text))
    np.testing.assert_array_equal(states[0], states[1])
    np.testing.assert_array_equal(states[0], states[2])
    one = PooledMean(shape)
    one.update(sums, 2)
    np.testing.assert_array_equal(one.result().n, np.full(shape, 8.0))


def test_one_axis_of_counts_means_texts_even_where_numpy_would_guess_otherwise() -> None:
    mean = PooledMean(shape=(2,))
    mean.update(np.ones((2, 2)), [1, 3])
    np.testing.assert_array_equal(mean.result().n, [4, 4])


def test_single_precision_is_summed_in_double() -> None:
    mean = PooledMean(shape=())
    for _ in range(200):
        mean.update(np.full(1000, 0.1, dtype=np.float32), 1)
    assert mean.result().value.item() == pytest.approx(float(np.float32(0.1)), rel=1e-12)


@pytest.mark.parametrize(
    ("sums", "counts"),
    [
        (np.ones(3), 1),
        (np.ones((3, 5)), 1),
        (1.0, 1),
        (np.ones((4, 2)), np.ones((4, 3))),
        (np.ones((4, 2)), np.ones(2)),
        (np.ones((4, 2)), np.ones((1, 4, 2))),
    ],
)
def test_wrong_shapes_are_refused(sums: object, counts: object) -> None:
    mean = PooledMean(shape=(2,))
    with pytest.raises(StatsError, match="expected"):
        mean.update(sums, counts)  # type: ignore[arg-type]
    assert mean.result().n.sum() == 0


@pytest.mark.parametrize(
    ("sums", "counts", "words"),
    [
        (
            [[1.0, np.nan]],
            1,
            r"sums of text 0 of the batch, cell \(1,\) came as nan, which is not finite \(1 such in 2\)",
        ),
        ([[1.0, 1.0], [-np.inf, 1.0]], 1, r"sums of text 1 of the batch, cell \(0,\) came as -inf"),
        ([[1.0, 1.0]], [np.inf], "counts of text 0 .* came as inf"),
        ([[1.0, 1.0]], [-1], "counts of text 0 .* came as -1.0, which is negative"),
        ([[1.0, 1.0]], [[1, 0]], "which is a sum over no case"),
    ],
)
def test_bad_numbers_are_named_and_nothing_is_taken_in(sums: object, counts: object, words: str) -> None:
    mean = PooledMean(shape=(2,))
    with pytest.raises(NumberError, match=words):
        mean.update(sums, counts)  # type: ignore[arg-type]
    assert mean.result().n.sum() == 0


def test_no_texts_are_no_update() -> None:
    mean = PooledMean(shape=(2,))
    mean.update(np.zeros((0, 2)), np.zeros(0))
    assert mean.state()["texts"].sum() == 0


def test_a_state_with_unlike_shapes_is_refused() -> None:
    state = PooledMean(shape=(2,)).state() | {"texts": np.zeros(3)}
    with pytest.raises(StatsError, match="texts have the shape"):
        PooledMean.from_state(state)


def test_bundle_names() -> None:
    for name in ("", "a/b"):
        with pytest.raises(StatsError, match="choose another"):
            Bundle({name: PooledMean(shape=())})
    with pytest.raises(StatsError, match="no 'b' among the parts a"):
        Bundle({"a": PooledMean(shape=())})["b"]


def test_bundle_keeps_order_and_tricky_names() -> None:
    names = ["z", "names", "kind", "a b"]
    bundle = Bundle({name: PooledMean(shape=(i,)) for i, name in enumerate(names)})
    again = rebuild(bundle.state())
    assert isinstance(again, Bundle)
    assert list(again) == names
    assert len(again) == 4
    assert again.configuration == bundle.configuration
