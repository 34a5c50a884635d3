"""How often intervals cover the truth, and how often tests name a head wrongly: ``make coverage``.

Data are drawn whose truth is known, thousands of times, and put through :mod:`attlas.stats` as studies do it. Six
kinds of data stand for what studies meet: a moderate share, a rare one, one case a unit, long units that differ from
short ones, skewed means, and windows of documents that resemble each other. Scores that are no means (chunk F1,
Matthews' correlation, perplexity, Spearman's, BLEU) and changes of scores have data of their own, with the percentile
bootstrap beside the interval that is given. The tests are those of 144 and 288 heads
against a rival: how often any of them is named though none is better, and how often a head that is better is found,
beside a max-T permutation test that is written here by hand and knows the units. The verdicts of the faithfulness
card are counted on data that lie at the bar, where there is nothing to judge; and intervals of a bend over few seeds.

    python -m tools.coverage --runs 2000 --out docs/results/statistics.md
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

from attlas.probes.edges.summary import over_seeds
from attlas.stats import METRICS, above_zero, estimate_change, estimate_score, holm
from attlas.stats.pooled import BLOCKS, PooledMean
from attlas.studies.faith import margins

Numbers = NDArray[np.float64]
UNITS = (20, 100, 1000)
LEVEL = 0.01  # of the tests
RESAMPLES = 300  # of the bootstrap that scores had before
SIZES = (16, 20, 30, 50, 100)
EFFECTS = ((20, 0.4), (20, 0.5), (50, 0.2), (50, 0.3), (100, 0.15), (100, 0.2))  # units, and better by how much


class Data(NamedTuple):
    """Sums and counts of texts, (text, run) each, the unit of each text, and the true mean."""

    sums: Numbers
    counts: Numbers
    units: NDArray[np.int64]
    truth: float


def shares(rng: np.random.Generator, units: int, runs: int, share: float, alike: float) -> Data:
    """Units of some twelve cases, whose own shares are spread (beta) as cases of a unit are ``alike``."""
    counts = 1 + rng.poisson(11, (units, runs))
    return Data(_hits(rng, counts, share, alike), counts.astype(float), np.arange(units), share)


def single_cases(rng: np.random.Generator, units: int, runs: int, share: float) -> Data:
    """One case a unit."""
    hits = rng.binomial(1, share, (units, runs)).astype(float)
    return Data(hits, np.ones_like(hits), np.arange(units), share)


def tied_lengths(rng: np.random.Generator, units: int, runs: int, share: float, spread: float, slope: float) -> Data:
    """Units of very different lengths, with a share that goes up or down with the length."""

    def drawn(generator: np.random.Generator, size: tuple[int, ...]) -> tuple[Numbers, Numbers]:
        length = generator.normal(size=size)
        odds = np.log(share / (1 - share)) + slope * length
        return np.maximum(1, np.round(8 * np.exp(spread * length))), 1 / (1 + np.exp(-odds))

    counts, own = drawn(rng, (units, runs))
    many, theirs = drawn(np.random.default_rng(5), (1_000_000,))
    truth = float((many * theirs).sum() / many.sum())
    return Data(rng.binomial(counts.astype(int), own).astype(float), counts, np.arange(units), truth)


def skewed_means(rng: np.random.Generator, units: int, runs: int, spread: float) -> Data:
    """Means of units that are distributed log-normally."""
    values = np.exp(spread * rng.normal(size=(units, runs)))
    return Data(values, np.ones_like(values), np.arange(units), float(np.exp(spread**2 / 2)))


def windows(rng: np.random.Generator, units: int, runs: int, share: float, alike: float) -> Data:
    """Documents of one to many windows of ten cases, all with the document's own share; a text is a window."""
    lengths = rng.geometric(0.25, units)
    owners = np.repeat(np.arange(units), lengths)
    own = rng.beta(share * (1 / alike - 1), (1 - share) * (1 / alike - 1), (units, runs))[owners]
    counts = np.full(own.shape, 10.0)
    return Data(rng.binomial(10, own).astype(float), counts, owners, share)


