"""The changes that the tests must notice: each at its place, once, with tests that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.mutants.design import DESIGN, Design
from tools.mutants.random_changes import apply, changes_of, draw

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("change", DESIGN, ids=[f"{change.number}" for change in DESIGN])
def test_a_change_of_design_is_at_its_place(change: Design) -> None:
    assert (ROOT / "src" / "attlas" / change.file).read_text(encoding="utf-8").count(change.before) == 1
    assert change.before != change.after
    assert all((ROOT / test.split("::")[0]).exists() for test in change.tests)


def test_the_first_39_are_all_there() -> None:
    assert set(range(1, 40)) <= {change.number for change in DESIGN}


def test_small_changes_leave_docstrings_messages_and_annotations_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    head = '"""1 + 1"""\nX: "int | None" = 2\n'
    source = head + 'def f(x: "int | str") -> int:\n    assert x < 3\n    return min(x * 4, 5)\n'
    file.write_text(source, encoding="utf-8")
    changes = list(changes_of(file, "a.py"))
    assert sorted((change.line, change.before, change.after) for change in changes) == [
        (2, "2", "3"), (5, "*", "/"), (5, "4", "5"), (5, "5", "6"), (5, "min", "max"),
    ]  # fmt: skip
    for change in changes:
        assert apply(change, source) != source
        compile(apply(change, source), "a.py", "exec")


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    assert [change.key for change in draw(ROOT, 5, 0)] == [change.key for change in draw(ROOT, 5, 0)]
