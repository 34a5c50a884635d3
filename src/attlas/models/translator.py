"""A translation model from nothing: an encoder-decoder of the model library's Marian classes with fresh weights.

Its shape is that of the study of Kobayashi et al.: layers normalised after their sum, positions as sines, and one
matrix of embeddings for both languages and for the output.

Weights are drawn with less than the usual spread of one through the root of the width, and the less the more layers
there are. With the whole of it, each layer's attention, which is even at first, adds as much of the average of all
pieces as there was of each piece, and after six layers all pieces of a sentence are alike (a mean cosine of .97
between them). Training does not find its way out of that: such a model learns to translate bags of words, and its
cross attention stays even. The spread stands in the configuration, so that an untrained twin of the model is drawn in
the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from attlas.models.adopting import Opened, adopt
from attlas.models.devices import placed_on, require_device
from attlas.models.sizes import Sizes

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


def make_translator(
    tokenizer: PreTrainedTokenizerFast,
    sizes: Sizes | None = None,
    *,
    seed: int = 0,
    device: str | None = None,
    name: str = "translator",
) -> Opened:
    """A model that has learned nothing, with weights drawn by the seed.

    >>> from attlas.models.subwords import make_tokenizer
    >>> pieces = make_tokenizer(["das Haus", "das Haus"], ["the house", "the house"], 40)
    >>> made = make_translator(pieces, Sizes(layers=2, heads=2, width=8, ffn=16))
    >>> len(made.layout.heads), type(made.model).__name__
    (6, 'MarianMTModel')
    """
    from transformers import MarianMTModel

    device = None if device is None else require_device(device)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = MarianMTModel(_config(tokenizer, sizes or Sizes()))
    model.generation_config.max_length = tokenizer.model_max_length
    return adopt(name, placed_on(model, device), tokenizer)


def _config(tokenizer: Any, sizes: Sizes) -> Any:
    from transformers import MarianConfig

    return MarianConfig(
        vocab_size=len(tokenizer), d_model=sizes.width, init_std=sizes.spread, dropout=sizes.dropout,
        encoder_layers=sizes.layers, encoder_attention_heads=sizes.heads, encoder_ffn_dim=sizes.ffn,
        decoder_layers=sizes.layers, decoder_attention_heads=sizes.heads, decoder_ffn_dim=sizes.ffn,
        activation_function="relu", scale_embedding=True, max_position_embeddings=tokenizer.model_max_length,
        pad_token_id=tokenizer.pad_token_id, bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id, forced_eos_token_id=None,
        decoder_start_token_id=tokenizer.bos_token_id,
    )  # fmt: skip
