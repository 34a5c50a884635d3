"""Tiny random twins of the families that attlas supports, each made from a config in a few milliseconds.

A twin has the architecture of its family and random weights, spread wide enough that attention is far from uniform.
The tokenizer is a real fast one that knows a few sentences, with the special pieces of BERT or of a causal model.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import pairwise
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

SENTENCES = [
    "The farmer offered apples to the housekeeper, because he had too many of them.",
    "The farmer asked the designer what she was working on.",
    "Playing outside, the children forgot the unbelievable storm of yesterday.",
    "An engineer repaired the old bridge near the station; nobody noticed.",
    "Les enfants mangent des pommes. Der Bauer schläft. 猫は寝る。 Привет, мир! 🙂",
]

_SMALL = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
_ROTARY = {**_SMALL, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 128}

TWINS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("Bert", {**_SMALL, "max_position_embeddings": 128}),
    "roberta": ("Roberta", {**_SMALL, "max_position_embeddings": 132, "pad_token_id": 0}),
    "distilbert": (
        "DistilBert",
        {"dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 128},
    ),
    "albert": ("Albert", {**_SMALL, "embedding_size": 16, "max_position_embeddings": 128}),
    "electra": ("Electra", {**_SMALL, "embedding_size": 16, "max_position_embeddings": 128}),
    "modernbert": (
        "ModernBert",
        {**_SMALL, "local_attention": 8, "global_attn_every_n_layers": 3, "max_position_embeddings": 128},
    ),
    "mpnet": ("MPNet", {**_SMALL, "max_position_embeddings": 132, "pad_token_id": 0}),
    "gpt2": ("GPT2", {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 128}),
    "gpt_neox": ("GPTNeoX", {**_SMALL, "max_position_embeddings": 128}),
    "llama": ("Llama", _ROTARY),
    "mistral": ("Mistral", {**_ROTARY, "sliding_window": 6}),
    "qwen3": ("Qwen3", _ROTARY),
    "gemma3": (
        "Gemma3Text",
        {**_ROTARY, "sliding_window": 6, "layer_types": ["sliding_attention"] * 2 + ["full_attention"]},
    ),
    "gemma2": ("Gemma2", {**_ROTARY, "sliding_window": 6, "attn_logit_softcapping": 5.0}),
    "gpt_oss": (
        "GptOss",
        {
            **_ROTARY,
            "sliding_window": 6,
            "num_local_experts": 2,
            "num_experts_per_tok": 1,
            "layer_types": ["full_attention"] * 3,
        },
    ),
    "gpt_neo": (
        "GPTNeo",
        {
            "hidden_size": 32,
            "num_layers": 3,
            "num_heads": 4,
            "intermediate_size": 48,
            "attention_types": [[["global", "local", "global"], 1]],
            "window_size": 6,
            "max_position_embeddings": 128,
        },
    ),
    "t5": ("T5", {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 3, "num_heads": 4}),
    "bart": (
        "Bart",
        {
            "d_model": 32,
            "encoder_layers": 3,
            "decoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 48,
            "decoder_ffn_dim": 48,
            "max_position_embeddings": 128,
        },
    ),
    "marian": (
        "Marian",
        {
            "d_model": 32,
            "encoder_layers": 3,
            "decoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 48,
            "decoder_ffn_dim": 48,
            "max_position_embeddings": 128,
            "decoder_start_token_id": 0,
        },
    ),
}
CAUSAL = {"gpt2", "gpt_neox", "llama", "mistral", "qwen3", "gemma2", "gemma3", "gpt_oss", "gpt_neo"}
TRANSLATING = {"t5", "bart", "marian"}


@lru_cache
def tokenizer(causal: bool) -> transformers.PreTrainedTokenizerFast:
    """A fast tokenizer that knows the sentences: WordPiece with [CLS] and [SEP], or byte-level BPE.

    Its vocabulary is worked out here, since the library's own trainers break ties differently in every process.
    """
    if causal:
        before: Any = pre_tokenizers.ByteLevel(add_prefix_space=False)
        words = [word for text in SENTENCES for word, _ in before.pre_tokenize_str(text)]
        joined = merges([tuple(word) for word in words], 420 - 256 - 3, least=2)
        alphabet = ["<pad>", "<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
        pieces = [*alphabet, *(one + other for one, other in joined)]
        made = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, joined))
        made.pre_tokenizer, made.decoder = before, decoders.ByteLevel()
        made.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
        )
        return transformers.PreTrainedTokenizerFast(
            tokenizer_object=made, pad_token="<pad>", bos_token="<s>", eos_token="</s>", model_max_length=128
        )
    normal, before = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    words = [word for text in SENTENCES for word, _ in before.pre_tokenize_str(normal.normalize_str(text))]
    cut = [(word[0], *(f"##{letter}" for letter in word[1:])) for word in words]
    letters = sorted({letter for word in cut for letter in word})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    joined = merges(cut, 300 - len(letters) - len(special), least=1)
    pieces = list(dict.fromkeys([*special, *letters, *(one + other.removeprefix("##") for one, other in joined)]))
    made = Tokenizer(models.WordPiece({piece: n for n, piece in enumerate(pieces)}, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normal, before
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=128,
    )


def merges(words: list[tuple[str, ...]], most: int, least: int) -> list[tuple[str, str]]:
    """Neighbours that occur at least so often, joined one pair after the other, the most frequent first; of equals
    the first in the alphabet."""
    made: list[tuple[str, str]] = []
    while len(made) < most:
        counts = Counter(pair for word in words for pair in pairwise(word))
        best = min(counts or [("", "")], key=lambda pair: (-counts[pair], pair))
        if counts[best] < least:
            break
        made.append(best)
        words = [_joined(word, best) for word in words]
    return made


def _joined(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    whole: list[str] = []
    for piece in word:
        if whole and (whole[-1], piece) == pair:
            whole[-1] += piece.removeprefix("##")
        else:
            whole.append(piece)
    return tuple(whole)


def config(family: str) -> transformers.PretrainedConfig:
    """The configuration of a twin."""
    name, options = TWINS[family]
    words = tokenizer(family in CAUSAL)
    ids = {"pad_token_id": words.pad_token_id, "vocab_size": len(words)}
    for special in ("bos_token_id", "eos_token_id"):
        found = getattr(words, special)
        ids[special] = found if found is not None else words.sep_token_id
    if family in TRANSLATING:
        ids["decoder_start_token_id"] = words.pad_token_id
    if family == "modernbert":
        ids["cls_token_id"], ids["sep_token_id"] = words.cls_token_id, words.sep_token_id
    made: transformers.PretrainedConfig = getattr(transformers, f"{name}Config")(**{**ids, **options})
    return made


def model(family: str, seed: int = 0, **kwargs: Any) -> transformers.PreTrainedModel:
    """A twin: the plain architecture with random weights, for the model library's own default head."""
    torch.manual_seed(seed)
    made = transformers.AutoModel.from_config(config(family), **kwargs)
    spread(made)
    return made.eval()


def spread(made: torch.nn.Module) -> None:
    """Scale random matrices up, so that attention is far from uniform and every gate matters."""
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if parameter.dim() == 2 and "embed" not in name:
                parameter.normal_(0, 1.3 / parameter.shape[1] ** 0.5)
                if name.endswith("Attention.q.weight"):  # T5 has no scaling of scores: it is in these weights
                    parameter *= 8**-0.5
            elif "bias" in name:
                parameter.normal_(0, 0.1)
