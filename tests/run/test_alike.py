"""Workers with other code of attlas, or other packages, are noticed, whatever version number they have."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import attlas
from attlas.errors import PlanError
from attlas.run.alike import Software, code_in, require_alike

TELL = """
import json
from dataclasses import asdict
from attlas.run.alike import Software
print(json.dumps(asdict(Software.here())))
"""


def test_a_process_with_a_checkout_of_another_state_is_refused(tmp_path: Path) -> None:
    theirs = tmp_path / "attlas"
    shutil.copytree(Path(attlas.__file__).parent, theirs, ignore=shutil.ignore_patterns("__pycache__"))
    here = Software.here()
    there = told_by(tmp_path)
    assert there == replace(here, place=str(theirs))
    require_alike(there, here)
    changed = theirs / "stats" / "pooled.py"
    changed.write_text(changed.read_text().replace("BLOCKS = 128", "BLOCKS = 127"))
    with pytest.raises(PlanError) as refused:
        require_alike(told_by(tmp_path), here)
    assert str(refused.value) == (
        f"the workers of the Ray cluster have other code of attlas (in {theirs}) than this run began with "
        f"(in {here.place}), though both are called one version; give all machines the same"
    )


def told_by(place: Path) -> Software:
    """What a process says whose path begins with a place."""
    said = subprocess.run(
        [sys.executable, "-c", TELL], env=os.environ | {"PYTHONPATH": str(place)}, capture_output=True, check=True
    )
    return Software(**json.loads(said.stdout))


def test_what_is_no_code_makes_no_difference_and_a_file_of_another_name_does(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.py").write_text("1")
    before = code_in(tmp_path)
    (tmp_path / "a" / "one.pyc").write_text("2")
    assert code_in(tmp_path) == before
    (tmp_path / "a" / "one.py").rename(tmp_path / "a" / "two.py")
    assert code_in(tmp_path) != before


@pytest.mark.parametrize("package", ["attlas", "torch", "transformers", "numpy", "python"])
def test_another_version_of_a_package_is_refused(package: str) -> None:
    here = Software.here()
    there = replace(here, versions={**here.versions, package: "0.0.1"})
    with pytest.raises(
        PlanError, match=rf"^the workers of the Ray cluster have {package} 0\.0\.1, and here is {package}"
    ):
        require_alike(there, here)
