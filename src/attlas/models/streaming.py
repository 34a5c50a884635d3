"""Weights that come layer by layer: of the blocks of a model, one is in memory at a time.

What lies outside the list of blocks (embeddings, the last norm, a head) is held. A block's weights are read from the
safetensors file, or drawn (:mod:`attlas.models.drawing`), when the block is entered, and let go of when it is left.
Passes that take turns (:mod:`attlas.models.turns`) all go through a block while it is there, so that the file is read
once for all of them.

The library opens the model as it opens any other, on the meta device, and is stopped where it would read the weights;
its own loading, with all renaming and merging that a family needs, is then called for one block after the other.
"""

from __future__ import annotations

import ctypes
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from threading import RLock, get_ident
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attlas.errors import CapabilityError, ModelError, NumberError
from attlas.models import turns
from attlas.models.fingerprints import Mark, mark_of, tensors_of
from attlas.models.presence import hold, holder_of
from attlas.models.quieting import quiet

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_FROM_THIS_SIZE, _LARGE = -3, 1 << 22  # mallopt's M_MMAP_THRESHOLD, and the bytes from which it holds


class StreamedWeights:
    """The blocks of a model by their places in it, and what brings in the weights of each.

    ``marks`` are what fingerprints take of the weights that have come by, ``resident`` the places of the blocks whose
    weights are in memory at the moment.

    >>> from attlas.models.drawing import draw_in_layers
    >>> from transformers import BertConfig, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> weights = streamed_in(draw_in_layers("tiny", BertModel, BertConfig(**small), 0, torch.float32))
    >>> list(weights.blocks), weights.resident
    (['encoder.layer.0', 'encoder.layer.1'], ())
    """

    def __init__(self, name: str, model: nn.Module, places: Sequence[str], bring: Callable[[str], None]) -> None:
        self.name, self._bring = name, bring
        self.blocks = {place: model.get_submodule(place) for place in places}
        self.marks: dict[str, Mark] = {}
        self.resident: tuple[str, ...] = ()
        self._lock, self._owner = RLock(), 0
        self._empty = {
            place: [(part, key, weight) for part in block.modules() for key, weight in part._parameters.items()]
            for place, block in self.blocks.items()
        }
        for place, block in self.blocks.items():
            hold(block, self)
            block.register_forward_pre_hook(lambda _, args, place=place: self._enter(place, args))
            block.register_forward_hook(lambda *_, place=place: self._leave(place), always_call=True)

    @property
    def largest(self) -> int:
        """The bytes of the largest block."""
        return max(
            sum(weight.nbytes for _, _, weight in weights if weight is not None) for weights in self._empty.values()
        )

    def pieces_for(self, width: int) -> int:
        """How many pieces with states so wide may wait between two blocks, to take no more room than a block does:
        each has its state, and up to three of that size beside it."""
        return max(1, self.largest // (4 * 4 * width))

    @contextmanager
    def at_hand(self, module: nn.Module) -> Iterator[None]:
        """The weights of the block that a module is in, for the length of a ``with`` block."""
        place = next(place for place, block in self.blocks.items() if any(part is module for part in block.modules()))
        with self._lock:
            here = place in self.resident
            if not here:
                self._fetch(place)
            try:
                yield
            finally:
                if not here:
                    self._drop(place)

    def release(self) -> None:
        """Let go of all blocks, at the end of passes that took turns."""
        with self._lock:
            for place in self.resident:
                self._drop(place)

    def _enter(self, place: str, states: tuple[Any, ...]) -> None:
        if torch.is_grad_enabled() and any(getattr(state, "requires_grad", False) for state in states):
            raise CapabilityError(
                f"{self.name}: its layers are streamed, and are gone when gradients would go back through them; open "
                "it without streaming"
            )
        turns.give_way()
        self._lock.acquire()
        self._owner = get_ident()
        for other in self.resident:
            if other != place:
                self._drop(other)
        if place not in self.resident:
            self._fetch(place)

    def _leave(self, place: str) -> None:
        if self._owner != get_ident():  # it never came in
            return
        if not turns.leave_until_last(self.release):
            self._drop(place)
        self._owner = 0
        self._lock.release()

    def _fetch(self, place: str) -> None:
        self._bring(place)
        self.resident = (*self.resident, place)
        for inner, part in self.blocks[place].named_modules(prefix=place):
            part.requires_grad_(False)
            for name, tensor in tensors_of(part, inner):
                if tensor.is_meta:
                    raise ModelError(
                        f"the checkpoint of {self.name} holds no weights for {name}, and a model whose layers are "
                        "streamed must have all of them"
                    )
                if name not in self.marks:
                    self.marks[name] = mark_of(name, tensor)
                    if not math.isfinite(self.marks[name].total):
                        raise NumberError(
                            f"NaN or infinity in the weights of {self.name} ({name}); get an undamaged copy of them"
                        )

    def _drop(self, place: str) -> None:
        for part, key, empty in self._empty[place]:
            part._parameters[key] = empty
        self.resident = tuple(other for other in self.resident if other != place)


def streamed_in(model: nn.Module) -> StreamedWeights | None:
    """The weights of a model that are streamed, where they are.

    >>> streamed_in(nn.Linear(2, 2)) is None
    True
    """
    holders = (holder_of(part) for part in model.modules())
    return next((holder for holder in holders if isinstance(holder, StreamedWeights)), None)


def blocks_of(name: str, model: nn.Module) -> list[str]:
    """The places of a model's blocks: the members of that list of modules which holds most weights.

    >>> from transformers import GPT2Config, GPT2Model
    >>> blocks_of("tiny", GPT2Model(GPT2Config(n_embd=8, n_layer=2, n_head=2, vocab_size=20)))
    ['h.0', 'h.1']
    >>> blocks_of("flat", nn.Linear(2, 2))
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: flat (Linear): no list of layers was found in it, so that they cannot be ...
    """
    lists = {place: _members(place, module) for place, module in model.named_modules() if _is_list(module)}
    sizes = {
        place: sum(weight.numel() for member in members for weight in model.get_submodule(member).parameters())
        for place, members in lists.items()
    }
    largest = max(sizes, key=lambda place: (sizes[place], -len(place)), default=None)  # an outer one before an inner
    if largest is None or not sizes[largest]:
        raise CapabilityError(
            f"{name} ({type(model).__name__}): no list of layers was found in it, so that they cannot be streamed; "
            "open it without --stream-layers"
        )
    return lists[largest]


def refuse_shared(name: str, model: PreTrainedModel, places: Sequence[str]) -> None:
    """Refuse a model in which a block shares weights with another block, or with what lies outside.

    >>> from transformers import GPT2Config, GPT2LMHeadModel
    >>> model = GPT2LMHeadModel(GPT2Config(n_embd=8, n_layer=2, n_head=2, vocab_size=20))
    >>> refuse_shared("tiny", model, blocks_of("tiny", model))
    """

    def owner(weight: str) -> str | None:
        return next((place for place in places if weight.startswith(f"{place}.")), None)

    for one, other in model.all_tied_weights_keys.items():
        if owner(one) != owner(other):
            raise CapabilityError(
                f"{name} ({type(model).__name__}): its layers share weights ({one} is {other}), so that they cannot "
                "be streamed one by one; open it without --stream-layers"
            )


def streaming(name: str, kind: type[PreTrainedModel]) -> type[PreTrainedModel]:
    """The class itself, but for how its weights are read: those of its blocks when they are needed, one block at a
    time.

    >>> from transformers import BertModel
    >>> streaming("tiny", BertModel).__name__
    'BertModel'
    """

    def read_later(
        model: Any, state_dict: Any, checkpoint_files: Sequence[str] | None, load_config: Any, expected: Any = None
    ) -> tuple[Any, None]:
        files = [str(file) for file in checkpoint_files or ()]
        if not files or not all(file.endswith(".safetensors") for file in files):
            raise ModelError(
                f"{name} has no safetensors weights, and layers are streamed from these alone; convert them"
            )
        places = blocks_of(name, model)
        refuse_shared(name, model, places)
        _give_back_at_once()
        model.config.get_text_config().use_cache = (
            False  # the keys and values of all layers, which one pass never reads
        )
        reader = _Reader(model, files, load_config, places)
        StreamedWeights(name, model, places, reader.bring)
        loading = reader.bring("")
        model.requires_grad_(False)
        later = {f"{place}.{key}" for place in places for key, _ in model.get_submodule(place).named_parameters()}
        loading.missing_keys -= later | reader.targets
        return loading, None

    own = {"_load_pretrained_model": staticmethod(read_later), "__module__": kind.__module__}
    return type(kind.__name__, (kind,), own)


class _Reader:
    """Reads weights from safetensors files, tensor by tensor, into one block of a model at a time."""

    def __init__(self, model: PreTrainedModel, files: Sequence[str], load_config: Any, places: Sequence[str]) -> None:
        from transformers.core_model_loading import WeightConverter, WeightRenaming, rename_source_key

        everywhere = load_config.device_map or {"": "cpu"}
        # Where something is on disk, the library reads one tensor after the other: nothing that we have is called so.
        self._model, self._config = model, replace(load_config, device_map={**everywhere, "no weight": "disk"})
        self._tensors: dict[str, dict[str, _Unread]] = {place: {} for place in ("", *places)}
        self.targets: set[str] = set()
        rules = load_config.weight_mapping or []
        renaming = [rule for rule in rules if isinstance(rule, WeightRenaming)]
        converting = [rule for rule in rules if isinstance(rule, WeightConverter)]
        known, buffers = model.state_dict(), _Buffers()
        for file in files:
            for key, tensor in _tensors_in(file, buffers).items():
                target, _ = rename_source_key(key, renaming, converting, model.base_model_prefix, known)
                if target not in known and key in known:
                    target = key
                place = next((place for place in places if target.startswith(f"{place}.")), "")
                self._tensors[place][key] = tensor
                self.targets.add(target)

    def bring(self, place: str) -> Any:
        """Read the weights of a block, or (empty) what lies outside of all; gives what the library says of it."""
        from transformers.core_model_loading import convert_and_load_state_dict_in_model

        with quiet():
            return convert_and_load_state_dict_in_model(self._model, self._tensors[place], self._config, None)[0]


def _tensors_in(file: str, buffers: _Buffers) -> dict[str, _Unread]:
    """The tensors of a safetensors file, by the header that it begins with."""
    from safetensors import torch as library

    formats: dict[str, Any] = library._TYPES
    with open(file, "rb") as opened:
        size = int.from_bytes(opened.read(8), "little")
        header = json.loads(opened.read(size))
    return {
        key: _Unread(
            file, 8 + size + about["data_offsets"][0], tuple(about["shape"]), formats[about["dtype"]], buffers
        )
        for key, about in header.items()
        if key != "__metadata__"
    }


@dataclass(frozen=True)
class _Unread:
    """A tensor in a file, which is read when the library takes all of it."""

    file: str
    begin: int
    shape: tuple[int, ...]
    dtype: torch.dtype
    buffers: _Buffers

    def __getitem__(self, whole: Any) -> Tensor:
        tensor = self.buffers.take(self.shape, self.dtype)
        flat: Any = tensor.reshape(-1).view(torch.uint8).numpy()
        room = memoryview(flat)
        with open(self.file, "rb", buffering=0) as opened:
            opened.seek(self.begin)
            done = 0
            while done < len(room):
                read = opened.readinto(room[done:])
                if not read:
                    raise ModelError(f"{self.file} ends in the middle of a tensor; get an undamaged copy of it")
                done += read
        return tensor


class _Buffers:
    """Memory for tensors, used again when nobody else holds it any more: memory that is new to a process costs more
    than the reading of what is put into it."""

    def __init__(self) -> None:
        self._kept: dict[tuple[tuple[int, ...], torch.dtype], list[Tensor]] = {}
        self._alone = _holders(torch.empty(1))

    def take(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """A tensor of this kind whose numbers nobody needs: a view, which counts for as long as somebody holds it."""
        kept = self._kept.setdefault((shape, dtype), [])
        free = [tensor for tensor in kept if self._alone is not None and _holders(tensor) == self._alone]
        tensor = free[0] if free else torch.empty(shape, dtype=dtype)
        if self._alone is not None and not free:
            kept.append(tensor)
        return tensor.detach()


def _holders(tensor: Tensor) -> int | None:
    """How many hold the memory of a tensor, views and parameters too; None where torch does not say."""
    count = getattr(torch._C, "_storage_Use_Count", None)
    return None if count is None else int(count(tensor.untyped_storage()._cdata))


def _give_back_at_once() -> None:
    """Let the memory of large tensors go back to the system when they are let go of, where the C library can be told
    so: else it keeps what one layer had, in pieces into which the next may not fit."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_FROM_THIS_SIZE, _LARGE)


def _is_list(module: nn.Module) -> bool:
    return isinstance(module, nn.ModuleList)


def _members(place: str, module: nn.Module) -> list[str]:
    """The places of the members of a list of modules; those of a list in a list are the inner one's."""
    members: list[str] = []
    for key, member in module.named_children():
        inner = f"{place}.{key}" if place else key
        members += _members(inner, member) if _is_list(member) else [inner]
    return members
