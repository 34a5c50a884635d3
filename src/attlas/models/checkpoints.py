"""A checkpoint, read part by part: configuration, tokenizer, weights; or one clear sentence about what is wrong.

Weights that a checkpoint must hold and does not are refused, or random ones would be shown; so are weights that are
no numbers.
"""

from __future__ import annotations

import math
import socket
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from attlas.errors import AttlasError, CapabilityError, ModelError, NumberError, first_line
from attlas.models import bundled, pruning, seam, sites
from attlas.models.adopting import piece_embeddings
from attlas.models.classes import AS_SAVED, HEADS, class_of, shrunken
from attlas.models.fingerprints import Mark
from attlas.models.placing import Placing
from attlas.models.streaming import streaming

if TYPE_CHECKING:
    from transformers import PreTrainedModel

TOKENIZER_FILES = (
    "tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "tokenizer.model", "source.spm",
    "sentencepiece.bpe.model",
)  # fmt: skip


def read_configuration(shown: str, source: str, options: dict[str, Any]) -> Any:
    """The configuration of a model.

    >>> read_configuration("nowhere", "no/such-model", {"local_files_only": True})
    Traceback (most recent call last):
        ...
    attlas.errors.ModelError: no model 'nowhere': ...
    """
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(source, **options)
    except Exception as error:
        if "trust_remote_code" in str(error):
            raise ModelError(
                f"{shown} brings code of its own, which is not run unless you allow it (--remote-code)"
            ) from error
        if "gguf_file" in options:
            raise ModelError(f"{shown}: the model library cannot open this gguf file: {first_line(error)}") from error
        if Path(source).is_dir():
            has = (Path(source) / "config.json").exists()
            what = f"its config.json cannot be read ({first_line(error)})" if has else "it has no config.json"
            raise ModelError(f"{source} is not a model folder: {what}; give a folder with all of a model") from error
        raise ModelError(
            f"no model {shown!r}: it is not a folder here, not in {bundled.models_folder().name}, and not on the "
            "hub, or the hub cannot be reached; check the spelling, or give the path of a folder"
        ) from error


def read_tokenizer(shown: str, source: str, options: dict[str, Any]) -> Any:
    """The tokenizer of a model.

    >>> from tempfile import mkdtemp
    >>> read_tokenizer("tiny", mkdtemp(), {})
    Traceback (most recent call last):
        ...
    attlas.errors.ModelError: tiny has no tokenizer: ...
    """
    from transformers import AutoTokenizer

    bare = (
        "gguf_file" not in options
        and Path(source).is_dir()
        and not any((Path(source) / file).exists() for file in TOKENIZER_FILES)
    )
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, **options)
    except Exception as error:
        if bare:
            raise _no_tokenizer(shown, source) from error
        if isinstance(error, ImportError) or "sentencepiece" in str(error):
            raise ModelError(
                f"the tokenizer of {shown} needs a package that is not installed ({first_line(error)}); "
                "pip install 'attlas[marian]' brings sentencepiece"
            ) from error
        raise ModelError(
            f"{shown} has no tokenizer that can be opened ({first_line(error)}); "
            "put its tokenizer files beside config.json"
        ) from error
    fast = getattr(tokenizer, "is_fast", False)  # slow ones may need no files; they are refused by what they are
    if fast and bare:
        raise _no_tokenizer(shown, source)
    return tokenizer


def read_weights(
    shown: str,
    source: str,
    config: Any,
    head: str | None,
    attention: str | None = None,
    *,
    options: dict[str, Any],
    placing: Placing,
    device: str | None,
) -> tuple[PreTrainedModel, tuple[str, ...]]:
    """The model on the seam (or with another ``attention``), and the names of those of its weights that its
    checkpoint does not hold (tied ones do not count).

    >>> read_weights.__name__
    'read_weights'
    """
    options = {**options, "output_loading_info": True, **placing.loading()}
    seam.register()
    known, auto = class_of(config, head), _class_to_call(shown, config, head)
    attention = seam.name_for(known, config) if attention is None else attention
    kind = None if pruning.loads_plainly(config) else known
    if placing.stream_layers:
        kind, auto = known, _streaming(shown, known, config)
        options |= {"device_map": {"": device}} if device not in (None, "cpu") else {}
    bars = redirect_stderr(StringIO()) if "gguf_file" in options else nullcontext()  # which know no other way
    with _weights_told(shown), bars:
        try:
            model, loading = auto.from_pretrained(source, config=config, attn_implementation=attention, **options)
        except (ValueError, KeyError) as error:
            if attention == "eager" or "safetensors" in str(error):
                raise
            model, loading = auto.from_pretrained(source, config=config, attn_implementation="eager", **options)
    opened: PreTrainedModel = model.eval()
    if kind is not None:
        opened.__class__ = kind
    return opened, tuple(sorted(loading["missing_keys"]))


