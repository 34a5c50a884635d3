"""The sentences about heads, by model, and what role each head has on the map.

A head's role is that of its first sentence about what it does, else of the first about where it rests, else *other*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.website.given import Given
from attlas.website.grids import Heads, Rows, streams_of

OTHER = "other"
PARTS = ("does", "rests", "without", "writes", "alike", "none")
NAMING = ("does", "rests")  # the parts that give a head its role, in this order
MOST_ROLES = 255  # of which the last is no head


@dataclass(frozen=True)
class Role:
    """What heads may be found to do; ``terms`` are words by which it is searched for, too.

    >>> Role("obj", "finds objects").terms
    ''
    """

    role: str
    title: str
    meaning: str = ""
    terms: str = ""


def roles_of(given: Given) -> list[Role]:
    """All roles in their order: those of the table, then those that sentences name beside, *other* in any case.

    >>> columns = {"models": {"model": [], "stream": [], "layers": [], "heads": []}}
    >>> from attlas.website.given import NEEDED
    >>> figures = {name: [] for name in NEEDED["heads"]}
    >>> [role.title for role in roles_of(Given({**columns, "heads": figures}))]
    ['no role found']
    """
    rows = given.rows("roles")
    if given.has("roles", "order"):
        rows.sort(key=lambda row: row["order"] if row["order"] is not None else len(rows))
    named = {
        str(row["role"]): Role(*(str(row.get(name) or "") for name in ("role", "title", "meaning", "terms")))
        for row in rows
    }
    for name in dict.fromkeys(given.texts("portraits", "role")):
        if name:
            named.setdefault(str(name), Role(str(name), str(name)))
    named.setdefault(OTHER, Role(OTHER, "no role found", "No figure shows beyond chance what the head does."))
    return list(named.values())[:MOST_ROLES]


class Sentences:
    """All portraits as columns, their rows in order of model, head and rank."""

    def __init__(self, given: Given, roles: list[Role]) -> None:
        self.roles = roles
        self.rows = Rows(given, "portraits", streams_of(given)) if "portraits" in given else None
        self.text: list[str] = [str(text or "") for text in given.texts("portraits", "sentence")]
        self.strength = np.nan_to_num(given.numbers("portraits", "strength"))
        self.order = given.numbers("portraits", "order")
        self.part, self.parts = given.codes("portraits", "part")
        self.study, self.studies = given.codes("portraits", "study")
        self.quantity, self.quantities = given.codes("portraits", "quantity")
        self.corpus, self.corpora = given.codes("portraits", "corpus")
        known = {role.role: place for place, role in enumerate(roles)}
        codes, names = given.codes("portraits", "role")
        self.role = np.array([known.get(name, known[OTHER]) for name in names], np.int64)[codes]
        self.numbers = {name: given.numbers("portraits", name) for name in ("value", "low", "high", "chance")}

    def of(self, model: int, heads: Heads) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of a model by head and rank, and the places of their heads."""
        if self.rows is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        rows = self.rows.of(model)
        place = heads.places(self.rows.keys[rows])
        by = np.lexsort((self.order[rows], place))
        return rows[by], place[by]

    def of_heads(self, rows: NDArray[np.int64], place: NDArray[np.int64], heads: int) -> tuple[Any, Any]:
        """For each head the number of its role and the row of the sentence that gives it, -1 where none does; for
        rows and places as :meth:`of` gives them."""
        other = next(at for at, role in enumerate(self.roles) if role.role == OTHER)
        role, telling = np.full(heads, other), np.full(heads, -1)
        for part in reversed(NAMING):
            code = [at for at, name in enumerate(self.parts) if name == part]
            mine = np.isin(self.part[rows], code)
            at, first = np.unique(place[mine], return_index=True)
            telling[at] = rows[mine][first]
            role[at] = self.role[rows[mine][first]]
        return role, telling
