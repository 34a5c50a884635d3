"""Pages of results name the code of their figures, part by part: other deeds, another name; other words, the same."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = {  # modules, and the parts of which a page says that they have changed with them
    "stats/intervals.py": ["stats"], "studies/shared/wording.py": [], "studies/toy/page.py": [],
    "studies/toy/findings.py": [], "studies/toy/tables.py": ["studies/toy"], "studies/other/tables.py": [],
    "models/seam.py": ["models"],
}  # fmt: skip


@pytest.fixture
def stale(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return import_module("stale")


@pytest.fixture
def toy(stale: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with a study, toy, all of whose modules hold one line."""
    monkeypatch.setattr(stale, "PACKAGE", tmp_path)
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a = 1", encoding="utf-8")
    return tmp_path


def test_a_page_knows_which_parts_of_its_code_have_changed(stale: ModuleType, toy: Path) -> None:
    for name, parts in NAMES.items():
        page = f"# A page\n\n{stale.mark_of('toy')}\n"
        (toy / name).write_text("a = 2", encoding="utf-8")
        assert stale.changed_since("toy", page) == parts, name
    assert stale.changed_since("toy", "<!-- code: 1234567890ab -->") is None


def test_words_and_refusals_change_no_figures(stale: ModuleType, toy: Path) -> None:
    page = stale.mark_of("toy")
    intervals = toy / "stats" / "intervals.py"
    refused = "# one\n'A module.'\nassert True\na: int = 1\nif a > 1:\n    raise ValueError(a)\n"
    intervals.write_text(refused.replace("a: int = 1", "a = 1"), encoding="utf-8")
    assert stale.changed_since("toy", page) == []
    intervals.write_text(f"{refused}else:\n    a = 2\n", encoding="utf-8")
    assert stale.changed_since("toy", page) == ["stats"]


def test_studies_that_are_made_of_others_figures_name_them(stale: ModuleType) -> None:
    assert stale.parts_of("layers_together")[:2] == ("studies/layers_together", "studies/layers")
    for part in {*stale.PARTS, *(part for parts in stale.SAME.values() for part in parts)}:
        assert (stale.PACKAGE / part).is_dir(), part


def test_nothing_that_makes_figures_imports_what_only_words_them(stale: ModuleType) -> None:
    files = [file for file in (ROOT / "src" / "attlas" / "studies").rglob("*.py") if file.parent.name != "studies"]
    worded = {file for file in files if any(map(file.match, stale.WORDING))}
    modules = {".".join(file.relative_to(ROOT / "src").with_suffix("").parts) for file in worded}
    assert all(any(file.match(name) for file in worded) for name in stale.WORDING)
    for file in set(files) - worded:
        imported = set(re.findall(r"^\s*from (attlas\.studies\.\S+) import", file.read_text(encoding="utf-8"), re.M))
        assert not imported & modules, file


def test_other_code_is_asked_for_its_figures(stale: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a study gave on small inputs when pages were written, against what it gives now."""
    monkeypatch.syspath_prepend(str(stale.TOOL))
    tool = import_module("run")
    kept = {case: tables for case, tables in tool.read(stale.TOOL / stale.KEPT).items() if case.startswith("noop")}
    moved = json.loads(json.dumps(kept))
    column = next(values for values in moved["noop.masked"]["noop"].values() if isinstance(values[0], float))
    column[0] += 0.5
    for now, other in ((kept, set()), (moved, {"noop"})):
        monkeypatch.setattr(tool, "run", lambda which, only, now=now: (now, False))
        monkeypatch.setattr(tool, "read", lambda path: kept)
        assert set(stale.other_figures(["noop"])) == other
