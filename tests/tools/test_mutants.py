"""The changes that the tests must notice: each at its place, once, with tests that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.mutants import areas
from tools.mutants.__main__ import equivalents
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


def test_how_a_page_looks_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text('chart.mark_rule(opacity=0.5).encode(x=1)\ntag("rect", width=13)\n', encoding="utf-8")
    assert [(change.before, change.line) for change in changes_of(file, "a.py")] == [("1", 1)]


def test_a_sample_stays_the_same_when_other_lines_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.mutants.random_changes.AREAS", ("stats",))
    folder = tmp_path / "src" / "attlas" / "stats"
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        (folder / f"{name}.py").write_text("x = y + z\nv = y * z\n", encoding="utf-8")
    before = [change.key for change in draw(tmp_path, 9, 0)]
    assert [change.key for change in draw(tmp_path, 2, 0)] == before[:2]
    assert [change.key for change in draw(tmp_path, 9, 1)] != before
    (folder / "a.py").write_text("x = y + z\nw = y - z\nv = y * z\n", encoding="utf-8")
    after = [change.key for change in draw(tmp_path, 9, 0)]
    assert [key for key in after if "w = " not in key] == before
    assert len(after) == len(before) + 1 == 5


@pytest.mark.parametrize("area", areas.TESTS)
def test_every_pattern_of_an_area_has_tests(area: str) -> None:
    assert (ROOT / "src" / "attlas" / area).exists() or (ROOT / "src" / "attlas" / f"{area}.py").exists()
    assert all(list((ROOT / "tests").glob(pattern)) for pattern in areas.TESTS[area].split())


def test_every_study_has_an_area_with_tests() -> None:
    for call in (ROOT / "src" / "attlas" / "studies").glob("*/call.py"):
        own = [test for test in areas.tests_of(f"studies/{call.parent.name}/call.py") if test.startswith("tests/")]
        assert len(own) > 1, f"{call.parent.name}: {areas.OF_A_STUDY} finds nothing"


def test_what_makes_no_difference_is_still_in_the_code() -> None:
    files = {key.split(":")[0] for key in equivalents()}
    offered = {change.key for file in files for change in changes_of(ROOT / "src" / "attlas" / file, file)}
    assert set(equivalents()) <= offered
