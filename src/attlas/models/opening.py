"""Opening a model: its configuration, tokenizer and weights, or one clear sentence about what is wrong.

Only safetensors weights are read and no code from a model's repository is run, unless the user asks for that. The
model is opened on our seam; a family that does not use it is opened with the library's eager attention and watched
through its softmax.
"""

from __future__ import annotations

import copy
import math
import socket
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stderr
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import torch

from attlas.errors import AttlasError, CapabilityError, ModelError, NumberError, first_line
from attlas.models import adapters, bundled, gguf_files, pruning, seam, sites
from attlas.models.devices import known_devices, place_of, require_device
from attlas.models.drawing import draw_in_layers, draw_on
from attlas.models.fingerprints import Mark, fingerprint, marks_of
from attlas.models.inputs import refuse_other_inputs, why_unreadable
from attlas.models.placing import WHOLE, Placing
from attlas.models.quieting import quiet
from attlas.models.streaming import streamed_in, streaming

if TYPE_CHECKING:
    from transformers import PreTrainedModel

HEADS = {
    "masked-lm": "AutoModelForMaskedLM",
    "causal-lm": "AutoModelForCausalLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
    "classification": "AutoModelForSequenceClassification",
    "tagging": "AutoModelForTokenClassification",
}
TOKENIZER_FILES = (
    "tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "tokenizer.model", "source.spm",
    "sentencepiece.bpe.model",
)  # fmt: skip
AS_SAVED = "as saved"  # no head of these, but the class that a checkpoint was saved from
WRITING = ("ForCausalLM", "LMHeadModel")  # how the classes of models end that have such a head
FORMATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


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
    if dtype is not None and dtype not in FORMATS:
        raise CapabilityError(
            f"attention cannot be measured in {_plain(dtype)}; try {', '.join(map(_plain, FORMATS))}"
        )
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
    source = str(folder) if folder is not None else (bundled.HUB if name is None else str(name))
    options: dict[str, Any] = {
        "trust_remote_code": remote_code, "local_files_only": folder is None and not _hub_is_there()
    }  # fmt: skip
    if packed is not None:
        shown, source, options = packed.stem, str(packed.parent), {**options, "gguf_file": packed.name}
    with quiet():
        config = _config(shown, source, options)
        if settings:
            config.update(dict(settings))
        if packed is None:
            placing.check(shown, device, packed=getattr(config, "quantization_config", None) is not None)
        else:  # which does not say what it was saved from, and holds a decoder with its head
            config.architectures = config.architectures or [f"{type(config).__name__[:-6]}ForCausalLM"]
        bare = _class_of(config, None)
        if bare is not None and task_head is None and _own_head(config) is None:
            refuse_other_inputs(shown, bare)
        tokenizer = _tokenizer(shown, source, options)
        weights = {**options, "dtype": dtype or torch.float32, "use_safetensors": None if allow_pickle else True}
        weights["ignore_mismatched_sizes"] = bool(settings)
        read = partial(_weights, shown, source, config, options=weights, placing=placing, device=device)
        head = _own_head(config) if task_head is None else None if task_head == "none" else task_head
        model, missing = read(head)
        if missing and head and task_head is None:  # a head that nobody asked for is had whole or not at all
            head = None
            model, missing = read(None)
        if head is None and _lost(model, missing) and _saved_class(config) not in (None, type(model)):
            head = AS_SAVED  # the bare model goes by other names than its checkpoint
            model, missing = read(head)
        # The weights are read through once, for both uses of their sums; those that are streamed come by below.
        marks = None if placing.stream_layers else marks_of(model)
        _refuse_damaged(shown, model, marks or {})
        model = _place(model, None if placing.places else device)
        _refuse_unseeable(shown, model)
        layout = _layout(model)
        if layout is None or layout.private:
            # Masks for the seam are boolean; a family with a softmax of its own expects the eager kind.
            model = _place(read(head, "eager")[0], None if placing.places else device)
            layout = _layout(model)
        if layout is None:
            raise _unreadable(shown, model)
        _refuse_random(shown, model, missing, layout)
        if marks is None:
            marks = marks_of(model)
            _refuse_damaged(shown, model, marks)
    return Opened(shown, model, tokenizer, layout, fingerprint(model, marks, without=missing), missing)


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
        tokenizer = _tokenizer(shown, str(folder), {}) if own else opened.tokenizer
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
    kind = _class_of(config, _own_head(config) if head in (None, "none") else head)
    if kind is None or not pruning.loads_plainly(config):
        return None
    with quiet(), torch.device("meta"):
        return kind(config)


def read_config(name: str | Path | None = None, *, remote_code: bool = False) -> Any:
    """The configuration of a model by name, without its weights.

    >>> read_config("no/such-model")
    Traceback (most recent call last):
        ...
    attlas.errors.ModelError: no model 'no/such-model': ...
    """
    shown, folder = bundled.resolve(name)
    source = str(folder) if folder is not None else (bundled.HUB if name is None else str(name))
    options = {"trust_remote_code": remote_code, "local_files_only": folder is None and not _hub_is_there()}
    with quiet():
        return _config(shown, source, options)


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
    _refuse_unseeable(name, model)
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
            layout = _layout(model)
            if (layout is None or layout.private) and model.config._attn_implementation != "eager":
                _set_attention(model, "eager")
                layout = _layout(model)
            if layout is None:
                raise _unreadable(name, model)
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


