"""The text families of the model library, by name: a frozen list, ``families.txt``.

Each line holds a model type and the class that is built for it: the one that writes for a decoder or an
encoder-decoder, the plain model for an encoder. The list was made by :func:`current` from the auto mappings for
causal, masked and sequence-to-sequence language models and for text encoding, from the text parts (``*_text``) of
models of several kinds of input, and from a few readers of text that have a plain model alone (:data:`ALONE`). It
is kept as a file so that what is counted does not change unseen: ``python -m tools.sweep --new`` names what the
installed library has beside it.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, NamedTuple

FROZEN = Path(__file__).with_name("families.txt")

# Readers of text that have neither a head for writing nor one for masked words in the auto mappings.
ALONE = (
    "bros", "canine", "diffusion_gemma", "dpr", "flava_text_model", "layoutlmv3", "lilt", "markuplm", "mistral4",
    "openai_privacy_filter", "splinter", "step3p5", "t5gemma2_encoder", "udop", "visual_bert",
)  # fmt: skip

# Called *_text, and made for sound or pictures.
OTHER = ("kyutai_speech_to_text", "qwen3_omni_moe_talker_text", "sam3_lite_text", "speech_to_text")

# Of these the part that writes is built, since the whole needs packages for pictures.
PARTS = {"gemma3n": "Gemma3nForCausalLM"}


class Family(NamedTuple):
    """A model type of the library, and the name of the class that is built."""

    kind: str
    model: str


def frozen() -> list[Family]:
    """The families of the list."""
    lines = FROZEN.read_text(encoding="utf-8").splitlines()
    return [Family(*line.split()) for line in lines if line and not line.startswith("#")]


def current() -> list[Family]:
    """The families that the installed library has, by the rule that made the list."""
    from transformers import CONFIG_MAPPING
    from transformers.models.auto import modeling_auto as auto

    causal, masked = auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    translating, encoding = (
        auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        auto.MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES,
    )
    plain = auto.MODEL_MAPPING_NAMES
    families = []
    name: Any
    for kind in sorted(CONFIG_MAPPING.keys()):
        if kind in PARTS:
            name = PARTS[kind]
        elif kind in translating:
            name = translating[kind]
        elif kind in causal and kind not in masked:
            name = causal[kind]
        elif kind in masked or kind in encoding or kind in ALONE or (kind.endswith("_text") and kind not in OTHER):
            name = encoding.get(kind) or plain.get(kind) or masked.get(kind) or _own_model(CONFIG_MAPPING[kind])
        else:
            continue
        name = name[0] if isinstance(name, (tuple, list)) else name
        if name is not None:
            families.append(Family(kind, name))
    return families


def config_class(family: Family) -> Any:
    """The configuration class of a family's model, which may be that of the text part of the type's own."""
    from transformers import CONFIG_MAPPING

    own = CONFIG_MAPPING[family.kind]
    parts = getattr(own, "sub_configs", {}).values()
    built = getattr(model_class(family), "config_class", None)
    return built if built in parts else own


def model_class(family: Family) -> Any:
    """The class that is built."""
    import transformers
    from transformers import CONFIG_MAPPING

    known = getattr(transformers, family.model, None)
    return known if known is not None else getattr(_modeling(CONFIG_MAPPING[family.kind]), family.model)


def _own_model(config: Any) -> str | None:
    """The plain model that is made from a configuration which no mapping names."""
    module = _modeling(config)
    for name, value in vars(module).items() if module is not None else ():
        own = isinstance(value, type) and value.__module__ == module.__name__
        if own and name.endswith("Model") and "PreTrained" not in name and value.config_class is config:
            return str(name)
    return None


def _modeling(config: Any) -> Any:
    name = config.__module__.replace(".configuration_", ".modeling_")
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
