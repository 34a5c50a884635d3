"""What cutting single heads says of them: whether the loss rises or falls without them."""

from __future__ import annotations

from attlas.evidence.saying import Saying

LEVEL = 0.05  # of a p that is corrected over all cuts

SAYINGS = (
    Saying("needed", "is needed: without it the loss changes by {value} (p {p})", "ablation", "loss_change",
           part="without", level=0.0, best=None, p_below=LEVEL),
    Saying("harmful", "is in the way: without it the loss changes by {value} (p {p})", "ablation", "loss_change",
           part="without", level=0.0, best=None, p_below=LEVEL, below=True),
)  # fmt: skip
