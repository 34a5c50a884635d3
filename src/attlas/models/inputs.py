"""What a model reads: pieces of text; or images, sound and numbers, and then it is refused before anything is opened.

A class of the model library says so in the arguments of its forward pass. One that takes no ids of pieces at all is
not for us; one that takes them beside an image may be able to do without the image, which only trying tells.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch

from attlas.errors import CapabilityError, first_line

_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
OTHERS = {
    "pixel_values": "images",
    "input_values": "sound",
    "input_features": "sound",
    "past_values": "series of numbers",
    "states": "states and actions",
    "bbox": "places on a page",
}


def refuse_other_inputs(name: str, kind: type) -> None:
    """Refuse a class of models that does not read text, and say what it reads.

    >>> from transformers import BertModel, ViTModel
    >>> refuse_other_inputs("bert", BertModel)
    >>> refuse_other_inputs("vit", ViTModel)
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: vit (ViTModel) reads images (pixel_values) and no text; ...
    """
    main = str(getattr(kind, "main_input_name", "input_ids"))
    if main == "input_ids" or "input_ids" in _arguments(kind):
        return
    reads = f"reads {OTHERS[main]} ({main}) and no text" if main in OTHERS else f"takes {main} instead of input_ids"
    raise CapabilityError(f"{name} ({kind.__name__}) {reads}; attlas looks at models that read pieces of text")


def why_unreadable(model: Any, error: Exception) -> str:
    """Why a model failed to read a few pieces of text: what it wants beside them, or its own words.

    >>> from transformers import CLIPModel
    >>> model = CLIPModel.__new__(CLIPModel)
    >>> why_unreadable(model, AttributeError("'NoneType' object has no attribute 'shape'"))
    'it wants images, too: pixel_values'
    """
    kind = type(model)
    if kind.forward is torch.nn.Module.forward:
        return "it is several models, and has no pass of its own"
    wanted = [name for name in _arguments(kind) if name in OTHERS]
    if wanted:
        return f"it wants {OTHERS[wanted[0]]}, too: {wanted[0]}"
    return first_line(error)


def takes(model: Any, name: str) -> bool:
    """Whether a model's pass reads an argument of this name, and does not only hand it on to its attention.

    >>> from transformers import BertModel, LlamaModel
    >>> [takes(kind.__new__(kind), "token_type_ids") for kind in (BertModel, LlamaModel)]
    [True, False]
    """
    inner = getattr(model, "get_base_model", None)  # of a model with adapters, whose own pass hands everything on
    kind = type(model if inner is None else inner())
    by_name = [each for each in inspect.signature(kind.forward).parameters.values() if each.kind not in _ANY]
    return len(by_name) == 1 or name in _arguments(kind)  # a pass that names nothing but itself hands everything on


def _arguments(kind: Any) -> list[str]:
    return list(inspect.signature(kind.forward).parameters)
