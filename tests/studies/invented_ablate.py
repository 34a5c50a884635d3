"""An invented result of an ablation, with numbers that are easy to check in the page."""

from __future__ import annotations

from typing import Any

from attlas.store import Manifest, Result

SCORE, LOSS = 0.9, 0.3


def ablate_result(streams: tuple[str, ...] = ("encoder",), *, other: bool = True, name: str = "tiny") -> Result:
    """Three layers of four heads: head 1-1 hurts when cut, head 2-2 helps, layer 3 needs more than one."""
    heads = [
        _row(stream, layer, head, change)
        for stream in streams
        for layer in range(3)
        for head in range(4)
        for change in [-0.2 if (layer, head) == (0, 0) else 0.1 if (layer, head) == (1, 1) else 0.01 * (head - 2)]
    ]
    survivors = [
        _row(stream, layer, 3 - layer, -0.3 if layer == 2 else 0.0, sure=layer == 2)
        for stream in streams
        for layer in range(3)
    ]
    elsewhere = [{**row, "change": row["change"] / 2} for row in heads]
    for number, row in enumerate(heads):
        row |= {"importance": 0.01 * (number + 1), "normalised": 0.5, "signed": -0.01}
    whole = {"part": "scored", "corpus": "a book", "task": "classification", "metric": "accuracy", "better": "higher"}
    whole |= {"score": SCORE, "loss": LOSS, "chance": 0.6, "n": 200}
    correlation = [_agreement("importance", "score", 0.4), _agreement("importance", "loss", 0.7)]
    tables: dict[str, Any] = {"ablation": _columns(heads), "survivors": _columns(survivors)}
    wholes = [whole]
    if other:
        tables["other"] = _columns(elsewhere)
        wholes.append(whole | {"part": "other", "corpus": "letters", "n": 90})
        correlation += [_agreement("other corpus", "score", 0.65), _agreement("other corpus", "loss", 0.5)]
    tables |= {"whole": _columns(wholes), "correlation": _columns(correlation)}
    manifest = Manifest(
        "ablate",
        {"study": "ablate", "options": {"survivors": True, "means": False}},
        {"attlas": "0"},
        {"name": name},
        {"name": "a book", "passages": 200, "pieces": 900, "chosen_on": 190},
        0,
        {},
        "2025-01-02T00:00:00+00:00",
        3.0,
    )
    return Result(manifest, tables)


def _row(stream: str, layer: int, head: int, change: float, *, sure: bool | None = None) -> dict[str, Any]:
    certain = abs(change) > 0.05 if sure is None else sure
    row: dict[str, Any] = {"stream": stream, "layer": layer, "head": head}
    for prefix, value, base in (("", change, SCORE), ("loss_", -change / 2, LOSS)):
        row |= {"loss" if prefix else "score": base + value, f"{prefix}change": value}
        ends = "loss_change_" if prefix else ""
        row |= {f"{ends}low": value - 0.02, f"{ends}high": value + 0.02}
        row |= {f"{prefix}p": 0.0001 if certain else 0.4, f"{prefix}p_corrected": 0.0012 if certain else 1.0}
    return row | {"n": 200}


def _agreement(with_: str, quantity: str, value: float) -> dict[str, Any]:
    parts = {}
    for kind in ("pearson", "spearman"):
        parts |= {kind: value, f"{kind}_low": value - 0.1, f"{kind}_high": value + 0.1, f"{kind}_p": 0.01}
    return {"with": with_, "quantity": quantity, **parts, "n": 12}


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}
