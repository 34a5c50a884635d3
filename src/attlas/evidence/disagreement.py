"""Where two studies call a head different things, as a sentence that tells both.

Each study calls a head by the strongest of its own sentences on what the head does or where it rests. Two that call
it by roles which do not go together disagree; both may be right, each about what it has asked.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pyarrow as pa

from attlas.evidence.portraits import PLACE, claims_as_json
from attlas.evidence.roles import ROLES

PARTS = ("does", "rests")


def disagreements(portraits: pa.Table) -> Iterator[dict[str, Any]]:
    """The disagreements about all heads, from the table of portraits, whose rows are in order."""
    names = (*PLACE, "study", "part", "role", "quantity", "corpus", "sentence", "claims")
    by_head: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = defaultdict(dict)
    columns = {name: portraits[name].to_pylist() for name in names}
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(names, values, strict=True))
        if row["part"] in PARTS:
            by_head[tuple(row[name] for name in PLACE)].setdefault(row["study"], row)
    for place, studies in by_head.items():
        for one, other in combinations(studies.values(), 2):
            if not _known(one["role"]).agrees(_known(other["role"])):
                yield {
                    **dict(zip(PLACE, place, strict=True)),
                    "sentence": f"{one['study']} says that it {one['sentence']}, and {other['study']} that it "
                                f"{other['sentence']}",
                    **{f"one_{name}": one[name] for name in ("study", "role", "quantity")},
                    **{f"other_{name}": other[name] for name in ("study", "role", "quantity")},
                    "claims": json.dumps(claims_as_json(one) + claims_as_json(other)),
                }  # fmt: skip


def _known(role: str) -> Any:
    return ROLES.get(role, ROLES["other"])
