// The lower edge of a picture that may be as high as one likes: dragged, or moved by the arrow keys; a double click gives
// the picture the height of the window again.

import { element } from "./dom.js";

const LEAST = 160;
const MOST = 20_000;
const STEP = 40; // pixels of an arrow key

/** A handle below the stage; `height()` tells how high the picture is, `choose({ tall })` makes it higher or lower. */
export function grip(height, choose) {
  let from = null; // { y, height } where dragging began
  const made = (pixels) => choose({ tall: Math.round(Math.min(MOST, Math.max(LEAST, pixels))) });
  const handle = element("div", {
    class: "attlas-grip", role: "separator", "aria-orientation": "horizontal", "aria-label": "Height of the picture", tabindex: "0",
    title: "Drag, or press ↑ ↓, to make the picture higher or lower; a double click fits it to the window",
    pointerdown(event) {
      from = { y: event.clientY, height: height() };
      handle.setPointerCapture(event.pointerId);
    },
    pointermove(event) {
      if (from) made(from.height + event.clientY - from.y);
    },
    pointerup() { from = null; },
    pointercancel() { from = null; },
    dblclick() { choose({ tall: null }); },
    keydown(event) {
      const by = { ArrowUp: -STEP, ArrowDown: STEP }[event.key];
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      made(height() + by);
    },
  });
  return handle;
}
