"""What stands out in a model: heads that are the most of all, without being picked by luck.

A head is picked as the most of its stream on one half of the texts, and its figure is that of the other half. Studies
whose tables have no halves pick nothing; neither does a figure of which no study has anything to say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.evidence.figures import Figure
from attlas.evidence.portraits import in_numbers
from attlas.ids import paper_label
from attlas.store.schema import interval

PICKED = ("does", "rests", "writes")


def standing_out(
    named: Sequence[Figure],
    columns: Mapping[str, NDArray[Any]],
    sentences: Iterable[Mapping[str, Any]],
) -> Iterator[dict[str, Any]]:
    """For each figure that something is said of, and each stream, the head that was the most on one half."""
    spoken: dict[tuple[str, str, int, int], Mapping[str, Any]] = {}
    for row in sentences:
        if row["part"] in PICKED:
            spoken.setdefault((row["quantity"], row["stream"], row["layer"], row["head"]), row)
    for at, figure in enumerate(named):
        own = columns["figure"] == at
        for stream in sorted(set(columns["stream"][own].tolist())):
            here = np.flatnonzero(own & (columns["stream"] == stream) & np.isfinite(columns["first_half"]))
            if len(here) < 2:
                continue
            first = columns["first_half"][here]
            for below in (False, True):
                best = here[int(np.argmin(first) if below else np.argmax(first))]
                layer, head = int(columns["layer"][best]), int(columns["head"][best])
                told = spoken.get((figure.quantity, stream, layer, head))
                if told is not None and _held_against(told)[0] == below:
                    yield from _told(figure, columns, int(best), len(here), told)


def _held_against(row: Mapping[str, Any]) -> tuple[bool, float | str]:
    """Whether a sentence is about a small figure, and what the near end of its interval is beyond: a number or a
    column; no number where there is no interval."""
    for claim in json.loads(row["claims"]):
        if claim["column"] in ("low", "high"):
            return claim["kind"] == "below", claim["than"]
    return False, math.nan


def _called(stream: str) -> str:
    return "cross-attention" if stream == "cross" else stream


def _told(
    figure: Figure, columns: Mapping[str, NDArray[Any]], at: int, heads: int, row: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """What is said of the head that was picked; nothing if its other half is not beyond the level, too."""
    value, low, high, chance = (float(columns[name][at]) for name in ("second_half", "low", "high", "chance"))
    below, than = _held_against(row)
    level = chance if than == "chance" else float(than)
    if not all(map(np.isfinite, (value, low, high, level))) or not (value < level if below else value > level):
        return
    told, start, end, against, *_ = in_numbers(
        figure.kind, {"value": value, "low": low, "high": high, "chance": level}
    )  # fmt: skip
    label, stream = paper_label(row["layer"], row["head"]), _called(row["stream"])
    claims = [
        {"kind": "smallest" if below else "largest", "column": "first_half"},
        {"kind": "value", "column": "second_half", "value": value},
        {"kind": "below" if below else "above", "column": "second_half", "than": than},
        {"kind": "below" if below else "above", "column": "high" if below else "low", "than": than},
    ]
    yield {
        **{name: row[name] for name in ("stream", "layer", "head", "role", "strength", "quantity")},
        "value": value, "low": low, "high": high, "chance": level,
        "sentence": f"Of all {heads} heads of the {stream}, {label} has the {'least' if below else 'most'} of "
                    f"“{figure.title}” on one half of the texts; on the other half it has {told} (on all texts "
                    f"{interval(start, end)}; held against {against})",
        "claims": json.dumps(claims),
    }  # fmt: skip
