"""Where two studies call a head different things, as a sentence that tells both.

Each study calls a head by the strongest of its own sentences on what the head does or where it rests. Two that call
it by roles which do not go together disagree; both may be right, each about what it has asked. What a head does is
told before where it rests.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pyarrow as pa
from pyarrow import compute

from attlas.evidence.portraits import PLACE, claims_as_json
from attlas.evidence.roles import ROLES

PARTS = ("does", "rests")


def disagreements(portraits: pa.Table) -> Iterator[dict[str, Any]]:
    """The disagreements about all heads, from the table of portraits, whose rows are in order."""
    names = [*PLACE, "study", "role", "part", "quantity", "corpus", "sentence", "claims"]
    by_head: dict[tuple[Any, ...], dict[str, int]] = defaultdict(dict)
    part = portraits["part"].cast(pa.string())
    told = portraits.filter(compute.is_in(part, pa.array(PARTS)))
    columns = {name: told[name].to_pylist() for name in (*PLACE, "study")}
    for at, (*head, study) in enumerate(zip(*columns.values(), strict=True)):
        by_head[tuple(head)].setdefault(study, at)
    taken = [at for studies in by_head.values() if len(studies) > 1 for at in studies.values()]
    rows = dict(zip(taken, told.select(names).take(pa.array(taken, pa.int64())).to_pylist(), strict=True))
    for place, studies in by_head.items():
        told_of = sorted(
            (rows[at] for at in studies.values() if at in rows), key=lambda row: PARTS.index(row["part"])
        )
        for one, other in combinations(told_of, 2):
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
