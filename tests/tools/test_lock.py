"""The lock (constraints.txt) holds every package of the development environment, within the ranges of pyproject."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.lock import asked_for, locked, main

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = list(PROJECT["optional-dependencies"])
AGAIN = "python -m tools.lock writes constraints.txt anew (make lock)"


def lock() -> dict[str, str]:
    """Versions by name."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {pin.name: str(pin.specifier).removeprefix("==") for pin in pins}


def test_the_lock_agrees_with_the_ranges_of_pyproject() -> None:
    pins = lock()
    for requirement in asked_for(PROJECT, EXTRAS):
        name = canonicalize_name(requirement.name)
        if name in pins:
            assert pins[name] in requirement.specifier, f"{requirement}, and the lock has {pins[name]}; {AGAIN}"


def test_nothing_of_the_development_environment_is_missing_in_it() -> None:
    missing = {canonicalize_name(requirement.name) for requirement in asked_for(PROJECT, ["dev"])} - set(lock())
    assert missing == set(), AGAIN


def test_it_holds_names_versions_and_conditions_alone() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins == sorted(pins, key=lambda line: line.partition("==")[0])
    assert [line for line in pins if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*( ; [^@/:#]+)?", line)] == []
    assert lock()["torch"] == "2.13.0"


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11) or sys.platform != "linux", reason="the lock is made with Python 3.11 on Linux"
)
def test_what_the_tests_run_with_is_the_lock() -> None:
    pins = lock()
    here = {name: version for name, (version, _) in locked(asked_for(PROJECT, EXTRAS)).items()}
    assert here == {name: pins.get(name) for name in here}, AGAIN


def test_packages_that_are_imported_are_declared() -> None:
    """Those that come with another by chance may go with it."""
    declared = {canonicalize_name(requirement.name) for requirement in asked_for(PROJECT, EXTRAS)} | {"attlas"}
    distributions = packages_distributions()
    for module in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert node.module is not None
                names = [node.module]
            for package in {name.partition(".")[0] for name in names} - sys.stdlib_module_names:
                owners = {canonicalize_name(owner) for owner in distributions.get(package, [package])}
                assert owners & declared, f"{module.relative_to(ROOT)} imports {package}, which is not declared"


def test_conditions_are_handed_on_and_what_is_missing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pins = locked([Requirement("pexpect; sys_platform == 'linux'"), Requirement("pytest")])
    assert {str(marker) for name, (_, marker) in pins.items() if name in ("pexpect", "ptyprocess")} == {
        'sys_platform == "linux"'
    }
    assert pins["pytest"][1] is None
    assert pins["pluggy"] == (lock()["pluggy"], None)  # by pytest
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "a"\ndependencies = ["nowhere"]\n[project.optional-dependencies]\ndev = []\n'
    )
    monkeypatch.chdir(tmp_path)
    assert main() == 1
    assert "not installed here: nowhere;" in capsys.readouterr().err
    assert not (tmp_path / "constraints.txt").exists()
