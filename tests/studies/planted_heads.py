"""Models whose heads were written by hand: each does one thing, and we know which.

A model of one or two layers without feed-forward parts or norms to speak of. Its residual has room for a piece's own
vector (one coordinate for each piece), for the vector of the piece before (written by the previous-piece head of the
first layer), and for places (one coordinate for each place). A head reads what it needs by matrices of zeros and
ones, sharpened so that its weight is all but 1 where it looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

from attlas.capture import Subject

PIECES, PLACES = 60, 64
BEGIN = 0
SHARP = 60.0
LAYERS = ("previous", "duplicate", "sink", "even"), ("induction", "sink", "copying", "even")
WHERE = {"previous": (0, 0), "duplicate": (0, 1), "sink": (0, 2), "induction": (1, 0), "copying": (1, 2)}


def tokenizer() -> Any:
    """A word for each piece, the first of which begins a text."""
    words = {"<s>": BEGIN, **{f"w{number}": number for number in range(1, PIECES)}}
    made = Tokenizer(models.WordLevel(words, unk_token="w1"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", unk_token="w1")


@dataclass
class Rooms:
    """Where things stand in the residual: the piece, the piece before, and the place."""

    piece: int = 0
    before: int = PIECES
    place: int = 2 * PIECES
    width: int = 2 * PIECES + PLACES


def planted(layers: tuple[tuple[str, ...], ...] = LAYERS) -> Subject:
    """The model, of four heads a layer, as wide as the residual each."""
    rooms, heads = Rooms(), 4
    width = rooms.width
    config = transformers.GPT2Config(
        vocab_size=PIECES, n_positions=PLACES, n_embd=heads * width, n_layer=len(layers), n_head=heads, n_inner=4,
        bos_token_id=BEGIN, eos_token_id=BEGIN, tie_word_embeddings=False, attn_pdrop=0.0, embd_pdrop=0.0,
        resid_pdrop=0.0,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        body: Any = model.transformer
        for piece in range(PIECES):
            body.wte.weight[piece, rooms.piece + piece] = 1.0
            model.lm_head.weight[piece, rooms.piece + piece] = 1.0
        for place in range(PLACES):
            body.wpe.weight[place, rooms.place + place] = 1.0
        for block, roles in zip(body.h, layers, strict=True):
            for norm in (block.ln_1, block.ln_2):
                norm.weight.fill_(1.0)
            for head, role in enumerate(roles):
                write(block.attn, head, role, rooms, heads)
        body.ln_f.weight.fill_(1.0)
    return Subject.of(model, tokenizer(), "planted")


def write(attention: Any, head: int, role: str, rooms: Rooms, heads: int) -> None:
    """Queries, keys, values and output of one head. ``c_attn`` holds (in, out) with queries, keys and values side by
    side; all heads' room in the residual is ``heads`` times what is used of it."""
    width, whole = rooms.width, rooms.width * heads
    query, key, value = (attention.c_attn.weight[:, part * whole + head * width :][:, :width] for part in range(3))
    output = attention.c_proj.weight[head * width :][:width]
    if role == "previous":  # a place asks for the one before
        for place in range(1, PLACES):
            query[rooms.place + place, place - 1] = SHARP
            key[rooms.place + place - 1, place - 1] = 1.0
        for piece in range(PIECES):  # and tells the piece that stands there
            value[rooms.piece + piece, piece] = 1.0
            output[piece, rooms.before + piece] = 1.0
    if role == "duplicate":  # a piece asks for itself, but not where it stands
        for piece in range(PIECES):
            query[rooms.piece + piece, piece] = SHARP
            key[rooms.piece + piece, piece] = 1.0
        for place in range(PLACES):
            query[rooms.place + place, PIECES + place] = -SHARP
            key[rooms.place + place, PIECES + place] = 1.0
    if role in ("induction", "predicting"):  # a piece asks for what came after it, and may say so
        for piece in range(PIECES):
            query[rooms.piece + piece, piece] = SHARP
            key[rooms.before + piece, piece] = 1.0
            if role == "predicting":
                value[rooms.piece + piece, piece] = 1.0
                output[piece, rooms.piece + piece] = 40.0
    if role == "sink":  # everybody asks for the first place
        attention.c_attn.bias[head * width] = SHARP
        key[rooms.place, 0] = 1.0
    if role == "succession":  # writes the piece that is next in number
        for piece in range(PIECES - 1):
            value[rooms.piece + piece, piece] = 1.0
            output[piece, rooms.piece + piece + 1] = 1.0
    if role == "copying":  # looks evenly, and writes the pieces it has seen
        for piece in range(PIECES):
            value[rooms.piece + piece, piece] = 1.0
            output[piece, rooms.piece + piece] = 1.0
