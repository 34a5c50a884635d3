"""What a model writes when it is asked for a needle, and whether it recalls it.

The model writes by itself, greedily, up to the end of its sentence. The texts with what was written behind them are
then read once more, which gives the weights that it wrote with. A run recalls the needle where more than half of the
needle's words are among those that were written (ROUGE-1).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import torch

from attlas.errors import CapabilityError
from attlas.studies.roles.long_texts import TEXTS, longest, needle_texts

if TYPE_CHECKING:
    from attlas.studies.roles.texts import RoleText, Setting

MOST = 24  # pieces that a model may write
RECALLED = 0.5  # of the needle's words, more than which must be written
BAR = 0.25  # of all runs, which must recall the needle for a score of retrieval
ENDS = (".", "\n")


def recall(wanted: str, said: str) -> float:
    """The share of the wanted words that were said, each as often as it is wanted.

    >>> recall("in the left boot under the bed", "In the boot, of course.")
    0.42857142857142855
    """
    words = [Counter(re.findall(r"\w+", text.lower())) for text in (wanted, said)]
    return sum((words[0] & words[1]).values()) / max(1, sum(words[0].values()))


def runs(setting: Setting) -> list[tuple[RoleText, float]]:
    """All needles with what the model wrote, and the share of each that was recalled; written once for a setting.
    Spans: "needle", "question", "written"."""
    if "runs" in setting.kept:
        return list(setting.kept["runs"])
    subject = setting.subject
    subject.require_whole("writing")
    if not (hasattr(subject.model, "generate") and subject.model.can_generate()) or subject.missing:
        raise CapabilityError(f"{subject.name} has no head that writes, and is asked to write an answer")
    found: list[tuple[RoleText, float]] = []
    made = needle_texts(setting, longest(setting) - MOST, min(setting.texts, TEXTS))
    for unit, needle in enumerate(made):
        written = _written(setting, needle.pieces)
        span = (len(needle.pieces), len(needle.pieces) + len(written))
        text = setting.example([*needle.pieces, *written], unit, {**needle.spans, "written": span})
        tokenizer = subject.pieces.tokenizer
        found.append((text, recall(tokenizer.decode(list(needle.answer)), tokenizer.decode(written))))
    setting.kept["runs"] = found
    return found


def _written(setting: Setting, pieces: list[int]) -> list[int]:
    """What the model writes behind some pieces: up to a full stop, a line's end, its own end, or the most pieces. At
    least two, since one alone looks back at nothing written."""
    subject = setting.subject
    prompt = torch.tensor([[*setting.frame.before, *pieces]], device=subject.device)
    options: dict[str, Any] = {"do_sample": False, "num_beams": 1, "repetition_penalty": 1.0, "use_cache": True}
    with torch.no_grad():
        ids = subject.model.generate(  # type: ignore[operator]
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=MOST, max_length=None, **options
        )
    fresh = [int(piece) for piece in ids[0, prompt.shape[1] :]]
    special = set(subject.pieces.tokenizer.all_special_ids)
    for count, piece in enumerate(fresh):
        if count >= 2 and (piece in special or any(end in subject.pieces.tokenizer.decode([piece]) for end in ENDS)):
            return fresh[:count]
    return fresh


def written(setting: Setting) -> list[RoleText]:
    """All needles with what the model wrote.

    >>> from attlas.capture import load
    >>> from attlas.studies.roles.texts import Setting
    >>> written(Setting(load(), None, texts=2))
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2 has no head that writes, and is asked to write an answer
    """
    return [text for text, _ in runs(setting)]


def recalled(setting: Setting) -> list[RoleText]:
    """Those whose needle the model recalls; refused where it recalls too few."""
    made = runs(setting)
    kept = [text for text, share in made if share > RECALLED]
    if len(kept) < BAR * len(made):
        raise CapabilityError(
            f"{setting.subject.name} recalls the needle in {len(kept)} of {len(made)} texts, and heads that retrieve "
            f"it are asked for from {BAR:.0%} on; see the score with the right answer given instead"
        )
    return kept
