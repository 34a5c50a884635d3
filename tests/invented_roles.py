"""Invented results of roles, with heads that are chosen on one half and figures of the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from attlas.store import Manifest, Result

LAYERS, HEADS, KEYS = 4, 6, 2
REST = ("low", "high", "chance", "n", "units", "twin", "twin_low", "twin_high", "p_corrected")


def invented(definitions: tuple[str, ...] = ("prefix_matching", "sink", "streaming_gate")) -> Result:
    """A result of roles: heads that are chosen on one half, and figures of the other."""
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for definition in definitions:
        for layer in range(LAYERS):
            for head in range(HEADS):
                first, second = rng.random(2).round(3).tolist()
                if definition == "streaming_gate":
                    first, second = layer / 4, (0.125 + 0.5 * (head >= 3)) * (layer % 2 + 0.5)
                rows.append({
                    "stream": "decoder", "layer": layer, "head": head, "definition": definition,
                    "value": (first + second) / 2, "first_half": first, "second_half": second,
                    **dict.fromkeys(REST, 0.0),
                })  # fmt: skip
    sharing = [
        {"stream": "decoder", "layer": layer, "head": head, "key_head": head // (HEADS // KEYS)}
        for layer in range(LAYERS)
        for head in range(HEADS)
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    shared = {name: [row[name] for row in sharing] for name in sharing[0]}
    manifest = Manifest("roles", model={"name": "a/tiny"}, corpus={"name": "sample"})
    return Result(manifest, {"heads": columns, "sharing": shared})


def expected(result: Result, definition: str, count: int) -> list[tuple[int, int]]:
    rows = [row for row in result.rows("heads") if row["definition"] == definition]
    rows.sort(key=lambda row: -row["first_half"])
    return [(row["layer"], row["head"]) for row in rows[:count]]
