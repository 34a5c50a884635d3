"""Attention that is as unlike the model's own as can be while the prediction stays (Jain & Wallace 2019).

For every instance by itself: weights are the softmax of free scores, which start at the model's own with a little
noise and go where the Jensen-Shannon divergence (JSD) from the model's own weights grows, as long as the total
variation distance (TVD) of the predictions stays within a bound. What oversteps the bound is held back by a
multiplier that grows while it does and shrinks while it does not. The best weights within the bound are kept; what
ended outside is drawn back towards the model's own, half the way again and again, until it is inside. In the end a
full pass of the model under these weights says what TVD really is.

All instances of a batch go together, yet none knows of the others: each has its own noise, drawn by its text and
place, its own multiplier and its own moments, so that one by one gives the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attlas.capture.frozen import fingerprint
from attlas.errors import CapabilityError, PlanError
from attlas.ids import Site
from attlas.stats import Bundle, Ledger
from attlas.studies.shared.faith.instances import Instance, Labelling, ask, sites_of
from attlas.studies.shared.faith.last import Own, Reweighed
from attlas.tasks import mark_count

FIGURES = ("jsd", "tvd", "within", "flipped")
_MARGIN = 0.999  # of the bound, while searching: what a full pass may differ by
_HALVINGS = 12
_EDGE = 0.8  # of the bound, from which on overstepping costs something


@dataclass(frozen=True)
class Search:
    """How adversaries are looked for: within which bound of TVD, in how many steps, how often from the start, and in
    which head (from 0; None: all). ``rate`` is that of the first step, half as large with every new start, since
    predictions that are easily moved need small steps; ``noise`` is the spread of what is added to the scores at the
    start, ``push`` how fast the multiplier follows.

    >>> Search().bound
    0.01
    """

    bound: float = 0.01
    steps: int = 80
    restarts: int = 3
    rate: float = 1.0
    noise: float = 2.0
    push: float = 0.3
    head: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.bound < 1:
            raise PlanError(
                f"predictions cannot be kept within a distance of {self.bound:g}; give a bound between 0 and 1"
            )
        if self.steps < 1 or self.restarts < 1:
            raise PlanError("adversaries were given no step to look in; give at least one")


class Found(NamedTuple):
    """Adversaries of some instances: their weights at the rows that may be changed, by site; how far these are from
    the model's own; how far predictions are, by a full pass; whether that is within the bound; and these."""

    weights: dict[Site, Tensor]
    jsd: Tensor
    tvd: Tensor
    within: Tensor
    predicted: Tensor


def adversaries(model: Reweighed, own: Own, search: Search | None = None) -> Found:
    """Look for adversaries of all instances at once.

    >>> from attlas.studies.shared.faith.instances import _example
    >>> task, asked = _example()
    >>> model = Reweighed(task)
    >>> found = adversaries(model, model.record(asked), Search(bound=0.05, steps=30))
    >>> found.within.tolist(), bool((found.jsd > 0.3).all()), bool((found.tvd <= 0.05).all())
    ([True, True], True, True)
    """
    search = search or Search()
    heads = {site: weights.shape[1] for site, weights in own.weights.items()}
    if search.head is not None and not 0 <= search.head < min(heads.values()):
        raise CapabilityError(f"there is no head {search.head} at these layers; they have {min(heads.values())}")
    best = _Best(own, search)
    with model.subject.frozen():
        for turn in range(search.restarts):
            with torch.enable_grad():
                last = _climb(model, own, search, turn, best)
            best.take(*_drawn_back(model, own, search, last))
    return _proved(model, own, search, best.weights)


class _Best:
    """The best weights within the bound so far; the model's own to begin with."""

    def __init__(self, own: Own, search: Search) -> None:
        self.bound = search.bound * _MARGIN
        self.weights = dict(own.weights)
        self.jsd = torch.zeros_like(own.predicted[:, 0])

    def take(self, weights: dict[Site, Tensor], jsd: Tensor, tvd: Tensor) -> None:
        """Take in new weights where they are within the bound and further away."""
        better = (tvd <= self.bound) & (jsd > self.jsd)
        self.jsd = torch.where(better, jsd, self.jsd)
        at = better[:, None, None, None]
        self.weights = {site: torch.where(at, weights[site], kept) for site, kept in self.weights.items()}


def _climb(model: Reweighed, own: Own, search: Search, turn: int, best: _Best) -> dict[Site, Tensor]:
    """Follow the gradient from the model's own weights; gives where it ends."""
    scores = {
        site: (weights.clamp(min=1e-6).log() + search.noise * _noise(own, site, search.seed, turn)).requires_grad_()
        for site, weights in own.weights.items()
    }
    rate = search.rate / 2**turn
    steps = torch.optim.Adam(list(scores.values()), lr=rate, betas=(0.5, 0.9))  # a short memory: the edge is near
    multiplier = torch.ones_like(best.jsd)
    for step in range(search.steps):
        steps.param_groups[0]["lr"] = rate * (1 - step / search.steps)
        weights = {site: _free(own, site, free, search.head) for site, free in scores.items()}
        jsd, tvd = own.divergence(weights, search.head), own.moved(model.predict(own, weights))
        best.take({site: each.detach() for site, each in weights.items()}, jsd.detach(), tvd.detach())
        over = tvd / search.bound - _EDGE
        loss = multiplier * over.clamp(min=0) - jsd
        steps.zero_grad()
        torch.autograd.backward(loss.sum(), inputs=list(scores.values()))
        steps.step()
        multiplier = (multiplier * torch.exp(search.push * (over.detach() + _EDGE - 1).clamp(-1, 1))).clamp(1e-3, 1e3)
    return {site: _free(own, site, free.detach(), search.head) for site, free in scores.items()}


