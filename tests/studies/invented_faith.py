"""An invented result of the general study of attention as explanation: main numbers by hand, instances drawn."""

from __future__ import annotations

import random
from typing import Any

from attlas.store import Manifest, Result

REFERENCES = ("gradient", "integrated gradients", "leave-one-out")
# explanation, layers, heads: tau with each reference (none with itself), overlap, comprehensiveness, sufficiency
EXPLANATIONS: dict[tuple[str, str, str], tuple[tuple[float | None, ...], float, float, float]] = {
    ("weight", "last", "mean"): ((0.21, 0.12, 0.15), 0.24, 0.142, 0.181),
    ("norm", "last", "mean"): ((0.30, 0.19, 0.22), 0.33, 0.171, 0.160),
    ("weight", "all", "mean"): ((0.11, 0.06, 0.05), 0.15, 0.088, 0.240),
    ("norm", "all", "mean"): ((0.25, 0.14, 0.16), 0.28, 0.150, 0.172),
    ("rollout", "all", "mean"): ((-0.04, -0.02, -0.01), 0.07, 0.051, 0.262),
    ("gradient", "", ""): ((None, 0.31, 0.34), 0.41, 0.224, 0.121),
    ("integrated gradients", "", ""): ((0.31, None, 0.44), 0.46, 0.262, 0.090),
    ("leave-one-out", "", ""): ((0.34, 0.44, None), 0.48, 0.301, 0.084),
    ("position", "", ""): ((0.02, -0.01, 0.03), 0.10, 0.060, 0.250),
    ("random", "", ""): ((0.0, 0.003, -0.002), 0.11, 0.062, 0.247),
}
INTERVENTIONS: list[tuple[str, str, str, float, float, float, float, float]] = [
    # intervention, layers, name, change, p, tvd, median, jsd
    ("uniform", "last", "", -0.004, 0.61, 0.021, 0.008, 0.19),
    ("uniform", "all", "", -0.302, 0.0001, 0.402, 0.43, 0.24),
    ("permuted", "last", "", -0.006, 0.44, 0.034, 0.012, 0.27),
    ("permuted", "all", "", -0.241, 0.0001, 0.331, 0.35, 0.29),
    ("adversary", "last", "", 0.0, 1.0, 0.009, 0.0098, 0.51),
    ("frozen", "all", "minilm-seed1.safetensors", -0.021, 0.04, 0.081, 0.05, 0.09),
    ("other model", "all", "minilm-seed1", 0.003, 0.71, 0.071, 0.03, 0.06),
    ("evened model", "all", "minilm-even", -0.043, 0.003, 0.15, 0.06, 0.24),
]
SENTENCES = [
    ("a gorgeous , witty , seductive movie .", "positive", "positive"),
    ("it 's a charming and often affecting journey .", "positive", "positive"),
    ("unflinchingly bleak and desperate", "negative", "negative"),
    ("the film 's plot is <b>almost</b> entirely witless , carrying gags two or three times", "negative", "negative"),
    ("you do n't have to know about music to appreciate the film 's blend of comedy", "positive", "positive"),
    ("hardly a masterpiece , but it introduces viewers to a good charitable enterprise", "positive", "negative"),
]  # fmt: skip
CARD = [
    ("tau_gradient", "agreement with gradients", 0.21, 0.19, 0.23, "does not hold", "far from what gradients have"),
    ("tau_leave_one_out", "agreement with leave-one-out", 0.15, 0.13, 0.17, "does not hold", "gradients have .34"),
    ("permuted", "permuted attention: median change of the output", 0.012, 0.01, 0.015, "does not hold",
     "half of the texts hardly notice"),
    ("adversary", "adversary: divergence of attention, of ln 2", 0.52, 0.5, 0.54, "does not hold",
     "very different attention gives the same answer"),
    ("uniform", "evened model: change of accuracy", -0.043, -0.07, -0.016, "holds", "the task needs attention"),
    ("comprehensiveness", "erasing the most attended words, over random ones", 0.08, 0.06, 0.1, "holds",
     "more is lost than with random words"),
    ("paragraph", "", None, None, None, "",
     "A picture of this attention may be read as where the model looks; it may not be read as why it answers so."),
]  # fmt: skip


BARS = [  # of the card's figures: the bar, how far the figure is beyond it, and the interval of that
    (0.34, -0.13, -0.15, -0.11), (0.34, -0.19, -0.21, -0.17), (0.1, -0.088, -0.09, -0.085),
    (0.311, -0.209, -0.23, -0.19), (-0.02, 0.023, 0.001, 0.05), (0.05, 0.03, 0.01, 0.05),
    (None, None, None, None),
]  # fmt: skip


