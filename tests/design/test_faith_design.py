"""The experiments of faith under test: data whose answer lies between two bars, or on one.

A bar that is moved gives another verdict on figures that are planted between the old place and the new one; instances
of one text that are taken for texts, bars that are taken as known, labels that are counted the other way round, and
seeds that are taken for surer than they are give other intervals and other counts than those asked for here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import faith_models
from attlas.stats import METRICS, holm
from attlas.studies.faith.agreement import Pair, agreement_rows
from attlas.studies.faith.call import faith
from attlas.studies.faith.card import judged
from attlas.studies.faith.explanations import Named
from attlas.studies.faith.interventions import Intervened, Intervention, intervention_rows
from attlas.studies.faith.margins import (
    FAR,
    MOVED,
    Resamples,
    erased_margin,
    median_margin,
    needed_margin,
    tau_margin,
)
from attlas.studies.faith_chunking import bend
from attlas.studies.shared.faith import adversary
from attlas.studies.shared.faith.adversary import Adversarial, Found
from tools.coverage import card_at_a_tie

TEXTS = 100
DRAWS = Resamples(range(TEXTS))


def around(value: float, seed: int = 0, spread: float = 0.05) -> np.ndarray:
    """A value for each text, with this mean."""
    noise = np.random.default_rng(seed).normal(0, spread, TEXTS)
    return value + noise - noise.mean()


@pytest.mark.parametrize(
    ("tau", "peers", "verdict"),
    [
        (0.15, 0.05, "does not hold"), (0.25, 0.05, "holds"), (0.25, 0.35, "does not hold"), (0.45, 0.35, "holds"),
        (0.45, 0.9, "does not hold"), (0.55, 0.9, "holds"), (0.2, 0.05, "cannot tell"), (0.35, 0.35, "cannot tell"),
    ],
)  # fmt: skip
def test_attention_agrees_as_well_as_the_references_within_bounds(tau: float, peers: float, verdict: str) -> None:
    assert judged(tau_margin(DRAWS, around(tau), around(peers, 1))) == verdict


@pytest.mark.parametrize(("moved", "verdict"), [(0.06, "does not hold"), (0.15, "holds")])
def test_shuffling_should_move_a_tenth(moved: float, verdict: str) -> None:
    assert judged(median_margin(around(moved, spread=0.01), range(TEXTS), MOVED)) == verdict


@pytest.mark.parametrize(("far", "verdict"), [(0.25, "holds"), (0.4, "does not hold")])
def test_adversaries_should_stay_near(far: float, verdict: str) -> None:
    assert judged(median_margin(around(far), range(TEXTS), FAR, above=False)) == verdict


@pytest.mark.parametrize(("lost", "verdict"), [(0.05, "does not hold"), (0.15, "holds"), (0.1, "cannot tell")])
def test_a_tenth_should_be_lost_without_attention(lost: float, verdict: str) -> None:
    """The model is always right and the most frequent label half of the time, so a tenth is .05 of accuracy."""
    texts = 1000
    own, under, frequent = np.ones((3, texts, 2))
    under[: int(lost * texts / 2), 0] = 0
    frequent[::2, 0] = 0
    margin = needed_margin(METRICS["accuracy"], own, under, frequent)
    assert margin.bar == pytest.approx(-0.05)
    assert judged(margin) == verdict
    turned = needed_margin(METRICS["accuracy"], under, own, frequent)
    assert judged(turned) == "does not hold"  # a gain is no loss


@pytest.mark.parametrize(("part", "verdict"), [(0.35, "does not hold"), (0.65, "holds"), (-0.2, "does not hold")])
def test_attended_words_should_matter_half_as_much_as_those_of_gradients(part: float, verdict: str) -> None:
    assert judged(erased_margin(DRAWS, around(0.6 * part), around(0.6, 1))) == verdict


def test_words_that_matter_less_than_random_ones_do_not_pass_where_those_of_gradients_do_too() -> None:
    assert judged(erased_margin(DRAWS, around(-0.1), around(-0.6, 1))) == "does not hold"


def test_figure_and_bar_are_made_of_the_same_resamples() -> None:
    """Texts differ much, and attention is ahead by a little in every one of them."""
    peers = around(0.35, spread=0.3)
    assert judged(tau_margin(DRAWS, peers + 0.04 + around(0, 1, 0.02), peers)) == "holds"
    assert judged(erased_margin(DRAWS, 0.5 * peers - 0.04 + around(0, 1, 0.02), peers)) == "does not hold"
    shuffled = np.random.default_rng(2).permutation(peers)
    assert judged(tau_margin(DRAWS, shuffled + 0.04, peers)) == "cannot tell"


def test_at_a_tie_verdicts_are_as_rare_as_stated() -> None:
    runs = 200
    most = 0.025 + 3 * (0.025 * 0.975 / runs) ** 0.5
    for tie in ("agreement, the bar at its least", "agreement, the bar between its ends", "shuffled attention"):
        holds, fails, *before = card_at_a_tie(tie, 40, runs)
        assert max(holds, fails) <= most, tie
        if tie == "agreement, the bar between its ends":
            assert sum(before) > 0.1, "bars that are taken as known give more verdicts than they should"


def test_units_are_texts_and_not_instances() -> None:
    taus = np.repeat(np.random.default_rng(0).normal(0.2, 0.2, 20), 8)[None]
    pairs = {(Named("gradient"), "leave-one-out"): Pair(taus, taus, taus)}
    words = np.ones((160, 5), dtype=bool)
    alone, together = (
        agreement_rows(pairs, words, units) for units in (range(160), np.repeat(np.arange(20), 8).tolist())
    )
    assert alone["tau"] == pytest.approx(together["tau"])
    wide, narrow = (table["high"][0] - table["low"][0] for table in (together, alone))
    assert wide == pytest.approx(narrow * 8**0.5, rel=0.15)


def test_p_is_corrected_over_all_interventions_and_by_unit() -> None:
    texts, kinds = 60, 8
    marks = np.ones((texts, 1 + kinds, 2))
    marks[:9, 1, 0] = 0  # nine of sixty lost: sure by itself, and no more so after eight looks
    done = tuple(Intervention("frozen", "all", str(number)) for number in range(kinds))
    changed = Intervened(done, *np.zeros((3, texts, kinds)), marks)
    rows = intervention_rows(METRICS["accuracy"], changed, range(texts), range(texts))
    assert rows["p"][0] < 0.005
    assert rows["p_corrected"][0] == pytest.approx(8 * rows["p"][0])
    documents = [number // 9 for number in range(texts)]
    assert set(intervention_rows(METRICS["accuracy"], changed, range(texts), documents)["p"]) == {None}
    pairs = [number // 3 for number in range(texts)]
    assert intervention_rows(METRICS["accuracy"], changed, range(texts), pairs)["p"][0] > 0.1


def test_labels_that_change_are_counted_and_not_those_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    task, instances = faith_models.posed()
    study = Adversarial(task, len(instances))

    def found(model: Any, own: Any, search: Any) -> Found:
        predicted = own.predicted.clone()
        predicted[0] = predicted[0].flip(-1)
        nothing = own.predicted[:, 0] * 0
        return Found(own.weights, nothing, nothing, nothing == 0, predicted)

    monkeypatch.setattr(adversary, "adversaries", found)
    bundle = study.empty()
    study.update(bundle, list(enumerate(instances)))
    assert study.figures(bundle)["flipped"].tolist() == [1.0] + [0.0] * (len(instances) - 1)


def test_the_interval_of_a_bend_covers_over_few_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bend, "fit_bend", lambda x, y: bend.Bend(float(x), 0.0, 1.0, 1.0))
    for seeds in (3, 5):
        covered = []
        for places in np.random.default_rng(seeds).normal(0.5, 0.1, (2000, seeds)):
            low, high = bend.bend_of_seeds([(place, 0.0) for place in places])[1]
            covered.append(low <= 0.5 <= high)
        assert np.mean(covered) == pytest.approx(0.95, abs=0.015)
    assert bend.bend_of_seeds([(0.4, 0.0), (0.5, 0.0)])[1] is None


@pytest.fixture(scope="module")
def result() -> Any:
    return faith(
        faith_models.subject(), faith_models.corpus(5), steps=2, adversary_steps=2, permutations=2,
        others=[faith_models.subject()],
    )  # fmt: skip


def test_bars_and_margins_of_a_run_are_those_of_its_tables(result: Any) -> None:
    card = {row["figure"]: row for row in result.rows("card")}
    whole = result.rows("whole")[0]
    by_name = {(row["explanation"], row["against"]): row["tau"] for row in result.rows("agreement")}
    lost = {row["explanation"]: row["over_random"] for row in result.rows("erasure")}
    bar = min(0.5, max(0.2, by_name["gradient", "leave-one-out"]))
    bars = {
        "tau_gradient": bar, "tau_leave_one_out": bar, "permuted": 0.1, "adversary": 0.311,
        "uniform": -0.1 * abs(whole["score"] - whole["chance_score"]),
        "comprehensiveness": max(0.0, 0.5 * lost["gradient"]),
    }  # fmt: skip
    assert {name: row["bar"] for name, row in card.items() if name != "paragraph"} == pytest.approx(bars, abs=1e-9)
    for name in bars:
        sign = -1 if name in ("adversary", "uniform") else 1
        assert card[name]["margin"] == pytest.approx(sign * (card[name]["value"] - card[name]["bar"])), name
    own = [row["permuted"] for row in result.rows("instances")]
    assert card["permuted"]["value"] == pytest.approx(np.median(own))


def test_p_of_a_run_is_corrected(result: Any) -> None:
    rows = result.rows("interventions")
    known = [np.nan if row["p"] is None else row["p"] for row in rows]
    assert np.isfinite(known).sum() > 3
    corrected = [np.nan if row["p_corrected"] is None else row["p_corrected"] for row in rows]
    assert corrected == pytest.approx(holm(known).tolist(), nan_ok=True)


def test_a_classifier_that_learned_nothing_gets_no_verdict(result: Any) -> None:
    whole = result.rows("whole")[0]
    assert whole["score_low"] <= whole["chance_score"]  # random weights
    assert {row["verdict"] for row in result.rows("card")} == {"cannot tell", ""}
