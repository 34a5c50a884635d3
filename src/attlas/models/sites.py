"""Where a model's attention is: its sites, their heads, and the matrix W_O that mixes each site's heads.

Names and class names do not tell (Marian's three attentions are one class; ALBERT's twelve layers are one module),
so we look instead: one short forward pass with a source of seven pieces and a target of five. Every attention call
shows up at the seam with its lengths, and those say which stream it is in; the order of calls says which layer. W_O
is the first linear module that is fed exactly the heads' outputs. A family whose attention does not reach the seam
is watched through its softmax (:mod:`attlas.models.private`).

A pass may leave traces in a model (BigBird gives up its sparse attention for good when it reads a short text), so
every module is put back as it was. What is found must make sense: an encoder-decoder has three streams, and a call
whose keys are source and target together is of none of them; where it does not, the model is refused, and not shown
in part.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from attlas.errors import CapabilityError
from attlas.ids import Site, Stream
from attlas.models.hooks import Hooks
from attlas.models.presence import at_hand
from attlas.models.private import Interception, ModuleStack
from attlas.models.seam import AttentionCall, Instrument, Seam

SOURCE_LENGTH, TARGET_LENGTH = 7, 5


@dataclass(frozen=True)
class Layout:
    """What was found: modules and their sites, heads per site, output projections, and by which way; ``repeats`` are
    the modules that call their attention more than once for a layer, and how often; ``blocks`` are, for streams in
    which not every block has attention, the numbers of the blocks that hold each site. ``unproven`` are the sites
    whose W_O was found and did not rebuild them, and by how much: it is forgotten.

    >>> Layout({}, {}, {}, private=False).streams
    ()
    """

    modules: dict[nn.Module, list[Site]]
    heads: dict[Site, int]
    projections: dict[Site, nn.Module]
    private: bool
    repeats: dict[nn.Module, int] = field(default_factory=dict)
    blocks: dict[Site, int] = field(default_factory=dict)
    unproven: dict[Site, float] = field(default_factory=dict)

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
    turn: int = 0
    block: int | None = None
    projection: nn.Module | None = None


class _Finder(Instrument):
    """Notes every call that reaches the seam."""

    def __init__(self) -> None:
        self.seen: list[_Seen] = []
        self.turns: Counter[nn.Module] = Counter()
        self.within: list[int] = []  # the numbers of the blocks that are at work, the outermost first

    def finish(self, call: AttentionCall, output: Tensor) -> Tensor:
        assert call.module is not None
        self.note(call.module, call.weights(), output)
        return output

    def note(self, module: nn.Module, weights: Tensor, output: Tensor) -> None:
        _, heads, queries, keys = weights.shape
        ahead = torch.ones(queries, keys, dtype=torch.bool, device=weights.device).triu(1)
        causal = queries == keys and not bool(weights[..., ahead].any())
        flat = output.detach().flatten(2).clone()
        block = self.within[0] if self.within else None
        self.seen.append(_Seen(module, heads, queries, keys, causal, flat, self.turns[module], block))

    @contextmanager
    def counting(self, model: nn.Module) -> Iterator[None]:
        """Count how often each module is called, to tell two layers from two calls of one, and follow which block of
        a list of modules is at work."""

        def leave(*_: Any) -> None:
            self.within.pop()

        with Hooks() as hooks:
            for module in model.modules():
                hooks.before(module, lambda module, _: self.turns.update([module]))
            for number, block in _numbered(model):
                hooks.before(block, lambda *_, number=number: self.within.append(number))
                hooks.after(block, leave)
            yield


def find_sites(model: nn.Module, inputs: dict[str, Tensor]) -> Layout:
    """Run one probing pass and say where the attention is.

    ``inputs`` are ids of :data:`SOURCE_LENGTH` pieces and, for an encoder-decoder, of :data:`TARGET_LENGTH`.

    >>> find_sites(nn.Linear(2, 2), {"input": torch.ones(1, 2)})
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: Linear: no attention was found, ...
    """
    with as_it_was(model):
        seen = _watch_seam(model, inputs)
    private = not seen
    if private:
        with as_it_was(model):
            seen = _watch_softmax(model, inputs)
    if not seen:
        raise CapabilityError(
            f"{type(model).__name__}: no attention was found, neither at the model library's attention interface "
            "nor as a softmax followed by a product with values (recurrent models have none, and some models of long "
            "texts compute theirs in blocks); choose a transformer with ordinary attention"
        )
    modules: dict[nn.Module, list[Site]] = {}
    heads: dict[Site, int] = {}
    projections: dict[Site, nn.Module] = {}
    blocks: dict[Site, int | None] = {}
    translating = "decoder_input_ids" in inputs
    repeats = _repeats(seen)
    for call in (call for number, call in enumerate(seen) if not _is_again(seen, number)):
        stream = _stream(call, translating, type(model).__name__)
        site = Site(stream, sum(other.stream is stream for other in heads))
        modules.setdefault(call.module, []).append(site)
        heads[site], blocks[site] = call.heads, call.block
        if call.projection is not None:
            projections[site] = call.projection
    heads = dict(sorted(heads.items(), key=_order))
    layout = Layout(modules, heads, projections, private, repeats, _skipping(blocks))
    missing = [stream for stream in Stream if stream not in layout.streams] if translating else []
    if missing:
        raise CapabilityError(
            f"{type(model).__name__}: of its three streams the attention of {' and '.join(missing)} was not found "
            f"(that of {' and '.join(layout.streams)} was): it is computed in blocks, or in a way of its own; choose "
            "an encoder-decoder with ordinary attention"
        )
    return layout


@contextmanager
def as_it_was(model: nn.Module) -> Iterator[None]:
    """Put every module of a model back as it was at the end of a ``with`` block: its flags, and the modules in it.

    >>> layer = nn.Sequential(nn.Identity())
    >>> with as_it_was(layer):
    ...     layer.mode, layer[0] = "dense", nn.ReLU()
    >>> layer, hasattr(layer, "mode")
    (Sequential(
      (0): Identity()
    ), False)
    """
    before = [
        (module, dict(vars(module)), dict(module._modules), dict(module._buffers)) for module in list(model.modules())
    ]
    try:
        yield
    finally:
        for module, attributes, modules, buffers in before:
            vars(module).clear()
            vars(module).update(attributes)
            for now, then in ((module._modules, modules), (module._buffers, buffers)):
                now.clear()
                now.update(then)  # type: ignore[arg-type]


def output_matrix(projection: nn.Module, heads: int) -> Tensor:
    """W_O as one matrix per head: (head, width, hidden). Of a module that is more than its weight (an adapter on it,
    weights in four bits) the matrix is what it makes of the unit vectors.

    >>> output_matrix(nn.Linear(8, 5), 2).shape
    torch.Size([2, 4, 5])
    >>> class Adapter(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.base_layer, self.more = nn.Linear(8, 5), nn.Linear(8, 5)
    ...     def forward(self, x):
    ...         return self.base_layer(x) + self.more(x)
    >>> adapter = Adapter()
    >>> whole = adapter.base_layer.weight + adapter.more.weight
    >>> torch.allclose(output_matrix(adapter, 2).reshape(8, 5), whole.T, atol=1e-6)
    True
    """
    matrix: Tensor
    with at_hand(projection):
        weight: Any = getattr(projection, "weight", None)
        plain = type(weight) in (nn.Parameter, Tensor) and weight.is_floating_point()
        plain = plain and not hasattr(projection, "base_layer")
        if plain and isinstance(projection, nn.Linear):
            matrix = weight.T
        elif plain and type(projection).__name__ == "Conv1D":  # GPT-2's keeps (in, out)
            matrix = weight
        else:
            matrix = _measured(projection)
    return matrix.reshape(heads, -1, matrix.shape[1])


def output_bias(projection: nn.Module) -> Tensor | float:
    """What an output projection adds to its product.

    >>> output_bias(nn.Linear(3, 2, bias=False))
    0.0
    """
    if isinstance(projection, nn.Linear) or type(projection).__name__ == "Conv1D":
        with at_hand(projection):
            bias: Any = projection.bias
        return 0.0 if bias is None else torch.as_tensor(bias)
    with torch.no_grad():
        added: Tensor = projection(_unit_vectors(projection)[:1] * 0)[0]
    return added


def _measured(projection: nn.Module) -> Tensor:
    with torch.no_grad():
        units = _unit_vectors(projection)
        matrix: Tensor = projection(units) - projection(units[:1] * 0)
    return matrix


def _unit_vectors(projection: nn.Module) -> Tensor:
    inner = getattr(projection, "base_layer", projection)
    parameters = list(projection.parameters())
    kinds = [parameter.dtype for parameter in parameters if parameter.is_floating_point()]
    place = parameters[0].device
    device = torch.device("cpu") if place.type == "meta" else place  # what lies on disk is fetched for the product
    return torch.eye(int(inner.in_features), device=device, dtype=kinds[0] if kinds else torch.float32)  # type: ignore[arg-type]


def _stream(call: _Seen, translating: bool, name: str) -> Stream:
    if not translating:
        if (call.queries, call.keys) != (SOURCE_LENGTH, SOURCE_LENGTH):
            raise CapabilityError(
                f"{name}: a layer has {call.queries} queries and {call.keys} keys for {SOURCE_LENGTH} pieces: its "
                "attention cannot be laid over the text; choose a model that keeps a place for every piece"
            )
        return Stream.DECODER if call.causal else Stream.ENCODER
    if call.queries not in (SOURCE_LENGTH, TARGET_LENGTH):
        raise CapabilityError(
            f"{name}: a layer has {call.queries} queries for a source of {SOURCE_LENGTH} pieces and a target of "
            f"{TARGET_LENGTH}: it writes in several streams at once; choose an encoder-decoder with one"
        )
    if call.queries == SOURCE_LENGTH:
        return Stream.ENCODER
    if call.keys not in (SOURCE_LENGTH, TARGET_LENGTH):
        raise CapabilityError(
            f"{name}: its decoder attends to source and target in one softmax, and attlas tells the two apart; "
            "choose an encoder-decoder with cross attention of its own"
        )
    return Stream.DECODER if call.keys == TARGET_LENGTH else Stream.CROSS


def _is_again(seen: list[_Seen], number: int) -> bool:
    """Whether a call is one more of the same module in the same turn, on the same queries and keys."""
    call = seen[number]
    return any(
        other.module is call.module and other.turn == call.turn and other.keys == call.keys for other in seen[:number]
    )


def _repeats(seen: list[_Seen]) -> dict[nn.Module, int]:
    """The modules that call their attention more than once in one turn, and how often."""
    calls = Counter((call.module, call.turn, call.keys) for call in seen)
    return {module: count for (module, _, _), count in calls.items() if count > 1}


def _numbered(model: nn.Module) -> Iterator[tuple[int, nn.Module]]:
    """The modules of every list of modules, each with its number in it."""
    for module in model.modules():
        if isinstance(module, nn.ModuleList):
            yield from enumerate(module)


def _skipping(blocks: dict[Site, int | None]) -> dict[Site, int]:
    """The blocks of the streams that skip some: their numbers rise from layer to layer, and are not the layers' own.
    A model that goes through its blocks several times, or has several lists of them, has no such numbers.

    >>> sites = [Site(Stream.DECODER, layer) for layer in range(2)]
    >>> [len(_skipping(dict(zip(sites, blocks)))) for blocks in ([0, 1], [1, 3], [0, 0], [2, None])]
    [0, 2, 0, 0]
    """
    skipping: dict[Site, int] = {}
    for stream in Stream:
        own = {site: block for site, block in blocks.items() if site.stream is stream and block is not None}
        numbers, layers = list(own.values()), [site.layer for site in own]
        rising = all(before < after for before, after in itertools.pairwise(numbers))
        if rising and numbers != layers and len(own) == sum(site.stream is stream for site in blocks):
            skipping |= own
    return skipping


def _order(item: tuple[Site, int]) -> tuple[int, int]:
    return list(Stream).index(item[0].stream), item[0].layer


def _watch_seam(model: nn.Module, inputs: dict[str, Tensor]) -> list[_Seen]:
    finder = _Finder()
    everywhere = Seam(model, {module: [Site(Stream.DECODER, 0)] for module in model.modules()}, private=False)
    try:
        with torch.no_grad(), everywhere.put_on(finder), finder.counting(model), _watch_projections(model, finder):
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

    followed = [module for module in model.modules() if any(True for _ in module.children())]  # no softmax by itself
    with ExitStack() as watching:
        for watch in (torch.no_grad(), stack.follow(followed), finder.counting(model), Interception(stack, meet)):
            watching.enter_context(watch)
        with _watch_projections(model, finder):
            model(**inputs)
    return finder.seen


@contextmanager
def _watch_projections(model: nn.Module, finder: _Finder) -> Iterator[None]:
    """Give the latest call the first linear module that is fed exactly its heads' outputs; one with an adapter on it
    comes before the one inside."""

    def look(module: nn.Module, args: tuple[Any, ...]) -> None:
        latest = finder.seen[-1] if finder.seen else None
        if latest is None or latest.projection is not None or not args or not isinstance(args[0], Tensor):
            return
        if args[0].shape == latest.output.shape and torch.equal(args[0], latest.output.to(args[0].device)):
            latest.projection = module

    linear = [
        module for module in model.modules()
        if isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D" or hasattr(module, "base_layer")
    ]  # fmt: skip
    with Hooks() as hooks:
        for module in linear:
            hooks.before(module, look)
        yield
