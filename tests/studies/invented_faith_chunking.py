"""An invented result of the chunking study: an adversary that bends where it is told to."""

from __future__ import annotations

import random
from typing import Any

from attlas.store import Manifest, Result
from attlas.studies.shared.published import CHUNKING_BEND, chunking_f1

WEIGHTS = (0.2, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
KL = dict(zip(WEIGHTS, (0.08, 0.22, 0.52, 1.1, 1.9, 2.9, 4.1), strict=True))
JSD = dict(zip(WEIGHTS, (0.02, 0.05, 0.11, 0.2, 0.29, 0.37, 0.44), strict=True))
F1 = dict(zip(WEIGHTS, (0.899, 0.897, 0.893, 0.88, 0.862, 0.83, 0.78), strict=True))
GUIDED = {
    ("original", "attention kept"): 0.899, ("adversary 0.2", "attention kept"): 0.898,
    ("adversary 3", "attention kept"): 0.888, ("uniform", "attention kept"): 0.861,
    ("random", "attention kept"): 0.845,
    ("original", "none left"): 0.881, ("adversary 0.2", "none left"): 0.878, ("adversary 3", "none left"): 0.842,
    ("uniform", "none left"): 0.79, ("random", "none left"): 0.78,
}  # fmt: skip
BEND = 0.6
SENTENCE = ("He", "reckons", "the", "current", "account", "deficit", "will", "narrow")
MEASURES = ("f1", "nll", "tvd", "kl", "jsd")


def prediction(kl: float) -> tuple[float, float]:
    """NLL and TVD at a divergence: slow before the bend, steep after it."""
    steep = max(0.0, kl - BEND)
    return 0.05 + 0.02 * kl + 0.15 * steep, 0.02 + 0.01 * kl + 0.06 * steep


def faith_chunking_result(*, seeds: int = 3, name: str = "tagger") -> Result:
    draw = random.Random(3)
    itself = {"nll": prediction(0)[0], "tvd": 0.0, "kl": 0.0, "jsd": 0.0}
    models = [_model("original", seed, 0.9 + draw.gauss(0, 0.002)) | itself for seed in range(seeds)]
    for weight in WEIGHTS:
        for seed in range(seeds if weight in (0.2, 3.0) else 1):
            kl = KL[weight] * draw.uniform(0.97, 1.03)
            nll, tvd = prediction(kl)
            row = _model("adversary", seed, F1[weight] + draw.gauss(0, 0.002), weight=weight)
            models.append(row | {"kl": kl, "nll": nll, "tvd": tvd, "jsd": JSD[weight]})
    for (attention, form), f1 in GUIDED.items():
        row = _model("guided", 0, f1, attention=attention, form=form)
        models.append(row | {"kl": 0.0, "nll": 0.06, "tvd": 0.03, "jsd": 0.0})
    summary = _summary(models)
    tables: dict[str, Any] = {"models": _columns(models), "summary": _columns(summary)}
    between = [
        {"kind": "seed", "seed": one, "other": other, "f1": 0.9, "nll": 0.11, "tvd": 0.04 + 0.002 * other, "kl": 0.9,
         "jsd": 0.15 + 0.01 * one}
        for one in range(seeds) for other in range(one)
    ]  # fmt: skip
    between.append(
        {"kind": "uniform", "seed": 0, "other": 0, "f1": 0.86, "nll": 0.2, "tvd": 0.07, "kl": 1.2, "jsd": 0.21}
    )
    tables["seeds"] = _columns(between)
    tables["bend"] = _columns([
        {"attention": attention, "prediction": found, "at": at, "at_low": 0.8 * at if seeds > 1 else None,
         "at_high": 1.2 * at if seeds > 1 else None, "slope_before": 0.02, "slope_after": 0.17, "gain": 0.94,
         "method": "two straight lines that meet, least squares", "points": len(WEIGHTS) + 1, "seeds": seeds,
         "published": CHUNKING_BEND if (attention, found) == ("kl", "nll") else None}
        for attention, at in (("kl", BEND), ("jsd", 0.12)) for found in ("nll", "tvd")
    ])  # fmt: skip
    tables["ranks"] = _columns([
        {"weight": weight, "seed": 0, "side": "before" if KL[weight] < BEND else "after",
         "kendall": 0.9 - 0.2 * weight, "kendall_low": 0.88 - 0.2 * weight, "kendall_high": 0.92 - 0.2 * weight,
         "first": 0.95 - 0.25 * weight, "n": 47377}
        for weight in WEIGHTS
    ])  # fmt: skip
    tables["per_instance"] = _columns([
        {"number": number, "tvd": draw.uniform(0.001, 0.0099), "jsd": draw.uniform(0.25, 0.66), "within": True,
         "bound": 0.01}
        for number in range(120)
    ])  # fmt: skip
    tables |= _examples(draw)
    corpus: dict[str, Any] = {
        "name": "train.txt", "train": "train.txt", "test": {"name": "test.txt", "format": "conll2000"},
        "sentences": 8936, "test_sentences": 2012, "words": 211727, "vocabulary": 19122, "unknown": 0.07,
    }  # fmt: skip
    plan = {"study": "faith-chunking", "options": {"divergence": "kl", "seeds": seeds}}
    manifest = Manifest(
        "faith-chunking", plan, {"attlas": "0"}, {"name": name}, corpus, 0, {}, "2025-01-02T00:00:00+00:00", 900.0
    )
    return Result(manifest, tables)


def _model(
    kind: str, seed: int, f1: float, *, attention: str = "", form: str = "", weight: float | None = None
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "kind": kind,
        "attention": attention,
        "form": form,
        "weight": weight,
        "seed": seed,
        "f1": f1,
    }
    row |= {"f1_low": f1 - 0.006, "f1_high": f1 + 0.006, **dict.fromkeys(MEASURES[1:])}
    return row | {"published": chunking_f1(kind, attention, form, weight), "epochs": 8, "seconds": 30.0}


def _summary(models: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for key in dict.fromkeys((row["kind"], row["attention"], row["form"], row["weight"]) for row in models):
        these = [row for row in models if (row["kind"], row["attention"], row["form"], row["weight"]) == key]
        row: dict[str, Any] = dict(zip(("kind", "attention", "form", "weight"), key, strict=True)) | {
            "seeds": len(these)
        }
        for name in MEASURES:
            values = [one[name] for one in these if one[name] is not None]
            mean = sum(values) / len(values) if values else None
            spread = 0.004 if len(values) > 1 else None
            row |= {name: mean, f"{name}_low": None if spread is None else mean - spread,
                    f"{name}_high": None if spread is None else mean + spread}  # fmt: skip
        rows.append(row | {"published": these[0]["published"]})
    return rows


def _examples(draw: random.Random) -> dict[str, Any]:
    rows = []
    for weight in (0.0, 0.2, 3.0):
        for head in range(2):
            for query in range(len(SENTENCE)):
                values = [draw.random() ** (1 + 3 * head) for _ in SENTENCE]
                rows += [
                    {
                        "sentence": 0,
                        "weight": weight,
                        "head": head,
                        "query": query,
                        "key": key,
                        "value": value / sum(values),
                    }
                    for key, value in enumerate(values)
                ]
    tags = ("B-NP", "B-VP", "B-NP", "I-NP", "I-NP", "I-NP", "B-VP", "I-VP")
    wrong = ("B-NP", "B-VP", "B-NP", "I-NP", "I-NP", "I-NP", "B-VP", "B-NP")
    sentences = [
        {"sentence": 0, "word": number, "spelled": word, "gold": tags[number], "original": tags[number],
         "adversary 0.2": tags[number], "adversary 3": wrong[number]}
        for number, word in enumerate(SENTENCE)
    ]  # fmt: skip
    return {"examples": _columns(rows), "sentences": _columns(sentences)}


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}
