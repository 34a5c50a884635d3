"""What a person gave, checked before any work is done: seeds, names, and the place of the result.

A seed that no generator takes, a name that cannot be written down in UTF-8, and a folder in which nothing can be made
would each be found out at the very end, with all the work lost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attlas.errors import PlanError
from attlas.store.folder import require_writable
from attlas.store.lock import require_unheld

NAMED = "named by the run itself"  # the folder of a command that was given none
SEEDS = 2**63  # so many: what all generators take


def check_given(given: Mapping[str, Any]) -> None:
    """Refuse what a run could not use in the end, by the names of its parameters.

    ``out`` is a folder where there is ``resume`` beside it, and else a file.

    >>> check_given({"seed": -1})
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: a seed is a whole number from 0 to 9223372036854775807, not -1 (--seed)
    >>> check_given({"corpus": "\\udcff.txt"})
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: corpus: the name '\\udcff.txt' is not UTF-8, so that no result could tell it; rename it
    """
    for name, value in given.items():
        for part in value if isinstance(value, list | tuple) else [value]:
            _check_name(name, part)
            if isinstance(part, float) and math.isnan(part):
                raise PlanError(f"{name}: nan is no number to work with; give another (--{name.replace('_', '-')})")
            if isinstance(part, int) and part >= SEEDS and name != "seed":
                raise PlanError(
                    f"{name}: nothing can be counted so far; give a smaller number (--{name.replace('_', '-')})"
                )
    seed = given.get("seed")
    if isinstance(seed, int) and not 0 <= seed < SEEDS:
        shown = str(seed) if abs(seed) < 10**30 else "one of more than 30 digits"
        raise PlanError(f"a seed is a whole number from 0 to {SEEDS - 1}, not {shown} (--seed)")
    out = given.get("out")
    if "resume" in given and out is not None:
        folder = Path() if out == NAMED else Path(out)
        require_writable(folder / ".trying", of="folder")
        require_unheld(folder)
    elif isinstance(out, str | Path) and out != NAMED:
        require_writable(Path(out), of="file")


def check_device(device: str | None) -> None:
    """Refuse a device that this machine does not have.

    >>> check_device("foo")
    Traceback (most recent call last):
        ...
    attlas.errors.ModelError: there is no device 'foo'; try cpu...
    """
    if device is not None:
        from attlas.models.devices import require_device

        require_device(device)


def _check_name(name: str, value: Any) -> None:
    if isinstance(value, str | Path):
        try:
            str(value).encode()
        except UnicodeEncodeError:
            raise PlanError(
                f"{name}: the name {str(value)!r} is not UTF-8, so that no result could tell it; rename it"
            ) from None
        if "\0" in str(value):
            raise PlanError(f"{name}: {str(value)!r} holds a NUL, which no file name may; leave it out")
