"""The random-weights baseline of a run: where its untrained twins are, if anywhere.

Twins stand *beside* the model, which takes the memory of two; or come *after* it, when its weights have been let go
of (:mod:`attlas.models.letting_go`), one twin at a time; or there are *none*, and every table and page says so.
Figures of the first two are the same, so that a run which was begun one way may be finished the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attlas.errors import PlanError

BESIDE, AFTER, NONE = "beside", "after", "none"


def check_twin(given: Any) -> None:
    """Refuse what says nothing about where twins are.

    >>> check_twin("after")
    >>> check_twin("later")
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: there is no way 'later' to have untrained twins; give beside, after or none (--twin)
    """
    if given not in (BESIDE, AFTER, NONE):
        raise PlanError(
            f"there is no way {given!r} to have untrained twins; give {BESIDE}, {AFTER} or {NONE} (--twin)"
        )


def without_twins(options: Mapping[str, Any], twin: str) -> Mapping[str, Any]:
    """The options that decide the numbers: where there are no twins, so many as none.

    >>> without_twins({"twins": 5}, "none"), without_twins({"twins": 5}, "after")
    ({'twins': 0, 'twin': 'none'}, {'twins': 5})
    """
    return {**options, "twins": 0, "twin": NONE} if twin == NONE else options


def require_one_process(given: Mapping[str, Any]) -> None:
    """Refuse to let go of a model that workers have, too.

    >>> require_one_process({"engine": "ray"})
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: --twin after lets go of one model, and workers have one each; leave out --engine, or ...
    """
    if given.get("engine", "local") != "local":
        raise PlanError(
            "--twin after lets go of one model, and workers have one each; leave out --engine, or give --twin beside "
            "or --twin none"
        )
