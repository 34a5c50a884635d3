"""A page of the viewer, opened in a real browser that must neither complain nor ask anybody for anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browsers import Heard, Tabs

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def open_page(tabs: Tabs, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Opens HTML as a file, waits until something is drawn; fails on any console error, page error or request."""
    faults: list[str] = []
    opened: list[Page] = []
    marked: set[Page] = set()
    numbers = count()
    heard: Heard = {
        "console": lambda message: faults.append(message.text) if message.type == "error" else None,
        "pageerror": lambda error: faults.append(str(error)),
        "dialog": lambda dialog: (faults.append(dialog.message), dialog.dismiss()),
        "request": lambda request: (
            None if request.url.startswith(("file:", "data:", "blob:", "about:")) else faults.append(request.url)
        ),
    }

    def open_html(
        html: str, fragment: str = "", *, script: str = "", own: bool = False, instead: Page | None = None,
        **options: Any,
    ) -> Page:  # fmt: skip
        """``script`` runs before anything in the page does; a tab of its ``own`` is for a test that changes it;
        ``instead`` is an open page that may go."""
        path = tmp_path / f"page{next(numbers)}.html"
        path.write_text(html, encoding="utf-8")
        page = instead or tabs.lend(heard, **options)
        if page is not instead:
            opened.append(page)
        if script or own:
            marked.add(page)
        if script:
            page.add_init_script(script)
        page.goto(path.as_uri() + (f"#{fragment}" if fragment else ""))
        try:
            page.wait_for_selector(".attlas[data-drawn]", timeout=15_000)
        except Exception as problem:  # says what the page says, which the browser's own error does not
            seen = page.locator("body").inner_text()
            raise AssertionError(f"nothing was drawn; the page says {seen!r} and complains of {faults}") from problem
        return page

    yield open_html
    for page in opened:
        tabs.take_back(page, thrown_away=page in marked)
    assert not faults
