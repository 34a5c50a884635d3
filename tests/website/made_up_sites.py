"""What tests of sites share: two made-up atlases, and how to get from page to page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from benchmarks.invented_atlas import Shape

if TYPE_CHECKING:
    from playwright.sync_api import Page

ONE = Shape(models=1, layers=6, heads=12, figures=20)
FOUR = Shape(models=4, layers=4, heads=6, figures=12, streams=("encoder", "decoder"), key_heads=2, seed=1)
COMMAND = "attlas atlas sample --out FOLDER"
REMARK = "tiny was read on other texts by one study than by another: sample and a poem."
Open = Callable[..., "Page"]


def go(page: Page, fragment: str) -> None:
    """Go to another page of the site, and wait until it is whole."""
    page.evaluate(
        """(fragment) => {
          if (fragment === location.hash) return;
          document.documentElement.dataset.ready = "false";
          location.hash = fragment;
        }""",
        fragment,
    )
    page.wait_for_selector("html[data-ready=true]", timeout=30_000)
