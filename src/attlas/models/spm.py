"""Families that need help: character offsets for tokenizers that are SentencePiece models and nothing more.

Marian's tokenizer has no fast form and reports no offsets, but the SentencePiece model inside does: it says for every
piece which characters it came from, through its own normalisation.
"""

from __future__ import annotations

from typing import Any


def has_spm(tokenizer: Any) -> bool:
    """Whether a tokenizer carries SentencePiece models for source and target.

    >>> has_spm(object())
    False
    """
    return hasattr(tokenizer, "spm_source") and hasattr(tokenizer, "spm_target")


def encode_spm(tokenizer: Any, text: str, *, target: bool) -> tuple[list[int], list[str], list[tuple[int, int]]]:
    """Ids, pieces and their characters, exactly as the tokenizer itself would cut the text, end piece included.

    A language code in front (``>>fr<<``) is one piece without characters.
    """
    code, rest = tokenizer.remove_language_code(text)
    model = tokenizer.spm_target if target else tokenizer.spm_source
    shift = len(text) - len(rest)
    found = model.encode(rest, return_type="offset_mapping")
    pieces = [*code, *found["pieces"], tokenizer.eos_token]
    offsets = [(0, 0)] * len(code) + [(start + shift, stop + shift) for start, stop in found["offsets"]] + [(0, 0)]
    vocabulary = tokenizer.target_encoder if target and tokenizer.separate_vocabs else tokenizer.encoder
    unknown = vocabulary[tokenizer.unk_token]
    return [vocabulary.get(piece, unknown) for piece in pieces], pieces, offsets
