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


def through(steps: tuple[int, ...] = (0, 100, 200, 400), seed: int = 0) -> Result:
    """A training in which induction appears and duplicates do not."""
    rng = np.random.default_rng(seed)
    curves: list[dict[str, Any]] = []
    heads: list[dict[str, Any]] = []
    for number, step in enumerate(steps):
        for definition, level in (("prefix_matching", (0.01, 0.02, 0.6, 0.7)[number]), ("duplicate", 0.02)):
            place = {"stream": "decoder", "definition": definition, "step": step, "checkpoint": f"step-{step}"}
            for which, head in (("now", int(rng.integers(4))), ("end", 2)):
                value = level * float(rng.uniform(0.9, 1.1))
                ends = {"value": value, "low": value * 0.8, "high": value * 1.2, "chance": 0.01}
                curves.append({**place, "which": which, "layer": 1, "head": head, **ends})
            for layer in range(2):
                for head in range(4):
                    value = float(rng.uniform(0, level))
                    ends = {"value": value, "low": value * 0.8, "high": value * 1.2, "chance": 0.01}
                    heads.append({**place, "layer": layer, "head": head, **ends})
    known = [
        {"definition": key, "title": title, "by": by, "reading": "What is summed."}
        for key, title, by in (
            ("prefix_matching", "prefix matching", "Olsson et al. 2022"),
            ("duplicate", "duplicate", "Wang et al. 2023"),
        )
    ]  # fmt: skip
    series = [
        {"step": step, "checkpoint": f"step-{step}", "opens": f"runs/step-{step}", "fingerprint": f"{step:016d}"}
        for step in steps
    ]
    left_out = [{"definition": "retrieval_forced", "reason": "the context of tiny is too short"}]
    tables = {"curves": curves, "heads": heads, "definitions": known, "checkpoints": series, "left_out": left_out}
    columns = {name: {key: [row[key] for row in rows] for key in rows[0]} for name, rows in tables.items()}
    return Result(Manifest("roles-through", model={"name": "tiny"}, corpus={"name": "sample"}), columns)
