"""What needs no model does not wait for one: ``import attlas``, help, and pages load no torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attlas.store import Manifest, Result

HEAVY = ("torch", "transformers", "sklearn", "scipy")
SOURCE = str(Path(__file__).resolve().parents[1] / "src")
CALL = """
import sys
sys.argv = {arguments!r}
from attlas.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""


def loaded(code: str) -> list[str]:
    """Which heavy packages a fresh process has loaded after some code."""
    told = f"{code}\nimport sys\nprint('LOADED', *(name for name in {HEAVY!r} if name in sys.modules))"
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    run = subprocess.run([sys.executable, "-c", told], env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout.rpartition("LOADED")[2].split()


def test_import_attlas_is_light() -> None:
    assert loaded("import attlas, attlas.studies\ndir(attlas)") == []


@pytest.mark.parametrize(
    "arguments", [["attlas", "--help"], ["attlas", "importance", "--help"], ["attlas", "--version"]]
)
def test_help_is_light(arguments: list[str]) -> None:
    assert loaded(CALL.format(arguments=arguments)) == []


def test_every_call_and_page_is_light() -> None:
    code = """
from attlas.studies import studies
from attlas.cli.commands import command_for
for study in studies().values():
    command_for(study)
    if study.page:
        study.load_page()
"""
    assert loaded(code) == []


def test_the_site_of_an_atlas_is_light() -> None:
    assert loaded("import attlas.website\nattlas.website.write_site, attlas.website.writing.site_script()") == []


def test_an_atlas_is_light(tmp_path: Path) -> None:
    code = f"""
import attlas
from attlas.evidence.example import example
from attlas.studies.joining import gathered
folder = example().save({str(tmp_path / "atlas")!r})
atlas = gathered([folder])
assert attlas.atlas(folder).find("obj > .5") and atlas.search("object") and str(atlas.head("1-1"))
"""
    assert "torch" not in loaded(code)
    assert "transformers" not in loaded(code)


def test_report_is_light(tmp_path: Path) -> None:
    columns = {"stream": ["encoder"], "layer": [0], "head": [0], "value": [0.5], "low": [0.4], "high": [0.6],
               "normalised": [1.0], "signed": [0.1], "n": [3]}  # fmt: skip
    Result(Manifest("importance", model={"name": "tiny"}), {"importance": columns}).save(tmp_path / "out")
    assert loaded(CALL.format(arguments=["attlas", "report", str(tmp_path / "out")])) == []
    assert (tmp_path / "out" / "report.html").exists()
