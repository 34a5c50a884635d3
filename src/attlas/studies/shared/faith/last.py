"""A task's model with other weights at some sites, with gradients; the last layer alone without running the rest.

:class:`Reweighed` puts weights that somebody else made (free, permuted, mixed) into rows of attention and gives the
model's predictions. In the last layer only the reading rows of an instance matter, and below its attention nothing
changes at all. So everything below is run once and kept, and under new weights only those few rows go on: weights
times the values that were kept, W_O, what follows in the layer, and the task's head. Layers below are bypassed
(:mod:`attlas.capture.bypass`). A model must prove on its first batch that this gives what a full pass does; one that
cannot makes full passes, and ``why_full`` says why. Weights at other sites always take full passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from attlas.capture import Override
from attlas.capture.bypass import bypassed, first, with_first
from attlas.capture.routes import Routes, find_routes
from attlas.capture.selection import Selection
from attlas.errors import CapabilityError
from attlas.ids import Site
from attlas.measures.distances import js, tvd
from attlas.models import AttentionCall, Instrument
from attlas.models.hooks import Hooks
from attlas.models.seam import mix
from attlas.studies.shared.faith.instances import Asked, Labelling, predicted, sites_of

TOLERANCE = 1e-4
Weights = Mapping[Site, Tensor]


class Rows:
    """Some rows of attention of every instance, (instance, piece), gathered to the front: ``places`` says where each
    stands and ``there`` which are no filling, both (instance, row).

    >>> rows = Rows(torch.tensor([[False, True, True], [True, False, False]]))
    >>> rows.places.tolist(), rows.there.tolist()
    ([[1, 2], [0, 1]], [[True, True], [True, False]])
    >>> rows = Rows(torch.tensor([[False, True, False]]))
    >>> rows.take(torch.arange(6.0).reshape(1, 3, 2), 1).tolist(), rows.spread(torch.ones(1, 1, 1)).tolist()
    ([[[2.0, 3.0]]], [[[0.0], [1.0], [0.0]]])
    """

    def __init__(self, chosen: Tensor) -> None:
        self.chosen = chosen
        count = int(chosen.sum(-1).max())
        order = torch.argsort((~chosen).to(torch.int8), dim=-1, stable=True)
        self.places = order[:, :count]
        self.there = chosen.gather(1, self.places)
        self.whole = bool(chosen.all())
        self.first_only = count == 1 and not bool(self.places.any())

    def take(self, values: Tensor, axis: int) -> Tensor:
        """Values at these rows; the first axis is that of instances, or has one element for all of them."""
        values = values.expand(len(self.places), *values.shape[1:])
        shape, size = [1] * values.dim(), list(values.shape)
        shape[0], shape[axis] = self.places.shape
        size[axis] = self.places.shape[1]
        return values.gather(axis, self.places.reshape(shape).expand(size))

    def spread(self, values: Tensor) -> Tensor:
        """Values (instance, ..., row, width) back at their places, (instance, ..., piece, width), zero elsewhere."""
        pieces = torch.arange(self.chosen.shape[1], device=self.places.device)
        where = (self.places[:, None] == pieces[:, None]) & self.there[:, None]  # (instance, piece, row)
        where = where.reshape(len(where), *[1] * (values.dim() - 3), *where.shape[1:])
        return torch.matmul(where.to(values.dtype), values)

    def repeated(self, times: int) -> Rows:
        """The rows of so many copies."""
        return self if times == 1 else Rows(self.chosen.repeat(times, 1))


@dataclass
class Own:
    """What a model does by itself with some instances: its weights at the rows that may be changed, which keys these
    may see, its predictions; and what is kept to go on from.

    >>> site = Site("encoder", 0)
    >>> own = Own(None, {site: Rows(torch.tensor([[True, False]]))}, {site: torch.tensor([[[[1.0, 0.0]]]])})
    >>> round(own.divergence({site: torch.tensor([[[[0.0, 1.0]]]])}).item(), 4)
    0.6931
    """

    asked: Asked
    rows: dict[Site, Rows]
    weights: dict[Site, Tensor] = field(default_factory=dict)
    visible: dict[Site, Tensor] = field(default_factory=dict)
    output: Any = None
    predicted: Tensor = field(default_factory=lambda: torch.zeros(0))
    values: Tensor | None = None
    states: Tensor | None = None
    given: Any = None

    def divergence(self, weights: Weights, head: int | None = None, times: int = 1) -> Tensor:
        """JSD of other weights from the model's own, the mean over rows, heads (or one) and sites, (instance,); for
        copies of all instances, copy-major, (copies x instance,)."""
        total = torch.zeros(())
        for site, new in weights.items():
            mine = self.weights[site].repeat(times, 1, 1, 1)
            some = slice(None) if head is None else slice(head, head + 1)
            apart = js(mine[:, some], new[:, some].float()).mean(1)  # (instance, row)
            there = self.rows[site].there.repeat(times, 1).to(apart.dtype)
            total = total.to(apart.device) + (apart * there).sum(-1) / there.sum(-1).clamp(min=1)
        return total / max(1, len(weights))

    def moved(self, probabilities: Tensor, times: int = 1) -> Tensor:
        """TVD of other predictions from the model's own, (instance,), or (copies x instance,)."""
        return tvd(self.predicted.repeat(times, 1), probabilities)


