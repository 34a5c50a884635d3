"""All definitions, trial by trial: what ``attlas roles`` asks of a model.

A module that holds further ones gives them as a tuple of trials, and stands in :data:`TRIALS`. It imports no torch.
"""

from __future__ import annotations

from attlas.studies.roles.definition import CAUSAL, WITHIN, Definition, Trial
from attlas.studies.roles.long_definitions import LONG_TRIALS

_PLACES = "attlas.studies.roles.places"
_TEXTS = "attlas.studies.roles.texts"
REPEATED = Trial(
    "repeated", "random pieces, said twice", f"{_TEXTS}:repeated",
    (
        Definition(
            "prefix_matching", "prefix matching", "Olsson et al. 2022",
            "Mean weight, over the pieces of the second copy, on what followed their earlier occurrence.",
            f"{_PLACES}:prefix_matching", CAUSAL,
        ),
        Definition(
            "duplicate", "duplicate piece", "Wang et al. 2023",
            "Mean weight, over the pieces of the second copy, on the same piece in the first.",
            f"{_PLACES}:duplicate", WITHIN,
        ),
        Definition(
            "previous_random", "previous piece, random pieces", "Olsson et al. 2022",
            "Mean weight on the piece before, in texts of random pieces.", f"{_PLACES}:previous", WITHIN,
        ),
    ),
)  # fmt: skip
NATURAL = Trial(
    "natural", "texts of the corpus", f"{_TEXTS}:natural",
    (
        Definition(
            "previous_text", "previous piece on text", "Wang et al. 2023",
            "Mean weight on the piece before, in texts of the corpus.", f"{_PLACES}:previous", WITHIN,
        ),
        Definition(
            "duplicate_text", "previous occurrence on text", "attlas",
            "Mean weight on earlier occurrences of the same piece, over the pieces of text that have one.",
            f"{_PLACES}:duplicate", WITHIN,
        ),
        Definition(
            "induction_text", "induction on text", "attlas",
            "Mean weight on what followed earlier occurrences of the same piece, over the pieces that have one.",
            f"{_PLACES}:prefix_matching", CAUSAL,
        ),
    ),
)  # fmt: skip
TRIALS: tuple[Trial, ...] = (REPEATED, NATURAL, *LONG_TRIALS)
DEFINITIONS: dict[str, Definition] = {
    definition.key: definition for trial in TRIALS for definition in trial.definitions
}