def _layout(model: PreTrainedModel) -> sites.Layout | None:
    """Where a model's attention is, or None where it cannot read a few pieces of text in this way."""
    try:
        return sites.find_sites(model, probing_inputs(model))
    except AttlasError:
        raise
    except Exception:
        return None


def _unreadable(name: str, model: PreTrainedModel) -> CapabilityError:
    """Why a model cannot read a few pieces of text; it is asked once more for its reason."""
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


def _set_attention(model: Any, name: str) -> None:
    """Choose a model's attention; a family that does not go by the library's interface reads its configuration."""
    model.set_attn_implementation(name)
    if model.config._attn_implementation != name:
        for config, _ in attentions(model):
            config._attn_implementation = name


def _refuse_unseeable(name: str, model: Any) -> None:
    """What hides its attention from us, or puts more into it than the text."""
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


def is_compiled(model: torch.nn.Module) -> bool:
    """Whether a model was compiled in place.

    >>> is_compiled(torch.nn.Linear(2, 2))
    False
    """
    return any(getattr(module, "_compiled_call_impl", None) is not None for module in model.modules())


def untrained(name: str, model: PreTrainedModel, tokenizer: Any, seed: int = 0) -> Opened:
    """The same architecture with weights as they are before any training, drawn by the seed: on the device where the
    model is (:func:`~attlas.models.drawing.draw_on`), or on the host where that is the CPU, where the model is spread
    over several devices, was pruned, or has its layers streamed. A device draws other numbers than the host does.

    >>> from transformers import BertConfig, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> tiny = BertModel(BertConfig(**small))
    >>> twins = [untrained("tiny", tiny, None, seed).fingerprint for seed in (7, 7, 8)]
    >>> twins[0] == twins[1], len({*twins, fingerprint(tiny)})
    (True, 3)
    """
    adapted: Any = model
    base = adapted.get_base_model() if hasattr(model, "get_base_model") else model  # below its adapters
    config = copy.deepcopy(base.config)
    if hasattr(config, "quantization_config"):  # random weights are not packed
        del config.quantization_config
    if streamed_in(model) is not None:
        return adopt(f"untrained {name}", draw_in_layers(name, type(base), config, seed, model.dtype), tokenizer)
    place, spread_out = place_of(model), bool(getattr(model, "hf_device_map", {}))
    if place.type != "cpu" and not spread_out and pruning.loads_plainly(config):
        return adopt(f"untrained {name}", draw_on(place, type(base), config, seed, model.dtype), tokenizer)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh = shrunken(type(base), config)(config)
    fresh.__class__ = type(base)
    spread = {
        place: "cpu" if device == "disk" else device for place, device in getattr(model, "hf_device_map", {}).items()
    }
    if set(spread.values()) - {"cpu"}:
        from accelerate import dispatch_model

        return adopt(f"untrained {name}", dispatch_model(fresh.to(dtype=model.dtype), spread), tokenizer)  # type: ignore[call-arg]
    fresh.to(device=place, dtype=model.dtype)  # type: ignore[call-arg]
    return adopt(f"untrained {name}", fresh, tokenizer)


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


def _embedded(model: PreTrainedModel) -> int:
    """How many pieces a model has a vector for."""
    vocabulary = getattr(model.config.get_text_config(), "vocab_size", None)
    rows = getattr(_piece_embeddings(model), "num_embeddings", None)
    known = [int(size) for size in (vocabulary, rows) if size]
    return min(known, default=sites.SOURCE_LENGTH + 1)


def _piece_embeddings(model: PreTrainedModel) -> torch.nn.Module | None:
    """The vectors of a model's pieces; None where it keeps them to itself."""
    try:
        embeddings: torch.nn.Module | None = model.get_input_embeddings()
    except NotImplementedError:
        return None
    return embeddings


def _config(shown: str, source: str, options: dict[str, Any]) -> Any:
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


def _tokenizer(shown: str, source: str, options: dict[str, Any]) -> Any:
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


def _no_tokenizer(shown: str, source: str) -> ModelError:
    return ModelError(
        f"{shown} has no tokenizer: {source} holds none of tokenizer.json, vocab.txt, vocab.json or a SentencePiece "
        "model; put its tokenizer files beside config.json"
    )


