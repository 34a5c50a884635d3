"""Models: opening them, finding their attention, and cutting text into their pieces.

This is the only package that knows the model library. See :mod:`attlas.models.seam` for the one idea that
everything rests on.
"""

from attlas.models.adopting import Opened, adopt, adopted, is_compiled, probing_inputs
from attlas.models.classes import HEADS
from attlas.models.devices import Landing, onto, place_of
from attlas.models.fresh import open_to_train, save_model
from attlas.models.heads import head_of, possible_heads, saved_head, with_head
from attlas.models.opening import open_model, read_config
from attlas.models.pieces import Batch, Encoded, Example, Pieces, Side
from attlas.models.placing import Placed, Placing
from attlas.models.pruning import cut, kept_heads, loads_plainly
from attlas.models.residuals import Residual, find_residuals
from attlas.models.seam import AttentionCall, Instrument, Seam
from attlas.models.sites import Layout, output_matrix
from attlas.models.streaming import streamed_in
from attlas.models.turns import take_turns, without_turns
from attlas.models.untrained import untrained

__all__ = [
    "HEADS",
    "AttentionCall",
    "Batch",
    "Encoded",
    "Example",
    "Instrument",
    "Landing",
    "Layout",
    "Opened",
    "Pieces",
    "Placed",
    "Placing",
    "Residual",
    "Seam",
    "Side",
    "adopt",
    "adopted",
    "cut",
    "find_residuals",
    "head_of",
    "is_compiled",
    "kept_heads",
    "loads_plainly",
    "onto",
    "open_model",
    "open_to_train",
    "output_matrix",
    "place_of",
    "possible_heads",
    "probing_inputs",
    "read_config",
    "save_model",
    "saved_head",
    "streamed_in",
    "take_turns",
    "untrained",
    "with_head",
    "without_turns",
]
