"""A tiny model of any class, from a configuration: rules over names of fields, and a table of exceptions.

A configuration is taken, the one that a real model has or the default of its family, and every field whose name says
what it counts gets a small number: widths, layers, heads, experts, pieces, positions. Windows, chunks and the *k* of
sparse attention get so few pieces that a text of two dozen is longer than any of them. Lists with an entry per layer
are cut so that every kind of layer that was there still is. What these rules get wrong stands in :data:`SPECIAL`, by
family, as data.

Weights are *spread*: matrices so large that rows of attention are far from uniform and every head matters, norms near
one, biases away from nought. The doctor proves the class of a model on such a twin (:mod:`attlas.capture.tiny`), and
``make sweep`` asks every family of the library by one.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

VOCABULARY, POSITIONS = 200, 256
HIDDEN, INNER, HEADS, WIDTH, LAYERS = 32, 48, 4, 8, 3
PAD, BOS, EOS = 0, 1, 2

# Field by name (the whole of it), and what it becomes; the first that fits holds. Only numbers are changed, and a
# field that is None stays None. What must fit each other becomes just that number, however small it was; all else
# becomes that number at most.
FITTING: tuple[tuple[str, int | None], ...] = (
    (r".*type_vocab_size|sentence_types", None),
    (r".*vocab_size|vocab_size.*|n_vocab", VOCABULARY),
    (r"hidden_size|d_model|n_embd|dim|emb_dim|embed_dim|model_dim|true_hidden_size|intra_bottleneck_size|d_embed"
     r"|projection_dim|output_dim|embedding_dim|width|cross_attention_hidden_size|backbone_hidden_size"
     r"|adapter_hidden_size|lru_width", HIDDEN),
    (r"num_attention_heads|n_heads?|num_heads|(encoder|decoder)_attention_heads|num_(encoder|decoder)_attention_heads"
     r"|num_attention_groups|swa_num_attention_heads|sliding_num_attention_heads", HEADS),
    (r"head_dim|attention_head_size|d_kv|kv_channels|d_head|attention_head_dim|qk_rope_head_dim|qk_nope_head_dim"
     r"|v_head_dim|index_head_dim|.*(key|value)_head_dim|swa_(v_)?head_dim|global_head_dim|nope_head_dim|rotary_dim"
     r"|kda_head_dim|linear_head_dim|rope_head_dim", WIDTH),
    (r"qk_head_dim", 2 * WIDTH),
)  # fmt: skip
AT_MOST: tuple[tuple[str, int], ...] = (
    (r"max_position_embeddings|n_positions|n_ctx|max_(source|target)_positions|max_seq_len|max_sequence_length"
     r"|seq_length"
     r"|max_encoder_position_embeddings|max_decoder_position_embeddings|max_positions|model_max_length", POSITIONS),
    (r"embedding_size|d_embed_proj|hidden_size_per_layer_input", HIDDEN // 2),
    (r".*intermediate_size.*|.*ffn_dim|d_ff|n_inner|ffn_hidden_size|hidden_dim|ffn_size|d_inner|mlp_dim|dim_ff"
     r"|block_ff_dim|block_dim|feed_forward_size|.*intermediate_dim", INNER),
    (r"num_hidden_layers|n_layers?|num_layers|num_encoder_layers|encoder_layers|num_blocks", LAYERS),
    (r"num_decoder_layers|decoder_layers|text_decoder_layers", LAYERS - 1),
    (r"q_lora_rank|kv_lora_rank|o_lora_rank|.*_rank", HIDDEN // 2),
    (r".*num_key_heads|index_n_heads|index_num_heads", 2),
    (r".*num_value_heads", HEADS),
    (r"n_groups?|topk_group|num_expert_group.*|mamba_n_groups|mamba_ngroups|num_key_groups|n_expert_groups?"
     r"|o_groups", 1),
    (r"num_experts|num_local_experts|n_routed_experts|moe_num_experts|n_experts|num_routed_experts|moe_n_experts", 4),
    (r"num_experts_per_tok|num_experts_per_token|moe_k|moe_topk|top_k_experts|moe_top_k|num_selected_experts"
     r"|num_experts_top_k|moe_router_topk|n_activated_experts", 2),
    (r"n_shared_experts|num_shared_experts|moe_num_shared_experts|zero_expert_num|first_k_dense_replace"
     r"|moe_layer_start_index|num_dense_layers|num_hash_layers|n_hash_layers|num_shared_expert", 1),
    (r"sliding_window|sliding_window_size|window_size|local_attention|attention_window|swa_window_size|window"
     r"|attention_window_size|local_window_size|attn_window_size", 6),
    (r"local_radius", 3),
    (r"attention_chunk_size|chunk_length|local_chunk_length|lsh_attn_chunk_length|local_attn_chunk_length|chunk_size"
     r"|mamba_chunk_size|ssm_chunk_size", 8),
    (r"index_topk|index_top_k|topk|keep_window_size|sparse_topk", 4),
    (r"block_size|index_block_size|global_block_size|sparse_block_size|index_topk_blocks|num_random_blocks_", 2),
    (r"num_random_blocks|index_local_blocks", 1),
    (r"mamba_d_state|ssm_state_size|state_size|mamba_state_dim|d_state|mamba_dstate", WIDTH),
    (r"mamba_d_ssm", 2 * HIDDEN),
    (r"mamba_(n|num)_heads|mamba_num_attention_heads|n_mamba_heads|mamba_n_head", HEADS),
    (r"mamba_d_head|mamba_head_dim|mamba_headdim", 2 * HIDDEN // HEADS),
    (r"time_step_rank|mamba_dt_rank|dt_rank", 4),
    (r"image_size", 32),
)  # fmt: skip
KEYS = (
    r"num_key_value_heads|num_kv_heads|n_head_kv|num_key_value_head|multi_query_group_num|kv_n_heads"
    r"|.*_num_key_value_heads"
)
PIECES = {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS, "decoder_start_token_id": PAD}
TURNED = ("partial_rotary_factor", "rotary_pct")
LAYER_COUNTS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers")

# What the rules get wrong, by family: fields of its configuration (``text_config.x`` reaches into a part).
_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
_SECTIONS = {"rope_parameters": {**_ROPE, "mrope_section": [2, 1, 1], "partial_rotary_factor": 1.0}}
_TWO_ROPES = {"full_attention": _ROPE, "sliding_attention": _ROPE}
_HYBRID = ["linear_attention", "full_attention", "linear_attention"]
_ZAMBA = ["linear_attention", "hybrid", "linear_attention", "hybrid"]
_GEMMA3N = {
    "num_hidden_layers": 4, "num_kv_shared_layers": 2, "intermediate_size": [INNER] * 4,
    "layer_types": ["sliding_attention", "full_attention"] * 2, "activation_sparsity_pattern": [0.95, 0.95, 0.0, 0.0],
}  # fmt: skip
_DIFFUSION = {"global_head_dim": 2 * WIDTH, "num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": INNER}
_INDEXER = {
    "indexer_n_heads": 2, "indexer_kv_heads": 1, "indexer_head_dim": WIDTH, "indexer_budget": 4,
    "indexer_compress_ratio": 2,
}  # fmt: skip
SPECIAL: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [1]},
    "blt": {"num_hidden_layers": LAYERS, "encoder_hash_byte_group_vocab": 64,
            "encoder_config.hidden_size_global": HIDDEN, "decoder_config.hidden_size_global": HIDDEN},
    "cohere_compass_text": {"rope_parameters": _TWO_ROPES,
                            "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
    "deepseek_ocr2_text": {"num_experts_per_tok": 2, "mlp_layer_types": ["dense", "sparse", "sparse"]},
    "deepseek_v2": {"num_experts_per_tok": 2},
    "diffusion_gemma": {f"text_config.{name}": value for name, value in _DIFFUSION.items()},
    "diffusion_gemma_text": _DIFFUSION,
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2, "max_window_layers": 1,
              "layer_types": ["full_attention", "sliding_attention", "sliding_attention"]},
    "embedding_gemma2_text": {"global_head_dim": 2 * WIDTH},
    "ernie4_5_vl_moe_text": {"rope_parameters": {**_ROPE, "mrope_section": [1, 1, 2]},
                             "moe_intermediate_size": [INNER, INNER // 2]},
    "falcon_h1": {"mamba_d_ssm": HIDDEN},
    "gemma3n": _GEMMA3N,
    "gemma3n_text": _GEMMA3N,
    "gemma4": {"text_config.global_head_dim": 2 * WIDTH},
    "gemma4_assistant": {"text_config.global_head_dim": 2 * WIDTH, "text_config.num_kv_shared_layers": LAYERS},
    "gemma4_text": {"global_head_dim": 2 * WIDTH},
    "gemma4_unified": {"text_config.global_head_dim": 2 * WIDTH},
    "gemma4_unified_assistant": {"text_config.global_head_dim": 2 * WIDTH,
                                 "text_config.num_kv_shared_layers": LAYERS},
    "gemma4_unified_text": {"global_head_dim": 2 * WIDTH},
    "glm4v_moe_text": _SECTIONS,
    "glm4v_text": _SECTIONS,
    "glm5_next_text": {"index_kpool": 2},
    "glm_image_text": _SECTIONS,
    "glm_ocr_text": _SECTIONS,
    "granitemoehybrid": {"layer_types": _HYBRID},
    "hrm_text": {"num_layers_per_stack": None, "num_hidden_layers": 1},
    "hunyuan_v1_dense": {"head_dim": WIDTH},
    "hunyuan_v1_moe": {"head_dim": WIDTH},
    "hunyuan_vl_text": {"head_dim": WIDTH, "rope_parameters": {**_ROPE, "mrope_section": [1, 1, 1, 1]}},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "layoutlmv3": {"coordinate_size": 6, "shape_size": 4},
    "lfm2_moe": {"layer_types": ["conv", "full_attention", "conv"]},
    "lilt": {"hidden_size": 48},
    "mamba2": {"num_heads": 8},
    "minimax_m3_vl_text": {"layer_types": ["full_attention", "minimax_m3_sparse", "minimax_m3_sparse"]},
    "ministral": {"head_dim": WIDTH},
    "mistral4": {"head_dim": 2 * WIDTH},
    "musicgen": {"num_codebooks": 1},
    "musicgen_melody": {"num_codebooks": 1},
    "nemo_speechlm": {"audio_config.diarization_config.chunk_length": 500,
                      "audio_config.diarization_config.head_config.audio_hidden_size": HIDDEN},
    "neomme": {"rope_parameters": {"full_attention": {**_ROPE, "partial_rotary_factor": 0.5},
                                   "sliding_attention": {**_ROPE, "partial_rotary_factor": 1.0}}},
    "paddleocr_vl_text": _SECTIONS,
    "qwen2_5_omni_text": _SECTIONS,
    "qwen2_5_vl_text": _SECTIONS,
    "qwen2_vl_text": _SECTIONS,
    "qwen4_exp": _INDEXER,
    "qwen4_exp_text": _INDEXER,
    "reformer": {"axial_pos_embds_dim": [8, 24], "axial_pos_shape": [16, 16], "hash_seed": 0, "num_buckets": 4},
    "rwkv": {"attention_hidden_size": HIDDEN},
    "squeezebert": {"embedding_size": HIDDEN},
    "step3p5": {"sliding_window": 6, "rope_parameters": _TWO_ROPES, "num_sliding_attention_heads": HEADS,
                "layer_types": ["full_attention", "sliding_attention", "full_attention"]},
    "vibevoice_asr": {
        f"{part}_tokenizer_encoder_config.{name}": value
        for part in ("acoustic", "semantic")
        for name, value in {"num_filters": 2, "depths": [1] * 7}.items()
    },
    "xlstm": {"num_heads": 2, "hidden_size": 128, "embedding_dim": 128},
    "xmod": {"default_language": "en_XX"},
    "zamba": {"num_hidden_layers": 4, "layers_block_type": _ZAMBA, "attention_hidden_size": 2 * HIDDEN,
              "attention_head_dim": 2 * HIDDEN // HEADS},
    "zamba2": {"num_hidden_layers": 4, "layers_block_type": _ZAMBA, "hybrid_layer_ids": [1, 3],
               "attention_hidden_size": 2 * HIDDEN, "attention_head_dim": 2 * HIDDEN // HEADS,
               "num_query_groups": HEADS, "mamba_headdim": 2 * HIDDEN // HEADS},
}  # fmt: skip


NEVER = {"transformers_version", "model_type", "architectures", "_name_or_path", "id2label", "label2id", "dtype",
         "output_attentions", "output_hidden_states", "return_dict", "problem_type", "per_layer_config",
         "quantization_config", "attlas_pruned"}  # fmt: skip


def tiny(model: PreTrainedModel, seed: int = 0) -> PreTrainedModel:
    """A tiny model of the same class, from the same configuration made small, with spread weights; of one with
    adapters, of the class below them.

    >>> from transformers import LlamaConfig, LlamaModel
    >>> large = LlamaConfig(hidden_size=64, intermediate_size=96, num_hidden_layers=9, num_attention_heads=8)
    >>> twin = tiny(LlamaModel(large))
    >>> type(twin).__name__, twin.config.num_hidden_layers, twin.config.num_attention_heads
    ('LlamaModel', 3, 4)
    """
    from transformers import GenerationConfig

    adapted: Any = model
    base = adapted.get_base_model() if hasattr(model, "get_base_model") else model
    twin = drawn(type(base), shrunk(base.config), seed)
    if twin.can_generate():  # which suppresses or forces no pieces that a tiny vocabulary does not have
        twin.generation_config = GenerationConfig(**PIECES)  # type: ignore[no-untyped-call]
    return twin


def drawn(
    kind: Any, config: Any, seed: int = 0, *, attention: str | None = None, dtype: torch.dtype = torch.float32
) -> PreTrainedModel:
    """A model of a class and configuration with spread weights, ready to read; the same weights for the same seed,
    whatever its attention.

    >>> from transformers import BertConfig, BertModel
    >>> model = drawn(BertModel, shrunk(BertConfig()), attention="eager")
    >>> model.training, sum(parameter.numel() for parameter in model.parameters()) < 50_000
    (False, True)
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        options = {} if attention is None else {"attn_implementation": attention}
        model: PreTrainedModel = kind._from_config(config, dtype=dtype, **options)
        spread(model, seed)
    model.train(False)
    return model


