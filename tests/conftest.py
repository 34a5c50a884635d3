"""What tests of several packages share: a real browser, where there is one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The Chromium that is installed on this machine; none is ever downloaded."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    installed = Path("/usr/bin/chromium")
    found = str(installed) if os.access(installed, os.X_OK) else shutil.which("chromium")
    if found is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_report(browser: Browser) -> Iterator[Callable[[Path], Page]]:
    """Opens the page of a result folder, offline; whatever the browser complains of fails the test at its end."""
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)

    def opened(folder: Path) -> Page:
        from attlas.reports import write_report

        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(write_report(folder).as_uri())
        page.wait_for_selector("html[data-ready=true]", timeout=60_000)
        return page

    yield opened
    context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real corpora that lie beside the repo and are no part of it."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real corpora do not lie beside this checkout")
    return folder
