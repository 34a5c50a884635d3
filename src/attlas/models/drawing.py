"""Random weights: a model that was never trained, drawn on the device where it is to run, or layer by layer.

On a device the weights of a large model are drawn within a second or so (:func:`draw_on`), where the host takes
minutes. The rest is about models of which one block is in memory at a time (:func:`draw_in_layers`). A model that is
made in one go draws its numbers in two rounds: every module when it is made, and again when the library gives all of
them their proper distributions. So we make it in that order, let go of each block when it is done, and write down the
state of the generator before the block's first number in either round. From these two states a block can be drawn
again whenever it is needed, to the same bits as those of the model made in one go.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from attlas.errors import CapabilityError
from attlas.models.streaming import StreamedWeights, blocks_of, refuse_shared

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_ALONE = Lock()  # while a model is made, the library's own functions are wrapped


@dataclass
class _Recipe:
    """How a block is drawn: what it is made of, and the generator's states before either round."""

    arguments: tuple[Any, ...]
    options: dict[str, Any]
    made: Tensor
    spread: Tensor | None = None
    initialise: Callable[[nn.Module], None] | None = None


def draw_on(
    place: torch.device, kind: type[PreTrainedModel], config: Any, seed: int, dtype: torch.dtype
) -> PreTrainedModel:
    """A model of this class and configuration with the weights that it has before any training, drawn by the seed
    where it is to run, in the number format that it is to have: there is never more of it than its own weights.

    On one device a seed gives the same weights every time. The host and a device have other generators, and so may
    two kinds of devices: their draws are of the same distributions, and not the same numbers. What a model keeps
    beside its weights (tables of positions) stays in the format that the model itself makes it in.

    >>> from transformers import BertConfig, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> cpu = torch.device("cpu")
    >>> one, same = (draw_on(cpu, BertModel, BertConfig(**small), 7, torch.bfloat16) for _ in range(2))
    >>> one.dtype, bool(torch.equal(one.pooler.dense.weight, same.pooler.dense.weight))
    (torch.bfloat16, True)
    """
    before = torch.get_default_dtype()
    forked = range(torch.cuda.device_count()) if place.type == "cuda" else ()
    with _ALONE, torch.random.fork_rng(devices=list(forked)), place:
        torch.manual_seed(seed)
        torch.set_default_dtype(dtype)
        try:
            fresh: PreTrainedModel = kind(config)
        finally:
            torch.set_default_dtype(before)
    for weight in fresh.parameters():
        if weight.is_floating_point():
            weight.data = weight.data.to(device=place, dtype=dtype)
    for module in fresh.modules():
        for name, kept in module._buffers.items():
            module._buffers[name] = None if kept is None else kept.to(place)
    return fresh


def draw_in_layers(
    name: str, kind: type[PreTrainedModel], config: Any, seed: int, dtype: torch.dtype
) -> PreTrainedModel:
    """A model of this class and configuration with the weights that it has before any training, as drawn by the seed:
    the same numbers as those of ``kind(config)``, of which one block is in memory at a time.

    >>> from transformers import BertConfig, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> _ = torch.manual_seed(7)
    >>> whole = BertModel(BertConfig(**small)).encoder.layer[1].output.dense
    >>> drawn = draw_in_layers("tiny", BertModel, BertConfig(**small), 7, torch.float32).encoder.layer[1].output.dense
    >>> from attlas.models.presence import at_hand
    >>> with at_hand(drawn):
    ...     bool(torch.equal(drawn.weight, whole.weight))
    True
    """
    with torch.device("meta"):
        outline = kind(copy.deepcopy(config))
    places = blocks_of(name, outline)
    refuse_shared(name, outline, places)
    kinds = {type(outline.get_submodule(place)) for place in places}
    recipes: dict[nn.Module, _Recipe] = {}
    with _ALONE, torch.random.fork_rng(devices=[]), ExitStack() as watching:
        torch.manual_seed(seed)
        for block_kind in kinds:
            watching.enter_context(_in_place_of(block_kind, "__init__", _noting(block_kind, recipes)))
        watching.enter_context(_initialising(recipes))
        watching.enter_context(_NothingLost(name))
        fresh = kind(config)
    blocks = {place: fresh.get_submodule(place) for place in places}
    if set(recipes) != set(blocks.values()):
        raise CapabilityError(
            f"{name}: it has layers outside of its list of layers, so that its untrained twin cannot be streamed; "
            "open it without --stream-layers"
        )
    fresh.to(dtype=dtype)  # type: ignore[call-arg]
    fresh.requires_grad_(False)

    def bring(place: str) -> None:
        again = _drawn_again(type(blocks[place]), recipes[blocks[place]])
        drawn = dict(again.named_modules())
        for inner, part in blocks[place].named_modules():
            for key, weight in part._parameters.items():
                if weight is not None:
                    value = drawn[inner]._parameters[key]
                    part._parameters[key] = nn.Parameter(value.detach().to(weight.dtype), requires_grad=False)

    StreamedWeights(name, fresh, places, bring)
    return fresh


