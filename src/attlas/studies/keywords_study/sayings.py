"""What the study of key words says of a head: how well what words receive tells key words from others."""

from __future__ import annotations

from attlas.evidence.saying import Saying

SAYINGS = (
    Saying("keywords", "knows key words: with a chance of {value} one receives more than another word does (a guess: "
           "{chance})", "heads", "auc", {"measure": ("weight", "norm")}, bar=0.3, most=1),
)  # fmt: skip
