"""What a no-op test says of a head: whether the loss depends on the place where it rests."""

from __future__ import annotations

from attlas.evidence.saying import Saying
from attlas.studies.shared.wording import KEY_NAMES

RESTING, LITTLE = 0.5, 0.5

SAYINGS = (
    Saying("dormant", "does little where it rests: with {also} of its weight on {keys}, the loss depends on that "
           "less than half as much as on other keys (gradients of {value} and {chance})", "noop",
           where={"keys": ("sep", "cls", "first")}, words={"keys": KEY_NAMES.get}, part="without", below=True,
           times=LITTLE, best=0.0, also=("weight", RESTING), most=1),
)  # fmt: skip