def _drawn_again(kind: type[nn.Module], recipe: _Recipe) -> nn.Module:
    """A block as it is drawn from the states that were written down."""
    from transformers import initialization

    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.set_rng_state(recipe.made)
        block = kind(*recipe.arguments, **recipe.options)
        if recipe.spread is not None and recipe.initialise is not None:
            torch.set_rng_state(recipe.spread)
            with initialization.guard_torch_init_functions():
                _inner_first(block, recipe.initialise)
    return block


def _inner_first(module: nn.Module, do: Callable[[nn.Module], None]) -> None:
    for child in module.children():
        _inner_first(child, do)
    do(module)


def _noting(kind: type[nn.Module], recipes: dict[nn.Module, _Recipe]) -> Callable[..., None]:
    """How a block is made, with a note of the state before, and nothing of its weights left."""
    make: Callable[..., None] = kind.__init__

    def made(self: nn.Module, *arguments: Any, **options: Any) -> None:
        state = torch.get_rng_state()
        make(self, *arguments, **options)
        recipes[self] = _Recipe(arguments, options, state)
        _place(self, "meta")

    return made


@contextmanager
def _initialising(recipes: dict[nn.Module, _Recipe]) -> Iterator[None]:
    """The library's second round, in which a block has room for its numbers from its first module to its last."""
    from transformers import PreTrainedModel

    initialise = PreTrainedModel._initialize_weights
    inside: dict[nn.Module, nn.Module] = {}

    def initialised(self: Any, module: nn.Module, *options: Any) -> None:
        for block in [block for block in recipes if block not in inside]:
            inside.update((part, block) for part in block.modules())
        own = inside.get(module)
        if own is not None and recipes[own].spread is None and not getattr(own, "_is_hf_initialized", False):
            recipes[own].spread = torch.get_rng_state()
            recipes[own].initialise = lambda part: initialise(self, part, *options)
            _place(own, "cpu")
        initialise(self, module, *options)
        if own is module:
            _place(own, "meta")

    with _in_place_of(PreTrainedModel, "_initialize_weights", initialised):
        yield


@contextmanager
def _in_place_of(owner: type, name: str, other: Any) -> Iterator[None]:
    """Another method of a class, for the length of a ``with`` block."""
    own, before = name in vars(owner), getattr(owner, name)
    setattr(owner, name, other)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


class _NothingLost(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Refuses to write into weights that are not there: what is written outside of a block's turn would be lost."""

    def __init__(self, name: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.name = name

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        written = args[0] if args else None
        if func._schema.is_mutable and isinstance(written, Tensor) and written.is_meta:
            raise CapabilityError(
                f"{self.name}: its weights before training are not drawn layer by layer, so that its untrained twin "
                "cannot be streamed; open it without --stream-layers"
            )
        return func(*args, **(kwargs or {}))


def _place(block: nn.Module, device: str) -> None:
    """Room for the weights of a block on a device, without any numbers; what it keeps beside them stays."""
    for part in block.modules():
        for key, weight in part._parameters.items():
            if weight is not None:
                part._parameters[key] = nn.Parameter(torch.empty_like(weight, device=device), requires_grad=False)
