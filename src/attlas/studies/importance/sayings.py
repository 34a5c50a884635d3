"""What importance says of a head: that the loss depends on it more than on an average one."""

from __future__ import annotations

from attlas.evidence.saying import Saying

SAYINGS = (
    Saying("needed", "is needed: the loss depends on it by {value} (on an average head by {chance})", "importance",
           part="without", best=None, bar=0.2),
)  # fmt: skip
