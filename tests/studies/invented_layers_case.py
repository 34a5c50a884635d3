"""An invented case across layers: probabilities that say what they are told to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from attlas.store import Manifest, Result
from attlas.text import Document

SMOKED = "he smoked toronto in the playoffs with six hits, seven walks and eight stolen bases"
# for each task: for each label its probability at the first and at the last layer, and where it turns (0 to 1)
TASKS: dict[str, Mapping[str, tuple[float, float, float]]] = {
    "pos": {"NN": (0.62, 0.03, 0.1), "NNP": (0.3, 0.97, 0.1), "JJ": (0.12, 0.0, 0.3), "VBD": (0.01, 0.0, 0.5)},
    "entities": {"GPE": (0.8, 0.2, 0.5), "ORG": (0.05, 0.86, 0.55), "PERSON": (0.2, 0.05, 0.3)},
    "roles": {"ARGM-LOC": (0.55, 0.1, 0.6), "ARG1": (0.2, 0.82, 0.65), "ARG0": (0.1, 0.05, 0.3)},
    "dependencies": {"obj": (0.7, 0.95, 0.3), "obl": (0.2, 0.02, 0.3)},
    "proto-roles": {
        "existed before": (0.9, 0.99, 0.3), "was_used": (0.2, 0.6, 0.7), "changed state": (0.7, 0.3, 0.5),
        "awareness": (0.65, 0.93, 0.2), "volition": (0.6, 0.8, 0.2), "sentient": (0.55, 0.88, 0.4),
    },
}  # fmt: skip
PAIRED = {"roles", "dependencies", "proto-roles", "coreference", "relations"}


def curve(first: float, last: float, turn: float, layers: int) -> list[float]:
    """From one probability to another, with a bend at a share of the layers."""
    steps = [1 / (1 + math.exp(-12 * (layer / max(1, layers - 1) - turn))) for layer in range(layers)]
    low, high = steps[0], steps[-1]
    return [first + (last - first) * ((step - low) / (high - low) if high > low else 1.0) for step in steps]


def layers_case_result(
    *,
    text: str = SMOKED,
    spans: Sequence[tuple[str, str | None]] = (("2:3", None), ("1:2", "2:3")),
    tasks: Mapping[str, Mapping[str, tuple[float, float, float]]] = TASKS,
    layers: int = 7,
    name: str = "tiny",
    runs: Sequence[str] | None = None,
) -> Result:
    document = Document.from_text(text)
    forms = document.forms
    rows: list[dict[str, Any]] = []
    named = list(zip(runs or tasks, tasks, strict=True))
    for edge, (first, second) in enumerate(spans):
        for run, task in named:
            if (task in PAIRED) != (second is not None):
                continue
            for label, told in tasks[task].items():
                for layer, value in enumerate(curve(*told, layers)):
                    place = {"first": first, "second": second}
                    said = {f"{key}_words": None if at is None else words(forms, at) for key, at in place.items()}
                    rows.append(
                        {"edge": edge, "run": run, "task": task, **place, **said, "layer": layer, "label": label,
                         "value": value}
                    )  # fmt: skip
    stops = [*(span.start for span in document.words[1:]), len(document.text)]
    after = [document.text[span.stop : stop] for span, stop in zip(document.words, stops, strict=True)]
    tables = {
        "probabilities": {key: [row[key] for row in rows] for key in rows[0]},
        "words": {"word": list(range(len(forms))), "form": list(forms), "after": after},
        "runs": {
            "run": [run for run, _ in named], "task": [task for _, task in named], "over": ["layers"] * len(named),
            "score": [0.912] * len(named), "score_at_0": [0.71] * len(named),
        },
        "labels": {
            "run": [run for run, task in named for _ in tasks[task]],
            "label": [label for _, task in named for label in tasks[task]],
            "value": [0.5 for _, task in named for _ in tasks[task]],
            "train": [1200 for _, task in named for _ in tasks[task]],
        },
    }  # fmt: skip
    about = {"name": "one sentence", "documents": 1, "pieces": len(forms) + 2}
    return Result(Manifest("layers-case", {}, {}, {"name": name}, about, started="2025-01-01T00:00:00+00:00"), tables)


def words(forms: Sequence[str], span: str) -> str:
    start, stop = map(int, span.split(":"))
    return " ".join(forms[start:stop])
