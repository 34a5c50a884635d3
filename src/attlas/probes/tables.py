"""What the probes have found, as tables of tidy rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attlas.probes.parse import FACTS, JOBS, Job
from attlas.stats import Bundle
from attlas.stats.intervals import estimate
from attlas.store.columns import as_columns

_LEARNING = ("train_loss", "validation_loss", "validation_score")
DIRECTIONS = ("governor to dependent", "dependent to governor")

Row = dict[str, Any]


def tables(
    bundles: Sequence[Bundle], relations: Mapping[str, int], stream: str, heads: tuple[int, int]
) -> dict[str, dict[str, list[Any]]]:
    """The tables of all probes in these bundles, in the order of the jobs; the first is the main one.

    >>> list(tables([], {}, "encoder", (12, 12)))
    ['parse', 'differences', 'head_weights', 'training', 'by_relation', 'structural_layers']
    """
    found: dict[str, Bundle] = {name: bundle[name] for bundle in bundles for name in bundle}  # type: ignore[misc]
    jobs = [job for job in JOBS if job.name in found]
    rows: dict[str, list[Row]] = {
        "parse": [_main(job, found[job.name]) for job in jobs],
        "differences": _differences(jobs, found),
        "head_weights": [row for job in jobs for row in _weights(job, found[job.name], stream, heads)],
        "training": [row for job in jobs for row in _training(job, found[job.name])],
        "by_relation": [row for job in jobs for row in _relations(job, found[job.name], relations)],
        "structural_layers": [row for job in jobs for row in _layers(job, found[job.name])],
    }
    return {name: as_columns(of_table) for name, of_table in rows.items()}


def _whose(job: Job) -> str:
    return "twin" if job.twin else "model"


def _main(job: Job, bundle: Bundle) -> Row:
    facts = dict(zip(FACTS, bundle["facts"].result().value.tolist(), strict=True))
    roots = bundle["one_root"].result()
    chosen = ""
    if job.kind == "structural":
        chosen = f"layer {facts['chosen']:.0f}"
    elif job.kind in ("right", "offset"):
        chosen = f"offset {facts['chosen']:+.0f}"
    return {
        "probe": job.name, "reads": job.reads,
        "who": "none" if job.reads in ("position", "offsets") else _whose(job),
        "metric": "UUAS" if job.undirected else "UAS", **_right(bundle, 0), "validation": facts["dev"],
        "published": job.published, "one_root": roots.value.item() if roots.n.item() else None, "chosen": chosen,
        "parameters": int(facts["parameters"]), "epochs": int(facts["epochs"]),
        "seconds": round(facts["seconds"], 2),
    }  # fmt: skip


def _right(bundle: Bundle, place: int) -> Row:
    """What is right on test: of all words, or of those of a relation."""
    right = bundle.pooled("test").result((0, 1), hits=True)
    return {name: part[place] for name, part in zip(("value", "n", "low", "high"), right, strict=True)}


def _differences(jobs: Sequence[Job], found: Mapping[str, Bundle]) -> list[Row]:
    """What each probe has more than each other of the same measure, on the same units."""
    tests = {job.name: found[job.name].pooled("test").rows() for job in jobs}
    rows: list[Row] = []
    for place, one in enumerate(jobs):
        for other in jobs[:place]:
            if one.undirected == other.undirected:
                (ours, counts), (theirs, _) = tests[one.name], tests[other.name]
                more = estimate(ours[:, 0] - theirs[:, 0], counts[:, 0], (-1, 1))
                ends = {"value": more.value.item(), "low": more.low.item(), "high": more.high.item()}
                rows.append({"probe": one.name, "other": other.name, **ends})
    return rows


def _weights(job: Job, bundle: Bundle, stream: str, heads: tuple[int, int]) -> list[Row]:
    if job.kind != "attention":
        return []
    weight, effect = bundle["weights"].result().value.reshape(2, len(DIRECTIONS), *heads)
    return [
        {"who": _whose(job), "stream": stream, "layer": layer, "head": head, "direction": direction,
         "weight": weight[d, layer, head], "effect": effect[d, layer, head]}
        for d, direction in enumerate(DIRECTIONS)
        for layer, head in np.ndindex(*heads)
    ]  # fmt: skip


def _training(job: Job, bundle: Bundle) -> list[Row]:
    history = bundle["history"].result()
    return [
        {"probe": job.name, "epoch": epoch + 1, **dict(zip(_LEARNING, history.value[epoch], strict=True))}
        for epoch in range(len(history.value))
        if history.n[epoch, 0]
    ]


def _relations(job: Job, bundle: Bundle, relations: Mapping[str, int]) -> list[Row]:
    if job.undirected:
        return []
    rows = [{"probe": job.name, "relation": name, **_right(bundle, 1 + place)} for name, place in relations.items()]
    return [row for row in rows if row["n"]]


def _layers(job: Job, bundle: Bundle) -> list[Row]:
    if not job.undirected:
        return []
    values = bundle["layers"].result().value
    return [{"who": _whose(job), "layer": layer, "validation_uuas": value} for layer, value in enumerate(values)]
