"""The same cases by the calls as they are now: those of :mod:`cases_before`, but for those that are written here.

Where a call, its options or its result has changed, write the case again below under its old name, with the new call
and the same inputs; it then takes the place of the old one. ``tables_of`` says how to get at the tables of a result,
and may be written again as well. What has been renamed inside tables is written into ``renamed.json``, and not undone
here.

A case that is written again looks like this::

    @case("survey.plain")
    def survey_plain(folder: Path, inputs: Inputs) -> Any:
        import attlas

        return attlas.survey(inputs["bert"], inputs["plain one"], pairs=False, max_pieces=24)
"""

from __future__ import annotations

from collections.abc import Callable

import cases_before
from cases_before import Case, tables_of

__all__ = ["CASES", "case", "tables_of"]

CASES: dict[str, Case] = dict(cases_before.CASES)


def case(name: str) -> Callable[[Case], Case]:
    """Enter a function as a case of this name, in place of the old one, which must be there."""
    if name not in cases_before.CASES:
        raise KeyError(f"there was no case {name!r} before, so that there is nothing to compare it with")

    def enter(function: Case) -> Case:
        CASES[name] = function
        return function

    return enter
