"""Pages of results name the code that made their figures: other figures, another name; other words, the same."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return import_module("build")


def test_the_fingerprint_is_of_what_figures_are_made_by(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "PACKAGE", tmp_path)
    names = ("stats/intervals.py", "studies/shared/wording.py", "studies/toy/page.py", "studies/toy/findings.py",
             "studies/toy/tables.py", "studies/other/tables.py")  # fmt: skip
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a = 1", encoding="utf-8")
    decides = []
    for name in names:
        before = build.code_of("toy")
        (tmp_path / name).write_text("a = 2", encoding="utf-8")
        if build.code_of("toy") != before:
            decides.append(name)
    assert decides == ["stats/intervals.py", "studies/toy/tables.py"]


def test_nothing_that_makes_figures_imports_what_only_words_them(build: ModuleType) -> None:
    files = [file for file in (ROOT / "src" / "attlas" / "studies").rglob("*.py") if file.parent.name != "studies"]
    worded = {file for file in files if any(map(file.match, build.WORDING))}
    modules = {".".join(file.relative_to(ROOT / "src").with_suffix("").parts) for file in worded}
    assert all(any(file.match(name) for file in worded) for name in build.WORDING)
    for file in set(files) - worded:
        imported = set(re.findall(r"^\s*from (attlas\.studies\.\S+) import", file.read_text(encoding="utf-8"), re.M))
        assert not imported & modules, file
