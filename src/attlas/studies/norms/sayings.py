"""What norms say of a head: whether what takes its weight brings anything."""

from __future__ import annotations

from attlas.evidence.saying import Saying
from attlas.studies.shared.wording import KEY_NAMES

RESTING, LITTLE = 0.3, 0.5

SAYINGS = (
    Saying("dormant", "takes little from where its weight goes: {keys} gets {chance} of its weight, but makes up "
           "{value} of what it adds", "norms", "norm", {"keys": ("sep", "cls", "first", "punctuation")},
           words={"keys": KEY_NAMES.get}, part="writes", below=True, times=LITTLE, best=0.0, also=("weight", RESTING),
           most=1),
)  # fmt: skip
