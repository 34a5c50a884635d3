"""An invented faithfulness card, and the result folder it lies in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attlas.store import Manifest, Result

HOSTILE = "</script><img src=x onerror=alert(5)> \u202egnp.exe"
ROWS: list[tuple[Any, ...]] = [
    ("gradient", "agreement with gradients", 0.21, 0.18, 0.24, "does not hold", "words are ranked otherwise"),
    (
        "leave_one_out",
        "agreement with leave-one-out",
        0.15,
        0.11,
        0.19,
        "does not hold",
        "words are ranked otherwise",
    ),
    ("permuted", "permuted attention", 0.0134, 0.01, 0.0179, "does not hold", "shuffling hardly moves the output"),
    ("adversary", "adversarial attention", 0.61, 0.5912, 0.63, "does not hold", "other weights do as well"),
    ("uniform", "uniform attention", -0.004, -0.015, 0.007, "cannot tell", "the interval holds zero"),
    ("comprehensiveness", "erasing attended words", 0.25, None, None, "holds", HOSTILE),
    ("paragraph", "", None, None, None, "", "A picture may be read as a hint. It may not be read as a reason."),
]
NAMES = ("figure", "name", "value", "low", "high", "verdict", "says")


def card_result(
    model: str = "a model", rows: list[tuple[Any, ...]] | None = None, study: str = "faith", **about: Any
) -> Result:
    """A result with a card; ``about`` is what the manifest says of the model beside its name."""
    rows = ROWS if rows is None else rows
    card = {name: [row[place] for row in rows] for place, name in enumerate(NAMES)}
    whole = {"task": ["classification"], "attention": ["weights, the mean over all heads of layer 3 of 3, at [CLS]"]}
    manifest = Manifest(study, model={"name": model, **about}, corpus={"name": "reviews"})
    return Result(manifest, {"agreement": {"tau": [0.21]}, "card": card, "whole": whole})


def card_folder(folder: Path, **options: Any) -> Path:
    """The same in a folder."""
    return card_result(**options).save(folder)