def faith_result(*, name: str = "minilm-sst", instances: int = 160, tagging: bool = False) -> Result:
    draw = random.Random(5)
    tables: dict[str, Any] = {
        "agreement": _columns(_agreement(instances)),
        "erasure": _columns(_erasure(instances)),
        "interventions": _columns(_interventions(instances)),
        "instances": _columns(_instances(draw, instances, tagging)),
        "examples": _columns(_examples(draw, tagging)),
        "card": {key: [row[place] for row in CARD] for place, key in enumerate(
            ("figure", "name", "value", "low", "high", "verdict", "says"))} | {
            key: [bar[place] for bar in BARS]
            for place, key in enumerate(("bar", "margin", "margin_low", "margin_high"))},
        "whole": _columns([{
            "task": "tagging:chunks" if tagging else "classification", "metric": "accuracy", "better": "higher",
            "score": 0.912, "score_low": 0.87, "score_high": 0.95, "chance_score": 0.5, "n": instances,
            "texts": instances, "layers": "last", "heads": "mean",
            "attention": "mean over the heads of layer 6, read at [CLS]",
        }]),
    }  # fmt: skip
    manifest = Manifest(
        "faith",
        {"study": "faith", "options": {"task": "classification", "bound": 0.01, "permutations": 100}},
        {"attlas": "0"},
        {"name": name, "fingerprint": "ab12"},
        {"name": "sst-test", "passages": instances, "pieces": 3100},
        0,
        {"too long": 2},
        "2025-01-02T00:00:00+00:00",
        93.0,
    )  # fmt: skip
    return Result(manifest, tables)


def _agreement(n: int) -> list[dict[str, Any]]:
    return [
        {"explanation": explanation, "layers": layers, "heads": heads, "against": against, "tau": tau,
         "low": tau - 0.02, "high": tau + 0.02, "significant": min(1.0, 0.05 + abs(tau)), "overlap": overlap,
         "overlap_low": overlap - 0.03, "overlap_high": overlap + 0.03, "k": 1.8, "n": n}
        for (explanation, layers, heads), (taus, overlap, _, _) in EXPLANATIONS.items()
        for against, tau in zip(REFERENCES, taus, strict=True)
        if tau is not None
    ]  # fmt: skip


def _erasure(n: int) -> list[dict[str, Any]]:
    chance = EXPLANATIONS["random", "", ""][2]
    rows = []
    for (explanation, layers, heads), (_, _, lost, kept) in EXPLANATIONS.items():
        row: dict[str, Any] = {"explanation": explanation, "layers": layers, "heads": heads}
        over = None if explanation == "random" else lost - chance
        for key, value in (("comprehensiveness", lost), ("sufficiency", kept), ("over_random", over)):
            row |= {key: value}
            row |= {
                f"{key}_{end}": None if value is None else value + step
                for end, step in (("low", -0.02), ("high", 0.02))
            }
        rows.append(row | {"n": n})
    return rows  # fmt: skip


def _interventions(n: int) -> list[dict[str, Any]]:
    return [
        {"p_corrected": min(1.0, len(INTERVENTIONS) * p),
         "intervention": kind, "layers": layers, "name": name, "score": 0.912 + change, "score_low": 0.87 + change,
         "score_high": 0.95 + change, "change": change, "change_low": change - 0.02, "change_high": change + 0.02,
         "p": p, "tvd": tvd, "tvd_low": 0.9 * tvd, "tvd_high": 1.1 * tvd, "tvd_median": median, "jsd": jsd,
         "jsd_low": jsd - 0.01, "jsd_high": jsd + 0.01, "flipped": abs(change) + 0.01, "n": n}
        for kind, layers, name, change, p, tvd, median, jsd in INTERVENTIONS
    ]  # fmt: skip


def _instances(draw: random.Random, n: int, tagging: bool) -> list[dict[str, Any]]:
    rows = []
    for number in range(n):
        label = draw.choice(["B-NP", "I-NP", "O", "B-VP"] if tagging else ["negative", "positive"])
        right = draw.random() < 0.91
        largest = min(0.98, max(0.04, draw.gauss(0.3, 0.15)))
        rows.append(
            {"text": number, "place": draw.randrange(9) if tagging else None, "words": draw.randint(4, 38),
             "label": label, "predicted": label if right or tagging else "negative",
             "confidence": draw.uniform(0.55, 0.999), "right": right, "largest": largest,
             "permuted": abs(draw.gauss(0, 0.05)) * largest, "uniform": abs(draw.gauss(0, 0.03)),
             "adversary_jsd": min(0.69, max(0.02, draw.gauss(0.51, 0.1))),
             "adversary_tvd": draw.uniform(0.004, 0.0099),
             "adversary_within": True, "tau_gradient": max(-1.0, min(1.0, draw.gauss(0.21, 0.25))),
             "tau_leave_one_out": max(-1.0, min(1.0, draw.gauss(0.15, 0.25)))}
        )  # fmt: skip
    return rows


def _examples(draw: random.Random, tagging: bool) -> list[dict[str, Any]]:
    rows = []
    for text, (sentence, _, _) in enumerate(SENTENCES):
        for word, spelled in enumerate(sentence.split(" ")):
            row: dict[str, Any] = {"text": text, "place": 2 if tagging else None, "word": word, "spelled": spelled}
            row |= {key: draw.random() ** 3 for key in ("weight", "norm", "rollout", "gradient", "leave-one-out")}
            row["integrated gradients"] = draw.gauss(0, 0.3)
            row |= {"own": draw.random() ** 3, "adversary": draw.random() ** 4}
            rows.append(row)
    return rows


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}
