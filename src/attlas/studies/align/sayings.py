"""What alignment says of a head: how well the links read off it agree with people's."""

from __future__ import annotations

from attlas.evidence.saying import Saying
from attlas.studies.align.findings import SIDES

READ = {**SIDES, "output": "where they are written", "input": "where they are read"}

SAYINGS = (
    Saying("alignment", "aligns words {side}: an error rate of {value} (the best head of untrained twins: {chance})",
           "scores", where={"score": "AER", "measure": ("weight", "norm")}, words={"side": READ.get}, below=True,
           best=0.0, bar=0.4, most=1),
)  # fmt: skip
