"""Running a model again from a cut upward, with many cuts at once.

What one head does is measured by running a model without it, and there are hundreds of heads. But everything below
the cut is what it was: so a :class:`Replay` runs each batch once and keeps what the layers gave; then, for each
site, all patterns of gates go through the rest of the model together, as copies of the batch. Layers below are
bypassed (:mod:`attlas.capture.bypass`); so are, at the site itself, queries, keys, values and their attention, since
a head's output is known from the first pass and what it adds to the layer's is linear: W_O is applied once to each
head alone, and a pattern is a sum of what is left. For a cut in a decoder the encoder rests too, and what the
decoder makes of its states. A model that classifies texts by one place runs its last layer at that place alone
(:mod:`attlas.capture.narrow`).

The numbers are those of full passes with :class:`~attlas.capture.Gates`. A model must prove that on its first batch;
one that cannot (its layers share their modules, say) makes full passes, many patterns at once, and ``why_full`` says
why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attlas.capture.bypass import bypassed, first, giving, repeated, with_first
from attlas.capture.check import output_of
from attlas.capture.instruments import Gates
from attlas.capture.narrow import narrowed, reads_first_place_only
from attlas.capture.routes import Routes, find_routes
from attlas.errors import CapabilityError
from attlas.ids import HeadId, Site, Stream
from attlas.models import AttentionCall, Batch, Instrument, output_matrix
from attlas.models.hooks import Hooks
from attlas.models.sites import output_bias

if TYPE_CHECKING:
    from attlas.capture.subject import Subject

TOLERANCE = 1e-4
PIECES = {"cpu": 1024}  # pieces in one pass; on a processor larger ones no longer fit its caches
PIECES_ELSEWHERE = 16_384


@dataclass(eq=False)
class Kept(Instrument):
    """One batch with what is kept of its pass: the model's ``output``, what modules gave, and
    where, and the heads' outputs.

    >>> Kept(Batch({}, None, None, Stream.ENCODER)).heads
    {}
    """

    batch: Batch
    output: Any = None
    given: dict[nn.Module, Any] = field(default_factory=dict)
    heads: dict[Site, Tensor] = field(default_factory=dict)
    places: dict[nn.Module, torch.device] = field(default_factory=dict)

    def finish(self, call: AttentionCall, output: Tensor) -> Tensor:
        """Keep the heads' outputs, (batch, query, head, width)."""
        self.heads[call.site] = output
        return output


