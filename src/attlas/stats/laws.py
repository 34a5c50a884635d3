"""The laws that every accumulator keeps, as plain functions, so that other packages can try their own classes.

A study may be stopped, merged and continued only because these hold: an empty accumulator changes nothing, merging
may be done in any order, any split of the texts gives what the whole gives, the state is a copy that comes back bit
for bit, memory does not grow, and what is unlike is refused. A :class:`Case` says how accumulators of a class are
made, fed and worked out the slow way; :func:`check` tries all laws on it, and a law that is broken is an
``AssertionError`` with a sentence. numpy is all that is needed.

>>> from attlas.stats import PooledMean
>>> def draw(rng, texts, whole):
...     sums = rng.integers(0, 9, texts).astype(float) if whole else rng.random(texts)
...     return {"sums": sums, "units": np.arange(texts)}
>>> case = Case(
...     empty=lambda: PooledMean(shape=(), blocks=1),
...     unlike=lambda: PooledMean(shape=(2,), blocks=1),
...     draw=draw,
...     feed=lambda mean, data: mean.update(data["sums"], 1, data["units"]),
...     naive=lambda data: (data["sums"].mean() if len(data["sums"]) else np.nan, len(data["sums"]), np.nan, np.nan),
... )
>>> check(case)
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.errors import StatsError
from attlas.stats.accumulator import Accumulator, describe, rebuild

Data = dict[str, NDArray[Any]]
MOST_TEXTS = 12


@dataclass(frozen=True)
class Case:
    """How the laws make, feed and check accumulators of one class; arrays of data have texts as their first axis.

    ``empty`` makes one that has seen nothing, ``unlike`` one of another configuration; ``draw`` gives data of so many
    texts, in whole numbers or not, ``feed`` takes data into an accumulator, and ``naive`` works out its result.

    >>> sorted(Case.__dataclass_fields__)
    ['draw', 'empty', 'feed', 'naive', 'unlike']
    """

    empty: Callable[[], Accumulator]
    unlike: Callable[[], Accumulator]
    draw: Callable[[np.random.Generator, int, bool], Data]
    feed: Callable[[Any, Data], None]
    naive: Callable[[Data], Any]


def check(case: Case, seeds: Iterable[int] = range(25)) -> None:
    """Try all laws on a class, on data drawn by each of some seeds.

    >>> check(Case(list, list, lambda rng, texts, whole: {}, lambda some, data: None, lambda data: []), [0])
    Traceback (most recent call last):
        ...
    AttributeError: 'list' object has no attribute 'merge'
    """
    for seed in seeds:
        for law in LAWS:
            law(case, seed)


def empty_is_an_identity(case: Case, seed: int) -> None:
    """Merging with one that has seen nothing changes nothing, from either side."""
    data = _drawn(case, seed)
    left, right = case.empty(), _fed(case, data)
    left.merge(_fed(case, data))
    right.merge(case.empty())
    _require(same_bits(left, _fed(case, data)), "an empty accumulator that takes in another is not as that one")
    _require(same_bits(right, _fed(case, data)), "an accumulator that takes in an empty one is not as before")


def empty_with_empty_is_empty(case: Case, seed: int) -> None:
    """Two that have seen nothing make one that has seen nothing, and its result says nothing."""
    both = case.empty()
    both.merge(case.empty())
    _require(same_bits(both, case.empty()), "two empty accumulators do not make an empty one")
    nothing = (np.isnan(leaf).all() or (leaf == 0).all() for leaf in _leaves(both.result()))
    _require(all(nothing), "the result of an empty accumulator is something other than NaN and 0")


def merge_is_associative_and_commutative(case: Case, seed: int) -> None:
    """Three may be merged in any order: to the same bits where numbers are whole, else to rounding."""
    for whole in (True, False):
        data = [_drawn(case, seed + place, whole=whole) for place in range(3)]
        first, second, third = (_fed(case, part) for part in data)
        first.merge(second)
        first.merge(third)
        right, tail = _fed(case, data[0]), _fed(case, data[1])
        tail.merge(_fed(case, data[2]))
        right.merge(tail)
        _require_equal(first, right, whole)
        backwards = _fed(case, data[2])
        backwards.merge(_fed(case, data[1]))
        backwards.merge(_fed(case, data[0]))
        _require_equal(first, backwards, whole)


def merge_leaves_the_other_alone(case: Case, seed: int) -> None:
    """What was taken in is not changed by it, nor by what comes after."""
    data = _drawn(case, seed)
    taking, taken = _fed(case, data), _fed(case, data)
    taking.merge(taken)
    case.feed(taking, data)
    _require(same_bits(taken, _fed(case, data)), "merging has changed the accumulator that was taken in")


def any_split_equals_the_whole(case: Case, seed: int) -> None:
    """Texts in several updates, or in several accumulators that are merged, give what all at once give."""
    for whole in (True, False):
        data = _drawn(case, seed, whole=whole)
        count = len(next(iter(data.values()))) if data else 0
        rng = np.random.default_rng([seed, 1])
        edges = [0, *sorted(rng.integers(0, count + 1, rng.integers(0, 5)).tolist()), count]
        updated, merged = case.empty(), case.empty()
        for start, stop in pairwise(edges):
            case.feed(updated, _cut(data, start, stop))
            merged.merge(_fed(case, _cut(data, start, stop)))
        _require_equal(updated, _fed(case, data), whole)
        _require_equal(merged, _fed(case, data), whole)


def state_round_trips(case: Case, seed: int) -> None:
    """The state brings the accumulator back bit for bit, also through a file."""
    accumulator = _fed(case, _drawn(case, seed))
    state = accumulator.state()
    _require(same_bits(type(accumulator).from_state(state), accumulator), "the state does not bring back the same")
    file = io.BytesIO()
    np.savez(file, **state)  # type: ignore[arg-type]
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        again = rebuild(dict(stored))
    _require(type(again) is type(accumulator), f"a file of its state comes back as {type(again).__name__}")
    _require(same_bits(again, accumulator), "a file of its state does not bring back the same")
    _require(again.configuration == accumulator.configuration, "a file of its state has another configuration")


def a_rebuilt_one_goes_on(case: Case, seed: int) -> None:
    """An accumulator that was paused goes on to the same bits as one that was not."""
    data = _drawn(case, seed, count=9)
    straight = _fed(case, _cut(data, 0, 4))
    paused = type(straight).from_state(straight.state())
    for accumulator in (paused, straight):
        case.feed(accumulator, _cut(data, 4, 9))
    _require(same_bits(paused, straight), "an accumulator that was rebuilt does not go on as the first would")


def state_is_a_copy(case: Case, seed: int) -> None:
    """Whoever writes into a state changes nothing of the accumulator."""
    data = _drawn(case, seed, count=5)
    accumulator = _fed(case, data)
    for array in accumulator.state().values():
        array[...] = np.zeros_like(array)
    _require(same_bits(accumulator, _fed(case, data)), "writing into the state has changed the accumulator")


def memory_does_not_grow(case: Case, seed: int) -> None:
    """The state is as large after many texts as at first."""
    accumulator = case.empty()
    at_first = _size(accumulator)
    for place in range(30):
        case.feed(accumulator, _drawn(case, seed + place, count=50))
    _require(_size(accumulator) == at_first, f"the state has grown from {at_first} to {_size(accumulator)} bytes")


def result_equals_naive(case: Case, seed: int) -> None:
    """The result is what the slow way gives."""
    for whole in (True, False):
        data = _drawn(case, seed, whole=whole)
        results, expected = list(_leaves(_fed(case, data).result())), list(_leaves(case.naive(data)))
        _require(len(results) == len(expected), f"the result has {len(results)} parts, the naive {len(expected)}")
        for have, want in zip(results, expected, strict=True):
            # a vanishing variance is the small difference of large sums, hence 1e-6 on the ends of the interval
            np.testing.assert_allclose(have, want, rtol=1e-9, atol=1e-6)


def unlike_ones_are_refused(case: Case, seed: int) -> None:
    """Another configuration is refused with both in the sentence, and so is another class; nothing is changed."""
    data = _drawn(case, seed, count=4)
    accumulator, other = _fed(case, data), case.unlike()
    said = _refusal(lambda: accumulator.merge(other))
    _require(describe(accumulator) != describe(other), "accumulators of two configurations describe themselves alike")
    _require(describe(accumulator) in said and describe(other) in said, f"a refusal must show both, not {said!r}")
    _require(same_bits(accumulator, _fed(case, data)), "a refused merge has changed the accumulator")

    class Stranger:
        configuration: dict[str, Any] = case.empty().configuration

    said = _refusal(lambda: accumulator.merge(Stranger()))  # type: ignore[arg-type]
    _require("Stranger" in said, f"the refusal of another class must name it, not {said!r}")


def foreign_states_are_refused(case: Case, seed: int) -> None:
    """A state of another version, of another class, or of none is refused."""
    state = case.empty().state()
    changes: list[tuple[dict[str, Any], str]] = [
        ({**state, "schema": np.array(99)}, "schema 99"),
        ({**state, "kind": np.array("Nonesuch")}, "Nonesuch"),
        ({name: array for name, array in state.items() if name != "kind"}, "lacks kind"),
    ]
    for changed, words in changes:
        said = _refusal(lambda changed=changed: type(case.empty()).from_state(changed))  # type: ignore[misc]
        _require(words in said, f"the refusal of a foreign state must say {words!r}, not {said!r}")


LAWS: tuple[Callable[[Case, int], None], ...] = (
    empty_is_an_identity,
    empty_with_empty_is_empty,
    merge_is_associative_and_commutative,
    merge_leaves_the_other_alone,
    any_split_equals_the_whole,
    state_round_trips,
    a_rebuilt_one_goes_on,
    state_is_a_copy,
    memory_does_not_grow,
    result_equals_naive,
    unlike_ones_are_refused,
    foreign_states_are_refused,
)


def same_bits(first: Accumulator, second: Accumulator) -> bool:
    """Whether the states of two accumulators are the same to the last bit.

    >>> from attlas.stats import PooledMean
    >>> same_bits(PooledMean(shape=(2,)), PooledMean(shape=(2,))), same_bits(PooledMean(shape=()), PooledMean([2]))
    (True, False)
    """
    a, b = first.state(), second.state()
    return list(a) == list(b) and all(
        a[k].dtype == b[k].dtype and a[k].shape == b[k].shape and a[k].tobytes() == b[k].tobytes() for k in a
    )


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _require_equal(first: Accumulator, second: Accumulator, whole: bool) -> None:
    if whole:
        _require(same_bits(first, second), "whole numbers in another order, or in parts, do not give the same bits")
        return
    a, b = first.state(), second.state()
    _require(list(a) == list(b), "the states of two accumulators of one class have different parts")
    for name in a:
        if a[name].dtype.kind == "f":
            # sums of signed numbers may cancel, so the tolerance is relative to what went into them
            np.testing.assert_allclose(a[name], b[name], rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_array_equal(a[name], b[name])


def _refusal(act: Callable[[], object]) -> str:
    """What is said when something is refused."""
    try:
        act()
    except StatsError as error:
        return str(error)
    raise AssertionError("what does not fit was taken without a word")


def _drawn(case: Case, seed: int, *, count: int | None = None, whole: bool = False) -> Data:
    rng = np.random.default_rng(seed)
    return case.draw(rng, int(rng.integers(0, MOST_TEXTS + 1)) if count is None else count, whole)


def _cut(data: Data, start: int, stop: int) -> Data:
    return {name: values[start:stop] for name, values in data.items()}


def _fed(case: Case, data: Data) -> Accumulator:
    accumulator = case.empty()
    case.feed(accumulator, data)
    return accumulator


def _size(accumulator: Accumulator) -> int:
    return sum(array.nbytes for array in accumulator.state().values())


def _leaves(result: Any) -> Iterator[NDArray[Any]]:
    if isinstance(result, (Mapping, tuple)):
        for value in result.values() if isinstance(result, Mapping) else result:
            yield from _leaves(value)
    else:
        yield np.asarray(result)
