"""What the probes have found, as tables of tidy rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.probes.parse import FACTS, JOBS, Job
from attlas.stats import Bundle, Resampled
from attlas.store.columns import as_cell

DIRECTIONS = ("governor to dependent", "dependent to governor")

Columns = dict[str, list[Any]]


def tables(
    bundles: Sequence[Bundle], relations: Mapping[str, int], stream: str, heads: tuple[int, int]
) -> dict[str, Columns]:
    """The tables of all probes in these bundles, in the order of the jobs; the first is the main one.

    >>> list(tables([], {}, "encoder", (12, 12)))
    ['parse', 'differences', 'head_weights', 'training', 'by_relation', 'structural_layers']
    """
    found: dict[str, Bundle] = {}
    for bundle in bundles:
        for name in bundle:
            part = bundle[name]
            assert isinstance(part, Bundle)
            found[name] = part
    jobs = [job for job in JOBS if job.name in found]
    return {
        "parse": _columns(_PARSE, [_main(job, found[job.name]) for job in jobs]),
        "differences": _columns(_DIFFERENCES, _differences(jobs, found)),
        "head_weights": _columns(_WEIGHTS, [row for j in jobs for row in _weights(j, found[j.name], stream, heads)]),
        "training": _columns(_TRAINING, [row for j in jobs for row in _training(j, found[j.name])]),
        "by_relation": _columns(_RELATIONS, [row for j in jobs for row in _relations(j, found[j.name], relations)]),
        "structural_layers": _columns(_LAYERS, [row for j in jobs for row in _layers(j, found[j.name])]),
    }  # fmt: skip


_PARSE = ("probe", "reads", "who", "metric", "value", "n", "low", "high", "validation", "published", "one_root",
          "chosen", "parameters", "epochs", "seconds")  # fmt: skip
_DIFFERENCES = ("probe", "other", "value", "low", "high")
_WEIGHTS = ("who", "stream", "layer", "head", "direction", "weight", "effect")
_TRAINING = ("probe", "epoch", "train_loss", "validation_loss", "validation_score")
_RELATIONS = ("probe", "relation", "value", "n", "low", "high")
_LAYERS = ("who", "layer", "validation_uuas")


def _columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Columns:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _whose(job: Job) -> str:
    return "twin" if job.twin else "model"


def _main(job: Job, bundle: Bundle) -> list[Any]:
    test = bundle["test"].result()
    facts = dict(zip(FACTS, bundle["facts"].result().value.tolist(), strict=True))
    roots = bundle["one_root"].result()
    chosen = ""
    if job.kind == "structural":
        chosen = f"layer {facts['chosen']:.0f}"
    elif job.kind in ("right", "offset"):
        chosen = f"offset {facts['chosen']:+.0f}"
    value, n, low, high = (as_cell(part[0]) for part in test)
    return [
        job.name,
        job.reads,
        "none" if job.reads in ("position", "offsets") else _whose(job),
        "UUAS" if job.undirected else "UAS",
        value,
        n,
        low,
        high,
        facts["dev"],
        job.published,
        as_cell(roots.value.item()) if roots.n.item() else None,
        chosen,
        int(facts["parameters"]),
        int(facts["epochs"]),
        round(facts["seconds"], 2),
    ]


def _differences(jobs: Sequence[Job], found: Mapping[str, Bundle]) -> list[list[Any]]:
    """What each probe has more than each other of the same measure; all are resampled by the same sentences."""
    means: dict[str, NDArray[np.float64]] = {}
    for job in jobs:
        test = found[job.name]["test"]
        assert isinstance(test, Resampled)
        means[job.name] = test.means()[:, 0]
    rows: list[list[Any]] = []
    for place, one in enumerate(jobs):
        for other in jobs[:place]:
            if one.undirected == other.undirected:
                more = means[one.name] - means[other.name]
                low, high = np.nanquantile(more[1:], (0.025, 0.975))
                rows.append([one.name, other.name, *(as_cell(value) for value in (more[0], low, high))])
    return rows


def _weights(job: Job, bundle: Bundle, stream: str, heads: tuple[int, int]) -> list[list[Any]]:
    if job.kind != "attention":
        return []
    weight, effect = bundle["weights"].result().value.reshape(2, len(DIRECTIONS), *heads)
    return [
        [_whose(job), stream, layer, head, direction, float(weight[d, layer, head]), float(effect[d, layer, head])]
        for d, direction in enumerate(DIRECTIONS)
        for layer, head in np.ndindex(*heads)
    ]


def _training(job: Job, bundle: Bundle) -> list[list[Any]]:
    history = bundle["history"].result()
    return [
        [job.name, epoch + 1, *(as_cell(value) for value in history.value[epoch])]
        for epoch in range(len(history.value))
        if history.n[epoch, 0]
    ]


def _relations(job: Job, bundle: Bundle, relations: Mapping[str, int]) -> list[list[Any]]:
    if job.undirected:
        return []
    test = bundle["test"].result()
    return [
        [job.name, relation, *(as_cell(part[1 + number]) for part in test)]
        for relation, number in relations.items()
        if test.n[1 + number]
    ]


def _layers(job: Job, bundle: Bundle) -> list[list[Any]]:
    if not job.undirected:
        return []
    return [[_whose(job), layer, value] for layer, value in enumerate(bundle["layers"].result().value.tolist())]
