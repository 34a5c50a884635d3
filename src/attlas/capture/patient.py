"""A model under examination, and what several questions of the doctor need of it, computed once.

A pass through a large model takes a while, so there are few: a plain one over the texts, an eager one, and one that
is watched for all that can be seen in it. What is asked of a model by changing it (gates, overrides, gradients) goes
by texts of a few pieces (:attr:`Patient.brief`), padded on the left in a decoder; a tiny twin, which is quick, is
asked by the whole texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from attlas.capture.check import (
    TOLERANCE,
    LargestScore,
    as_library,
    at_real_pieces,
    output_of,
    rebuilding,
    reported,
    room_of_one,
    scale_of,
    texts_for,
)
from attlas.capture.instruments import Fold, Recorder
from attlas.ids import Site, Stream
from attlas.measures.kernels import way_of
from attlas.measures.rows import fast_statistics, matrix_statistics
from attlas.models import AttentionCall, Batch, Instrument
from attlas.models.adopting import attentions

if TYPE_CHECKING:
    from attlas.capture.subject import Subject


class Heard(NamedTuple):
    """What one pass gave: its output at real pieces, and weights by site.

    >>> Heard(torch.ones(1), {}).weights
    {}
    """

    output: Tensor
    weights: dict[Site, Tensor]


class Recorded(NamedTuple):
    """What a recorded pass gave: its output, weights by site, how far apart weights may be by rounding, and how far
    the heads' outputs are from the products of their weights and values, with the largest of them. ``rebuilt`` is how
    far layers are from what is rebuilt of them, ``fused`` how far statistics are apart, site by site; an error that
    came up on the way to either stands in their place. ``ways`` are the ways that statistics go, and why no faster.

    >>> Recorded(torch.ones(1), {}, 1e-5, 0.0, 1.0, {}, []).room
    1e-05
    """

    output: Tensor
    weights: dict[Site, Tensor]
    room: float
    apart: float
    largest: float
    rebuilt: dict[Site, float] | Exception
    fused: list[float] | Exception
    ways: Mapping[str, str] = MappingProxyType({})


class Patient:
    """A model under examination. ``eager`` is another model with the same weights, which was never ours; without it
    the model itself is switched to the library's eager attention.

    >>> from attlas.capture import load
    >>> Patient(load()).plain.shape
    torch.Size([47, 384])
    """

    def __init__(self, subject: Subject, eager: Any = None, *, short: bool = False, pad_left: bool = False) -> None:
        self.subject, self.eager, self.short, self.pad_left = subject, eager, short, pad_left
        self.state = state_of(subject.model)

    @property
    def tiny(self) -> bool:
        """Whether it is a tiny twin.

        >>> from attlas.capture import load
        >>> Patient(load()).tiny
        False
        """
        return self.eager is not None

    @cached_property
    def batch(self) -> Batch:
        """Texts of different lengths, padded on the right unless told; ``short`` ones of a few pieces.

        >>> from attlas.capture import load
        >>> Patient(load()).batch.size, Patient(load(), short=True).batch.inputs["input_ids"].shape
        (3, torch.Size([2, 5]))
        """
        return texts_for(self.subject, brief=self.short, pad_left=self.pad_left)

    @cached_property
    def brief(self) -> Patient:
        """The same model at texts of a few pieces, padded on the left in a decoder; a tiny twin itself.

        >>> from attlas.capture import load
        >>> Patient(load()).brief.plain.shape
        torch.Size([9, 384])
        """
        if self.tiny or self.short:
            return self
        return Patient(self.subject, short=True, pad_left=self.subject.pieces.own is Stream.DECODER)

    @cached_property
    def turned(self) -> Patient:
        """The same model at texts that are padded on the left.

        >>> from attlas.capture import load
        >>> Patient(load()).turned.pad_left
        True
        """
        return self.brief if self.brief.pad_left else Patient(self.subject, self.eager, pad_left=True)

    @cached_property
    def plain(self) -> Tensor:
        """The output with no instrument on.

        >>> from attlas.capture import load
        >>> bool(Patient(load()).plain.isfinite().all())
        True
        """
        return self.run(self.batch)

    @cached_property
    def recorded(self) -> Recorded:
        """What is seen while a recorder is on.

        >>> from attlas.capture import load
        >>> Patient(load()).recorded.weights[Site("encoder", 0)].shape
        torch.Size([3, 12, 24, 24])
        """
        aside, comparing = _Aside(), _Aside()
        fused: list[float] = []
        ways: dict[str, str] = {}
        compare = comparing.guarded(partial(_compare_statistics, self.batch, fused, ways))
        with rebuilding(self.subject, self.batch, aside.guarded) as rebuilt:
            seen = self.record(self.batch, Fold(compare))
        return seen._replace(rebuilt=aside.failed or dict(rebuilt), fused=comparing.failed or fused, ways=ways)

    @cached_property
    def library(self) -> Heard:
        """What the library's eager attention gives and reports.

        >>> from attlas.capture import load
        >>> Patient(load()).library.weights[Site("encoder", 0)].shape
        torch.Size([3, 12, 24, 24])
        """
        return self.hear(self.batch)

    def run(self, batch: Batch, *instruments: Any) -> Tensor:
        """One pass with instruments on; its output at real pieces.

        >>> from attlas.capture import load
        >>> patient = Patient(load())
        >>> patient.run(patient.batch).shape
        torch.Size([47, 384])
        """
        with torch.no_grad(), self.subject.use(*instruments):
            return at_real_pieces(output_of(self.subject.run(batch)), batch)

    def record(self, batch: Batch, *beside: Instrument) -> Recorded:
        """One pass with a recorder on, and instruments ``beside`` it.

        >>> from attlas.capture import load
        >>> patient = Patient(load())
        >>> 1e-6 < patient.record(patient.batch).room < 1e-4
        True
        """
        recorder, scores, products = Recorder(["weights"]), LargestScore(), _Products(batch)
        output = self.run(batch, recorder, Fold(scores.look), *beside, products)
        weights = {site: recorder.get(site) for site in recorder.kept}
        return Recorded(output, weights, scores.room(self.subject), products.apart, products.largest, {}, [])

    def hear(self, batch: Batch, implementation: str = "eager") -> Heard:
        """One pass of the library's own attention, without any of ours.

        >>> from attlas.capture import load
        >>> patient = Patient(load())
        >>> patient.hear(patient.batch, "sdpa").weights
        {}
        """
        options: dict[str, Any] = {"output_attentions": True} if implementation == "eager" else {}
        with torch.no_grad():
            if self.eager is None:
                with self.subject.seam.alone(), as_library(self.subject.model, implementation):
                    output = self.subject.run(batch, **options)
            else:
                with as_library(self.eager, implementation):
                    options |= {"use_cache": False} if batch.target is not None else {}
                    output = self.eager(**batch.inputs, **options)
        return Heard(at_real_pieces(output_of(output), batch), reported(output, batch, room_of_one(self.subject)))

    def agrees_with_itself(self, batch: Batch, eager: Tensor) -> bool:
        """Whether the library's fused attention gives what its eager one does; asked where ours does not. A family
        that is seen through its softmax runs eagerly with us, too, and has no other way.

        >>> from attlas.capture import load
        >>> patient = Patient(load())
        >>> patient.agrees_with_itself(patient.batch, patient.library.output)
        True
        """
        if self.subject.layout.private:
            return True
        try:
            fused = self.hear(batch, "sdpa").output
        except (ValueError, KeyError, AttributeError, RuntimeError):
            return True  # it has one way alone
        return float((fused.float() - eager.float()).abs().max()) <= self.room(eager)

    def room(self, output: Tensor) -> float:
        """How far apart two outputs may be.

        >>> from attlas.capture import load
        >>> Patient(load()).room(torch.ones(1))
        0.0001
        """
        return TOLERANCE * scale_of(self.subject, output)


class _Aside:
    """Work that is done beside a pass, and given up at its first error: that is told where it is asked for, and does
    not end the pass, which others need."""

    def __init__(self) -> None:
        self.failed: Exception | None = None

    def guarded(self, do: Callable[..., None]) -> Callable[..., None]:
        def carefully(*arguments: Any) -> None:
            if self.failed is None:
                try:
                    do(*arguments)
                except Exception as error:
                    self.failed = error

        return carefully


class _Products(Instrument):
    """Holds what heads give, at real pieces, against the products of their weights and values. It looks at once: some
    models add to these numbers in place."""

    def __init__(self, batch: Batch) -> None:
        self.batch, self.apart, self.largest = batch, 0.0, 1.0

    def finish(self, call: AttentionCall, output: Tensor) -> Tensor:
        side = self.batch.queries(call.site.stream)
        if not call.again and side is not None:
            products = torch.matmul(call.weights().float(), call.values.float()).transpose(1, 2)
            self.apart = max(self.apart, float((products - output.float()).abs()[side.real].max()))
            self.largest = max(self.largest, float(output.abs().max()))
        return output


def _compare_statistics(batch: Batch, worst: list[float], ways: dict[str, str], call: AttentionCall) -> None:
    """Hold the statistics of a call without the matrix against those with it, and take note of how far they are
    apart; of random columns and lengths, which are drawn on the host, the same for every device."""
    way, why = way_of(call)
    ways[way] = why
    if way == "matrix":
        return
    size, heads, _, keys = call.shape
    draw = torch.Generator().manual_seed(len(worst))
    columns = torch.rand(size, 1, keys, 3, generator=draw).to(call.value.device)
    lengths = torch.rand(size, heads, keys, generator=draw).to(call.value.device) + 0.5
    side = batch.queries(call.site.stream)
    real = None if side is None else side.real
    fast, slow = (taken(call, columns, lengths, None, real) for taken in (fast_statistics, matrix_statistics))
    worst.append(fast.difference(slow, real))


def state_of(model: nn.Module) -> dict[str, Any]:
    """What must be the same after a model was looked at.

    >>> state_of(nn.Linear(2, 2))
    {'attention': [], 'mode': [True], 'hooks': 0, 'gradients': [True, True]}
    """
    hooks = [
        hook
        for module in model.modules()
        for hook in (*module._forward_hooks.values(), *module._forward_pre_hooks.values())
        if str(getattr(hook, "__module__", "")).startswith("attlas")  # the library leaves some of its own
    ]
    names = [name for _, name in attentions(model)]
    modes = [module.training for module in model.modules()]
    asking = [parameter.requires_grad for parameter in model.parameters()]
    return {"attention": names, "mode": modes, "hooks": len(hooks), "gradients": asking}
