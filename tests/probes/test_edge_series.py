"""A series of probes: each is what it would be alone, and what a plain loop says."""

from __future__ import annotations

from pathlib import Path

import edged
import numpy as np
import pytest
import torch

from attlas.probes.edges.reading import Reader
from attlas.probes.edges.series import Asked, Series, Spec, allowed_for, specs_for
from attlas.probes.edges.training import Schedule, Training, losses
from attlas.stats.metrics import METRICS


def series_for(lab: edged.Lab, specs: tuple[Spec, ...], *, seed: int = 3) -> Series:
    allowed = allowed_for(specs, lab.mixable.origins)
    paired = lab.layouts["train"].paired
    made = Series(allowed, lab.mixable.size, len(lab.known.names), paired=paired, seed=seed, width=12, hidden=10)
    return made.double()


def naive(series: Series, probe: int, asked: Asked) -> torch.Tensor:
    """One probe on one edge after the other, as the paper writes it."""
    weights = [float(w) if ok else -np.inf for w, ok in zip(series.mix[probe], series.allowed[probe], strict=True)]
    shares = np.exp(weights) / np.exp(weights).sum()
    answers = []
    for sentence in range(asked.states.shape[1]):
        mixed = sum(s * asked.states[k, sentence] for k, s in enumerate(shares)) * series.gamma[probe]
        for edge in range(asked.spans.shape[1]):
            if not asked.real[sentence, edge]:
                continue
            sides = []
            for side in range(series.sides):
                start, stop = asked.spans[sentence, edge, 2 * side : 2 * side + 2].tolist()
                pieces = mixed[start:stop] @ series.project[side][probe] + series.project_bias[side][probe]
                attention = torch.softmax((pieces @ series.attend[side][probe])[:, 0], 0)
                sides.append((attention[:, None] * pieces).sum(0))
            inner = torch.tanh(torch.cat(sides) @ series.inner[probe] + series.inner_bias[probe, 0])
            inner = (inner - inner.mean()) / (inner.var(unbiased=False) + 1e-5).sqrt()
            inner = inner * series.scale[probe, 0] + series.shift[probe, 0]
            answers.append(inner @ series.outer[probe] + series.outer_bias[probe, 0])
    return torch.stack(answers)


@pytest.mark.parametrize("paired", [False, True])
def test_a_probe_is_what_a_plain_loop_says(tmp_path: Path, paired: bool) -> None:
    lab = edged.Lab(tmp_path, paired=paired)
    specs = specs_for(lab.mixable.origins)
    series = series_for(lab, specs)
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in series.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        lesson = next(lab.reader().lessons("train"))
        found = series(lesson.asked)
        for probe in (0, 2, len(specs) - 1):
            assert torch.allclose(found[probe], naive(series, probe, lesson.asked), atol=1e-10)
        given, among, _ = lesson.answers["gold"]
        wanted = torch.nn.functional.binary_cross_entropy_with_logits(found[0], given, weight=among, reduction="sum")
        assert torch.allclose(losses(found, lesson, specs)[0], wanted / len(given))


def trained(lab: edged.Lab, specs: tuple[Spec, ...], reader: Reader | None = None) -> Training:
    training = Training(series_for(lab, specs), specs, reader or lab.reader(), Schedule(epochs=4, seed=3))
    while not training.finished:
        training.run_epoch()
    training.take_best()
    return training


@pytest.mark.parametrize("paired", [False, True])
def test_training_together_equals_training_each_alone(tmp_path: Path, paired: bool) -> None:
    lab = edged.Lab(tmp_path, paired=paired)
    specs = specs_for(lab.mixable.origins)
    together = trained(lab, specs)
    marks, by_label, forced = together.marks("test")
    for number, spec in enumerate(specs):
        alone = trained(lab, (spec,))
        for name, value in alone.series.named_parameters():
            joint = dict(together.series.named_parameters())[name][number]
            assert torch.allclose(value[0], joint, atol=1e-9), (spec, name)
        other, other_by_label, other_forced = alone.marks("test")
        assert np.array_equal(other[0], marks[number])
        assert np.array_equal(other_forced[0], forced[number])
        assert np.array_equal(other_by_label[0], by_label[number])
        assert alone.best[0] == together.best[number]


