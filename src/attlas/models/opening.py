"""Opening a model by its name: its configuration, tokenizer and weights, on the seam.

Only safetensors weights are read and no code from a model's repository is run, unless the user asks for that. The
model is opened on our seam; a family that does not use it is opened with the library's eager attention and watched
through its softmax. What a checkpoint holds is read in :mod:`attlas.models.checkpoints`, in which class is decided in
:mod:`attlas.models.classes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from attlas.errors import CapabilityError, ModelError
from attlas.models import adapters, bundled, gguf_files, pruning
from attlas.models.adopting import Opened, adopt, layout_of, refuse_unseeable, unreadable
from attlas.models.checkpoints import (
    TOKENIZER_FILES,
    hub_is_there,
    lost,
    read_configuration,
    read_tokenizer,
    read_weights,
    refuse_damaged,
    refuse_random,
)
from attlas.models.classes import AS_SAVED, HEADS, class_of, own_head, saved_class
from attlas.models.devices import placed_on, require_device
from attlas.models.fingerprints import fingerprint, marks_of
from attlas.models.inputs import refuse_other_inputs
from attlas.models.placing import WHOLE, Placing
from attlas.models.quieting import quiet

if TYPE_CHECKING:
    from transformers import PreTrainedModel

FORMATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


def open_model(
    name: str | Path | None = None,
    *,
    task_head: str | None = None,
    device: str | None = None,
    dtype: torch.dtype | None = None,
    remote_code: bool = False,
    allow_pickle: bool = False,
    settings: Mapping[str, Any] | None = None,
    placing: Placing = WHOLE,
) -> Opened:
    """Open a model by hub name, folder, gguf file, short name, or (None) the bundled one.

    A decoder whose checkpoint holds a language-model head comes with it, unless ``task_head`` names another head or
    says "none". ``settings`` go into its configuration before the weights are read; those of another shape are drawn
    anew then. ``placing`` says where its weights lie, and in which form.

    >>> open_model("no/such-model")
    Traceback (most recent call last):
        ...
    attlas.errors.ModelError: no model 'no/such-model': ...
    """
    if task_head not in (None, "none", *HEADS):
        raise ModelError(f"no task head {task_head!r}; choose one of {', '.join(HEADS)}, or none")
    dtype = number_format(dtype)
    device = None if device is None else require_device(device)
    shown, folder = bundled.resolve(name)
    packed = gguf_files.read_name(name)
    placing.check(shown, device, gguf=packed is not None)
    added = shown if placing.adapter is None else str(placing.adapter)
    adapter = adapters.read_adapter(added, folder if placing.adapter is None else Path(placing.adapter))
    if adapter is not None:
        replace(placing, adapter=adapter.folder).check(added, device, gguf=packed is not None)
        base = adapter.base if placing.adapter is None else name
        base_options = {"remote_code": remote_code, "allow_pickle": allow_pickle, "settings": settings}
        return _with_adapter(
            added, adapter, base, task_head=task_head or adapter.head, device=device, dtype=dtype,
            placing=replace(placing, adapter=None), **base_options,
        )  # fmt: skip
    if placing.adapter is not None:
        raise ModelError(f"{added} is no adapter: it has no {adapters.FILE}; give the folder of one (--adapter)")
    source, options = _source(name, folder, remote_code=remote_code)
    if packed is not None:
        shown, source, options = packed.stem, str(packed.parent), {**options, "gguf_file": packed.name}
    with quiet():
        config = read_configuration(shown, source, options)
        if settings:
            config.update(dict(settings))
        if packed is None:
            placing.check(shown, device, packed=getattr(config, "quantization_config", None) is not None)
        else:  # which does not say what it was saved from, and holds a decoder with its head
            config.architectures = config.architectures or [f"{type(config).__name__[:-6]}ForCausalLM"]
        bare = class_of(config, None)
        if bare is not None and task_head is None and own_head(config) is None:
            refuse_other_inputs(shown, bare)
        tokenizer = read_tokenizer(shown, source, options)
        weights = {**options, "dtype": dtype or torch.float32, "use_safetensors": None if allow_pickle else True}
        weights["ignore_mismatched_sizes"] = bool(settings)
        read = partial(read_weights, shown, source, config, options=weights, placing=placing, device=device)
        head = own_head(config) if task_head is None else None if task_head == "none" else task_head
        model, missing = read(head)
        if missing and head and task_head is None:  # a head that nobody asked for is had whole or not at all
            head = None
            model, missing = read(None)
        if head is None and lost(model, missing) and saved_class(config) not in (None, type(model)):
            head = AS_SAVED  # the bare model goes by other names than its checkpoint
            model, missing = read(head)
        # The weights are read through once, for both uses of their sums; those that are streamed come by below.
        marks = None if placing.stream_layers else marks_of(model)
        refuse_damaged(shown, model, marks or {})
        model = placed_on(model, None if placing.places else device)
        refuse_unseeable(shown, model)
        layout = layout_of(model)
        if layout is None or layout.private:
            # Masks for the seam are boolean; a family with a softmax of its own expects the eager kind.
            model = placed_on(read(head, "eager")[0], None if placing.places else device)
            layout = layout_of(model)
        if layout is None:
            raise unreadable(shown, model)
        refuse_random(shown, model, missing, layout)
        if marks is None:
            marks = marks_of(model)
            refuse_damaged(shown, model, marks)
    return Opened(shown, model, tokenizer, layout, fingerprint(model, marks, without=missing), missing)


def read_config(name: str | Path | None = None, *, remote_code: bool = False) -> Any:
    """The configuration of a model by name, without its weights.

    >>> read_config("no/such-model")
    Traceback (most recent call last):
        ...
    attlas.errors.ModelError: no model 'no/such-model': ...
    """
    shown, folder = bundled.resolve(name)
    source, options = _source(name, folder, remote_code=remote_code)
    with quiet():
        return read_configuration(shown, source, options)


def _source(name: str | Path | None, folder: Path | None, *, remote_code: bool) -> tuple[str, dict[str, Any]]:
    """Where the library finds a model, and how it may look for it."""
    source = str(folder) if folder is not None else (bundled.HUB if name is None else str(name))
    return source, {"trust_remote_code": remote_code, "local_files_only": folder is None and not hub_is_there()}


def _with_adapter(shown: str, adapter: adapters.Adapter, base: str | Path | None, **options: Any) -> Opened:
    """A base model with an adapter on it, and the tokenizer that lies beside the adapter, or else the base's."""
    with _as_base_of(shown, base):
        outline = _outline(base, options["task_head"], bool(options["remote_code"]))
    adapters.check_fit(shown, adapter, outline)
    with _as_base_of(shown, base):
        opened = open_model(base, **options)
    folder = adapter.folder
    with quiet():
        model = adapters.put_on(shown, opened.model, folder, allow_pickle=bool(options["allow_pickle"]))
        own = any((folder / file).exists() for file in TOKENIZER_FILES)
        tokenizer = read_tokenizer(shown, str(folder), {}) if own else opened.tokenizer
    missing = tuple(name for name in opened.missing if not adapter.brings(name))
    return replace(adopt(folder.name, model, tokenizer), missing=missing)


