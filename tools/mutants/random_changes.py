"""Small changes of arithmetic, drawn by a seed: another operator, another comparison, a number one larger.

Changes are made where the syntax tree has an operator, a comparison, a number or a call of min, max, argmin, argmax,
sum or mean, and nowhere else: not in docstrings, annotations, messages or imports, nor in how a page looks. Each
change has a lot of its own, by the seed and its line: the sample stays the same where other lines change.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

AREAS = ("measures", "stats", "models/seam.py", "models/mixer.py", "models/projections.py", "capture", "studies")
SKIPPED = ("page.py", "findings.py", "drawing.py", "panels.py", "maps.py", "plane.py", "__init__.py")  # words, charts
OPERATORS = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*", ast.Pow: "*",
    ast.BitAnd: "|", ast.BitOr: "&",
}  # fmt: skip
COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
CALLS = {"min": "max", "max": "min", "argmin": "argmax", "argmax": "argmin", "sum": "mean", "mean": "sum",
         "any": "all", "all": "any"}  # fmt: skip


class Change(NamedTuple):
    """A place in a file, what stands there, and what is put in its stead."""

    file: str
    line: int
    column: int
    before: str
    after: str
    text: str

    @property
    def key(self) -> str:
        """What tells it from others, and stays the same when lines above it come and go."""
        return f"{self.file}: {self.text.strip()}: {self.before} -> {self.after} @{self.column}"

    def lot(self, seed: int) -> float:
        """A number by which changes are drawn: those of the lowest."""
        return random.Random(f"{seed} {self.key}").random()


def changes_of(file: Path, name: str) -> Iterator[Change]:
    """All changes that a file offers.

    >>> file = getfixture("tmp_path") / "a.py"
    >>> _ = file.write_text("def f(x):\\n    return x + 1\\n")
    >>> [(change.before, change.after) for change in changes_of(file, "a.py")]
    [('+', '-'), ('1', '2')]
    """
    source = file.read_text(encoding="utf-8")
    lines = source.splitlines()
    tree = ast.parse(source)
    skipped = {id(inner) for node in ast.walk(tree) for part in _unread(node) for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        for line, column, before, after in _of_node(node, lines):
            yield Change(name, line, column, before, after, lines[line - 1])


def _unread(node: ast.AST) -> list[ast.AST]:
    """Parts that no figure depends on: annotations, raised messages, f-strings, how a mark or tag looks."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
        return [node]
    if isinstance(node, ast.Call) and _called(node).startswith(("mark_", "tag")):
        return list(node.keywords)
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        return [node.annotation]
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        return [node.returns]
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return [node]
    return []


def _of_node(node: ast.AST, lines: list[str]) -> Iterator[tuple[int, int, str, str]]:
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        if not any(
            isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (node.left, node.right)
        ):
            yield from _between(node.left, node.right, _symbol(node.op), OPERATORS[type(node.op)], lines)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        after = COMPARISONS[type(node.ops[0])]
        yield from _between(node.left, node.comparators[0], _symbol(node.ops[0]), after, lines)
    elif isinstance(node, ast.BoolOp):
        before, after = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        yield from _between(node.values[0], node.values[1], before, after, lines)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        written = lines[node.lineno - 1][node.col_offset : node.end_col_offset]
        if written.isascii() and written:
            yield node.lineno, node.col_offset, written, repr(node.value + 1)
    elif isinstance(node, ast.Call):
        function, called = node.func, _called(node)
        if called in CALLS and function.end_lineno is not None and function.end_col_offset is not None:
            yield function.end_lineno, function.end_col_offset - len(called), called, CALLS[called]


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else str(getattr(node.func, "id", ""))


def _symbol(operator: ast.AST) -> str:
    names = {
        ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
        ast.BitAnd: "&", ast.BitOr: "|", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
        ast.NotEq: "!=", ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
    }  # fmt: skip
    return names[type(operator)]


def _between(
    left: ast.expr, right: ast.expr, before: str, after: str, lines: list[str]
) -> Iterator[tuple[int, int, str, str]]:
    """Where an operator stands between two expressions on one line."""
    if left.end_lineno != right.lineno or left.end_col_offset is None:
        return
    between = lines[right.lineno - 1].encode()[left.end_col_offset : right.col_offset].decode()
    place = between.find(before)
    if place >= 0 and lines[right.lineno - 1].isascii():
        yield right.lineno, left.end_col_offset + place, before, after


def draw(root: Path, count: int, seed: int) -> list[Change]:
    """So many changes, at most three of a file, from all areas."""
    package = root / "src" / "attlas"
    files = sorted(
        file
        for area in AREAS
        for file in ([package / area] if area.endswith(".py") else (package / area).rglob("*.py"))
        if file.name not in SKIPPED
    )
    offered: list[Change] = []
    for file in files:
        own = changes_of(file, str(file.relative_to(package)))
        offered += sorted(own, key=lambda change: change.lot(seed))[:3]
    return sorted(offered, key=lambda change: change.lot(seed))[:count]


def apply(change: Change, source: str) -> str:
    """The source with the change made.

    >>> apply(Change("a.py", 1, 2, "+", "-", "x + 1"), "x + 1\\n")
    'x - 1\\n'
    """
    lines = source.splitlines(keepends=True)
    line = lines[change.line - 1]
    assert line[change.column :].startswith(change.before), change
    lines[change.line - 1] = line[: change.column] + change.after + line[change.column + len(change.before) :]
    return "".join(lines)