def test_probes_learn_and_those_of_more_layers_begin_alike(tmp_path: Path) -> None:
    lab = edged.Lab(tmp_path)
    specs = specs_for(lab.mixable.origins)
    first = series_for(lab, specs)
    assert all(torch.equal(value[0], value[-1]) for name, value in first.named_parameters() if name != "mix")
    training = Training(first, specs, lab.reader(), Schedule(epochs=40, rate=1e-2, seed=0))
    seen = []
    while not training.finished:
        seen.append(training.run_epoch()[0])
    assert (seen[-1] < 0.5 * seen[0]).all()
    training.take_best()
    scores = METRICS["f1"].score(training.marks("dev")[0])
    assert np.allclose(scores, training.best)
    mixing = first.mixing().detach().numpy()
    assert np.allclose(mixing.sum(1), 1)
    assert (mixing[0, 1:] == 0).all()
    assert np.ptp(mixing[3]) > 0.05  # the mix has moved


def test_a_training_goes_on_where_it_stopped(tmp_path: Path) -> None:
    lab = edged.Lab(tmp_path)
    specs = specs_for(lab.mixable.origins)
    whole = trained(lab, specs)
    half = Training(series_for(lab, specs), specs, lab.reader(), Schedule(epochs=4, seed=3))
    half.run_epoch()
    half.run_epoch()
    arrays, about = half.state()
    arrays = {name: array.copy() for name, array in arrays.items()}
    other = Training(series_for(lab, specs, seed=9), specs, lab.reader(), Schedule(epochs=4, seed=3))
    other.restore(arrays, about)
    while not other.finished:
        other.run_epoch()
    other.take_best()
    for one, two in zip(whole.series.parameters(), other.series.parameters(), strict=True):
        assert torch.equal(one, two)
    assert np.array_equal(whole.chosen, other.chosen)


def test_the_order_of_batches_follows_from_the_seed(tmp_path: Path) -> None:
    lab = edged.Lab(tmp_path)
    reader = lab.reader(pieces=24)
    one, again, other = (reader.plan("train", np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert [list(batch) for batch in one] == [list(batch) for batch in again]
    assert [list(batch) for batch in one] != [list(batch) for batch in other]
    lengths = np.diff(lab.layouts["train"].rows)
    for plan in (one, other, reader.plan("train", None)):
        assert sorted(int(s) for batch in plan for s in batch) == list(range(8))
        assert all(len(batch) == 1 or len(batch) * lengths[batch].max() <= 24 for batch in plan)


def test_marks_are_counted_as_a_loop_would(tmp_path: Path) -> None:
    lab = edged.Lab(tmp_path)
    specs = specs_for(lab.mixable.origins)
    training = trained(lab, specs)
    marks, by_label, forced = training.marks("test")
    layout = lab.layouts["test"]
    for number in (0, len(specs) - 1):
        counted = np.zeros(3)
        for lesson in lab.reader().lessons("test"):
            said = (training.series(lesson.asked)[number] > 0).tolist()
            given = lesson.answers[specs[number].labels][0].bool().tolist()
            for edge in range(len(said)):
                for label in range(len(lab.known.names)):
                    counted += [said[edge][label] and given[edge][label], said[edge][label], given[edge][label]]
        assert np.array_equal(counted, by_label[number].sum(0))
        unseen = 0
        if specs[number].labels == "gold":
            unseen = sum(
                label not in lab.known.numbers
                for example in layout.examples
                for edge in example.passage.first.edges or ()
                for label in edge.labels
            )
        assert marks[number].sum(0).tolist() == [*counted[:2], counted[2] + unseen]
        right = edges = 0
        for lesson in lab.reader().lessons("test"):
            for scores, labels in zip(
                training.series(lesson.asked)[number], lesson.answers[specs[number].labels][0], strict=True
            ):
                right, edges = right + int(labels[int(scores.argmax())]), edges + 1
        assert forced[number].sum(0).tolist() == [right, edges, counted[2] + unseen]
