"""Linear probes: what they read is a mean, what they minimise is regularised logistic regression, and they learn."""

from __future__ import annotations

from pathlib import Path

import edged
import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from attlas.probes.edges.linear import STRENGTHS, LinearSeries, best_of, linear_specs
from attlas.probes.edges.series import allowed_for
from attlas.probes.edges.training import Schedule, Training, losses


def series_for(lab: edged.Lab, *, paired: bool = False) -> LinearSeries:
    allowed = allowed_for(linear_specs(lab.mixable.origins), lab.mixable.origins)
    edges = len(lab.layouts["train"].spans)
    return LinearSeries(allowed, lab.mixable.size, len(lab.known.names), edges=edges, paired=paired).double()


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


def test_what_is_minimised_is_logistic_regression_with_small_weights(tmp_path: Path) -> None:
    lab = edged.Lab(tmp_path)
    series, specs = series_for(lab), linear_specs(lab.mixable.origins)
    (lesson,) = lab.reader(pieces=100_000).lessons("train")
    given = lesson.answers["gold"][0].numpy()
    label = int(np.argmin(np.abs(given.mean(0) - 0.5)))
    series.weight.requires_grad_(True)
    for probe, spec in enumerate(specs[: 2 * len(STRENGTHS)]):
        spans = _means(lab, lesson, spec.layer)
        model = LogisticRegression(C=STRENGTHS[probe % len(STRENGTHS)], tol=1e-10, max_iter=10_000)
        model.fit(spans, given[:, label])
        with torch.no_grad():
            series.weight[probe, :, label] = torch.from_numpy(model.coef_[0])
            series.bias[probe, 0, label] = float(model.intercept_[0])
    (losses(series(lesson.asked), lesson, specs) + series.penalty()).sum().backward()
    assert series.weight.grad is not None
    solved = series.weight.grad[: 2 * len(STRENGTHS), :, label]
    assert solved.abs().max() < 1e-5
    assert series.weight.grad[2 * len(STRENGTHS) :, :, label].abs().max() > 1e-3


def _means(lab: edged.Lab, lesson: object, layer: int) -> np.ndarray:
    asked = lesson.asked  # type: ignore[attr-defined]
    return np.stack(
        [
            asked.states[layer, sentence, start:stop].mean(0).numpy()
            for sentence, real in enumerate(asked.real)
            for start, stop in asked.spans[sentence][real].tolist()
        ]
    )


def test_linear_probes_learn_and_go_on_where_they_stopped(tmp_path: Path) -> None:
    lab = edged.Lab(tmp_path)
    specs = linear_specs(lab.mixable.origins)
    schedule = Schedule(epochs=12, rate=1e-2)
    whole, half, other = (Training(series_for(lab), specs, lab.reader(), schedule) for _ in range(3))
    seen = []
    while not whole.finished:
        seen.append(whole.run_epoch()[0])
    assert (seen[-1] < seen[0]).all()
    half.run_epoch()
    arrays, about = half.state()
    other.restore({name: array.copy() for name, array in arrays.items()}, about)
    while not other.finished:
        other.run_epoch()
    assert torch.equal(whole.series.weight, other.series.weight)
    chosen = best_of(specs, whole.best)
    assert [specs[place].layer for place in chosen] == sorted({spec.layer for spec in specs})
    assert all(whole.best[place] == max(whole.best[k] for k in range(len(specs)) if specs[k] == specs[place])
               for place in chosen)  # fmt: skip
