"""Attention given from outside: frozen, uniform, shuffled and free weights, against the model and slow twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import faith_models
from attlas.capture import Override, Recorder, Selection
from attlas.capture.frozen import freeze
from attlas.errors import CapabilityError
from attlas.measures.distances import js, tvd
from attlas.stats import METRICS
from attlas.studies.faith.interventions import (
    Interventions,
    _require_same_labels,
    intervention_rows,
    shuffled,
)
from attlas.studies.shared.faith.instances import ask, predicted, sites_of, texts_of
from attlas.studies.shared.faith.last import Reweighed

FAMILIES = ["bert", "gpt2", "llama", "distilbert", "modernbert"]
TASKS = ["classification", "tagging:upos"]


def logits(task: Any, instances: Any, *instruments: Any) -> torch.Tensor:
    """All scores at real places."""
    asked = ask(task, instances)
    with torch.no_grad(), task.subject.use(*instruments):
        found = task.run(asked.question).logits
    return found if found.dim() == 2 else found[asked.real]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", TASKS)
def test_a_models_own_frozen_attention_gives_its_own_logits(name: str, family: str) -> None:
    task, instances = faith_models.posed(name, family)
    examples = [instance.example for instance in instances]
    frozen = freeze(task.subject, examples)
    width = max(example.length for example in examples)
    plain, again = logits(task, instances), logits(task, instances, frozen.override(examples, width))
    assert torch.allclose(again, plain, atol=1e-5, rtol=0)
    other = freeze(faith_models.posed(name, family)[0].subject.twin(3), examples)  # it does something at all
    assert not torch.allclose(logits(task, instances, other.override(examples, width)), plain, atol=1e-2)


def zero_queries(subject: Any) -> int:
    """Make all scores zero in the weights themselves: no query has any length."""
    done = 0
    width = subject.model.config.hidden_size
    with torch.no_grad():
        for name, module in subject.model.named_modules():
            last = name.rsplit(".", 1)[-1]
            if last in ("query", "q_proj", "q_lin"):
                some = slice(None)
            elif last in ("c_attn", "Wqkv"):
                some = slice(width)  # queries, keys and values side by side
            else:
                continue
            across = module.weight.shape[1] == 3 * width  # GPT-2 has its matrices the other way round
            (module.weight[:, some] if across else module.weight[some]).zero_()
            if module.bias is not None:
                module.bias[some] = 0
            done += 1
    return done


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", TASKS)
def test_uniform_everywhere_is_a_model_whose_scores_are_zero(name: str, family: str) -> None:
    task, instances = faith_models.posed(name, family)
    plain, uniform = logits(task, instances), logits(task, instances, Override.uniform())
    assert zero_queries(task.subject) == 3
    zeroed = logits(task, instances)
    assert torch.allclose(uniform, zeroed, atol=1e-5, rtol=0)
    assert not torch.allclose(plain, zeroed, atol=1e-2)


@pytest.mark.parametrize("family", FAMILIES[:4])
def test_gradients_pass_through_free_frozen_and_shuffled_weights(family: str) -> None:
    """Against finite differences along the gradient, in double precision."""
    task, instances = faith_models.posed("classification", family, double=True)
    asked = ask(task, instances)
    site = task.subject.sites[0]
    recorder = Recorder()
    with torch.no_grad(), task.subject.use(recorder):
        task.run(asked.question)
    own = recorder.get(site)

    def loss(override: Override) -> torch.Tensor:
        with task.subject.use(override):
            return task.run(asked.question).logits.square().sum()

    makers = {
        "free": lambda new: Override.learned({site: new}),
        "frozen": lambda new: Override.frozen({site: new}),
        "shuffled": lambda new: Override(lambda call: new.flip(1) if call.site == site else call.weights()),
    }
    for make in makers.values():
        leaf = own.clone().requires_grad_()
        (slope,) = torch.autograd.grad(loss(make(leaf)), leaf)
        assert slope.abs().max() > 0
        along, step = slope / slope.norm(), 1e-3  # some norms and softmaxes are in single precision
        with torch.no_grad():
            seen = (loss(make(own + step * along)) - loss(make(own - step * along))) / (2 * step)
        assert float(seen) == pytest.approx(float(slope.norm()), rel=0.01)


def test_permuted_weights_pass_gradients_to_the_model() -> None:
    task, instances = faith_models.posed()
    asked = ask(task, instances)
    with task.subject.use(Override.permuted(0)):
        task.run(asked.question).logits.sum().backward()
    slopes = [p.grad for name, p in task.subject.model.named_parameters() if "query.weight" in name]
    assert all(slope is not None and slope.abs().max() > 0 for slope in slopes)


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((4, 3, 13, 13), "3 heads"),
        ((4, 4, 13, 12), "do not fit"),
        ((3, 4, 0, 0), "3 texts do not fit a batch of 4"),
        ((13, 13), "was expected"),
    ],
)
def test_frozen_weights_of_another_shape_are_refused(shape: tuple[int, ...], said: str) -> None:
    task, instances = faith_models.posed()
    asked = ask(task, instances)
    pieces = asked.rows.shape[1]
    shape = tuple(size or pieces for size in shape)
    with pytest.raises(CapabilityError, match=said), task.subject.use(
        Override.frozen({task.subject.sites[0]: torch.ones(shape)})
    ):  # fmt: skip
        task.run(asked.question)


@pytest.mark.parametrize("family", [*FAMILIES, "albert"])
@pytest.mark.parametrize("name", TASKS)
def test_rows_of_the_last_layer_alone_give_what_full_passes_do(name: str, family: str) -> None:
    task, instances = faith_models.posed(name, family)
    asked = ask(task, instances)
    fast, slow = Reweighed(task), Reweighed(task, whole=True)
    own, same = fast.record(asked), slow.record(asked)
    assert fast.fast == (family != "albert")  # whose layers share their modules
    assert ("share" in fast.why_full) == (family == "albert")
    site = sites_of(task)[-1]
    assert torch.equal(own.weights[site], same.weights[site])
    weights = {site: shuffled(own, site, range(3))}
    leaf = weights[site].clone().requires_grad_()
    found, expected = fast.predict(own, {site: leaf}, 3), slow.predict(same, {site: leaf}, 3)
    assert torch.allclose(found, expected, atol=1e-5)
    slopes = [torch.autograd.grad(each.square().sum(), leaf, retain_graph=True)[0] for each in (found, expected)]
    assert slopes[0].abs().max() > 0
    assert torch.allclose(*slopes, atol=1e-5)
    assert not torch.allclose(found, own.predicted.repeat(3, 1), atol=1e-3)


def test_interventions_are_what_single_passes_give() -> None:
    task, instances = faith_models.posed("tagging:upos", "bert", per_text=2)
    frozen = freeze(task.subject.twin(1), [instance.example for instance in instances], sites_of(task)[-1:])
    other = faith_models.posed("tagging:upos", "bert")[0]
    with torch.no_grad():
        other.subject.model.classifier.weight.neg_()
    study = Interventions(task, len(instances), permutations=11, frozen={"twin": frozen}, others={"other": other})
    study.require(instances)
    bundle = study.empty()
    for part in (slice(0, 3), slice(3, None)):
        study.update(bundle, list(enumerate(instances))[part])
    found = study.result(bundle)
    assert [(one.kind, one.layers) for one in found.done] == [
        ("uniform", "last"), ("uniform", "all"), ("permuted", "last"), ("permuted", "all"), ("frozen", "last"),
        ("other model", "all"),
    ]  # fmt: skip
    sites = sites_of(task)
    for number, instance in enumerate(instances):
        asked = ask(task, [instance])
        rows, real = asked.rows[0], asked.real[0]

        def under(*instruments: Any, task: Any = task, asked: Any = asked) -> tuple[torch.Tensor, Recorder]:
            recorder = Recorder()
            with torch.no_grad(), task.subject.use(*instruments, recorder):
                return predicted(task, asked, task.run(asked.question)), recorder

        own, before = under()
        passes = [under(Override.uniform(task_layers)) for task_layers in (_layers(sites[-1:]), _layers(sites))]
        passes += [under(frozen.override([instance.example], asked.rows.shape[1])), under(task=other)]
        where = (sites[-1:], sites, sites[-1:], sites)
        for column, (new, after), there in zip((0, 1, 4, 5), passes, where, strict=True):
            each = {site: js(before.get(site), after.get(site))[0] for site in there}
            apart = [values[:, rows if site == sites[-1] else real].mean() for site, values in each.items()]
            assert found.tvd[number, column] == pytest.approx(float(tvd(own, new)), abs=1e-5)
            assert found.jsd[number, column] == pytest.approx(float(torch.stack(apart).mean()), abs=1e-5)
            assert found.flipped[number, column] == float(own.argmax() != new.argmax())
    assert found.jsd[:, 5].max() < 1e-6  # the same attention
    assert found.flipped[:, 5].max() == 1.0  # and another head
    assert (found.jsd[:, 2:4] > 0.01).all()
    assert np.isnan(found.marks[:, 3]).all()  # one word shuffled says nothing of the text's score
    rows_made = intervention_rows(METRICS["accuracy"], found, texts_of(instances), texts_of(instances))
    assert rows_made["score"][2] is None
    assert None not in (rows_made["score"][0], rows_made["change"][5], rows_made["tvd"][2])
    assert rows_made["p"] == rows_made["p_corrected"] == [None] * len(rows_made["p"])  # so few texts


def _layers(sites: Any) -> Selection:
    return Selection(layers=sites)


def test_shuffling_depends_on_the_instance_and_the_draw_alone() -> None:
    task, instances = faith_models.posed("classification", "gpt2")
    together = Reweighed(task).record(ask(task, instances))
    site = sites_of(task)[-1]
    many = shuffled(together, site, range(4)).reshape(4, len(instances), *together.weights[site].shape[1:])
    for number, instance in enumerate(instances):
        alone = Reweighed(task).record(ask(task, [instance]))
        length = instance.example.length
        assert torch.allclose(shuffled(alone, site, [2])[0, :, :, :length], many[2, number, :, :, :length], atol=1e-6)
        assert not many[2, number, :, :, length:].any()
    assert not torch.equal(many[0], many[1])


def test_models_with_other_labels_are_not_compared() -> None:
    task, other = faith_models.posed()[0], faith_models.posed()[0]
    other.subject.model.config.id2label = {0: "no", 1: "yes"}
    with pytest.raises(CapabilityError, match=r"other labels \(no, yes\)"):
        _require_same_labels(task, other)
