"""What is said of all models together, and of one in a sentence: the answer above its map; and how to cite it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.website.grids import Grid
from attlas.website.sentences import OTHER, Role

_NAMED = 3  # roles that the answer names


def answer(
    model: str, roles: Sequence[Role], role: NDArray[np.int64], *, portraits: bool = True, stream: str = ""
) -> str:
    """How many heads of a model, or of one of its streams, have a role, and which are the most frequent.

    >>> roles = [Role("obj", "finds objects"), Role("cls", "rests on [CLS]"), Role("other", "no role found")]
    >>> print(answer("tiny", roles, np.array([1, 1, 2])))
    2 of the 3 heads of tiny have a role that their figures show beyond chance: rests on [CLS] (2).
    >>> print(answer("tiny", roles, np.array([2])))
    No figure shows beyond chance what the one head of tiny does.
    """
    count = len(role)
    kind = f"{stream} " if stream else ""
    heads = f"the one {kind}head" if count == 1 else f"the {count:,} {kind}heads"
    if not portraits:
        return f"Figures of {heads} of {model}, of which nothing has been put into words."
    named = Counter(at for at in role.tolist() if roles[at].role != OTHER)
    if not named:
        return f"No figure shows beyond chance what {heads} of {model} {'does' if count == 1 else 'do'}."
    most = sorted(named.items(), key=lambda item: (-item[1], item[0]))
    told = [f"{roles[at].title} ({times:,})" for at, times in most[:_NAMED]]
    rest = len(most) - _NAMED
    *first, last = told if rest <= 0 else [*told, f"{rest} other role{'s' if rest > 1 else ''}"]
    listed = f"{', '.join(first)} and {last}" if first else last
    lead = "most often " if len(most) > _NAMED else ""
    having = "has" if sum(named.values()) == 1 else "have"
    return (
        f"{sum(named.values()):,} of {heads} of {model} {having} a role that their figures show beyond chance: "
        f"{lead}{listed}."
    )


def citation(grid: Grid, fingerprint: str, version: str, year: str) -> str:
    """An entry for BibTeX of the atlas of one model.

    >>> from attlas.website.grids import Heads
    >>> none = np.zeros(0, np.int64)
    >>> grid = Grid("a/b_c", Heads(("encoder",), none, none, none), [], np.zeros((0, 0)), {})
    >>> print(citation(grid, "f00", "0.1.0", "2026"))
    @misc{attlas-a-b-c,
      title = {Attention heads of {a/b\\_c}: an atlas},
      author = {{The attlas authors}},
      year = {2026},
      note = {attlas 0.1.0; model fingerprint f00; no corpus}
    }
    """
    key = re.sub(r"[^a-z0-9]+", "-", grid.model.lower())[:60].strip("-") or "model"
    corpora = sorted({figure["corpus"] for figure in grid.figures if figure["corpus"]})
    read = f"on {', '.join(corpora[:6])}{' and others' if len(corpora) > 6 else ''}" if corpora else "no corpus"
    note = "; ".join(part for part in (f"attlas {version}".strip(), f"model fingerprint {fingerprint}" if fingerprint
                                       else "", read) if part)  # fmt: skip
    lines = [
        f"title = {{Attention heads of {{{_bib(grid.model)}}}: an atlas}}",
        "author = {{The attlas authors}}",
        *([f"year = {{{year}}}"] if year else []),
        f"note = {{{_bib(note)}}}",
    ]
    return f"@misc{{attlas-{key},\n  " + ",\n  ".join(lines) + "\n}"


def _bib(text: str) -> str:
    """Text inside braces of BibTeX."""
    named = {"\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
    named |= {letter: f"\\{letter}" for letter in "&%$#_"}
    return "".join(named.get(letter, letter) for letter in re.sub(r"[\x00-\x1f\x7f\u2028\u2029]+", " ", text))


def index_of(
    models: list[dict[str, Any]], answers: list[str], roles: Sequence[Role], about: dict[str, Any]
) -> dict[str, Any]:
    """The first file that a page reads: all models and all roles."""
    return {
        **about,
        "roles": [{"role": role.role, "title": role.title, "meaning": role.meaning} for role in roles],
        "models": [{**model, "answer": told} for model, told in zip(models, answers, strict=True)],
    }