def _class_to_call(shown: str, config: Any, head: str | None) -> Any:
    """What reads a checkpoint with a head: the library's choice by configuration where it has one, else a class."""
    import transformers

    auto = getattr(transformers, HEADS.get(head or "", "AutoModel"))
    chosen = type(config) in auto._model_mapping
    if head in HEADS and not chosen:
        raise CapabilityError(f"{shown} ({type(config).__name__}) has no {head} head; choose another, or none")
    if head in ("classification", "tagging") and config.is_encoder_decoder:
        raise CapabilityError(
            f"{shown} has an encoder and a decoder, and its {head} head reads a text through both; choose a model "
            "that has one of them"
        )
    known = class_of(config, head)
    if pruning.loads_plainly(config):
        return auto if known is None or (chosen and head != AS_SAVED) else known
    if known is None:
        raise ModelError(f"{shown} was pruned, and its family ({type(config).__name__}) is not the library's own")
    return shrunken(known, config)


@contextmanager
def _weights_told(shown: str) -> Iterator[None]:
    """Say in one sentence why weights cannot be read."""
    try:
        yield
    except AttlasError:
        raise
    except Exception as error:
        if isinstance(error, MemoryError) or "allocate memory" in str(error):
            raise ModelError(
                f"{shown} does not fit into memory; stream its layers (--stream-layers), spread it over devices or "
                "the disk (--device-map), or pack it (--quantize)"
            ) from error
        if "safetensors" in str(error):
            raise ModelError(
                f"{shown} has no safetensors weights; convert them, or allow pickled ones (--allow-pickle) "
                "if you trust them"
            ) from error
        raise ModelError(f"the weights of {shown} cannot be opened: {first_line(error)}") from error


def lost(model: PreTrainedModel, missing: Collection[str], layout: sites.Layout | None = None) -> list[str]:
    """What a checkpoint must hold and does not: the vectors of pieces, and attention where that is known.

    >>> from transformers import BertConfig, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> tiny = BertModel(BertConfig(**small))
    >>> lost(tiny, ["embeddings.word_embeddings.weight", "pooler.dense.bias"])
    ['embeddings.word_embeddings.weight']
    """
    body = [*(layout.modules if layout is not None else ()), *filter(None, [piece_embeddings(model)])]
    needed = {id(tensor) for module in body for tensor in module.parameters()}
    return [name for name, tensor in model.named_parameters() if id(tensor) in needed and name in set(missing)]


def refuse_random(shown: str, model: PreTrainedModel, missing: Collection[str], layout: sites.Layout) -> None:
    """A head may be missing from a checkpoint; embeddings and attention may not, or random ones would be shown.

    >>> from transformers import BertConfig, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> tiny = BertModel(BertConfig(**small))
    >>> layout = sites.Layout({}, {}, {}, private=False)
    >>> refuse_random("tiny", tiny, ["embeddings.word_embeddings.weight"], layout)
    Traceback (most recent call last):
        ...
    attlas.errors.ModelError: the checkpoint of tiny (saved as another class) holds no weights for 1 tensors of a ...
    """
    absent = lost(model, missing, layout)
    if absent:
        saved_as = ", ".join(getattr(model.config, "architectures", None) or ()) or "another class"
        raise ModelError(
            f"the checkpoint of {shown} (saved as {saved_as}) holds no weights for {len(missing)} tensors of a "
            f"{type(model).__name__}, among them {absent[0]}, which would be random; open it in its own class "
            "yourself, and give the model to Subject.of"
        )


def refuse_damaged(shown: str, model: PreTrainedModel, marks: Mapping[str, Mark]) -> None:
    """A single bad number spreads through a whole model, or hides where attention does not see it.

    >>> import torch
    >>> from attlas.models.fingerprints import marks_of
    >>> layer = torch.nn.Linear(1, 1)
    >>> _ = layer.bias.data.fill_(float("nan"))
    >>> refuse_damaged("tiny", layer, marks_of(layer))
    Traceback (most recent call last):
        ...
    attlas.errors.NumberError: NaN or infinity in the weights of tiny (bias); get an undamaged copy of them
    """
    for name, _ in model.named_parameters():
        if name in marks and not math.isfinite(marks[name].total):
            raise NumberError(f"NaN or infinity in the weights of {shown} ({name}); get an undamaged copy of them")


def hub_is_there() -> bool:
    """Whether the hub can be looked up at all; the library would go on trying for half a minute.

    >>> hub_is_there() in (True, False)
    True
    """
    from huggingface_hub.constants import ENDPOINT

    if getproxies():
        return True
    try:
        socket.getaddrinfo(urlsplit(ENDPOINT).hostname, 443)
    except OSError:
        return False
    return True


def _streaming(shown: str, kind: type[PreTrainedModel] | None, config: Any) -> Any:
    """The class of a model whose layers are streamed; refused where they cannot be."""
    if config.is_encoder_decoder:
        raise CapabilityError(
            f"{shown} has an encoder and a decoder, and layers are streamed of models that have one of them; open it "
            "without --stream-layers"
        )
    if kind is None or not pruning.loads_plainly(config):
        why = (
            "it was pruned" if kind is not None else f"its family ({type(config).__name__}) is not the library's own"
        )
        raise CapabilityError(f"{shown}: its layers cannot be streamed, for {why}; open it without --stream-layers")
    return streaming(shown, kind)


def _no_tokenizer(shown: str, source: str) -> ModelError:
    return ModelError(
        f"{shown} has no tokenizer: {source} holds none of tokenizer.json, vocab.txt, vocab.json or a SentencePiece "
        "model; put its tokenizer files beside config.json"
    )