def _hits(rng: np.random.Generator, counts: NDArray[np.int64], share: float, alike: float) -> Numbers:
    if not alike:
        return rng.binomial(counts, share).astype(float)
    own = rng.beta(share * (1 / alike - 1), (1 - share) * (1 / alike - 1), counts.shape)
    return rng.binomial(counts, own).astype(float)


@dataclass(frozen=True)
class Kind:
    """A kind of data: how it is drawn, with which parameters, and what is known of a single case."""

    title: str
    draw: Callable[..., Data]
    parameters: tuple[tuple[float, ...], ...]
    within: tuple[float, float] | None = (0.0, 1.0)
    hits: bool = True


KINDS = (
    Kind("moderate share", shares,
         ((0.3, 0), (0.3, 0.02), (0.5, 0.02), (0.8, 0.02), (0.3, 0.2), (0.5, 0.2), (0.8, 0.2))),
    Kind("rare share", shares, ((0.01, 0), (0.03, 0), (0.01, 0.005), (0.03, 0.005), (0.01, 0.05), (0.03, 0.05))),
    Kind("one case a unit", single_cases, ((0.05,), (0.1,), (0.3,), (0.5,), (0.9,))),
    Kind("lengths tied to the effect", tied_lengths,
         tuple((share, spread, slope) for share in (0.2, 0.5) for spread in (0.6, 1.0) for slope in (-0.7, 0.7))),
    Kind("skewed means", skewed_means, ((0.5,), (0.75,), (1.0,)), None, False),
    Kind("windows of documents", windows, ((0.3, 0.05), (0.6, 0.05), (0.3, 0.3), (0.6, 0.3))),
)  # fmt: skip


class Coverage(NamedTuple):
    """How often an interval covers, its mean width, and that over the exact one's (NaN where there is none)."""

    covered: float
    width: float
    over_exact: float


def cover(kind: Kind, parameters: tuple[float, ...], units: int, runs: int, seed: int = 0) -> Coverage:
    """Draw data of one kind, run after run, and count how often the interval holds the truth."""
    data = kind.draw(np.random.default_rng(seed), units, runs, *parameters)
    pooled = PooledMean((data.sums.shape[1],))
    pooled.update(data.sums, data.counts, units=data.units)
    low, high = pooled.result(kind.within, hits=kind.hits)[2:]
    inside = (low <= data.truth) & (data.truth <= high)
    independent = kind.draw is single_cases or (kind.draw is shares and not parameters[1])
    return Coverage(float(inside.mean()), float((high - low).mean()), _over_exact(data, high - low, independent))


def _over_exact(data: Data, width: Numbers, independent: bool) -> float:
    """The mean width over that of Clopper and Pearson's interval, which is exact where cases are independent."""
    if not independent:
        return float("nan")
    hits, cases = data.sums.sum(0), data.counts.sum(0)
    low = np.where(hits > 0, beta.ppf(0.025, hits, cases - hits + 1), 0.0)
    high = np.where(hits < cases, beta.ppf(0.975, hits + 1, cases - hits), 1.0)
    return float(width.mean() / (high - low).mean())


class Scored(NamedTuple):
    """Marks of runs, (run, unit, column), those of a changed model where the change counts, and the truth."""

    marks: Numbers
    changed: Numbers | None
    truth: float


MANY = 200_000  # units that stand for all, where the truth has no formula
CHUNKS = 8  # of a unit, on average


