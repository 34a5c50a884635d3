"""Which pages of results are older than the code of their figures.

A page of results ends with a mark: a short name for the code of each *part* of the package that its study is made of,
as it was when the page was written. Where a part is other code now, that alone says little: most changes let a study
read another family or format, or only move code. So figures themselves are asked: ``tools/same_figures`` runs every
study on small fixed inputs, and ``pages.json.gz`` there holds the tables that the code of the pages gave. A page is
stale where its study's code has changed *and* gives other figures.

The name of a part is that of what its code does: comments, docstrings, annotations and refusals (an ``if`` that only
raises, an assertion) are not in it, since a result that is there was not refused; nor are modules that only word and
draw (:data:`WORDING`).
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "attlas"
PARTS = ("capture", "corpora", "measures", "models", "probes", "stats", "studies/shared", "tasks", "text")
TOOL = PACKAGE.parents[1] / "tools" / "same_figures"
KEPT = "pages.json.gz"
WORDING = (  # what only words and draws the figures of a result
    "page.py", "findings.py", "sayings.py", "wording.py", "clusters/maps.py", "faith/words.py", "faith_chunking/rows.py",
    "keywords/text.py", "layers_case/drawing.py", "layers_case/panels.py", "roles/through_page.py",
)  # fmt: skip
SAME = {"layers_together": ("studies/layers_together", "studies/layers")}  # studies made of another's figures
_MARK = re.compile(r"<!-- code: (.*) -->")
_WORDS_ALONE = ("annotation", "returns", "type_comment", "type_params", "kind")


def parts_of(study: str) -> tuple[str, ...]:
    """The parts of the package that a study is made of; its own come first.

    >>> parts_of("survey")[:2]
    ('studies/survey', 'capture')
    """
    return (*SAME.get(study, (f"studies/{study}",)), *PARTS)


def mark_of(study: str) -> str:
    """The mark of a page that is written now.

    >>> mark_of("survey").startswith("<!-- code: studies/survey=")
    True
    """
    return f"<!-- code: {', '.join(f'{part}={code}' for part, code in _codes(study).items())} -->"


def changed_since(study: str, page: str) -> list[str] | None:
    """The parts whose code is other than it was when a page was written; None where the page does not say.

    >>> changed_since("survey", mark_of("survey")), changed_since("survey", "no mark")
    ([], None)
    """
    mark = _MARK.search(page)
    if mark is None or "=" not in mark[1]:
        return None
    before: Mapping[str, str] = dict(part.split("=") for part in mark[1].split(", "))
    return [part for part, code in _codes(study).items() if before.get(part) != code]


def other_figures(names: Collection[str]) -> dict[str, str]:
    """Which of some studies give other figures on small fixed inputs than when pages were written, and one of them.

    >>> other_figures([])
    {}
    """
    if not names:
        return {}
    sys.path.insert(0, str(TOOL))
    tool = import_module("run")
    with redirect_stderr(StringIO()):
        now, _ = tool.run("after", "")
    before, other = tool.read(TOOL / KEPT), {}
    for name in names:
        with redirect_stdout(StringIO()) as said:
            if tool.compare(before, now, name.split("_")[0]):
                other[name] = next(
                    line for line in said.getvalue().splitlines() if "before" in line or "not there" in line
                )
    return other


def _codes(study: str) -> dict[str, str]:
    return {part: code_of(part) for part in parts_of(study)}


def code_of(part: str) -> str:
    """Eight letters that name what the code of a part does.

    >>> len(code_of("stats"))
    8
    """
    digest = hashlib.sha256()
    for file in sorted((PACKAGE / part).rglob("*.py")):
        if not any(map(file.match, WORDING)):
            digest.update(str(file.relative_to(PACKAGE)).encode())
            digest.update("\n".join(deeds_of(ast.parse(file.read_text(encoding="utf-8")))).encode())
    return digest.hexdigest()[:8]


def deeds_of(node: object) -> Iterator[str]:
    """What a piece of code does, token by token, without what only words or refuses.

    >>> def same(one, other):
    ...     return [*deeds_of(ast.parse(one))] == [*deeds_of(ast.parse(other))]
    >>> same("def f(a: int) -> int:\\n    'Doubles.'\\n    return 2 * a", "def f(a):\\n    return 2 * a  # twice")
    True
    >>> same("if a < 0:\\n    raise ValueError('below 0')\\nb = a", "b = a"), same("b = a", "b = -a")
    (True, False)
    """
    if isinstance(node, list):
        for each in node:
            if not _says_or_refuses(each):
                yield from deeds_of(each)
    elif isinstance(node, ast.AST):
        yield type(node).__name__
        for name, value in ast.iter_fields(node):
            if name not in _WORDS_ALONE and value not in (None, []):
                yield f".{name}"
                yield from deeds_of(value)
        yield "."
    else:
        yield repr(node)


def _says_or_refuses(node: object) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    if isinstance(node, ast.If):
        return not node.orelse and all(isinstance(each, ast.Raise) for each in node.body)
    return isinstance(node, ast.Raise | ast.Assert)
