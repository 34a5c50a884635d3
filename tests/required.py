"""Packages that a run of the tests has asked for."""

from __future__ import annotations

from importlib.util import find_spec


def missing_packages(asked: str) -> list[str]:
    """Those of a list with commas that are not installed."""
    return [name for name in asked.split(",") if name and find_spec(name) is None]
