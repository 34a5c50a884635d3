"""An invented result of edge probing: scores of tasks rise at places of our choice, on sentences drawn by a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attlas.probes.edges.linear import linear_specs
from attlas.probes.edges.series import Origin, Spec, Trained, specs_for
from attlas.probes.edges.tables import tables_of
from attlas.store import Manifest, Result

# of each task: score at layer 0, of all layers, and where it rises, as a share of the depth
SHAPES = {
    "pos": (0.88, 0.95, 0.15),
    "constituents": (0.70, 0.83, 0.2),
    "dependencies": (0.80, 0.93, 0.27),
    "entities": (0.86, 0.90, 0.2),
    "roles": (0.74, 0.86, 0.3),
    "coreference": (0.72, 0.78, 0.5),
    "proto-roles": (0.76, 0.80, 0.25),
    "relations": (0.45, 0.66, 0.45),
}
LABELS = ("NN", "VB", "DT", "JJ", "IN", "</script><script>window.broken = true</script>", "PRP", "RB", "CD", "UH")


def invented(
    tasks: Sequence[str] = tuple(SHAPES),
    *,
    layers: int = 12,
    seeds: Mapping[str, int] | None = None,
    heads: int = 0,
    controls: bool = True,
    name: str = "tiny",
    sentences: int = 300,
) -> Result:
    """A result as `attlas layers` leaves it, or several joined."""
    columns: dict[str, dict[str, list[Any]]] = {}
    about = {}
    for number, task in enumerate(tasks):
        count = (seeds or {}).get(task, 1)
        origins = _sources(layers, heads)
        runs = [
            _trained(task, model, seed, origins, controls, sentences, number)
            for model in (("model", "twin") if controls else ("model",))
            for seed in range(count if model == "model" else 1)
        ]
        counts = [int(2000 / (k + 1)) for k in range(len(LABELS))]
        made = tables_of(task, runs, origins, LABELS, counts, [k // 8 for k in counts], 0.2, 0)
        for table, found in made.items():
            whole = columns.setdefault(table, {key: [] for key in found})
            for key, values in found.items():
                whole[key] += values
        about[task] = {
            "name": f"{task}.jsonl", "labels": len(LABELS), "types_known": 0.83, "epochs": 5, "store_bytes": 10**9,
            "unseen": {"dev": {}, "test": {"XX": 3} if task == "pos" else {}},
            "parts": {part: {"sentences": 900, "edges": 4000} for part in ("train", "dev", "test")},
        }  # fmt: skip
    manifest = Manifest(
        "layers" if len(tasks) == 1 else "layers-together", model={"name": name, "fingerprint": "0123456789abcdef"},
        corpus={"name": "several" if len(tasks) > 1 else f"{tasks[0]}.jsonl", "tasks": about},
        plan=_plan(tasks, name, "heads" if heads else "layers"), started="2025-01-02T00:00:00+00:00", seconds=99.0,
    )  # fmt: skip
    return Result(manifest, columns)


def _plan(tasks: Sequence[str], name: str, over: str) -> dict[str, Any]:
    plans = [
        {
            "options": {"task": task, "over": over, "seeds": 1, "epochs": None, "limit": None},
            "corpus": {"name": f"{task}.jsonl", "sha256": "ab" * 32, "test": {"name": f"{task}-test.jsonl"}},
            "model": {"name": name}, "seed": 0,
        }
        for task in tasks
    ]  # fmt: skip
    return plans[0] if len(plans) == 1 else {"options": {"together": plans, "over": over}}


def _sources(layers: int, heads: int) -> list[Origin]:
    if not heads:
        return [Origin(layer) for layer in range(layers + 1)]
    return [Origin(layer, head) for layer in range(1, layers + 1) for head in range(heads)]


def _trained(
    task: str, model: str, seed: int, origins: Sequence[Origin], controls: bool, sentences: int, number: int
) -> Trained:
    rng = np.random.default_rng([seed, number, model == "model"])
    specs = (*specs_for(origins, control=controls), *dict.fromkeys(linear_specs(origins)))
    deepest = max(source.layer for source in origins)
    scores = np.array([_score(task, model, spec, deepest) for spec in specs])
    scores += rng.normal(0, 0.002, len(specs))
    given = rng.integers(3, 12, sentences)
    luck = rng.random((sentences, 12))
    right = (luck[None, :, :] < scores[:, None, None]) & (np.arange(12) < given[:, None])
    common = right.sum(-1)
    marks = np.stack([common, np.broadcast_to(given, common.shape), np.broadcast_to(given, common.shape)], -1)
    sizes = 250 / (1 + np.arange(len(LABELS)))
    parts = scores[:, None] * (1 - 0.04 * np.arange(len(LABELS))) * sizes
    label_marks = np.stack([parts, *[np.broadcast_to(sizes, parts.shape)] * 2], -1)
    logits = -0.5 * (np.array([s.layer for s in origins]) / deepest - 0.45 - 0.2 * SHAPES[task][2]) ** 2 * 12
    logits = logits * (model == "model") + rng.normal(0, 0.15, len(origins))
    allowed = np.array([[spec.sees(source) for source in origins] for spec in specs])
    weights = np.where(allowed, np.exp(logits), 0)
    weights = weights / weights.sum(-1, keepdims=True)
    dev, gammas = scores - 0.005, np.ones(len(specs))
    forced = marks + np.array([1.0, 0.0, 0.0]) * (
        marks[..., :1] < marks[..., 2:]
    )  # one more of each sentence is right
    return Trained(model, seed, specs, marks.astype(float), label_marks, weights, gammas, dev, forced)


def _score(task: str, model: str, spec: Spec, deepest: int) -> float:
    base, whole, where = SHAPES[task]
    if model == "twin":
        base, whole = base - 0.03, base - 0.02
    if spec.labels == "control":
        return 0.55 * base
    depth = spec.layer / deepest
    risen = (1 - np.exp(-depth / where)) / (1 - np.exp(-1 / where))
    fall = 0.03 * max(0.0, depth - 0.6) if spec.series == "single" else 0.0
    if spec.series == "linear":  # for semantic roles the network is made to underfit
        fall = -0.02 if task == "roles" else 0.03
    return float(base + (whole - base) * risen - fall)
