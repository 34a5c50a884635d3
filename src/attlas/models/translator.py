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

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from attlas.errors import PlanError
from attlas.models.opening import Opened, _device, _place, adopt

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


@dataclass(frozen=True)
class Sizes:
    """How large a model is: so many layers on either side, of so many heads and such widths.

    >>> Sizes(width=510)
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: a width of 510 cannot be shared by 4 heads; make it a multiple of them, and even
    """

    layers: int = 6
    heads: int = 4
    width: int = 512
    ffn: int = 1024
    dropout: float = 0.3

    def __post_init__(self) -> None:
        for name in ("layers", "heads", "width", "ffn"):
            if getattr(self, name) < 1:
                raise PlanError(f"a model needs {name} of at least 1, not {getattr(self, name)}")
        if self.width % self.heads or self.width % 2:
            raise PlanError(
                f"a width of {self.width} cannot be shared by {self.heads} heads; make it a multiple of them, and "
                "even"
            )
        if not 0 <= self.dropout < 1:
            raise PlanError(f"dropout is a share from 0 up to 1, not {self.dropout}")

    @property
    def spread(self) -> float:
        """The spread of fresh weights: one through the root of the width, and through the fourth root of twice the
        layers, so that many layers together move a state no further than a few.

        >>> round(Sizes().spread * 512**0.5, 3), round(Sizes(layers=1).spread * 512**0.5, 3)
        (0.537, 0.841)
        """
        return float((2 * self.layers) ** -0.25 * self.width**-0.5)


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

    device = None if device is None else _device(device)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = MarianMTModel(_config(tokenizer, sizes or Sizes()))
    model.generation_config.max_length = tokenizer.model_max_length
    return adopt(name, _place(model, device), tokenizer)


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
