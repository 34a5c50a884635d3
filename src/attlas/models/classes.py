"""Which class of the library a model is opened in: the bare one, one with a task head, or that it was saved from.

A decoder whose checkpoint holds a language-model head is opened with it, everything else without a head unless one
is asked for. A pruned model has a class of its own, whose models are made without the heads that were cut.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch

from attlas.models import pruning
from attlas.models.adopting import adopt, probing_inputs

if TYPE_CHECKING:
    from transformers import PreTrainedModel

HEADS = {
    "masked-lm": "AutoModelForMaskedLM",
    "causal-lm": "AutoModelForCausalLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
    "classification": "AutoModelForSequenceClassification",
    "tagging": "AutoModelForTokenClassification",
}
AS_SAVED = "as saved"  # no head of these, but the class that a checkpoint was saved from
WRITING = ("ForCausalLM", "LMHeadModel")  # how the classes of models end that have such a head


def own_head(config: Any) -> str | None:
    """The head that a checkpoint is opened with where nobody asks for one: a decoder's for writing, also where the
    checkpoint does not say what it was saved from.

    >>> from transformers import BertConfig, LlamaConfig
    >>> own_head(LlamaConfig()), own_head(BertConfig())
    ('causal-lm', None)
    """
    import transformers

    saved_as = [str(name) for name in getattr(config, "architectures", None) or ()]
    if config.is_encoder_decoder or (saved_as and not any(name.endswith(WRITING) for name in saved_as)):
        return None
    reads_both_ways = type(config) in transformers.AutoModelForMaskedLM._model_mapping
    if reads_both_ways and not getattr(config, "is_decoder", False):
        return None
    return "causal-lm" if type(config) in transformers.AutoModelForCausalLM._model_mapping else None


def class_of(config: Any, head: str | None) -> type[PreTrainedModel] | None:
    """The class that a model of this configuration is opened as: the library's with a head, else its bare one, else
    the one that it was saved from; None where the library has none of them.

    >>> from transformers import LlamaConfig
    >>> class_of(LlamaConfig(), None).__name__, class_of(LlamaConfig(), "causal-lm").__name__
    ('LlamaModel', 'LlamaForCausalLM')
    """
    import transformers
    from transformers.models.auto.auto_factory import _get_model_class

    mapping = getattr(transformers, HEADS.get(head or "", "AutoModel"))._model_mapping
    if head == AS_SAVED or type(config) not in mapping:
        return saved_class(config)
    found: type[PreTrainedModel] = _get_model_class(config, mapping)  # type: ignore[no-untyped-call]
    return found


def saved_class(config: Any) -> type[PreTrainedModel] | None:
    """The class of the library that a checkpoint says it was saved from, where it is one of this configuration.

    >>> from transformers import BertConfig
    >>> saved_class(BertConfig(architectures=["BertForMaskedLM"])).__name__, saved_class(BertConfig())
    ('BertForMaskedLM', None)
    """
    import transformers

    names = getattr(config, "architectures", None) or ()
    kinds = [getattr(transformers, str(name), None) for name in names]
    return next((kind for kind in kinds if getattr(kind, "config_class", None) is type(config)), None)


def shrunken(kind: type[PreTrainedModel], config: Any) -> type[PreTrainedModel]:
    """The class itself, or for the configuration of a pruned model (:mod:`attlas.models.pruning`) one whose models
    are made without the heads that were cut. To see which matrices are theirs, a whole model is made and let go.

    >>> from transformers import BertConfig, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> shrunken(BertModel, BertConfig(**small)) is BertModel
    True
    >>> config = BertConfig(**small, attlas_pruned={"kept": {"encoder": [[1]]}, "plain": False})
    >>> shrunken(BertModel, config)(config).encoder.layer[0].attention.self.query
    Linear(in_features=8, out_features=4, bias=True)
    """
    from transformers.initialization import no_init_weights

    if pruning.loads_plainly(config):
        return kind
    with torch.random.fork_rng(devices=[]), no_init_weights():
        made = kind(copy.deepcopy(config))
        for parameter in made.parameters():  # any numbers will do
            parameter.data.uniform_(-0.1, 0.1)
    whole = adopt(kind.__name__, made, None)
    plan = pruning.plan_of(whole.model, whole.layout, probing_inputs(whole.model))

    def make(self: Any, config: Any, *args: Any, **options: Any) -> None:
        kind.__init__(self, config, *args, **options)
        pruning.carry_out(self, plan)

    return type(kind.__name__, (kind,), {"__init__": make, "__module__": kind.__module__})