def chunks(rng: np.random.Generator, units: int, runs: int, share: float, alike: float, lost: float = 0.0) -> Scored:
    """Units of some eight chunks, of which a share is found, and as many wrong ones as are missed; a changed model
    loses some of those found, finds a quarter as many of the missed, and half as many wrong ones more."""
    given = 1 + rng.poisson(CHUNKS - 1, (runs, units))
    common = _hits(rng, given, share, alike)
    wrong = rng.poisson(CHUNKS * (1 - share), given.shape)
    marks = np.stack([common, common + wrong, given], -1)
    right = CHUNKS * share
    score = right / CHUNKS
    if not lost:
        return Scored(marks, None, score)
    kept = common - _hits(rng, common.astype(int), lost, alike) + rng.binomial((given - common).astype(int), lost / 4)
    changed = np.stack([kept, kept + wrong + rng.poisson(CHUNKS * lost / 2, given.shape), given], -1)
    still = right * (1 - lost) + (CHUNKS - right) * lost / 4
    after = 2 * still / (still + CHUNKS * (1 - share) + CHUNKS * lost / 2 + CHUNKS)
    return Scored(marks, changed, after - score)


def labels(rng: np.random.Generator, units: int, runs: int, share: float, found: float, left: float) -> Scored:
    """Texts of two labels: the share of the second, how often it is found, and how often the first is."""
    second = rng.random((runs, units)) < share
    said = np.where(second, rng.random(second.shape) < found, rng.random(second.shape) >= left)
    expected = [(1 - share) * left, (1 - share) * (1 - left), share * (1 - found), share * found]
    return Scored(np.eye(4)[2 * second + said], None, float(METRICS["matthews"].of(expected)))


def answers(rng: np.random.Generator, units: int, runs: int, lost: float, won: float) -> Scored:
    """Texts of which four in five are answered; a changed model loses and wins some answers."""
    right, luck = rng.random((runs, units)) < 0.8, rng.random((runs, units))
    still, every = np.where(right, luck >= lost, luck < won), np.ones(right.shape)
    return Scored(np.stack([right, every], -1), np.stack([still, every], -1), 0.2 * won - 0.8 * lost)


def losses(
    rng: np.random.Generator, units: int, runs: int, spread: float, slope: float = 0.0, more: float = 0.0
) -> Scored:
    """Texts of very different lengths with some three nats a word, which may go up with the length; a changed model
    has more, and more in some texts than in others."""

    def drawn(generator: np.random.Generator, size: tuple[int, ...]) -> tuple[Numbers, Numbers, Numbers]:
        length = generator.normal(size=size)
        words = np.maximum(1, np.round(60 * np.exp(0.7 * length)))
        own = 3 * np.exp(slope * length + spread * generator.normal(size=size) - spread**2 / 2)
        added = more * np.exp(0.5 * generator.normal(size=size) - 0.125)
        return words, generator.gamma(words / 1.5, 1.5 * own), words * added

    words, nats, added = drawn(rng, (runs, units))
    many, theirs, further = drawn(np.random.default_rng(5), (MANY,))
    truth = np.exp(theirs.sum() / many.sum())
    marks, changed = (np.stack([part, words], -1) for part in (nats, nats + added))
    if not more:
        return Scored(marks, None, float(truth))
    return Scored(marks, changed, float(np.exp((theirs + further).sum() / many.sum()) - truth))


def ratings(rng: np.random.Generator, units: int, runs: int, correlation: float, levels: int, uneven: bool) -> Scored:
    """Pairs with a similarity that was found and one that was given, in so many levels, or in any number; uneven
    where pairs that are found to be very like or unlike are given less surely."""

    def drawn(generator: np.random.Generator, size: tuple[int, ...]) -> Numbers:
        one, other = generator.normal(size=(2, *size))
        given = correlation * one + (1 - correlation**2) ** 0.5 * other * (np.abs(one) if uneven else 1.0)
        return np.stack(
            [one, np.clip(np.round(given * levels / 5), -levels / 2, levels / 2) if levels else given], -1
        )

    truth = METRICS["spearman"].score(drawn(np.random.default_rng(5), (MANY,)))
    return Scored(drawn(rng, (runs, units)), None, float(truth))


