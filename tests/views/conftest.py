"""A page of the viewer, opened in a real browser that must neither complain nor ask anybody for anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Opens HTML as a file, waits until something is drawn; fails on any console error, page error or request."""
    faults: list[str] = []
    contexts = []

    def open_html(html: str, fragment: str = "", *, script: str = "", **options: Any) -> Page:
        path = tmp_path / f"page{len(contexts)}.html"
        path.write_text(html, encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        if script:  # run before anything in the page is
            page.add_init_script(script)
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith(("file:", "data:", "blob:")) else faults.append(request.url)
            ),
        )
        page.goto(path.as_uri() + (f"#{fragment}" if fragment else ""))
        try:
            page.wait_for_selector(".attlas[data-drawn]", timeout=15_000)
        except Exception as problem:  # says what the page says, which the browser's own error does not
            seen = page.locator("body").inner_text()
            raise AssertionError(f"nothing was drawn; the page says {seen!r} and complains of {faults}") from problem
        return page

    yield open_html
    for context in contexts:
        context.close()
    assert not faults
