"""What tests in a browser share: tabs that are lent from test to test, and what becomes of a test that has none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Heard = dict[str, Callable[[Any], object]]  # what is called at which event of a tab
MOST_IDLE = 2  # tabs of a kind that are kept for the next test


def without_browser(why: str, *, required: bool) -> NoReturn:
    """End the test: as a failure where a browser was asked for, else as skipped."""
    if required:
        pytest.fail(f"a browser is required here, and {why}", pytrace=False)
    pytest.skip(why)


class Lent(NamedTuple):
    """What a tab that is out was asked for with."""

    kind: str
    size: Any
    heard: Heard


class Tabs:
    """Tabs that are lent and taken back, since a new one costs three times what it takes to open a page in it.

    A tab that is taken back is empty, has the size that it was made with, remembers nothing, and tells nobody of
    anything. What cannot be undone, such as a script for all pages to come, needs a tab that is then thrown away.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.idle: dict[str, list[Page]] = {}
        self.lent: dict[Page, Lent] = {}

    def lend(self, heard: Heard, **options: Any) -> Page:
        """A tab of a window with these options, which tells the listeners of its events."""
        options = {"viewport": {"width": 1280, "height": 900}, **options}
        kind = json.dumps(options, sort_keys=True)
        waiting = self.idle.setdefault(kind, [])
        tab = waiting.pop() if waiting else self.browser.new_context(**options).new_page()
        self.lent[tab] = Lent(kind, options["viewport"], heard)
        for event, listener in heard.items():
            tab.on(event, listener)  # type: ignore[call-overload]
        return tab

    def take_back(self, tab: Page, *, thrown_away: bool = False) -> None:
        """Empty a tab for the next test, or close its window."""
        kind, size, heard = self.lent.pop(tab)
        waiting = self.idle[kind]
        if thrown_away or len(waiting) == MOST_IDLE:
            tab.context.close()
            return
        tab.mouse.up()
        tab.mouse.move(0, 0)
        tab.evaluate("try { localStorage.clear(); } catch { /* it may have no memory */ }")
        tab.goto("about:blank")
        tab.set_viewport_size(size)
        for event, listener in heard.items():
            tab.remove_listener(event, listener)
        waiting.append(tab)
