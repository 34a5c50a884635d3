"""What stands out in a model: heads that are the most of all, without being picked by luck.

A head is picked as the most of its stream on one half of the texts, and its figure is that of the other half. Studies
whose tables have no halves pick nothing; neither does a figure of which no study has anything to say.
"""

from __future__ import annotations

import json
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
                if told is not None and _downward(told) == below:
                    yield from _told(figure, columns, int(best), len(here), told)


def _downward(row: Mapping[str, Any]) -> bool:
    """Whether a sentence is about a small figure."""
    return any(claim["kind"] == "below" and claim["column"] == "high" for claim in json.loads(row["claims"]))


def _told(
    figure: Figure,
    columns: Mapping[str, NDArray[Any]],
    at: int,
    heads: int,
    row: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    value, low, high, chance = (float(columns[name][at]) for name in ("second_half", "low", "high", "chance"))
    below = _downward(row)
    if not all(map(np.isfinite, (value, low, high, chance))) or not (value < chance if below else value > chance):
        return
    numbers = {"value": value, "low": low, "high": high, "chance": chance}
    told, start, end, by_chance, *_ = in_numbers(figure.kind, numbers)
    label = paper_label(row["layer"], row["head"])
    claims = [
        {"kind": "smallest" if below else "largest", "column": "first_half"},
        {"kind": "value", "column": "second_half", "value": value},
        {"kind": "below" if below else "above", "column": "high" if below else "low", "than": "chance"},
    ]
    yield {
        **{name: row[name] for name in ("stream", "layer", "head", "role", "strength", "quantity")}, **numbers,
        "sentence": f"Of all {heads} heads of the {row['stream']}, {label} has the {'least' if below else 'most'} of "
                    f"“{figure.title}” on one half of the texts; on the other half it has {told} (on all texts "
                    f"{interval(start, end)}; held against {by_chance})",
        "claims": json.dumps(claims),
    }  # fmt: skip