def _weights(
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
    checkpoint does not hold (tied ones do not count)."""
    import transformers

    options = {**options, "output_loading_info": True, **placing.loading()}
    seam.register()
    auto = getattr(transformers, HEADS.get(head or "", "AutoModel"))
    if head in HEADS and type(config) not in auto._model_mapping:
        raise CapabilityError(f"{shown} ({type(config).__name__}) has no {head} head; choose another, or none")
    if head in ("classification", "tagging") and config.is_encoder_decoder:
        raise CapabilityError(
            f"{shown} has an encoder and a decoder, and its {head} head reads a text through both; choose a model "
            "that has one of them"
        )
    known = _class_of(config, head)
    if known is not None and (head == AS_SAVED or type(config) not in auto._model_mapping):
        auto = known
    attention = seam.name_for(known, config) if attention is None else attention
    kind = None
    if not pruning.loads_plainly(config):
        if known is None:
            raise ModelError(f"{shown} was pruned, and its family ({type(config).__name__}) is not the library's own")
        kind = known
        auto = shrunken(kind, config)
    if placing.stream_layers:
        kind, auto = known, _streaming(shown, known, config)
        options |= {"device_map": {"": device}} if device not in (None, "cpu") else {}
    bars = redirect_stderr(StringIO()) if "gguf_file" in options else nullcontext()  # which know no other way
    try:
        with bars:
            try:
                model, loading = auto.from_pretrained(
                    source, config=config, attn_implementation=attention, **options
                )  # fmt: skip
            except (ValueError, KeyError) as error:
                if attention == "eager" or "safetensors" in str(error):
                    raise
                model, loading = auto.from_pretrained(source, config=config, attn_implementation="eager", **options)
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
    opened: PreTrainedModel = model.eval()
    if kind is not None:
        opened.__class__ = kind
    return opened, tuple(sorted(loading["missing_keys"]))


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


def _own_head(config: Any) -> str | None:
    """The head that a checkpoint is opened with where nobody asks for one: a decoder's for writing, also where the
    checkpoint does not say what it was saved from."""
    import transformers

    saved_as = [str(name) for name in getattr(config, "architectures", None) or ()]
    if config.is_encoder_decoder or (saved_as and not any(name.endswith(WRITING) for name in saved_as)):
        return None
    reads_both_ways = type(config) in transformers.AutoModelForMaskedLM._model_mapping
    if reads_both_ways and not getattr(config, "is_decoder", False):
        return None
    return "causal-lm" if type(config) in transformers.AutoModelForCausalLM._model_mapping else None


def _class_of(config: Any, head: str | None) -> type[PreTrainedModel] | None:
    """The class that a model of this configuration is opened as: the library's with a head, else its bare one, else
    the one that it was saved from; None where the library has none of them."""
    import transformers
    from transformers.models.auto.auto_factory import _get_model_class

    mapping = getattr(transformers, HEADS.get(head or "", "AutoModel"))._model_mapping
    if head == AS_SAVED or type(config) not in mapping:
        return _saved_class(config)
    found: type[PreTrainedModel] = _get_model_class(config, mapping)  # type: ignore[no-untyped-call]
    return found


def _saved_class(config: Any) -> type[PreTrainedModel] | None:
    """The class of the library that a checkpoint says it was saved from, where it is one of this configuration."""
    import transformers

    names = getattr(config, "architectures", None) or ()
    kinds = [getattr(transformers, str(name), None) for name in names]
    return next((kind for kind in kinds if getattr(kind, "config_class", None) is type(config)), None)


def _lost(model: PreTrainedModel, missing: Collection[str], layout: sites.Layout | None = None) -> list[str]:
    """What a checkpoint must hold and does not: the vectors of pieces, and attention where that is known."""
    body = [*(layout.modules if layout is not None else ()), *filter(None, [_piece_embeddings(model)])]
    needed = {id(tensor) for module in body for tensor in module.parameters()}
    return [name for name, tensor in model.named_parameters() if id(tensor) in needed and name in set(missing)]


def _refuse_random(shown: str, model: PreTrainedModel, missing: Collection[str], layout: sites.Layout) -> None:
    """A head may be missing from a checkpoint; embeddings and attention may not, or random ones would be shown."""
    lost = _lost(model, missing, layout)
    if lost:
        saved_as = ", ".join(getattr(model.config, "architectures", None) or ()) or "another class"
        raise ModelError(
            f"the checkpoint of {shown} (saved as {saved_as}) holds no weights for {len(missing)} tensors of a "
            f"{type(model).__name__}, among them {lost[0]}, which would be random; open it in its own class "
            "yourself, and give the model to Subject.of"
        )


def _refuse_damaged(shown: str, model: PreTrainedModel, marks: Mapping[str, Mark]) -> None:
    """A single bad number spreads through a whole model, or hides where attention does not see it."""
    for name, _ in model.named_parameters():
        if name in marks and not math.isfinite(marks[name].total):
            raise NumberError(f"NaN or infinity in the weights of {shown} ({name}); get an undamaged copy of them")


def _place(model: PreTrainedModel, device: str | None) -> PreTrainedModel:
    try:
        placed: PreTrainedModel = model.to(device) if device else model  # type: ignore[arg-type]
    except (RuntimeError, AssertionError) as error:
        raise ModelError(
            f"the device {device!r} cannot be used: {first_line(error)}; try {known_devices()}"
        ) from error
    return placed


def _plain(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _hub_is_there() -> bool:
    """Whether the hub can be looked up at all; the library would go on trying for half a minute."""
    from huggingface_hub.constants import ENDPOINT

    if getproxies():
        return True
    try:
        socket.getaddrinfo(urlsplit(ENDPOINT).hostname, 443)
    except OSError:
        return False
    return True
