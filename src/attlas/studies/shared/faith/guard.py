"""Has the model learned its task at all? Where it has not, nothing is judged and nothing is recommended.

It has if the whole interval of its score is above what one gets without a model (:mod:`attlas.run.chance`): always
giving the most frequent label, tags drawn by lot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attlas.store.schema import is_known


def has_learned(row: Mapping[str, Any]) -> bool:
    """Whether the interval of a score (``score_low``) is above that of chance (``chance_score``); yes where either is
    not known.

    >>> has_learned({"score_low": 0.7, "chance_score": 0.6}), has_learned({"score_low": 0.55, "chance_score": 0.6})
    (True, False)
    """
    low, bar = row.get("score_low"), row.get("chance_score")
    return low is None or bar is None or not (is_known(low) and is_known(bar)) or bool(low > bar)
