"""Answers to the questions of the sweep, and how far numbers may be apart.

An answer is *exact*, *wrong* (with the number), *refused* (with the sentence), a *traceback* (its last line), or *not
asked* (with the reason). The doctor may also *say no*, which is for a reader to judge beside the other answers.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

EXACT, WRONG, REFUSED, TRACEBACK, NOT_ASKED, NO = "exact", "wrong", "refused", "traceback", "not asked", "says no"
TOLERANCE = 1e-5


@dataclass
class Answer:
    """What came out of one question."""

    verdict: str
    number: float | None = None
    note: str = ""


@dataclass
class Sheet:
    """All answers of one family, and the class that follows from them."""

    family: str
    model: str
    answers: dict[str, Answer] = field(default_factory=dict)
    way: str = ""
    streams: str = ""
    reason: str = ""
    text_alone: bool = True
    library: float | None = None  # how far the library's own two ways, plain and eager, are apart
    left_out: str = ""  # passes in which those two disagree, which are not asked
    said_by: str = ""
    runs: str = ""  # on the library's fused attention, or eagerly
    statistics: str = ""  # how statistics of rows are had: in tiles beside fused attention, or from the matrix

    @property
    def kind(self) -> str:
        """The class of a family."""
        verdicts = {answer.verdict for answer in self.answers.values()}
        if self.reason:
            return "not built"
        if WRONG in verdicts:
            return "wrong"
        if TRACEBACK in verdicts:
            return "traceback"
        if self.answers["adopt"].verdict == REFUSED:
            return "refused"
        return "fallback" if self.way == "softmax" else "exact"

    def row(self) -> dict[str, Any]:
        """One line of the table."""
        own = {name: value for name, value in asdict(self).items() if name != "answers"}
        answers = {name: asdict(answer) for name, answer in self.answers.items()}
        return {**own, "class": self.kind, "answers": answers, "transformers": version("transformers")}


def answered(question: Callable[[], Answer]) -> Answer:
    """The answer to a question, with errors told apart: what attlas says on purpose, and what is its own mistake."""
    from attlas.errors import AttlasError

    try:
        with torch.no_grad():
            return question()
    except AttlasError as error:
        return Answer(REFUSED, None, str(error))
    except Exception as error:
        return Answer(TRACEBACK, None, last_line(error))


def judged(apart: float, note: str) -> Answer:
    """Exact within the tolerance, or wrong."""
    return Answer(EXACT, apart) if apart <= TOLERANCE else Answer(WRONG, apart, note)


def worst_of(answers: list[Answer]) -> Answer:
    """The answer that weighs most; of equals the largest number."""
    order = [TRACEBACK, WRONG, NOT_ASKED, EXACT]
    if not answers:
        return Answer(NOT_ASKED, None, "nothing to compare")
    return min(answers, key=lambda a: (order.index(a.verdict), -(a.number if a.number is not None else float("inf"))))


def distance(one: Tensor, other: Tensor) -> float:
    """The largest difference; infinite for other shapes, or where only one is not a number."""
    if one.shape != other.shape:
        return float("inf")
    if not one.numel():
        return 0.0
    apart = (one.double() - other.double()).abs()
    apart[(one == other) | (one.isnan() & other.isnan())] = 0
    return float(apart.nan_to_num(float("inf")).max())


def relative(one: Tensor, other: Tensor) -> float:
    """The largest difference, against the size of the numbers where they are larger than one."""
    return distance(one, other) / max(1.0, float(other.abs().nan_to_num(0).max()) if other.numel() else 1.0)


def last_line(error: BaseException) -> str:
    """The last line of a traceback, with where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "attlas" in frame.filename and "sweep" not in Path(frame.filename).parts[-2]]
    spots = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in (*ours[-1:], *frames[-1:])]
    said = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {said} ({' > '.join(dict.fromkeys(spots))})"
