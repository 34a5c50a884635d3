"""docs/models.md: what can be done with which model, from the findings of ``attlas doctor``."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]
REAL = ("minilm", "e5-small", "smollm2", "opus-mt-en-fr")
QUESTIONS = {
    "weights equal the eager model's": "weights",
    "untouched output equals the plain model's": "output",
    "nothing goes to padding or to what comes later": "mask",
    "a sentence pair equals the eager model's": "pairs",
    "padded on the left the output is the eager model's, too": "left padding",
    "a closed gate is a head cut out of W_O, and opening all changes nothing": "gates",
    "gates get a gradient": "gradient",
    "frozen weights change nothing, uniform ones do": "override",
    "W_O is found: layers are rebuilt from weights, values and W_O": "norms",
    "queries and keys can be seen": "queries, keys",
    "statistics without the matrix equal those with it": "fast statistics",
}


def build(folders: list[Path]) -> None:
    """Examine a tiny random twin of every family, and the real models that are at hand; folders are not needed."""
    sys.path.insert(0, str(DOCS.parent / "tests"))
    import twins
    from attlas.capture import Subject, load
    from attlas.models.bundled import models_folder

    subjects: list[tuple[str, Any]] = [
        (family, Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)) for family in twins.TWINS
    ]  # fmt: skip
    lines = [
        "# What can be done with which model",
        "",
        f"Written by `python docs/build.py models` on {date.today()} from the findings of `attlas doctor`. A number is the",
        "largest deviation that was seen (in float32); *yes* and *no* answer questions without one; *n/a* does not apply.",
        "",
        "- **weights**: captured weights against the library's eager attention, in a padded batch. **output**: the",
        "  untouched model against the plain one. **mask**: weight that leaks to padding or to later pieces. **pairs**:",
        "  weights of a sentence pair. **left padding**: outputs padded left against right.",
        "- **gates**: closed heads against heads cut out of W_O, and opening all changes nothing. **gradient**: gates get one.",
        "  **override**: frozen weights of the same run change nothing, uniform ones do.",
        "- **norms**: layers rebuilt from weights, values and W_O. **queries, keys**: can be seen. **fast statistics**:",
        "  without the matrix against with it; *n/a* where scores are more than dot products and statistics go by the",
        "  matrix, a block of rows at a time.",
        "",
        "## Families, as tiny random twins",
        "",
        *_findings(subjects),
        "",
        "## Real models",
        "",
    ]
    lines += _findings([(name, load(name)) for name in REAL if (models_folder() / name).is_dir()])
    lines += [
        "",
        "smollm2 is SmolLM2-135M-Instruct, a model tuned to follow instructions, dequantised from 4 bits; the others have",
        "the weights that were published.",
        "",
        "Families with a softmax of their own (mpnet, gpt_neo above; some ninety in the library) are seen through that",
        "softmax: weights, norms, gates and overrides work, queries and keys stay hidden. A family in which neither way",
        "finds attention is refused with a sentence that says so.",
        "",
    ]
    (DOCS / "models.md").write_text("\n".join(lines), encoding="utf-8")
    print(f"page: {DOCS / 'models.md'}")


def _findings(subjects: list[tuple[str, Any]]) -> list[str]:
    from attlas.capture import examine

    lines = [_row("model", "class", "streams", *QUESTIONS.values()), "|---" * (3 + len(QUESTIONS)) + "|"]
    for name, subject in subjects:
        print(f"examining {name}", flush=True)
        found = {finding.name: finding for finding in examine(subject)}
        streams = ", ".join("{} {}x{}".format(s.value, *subject.shape(s)) for s in subject.streams)
        lines.append(_row(name, type(subject.model).__name__, streams, *(_cell(found[q]) for q in QUESTIONS)))
    return lines


def _cell(finding: Any) -> str:
    if finding.passed is None:
        return "n/a"
    if not finding.passed:
        return "no"
    return "yes" if finding.error is None else f"{finding.error:.0e}"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
