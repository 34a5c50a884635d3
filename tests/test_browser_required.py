"""A browser or a package that is missing fails where it was asked for, and a model that is missing does not."""

from __future__ import annotations

import pytest

from browsers import without_browser
from required import missing_packages


def test_a_missing_browser_is_a_failure_where_it_is_required() -> None:
    with pytest.raises(pytest.fail.Exception, match="there is no Chromium"):
        without_browser("there is no Chromium on this machine", required=True)


def test_a_missing_browser_is_skipped_elsewhere() -> None:
    with pytest.raises(pytest.skip.Exception, match="there is no Chromium"):
        without_browser("there is no Chromium on this machine", required=False)


def test_missing_packages_are_named() -> None:
    assert missing_packages("pytest,no_such_package,numpy") == ["no_such_package"]
    assert missing_packages("") == []