class Replay:
    """A model that is run again from a cut upward.

    ``options`` go to every forward pass; ``pieces`` is how many a pass may hold, all copies counted.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> replay = Replay(subject)
    >>> kept = replay.record(subject.batch(["The farmer slept."]))
    >>> off = 1 - torch.eye(12)  # each head off in turn
    >>> [(part, output.last_hidden_state.shape) for part, output in replay.cut(kept, subject.sites[2], off)]
    [(slice(0, 12, None), torch.Size([12, 6, 384]))]
    """

    def __init__(
        self, subject: Subject, options: Mapping[str, Any] | None = None, *, pieces: int | None = None
    ) -> None:
        subject.require_whole("running layers again from a cut")
        self.subject = subject
        self.options = dict(options or {})
        self.pieces = pieces or PIECES.get(subject.device.type, PIECES_ELSEWHERE)
        self.why_full = ""
        self._routes: dict[bool, Routes | None] = {}  # by whether a decoder runs beside an encoder
        self._ways: dict[Site, str] = {}
        self._narrow: tuple[nn.Module, nn.Module] | None = None  # the last layer, and its attention

    def record(self, batch: Batch) -> Kept:
        """Run the whole model on a batch, and keep what replays need.

        >>> from attlas.capture import load
        >>> subject = load()
        >>> Replay(subject).record(subject.batch(["Hello there."])).output.last_hidden_state.shape
        torch.Size([1, 5, 384])
        """
        both = self._both(batch)
        if both not in self._routes:
            self._routes[both] = self._find(batch)
        return self._record(batch, self._routes[both])

    def cut(
        self, kept: Kept, site: Site, xi: Tensor, means: Tensor | None = None
    ) -> Iterator[tuple[slice, Any]]:  # fmt: skip
        """Run a recorded batch again with patterns of gates at a site, ``xi`` of shape (pattern, head).

        Gives, for some patterns at a time, the model's output on that many copies of the texts, copy-major. With
        ``means``, (head, width), a head that is cut gives its mean instead of nothing.

        >>> from attlas.capture import load
        >>> subject = load()
        >>> replay = Replay(subject)
        >>> kept = replay.record(subject.batch(["Hello there."]))
        >>> next(replay.cut(kept, subject.sites[0], torch.ones(1, 5)))
        Traceback (most recent call last):
            ...
        attlas.errors.CapabilityError: patterns of 12 gates were expected at encoder layer 0, and ...
        """
        if site not in kept.heads:
            raise CapabilityError(f"nothing was recorded at {site}, so nothing can be cut there")
        heads = self.subject.heads(site)
        if xi.dim() != 2 or xi.shape[1] != heads:
            raise CapabilityError(
                f"patterns of {heads} gates were expected at {site}, and gates of shape {tuple(xi.shape)} came"
            )
        routes = self._routes[self._both(kept.batch)]
        again = self._fully(kept, site, means) if routes is None else self._from(routes, kept, site, means)
        xi = xi.to(kept.heads[site].device, torch.float32)
        for part in self.parts(kept.batch, len(xi)):
            with torch.no_grad():
                output = again(xi[part])
            yield part, output

    def without(self, kept: Kept, sets: Sequence[Sequence[HeadId]]) -> Iterator[tuple[slice, Any]]:
        """Run a recorded batch again without sets of heads, which may be of several layers each: for some sets at a
        time the model's output on that many copies of the texts, copy-major. What lies below the lowest head of
        these sets is not run again, so that sets go together best in the order of their lowest layers.

        >>> from attlas.capture import load
        >>> subject = load()
        >>> replay = Replay(subject)
        >>> batch = subject.batch(["The farmer slept."])
        >>> closed = subject.named(["3-1", "6-2"])
        >>> (part, output), *_ = replay.without(replay.record(batch), [closed])
        >>> with subject.gated(["3-1", "6-2"]):
        ...     torch.allclose(output.last_hidden_state, subject.run(batch).last_hidden_state, atol=1e-5)
        True
        """
        routes, size = self._routes[self._both(kept.batch)], kept.batch.size
        for part in self.parts(kept.batch, len(sets)):
            xi: dict[Site, Tensor] = {}
            for number, heads in enumerate(sets[part]):
                for head in heads:
                    gates = xi.setdefault(
                        head.site, torch.ones(len(sets[part]) * size, self.subject.heads(head.site))
                    )
                    gates[number * size : (number + 1) * size, head.head] = 0.0
            forwards = {}
            if routes is not None and xi:
                lowest = min(xi, key=list(routes.below).index)
                times = len(sets[part])
                forwards = {module: giving(kept.given[module], size, times) for module in routes.below[lowest]}
            with torch.no_grad(), bypassed(forwards), self.subject.use(Gates(xi)):
                output = self._run(kept.batch, len(sets[part]))
            yield part, output

    def parts(self, batch: Batch, patterns: int) -> list[slice]:
        """Patterns that go through together: as many as a pass may hold, and about as many in each.

        >>> from attlas.capture import load
        >>> subject = load()
        >>> Replay(subject, pieces=20).parts(subject.batch(["Hello there."]), 9)
        [slice(0, 3, None), slice(3, 6, None), slice(6, 9, None)]
        """
        at_once = max(1, self.pieces // _pieces(batch))
        passes = -(-patterns // at_once)
        ends = [patterns * number // passes for number in range(passes + 1)]
        return [slice(start, stop) for start, stop in pairwise(ends)]

    def _both(self, batch: Batch) -> bool:
        return batch.target is not None

    def _run(self, batch: Batch, times: int = 1) -> Any:
        options = dict(self.options)
        if batch.own is Stream.DECODER or batch.target is not None:
            options.setdefault("use_cache", False)
        inputs = repeated(batch.inputs, batch.size, times)
        return self.subject.run(replace(batch, inputs=inputs), **options)

    def _find(self, batch: Batch) -> Routes | None:
        """Find the routes and have them proved on this batch; None where full passes are needed."""
        subject = self.subject
        encoder = subject.model.get_encoder() if self._both(batch) else None
        try:
            with torch.no_grad():
                routes = find_routes(
                    subject.model, subject.layout.modules, encoder, lambda: self._run(batch)
                )  # fmt: skip
                kept = self._record(batch, routes, everything=True)
                self._ways |= {site: self._way(kept, site, module) for site, module in routes.attention.items()}
                self._narrow = self._narrowing(routes, batch)
                self._prove(routes, kept)
        except (CapabilityError, RuntimeError, TypeError, ValueError, AttributeError, LookupError) as error:
            self.why_full = f"{subject.name}: {str(error).splitlines()[0][:160]}; so every cut is a full pass"
            return None
        return routes

    def _narrowing(self, routes: Routes, batch: Batch) -> tuple[nn.Module, nn.Module] | None:
        """The last layer and its attention, where one place of it is all that is read."""
        if routes.last is None or self._both(batch):
            return None
        inside = set(routes.last.modules())
        sites = [site for site, module in routes.attention.items() if module in inside]
        if len(sites) != 1 or self._ways[sites[0]] == "gates":
            return None
        reads = reads_first_place_only(routes.last, lambda: self._run(batch))
        return (routes.last, routes.attention[sites[0]]) if reads else None

    def _record(self, batch: Batch, routes: Routes | None, *, everything: bool = False) -> Kept:
        kept = Kept(batch)
        whole = () if routes is None else routes.kept

        def keep(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
            kept.given[module] = output
            note(module, output)

        def note(module: nn.Module, output: Any) -> None:
            given = first(output)
            kept.places[module] = self.subject.device if given is None else given.device

        def keep_rest(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
            note(module, output)
            kept.given[module] = with_first(output, torch.empty(0)) if isinstance(output, tuple) else None

        with torch.no_grad(), Hooks() as hooks, self.subject.use(kept):
            for module in whole:
                hooks.after(module, keep)
            for module in () if routes is None else set(routes.attention.values()) - set(whole):
                hooks.after(module, keep if everything else keep_rest)
            kept.output = self._run(batch)
        return kept

    def _way(self, kept: Kept, site: Site, module: nn.Module) -> str:
        """What an attention module gives: heads "mixed" by W_O, heads "apart" that W_O mixes later, or heads for
        which no W_O is known ("plain"); gates at the seam where it is none of these."""
        given, heads = first(kept.given[module]), kept.heads[site].flatten(2)
        projection = self.subject.layout.projections.get(site)
        if given is None:
            return "gates"
        heads = heads.to(given.device)
        if projection is not None and _same(given, projection(heads)):
            return "mixed"
        if _same(given, heads):
            return "plain" if projection is None else "apart"
        return "gates"

    def _prove(self, routes: Routes, kept: Kept) -> None:
        """Compare replays from the middle and the end of each stream with full passes: all gates open, one closed.
        Where upper layers take keys and values from lower ones (Gemma 3n), the last but one cannot be replayed."""
        side = kept.batch.target or kept.batch.source
        proving = []
        for stream in dict.fromkeys(site.stream for site in routes.below):
            sites = sorted(site for site in routes.below if site.stream is stream)
            proving += list(dict.fromkeys((sites[len(sites) // 2], *sites[-2:])))
        for site in proving:
            closed = Gates.closed([HeadId(*site, 0)], self.subject.layout.heads)
            again = self._from(routes, kept, site, None)
            xi = torch.ones(2, self.subject.heads(site), device=kept.heads[site].device)
            xi[1, 0] = 0
            found = output_of(again(xi))
            with self.subject.use(closed):
                expected = torch.cat([output_of(kept.output), output_of(self._run(kept.batch))])
            if side is not None and expected.shape[1:2] == side.real.shape[1:]:
                real = side.real.repeat(2, 1)
                found, expected = found[real], expected[real]
            if not _same(found, expected, TOLERANCE):
                raise CapabilityError(f"a replay from {site} differs from a full pass")

    def _fully(self, kept: Kept, site: Site, means: Tensor | None) -> Callable[[Tensor], Any]:
        """How to make full passes with gates."""

        def again(xi: Tensor) -> Any:
            with self.subject.use(self._gates(kept, site, xi, means)):
                return self._run(kept.batch, len(xi))

        return again

    def _from(self, routes: Routes, kept: Kept, site: Site, means: Tensor | None) -> Callable[[Tensor], Any]:
        """How to run from a site upward."""
        way, size, module = self._ways[site], kept.batch.size, routes.attention[site]
        last, attention = self._narrow or (None, None)
        heads = kept.heads[site][:, :1] if attention is module else kept.heads[site]
        projection = self.subject.layout.projections.get(site)
        pattern = _mixtures(heads, projection, means) if way in ("mixed", "apart") else _gated(heads, means)

        def again(xi: Tensor) -> Any:
            times = len(xi)
            forwards = {part: giving(kept.given[part], size, times) for part in routes.below[site]}
            if last is not None and attention is not None:
                forwards[last] = narrowed(last, attention, known=attention is module)
            if way == "gates":
                with bypassed(forwards), self.subject.use(self._gates(kept, site, xi, means)):
                    return self._run(kept.batch, times)
            new, rest = pattern(xi).to(kept.places[module]), repeated(kept.given[module], size, times)
            if way == "apart":
                assert projection is not None
                forwards[projection] = giving(new)
                new = repeated(heads.flatten(2), size, times)
            forwards[module] = giving(with_first(rest, new))
            with bypassed(forwards):
                return self._run(kept.batch, times)

        return again

    def _gates(self, kept: Kept, site: Site, xi: Tensor, means: Tensor | None) -> Gates:
        return Gates({site: xi.repeat_interleave(kept.batch.size, 0)}, {} if means is None else {site: means})


def _mixtures(heads: Tensor, projection: nn.Module | None, means: Tensor | None) -> Callable[[Tensor], Tensor]:
    """What W_O makes of heads, (batch, query, head, width), under patterns of gates: a weighted sum of what it makes
    of each head alone."""
    assert projection is not None
    batch, queries, count, _ = heads.shape
    matrix = output_matrix(projection, count).float().to(heads.device)
    alone = torch.einsum("bqhw,hwd->hbqd", heads.float(), matrix)
    base = torch.as_tensor(output_bias(projection), device=heads.device).float()
    if means is not None:
        others = torch.einsum("hw,hwd->hd", means.to(heads.device).float(), matrix)
        alone, base = alone - others[:, None, None], base + others.sum(0)

    def mixed(xi: Tensor) -> Tensor:
        total = (xi @ alone.flatten(1)).view(len(xi) * batch, queries, -1)
        return (total + base).to(heads.dtype)

    return mixed


def _gated(heads: Tensor, means: Tensor | None) -> Callable[[Tensor], Tensor]:
    """Heads' outputs under patterns of gates, flattened."""

    def gated(xi: Tensor) -> Tensor:
        share = xi[:, None, None, :, None].to(heads.dtype)
        found = share * heads
        if means is not None:
            found = found + (1 - share) * means.to(heads.device, heads.dtype)
        return found.flatten(0, 1).flatten(2)

    return gated


def _same(one: Tensor, other: Tensor, tolerance: float = 1e-5) -> bool:
    """Whether two tensors are equal, as far as their number format goes."""
    if one.shape != other.shape:
        return False
    size = max(1.0, float(other.float().abs().max()) if other.numel() else 1.0)
    allowed = max(tolerance, 20 * torch.finfo(one.dtype).eps) * size
    return torch.allclose(one.float(), other.float(), atol=allowed, rtol=0)


def _pieces(batch: Batch) -> int:
    """How many places a batch has, on its longer side."""
    sides = (batch.source, batch.target)
    return batch.size * max((side.real.shape[1] for side in sides if side is not None), default=1)
