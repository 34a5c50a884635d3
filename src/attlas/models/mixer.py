"""A tagger without attention of its own: a feed-forward layer, a matrix that mixes words, a linear map to tags.

This is the guided model that Yang asks for: whatever tells words apart by their neighbours must come in through the
mixing matrix, for nothing else in it looks beyond a word. The matrix is put in at the seam by an override. So that
there is a seam, the model has an attention without any parameters: states are their own queries, keys and values,
each head mixes its share of their width, and what it would mix by itself is the softmax of plain products.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attlas.models.adopting import Opened, adopt
from attlas.models.devices import placed_on, require_device
from attlas.models.tagger import TaggerSizes, tagger_config

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


def make_mixer(
    tokenizer: PreTrainedTokenizerFast,
    labels: Sequence[str],
    sizes: TaggerSizes | None = None,
    *,
    seed: int = 0,
    device: str | None = None,
    name: str = "mixer",
) -> Opened:
    """A mixer that has learned nothing, with weights drawn by the seed.

    >>> from attlas.models.tagger import make_word_tokenizer
    >>> made = make_mixer(make_word_tokenizer(["a b a b"]), ["O", "B-NP"], TaggerSizes(width=8, ffn=8))
    >>> list(made.layout.heads.values()), [name for name, _ in made.model.named_parameters()][-2:]
    ([4], ['classifier.weight', 'classifier.bias'])
    """
    from transformers import PreTrainedModel
    from transformers.modeling_outputs import TokenClassifierOutput
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
    from transformers.models.electra.configuration_electra import ElectraConfig

    class Mixing(nn.Module):
        """Heads that mix their share of the states, by weights that are given to them at the seam."""

        is_causal = False

        def __init__(self, config: Any) -> None:
            super().__init__()
            self.config, self.heads = config, config.num_attention_heads

        def forward(self, states: Tensor, seen: Tensor) -> Tensor:
            batch, pieces, width = states.shape
            shared = states.view(batch, pieces, self.heads, -1).transpose(1, 2)
            attend = ALL_ATTENTION_FUNCTIONS[self.config._attn_implementation]
            mask = seen[:, None, None, :].expand(batch, 1, pieces, pieces)
            mixed: Tensor = attend(self, shared, shared, shared, mask, scaling=shared.shape[-1] ** -0.5)[0]
            return mixed.reshape(batch, pieces, width)

    class Mixer(PreTrainedModel):  # type: ignore[no-untyped-call]
        """Embeddings, one feed-forward layer, the mixing, a linear map."""

        config_class = ElectraConfig
        attlas_head = "tagging"
        _supports_sdpa = True
        _supports_attention_backend = True

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.words = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
            self.inner = nn.Linear(config.hidden_size, config.intermediate_size)
            self.outer = nn.Linear(config.intermediate_size, config.hidden_size)
            self.mixing = Mixing(config)
            self.dropout = nn.Dropout(config.classifier_dropout)
            self.classifier = nn.Linear(config.hidden_size, config.num_labels)
            self.post_init()  # type: ignore[no-untyped-call]

        def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any) -> Any:
            seen = torch.ones_like(input_ids) if attention_mask is None else attention_mask
            states = self.outer(self.dropout(torch.relu(self.inner(self.words(input_ids)))))
            logits = self.classifier(self.dropout(self.mixing(states, seen.bool())))
            return TokenClassifierOutput(logits=logits)

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Mixer(tagger_config(tokenizer, labels, sizes or TaggerSizes()))
    return adopt(name, placed_on(model, None if device is None else require_device(device)), tokenizer)
