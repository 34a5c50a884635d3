"""Changes of the design of experiments, one list for each group of studies.

Each says what is changed, where, from what and to what, and which tests are to notice. Their numbers are those under
which they were first tried: 24 of the 39 were noticed by nobody then.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import NamedTuple


class Design(NamedTuple):
    """A change of design."""

    number: int
    what: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]


def every_change() -> list[Design]:
    """All of them, by number.

    >>> every_change()[0].number
    1
    """
    files = sorted(Path(__file__).parent.glob("design_*.py"))
    lists = (import_module(f"tools.mutants.{file.stem}").CHANGES for file in files)
    return sorted(Design(*change) for changes in lists for change in changes)


DESIGN = every_change()
