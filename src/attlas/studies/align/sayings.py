"""What alignment says of a head: how well the links read off it agree with people's."""

from __future__ import annotations

from attlas.evidence.saying import Saying

SAYINGS = (
    Saying("alignment", "aligns words, {direction}, read from the {side}: an error rate of {value} (the best head of "
           "untrained twins: {chance})", "scores", where={"score": "AER", "measure": ("weight", "norm")}, below=True,
           best=0.0, bar=0.2, most=1),
)  # fmt: skip
