"""Finished runs of ``attlas layers`` in no time: probes of random weights, and the tables of a run beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from attlas.capture import Subject
from attlas.probes.edges.kept import FILE, keep
from attlas.probes.edges.series import Series, allowed_for, specs_for
from attlas.probes.edges.states import Mixable
from attlas.store import Manifest, Result


def run_folder(
    folder: Path,
    subject: Subject,
    task: str,
    *,
    paired: bool = False,
    labels: Sequence[str] = ("NN", "VB", "IN"),
    over: str = "layers",
    probes: bool = True,
    seed: int = 0,
) -> Path:
    """The folder of a run of a task on a model, whose probes were never trained."""
    tables_of(subject, task, labels, over=over, seed=seed).save(folder)
    if probes:
        mixable = Mixable(subject, over)
        specs = specs_for(mixable.origins)
        torch.manual_seed(seed)
        allowed = allowed_for(specs, mixable.origins)
        series = Series(allowed, mixable.size, len(labels), paired=paired, width=4, hidden=5)
        with torch.no_grad():
            for parameter in series.parameters():
                parameter.normal_()
        about = {"task": task, "labels": list(labels), "model": subject.describe(), "over": over, "lengths": "usual"}
        keep(folder / FILE, series, specs, mixable.origins, [1.0] * len(mixable.origins), about)
    return folder


def tables_of(subject: Subject, task: str, labels: Sequence[str], *, over: str, seed: int) -> Result:
    """What such a run has found, in as few rows as will do."""
    whose = {"task": task, "who": "model", "labels": "gold"}
    measures = {"score": 0.9, "score at layer 0": 0.7, "expected layer": 1.5}
    main = [{**whose, "measure": name, "value": value, "low": 0.6, "high": 0.95, "n": 1}
            for name, value in measures.items()]  # fmt: skip
    scores = [{**whose, "series": "cumulative", "layer": layer, "seed": seed, "value": 0.7 + layer / 10, "low": 0.6,
               "high": 0.95, "difference": 0.1 if layer else None, "difference_low": None, "difference_high": None,
               "selectivity": None, "validation": 0.7, "n": 20} for layer in range(3)]  # fmt: skip
    heads = (0, 1) if over == "heads" else (None,)
    weights = [{**whose, "seed": seed, "layer": 0, "head": head, "value": 0.25, "gamma": 1.0} for head in heads]
    about = [{"task": task, "label": label, "seed": one, "layer": layer, "value": value, "train": 40, "test": 4}
             for label in labels for layer in (0, 3) for one, value in ((0, 0.5), (1, 0.7))]  # fmt: skip
    parts = {"train": {"sentences": 9, "edges": 90}, "test": {"sentences": 2, "edges": 20}}
    about_task = {"name": f"{task} data", "parts": parts, "labels": len(labels)}
    manifest = Manifest(
        "layers", {"options": {"task": task, "over": over}, "seed": seed}, {"attlas": "1"}, subject.describe(),
        {"name": f"{task} data", "passages": 11, "pieces": 99, "tasks": {task: about_task}},
        seed, {"texts without an edge": 2}, f"2025-01-0{seed + 1}T00:00:00+00:00", 2.0,
    )  # fmt: skip
    tables = {"tasks": main, "scores": scores, "weights": weights, "labels": about}
    return Result(manifest, {name: _columns(rows) for name, rows in tables.items()})


def _columns(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}
