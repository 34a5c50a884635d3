"""Which models a page may have opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from attlas.cli.allowed import Allowed
from attlas.errors import CapabilityError
from attlas.models import bundled


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Models in the cache, in a folder of somebody's, and elsewhere."""
    for folder in ("cache/short", "mine/tiny", "elsewhere/secret"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "config.json").write_text("{}")
    monkeypatch.setenv("ATTLAS_MODELS", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bundled, "in_cache", lambda name: name == "org/fetched")
    return tmp_path


def may(allowed: Allowed, name: object) -> bool:
    try:
        allowed.require(str(name))
    except CapabilityError as error:
        return "is none of the models that may be opened here" not in str(error)
    return True


def test_without_a_word_the_cache_and_what_was_given(place: Path) -> None:
    allowed = Allowed(["mine/tiny"], None)
    usual = bundled.resolve(None)[0]
    for name in (usual, "short", "org/fetched", "mine/tiny", place / "mine" / "tiny", place / "cache" / "short"):
        assert may(allowed, name), name
    outside = place / "elsewhere" / "secret"
    (place / "cache" / "link").symlink_to(outside)
    for name in (outside, "elsewhere/secret", "../elsewhere/secret", "link", "short/../../elsewhere/secret", "mine",
                 "org/never", "/", "~", ".", "\0", "x" * 900):  # fmt: skip
        assert not may(allowed, name), name


def test_models_says_which(place: Path) -> None:
    allowed = Allowed([], ["mine", "org/named"])
    assert may(allowed, "mine/tiny")
    assert may(allowed, "org/named")
    for name in ("short", "org/fetched", "elsewhere/secret", "mine/../elsewhere/secret"):
        assert not may(allowed, name), name
