"""Linear probes: what they read is a mean, what they minimise is regularised logistic regression, and they learn."""

from __future__ import annotations

from pathlib import Path

import edged
import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from attlas.probes.edges import linear
from attlas.probes.edges.linear import STRENGTHS, LinearSeries, best_of, linear_specs
from attlas.probes.edges.series import allowed_for


def series_for(lab: edged.Lab, *, paired: bool = False) -> LinearSeries:
    allowed = allowed_for(linear_specs(lab.mixable.origins), lab.mixable.origins)
    return LinearSeries(allowed, lab.mixable.size, len(lab.known.names), paired=paired).double()


@pytest.mark.parametrize("paired", [False, True])
def test_scores_are_those_of_means_of_spans(tmp_path: Path, paired: bool) -> None:
    lab = edged.Lab(tmp_path, paired=paired)
    series = series_for(lab, paired=paired)
    torch.nn.init.normal_(series.weight)
    lesson = next(lab.reader(pieces=200).lessons("train"))
    scores = series(lesson.asked)
    specs = linear_specs(lab.mixable.origins)
    edge = 0
    for sentence, real in enumerate(lesson.asked.real):
        for place in torch.nonzero(real)[:, 0]:
            ends = lesson.asked.spans[sentence, place].tolist()
            for probe, spec in enumerate(specs):
                states = lesson.asked.states[spec.layer, sentence]
                means = [states[a:b].mean(0) for a, b in zip(ends[::2], ends[1::2], strict=True)]
                assert torch.allclose(scores[probe, edge], torch.cat(means) @ series.weight[probe])
            edge += 1


def test_weights_are_those_of_logistic_regression_with_small_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = edged.Lab(tmp_path)
    series, specs = series_for(lab), linear_specs(lab.mixable.origins)
    reader = lab.reader(pieces=100_000)
    monkeypatch.setattr(linear, "STEPS", 3000)
    done: list[int] = []
    linear.solve(series, lab.reader(), 0, done.append)
    assert done == [1, 1, 1, 1]
    (lesson,) = reader.lessons("train")
    given = lesson.answers["gold"][0].numpy()
    label = int(np.argmin(np.abs(given.mean(0) - 0.5)))
    for probe, spec in enumerate(specs):
        spans = _means(lab, lesson, spec.layer)
        model = LogisticRegression(C=STRENGTHS[probe % len(STRENGTHS)], tol=1e-10, max_iter=10_000)
        model.fit(spans, given[:, label])
        ours = spans @ series.weight[probe, :, label].detach().numpy() + float(series.bias[probe, 0, label].detach())
        assert ours == pytest.approx(model.decision_function(spans), abs=0.02)


def _means(lab: edged.Lab, lesson: object, layer: int) -> np.ndarray:
    asked = lesson.asked  # type: ignore[attr-defined]
    return np.stack(
        [
            asked.states[layer, sentence, start:stop].mean(0).numpy()
            for sentence, real in enumerate(asked.real)
            for start, stop in asked.spans[sentence][real].tolist()
        ]
    )


def test_of_many_edges_some_are_drawn_and_the_best_strength_is_that_of_validation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = edged.Lab(tmp_path)
    specs, whole, some = linear_specs(lab.mixable.origins), series_for(lab), series_for(lab)
    linear.solve(whole, lab.reader(), 0)
    monkeypatch.setattr(linear, "MOST_NUMBERS", 20 * lab.mixable.size)
    linear.solve(some, lab.reader(), 0)
    assert not torch.allclose(whole.weight, some.weight)
    scores = np.random.default_rng(0).random(len(specs))
    chosen = best_of(specs, scores)
    assert [specs[place].layer for place in chosen] == sorted({spec.layer for spec in specs})
    layers = range(0, len(specs), len(STRENGTHS))
    assert [scores[place] for place in chosen] == [max(scores[at : at + len(STRENGTHS)]) for at in layers]
