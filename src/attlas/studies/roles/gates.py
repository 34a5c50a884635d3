"""Which heads need the whole context, and which can do with the first and the nearest pieces (DuoAttention).

Every head of keys has a gate from 0 to 1, which blends its attention with the same attention cut to the first and
the nearest pieces. Gates are trained, the model is not: the last states over the answer to a needle shall stay what
they were, and every open gate costs. What stays open is a head that retrieves; what closes, one that streams. One
training on some texts is one unit, so that there are two in each half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attlas.capture.instruments import Override
from attlas.errors import CapabilityError
from attlas.ids import Site, Stream
from attlas.models import AttentionCall
from attlas.stats import Bundle
from attlas.studies.roles.definition import Definition
from attlas.studies.roles.long_texts import answered, longest, needle_texts
from attlas.studies.roles.scores import add_scores, empty_scores
from attlas.studies.roles.sharing import key_heads
from attlas.studies.shared.reducing import stacked

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.studies.roles.texts import RoleText, Setting

SINK, RECENT = 16, 64  # pieces that a head which streams sees
LENGTH = 256  # pieces of a text
UNITS, TEXTS, AT_ONCE = 4, 8, 2  # trainings, texts of each, texts of a step
STEPS, RATE, COST = 60, 0.05, 0.05


@dataclass(frozen=True)
class GateTexts:
    """The texts of one training.

    >>> GateTexts((), 3).unit
    3
    """

    texts: tuple[RoleText, ...]
    unit: int

    @property
    def length(self) -> int:
        """Pieces of all steps together."""
        return sum(text.length for text in self.texts) * STEPS * AT_ONCE // max(1, len(self.texts))


def gate_texts(setting: Setting) -> list[GateTexts]:
    """Needles with their right answers, dealt out to trainings. Only where the training was asked for.

    >>> from attlas.capture import load
    >>> from attlas.studies.roles.texts import Setting
    >>> gate_texts(Setting(load(), None))
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: gates are trained, which takes long; ask for them with --gates
    """
    if not setting.gates:
        raise CapabilityError("gates are trained, which takes long; ask for them with --gates")
    room = min(LENGTH, longest(setting))
    if room < SINK + 2 * RECENT:
        raise CapabilityError(
            f"the context of {setting.subject.name} is too short: gates are trained on texts of {SINK + 2 * RECENT} "
            f"pieces or more, and a text may have {room}"
        )
    texts = answered(setting, needle_texts(setting, room, UNITS * TEXTS))
    return [GateTexts(tuple(texts[unit::UNITS]), unit) for unit in range(UNITS)]


class GateScores:
    """The part of a run that trains gates, once for every unit.

    >>> GateScores.name
    'gates'
    """

    name = "gates"

    def __init__(self, subject: Subject, definitions: Sequence[Definition], setting: Setting | None = None) -> None:
        self.subject = subject
        self.definitions = tuple(definitions)
        self.setting = setting

    def empty(self) -> Bundle:
        """No gate trained."""
        return Bundle(empty_scores(self.subject, self.definitions))

    def update(self, bundle: Bundle, batch: Sequence[GateTexts]) -> None:
        """Train gates on each of some sets of texts."""
        shared = key_heads(self.subject)
        for one in batch:
            gates = train_gates(self.subject, one.texts, shared)
            layers = [
                (gates[site][torch.tensor(keys)][None, :, None], torch.ones(1, len(keys), 1))
                for site, keys in shared.items()
                if site.stream is Stream.DECODER
            ]
            sums, counts = stacked(layers, self.subject.grid(Stream.DECODER))
            add_scores(bundle, Stream.DECODER, sums, counts, [one.unit])


def train_gates(
    subject: Subject, texts: Sequence[RoleText], shared: dict[Site, list[int]], steps: int = STEPS
) -> dict[Site, Tensor]:
    """Gates of every head of keys, by site, after some steps on these texts."""
    sites = [site for site in subject.sites if site.stream is Stream.DECODER]
    gates = {site: torch.ones(max(shared[site]) + 1, device=subject.device, requires_grad=True) for site in sites}
    of_heads = {site: torch.tensor(keys, device=subject.device) for site, keys in shared.items()}

    def blend(call: AttentionCall) -> Tensor:
        weights = call.weights()
        if call.site not in gates:
            return weights
        gate = gates[call.site][of_heads[call.site]][None, :, None, None].to(weights.dtype)
        return gate * weights + (1 - gate) * streaming(weights)

    optimizer = torch.optim.Adam(gates.values(), lr=RATE)
    with torch.enable_grad(), subject.frozen():
        for step in range(steps):
            chosen = [texts[(step * AT_ONCE + at) % len(texts)] for at in range(AT_ONCE)]
            made = subject.pieces.batch(chosen, subject.device)
            asked = torch.zeros_like(made.inputs["input_ids"], dtype=torch.bool)
            for row, text in enumerate(chosen):
                first, last = text.spans["answer"]
                asked[row, first - 1 : last - 1] = True
            with torch.no_grad():
                whole = subject.read(made).last_hidden_state[asked]
            with subject.use(Override(blend)):
                mixed = subject.read(made).last_hidden_state[asked]
            apart = (mixed.float() - whole.float()).square().sum(-1).mean()
            open_gates = torch.cat(list(gates.values())).abs().sum()
            optimizer.zero_grad()
            (apart + COST * open_gates).backward()
            optimizer.step()
            with torch.no_grad():
                for gate in gates.values():
                    gate.clamp_(0.0, 1.0)
    return {site: gate.detach().cpu() for site, gate in gates.items()}


def streaming(weights: Tensor) -> Tensor:
    """Weights cut to the first and the nearest keys, summing to what they did before.

    >>> even = torch.ones(100, 100).tril()
    >>> cut = streaming(even / even.sum(-1, keepdim=True))
    >>> int((cut[99] > 0).sum()), round(float(cut[99].sum()), 4)
    (80, 1.0)
    """
    queries, keys = weights.shape[-2:]
    apart = torch.arange(queries, device=weights.device)[:, None] - torch.arange(keys, device=weights.device)
    kept = (apart < RECENT) | (torch.arange(keys, device=weights.device) < SINK)
    cut = weights * kept
    return cut * (weights.sum(-1, keepdim=True) / cut.sum(-1, keepdim=True).clamp(min=1e-12))
