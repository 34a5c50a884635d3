"""What the probes have found, as tables of tidy rows.

Of several untrained twins a row has the mean, unit by unit, so that its interval is over texts as everywhere; how far
the twins lie apart stands in columns of their own. Weights of heads, the layer that was chosen and the course of
training are those of the first twin: a mean of them would be of no probe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    """The tables of all probes in these bundles (the model's, and one for each twin), in the order of the jobs; the
    first is the main one.

    >>> list(tables([], {}, "encoder", (12, 12)))
    ['parse', 'differences', 'head_weights', 'training', 'by_relation', 'structural_layers']
    """
    found: dict[str, list[Bundle]] = {}
    for bundle in bundles:
        for name in bundle:
            found.setdefault(name, []).append(bundle[name])  # type: ignore[arg-type]
    jobs = [job for job in JOBS if job.name in found]
    rows: dict[str, list[Row]] = {
        "parse": [_main(job, found[job.name]) for job in jobs],
        "differences": _differences(jobs, found),
        "head_weights": [row for job in jobs for row in _weights(job, found[job.name][0], stream, heads)],
        "training": [row for job in jobs for row in _training(job, found[job.name][0])],
        "by_relation": [row for job in jobs for row in _relations(job, found[job.name], relations)],
        "structural_layers": [row for job in jobs for row in _layers(job, found[job.name])],
    }
    return {name: as_columns(of_table) for name, of_table in rows.items()}


def _whose(job: Job) -> str:
    return "twin" if job.twin else "model"


def _main(job: Job, bundles: Sequence[Bundle]) -> Row:
    facts = dict(zip(FACTS, _mean(bundles, "facts").tolist(), strict=True))
    first = dict(zip(FACTS, bundles[0]["facts"].result().value.tolist(), strict=True))
    chosen = ""
    if job.kind == "structural":
        chosen = f"layer {first['chosen']:.0f}"
    elif job.kind in ("right", "offset"):
        chosen = f"offset {first['chosen']:+.0f}"
    return {
        "probe": job.name, "reads": job.reads,
        "who": "none" if job.reads in ("position", "offsets") else _whose(job),
        "metric": "UUAS" if job.undirected else "UAS", **_right(bundles, 0), **_reach(job, bundles),
        "validation": facts["dev"], "published": job.published,
        "one_root": _mean(bundles, "one_root").item() if bundles[0]["one_root"].result().n.item() else None,
        "chosen": chosen, "parameters": int(facts["parameters"]), "epochs": round(facts["epochs"]),
        "seconds": round(facts["seconds"], 2),
    }  # fmt: skip


def _mean(bundles: Sequence[Bundle], name: str) -> NDArray[np.float64]:
    """A figure of a probe, the mean over twins."""
    return np.asarray(np.mean([bundle[name].result().value for bundle in bundles], axis=0))


def _tested(bundles: Sequence[Bundle]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What is right on test, unit by unit and the mean over twins, and of how many."""
    tests = [bundle.pooled("test").rows() for bundle in bundles]
    return np.mean([right for right, _ in tests], axis=0), tests[0][1]


def _right(bundles: Sequence[Bundle], place: int) -> Row:
    """What is right on test: of all words, or of those of a relation."""
    right = estimate(*_tested(bundles), (0, 1), hits=len(bundles) == 1)
    return {name: part[place] for name, part in zip(("value", "n", "low", "high"), right, strict=True)}


def _reach(job: Job, bundles: Sequence[Bundle]) -> Row:
    """How many twins there are of a probe on them, and the lowest and the highest where there are several."""
    values = [float(_right([bundle], 0)["value"]) for bundle in bundles]
    low, high = (min(values), max(values)) if len(values) > 1 else (None, None)
    return {"twins": len(bundles) if job.twin else None, "twins_low": low, "twins_high": high}


def _differences(jobs: Sequence[Job], found: Mapping[str, Sequence[Bundle]]) -> list[Row]:
    """What each probe has more than each other of the same measure, on the same units."""
    tests = {job.name: _tested(found[job.name]) for job in jobs}
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


def _relations(job: Job, bundles: Sequence[Bundle], relations: Mapping[str, int]) -> list[Row]:
    if job.undirected:
        return []
    rows = [{"probe": job.name, "relation": name, **_right(bundles, 1 + place)} for name, place in relations.items()]
    return [row for row in rows if row["n"]]


def _layers(job: Job, bundles: Sequence[Bundle]) -> list[Row]:
    if not job.undirected:
        return []
    values = _mean(bundles, "layers")
    return [{"who": _whose(job), "layer": layer, "validation_uuas": value} for layer, value in enumerate(values)]