@contextmanager
def _as_base_of(shown: str, base: str | Path | None) -> Iterator[None]:
    """Say of what goes wrong that it does so with the base model of an adapter."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{shown} is an adapter of {base!r}, which cannot be opened: {error}") from error


def _outline(name: str | Path | None, head: str | None, remote_code: bool) -> PreTrainedModel | None:
    """A model without its weights; None where only its own code can make it, or where it is in a gguf file."""
    if gguf_files.read_name(name) is not None:
        return None
    config = read_config(name, remote_code=remote_code)
    kind = class_of(config, own_head(config) if head in (None, "none") else head)
    if kind is None or not pruning.loads_plainly(config):
        return None
    with quiet(), torch.device("meta"):
        return kind(config)


def number_format(dtype: torch.dtype | str | None) -> torch.dtype | None:
    """A format of numbers, by its name, too; refused where attention cannot be measured in it.

    >>> number_format("bfloat16"), number_format(None)
    (torch.bfloat16, None)
    >>> number_format("foo")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: no number format 'foo'; try float32, bfloat16 or float16
    """
    found = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
    if isinstance(dtype, str) and not isinstance(found, torch.dtype):
        raise CapabilityError(f"no number format {dtype!r}; try float32, bfloat16 or float16")
    if found is not None and found not in FORMATS:
        raise CapabilityError(
            f"attention cannot be measured in {_plain(found)}; try {', '.join(map(_plain, FORMATS))}"
        )
    return found


def _plain(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
