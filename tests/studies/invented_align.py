"""An invented result of an alignment study, with numbers that are easy to check in the page."""

from __future__ import annotations

import json
from typing import Any

from attlas.store import Manifest, Result

LAYERS, HEADS = 3, 2
# AER by side, measure and layer; heads are worse than their layer by 10 and 20 points, backward by 5
RATES = {
    "output": {"weight": [0.7, 0.5, 0.6], "norm": [0.65, 0.45, 0.55]},
    "input": {"weight": [0.7, 0.4, 0.35], "norm": [0.6, 0.3, 0.25]},
}
NORMS = [1.0, 2.0, 1.5]  # the largest is not that of the best layer
SOURCE, TARGET = ["das", "alte", "<Haus>"], ["the", "old", "house", "!"]


def align_result(*, gold: bool = True, back: bool = False, name: str = "tiny") -> Result:
    """Three layers of two heads, with input better than with output, norms better than weights."""
    ways = ("forward", "backward") if back else ("forward",)
    tables = {
        "scores": _scores(ways, gold, back),
        "choices": _choices(ways, gold, back),
        "gains": _gains(ways) if gold else [],
        "mean_norms": [
            {"direction": way, "stream": "cross", "side": side, "layer": layer, "head": head,
             "value": NORMS[layer] / (1 if head is None else 2), "low": 0.9, "high": 1.1, "n": 50.0, "twin": 0.5,
             "twin_low": 0.4, "twin_high": 0.6, "twins": 5}
            for way in ways for side in RATES for layer in range(LAYERS) for head in (None, *range(HEADS))
        ],
        "pairs": _pairs(gold),
    }  # fmt: skip
    manifest = Manifest(
        "align",
        {"study": "align"},
        {"attlas": "0"},
        {"name": name},
        {"name": "a bitext", "documents": 3, "passages": 2, "pieces": 90},
        0,
        {},
        "2025-01-02T00:00:00+00:00",
        3.0,
    )
    return Result(manifest, {name: _columns(rows) for name, rows in tables.items() if rows})


def rate(side: str, measure: str, layer: int, head: int | None = None, way: str = "forward") -> float:
    """The invented error rate of one place."""
    worse = 0.0 if head is None else 0.1 * (head + 1)
    return RATES[side][measure][layer] + worse + (0.05 if way == "backward" else 0.0)


def _scores(ways: tuple[str, ...], gold: bool, back: bool) -> list[dict[str, Any]]:
    rows = []
    for way in ways:
        for side, measures in RATES.items():
            for measure in measures:
                for layer in range(LAYERS):
                    for head in (None, *range(HEADS)):
                        place = _place("attention", "", way, measure, side, layer, head)
                        rows += _four(place, rate(side, measure, layer, head, way), 0.8, gold)
    together = ("intersection", "grow-diag-final-and")
    for way in together if back and gold else ():
        for side in RATES:
            for measure in ("weight", "norm"):
                for layer in range(LAYERS):
                    place = _place("attention", "", way, measure, side, layer, None)
                    rows += _four(place, rate(side, measure, layer) - 0.02, 0.8, gold)
    for way in ("forward", "backward", *together):
        for aligner, trained, value in (
            ("eflomal", "these pairs", 0.28),
            ("eflomal", "these pairs and more.tsv", 0.2),
            ("fast_align", "these pairs", 0.4),
            ("diagonal", "", 0.75),
        ):
            rows += _four(_place(aligner, trained, way, "", "", None, None), value, None, gold)
    return rows


def _place(
    aligner: str, trained: str, way: str, measure: str, side: str, layer: int | None, head: int | None
) -> dict[str, Any]:
    return {
        "aligner": aligner, "trained_on": trained, "direction": way,
        "stream": "cross" if aligner == "attention" else "", "measure": measure,
        "side": side, "layer": layer, "head": head,
    }  # fmt: skip


def _four(place: dict[str, Any], value: float, twin: float | None, gold: bool) -> list[dict[str, Any]]:
    scores = {"AER": value, "precision": 1 - value, "recall": 0.5, "F1": 0.6} if gold else {"linked": 1 - value}
    return [
        place | {"score": score, "value": found, "low": found - 0.02, "high": found + 0.02, "twin": twin}
        | {"twin_low": twin, "twin_high": twin, "twins": 5, "links": 1234}
        for score, found in scores.items()
    ]  # fmt: skip


def _choices(ways: tuple[str, ...], gold: bool, back: bool) -> list[dict[str, Any]]:
    rows = []
    for way in ways:
        for side in RATES:
            for measure in ("weight", "norm"):
                for unit in ("layer", "head"):
                    head = None if unit == "layer" else 0
                    place = {"direction": way, "measure": measure, "side": side, "unit": unit}
                    best = min(range(LAYERS), key=lambda layer: rate(side, measure, layer))
                    hows = {"largest mean norm": 1}
                    hows |= (
                        {"oracle: lowest AER": best, "chosen on one half, scored on the other": best} if gold else {}
                    )
                    for how, layer in hows.items():
                        value = (
                            rate(side, measure, layer, head, way) + (0.01 if "half" in how else 0) if gold else None
                        )
                        where = {"how": how, "layer": layer, "head": head, "back_layer": None}
                        rows.append(place | where | _rated(value))
    if back and gold:
        for way in ("intersection", "grow-diag-final-and"):
            place = {"direction": way, "measure": "norm", "side": "input", "unit": "layer"}
            where = {"how": "largest mean norm", "layer": 1, "head": None, "back_layer": 2}
            rows.append(place | where | _rated(0.22 if way == "intersection" else 0.21))
    return rows


def _rated(value: float | None) -> dict[str, Any]:
    low, high = (None, None) if value is None else (value - 0.02, value + 0.02)
    return {
        "mean_norm": 1.0,
        "value": value,
        "low": low,
        "high": high,
        "twin": 0.8,
        "twin_low": 0.79,
        "twin_high": 0.81,
        "twins": 5,
        "links": 1234,
    }


def _gains(ways: tuple[str, ...]) -> list[dict[str, Any]]:
    rows = []
    for way in ways:
        for side in RATES:
            for layer in range(LAYERS):
                weight, norm = (rate(side, measure, layer, None, way) for measure in ("weight", "norm"))
                change = norm - weight
                ends = {
                    "low": change - 0.03,
                    "high": change + (0.03 if layer else 0.2),
                    "p": 0.01,
                    "p_corrected": 0.03,
                }
                place = {"direction": way, "stream": "cross", "side": side, "layer": layer}
                rows.append(place | {"weight": weight, "norm": norm, "change": change} | ends)
    return rows


def _pairs(gold: bool) -> list[dict[str, Any]]:
    pairs = [(1, SOURCE, TARGET, "0-0 1-1 2-2", "2-3"), (7, ["ja"], ["oh", "yes"], "0-1", "")]
    found = {"norm, input, layer 2": ["0-0 1-1 1-2 2-3", "0-1"], "weight, input, layer 2": ["0-0", ""]}
    return [
        {
            "pair": number, "source": json.dumps(source), "target": json.dumps(target),
            "sure": sure if gold else None, "possible": possible if gold else None, "method": method,
            "predicted": links[at], "aer": (0.25 if links[at] else 1.0) if gold else None,
        }
        for at, (number, source, target, sure, possible) in enumerate(pairs)
        for method, links in found.items()
    ]  # fmt: skip


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}
