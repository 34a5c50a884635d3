"""The guard: is a model better than chance? Against the number, against marks of chance itself, and by unit."""

from __future__ import annotations

import numpy as np
import pytest

from attlas.errors import StatsError
from attlas.stats import METRICS, no_better_than_chance, not_shown, standing

ACCURACY = METRICS["accuracy"]


def marks(right: np.ndarray) -> np.ndarray:
    return np.stack([right, np.ones_like(right)], -1).astype(float)


def test_a_model_that_guesses_is_warned_of_nearly_always_and_one_that_knows_hardly_ever() -> None:
    rng, count = np.random.default_rng(0), 300
    warned = dict.fromkeys((0.5, 0.8), 0)
    for _ in range(count):
        majority = marks(rng.random(60) < 0.5)
        for share in warned:
            warned[share] += no_better_than_chance(marks(rng.random(60) < share), ACCURACY, majority) is not None
    assert warned[0.5] > 0.955 * count  # one-sided 2.5 %, within the error of so many draws
    assert warned[0.8] < 0.15 * count


def test_marks_of_chance_are_compared_text_by_text() -> None:
    hard = np.arange(40) % 2 == 0
    majority = marks(~hard)  # right on every easy text
    model = marks(~hard | (np.arange(40) % 10 == 0))  # and on every fifth of the hard ones, too
    paired, alone = standing(model, ACCURACY, majority), standing(model, ACCURACY, 0.5)
    assert paired.gain == alone.gain == pytest.approx(0.1)
    assert paired.gain_low > 0 > alone.gain_low


def test_units_are_not_texts_where_texts_of_a_document_are_alike() -> None:
    right = np.repeat(np.arange(10) % 5 > 0, 20)
    assert no_better_than_chance(marks(right), ACCURACY, 0.6) is None
    said = no_better_than_chance(marks(right), ACCURACY, 0.6, units=np.repeat(np.arange(10), 20))
    assert said is not None
    assert (
        "0.8 (200 texts of 10 documents) cannot be told from 0.6, that of always giving the most frequent label"
        in said
    )


@pytest.mark.parametrize("name", ["perplexity", "loss"])
def test_where_less_is_better_the_sign_is_turned(name: str) -> None:
    losses = marks(np.linspace(1.0, 2.0, 30))
    high, low = (np.exp(3), np.exp(1)) if name == "perplexity" else (3.0, 1.0)
    assert no_better_than_chance(losses, METRICS[name], high) is None
    assert no_better_than_chance(losses, METRICS[name], low) is not None
    assert standing(losses, METRICS[name], high).gain > 0


def test_scores_that_are_no_means_have_intervals_over_units_too() -> None:
    rng = np.random.default_rng(1)
    given = rng.random(80)
    related = np.stack([given + 0.3 * rng.random(80), given], -1)
    assert no_better_than_chance(related, METRICS["spearman"], 0.0) is None
    assert no_better_than_chance(np.stack([rng.random(80), given], -1), METRICS["spearman"], 0.0) is not None
    confusion = np.eye(4)[rng.integers(0, 4, 60)]
    assert no_better_than_chance(confusion, METRICS["matthews"], 0.0) is not None


def test_with_too_few_texts_nothing_is_shown_and_without_a_chance_level_nothing_is_said() -> None:
    perfect = marks(np.ones(5))
    said = no_better_than_chance(perfect, ACCURACY, 0.5)
    assert said is not None
    assert "fewer than 6 of them" in said
    assert no_better_than_chance(marks(np.ones(12)), ACCURACY, 0.5) is None
    assert no_better_than_chance(perfect, ACCURACY, None) is None
    assert not_shown("BLEU", {"score": 3.0, "chance": None}) is None


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(StatsError, match="chance has marks"):
        standing(marks(np.ones(8)), ACCURACY, marks(np.ones(7)))
    with pytest.raises(StatsError, match="a unit for each of 8"):
        standing(marks(np.ones(8)), ACCURACY, 0.5, units=[0, 1])