def translations(rng: np.random.Generator, units: int, runs: int, quality: float, alike: float) -> Scored:
    """Sentences of some twenty words, whose words match as often as the sentence is good, and longer pieces less."""

    def drawn(generator: np.random.Generator, size: tuple[int, ...]) -> Numbers:
        written = 6 + generator.poisson(14, size)
        own = generator.beta(quality * (1 / alike - 1), (1 - quality) * (1 / alike - 1), size)
        reference = np.maximum(4, written + generator.integers(-2, 5, size))
        possible = [written - order for order in range(4)]
        matching = [generator.binomial(possible[order], own ** (1 + 0.7 * order)) for order in range(4)]
        return np.stack([*matching, *possible, written, reference], -1).astype(float)

    truth = METRICS["bleu"].score(drawn(np.random.default_rng(5), (MANY,)))
    return Scored(drawn(rng, (runs, units)), None, float(truth))


@dataclass(frozen=True)
class Score:
    """A score, or a change of one: how its data are drawn, and with which parameters."""

    title: str
    metric: str
    draw: Callable[..., Scored]
    parameters: tuple[tuple[float, ...], ...]


SCORES = (
    Score("chunk F1", "f1", chunks, ((0.3, 0), (0.3, 0.2), (0.8, 0), (0.8, 0.2), (0.95, 0), (0.95, 0.2))),
    Score("Matthews", "matthews", labels,
          ((0.5, 0.7, 0.7), (0.5, 0.9, 0.9), (0.3, 0.6, 0.8), (0.3, 0.9, 0.95), (0.5, 0.5, 0.5), (0.2, 0.8, 0.9))),
    Score("perplexity", "perplexity", losses, ((0.1,), (0.2,), (0.3,), (0.2, -0.1), (0.2, 0.1))),
    Score("Spearman", "spearman", ratings,
          ((0, 0, 0), (0.5, 0, 0), (0.8, 0, 0), (0.95, 0, 0), (0.5, 5, 0), (0.85, 5, 0), (0.5, 0, 1))),
    Score("BLEU", "bleu", translations, ((0.4, 0.05), (0.6, 0.05), (0.6, 0.2), (0.8, 0.1))),
    Score("change of chunk F1", "f1", chunks,
          ((0.8, 0.0, 0.1), (0.8, 0.2, 0.1), (0.8, 0.1, 0.02), (0.5, 0.2, 0.3), (0.95, 0.1, 0.02))),
    Score("change of accuracy", "accuracy", answers, ((0.1, 0.1), (0.3, 0.1), (0.05, 0.05), (0.02, 0), (0.01, 0.01))),
    Score("change of perplexity", "perplexity", losses,
          ((0.2, 0, 0.05), (0.2, 0, 0.5), (0.2, 0.1, 0.2), (0.3, -0.1, 0.1))),
)  # fmt: skip


def cover_score(score: Score, parameters: tuple[float, ...], units: int, runs: int, seed: int = 0) -> float:
    """How often the interval of a score, or of its change, holds the truth."""
    data, metric = score.draw(np.random.default_rng(seed), units, runs, *parameters), METRICS[score.metric]
    if data.changed is None:
        low, high = estimate_score(metric, data.marks)[2:]
    else:
        ends = [estimate_change(metric, *pair)[2:] for pair in zip(data.marks, data.changed, strict=True)]
        low, high = np.transpose(ends)
    return float(((low <= data.truth) & (data.truth <= high)).mean())


def bootstrapped(score: Score, parameters: tuple[float, ...], units: int, runs: int, seed: int = 0) -> float:
    """The same of the middle 95 % of resampled units, on the same data."""
    data, metric = score.draw(np.random.default_rng(seed), units, runs, *parameters), METRICS[score.metric]
    copies = np.random.default_rng([seed, 1]).multinomial(units, np.full(units, 1 / units), size=RESAMPLES)

    def resampled(marks: Numbers) -> Numbers:
        return metric.of(np.tensordot(copies.astype(float), metric.counts(marks), axes=(1, 1)))

    drawn = resampled(data.marks) if data.changed is None else resampled(data.changed) - resampled(data.marks)
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    return float(((low <= data.truth) & (data.truth <= high)).mean())


