"""Models: opening them, finding their attention, and cutting text into their pieces.

This is the only package that knows the model library. See :mod:`attlas.models.seam` for the one idea that
everything rests on.
"""

from attlas.models.heads import head_of, possible_heads, with_head
from attlas.models.opening import HEADS, Opened, adopt, open_model, read_config, untrained
from attlas.models.pieces import Batch, Encoded, Example, Pieces, Side
from attlas.models.seam import AttentionCall, Instrument, Seam
from attlas.models.sites import Layout, output_matrix

__all__ = [
    "HEADS",
    "AttentionCall",
    "Batch",
    "Encoded",
    "Example",
    "Instrument",
    "Layout",
    "Opened",
    "Pieces",
    "Seam",
    "Side",
    "adopt",
    "head_of",
    "open_model",
    "output_matrix",
    "possible_heads",
    "read_config",
    "untrained",
    "with_head",
]