class Reweighed:
    """A task's model under weights that are given to it, at the last layer or at other ``sites``.

    Only the reading rows of the last layer take new weights; of layers below it all rows of real pieces do.
    ``whole`` asks for full passes.

    >>> from attlas.studies.shared.faith.instances import _example
    >>> task, asked = _example()
    >>> model = Reweighed(task)
    >>> own = model.record(asked)
    >>> same = model.predict(own, own.weights)
    >>> bool(torch.allclose(same, own.predicted, atol=1e-5)), model.why_full
    (True, '')
    """

    def __init__(self, task: Labelling, sites: Sequence[Site] | None = None, *, whole: bool = False) -> None:
        self.task, self.subject = task, task.subject
        self.last = sites_of(task)[-1]
        self.sites = (self.last,) if sites is None else tuple(sites)
        self.why_full = "full passes were asked for" if whole else ""
        if self.sites != (self.last,):
            self.why_full = "weights below the last layer change all that follows"
        self._routes: Routes | None = None
        self._layer: nn.Module | None = None
        self._mixed = False  # whether the attention module itself applies W_O
        self._short = False  # whether the head can do with the first place alone, where only that is read
        self._forms: dict[nn.Module, Any] = {}  # what modules below give beside the states

    @property
    def fast(self) -> bool:
        """Whether only the rows that are read are run again."""
        return not self.why_full

    def record(self, asked: Asked) -> Own:
        """Run instances once as the model is, and keep what is needed to go on under other weights."""
        if self.fast and self._routes is None:
            try:
                self._find(asked)
                own = self._record(asked)
                self._short = own.rows[self.last].first_only
                self._short = self._short and self._proved(own)
                if not self._short and not self._proved(own):
                    raise CapabilityError("running the last layer's rows alone differs from a full pass")
                return own
            except (CapabilityError, RuntimeError, TypeError, ValueError, AttributeError, IndexError) as error:
                why = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
                self.why_full = f"{self.subject.name}: {why}; so all passes are full"
        return self._record(asked)

    def run(self, own: Own, weights: Weights, times: int = 1) -> tuple[Asked, Any]:
        """The model's output on so many copies of the instances, copy-major, under weights (copies x instance, head,
        row, key) by site; and these copies as asked."""
        asked = own.asked.repeated(times)
        if not self.fast:
            return asked, self._fully(asked, own, weights, times)
        with bypassed(self._forwards(own, weights[self.last], times)):
            return asked, self.task.run(asked.question)

    def predict(self, own: Own, weights: Weights, times: int = 1) -> Tensor:
        """The predicted probabilities under weights, (copies x instance, label)."""
        asked, output = self.run(own, weights, times)
        return predicted(self.task, asked, output)

    def check(self, own: Own, weights: Weights, times: int = 1) -> Tensor:
        """The same by a full pass, whatever way others take."""
        asked = own.asked.repeated(times)
        with torch.no_grad():
            return predicted(self.task, asked, self._fully(asked, own, weights, times))

    def _fully(self, asked: Asked, own: Own, weights: Weights, times: int) -> Any:
        rows = {site: own.rows[site].repeated(times) for site in weights}

        def put(call: AttentionCall) -> Tensor:
            new, at = weights.get(call.site), rows.get(call.site)
            before = call.weights()
            if new is None or at is None:
                return before
            put_back = new if at.whole else at.spread(new)
            return torch.where(at.chosen[:, None, :, None], put_back.to(before.dtype), before)

        chosen = Selection({self.last.stream}, weights)
        with self.subject.use(Override(put, chosen)):
            return self.task.run(asked.question)

    def _record(self, asked: Asked) -> Own:
        rows = {site: Rows(asked.rows if site == self.last else asked.real) for site in self.sites}
        own = Own(asked, rows)
        watch = _Watch(own, self.last if self.fast else None)
        with torch.no_grad(), Hooks() as hooks, self.subject.use(watch):
            if self._layer is not None and self.fast:

                def enter(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
                    own.states = rows[self.last].take(args[0] if args else kwargs["hidden_states"], 1)

                hooks.before(self._layer, enter, with_kwargs=True)
            if self._routes is not None and self.fast:

                def leave(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
                    own.given = with_first(output, torch.empty(0)) if isinstance(output, tuple) else None

                hooks.after(self._routes.attention[self.last], leave)
            own.output = self.task.run(asked.question)
            own.predicted = predicted(self.task, asked, own.output)
        return own

    def _find(self, asked: Asked) -> None:
        """Find what lies below the last layer's attention, and whether that attention applies W_O itself."""
        subject = self.subject
        heard: dict[str, Any] = {}

        class Heads(Instrument):
            """Keeps the heads' outputs of the last layer."""

            def finish(self, call: AttentionCall, output: Tensor) -> Tensor:
                heard[str(call.site)] = output
                return output

        with torch.no_grad():
            self._routes = find_routes(
                subject.model, subject.layout.modules, None, lambda: self.task.run(asked.question)
            )  # fmt: skip
            module = self._routes.attention[self.last]
            if self._routes.last is None or module not in set(self._routes.last.modules()):
                raise CapabilityError("its last attention is not in its last layer")
            self._layer = self._routes.last
            with Hooks() as hooks, subject.use(Heads()):
                hooks.after(module, lambda _, __, output: heard.update(given=first(output)))
                for part in self._routes.below[self.last]:
                    hooks.after(part, self._note)
                self.task.run(asked.question)
        given, heads = heard["given"], heard[str(self.last)].flatten(2)
        projection = subject.layout.projections.get(self.last)
        self._mixed = projection is not None and _alike(given, projection(heads))
        if not self._mixed and not _alike(given, heads):
            raise CapabilityError("what its attention gives is neither its heads nor what W_O makes of them")

    def _note(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        self._forms[module] = with_first(output, torch.empty(0)) if isinstance(output, tuple) else None

    def _forwards(self, own: Own, weights: Tensor, times: int) -> dict[nn.Module, Callable[..., Any]]:
        """What modules do in place of their own work: nothing below the last layer, and there only the rows that are
        read, with an attention that mixes what it is told to."""
        routes, layer = self._routes, self._layer
        assert routes is not None
        assert layer is not None
        assert own.values is not None
        assert own.states is not None
        size, (_, pieces) = len(own.asked.instances) * times, own.asked.rows.shape
        values, states, rows = own.values, own.states, own.rows[self.last].repeated(times)
        states = states.repeat(times, 1, 1) if times > 1 else states
        nothing = states.new_zeros(()).expand(size, pieces, states.shape[-1])
        projection = self.subject.layout.projections.get(self.last)
        short = self._short and rows.first_only
        run_layer = layer.forward

        def attend(*args: Any, **kwargs: Any) -> Any:
            heads = _mix(weights, values, times).flatten(2)
            new = projection(heads) if self._mixed and projection is not None else heads
            return new if own.given is None else with_first(own.given, new)

        def narrow(*args: Any, **kwargs: Any) -> Any:
            output = run_layer(states, *args[1:], **kwargs) if args else run_layer(
                **{**kwargs, "hidden_states": states}
            )  # fmt: skip
            found = first(output)
            assert found is not None
            return with_first(output, found if short else rows.spread(found))

        def rest(module: nn.Module) -> Callable[..., Any]:
            form = self._forms.get(module)
            return lambda *_, **__: nothing if form is None else with_first(form, nothing)

        forwards: dict[nn.Module, Callable[..., Any]] = {part: rest(part) for part in routes.below[self.last]}
        forwards[routes.attention[self.last]] = attend
        forwards[layer] = narrow
        return forwards

    def _proved(self, own: Own) -> bool:
        """Whether this gives what full passes do, under the model's own weights and under uniform ones."""
        even = own.visible[self.last].float()
        even = (even / even.sum(-1, keepdim=True).clamp(min=1)).expand_as(own.weights[self.last])
        for weights in (own.weights[self.last], even):
            try:
                with torch.no_grad():
                    found = self.predict(own, {self.last: weights})
            except (RuntimeError, IndexError):
                if self._short:
                    return False
                raise
            if not _alike(found, self.check(own, {self.last: weights}), TOLERANCE):
                return False
        return True


@dataclass(eq=False)
class _Watch(Instrument):
    """Keeps the weights of rows and what they may see; at the last layer the values too."""

    own: Own
    last: Site | None

    def wants(self, site: Site) -> bool:
        return site in self.own.rows

    def observe(self, call: AttentionCall) -> None:
        rows, weights = self.own.rows[call.site], call.weights()
        seen = call.visible()
        if seen is None:
            seen = torch.ones((), dtype=torch.bool, device=weights.device).expand(1, 1, *weights.shape[2:])
        self.own.weights[call.site] = rows.take(weights, 2).float()
        self.own.visible[call.site] = rows.take(seen, 2)
        if call.site == self.last:
            self.own.values = call.values


def _mix(weights: Tensor, values: Tensor, times: int) -> Tensor:
    """What :func:`~attlas.models.seam.mix` gives for so many copies, copy-major, whose values are the same."""
    if times == 1:
        return mix(weights, values)
    size, heads, rows, keys = len(weights) // times, *weights.shape[1:]
    together = weights.reshape(times, size, heads, rows, keys).permute(1, 2, 0, 3, 4)  # copies as further rows
    mixed = mix(together.reshape(size, heads, times * rows, keys), values)
    return mixed.reshape(size, times, rows, heads, -1).transpose(0, 1).flatten(0, 1)


def _alike(one: Tensor, other: Tensor, tolerance: float = 1e-5) -> bool:
    """Whether two tensors are equal, as far as their number format goes."""
    if one.shape != other.shape:
        return False
    size = max(1.0, float(other.detach().float().abs().max()) if other.numel() else 1.0)
    allowed = max(tolerance, 20 * torch.finfo(one.dtype).eps) * size
    return torch.allclose(one.float(), other.float(), atol=allowed, rtol=0)
