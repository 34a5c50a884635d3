"""A model that is in memory, put on the seam: its attention is found, and what hides it is refused.

Models that were just read, made from a configuration or trained all come through here. Who gives a model that cannot
be put on the seam has it back as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from attlas.errors import AttlasError, CapabilityError
from attlas.models import seam, sites
from attlas.models.devices import place_of
from attlas.models.fingerprints import fingerprint
from attlas.models.inputs import refuse_other_inputs, why_unreadable
from attlas.models.quieting import quiet

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class Opened:
    """A model that was opened, with its tokenizer and the layout of its attention.

    ``missing`` are the weights that its checkpoint does not hold and that are random therefore, such as those of a
    task head that was never trained.

    >>> Opened.__dataclass_fields__.keys() >= {"model", "tokenizer", "layout"}
    True
    """

    name: str
    model: PreTrainedModel
    tokenizer: Any
    layout: sites.Layout
    fingerprint: str
    missing: tuple[str, ...] = ()


def adopt(name: str, model: PreTrainedModel, tokenizer: Any) -> Opened:
    """Take a model that is in memory already (made from a config, or just trained) onto the seam.

    >>> from transformers import BertConfig, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> adopt("tiny", BertModel(BertConfig(**small)), None).layout.streams
    (<Stream.ENCODER: 'encoder'>,)
    """
    with adopted(name, model, tokenizer) as opened:
        return opened


@contextmanager
def adopted(name: str, model: PreTrainedModel, tokenizer: Any) -> Iterator[Opened]:
    """As :func:`adopt`, for the length of a ``with`` block in which the model may be tried: if anything goes wrong,
    whoever gave it has it back as it was.

    >>> from transformers import BertConfig, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> model = BertModel(BertConfig(**small))
    >>> with adopted("tiny", model, None):
    ...     raise CapabilityError("tiny: it is too small")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: tiny: it is too small
    >>> model.config._attn_implementation, model.training
    ('sdpa', True)
    """
    refuse_unseeable(name, model)
    seam.register()
    before, training = attentions(model), model.training
    ours = seam.name_for(type(model), model.config)
    try:
        with quiet():
            try:
                model.set_attn_implementation(ours)
            except (ValueError, KeyError):
                _set_attention(model, "eager")
            for config, library in before:  # a part that runs fused where the whole cannot goes on doing so
                if library == "sdpa" and config._attn_implementation == seam.STRICT_NAME:
                    config._attn_implementation = seam.NAME
            model.train(False)
            if model.config._attn_implementation not in (ours, "eager"):  # it did not listen
                _set_attention(model, "eager")
            layout = layout_of(model)
            if (layout is None or layout.private) and model.config._attn_implementation != "eager":
                _set_attention(model, "eager")
                layout = layout_of(model)
            if layout is None:
                raise unreadable(name, model)
        yield Opened(name, model, tokenizer, layout, fingerprint(model))
    except BaseException:
        for config, library in before:
            config._attn_implementation = library
        model.train(training)
        raise


def attentions(model: torch.nn.Module) -> list[tuple[Any, str]]:
    """Every configuration in a model with the name of the attention that it asks for; parts may have their own.

    >>> from transformers import BertConfig, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> [name for _, name in attentions(BertModel(BertConfig(**small)))]
    ['sdpa']
    """
    configs: dict[int, Any] = {id(m.config): m.config for m in model.modules() if hasattr(m, "config")}
    return [(config, config._attn_implementation) for config in configs.values()]


def is_compiled(model: torch.nn.Module) -> bool:
    """Whether a model was compiled in place.

    >>> is_compiled(torch.nn.Linear(2, 2))
    False
    """
    return any(getattr(module, "_compiled_call_impl", None) is not None for module in model.modules())


def probing_inputs(model: PreTrainedModel) -> dict[str, torch.Tensor]:
    """Ids for the probing pass: a source of seven pieces and, for an encoder-decoder, a target of five.

    >>> from transformers import BertConfig, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> probing_inputs(BertModel(BertConfig(**small)))["input_ids"].shape
    torch.Size([1, 7])
    """
    config = model.config
    vocabulary = _embedded(model)
    padding = getattr(config, "pad_token_id", None)
    known = [i for i in range(vocabulary) if i != padding][-sites.SOURCE_LENGTH :]
    ids = (known * sites.SOURCE_LENGTH)[-sites.SOURCE_LENGTH :]  # a vocabulary may be smaller than that
    inputs = {"input_ids": torch.tensor([ids], device=place_of(model))}
    if config.is_encoder_decoder:
        inputs["decoder_input_ids"] = inputs["input_ids"][:, : sites.TARGET_LENGTH]
    return inputs


def piece_embeddings(model: PreTrainedModel) -> torch.nn.Module | None:
    """The vectors of a model's pieces; None where it keeps them to itself.

    >>> from transformers import BertConfig, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> piece_embeddings(BertModel(BertConfig(**small)))
    Embedding(20, 8, padding_idx=0)
    """
    try:
        embeddings: torch.nn.Module | None = model.get_input_embeddings()
    except NotImplementedError:
        return None
    return embeddings


def layout_of(model: PreTrainedModel) -> sites.Layout | None:
    """Where a model's attention is, or None where it cannot read a few pieces of text in this way.

    >>> from transformers import BertConfig, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> layout_of(adopt("tiny", BertModel(BertConfig(**small)), None).model).streams
    (<Stream.ENCODER: 'encoder'>,)
    """
    try:
        return sites.find_sites(model, probing_inputs(model))
    except AttlasError:
        raise
    except Exception:
        return None


def unreadable(name: str, model: PreTrainedModel) -> CapabilityError:
    """Why a model cannot read a few pieces of text; it is asked once more for its reason.

    >>> from transformers import BertConfig, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> str(unreadable("tiny", BertModel(BertConfig(**small)))).split(";")[0]
    'tiny (BertModel) cannot read a text by itself (its attention was lost on the way)'
    """
    try:
        with torch.no_grad():
            model(**probing_inputs(model))
        why = "its attention was lost on the way"
    except Exception as error:
        why = why_unreadable(model, error)
    part = "; give the part of it that reads text to Subject.of" if hasattr(model.config, "text_config") else ""
    return CapabilityError(
        f"{name} ({type(model).__name__}) cannot read a text by itself ({why}); attlas looks at models that take "
        f"pieces of text and nothing else{part}"
    )


def refuse_unseeable(name: str, model: Any) -> None:
    """Refuse what hides its attention from us, or puts more into it than the text.

    >>> refuse_unseeable("tiny", torch.nn.Linear(2, 2))
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: tiny: a Linear is no model of the transformers library; give one of those
    """
    if hasattr(model, "_orig_mod") or is_compiled(model):
        raise CapabilityError(
            f"{name} is compiled, and a compiled model does not come by the seam; give the model as it was before "
            "torch.compile"
        )
    if getattr(getattr(model, "config", None), "attention_type", None) == "block_sparse":
        raise CapabilityError(
            f"{name} attends sparsely, by blocks, and turns itself to full attention for good when it reads a short "
            "text; set attention_type to original_full in its configuration to look at that"
        )
    adapters = getattr(model, "peft_config", None)
    if isinstance(adapters, Mapping) and any(getattr(one, "is_prompt_learning", False) for one in adapters.values()):
        raise CapabilityError(
            f"{name} has learned prompts (prompt or prefix tuning): its attention goes to pieces that no text has; "
            "give a model with adapters on its matrices (LoRA), or the base model"
        )
    if not hasattr(model, "set_attn_implementation"):
        raise CapabilityError(
            f"{name}: a {type(model).__name__} is no model of the transformers library; give one of those"
        )
    refuse_other_inputs(name, type(model))


def _set_attention(model: Any, name: str) -> None:
    """Choose a model's attention; a family that does not go by the library's interface reads its configuration."""
    model.set_attn_implementation(name)
    if model.config._attn_implementation != name:
        for config, _ in attentions(model):
            config._attn_implementation = name


def _embedded(model: PreTrainedModel) -> int:
    """How many pieces a model has a vector for."""
    vocabulary = getattr(model.config.get_text_config(), "vocab_size", None)
    rows = getattr(piece_embeddings(model), "num_embeddings", None)
    known = [int(size) for size in (vocabulary, rows) if size]
    return min(known, default=sites.SOURCE_LENGTH + 1)
