"""Does the name hold? What closing the named heads does, against what closing as many others does.

The change is that of the mean over texts, with an interval over texts (whole and closed are paired); p is the rank of
the named heads among the other sets (:func:`attlas.studies.roles.behaviour.rank_p`), corrected by Holm over all roles
that were tested. A name *holds* where that p is below .05 and the change goes the way that was promised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.ids import paper_label
from attlas.stats import estimate, holm
from attlas.store.columns import as_columns
from attlas.studies.roles.behaviour import Behaviour, Set, rank_p
from attlas.studies.shared.figures import ends_of

LEVEL = 0.05
_COLUMNS = (
    "role", "definition", "stream", "heads", "measured", "rises", "texts", "whole", "without", "change", "change_low",
    "change_high", "others", "others_low", "others_high", "sets", "p", "p_corrected", "holds",
)  # fmt: skip


@dataclass(frozen=True)
class Closed:
    """What closing gave: the named heads of a role, and the measure of every text, (set, text): first of the whole
    model, then without the named heads, then without each of the other sets.

    >>> losses = np.array([[1.0, 1.0], [2.0, 3.0], [1.0, 1.5]])
    >>> Closed(Behaviour("a", "a", "b", "x:y", "loss"), (), losses).changes().tolist()
    [1.5, 0.25]
    """

    behaviour: Behaviour
    heads: Set
    losses: NDArray[np.float64]

    def changes(self) -> NDArray[np.float64]:
        """The mean change of every set, the named one first."""
        found: NDArray[np.float64] = (self.losses[1:] - self.losses[0]).mean(1)
        return found


def effect_table(tested: Sequence[Closed]) -> dict[str, list[Any]]:
    """A row for each role.

    >>> from attlas.ids import HeadId, Stream
    >>> rng = np.random.default_rng(0)
    >>> losses = np.concatenate([np.zeros((1, 12)), rng.normal(2, 0.1, (1, 12)), rng.normal(0, 0.1, (400, 12))])
    >>> induction = Behaviour("induction", "induction", "prefix_matching", "x:y", "loss")
    >>> table = effect_table([Closed(induction, (HeadId(Stream.DECODER, 17, 3),), losses)])
    >>> table["heads"], table["holds"], round(table["p"][0], 4)
    (['18-4'], [True], 0.0025)
    """
    rows = []
    for closed in tested:
        behaviour, changes = closed.behaviour, closed.changes()
        others = changes[1:]
        effect = estimate(closed.losses[1] - closed.losses[0], np.ones(closed.losses.shape[1]))
        ends = np.quantile(others, (0.025, 0.975)) if len(others) else (np.nan, np.nan)
        rows.append({
            "role": behaviour.key, "definition": behaviour.chosen_by, "stream": closed.heads[0].stream.value,
            "heads": ", ".join(paper_label(head.layer, head.head) for head in closed.heads),
            "measured": behaviour.measured, "rises": behaviour.rises, "texts": closed.losses.shape[1],
            "whole": closed.losses[0].mean(), "without": closed.losses[1].mean(), **ends_of(effect, (), "change"),
            "others": others.mean() if len(others) else np.nan, "others_low": ends[0], "others_high": ends[1],
            "sets": len(others), "p": rank_p(changes[0], others, rises=behaviour.rises),
        })  # fmt: skip
    for row, corrected in zip(rows, holm([row["p"] for row in rows]) if rows else (), strict=True):
        row["p_corrected"] = corrected
        risen = not row["rises"] or row["change_low"] > 0
        row["holds"] = bool(risen and corrected < LEVEL) if np.isfinite(corrected) else None
    return as_columns(rows, _COLUMNS)
