"""What becomes of a test that has no browser to run in."""

from __future__ import annotations

from typing import NoReturn

import pytest


def without_browser(why: str, *, required: bool) -> NoReturn:
    """End the test: as a failure where a browser was asked for, else as skipped."""
    if required:
        pytest.fail(f"a browser is required here, and {why}", pytrace=False)
    pytest.skip(why)