def with_attention(model: Any, attention: str) -> Any:
    """Another model of the same class, configuration and weights, with the library's own attention of that name.

    >>> from transformers import BertConfig, BertModel
    >>> model = drawn(BertModel, shrunk(BertConfig()))
    >>> eager = with_attention(model, "eager")
    >>> model.config._attn_implementation, eager.config._attn_implementation
    ('sdpa', 'eager')
    """
    config = copy.deepcopy(model.config)
    other = type(model)._from_config(config, attn_implementation=attention, dtype=model.dtype)
    other.load_state_dict(model.state_dict())
    for (_, theirs), (_, ours) in zip(other.named_buffers(), model.named_buffers(), strict=True):
        theirs.data.copy_(ours)  # those that no state holds, where they are drawn
    if other.can_generate():
        other.generation_config = copy.deepcopy(model.generation_config)
    return other.eval()


def words(texts: Iterable[str], inputs: Iterable[str] = ("input_ids", "attention_mask")) -> PreTrainedTokenizerFast:
    """A fast tokenizer of whole words that knows these texts, with so many pieces as a tiny model; ``inputs`` are
    those that it makes.

    >>> words(["The farmer slept."]).tokenize("the farmer SLEPT soundly")
    ['the', 'farmer', 'slept', '<unk>']
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    split = pre_tokenizers.Whitespace()
    special = {"pad": "<pad>", "bos": "<s>", "eos": "</s>", "unk": "<unk>", "mask": "<mask>"}
    known = [word for text in texts for word, _ in split.pre_tokenize_str(text.lower())]
    pieces = list(dict.fromkeys([*special.values(), *known]))[:VOCABULARY]
    pieces += [f"w{number}" for number in range(len(pieces), VOCABULARY)]
    cutter = Tokenizer(models.WordLevel({piece: n for n, piece in enumerate(pieces)}, unk_token="<unk>"))
    cutter.normalizer, cutter.pre_tokenizer = normalizers.Lowercase(), split
    cutter.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", BOS), ("</s>", EOS)]
    )
    named: dict[str, Any] = {f"{name}_token": piece for name, piece in special.items()}
    named |= {"cls_token": "<s>", "sep_token": "</s>", "model_max_length": POSITIONS - 2}
    fast: Any = PreTrainedTokenizerFast
    tokenizer: PreTrainedTokenizerFast = fast(tokenizer_object=cutter, model_input_names=list(inputs), **named)
    return tokenizer


def spread(model: torch.nn.Module, seed: int = 0) -> None:
    """Draw weights that make attention far from uniform and every head matter.

    >>> layer = torch.nn.Linear(64, 64)
    >>> spread(layer)
    >>> round(float(layer.weight.detach().std() * 64**0.5), 1)
    1.3
    """
    draw = torch.Generator().manual_seed(seed)

    def normal(parameter: torch.Tensor, mean: float, scale: float) -> None:
        numbers = torch.randn(parameter.shape, generator=draw, dtype=torch.float32)
        parameter.copy_((numbers * scale + mean).to(parameter.dtype))

    fixed = {id(p) for m in model.modules() if "Sinusoidal" in type(m).__name__ for p in m.parameters()}
    embeddings = {id(m.weight) for m in model.modules() if isinstance(m, torch.nn.Embedding)}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            last = name.rsplit(".", 1)[-1]
            if (
                id(parameter) in fixed
                or not parameter.is_floating_point()
                or re.search(r"A_log|dt_bias|\.D$|time_|a_param|lambda", name)
            ):
                continue
            if id(parameter) in embeddings:
                normal(parameter, 0.0, 0.7)
            elif parameter.dim() >= 2 and "conv" not in name:
                fan = (
                    parameter.shape[-2]
                    if parameter.dim() == 3 or _keeps_inputs_first(model, name)
                    else parameter.shape[-1]
                )
                scale = 1.3 / fan**0.5
                normal(parameter, 0.0, scale * WIDTH**-0.5 if re.search(r"Attention\.q\.weight$", name) else scale)
            elif last == "bias" or last.endswith("_bias"):
                normal(parameter, 0.0, 0.1)
            elif (parameter.dim() == 1 and "norm" in name.lower()) or (last == "weight" and parameter.dim() == 1):
                normal(parameter, float(parameter.float().mean().round()), 0.1)
            elif last == "sinks":
                normal(parameter, 0.0, 1.0)


def _keeps_inputs_first(model: torch.nn.Module, name: str) -> bool:
    return type(model.get_submodule(name.rpartition(".")[0])).__name__ == "Conv1D"


def shrunk(config: Any, special: Mapping[str, Any] | None = None) -> Any:
    """A configuration of the same class, made small; ``special`` are fields that the rules get wrong, if they are
    not those of :data:`SPECIAL`.

    >>> from transformers import MistralConfig
    >>> small = shrunk(MistralConfig(sliding_window=4096, num_key_value_heads=8))
    >>> small.sliding_window, small.num_hidden_layers, small.num_key_value_heads
    (6, 3, 2)
    """
    known = SPECIAL.get(config.model_type, {}) if special is None else special
    return type(config)(**_fields(config, known))


def _fields(config: Any, special: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a configuration, made small."""
    parts = getattr(type(config), "sub_configs", {})
    given = config.to_dict()
    depth = next((given[name] for name in LAYER_COUNTS if isinstance(given.get(name), int)), 0)
    deeper = [value for value in given.values() if isinstance(value, list) and len(value) == depth > LAYERS]
    kinds = max((len({str(kind) for kind in value}) for value in deeper), default=0)
    layers = max(LAYERS, kinds if kinds <= 6 else 0)
    fields: dict[str, Any] = {}
    for name, value in given.items():
        if name in NEVER:
            continue
        part = vars(config).get(name)
        if name in parts or hasattr(part, "to_dict"):
            own = {key.partition(".")[2]: v for key, v in special.items() if key.startswith(f"{name}.")}
            if part is not None:
                fields[name] = type(part)(**_fields(part, own))
            continue
        fields[name] = _small(name, value, given, depth, layers)
    if config.is_encoder_decoder:
        fields["decoder_start_token_id"] = PAD
    return fields | {name: value for name, value in special.items() if "." not in name}


