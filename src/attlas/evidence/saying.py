"""What is said of a figure of a head, declared with the study that gives it.

A :class:`Saying` picks figures by table, column and keys, names the role they speak for, and has a sentence for them.
It is told of a head only where the near end of the figure's interval is beyond what it is held against: that is what
makes the sentence true. Its strength is how far that end is beyond, of how far it could be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from attlas.evidence.roles import ROLES

PARTS = ("does", "rests", "without", "writes", "alike", "none")
SURE = 0.01  # a corrected p below which a figure is no accident


@dataclass(frozen=True)
class Saying:
    """A sentence about a figure.

    ``sentence`` reads on from a head's name; its slots are ``value``, ``low``, ``high``, ``chance``, ``twin``, ``p``
    and ``n``, written as the figure's kind is (``{value:percent}``: as a percentage), and the keys of the table;
    functions in ``words`` put values of keys into words (what has none is not told). ``where`` are values of keys:
    one, or a tuple of several.

    A figure is held against its chance level, times ``times``, or against ``level`` where that is given; it must be
    above, or ``below``. ``best`` is the best it could be: a number, "chance" for its chance level, or None for the
    best of all heads. A strength of less than ``bar`` is not worth a sentence, nor is a figure whose near end is not
    beyond ``beyond``, or is already beyond ``upto``, where another saying begins. With ``p_below`` its corrected p
    must be known, and below that, too; ``exact`` figures have no interval and need none. Of one saying a head gets
    ``most`` sentences, the strongest; one with ``unless`` gets none where another sentence of the same study gives
    the head one of these roles, one ``only_with`` some none where no other does. ``also`` is another column of
    figures of the same row, which must be above a number; the slot ``also`` is that figure.

    >>> saying = Saying("previous", "puts {value} on the previous piece", "heads", where={"quantity": "previous"})
    >>> saying.fits("heads", "value", {"quantity": "previous", "measure": "weight"})
    True
    """

    role: str
    sentence: str
    table: str
    column: str = "value"
    where: Mapping[str, Any] = field(default_factory=dict)
    part: str = "does"
    words: Mapping[str, Callable[[Any], str | None]] = field(default_factory=dict)
    below: bool = False
    level: float | None = None
    times: float = 1.0
    best: float | str | None = 1.0
    bar: float = 0.0
    beyond: float | None = None
    upto: float | None = None
    p_below: float | None = None
    exact: bool = False
    most: int = 3
    unless: tuple[str, ...] = ()
    only_with: tuple[str, ...] = ()
    also: tuple[str, float] | None = None

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"there is no role {self.role!r}; choose one of {', '.join(ROLES)}")
        if self.part not in PARTS:
            raise ValueError(f"there is no part {self.part!r} of a portrait; choose one of {', '.join(PARTS)}")

    def fits(self, table: str, column: str, keys: Mapping[str, Any]) -> bool:
        """Whether it speaks of a figure of this table and column with these values of keys."""
        if (table, column) != (self.table, self.column):
            return False
        wanted = {"measure": "weight", **self.where} if "measure" in keys else self.where
        return all(
            keys.get(key) in (value if isinstance(value, tuple) else (value,)) for key, value in wanted.items()
        ) and all(in_words(keys.get(key)) is not None for key, in_words in self.words.items())
