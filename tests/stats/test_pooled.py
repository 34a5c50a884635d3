"""The pooled mean's own behaviour: its units, its shapes, and the numbers it refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attlas.errors import NumberError, StatsError
from attlas.stats import Bundle, PooledMean, pooled, rebuild


def test_empty_cells_and_few_units_are_nan_without_warnings() -> None:
    mean = PooledMean(shape=(3,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean.result()
        mean.update([[0.0, 2.0, 1.0], [0.0, 0.0, 2.0]], [[0, 1, 1], [0, 0, 1]], units=[0, 1])
        value, n, low, high = mean.result()
    np.testing.assert_array_equal(value, [np.nan, 2.0, 1.5])
    np.testing.assert_array_equal(n, [0, 1, 2])
    assert np.isnan(low).all()
    assert np.isnan(high).all()


def test_constant_ratio_has_an_interval_of_no_width() -> None:
    mean = PooledMean(shape=())
    counts = np.arange(1, 9)
    mean.update(0.1 * counts, counts, units=range(8))
    assert mean.result().high - mean.result().low == pytest.approx(0, abs=1e-7)


def test_texts_of_one_unit_count_as_one() -> None:
    """Windows of a document that are copies of each other tell nothing new."""
    once, often = PooledMean(shape=()), PooledMean(shape=())
    values = np.random.default_rng(0).random(12)
    once.update(values, 1, units=range(12))
    for _batch in range(5):
        often.update(values, 1, units=range(12))
    for end in ("low", "high"):
        assert getattr(often.result(), end) == pytest.approx(float(getattr(once.result(), end)), rel=1e-12)
    assert often.result().n == 60


def test_units_beyond_the_blocks_are_put_together() -> None:
    mean, blocks = PooledMean(shape=(), blocks=8), PooledMean(shape=())
    values = np.random.default_rng(0).random(24)
    mean.update(values, 1, units=range(24))
    blocks.update(values.reshape(3, 8).sum(0), 3, units=range(8))
    np.testing.assert_allclose([*mean.result()], [*blocks.result()], rtol=1e-12)


def test_an_interval_asks_for_units() -> None:
    mean = PooledMean(shape=())
    for units in (None, [0], [-1, 0], [[0, 1]]):
        with pytest.raises(StatsError, match="unit"):
            mean.update([1.0, 2.0], 1, units=units)  # type: ignore[arg-type]
    assert mean.result().n == 0
    plain = PooledMean(shape=(), blocks=1)
    plain.update(np.arange(9.0), 1)
    assert plain.result().value == 4
    assert np.isnan(plain.result().low)


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_counts_may_be_full_per_text_or_one(shape: tuple[int, ...]) -> None:
    sums = np.random.default_rng(1).normal(size=(4, *shape))
    per_text = np.array([1.0, 2.0, 3.0, 4.0])
    full = np.broadcast_to(per_text.reshape(4, *[1] * len(shape)), sums.shape)
    states = []
    for counts in (per_text, full, full.astype(np.int32)):
        mean = PooledMean(shape)
        mean.update(sums, counts, units=range(4))
        states.append(mean.state()["counts"])
    np.testing.assert_allclose(states[0][:4], full)
    np.testing.assert_array_equal(states[0], states[1])
    np.testing.assert_array_equal(states[0], states[2])
    one = PooledMean(shape)
    one.update(sums, 2, units=range(4))
    np.testing.assert_array_equal(one.result().n, np.full(shape, 8.0))


def test_one_axis_of_counts_means_texts_even_where_numpy_would_guess_otherwise() -> None:
    mean = PooledMean(shape=(2,))
    mean.update(np.ones((2, 2)), [1, 3], units=[0, 1])
    np.testing.assert_array_equal(mean.result().n, [4, 4])


def test_single_precision_is_summed_in_double() -> None:
    mean = PooledMean(shape=())
    for _ in range(200):
        mean.update(np.full(1000, 0.1, dtype=np.float32), 1, units=range(1000))
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
        mean.update(sums, counts, units=range(np.shape(sums)[0] if np.ndim(sums) else 1))  # type: ignore[arg-type]
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
@pytest.mark.parametrize("wide", [2, 1000])
def test_bad_numbers_are_named_and_nothing_is_taken_in(
    sums: object, counts: object, words: str, wide: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pooled, "WIDE", wide)
    mean = PooledMean(shape=(2,))
    with pytest.raises(NumberError, match=words):
        mean.update(sums, counts, units=range(np.shape(sums)[0] if np.ndim(sums) else 1))  # type: ignore[arg-type]
    assert mean.result().n.sum() == 0


@pytest.mark.parametrize("wide", [2, 1000])
def test_no_texts_are_no_update(wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooled, "WIDE", wide)
    mean = PooledMean(shape=(2,))
    mean.update(np.zeros((0, 2)), np.zeros(0), units=[])
    assert mean.state()["counts"].sum() == 0


def test_a_state_with_unlike_shapes_is_refused() -> None:
    state = PooledMean(shape=(2,)).state() | {"counts": np.zeros(3)}
    with pytest.raises(StatsError, match="counts have the shape"):
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


@given(
    st.sampled_from([(1,), (2,), (3, 1, 4), ()]), st.lists(st.integers(0, 9), min_size=0, max_size=40),
    st.sampled_from([1, 4, 128]), st.booleans(), st.booleans(), st.integers(0, 2**31),
)  # fmt: skip
@example((3, 1, 4), [0] * 11, 1, False, True, 0)
def test_blocks_have_the_very_bits_of_sums_block_by_block(
    shape: tuple[int, ...], units: list[int], blocks: int, turned: bool, wide: bool, seed: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooled, "WIDE", 2 if wide else 1000)  # whether texts go one by one, or many at once
        _same_bits(shape, units, blocks, turned, seed)


def _same_bits(shape: tuple[int, ...], units: list[int], blocks: int, turned: bool, seed: int) -> None:
    generator = np.random.default_rng(seed)
    mean, sums, counts = PooledMean(shape, blocks=blocks), np.zeros((blocks, *shape)), np.zeros((blocks, *shape))
    for part in (units[:25], units[25:]):
        s = generator.normal(size=(len(part), *shape)) * 10.0 ** generator.integers(-9, 9, (len(part), *shape))
        n = generator.random((len(part), *[1] * len(shape))) + 1
        if turned and len(shape) == 3:
            s = np.ascontiguousarray(s.transpose(0, 3, 2, 1)).transpose(0, 3, 2, 1)
        among = generator.random(len(part)) < 0.8
        mean.update(s, n, part, among=among)
        for place in np.unique(np.array(part, np.int64)[among] % blocks):
            here = (np.array(part) % blocks == place) & among
            sums[place] += s[here].sum(0)
            counts[place] += n[here].sum(0)
    state = mean.state()
    assert np.array_equal(state["sums"], sums)
    assert np.array_equal(state["counts"], counts)
