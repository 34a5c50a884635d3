"""A tagger from nothing: one transformer layer over words, of the model library's ELECTRA classes.

This is the model of Yang's chunking study. Every word is one piece, whose embedding, with sines for its position
added, goes into a single layer of four heads; a linear map of what comes out gives the tags. (There, embeddings go
through a linear map first; of embeddings that are learned that makes other embeddings and nothing else.) There are no
special pieces, so that attention is between words alone. Words are told apart without regard to case, digits
are all the same digit, and a word that the training texts have only once is unknown.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from attlas.models.adopting import Opened, adopt
from attlas.models.devices import placed_on, require_device
from attlas.models.sizes import Sizes

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PADDING, UNKNOWN = "[PAD]", "[UNK]"
WINDOW = 512


@dataclass(frozen=True)
class TaggerSizes(Sizes):
    """How large a tagger is.

    >>> TaggerSizes(width=130)
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: a width of 130 cannot be shared by 4 heads; make it a multiple of them, and even
    """

    layers: int = 1
    width: int = 256
    ffn: int = 512
    dropout: float = 0.1


def make_word_tokenizer(texts: Iterable[str], least: int = 2) -> PreTrainedTokenizerFast:
    """A tokenizer whose pieces are the words of texts that are split at blanks; words that occur fewer than ``least``
    times are unknown to it.

    >>> tokenizer = make_word_tokenizer(["The 12 cats", "the 34 dogs"])
    >>> tokenizer.tokenize("THE 56 birds")
    ['the', '00', '[UNK]']
    """
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    spelling = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace(Regex(r"\d"), "0")])
    counts = Counter(word for text in texts for word in spelling.normalize_str(text).split())
    known = sorted(word for word, count in counts.items() if count >= least)
    vocabulary = {word: number for number, word in enumerate([PADDING, UNKNOWN, *known])}
    made: Any = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    made.normalizer = spelling
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=made, pad_token=PADDING, unk_token=UNKNOWN, model_max_length=WINDOW,
        clean_up_tokenization_spaces=False, model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


def make_tagger(
    tokenizer: PreTrainedTokenizerFast,
    labels: Sequence[str],
    sizes: TaggerSizes | None = None,
    *,
    seed: int = 0,
    device: str | None = None,
    name: str = "tagger",
) -> Opened:
    """A tagger that has learned nothing, with weights drawn by the seed.

    >>> made = make_tagger(make_word_tokenizer(["a b a b"]), ["O", "B-NP"], TaggerSizes(width=8, ffn=8))
    >>> list(made.layout.heads.values()), made.model.config.id2label
    ([4], {0: 'O', 1: 'B-NP'})
    """
    from transformers import ElectraForTokenClassification

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = tagger_config(tokenizer, labels, sizes or TaggerSizes())
        model = ElectraForTokenClassification(config)  # type: ignore[no-untyped-call]
    _put_sines(model.electra.embeddings.position_embeddings)
    return adopt(name, placed_on(model, None if device is None else require_device(device)), tokenizer)


def tagger_config(tokenizer: PreTrainedTokenizerFast, labels: Sequence[str], sizes: TaggerSizes) -> Any:
    """The configuration of a tagger of these sizes.

    >>> tagger_config(make_word_tokenizer(["a a"]), ["O", "B-NP"], TaggerSizes()).num_attention_heads
    4
    """
    from transformers import ElectraConfig

    return ElectraConfig(
        vocab_size=len(tokenizer), embedding_size=sizes.width, hidden_size=sizes.width,
        num_hidden_layers=sizes.layers, num_attention_heads=sizes.heads, intermediate_size=sizes.ffn,
        hidden_dropout_prob=sizes.dropout, attention_probs_dropout_prob=0.0, classifier_dropout=sizes.dropout,
        max_position_embeddings=tokenizer.model_max_length, pad_token_id=tokenizer.pad_token_id,
        id2label=dict(enumerate(labels)), label2id={label: number for number, label in enumerate(labels)},
        type_vocab_size=1, hidden_act="relu",
    )  # fmt: skip


def _put_sines(positions: Any) -> None:
    """Sines and cosines of falling frequency in place of learned positions, which stay as they are."""
    places, width = positions.weight.shape
    frequencies = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000) / width))
    angles = torch.arange(places)[:, None] * frequencies
    with torch.no_grad():
        positions.weight[:, 0::2], positions.weight[:, 1::2] = angles.sin(), angles.cos()
    positions.weight.requires_grad_(False)
