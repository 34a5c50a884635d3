"""What tests of several packages share: a real browser, where there is one."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from browsers import Tabs, without_browser
from required import missing_packages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu"]
settings.register_profile("busy", suppress_health_check=[HealthCheck.too_slow], deadline=None)
settings.load_profile("busy")  # a machine that has other work to do says nothing about a strategy


def pytest_addoption(parser: pytest.Parser) -> None:
    """Continuous integration asks for a browser and for packages; a machine of one's own may do without."""
    parser.addoption("--require-browser", action="store_true", help="Fail, not skip, where there is no browser.")
    parser.addoption("--require", default="", help="Fail, not skip, where these packages are missing: a,b,c.")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to begin without what was asked for: tests that need it would be skipped."""
    missing = missing_packages(config.getoption("--require"))
    if missing:
        raise pytest.UsageError(f"{', '.join(missing)}: required here, and not installed")


def pytest_collection_finish() -> None:
    """What was imported stays, and need not be looked through for what could be freed, time and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def pages_tell_the_truth() -> Iterator[None]:
    """Whatever a test, or a fixture of many tests, runs a study for: every sentence of the page of its result is true
    of its tables, and so is all that an atlas would say of its heads."""
    from attlas.evidence.laws import check_evidence
    from attlas.run.session import Run
    from attlas.studies.joining import told_of

    finish = Run.finish

    def finished(run: Any, tables: Any, **more: Any) -> Any:
        from attlas.pages import Tables, holds
        from attlas.pages.truth import faults
        from attlas.studies import studies

        result = finish(run, tables, **more)
        study = studies().get(result.manifest.study)
        if study is not None and study.page:
            page = study.load_page()
            rows = Tables(result, page.schemas, page.derived)
            findings = page.found(rows)
            untrue = [str(told.text) for told in findings if not all(holds(claim, rows) for claim in told.claims)]
            assert not untrue, "a page says what is not so"
            assert not faults(findings, rows)
            check_evidence(told_of(study.name), result)
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "finish", finished)
        yield


@pytest.fixture(scope="session")
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """The Chromium that is installed on this machine; none is ever downloaded."""
    required = request.config.getoption("--require-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        without_browser("the package playwright is not installed", required=required)
    installed = Path("/usr/bin/chromium")
    program = str(installed) if os.access(installed, os.X_OK) else shutil.which("chromium")
    if program is None:
        without_browser("there is no Chromium on this machine", required=required)
    with sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=program, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def tabs(browser: Browser) -> Tabs:
    """Tabs of the browser, shared by all tests of a process."""
    return Tabs(browser)


@pytest.fixture
def open_report(tabs: Tabs) -> Iterator[Callable[[Path], Page]]:
    """Opens the page of a result folder, offline; whatever the browser complains of fails the test at its end."""
    complaints: list[str] = []
    opened: list[Page] = []

    def open_folder(folder: Path) -> Page:
        from attlas.studies.reporting import write_report

        heard = {
            "console": lambda message: complaints.append(message.text),
            "pageerror": lambda error: complaints.append(str(error)),
        }
        page = tabs.lend(heard, offline=True)
        opened.append(page)
        page.goto(write_report(folder).as_uri())
        page.wait_for_selector("html[data-ready=true]", timeout=60_000)
        return page

    yield open_folder
    for page in opened:
        tabs.take_back(page)
    assert complaints == []


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real corpora that lie beside the repo and are no part of it."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real corpora do not lie beside this checkout")
    return folder
