"""Has the model learned its task at all? Where it has not, nothing is judged and nothing is recommended.

A classifier has learned something if the whole interval of its score is above what always giving the most frequent
label has. Scores that such an answer has none of are held against what knowing nothing gives: Matthews' correlation
is then 0; of chunks or key phrases nearly nothing is found, which is an F1 of :data:`NEARLY_NOTHING`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attlas.store.schema import is_known

NEARLY_NOTHING = 0.05  # of F1


def nothing_learned(row: Mapping[str, Any]) -> float | None:
    """The score of a model that has learned nothing, for a row with ``metric`` and perhaps ``chance_score``.

    >>> nothing_learned({"metric": "accuracy", "chance_score": 0.6}), nothing_learned({"metric": "f1"})
    (0.6, 0.05)
    """
    if is_known(row.get("chance_score")):
        return float(row["chance_score"])
    return {"matthews": 0.0, "f1": NEARLY_NOTHING}.get(str(row.get("metric")))


def has_learned(row: Mapping[str, Any]) -> bool:
    """Whether the interval of a score (``score_low``) is above that of a model that has learned nothing; yes where
    either is not known.

    >>> has_learned({"metric": "accuracy", "score_low": 0.7, "chance_score": 0.6})
    True
    >>> has_learned({"metric": "accuracy", "score_low": 0.55, "chance_score": 0.6})
    False
    """
    low, bar = row.get("score_low"), nothing_learned(row)
    return low is None or not is_known(low) or bar is None or bool(low > bar)
