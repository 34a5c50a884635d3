"""Task heads: which one a model has, which ones its family knows, and which of the models at hand have one.

A checkpoint says in its configuration of which class the model was when it was saved ("architectures"), and so
whether a language-model head was trained with it. Whether the weights are really there only opening it can tell
(:class:`~attlas.models.adopting.Opened`, ``missing``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from attlas.models import bundled
from attlas.models.classes import HEADS, WRITING

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_ENDINGS = {
    "masked-lm": ("ForMaskedLM",),
    "causal-lm": WRITING,
    "seq2seq": ("ForConditionalGeneration", "MTModel"),
    "classification": ("ForSequenceClassification",),
    "tagging": ("ForTokenClassification",),
}
_FAMOUS = {"masked-lm": "bert-base-uncased", "causal-lm": "gpt2", "seq2seq": "Helsinki-NLP/opus-mt-en-fr"}


def head_of(model: PreTrainedModel) -> str | None:
    """The task head of a model, by its class; None for a plain one. A class that is not the library's own says it
    itself (``attlas_head``).

    >>> from transformers import BertConfig, BertForMaskedLM, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> head_of(BertForMaskedLM(BertConfig(**small))), head_of(BertModel(BertConfig(**small)))
    ('masked-lm', None)
    """
    if hasattr(model, "attlas_head"):
        return str(model.attlas_head)
    order = sorted(HEADS, key=lambda head: head != "seq2seq") if model.config.is_encoder_decoder else list(HEADS)
    return next((head for head in order if type(model) in _classes(head, model.config)), None)


def possible_heads(config: Any) -> tuple[str, ...]:
    """The language-model heads that a family has; the one that this checkpoint says it was saved with comes first.

    >>> from transformers import BertConfig
    >>> possible_heads(BertConfig(architectures=["BertLMHeadModel"]))
    ('causal-lm', 'masked-lm')
    """
    wanted = ("seq2seq",) if config.is_encoder_decoder else ("masked-lm", "causal-lm")
    known = [head for head in wanted if _classes(head, config)]
    return tuple(sorted(known, key=lambda head: head != saved_head(config)))


def saved_head(config: Any) -> str | None:
    """The head that a checkpoint says it was saved with.

    >>> from transformers import BertConfig
    >>> saved_head(BertConfig(architectures=["BertForTokenClassification"])), saved_head(BertConfig())
    ('tagging', None)
    """
    return _said(getattr(config, "architectures", None) or ())


def with_head(head: str) -> str:
    """A model that has this head: one of those in the models folder, or else a famous one.

    >>> with_head("masked-lm") != ""
    True
    """
    for name in bundled.listed():
        try:
            config = json.loads((bundled.models_folder() / name / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(config, dict) and _said(config.get("architectures") or ()) == head:
            return name
    return _FAMOUS[head]


def _said(architectures: Iterable[str]) -> str | None:
    """The head that the names of classes tell of."""
    names = [str(name) for name in architectures]
    return next((head for head, ends in _ENDINGS.items() if any(name.endswith(ends) for name in names)), None)


def _classes(head: str, config: Any) -> tuple[type, ...]:
    """The classes that the library has for a head in the family of a configuration."""
    import transformers

    mapping = getattr(transformers, HEADS[head])._model_mapping
    if type(config) not in mapping:
        return ()
    found = mapping[type(config)]
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)
