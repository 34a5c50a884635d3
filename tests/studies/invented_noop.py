"""An invented result of a no-op test, with numbers that are easy to check in the page."""

from __future__ import annotations

from typing import Any

from attlas.store import Manifest, Result

KEYS = ("cls", "sep", "punctuation", "other", "self", "previous", "next")
RATIOS = {"cls": [1.2, 1.1, 1.0, 1.0], "sep": [1.5, 0.4, 0.2, 0.05]}
WEIGHTS = {"cls": 0.1, "sep": 0.6, "other": 0.2}
NORMS = {"cls": 0.1, "sep": 0.07, "other": 0.7}


def noop_result(
    streams: tuple[str, ...] = ("encoder",), majority: float | None = None, name: str = "tiny", norms: bool = True
) -> Result:
    """Four layers of three heads; [SEP] fades from layer to layer. Older results have no norms."""
    heads: list[dict[str, Any]] = []
    layers: list[dict[str, Any]] = []
    for stream in streams:
        for layer in range(4):
            for key in KEYS:
                ratio, weight = RATIOS.get(key, [1.0] * 4)[layer], WEIGHTS.get(key, 0.1)
                place = {"stream": stream, "layer": layer, "keys": key}
                base = 0.01 * (layer + 1)
                shared = {"value": base * ratio, "n": 20.0, "low": base * ratio * 0.9, "high": base * ratio * 1.1}
                shared |= {"pairs": 900.0, "relative": ratio, "paid": base * ratio * weight, "weight": weight}
                shared |= {"twin": 0.02, "twin_relative": 1.0, "twin_paid": 0.002, "twin_weight": 0.1}
                if norms:
                    shared |= {"norm": NORMS.get(key, 0.1), "twin_norm": 0.11}
                ends = {"relative_low": ratio * 0.9, "relative_high": ratio * 1.1, "paid_share": weight / 2}
                ends |= {"twin_low": 0.01, "twin_high": 0.03, "twin_relative_low": 0.9, "twin_relative_high": 1.1}
                layers.append(place | shared | ends | {"twin_paid_share": 0.1})
                heads += [place | {"head": head} | shared for head in range(3)]
    loss = {"task": "tagging:upos" if majority else "masked-lm", "value": 1.5, "low": 1.4, "high": 1.6, "n": 1234.0}
    loss |= {"accuracy": 0.7, "accuracy_low": 0.6, "accuracy_high": 0.8, "chance": 2.8, "chance_accuracy": majority}
    loss |= {"majority_tag": "NOUN" if majority else None, "passes": 3.0 if majority else None}
    loss |= {f"twin_{name}": loss[name] for name in ("low", "high", "accuracy_low", "accuracy_high")}
    loss |= {"twin": 2.7, "twin_accuracy": 0.2}
    manifest = Manifest(
        "noop",
        {"study": "noop"},
        {"attlas": "0"},
        {"name": name},
        {"name": "a book", "passages": 20, "pieces": 900},
        0,
        {},
        "2025-01-02T00:00:00+00:00",
        3.0,
    )
    tables = {"noop": _columns(heads), "noop_layers": _columns(layers), "loss": _columns([loss])}
    return Result(manifest, tables)


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}
