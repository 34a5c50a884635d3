"""Per-instance adversaries: within their bound, far away, and the same in a batch as one by one."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import faith_models
from attlas.capture import Override
from attlas.errors import CapabilityError, PlanError
from attlas.measures.distances import js, tvd
from attlas.studies.shared.faith.adversary import Adversarial, Search, adversaries
from attlas.studies.shared.faith.instances import ask, predicted, sites_of
from attlas.studies.shared.faith.last import Reweighed

QUICK = Search(bound=0.05, steps=25, restarts=1)


def by_hand(task: Any, asked: Any, own: Any, found: Any) -> torch.Tensor:
    """Predictions under the weights that were found, put into the whole square by a loop."""
    rows = {site: asked.rows if site == sites_of(task)[-1] else asked.real for site in found.weights}

    def put(call: Any) -> torch.Tensor:
        whole = call.weights().clone()
        for number, places in enumerate(rows.get(call.site, ())):
            for at, place in enumerate(places.nonzero()[:, 0].tolist()):
                whole[number, :, place] = found.weights[call.site][number, :, at]
        return whole

    with torch.no_grad(), task.subject.use(Override(put)):
        return predicted(task, asked, task.run(asked.question))


@pytest.mark.parametrize(
    ("name", "family", "layers"),
    [
        ("classification", "bert", "last"),
        ("classification", "gpt2", "last"),
        ("tagging:upos", "llama", "last"),
        ("classification", "albert", "last"),
        ("classification", "modernbert", "all"),
        ("tagging:upos", "bert", "1"),
    ],
)
def test_adversaries_are_far_away_and_within_their_bound(name: str, family: str, layers: str) -> None:
    task, instances = faith_models.posed(name, family)
    asked = ask(task, instances)
    model = Reweighed(task, sites_of(task, layers))
    own = model.record(asked)
    found = adversaries(model, own, QUICK)
    again = tvd(own.predicted, by_hand(task, asked, own, found))
    assert found.within.all()
    assert (again <= QUICK.bound + 1e-6).all()
    assert torch.allclose(again, found.tvd, atol=1e-5)
    assert (found.jsd > 0.05).all()
    assert (found.jsd <= math.log(2) + 1e-6).all()
    for site, weights in found.weights.items():
        there = own.rows[site].there
        assert torch.allclose(weights.sum(-1).transpose(1, 2)[there], torch.ones(()), atol=1e-5)
        hidden = ~own.visible[site].expand_as(weights)
        assert not (weights * hidden).transpose(1, 2)[there].any()
    shares = [js(own.weights[s], w).mean(1) * own.rows[s].there for s, w in found.weights.items()]
    by_loop = sum(
        share.sum(-1) / own.rows[s].there.sum(-1) for share, s in zip(shares, found.weights, strict=True)
    ) / len(shares)
    assert torch.allclose(found.jsd, by_loop, atol=1e-6)


@pytest.mark.parametrize(("name", "layers"), [("classification", "last"), ("tagging:upos", "all")])
def test_a_batch_gives_what_instances_give_one_by_one(name: str, layers: str) -> None:
    task, instances = faith_models.posed(name, double=True)
    search = Search(bound=0.05, steps=12, restarts=2)

    def look(some: Any) -> Any:
        model = Reweighed(task, sites_of(task, layers))
        return adversaries(model, model.record(ask(task, some)), search)

    together = look(instances)
    for number, instance in enumerate(instances):
        alone = look([instance])
        assert float(alone.jsd) == pytest.approx(float(together.jsd[number]), abs=1e-3)
        assert bool(alone.within)


def test_a_single_head_leaves_the_others_alone() -> None:
    task, instances = faith_models.posed()
    model = Reweighed(task)
    own = model.record(ask(task, instances))
    found = adversaries(model, own, Search(bound=0.05, steps=10, restarts=1, head=2))
    (site,) = found.weights
    same = (found.weights[site] == own.weights[site]).flatten(2).all(-1)
    assert same[:, [0, 1, 3]].all()
    assert not same[:, 2].any()
    assert torch.allclose(found.jsd, js(own.weights[site], found.weights[site])[:, 2, 0], atol=1e-6)


def test_a_tighter_bound_keeps_attention_nearer() -> None:
    task, instances = faith_models.posed()
    model = Reweighed(task)
    own = model.record(ask(task, instances))
    far, near = (adversaries(model, own, Search(bound=bound, steps=25, restarts=1)) for bound in (0.3, 0.001))
    assert near.within.all()
    assert float(near.jsd.mean()) < float(far.jsd.mean())


def test_the_study_writes_down_what_was_found() -> None:
    task, instances = faith_models.posed("tagging:upos", "gpt2")
    study = Adversarial(task, len(instances), search=QUICK)
    bundle = study.empty()
    study.update(bundle, list(enumerate(instances))[2:])
    study.update(bundle, list(enumerate(instances))[:2])
    found = study.figures(bundle)
    whole = adversaries(study.model, study.model.record(ask(task, instances)), QUICK)
    assert found["within"].all()
    assert found["tvd"].max() <= QUICK.bound
    assert found["jsd"] == pytest.approx(whole.jsd.numpy(), abs=2e-2)


def test_what_cannot_be_looked_for_is_refused() -> None:
    task, instances = faith_models.posed()
    with pytest.raises(PlanError, match="a bound between 0 and 1"):
        Search(bound=1.5)
    assert Search(steps=1, restarts=1).steps == 1
    for nothing in ({"steps": 0}, {"restarts": 0}):
        with pytest.raises(PlanError, match="no step to look in"):
            Search(**nothing)
    with pytest.raises(CapabilityError, match="no layer 4; choose one from 1 to 3"):
        sites_of(task, "3")
    model = Reweighed(task)
    with pytest.raises(CapabilityError, match="no head 4"):
        adversaries(model, model.record(ask(task, instances)), Search(head=4))
