"""Invented results of a survey, with the shapes that real ones have and numbers that are plausible."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attlas.store import Manifest, Result

PARTS = ["NOUN", "ADP", "DET", "PROPN", "VERB", "ADJ", "PUNCT", "AUX", "ADV", "PRON", "CCONJ", "NUM", "PART", "SCONJ"]
PREVIOUS = {(2, 0): 0.97, (3, 1): 0.72, (6, 5): 0.61}
NEXT = {(0, 3): 0.58, (1, 4): 0.66, (2, 8): 0.91, (5, 7): 0.55}
LENGTH = 96.0


def survey(
    streams: Mapping[str, tuple[int, int]] | None = None,
    *,
    sep: bool = True,
    annotated: bool = True,
    model: str = "an-invented-model",
    corpus: str = "invented numbers",
    parts: Sequence[str] = PARTS,
    seed: int = 0,
) -> Result:
    """A result of as many layers and heads as each stream is given."""
    streams = streams or {"encoder": (12, 12)}
    rng = np.random.default_rng(seed)
    heads: list[dict[str, Any]] = []
    spearman: list[dict[str, Any]] = []
    frequency: list[dict[str, Any]] = []
    portraits: list[dict[str, Any]] = []
    pos: list[dict[str, Any]] = []
    for stream, (layers, count) in streams.items():
        for layer in range(layers):
            for head in range(count):
                place = {"stream": stream, "layer": layer, "head": head}
                depth = layer / max(1, layers - 1)
                shares = _shares(rng, stream, layer, head, depth, sep)
                for quantity, (weight, norm, chance) in shares.items():
                    heads.append({**place, "measure": "weight", "quantity": quantity, **_value(weight, chance)})
                    heads.append({**place, "measure": "norm", "quantity": quantity, **_value(norm, None)})
                heads += [{**place, "measure": "weight", **row} for row in _spread(rng, depth, shares, sep)]
                if annotated:
                    heads += [{**place, **row} for row in _edges(rng, layer, head)]
                    pos += [{**place, **row} for row in _parts(rng, parts)]
                rho = float(np.clip(rng.normal(-0.45 + 0.2 * depth, 0.22), -0.98, 0.9))
                spearman.append({**place, "value": rho, "n": 118_204.0, "low": rho - 0.01, "high": rho + 0.01})
                for band, (low, high) in enumerate([(1, 10), (11, 100), (101, 1000), (1001, 10_000), (10_001, None)]):
                    length = float((2 + layer / 4) * (0.8 + (0.05 + 0.05 * depth) * band) * rng.normal(1, 0.02))
                    row = {"rank_from": low, "rank_to": high, "value": length, "n": 2000}
                    frequency.append({**place, **row, "low": length * 0.98, "high": length * 1.02})
                name, best = max(
                    ((q, v[0]) for q, v in shares.items() if q != "sep_to_sep"), key=lambda item: item[1]
                )
                sentence = f"puts {best:.2f} on {name}".replace("0.", ".").replace(
                    "on previous", "on the previous piece"
                )
                portraits.append({**place, "sentence": sentence})
    rows = {"heads": heads, "spearman": spearman, "frequency": frequency, "portraits": portraits}
    if annotated:
        rows["pos"] = pos
    tables = {name: {key: [row[key] for row in table] for key in table[0]} for name, table in rows.items()}
    return Result(_manifest(model, corpus, streams), tables)


def _value(value: float, chance: float | None) -> dict[str, Any]:
    half = 0.01 * math.sqrt(max(value * (1 - min(value, 1)), 1e-4)) * 4
    return {"value": value, "chance": chance, "n": 118_204.0, "low": max(0.0, value - half), "high": value + half}


def _shares(
    rng: np.random.Generator, stream: str, layer: int, head: int, depth: float, sep: bool
) -> dict[str, tuple[float, float, float]]:
    mine = stream != "cross"
    previous = PREVIOUS.get((layer, head), float(rng.beta(1.2, 14))) if mine else 0.0
    following = NEXT.get((layer, head), float(rng.beta(1.2, 14))) if mine and stream == "encoder" else 0.0
    previous = min(previous, (1 - following) / 2) if following > 0.5 else previous
    following = min(following, (1 - previous) / 2) if previous > 0.5 else following
    left = 1 - previous - following
    resting = left * float(np.clip(rng.normal(0.12 + 0.9 * math.sin(math.pi * depth) ** 2 * 0.75, 0.12), 0.01, 0.97))
    mild = rng.dirichlet([1, 1.5, 1.5, 8]) * (left - resting)
    self_, cls, punctuation, other = (float(share) for share in mild)
    found = {
        "previous": (previous, min(1.0, previous * 1.02), 0.0104),
        "next": (following, min(1.0, following * 1.02), 0.0104),
        "self": (self_, self_ * 1.1, 0.0104),
        "first": (cls if sep else resting, (cls if sep else resting) * 0.3, 0.0104 if sep else 0.05),
        "cls": (cls, cls * 0.4, 0.0104),
        "sep": (resting, resting * 0.18, 0.0208),
        "punctuation": (punctuation, punctuation * 0.6, 0.08),
        "other": (other, min(1.0, other + resting * 0.7), 0.87),
        "sep_to_sep": (min(0.99, resting + 0.35), min(0.99, resting * 0.3), 0.0208),
    }
    dropped = set() if sep else {"cls", "sep", "sep_to_sep"}
    dropped |= set() if mine else {"previous", "next", "self"}
    dropped |= {"next"} if stream == "decoder" else set()
    return {name: value for name, value in found.items() if name not in dropped}


def _spread(
    rng: np.random.Generator, depth: float, shares: Mapping[str, tuple[float, float, float]], sep: bool
) -> list[dict[str, Any]]:
    peak = max(value[0] for name, value in shares.items() if name not in ("other", "sep_to_sep"))
    entropy = float(np.clip((1 - peak) * 4.3 * rng.uniform(0.7, 1), 0.05, 4.5))
    uniform = math.log(LENGTH)
    rows = [{"quantity": "entropy", **_value(entropy, uniform)}]
    if sep:
        own = float(np.clip(rng.normal(2.2 + 1.6 * depth, 0.5), 0.3, 4.5))
        rows.append({"quantity": "entropy_cls", **_value(own, uniform)})
    if "previous" in shares:
        far = 1 + (1 - shares["previous"][0]) * float(rng.gamma(4, 4))
        rows.append({"quantity": "distance", **_value(far, 32.0)})
    return rows


def _edges(rng: np.random.Generator, layer: int, head: int) -> list[dict[str, Any]]:
    governor = 0.31 if (layer, head) == (1, 1) else float(rng.beta(1.5, 22))
    dependent = float(rng.beta(1.5, 22))
    rows = []
    for quantity, value, chance in (
        ("to_governor", governor, 0.024),
        ("to_dependent", dependent, 0.024),
        ("edges", governor + dependent, 0.048),
    ):
        rows.append({"measure": "weight", "quantity": quantity, **_value(value, chance)})
        rows.append({"measure": "norm", "quantity": quantity, **_value(value * 1.1, None)})
    return rows


def _parts(rng: np.random.Generator, parts: Sequence[str]) -> list[dict[str, Any]]:
    common = np.linspace(2, 0.3, len(parts))
    common /= common.sum()
    return [
        {"measure": measure, "direction": direction, "pos": part, **_value(float(share), float(chance))}
        for measure in ("weight", "norm")
        for direction in ("to", "from")
        for part, share, chance in zip(parts, rng.dirichlet(common * 30 + 0.05), common, strict=True)
    ]


def _manifest(model: str, corpus: str, streams: Mapping[str, tuple[int, int]]) -> Manifest:
    layers, heads = next(iter(streams.values()))
    return Manifest(
        "survey",
        plan={"study": "survey", "model": {"name": model}, "corpus": {"name": corpus}, "batching": {"budget": 128}},
        versions={
            "python": "3.11.9",
            "attlas": "0.1.0",
            "torch": "2.13.0",
            "transformers": "5.22.0",
            "numpy": "2.4.0",
        },
        model={
            "name": model,
            "fingerprint": "3f6c9a12d0",
            "class": "InventedModel",
            "layers": layers,
            "heads": heads,
        },
        corpus={
            "name": corpus,
            "format": "conllu",
            "sha256": "9b74c9897bac770ffc029102a200c5de" * 2,
            "documents": 496,
            "passages": 992,
            "pieces": 118_204,
        },
        seed=0,
        skipped={"longer than the window and cut at a sentence": 37, "words without a piece of their own": 4},
        started="2025-03-12T14:03:11+00:00",
        seconds=193.4,
    )
