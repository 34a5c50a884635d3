"""What tests of the views share: many places of a picture pointed at in one go, and what the address holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

# what is said is written in the next frame, by a callback that was asked for before the one here
SWEEP = """async (canvas, [places, wanted]) => {
  const said = [];
  for (const [x, y] of places) {
    const box = canvas.getBoundingClientRect();
    const at = { clientX: box.left + x, clientY: box.top + y, bubbles: true };
    canvas.dispatchEvent(new PointerEvent("pointermove", at));
    await new Promise((done) => requestAnimationFrame(done));
    said.push(document.querySelector(".attlas-readout").innerText);
    if (wanted && said.at(-1).includes(wanted)) break;
  }
  canvas.dispatchEvent(new PointerEvent("pointerleave"));
  await new Promise((done) => requestAnimationFrame(done));
  return said;
}"""


def sweep(shown: Page, places: Sequence[tuple[float, float]], until: str = "") -> list[str]:
    """What is said at each place of the first picture, as far as the first that says what is looked for.

    The page is told of a pointer there, frame by frame, without the way through the browser's mouse, which is slow;
    what is found is to be pointed at with the mouse itself.
    """
    canvas = shown.locator(".attlas-stage canvas").first
    return list(canvas.evaluate(SWEEP, [[list(place) for place in places], until]))


def address_has(shown: Page, part: str, *, but: bool = True) -> None:
    """Wait until the address of the page holds something, or holds it no more: it is written a moment after a change,
    however long that is on a machine that does other things."""
    shown.wait_for_url(lambda address: (part in address) is but, timeout=10_000)