def _small(name: str, value: Any, given: Mapping[str, Any], depth: int, layers: int) -> Any:
    if name in PIECES:
        if isinstance(value, list):
            return [PIECES[name]]
        return PIECES[name] if value is not None or name == "pad_token_id" else None
    if re.fullmatch(r".*token_(id|index)|.*_token_ids?", name) and isinstance(value, int):
        return None if name.startswith("forced") else VOCABULARY - 1 - sum(map(ord, name)) % 20
    if isinstance(value, list) and depth and len(value) == depth:
        return _every_kind(value, layers)
    if name in ("rope_parameters", "rope_scaling") and isinstance(value, dict):
        return _rope(value)
    if name in TURNED and isinstance(value, float):
        return _quarters(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    if re.fullmatch(KEYS, name):
        return (
            HEADS
            if value == next((given[n] for n in ("num_attention_heads", "n_head", "n_heads") if n in given), None)
            else min(2, value)
        )
    if value <= 0:
        return value
    for pattern, number in FITTING:
        if re.fullmatch(pattern, name):
            return value if number is None else number
    if name in LAYER_COUNTS:
        return layers
    return min([value, *(number for pattern, number in AT_MOST if re.fullmatch(pattern, name))][:2])


def _rope(value: dict[str, Any]) -> dict[str, Any]:
    """Rotary parameters: what has an entry for parts of a head's width is made to fit; the rest stays."""
    small: dict[str, Any] = {}
    turned = int(WIDTH * _quarters(value.get("partial_rotary_factor", 1.0))) // 2
    for name, entry in value.items():
        if isinstance(entry, dict):
            small[name] = _rope(entry)
        elif name == "mrope_section":
            small[name] = [WIDTH // 4, WIDTH // 8, WIDTH // 8]
        elif name in ("short_factor", "long_factor"):
            small[name] = entry[:turned]
        elif name in TURNED and isinstance(entry, float):
            small[name] = _quarters(entry)
        else:
            small[name] = entry
    return small


def _quarters(part: float) -> float:
    """The part of a head that is turned by positions, so that it is an even number of a tiny head's few."""
    return max(1, round(4 * part)) / 4


def _every_kind(value: list[Any], layers: int) -> list[Any]:
    """So many entries of a list, with each kind that is in it, in the order in which they first come."""
    kinds = list(dict.fromkeys(map(str, value)))
    first = [value[[str(v) for v in value].index(kind)] for kind in kinds]
    if len(first) >= layers:
        return first[:layers]
    return [*first, *(first[at % len(first)] for at in range(layers - len(first)))]
