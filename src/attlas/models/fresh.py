"""Opening a model for training: with the head of a task, fresh where its checkpoint does not hold it.

A head for classifying or tagging is made for given labels, which go into the model's configuration, so that the saved
model knows them. A checkpoint whose head knows these very labels keeps it, and is trained on. Fresh weights are drawn
by the seed. Families that find the end of a text by its padding need a padding piece in their configuration; where
none is set, the tokenizer's is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from attlas.errors import CapabilityError, StoreError
from attlas.models.adopting import Opened
from attlas.models.bundled import resolve
from attlas.models.fingerprints import fingerprint
from attlas.models.opening import open_model, read_config
from attlas.models.untrained import untrained

if TYPE_CHECKING:
    from transformers import PreTrainedModel

LABELLED = ("classification", "tagging")


def open_to_train(
    name: str | Path | None = None,
    *,
    task_head: str | None = None,
    labels: Sequence[str] = (),
    seed: int = 0,
    **opening: Any,
) -> Opened:
    """Open a model with a head to be trained; ``labels`` are what a classifying or tagging head is to tell apart.

    What the checkpoint lacks is drawn by the seed, so nothing counts as missing. ``opening`` is as for
    :func:`~attlas.models.open_model`.

    >>> opened = open_to_train(task_head="classification", labels=["bad", "good"])
    >>> opened.model.config.id2label, opened.missing, type(opened.model).__name__
    ({0: 'bad', 1: 'good'}, (), 'BertForSequenceClassification')
    """
    settings: dict[str, Any] = {}
    if task_head in LABELLED:
        if len(set(labels)) < 2:
            raise CapabilityError(
                f"a head for {task_head} needs at least two labels to tell apart, not {len(set(labels))}"
            )
        config = read_config(name, remote_code=bool(opening.get("remote_code")))
        if task_head == "classification" and config.is_encoder_decoder:
            raise CapabilityError(
                f"{resolve(name)[0]} has an encoder and a decoder, which are not classified by; choose a model with "
                "only one of them"
            )
        settings = _settings(config, labels)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        opened = open_model(name, task_head=task_head or "none", settings=settings, **opening)
    if settings:
        _redraw_head(opened, seed)
    _set_padding(opened.model, opened.tokenizer)
    return replace(opened, missing=(), fingerprint=fingerprint(opened.model))


def save_model(opened_model: PreTrainedModel, tokenizer: Any, folder: Path) -> None:
    """Write a model and its tokenizer as the model library reads them, weights as safetensors.

    >>> import tempfile
    >>> opened, folder = open_model(), Path(tempfile.mkdtemp())
    >>> save_model(opened.model, opened.tokenizer, folder)
    >>> {"config.json", "model.safetensors", "tokenizer.json"} <= {path.name for path in folder.iterdir()}
    True
    """
    from attlas.models.quieting import quiet

    try:
        with quiet():
            opened_model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
    except Exception as error:
        if not isinstance(error, OSError) and type(error).__name__ != "SafetensorError":
            raise
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"{folder}: the model cannot be written ({reason})") from error


def _settings(config: Any, labels: Sequence[str]) -> dict[str, Any]:
    """What a configuration must say for these labels; nothing where it says so already."""
    known = {int(number): label for number, label in (config.id2label or {}).items()}
    if set(known.values()) == set(labels) and len(known) == len(labels):
        return {}
    return {
        "num_labels": len(labels),
        "id2label": dict(enumerate(labels)),
        "label2id": {label: number for number, label in enumerate(labels)},
    }


def _redraw_head(opened: Opened, seed: int) -> None:
    """A head of other labels may have as many: nothing of it is kept."""
    fresh = untrained(opened.name, opened.model, None, seed).model.state_dict()
    inside = {id(parameter) for parameter in opened.model.base_model.parameters()}
    with torch.no_grad():
        for name, parameter in opened.model.named_parameters():
            if id(parameter) not in inside:
                parameter.copy_(fresh[name])


def _set_padding(model: PreTrainedModel, tokenizer: Any) -> None:
    text = model.config.get_text_config()
    if getattr(text, "pad_token_id", None) is None:
        found = (getattr(tokenizer, f"{kind}_token_id", None) for kind in ("pad", "eos", "sep"))
        padding = next((number for number in found if number is not None), 0)
        text.pad_token_id = model.config.pad_token_id = padding
