"""The same cases by the calls as they are now: those of :mod:`cases_before`, but for those that are written here.

Where a call, its options or its result has changed, the case is written again in a module of ``after/``, under its
old name, with the new call and the same inputs; it then takes the place of the old one. ``tables_of`` says how to get
at the tables of a result. What has been renamed inside tables is told by the schemas and ``renamed/``, and not undone
in a case.

A case that is written again looks like this::

    def survey_plain(folder: Path, inputs: Inputs) -> Any:
        import attlas

        return attlas.survey(inputs["bert"], inputs["plain one"], pairs=False, max_pieces=24)

    CASES = {"survey.plain": survey_plain}
"""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

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


for module in sorted((Path(__file__).parent / "after").glob("*.py")):
    for name, function in runpy.run_path(str(module))["CASES"].items():
        case(name)(function)