def score_line(score: int, units: int, runs: int) -> str:
    """A line of the table of scores."""
    every = SCORES[score].parameters
    ours = [cover_score(SCORES[score], parameters, units, runs, seed=units) for parameters in every]
    before = [bootstrapped(SCORES[score], parameters, units, runs, seed=units) for parameters in every]
    cells = " | ".join(f"{np.mean(covered):.3f} | {min(covered):.3f}" for covered in (ours, before))
    return f"| {SCORES[score].title} | {units:,} | {cells} |"


def heads_and_rival(
    rng: np.random.Generator, units: int, tests: int, planted: int = 0, better: float = 0.0, windows: int = 1
) -> tuple[Numbers, Numbers]:
    """Differences of heads and a rival in units of a few cases, (unit, head), and the cases of each unit.

    A head is right as often as the rival, whose luck depends on the unit; heads come in groups of six that mostly
    agree, as heads of one model do. ``planted`` of them are right more often, by ``better``. A unit has one window
    or several, which share the unit's ease.
    """
    cases = rng.integers(1, 7, units) * windows
    ease = rng.beta(2, 2, units)
    offset = rng.binomial(cases, ease)
    shared = rng.normal(0, 0.1, (units, -(-tests // 6)))
    own = np.clip(ease[:, None] + np.repeat(shared, 6, axis=1)[:, :tests], 0.02, 0.98)
    own[:, :planted] = np.clip(own[:, :planted] + better, 0, 1)
    return rng.binomial(cases[:, None], own) - offset[:, None], cases.astype(float)


def normal_tail(differences: Numbers, cases: Numbers) -> Numbers:
    """The test that was used before: a normal tail of the ratio's linearised error, and Holm's correction."""
    total, units = cases.sum(), len(cases)
    mean = differences.sum(0) / total
    residual = differences - mean * cases[:, None]
    error = np.sqrt(units / (units - 1) * (residual**2).sum(0)) / total
    with np.errstate(divide="ignore", invalid="ignore"):
        return holm(np.where(error > 0, norm.sf(mean / error), np.where(mean > 0, 0.0, 0.5)))


def permuted(differences: Numbers, rng: np.random.Generator, flips: int = 2000) -> Numbers:
    """Max-T by hand: single-step, t statistics, one flip after another."""

    def t(rows: Numbers) -> Numbers:
        spread = rows.std(0, ddof=1)
        return np.divide(rows.mean(0), spread, out=np.zeros(rows.shape[1]), where=spread > 0)

    seen = t(differences)
    as_large = np.ones(len(seen))
    for _ in range(flips):
        as_large += t(differences * rng.choice((-1.0, 1.0), len(differences))[:, None]).max() >= seen - 1e-12
    return as_large / (flips + 1)


def wrongly_named(units: int, tests: int, runs: int, windows: int = 1) -> tuple[float, float]:
    """How often any head is named at the level though none is better: by flips, and by the normal tail."""
    rng = np.random.default_rng([units, tests, windows])
    named = np.zeros(2)
    for run in range(runs):
        differences, cases = heads_and_rival(rng, units, tests, windows=windows)
        blocks = _in_blocks(differences, cases)
        named[0] += np.nanmin(above_zero(*blocks, flips=2000, seed=run).p_corrected) <= LEVEL
        named[1] += normal_tail(differences, cases).min() <= LEVEL
    return float(named[0] / runs), float(named[1] / runs)


def found(units: int, tests: int, better: float, runs: int) -> tuple[float, float]:
    """How many of ten planted heads are found at the level: by flips, and by the permutation test written by hand."""
    rng = np.random.default_rng([units, tests])
    shares_found = np.zeros(2)
    for run in range(runs):
        differences, cases = heads_and_rival(rng, units, tests, planted=10, better=better)
        blocks = _in_blocks(differences, cases)
        shares_found[0] += (above_zero(*blocks, flips=2000, seed=run).p_corrected[:10] <= LEVEL).mean()
        shares_found[1] += (permuted(differences, rng)[:10] <= LEVEL).mean()
    return float(shares_found[0] / runs), float(shares_found[1] / runs)


def _in_blocks(differences: Numbers, cases: Numbers) -> tuple[Numbers, Numbers]:
    """As studies hand them over."""
    pooled = PooledMean(differences.shape[1:])
    pooled.update(differences, cases, units=np.arange(len(differences)))
    return pooled.rows()


Margins = tuple[margins.Margin, bool | None]  # by the card, and whether it held when bars were taken as known


def _known_bar(drawn: Numbers, bar: float) -> bool | None:
    """The verdict of before: the middle 95 % of a bootstrap, beside a bar that is taken as known."""
    low, high = np.quantile(drawn, (0.025, 0.975))
    return True if low >= bar else False if high < bar else None


def taus_at_a_tie(rng: np.random.Generator, units: int, peers: float) -> Margins:
    """Attention that agrees with gradients as well as it should, where gradients and leave-one-out agree by so
    much."""
    both = rng.multivariate_normal([0, 0], [[1, 0.1], [0.1, 1]], units).T
    tau, other = np.clip(np.array([[np.clip(peers, 0.2, 0.5)], [peers]]) + 0.25 * both, -1, 1)
    draws = margins.Resamples(range(units), seed=int(rng.integers(2**31)))
    margin = margins.tau_margin(draws, tau, other)
    return margin, _known_bar(draws.means(tau)[1:1001], margin.bar)


def erased_at_a_tie(rng: np.random.Generator, units: int, skewed: bool) -> Margins:
    """Attended words that matter half as much as those that gradients name."""
    rival = rng.gamma(0.7, 0.2 / 0.7, units)
    over = 0.25 * rival + 0.05 * rng.gamma(0.4, 2.5, units) if skewed else 0.5 * rival + rng.normal(0, 0.1, units)
    draws = margins.Resamples(range(units), seed=int(rng.integers(2**31)))
    margin = margins.erased_margin(draws, over, rival)
    return margin, _known_bar(draws.means(over)[1:1001], margin.bar)


def uniform_at_a_tie(rng: np.random.Generator, units: int, accuracy: float, won: float) -> Margins:
    """A model that loses a tenth of what it is above the most frequent label, which has .5, and wins some texts."""
    right, luck = rng.random(units) < accuracy, rng.random(units)
    lost = (margins.NEEDED * (accuracy - 0.5) + won) / accuracy
    still = np.where(right, luck >= lost, luck < won / (1 - accuracy))
    frequent = rng.random(units) < 0.5
    own, under, label = (
        np.stack([hits, np.ones(units)], -1) for hits in (right, still, frequent == (frequent.mean() >= 0.5))
    )
    margin = margins.needed_margin(METRICS["accuracy"], own, under, label, seed=int(rng.integers(2**31)))
    draws = margins.Resamples(range(units), seed=int(rng.integers(2**31)), count=1000)
    return margin, _known_bar(draws.means(own[:, 0] - under[:, 0])[1:], -margin.bar)


def shuffled_at_a_tie(rng: np.random.Generator, units: int, spread: float) -> Margins:
    """Shuffled attention that moves a tenth of the probability in half of the instances."""
    moved = margins.MOVED * np.exp(spread * rng.normal(size=units))
    drawn = np.median(moved[rng.integers(0, units, (1000, units))], axis=1)
    return margins.median_margin(moved, range(units), margins.MOVED), _known_bar(drawn, margins.MOVED)


TIES: dict[str, tuple[Callable[..., Margins], tuple[float, ...]]] = {
    "agreement, the bar between its ends": (taus_at_a_tie, (0.35,)),
    "agreement, the bar at its least": (taus_at_a_tie, (0.2,)),
    "agreement, the bar at its most": (taus_at_a_tie, (0.5,)),
    "agreement, references that hardly agree": (taus_at_a_tie, (0.05,)),
    "erasing": (erased_at_a_tie, (False,)),
    "erasing, skewed": (erased_at_a_tie, (True,)),
    "uniform attention": (uniform_at_a_tie, (0.9, 0.02)),
    "uniform attention, nothing won": (uniform_at_a_tie, (0.9, 0.0)),
    "shuffled attention": (shuffled_at_a_tie, (1.5,)),
}  # fmt: skip
CARD_UNITS = (20, 50, 100, 300)


def card_at_a_tie(tie: str, units: int, runs: int) -> tuple[float, float, float, float]:
    """How often the card says that a test holds and that it does not, though figure and bar are truly the same; and
    the same with bars taken as known."""
    draw, parameters = TIES[tie]
    rng = np.random.default_rng([units, len(tie)])
    said = np.zeros(4)
    for _ in range(runs):
        margin, before = draw(rng, units, *parameters)
        said += [margin.low >= 0, margin.high < 0, before is True, before is False]
    holds, fails, held, failed = (said / runs).tolist()
    return holds, fails, held, failed


def bend_covered(seeds: int, runs: int) -> tuple[float, float]:
    """How often the interval of the mean of so many seeds' bends covers: Student's, and by bootstrap over seeds."""
    rng = np.random.default_rng(seeds)
    covered = np.zeros(2)
    for places in rng.normal(0.0, 1.0, (runs, seeds)):
        found = over_seeds(places.tolist())
        low, high = np.quantile(places[rng.integers(0, seeds, (1000, seeds))].mean(1), (0.025, 0.975))
        covered += [found.low <= 0 <= found.high, low <= 0 <= high]
    ours, before = (covered / runs).tolist()
    return ours, before


def tie_line(tie: str, units: int, runs: int) -> str:
    """A line of the table of verdicts at a tie."""
    holds, fails, held, failed = card_at_a_tie(tie, units, runs)
    return f"| {tie} | {units} | {holds:.3f} | {fails:.3f} | {held:.3f} | {failed:.3f} |"


def bend_line(seeds: int, runs: int) -> str:
    """A line of the table of bends."""
    ours, before = bend_covered(seeds, runs)
    return f"| {seeds} | {ours:.3f} | {before:.3f} |" if seeds > 2 else f"| {seeds} | none | {before:.3f} |"


def coverage_line(kind: int, units: int, runs: int) -> str:
    """A line of the table of coverage."""
    cells = [cover(KINDS[kind], parameters, units, runs, seed=units) for parameters in KINDS[kind].parameters]
    exact = [cell.over_exact for cell in cells if np.isfinite(cell.over_exact)]
    ratio = f"{np.mean(exact):.2f}" if exact else "–"
    covered = [cell.covered for cell in cells]
    return f"| {KINDS[kind].title} | {units:,} | {np.mean(covered):.3f} | {min(covered):.3f} | {ratio} |"


def error_line(units: int, windows_each: int, tests: int, runs: int) -> str:
    """A line of the table of heads that are named wrongly."""
    ours, tail = wrongly_named(units, tests, runs, windows_each)
    return f"| {units} | {windows_each} | {tests} | {ours:.4f} | {tail:.4f} |"


def power_line(units: int, better: float, tests: int, runs: int) -> str:
    """A line of the table of heads that are found."""
    ours, theirs = found(units, tests, better, runs)
    return f"| {units} | {tests} | {better} | {ours:.3f} | {theirs:.3f} | {ours / max(theirs, 1e-9):.2f} |"


def page(runs: int, test_runs: int, power_runs: int, workers: int) -> Iterator[str]:
    """The whole page of results, line by line."""
    with ProcessPoolExecutor(workers) as pool:
        coverage = [pool.submit(coverage_line, kind, units, runs) for kind in range(len(KINDS)) for units in UNITS]
        fewer = {
            units: max(1, runs // (8 if units >= 1000 else 2)) for units in UNITS
        }  # of scores, which take longer
        scores = [
            pool.submit(score_line, score, units, fewer[units]) for score in range(len(SCORES)) for units in UNITS
        ]
        families = ((1, 144), (1, 288), (5, 144), (5, 288))
        errors = [pool.submit(error_line, units, *family, test_runs) for units in SIZES for family in families]
        power = [pool.submit(power_line, *effect, tests, power_runs) for effect in EFFECTS for tests in (144, 288)]
        ties = [pool.submit(tie_line, tie, units, test_runs) for tie in TIES for units in CARD_UNITS]
        bends = [pool.submit(bend_line, seeds, test_runs) for seeds in (2, 3, 5)]
        command = f"--runs {runs} --test-runs {test_runs} --power-runs {power_runs}"
        error = 2 * (LEVEL * (1 - LEVEL) / test_runs) ** 0.5
        yield "# Statistics: do intervals cover, do tests keep their level?\n"
        yield (
            f"Made by `python -m tools.coverage {command}` on {datetime.date.today()}; data are drawn, so no model "
            "and no corpus is read. Intervals are nominally 95 %, made as `PooledMean.result` makes them (units in "
            f"at most {BLOCKS} blocks); tests are those of `attlas.stats.above_zero`."
        )
        yield "\n## Intervals\n"
        yield "| data | units | covered, mean | worst | width over the exact interval's |\n|---|--:|--:|--:|--:|"
        yield from (line.result() for line in coverage)
        yield "\n## Scores, and changes of scores\n"
        yield (
            "Intervals are those of `attlas.stats.estimate_score` and `estimate_change`, by unit; beside them stands "
            "the percentile bootstrap over units, which attlas used before.\n"
        )
        yield "| score | units | covered, mean | worst | by bootstrap, mean | worst |\n|---|--:|--:|--:|--:|--:|"
        yield from (line.result() for line in scores)
        yield f"\n## Heads named wrongly, at a level of {LEVEL}\n"
        yield (
            "The chance that any head is called better than its rival though none is; windows of a unit share its "
            f"ease. Two standard errors of the simulation are {error:.4f} at the level. The last column is the test "
            "that attlas used before.\n"
        )
        yield "| units | windows a unit | heads | by flips, max-T | by a normal tail, Holm |\n|--:|--:|--:|--:|--:|"
        yield from (line.result() for line in errors)
        yield "\n## Heads found\n"
        yield "Ten heads of so many are better than the rival; how many of them are found, on average.\n"
        yield "| units | heads | better by | found by flips | by max-T by hand | ratio |\n|--:|--:|--:|--:|--:|--:|"
        yield from (line.result() for line in power)
        yield "\n## Verdicts of the faithfulness card at a tie\n"
        yield (
            "Figure and bar are truly the same, so that a test neither holds nor fails: how often the card says so "
            f"all the same. At most {margins.RATE / 2:.3f} is allowed on either side (two standard errors of the "
            f"simulation are {2 * (0.025 * 0.975 / test_runs) ** 0.5:.4f}). Before, the bar was taken as known.\n"
        )
        yield "| test | texts | holds | does not hold | holds, before | does not hold, before |"
        yield "|---|--:|--:|--:|--:|--:|"
        yield from (line.result() for line in ties)
        yield "\n## The bend over few seeds\n"
        yield "| seeds | covered, Student’s | by bootstrap over seeds, before |\n|--:|--:|--:|"
        yield from (line.result() for line in bends)


def main() -> None:
    """Write the page, or print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=2000, help="data sets for each kind, size and parameters")
    parser.add_argument("--test-runs", type=int, default=2000, help="families of tests for each size")
    parser.add_argument("--power-runs", type=int, default=60, help="families with planted heads for each size")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--out", type=Path, help="where to write the page; printed where none is given")
    asked = parser.parse_args()
    lines = []
    for line in page(asked.runs, asked.test_runs, asked.power_runs, asked.workers):
        print(line, flush=True)
        lines.append(line)
    if asked.out:
        asked.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
