"""An invented result of a pruning, with numbers that are easy to check in the page."""

from __future__ import annotations

from typing import Any

from attlas.store import Manifest, Result


def prune_result(*, grouped: bool = False, cut: bool = True, name: str = "tiny", metric: str = "accuracy") -> Result:
    """Three layers of four heads; accuracy falls from .9 in steps that differ by order, or perplexity rises."""
    better = "lower" if metric == "perplexity" else "higher"
    shares = [step / 4 for step in range(5)]
    falls = {
        "importance": [0, -0.01, 0.02, 0.1, 0.4],
        "loss": [0, 0, 0.01, 0.2, 0.4],
        "random": [0, 0.05, 0.2, 0.3, 0.4],
    }
    lines = [("importance", 0), ("loss", 0), *(("random", draw) for draw in range(3))]
    curve = [
        {"order": order, "draw": draw, "share": share, "units": round(12 * share), "heads": round(12 * share),
         "score": score, "low": 0.95 * score, "high": 1.05 * score, "loss": 1 - score / 2, "n": 50}
        for order, draw in lines
        for share, fall in zip(shares, falls[order], strict=True)
        for score in [0.9 - fall * (1 + 0.1 * draw) if better == "higher" else 20 * (1 + fall * (1 + draw))]
    ]  # fmt: skip
    crossing = {"importance": (0.36, 0.58), "loss": (0.475, 0.55), "random": (0.05, None)}
    found = [
        {"order": order, "draw": draw, "fall": fall, "share": crossing[order][place], "low": 0.1, "high": 0.6,
         "score": curve[0]["score"], "metric": metric, "better": better, "n": 50}
        for order, draw in lines
        for place, fall in enumerate((0.01, 0.05))
    ]  # fmt: skip
    width = 2 if grouped else 1
    order = [
        {"stream": "decoder" if grouped else "encoder", "layer": layer, "head": head,
         "unit": (4 * layer + head) // width, "importance": 0.1 * head + 0.05, "importance_size": 0.01 * head,
         "loss": 0.02 * head - 0.01, "loss_low": -0.02, "loss_high": 0.1,
         "importance_turn": (4 * layer + head) // width, "loss_turn": (11 - 4 * layer - head) // width,
         "cut": (head < 2) if cut else None}
        for layer in range(3)
        for head in range(4)
    ]  # fmt: skip
    tables: dict[str, Any] = {"curve": _columns(curve), "shares": _columns(found), "order": _columns(order)}
    if cut:
        tables |= _after(metric, better)
    manifest = Manifest(
        "prune", {"study": "prune", "options": {"task": "classification", "keep": 0.5}}, {"attlas": "0"},
        {"name": name}, {"name": "a book", "passages": 50, "pieces": 900, "chosen_on": 45}, 0, {},
        "2025-01-02T00:00:00+00:00", 3.0,
    )  # fmt: skip
    return Result(manifest, tables)


def _after(metric: str, better: str) -> dict[str, Any]:
    shared = {"low": 0.7, "high": 0.95, "metric": metric, "better": better}
    stages = [("whole", 12, 0.9, None), ("cut", 6, 0.85, 3e-7), ("retuned", 6, 0.89, None)]
    sizes = [
        {"stage": stage, "score": score, "loss": 1 - score, "parameters": 1_000_000 * heads, "heads": heads,
         "file": 4_000_000 * heads, "difference": apart, "plain": None if apart is None else False,
         "silent_layers": None if apart is None else 1, **shared}
        for stage, heads, score, apart in stages
    ]  # fmt: skip
    speed = [
        {"batch": batch, "length": length, "whole": 10.0 * batch, "gated": 10.5 * batch, "pruned": 8.0 * batch,
         "reason": None}
        for length in (32, 128)
        for batch in (1, 8, 64)
    ]  # fmt: skip
    speed.append({"batch": 64, "length": 512, "whole": None, "gated": None, "pruned": None, "reason": "too long"})
    return {"sizes": _columns(sizes), "speed": _columns(speed)}


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}