def _free(own: Own, site: Site, scores: Tensor, head: int | None) -> Tensor:
    """The softmax of free scores over the keys that a row may see; other heads than the chosen one keep theirs."""
    soft = scores.masked_fill(~own.visible[site], torch.finfo(scores.dtype).min).softmax(-1)
    if head is None:
        return soft
    chosen = torch.arange(soft.shape[1], device=soft.device) == head
    return torch.where(chosen[:, None, None], soft, own.weights[site])


def _noise(own: Own, site: Site, seed: int, turn: int) -> Tensor:
    """Normal numbers for every row, drawn for each instance by its own text and place."""
    noise = torch.zeros_like(own.weights[site])
    counts = own.rows[site].there.sum(-1).tolist()
    for number, (instance, rows) in enumerate(zip(own.asked.instances, counts, strict=True)):
        generator = torch.Generator().manual_seed(instance_seed(instance, f"{seed} {site} {turn}"))
        length = instance.example.source.length
        noise[number, :, :rows, :length] = torch.randn(noise.shape[1], rows, length, generator=generator)
    return noise


def instance_seed(instance: Instance, seed: object) -> int:
    """A number that depends on an instance and a seed alone.

    >>> from attlas.studies.shared.faith.instances import _example
    >>> one, other = _example()[1].instances
    >>> instance_seed(one, 0) == instance_seed(other, 0)
    False
    """
    said = f"{fingerprint(instance.example)} {instance.place} {seed}"
    return int.from_bytes(hashlib.blake2b(said.encode(), digest_size=7).digest(), "little")


class Adversarial:
    """The study: the adversary of each of ``count`` instances, at the "last" layer, at "all", or at one.

    >>> from attlas.studies.shared.faith.instances import _example
    >>> task, asked = _example()
    >>> study = Adversarial(task, len(asked.instances), search=Search(steps=5))
    >>> bundle = study.empty()
    >>> study.update(bundle, list(enumerate(asked.instances)))
    >>> study.figures(bundle)["within"].tolist()
    [1.0, 1.0]
    """

    name = "faith"

    def __init__(self, task: Labelling, count: int, *, layers: str = "last", search: Search | None = None) -> None:
        self.task, self.count, self.layers, self.search = task, count, layers, search or Search()
        self.model = Reweighed(task, sites_of(task, layers))

    def empty(self) -> Bundle:
        """A bundle that has seen nothing."""
        return Bundle(
            {"figures": Ledger(self.count, (len(FIGURES),)), "marks": Ledger(self.count, (mark_count(self.task),))}
        )

    def update(self, bundle: Bundle, batch: Sequence[tuple[int, Instance]]) -> None:
        """Look for the adversaries of a batch of numbered instances."""
        numbers = [number for number, _ in batch]
        own = self.model.record(ask(self.task, [instance for _, instance in batch]))
        found = adversaries(self.model, own, self.search)
        flipped = found.predicted.argmax(-1) != own.predicted.argmax(-1)
        columns = [found.jsd, found.tvd, found.within, flipped]
        bundle["figures"].update(numbers, torch.stack([one.double().cpu() for one in columns], -1).numpy())
        with torch.no_grad():
            asked, output = self.model.run(own, found.weights)
            marks = self.task.judge(asked.question, output).marks
        if self.task.name.startswith("tagging:"):  # only one word of the text was tampered with
            marks = torch.full_like(marks, float("nan"))
        bundle["marks"].update(numbers, marks.double().cpu().numpy())

    def figures(self, bundle: Bundle) -> dict[str, Any]:
        """What was found of every instance, by name: jsd, tvd, within and flipped."""
        return dict(zip(FIGURES, bundle["figures"].result().T, strict=True))


def _mixture(own: Own, weights: dict[Site, Tensor], share: Tensor) -> dict[Site, Tensor]:
    at = share[:, None, None, None]
    return {site: own.weights[site] + at * (new - own.weights[site]) for site, new in weights.items()}


def _drawn_back(
    model: Reweighed, own: Own, search: Search, weights: dict[Site, Tensor]
) -> tuple[dict[Site, Tensor], Tensor, Tensor]:
    """Weights drawn back towards the model's own until they are within the bound."""
    low, high = torch.zeros_like(own.predicted[:, 0]), torch.ones_like(own.predicted[:, 0])
    share = high.clone()
    with torch.no_grad():
        for _ in range(_HALVINGS):
            inside = own.moved(model.predict(own, _mixture(own, weights, share))) <= search.bound * _MARGIN
            low, high = torch.where(inside, share, low), torch.where(inside, high, share)
            share = torch.where(inside & (low == 1), low, (low + high) / 2)
        found = _mixture(own, weights, low)
        return found, own.divergence(found, search.head), own.moved(model.predict(own, found))


def _proved(model: Reweighed, own: Own, search: Search, weights: dict[Site, Tensor]) -> Found:
    """What a full pass says; weights that are not within the bound by it are drawn back further."""
    share = torch.ones_like(own.predicted[:, 0])
    for _ in range(_HALVINGS + 1):
        mixed = _mixture(own, weights, share)
        new = model.check(own, mixed)
        inside = own.moved(new) <= search.bound
        if bool(inside.all()):
            break
        share = torch.where(inside, share, share * 0.8)
    tvd = own.moved(new)
    return Found(mixed, own.divergence(mixed, search.head), tvd, tvd <= search.bound, new)
