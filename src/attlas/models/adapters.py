"""Adapter folders: what fine-tuning added to a model (LoRA and its kin), and the name of the model it was added to.

Such a folder has an ``adapter_config.json`` and no weights of a model. It is opened as its base model with the
adapter on it, through the package peft; what W_O and norms are is then said by both together. Learned prompts are no
adapters of matrices and are refused, since attention would go to pieces that no text has.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from attlas.errors import CapabilityError, ModelError, first_line

if TYPE_CHECKING:
    from transformers import PreTrainedModel

FILE = "adapter_config.json"
PROMPTS = frozenset(
    {"PROMPT_TUNING", "MULTITASK_PROMPT_TUNING", "P_TUNING", "PREFIX_TUNING", "CPT", "ADAPTION_PROMPT"}
)
HEADS = {"CAUSAL_LM": "causal-lm", "SEQ_2_SEQ_LM": "seq2seq", "SEQ_CLS": "classification", "TOKEN_CLS": "tagging"}


@dataclass(frozen=True)
class Adapter:
    """What an adapter folder says of itself: the base model, the task head that it was trained with (None where it
    does not say), and the modules that it brings whole.

    >>> Adapter("bert", "classification", ("classifier",)).brings("classifier.weight")
    True
    """

    base: str
    head: str | None = None
    whole: tuple[str, ...] = ()
    folder: Path = Path()

    def brings(self, weight: str) -> bool:
        """Whether a weight of the base model is replaced by one of the adapter's.

        >>> Adapter("bert").brings("classifier.weight")
        False
        """
        return any(module in weight.split(".") for module in self.whole)


def read_adapter(shown: str, folder: Path | None) -> Adapter | None:
    """What the adapter in a folder is, or None where the folder is a whole model's.

    >>> read_adapter("a model", None) is None
    True
    """
    if folder is None or not (folder / FILE).is_file():
        return None
    try:
        settings = json.loads((folder / FILE).read_text(encoding="utf-8"))
        kind, base = str(settings.get("peft_type")), settings.get("base_model_name_or_path")
    except (ValueError, AttributeError, OSError) as error:
        raise ModelError(f"{shown} is no adapter that can be read: {FILE} is damaged ({error})") from error
    if kind in PROMPTS:
        raise CapabilityError(
            f"{shown} has learned prompts ({kind}): its attention goes to pieces that no text has; give an adapter "
            "of matrices (LoRA), or the base model"
        )
    if not isinstance(base, str) or not base:
        raise ModelError(f"{shown} is an adapter, and its {FILE} does not say of which model; name it there")
    beside = folder / base
    whole = tuple(settings.get("modules_to_save") or ())
    head = HEADS.get(str(settings.get("task_type")))
    return Adapter(str(beside) if beside.is_dir() else base, head, whole, folder)


def check_fit(shown: str, adapter: Adapter, outline: PreTrainedModel | None) -> None:
    """Refuse an adapter whose matrices are of other modules, or of other sizes, than those of a model without its
    weights; where they are not of LoRA's kind, putting it on says the same.

    >>> check_fit("mine", Adapter("bert"), None)
    """
    file = adapter.folder / "adapter_model.safetensors"
    if outline is None or not file.is_file():
        return
    from safetensors import safe_open

    parts, kind = dict(outline.named_modules()), type(outline).__name__
    with safe_open(file, framework="pt") as opened:
        for key in opened.keys():  # noqa: SIM118 (it is no mapping)
            place, mark, side = key.removeprefix("base_model.model.").rpartition(".lora_")
            if not mark or side not in ("A.weight", "B.weight"):
                continue
            if place not in parts:
                raise ModelError(
                    f"the adapter {shown} is of another model: it changes {place}, which a {kind} does not have"
                )
            size = opened.get_slice(key).get_shape()[1 if side[0] == "A" else 0]
            shape = tuple(getattr(parts[place], "weight", torch.empty(0)).shape)
            if len(shape) == 2 and size not in shape:
                raise ModelError(
                    f"the adapter {shown} is of another model: its matrix for {place} is of size {size}, where that "
                    f"of the {kind} is {shape[0]} x {shape[1]}"
                )


def put_on(shown: str, model: PreTrainedModel, folder: Path, *, allow_pickle: bool) -> Any:
    """The model with the adapter of a folder on it.

    >>> put_on("mine", None, Path("no-such-folder"), allow_pickle=False)
    Traceback (most recent call last):
        ...
    attlas.errors.ModelError: mine has no safetensors weights; ...
    """
    if not allow_pickle and not (folder / "adapter_model.safetensors").is_file():
        raise ModelError(
            f"{shown} has no safetensors weights; convert them, or allow pickled ones (--allow-pickle) if you trust "
            "them"
        )
    try:
        from peft import PeftModel
    except ImportError as error:
        raise ModelError(
            f"{shown} is an adapter, and needs a package that is not installed: pip install peft"
        ) from error
    try:
        return PeftModel.from_pretrained(model, str(folder)).eval()
    except Exception as error:
        kind = type(model).__name__
        raise ModelError(f"the adapter {shown} does not fit its base model {kind}: {first_line(error)}") from error
