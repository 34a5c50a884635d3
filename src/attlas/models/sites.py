"""Where a model's attention is: its sites, their heads, and the matrix W_O that mixes each site's heads.

Names and class names do not tell (Marian's three attentions are one class; ALBERT's twelve layers are one module),
so we look instead: one short forward pass with a source of seven pieces and a target of five. Every attention call
shows up at the seam with its lengths, and those say which stream it is in; the order of calls says which layer. W_O
is the first linear module that is fed exactly the heads' outputs. A family whose attention does not reach the seam
is watched through its softmax (:mod:`attlas.models.private`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from attlas.errors import CapabilityError
from attlas.ids import Site, Stream
from attlas.models.private import Interception, ModuleStack
from attlas.models.seam import AttentionCall, Instrument, Seam

SOURCE_LENGTH, TARGET_LENGTH = 7, 5


@dataclass(frozen=True)
class Layout:
    """What was found: modules and their sites, heads per site, output projections, and by which way.

    >>> Layout({}, {}, {}, private=False).streams
    ()
    """

    modules: dict[nn.Module, list[Site]]
    heads: dict[Site, int]
    projections: dict[Site, nn.Module]
    private: bool

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams of the model, encoder first.

        >>> Layout({}, {Site(Stream.DECODER, 0): 4}, {}, private=False).streams
        (<Stream.DECODER: 'decoder'>,)
        """
        present = {site.stream for site in self.heads}
        return tuple(stream for stream in Stream if stream in present)


@dataclass
class _Seen:
    """One attention call of the probing pass."""

    module: nn.Module
    heads: int
    queries: int
    keys: int
    causal: bool
    output: Tensor
    projection: nn.Module | None = None


class _Finder(Instrument):
    """Notes every call that reaches the seam."""

    def __init__(self) -> None:
        self.seen: list[_Seen] = []

    def finish(self, call: AttentionCall, output: Tensor) -> Tensor:
        assert call.module is not None
        self.note(call.module, call.weights(), output)
        return output

    def note(self, module: nn.Module, weights: Tensor, output: Tensor) -> None:
        _, heads, queries, keys = weights.shape
        ahead = torch.ones(queries, keys, dtype=torch.bool, device=weights.device).triu(1)
        causal = queries == keys and not bool(weights[..., ahead].any())
        self.seen.append(_Seen(module, heads, queries, keys, causal, output.detach().flatten(2).clone()))


def find_sites(model: nn.Module, inputs: dict[str, Tensor]) -> Layout:
    """Run one probing pass and say where the attention is.

    ``inputs`` are ids of :data:`SOURCE_LENGTH` pieces and, for an encoder-decoder, of :data:`TARGET_LENGTH`.

    >>> find_sites(nn.Linear(2, 2), {"input": torch.ones(1, 2)})
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: Linear: no attention was found, ...
    """
    seen = _watch_seam(model, inputs)
    private = not seen
    if private:
        seen = _watch_softmax(model, inputs)
    if not seen:
        raise CapabilityError(
            f"{type(model).__name__}: no attention was found, neither at the model library's attention interface "
            "nor as a softmax followed by a product with values; choose a transformer with ordinary attention"
        )
    modules: dict[nn.Module, list[Site]] = {}
    heads: dict[Site, int] = {}
    projections: dict[Site, nn.Module] = {}
    translating = "decoder_input_ids" in inputs
    for call in seen:
        stream = _stream(call, translating)
        site = Site(stream, sum(other.stream is stream for other in heads))
        modules.setdefault(call.module, []).append(site)
        heads[site] = call.heads
        if call.projection is not None:
            projections[site] = call.projection
    return Layout(modules, dict(sorted(heads.items(), key=_order)), projections, private)


def output_matrix(projection: nn.Module, heads: int) -> Tensor:
    """W_O as one matrix per head: (head, width, hidden).

    >>> output_matrix(nn.Linear(8, 5), 2).shape
    torch.Size([2, 4, 5])
    """
    weight: Tensor = projection.weight  # type: ignore[assignment]
    matrix = weight.T if isinstance(projection, nn.Linear) else weight  # GPT-2's Conv1D keeps (in, out)
    return matrix.reshape(heads, -1, matrix.shape[1])


def _stream(call: _Seen, translating: bool) -> Stream:
    if not translating:
        return Stream.DECODER if call.causal else Stream.ENCODER
    if call.queries == SOURCE_LENGTH:
        return Stream.ENCODER
    return Stream.DECODER if call.keys == TARGET_LENGTH else Stream.CROSS


def _order(item: tuple[Site, int]) -> tuple[int, int]:
    return list(Stream).index(item[0].stream), item[0].layer


def _watch_seam(model: nn.Module, inputs: dict[str, Tensor]) -> list[_Seen]:
    finder = _Finder()
    everywhere = Seam(model, {module: [Site(Stream.DECODER, 0)] for module in model.modules()}, private=False)
    try:
        with torch.no_grad(), everywhere.put_on(finder), _watch_projections(model, finder):
            model(**inputs)
    finally:
        everywhere.close()
    return finder.seen


def _watch_softmax(model: nn.Module, inputs: dict[str, Tensor]) -> list[_Seen]:
    finder, stack = _Finder(), ModuleStack()

    def meet(module: nn.Module, weights: Tensor, values: Tensor, product: Any) -> Tensor:
        output: Tensor = product(weights)
        finder.note(module, weights, output.transpose(1, 2))
        return output

    followed = [module for module in model.modules() if not isinstance(module, nn.Dropout)]
    with torch.no_grad(), stack.follow(followed), Interception(stack, meet), _watch_projections(model, finder):
        model(**inputs)
    return finder.seen


@contextmanager
def _watch_projections(model: nn.Module, finder: _Finder) -> Iterator[None]:
    """Give the latest call the first linear module that is fed exactly its heads' outputs."""

    def look(module: nn.Module, args: tuple[Any, ...]) -> None:
        latest = finder.seen[-1] if finder.seen else None
        if latest is None or latest.projection is not None or not args or not isinstance(args[0], Tensor):
            return
        if args[0].shape == latest.output.shape and torch.equal(args[0], latest.output):
            latest.projection = module

    linear = [m for m in model.modules() if isinstance(m, nn.Linear) or type(m).__name__ == "Conv1D"]
    handles = [module.register_forward_pre_hook(look) for module in linear]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
