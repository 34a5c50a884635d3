// The map that grows while a model writes: a row for each piece that it has written, with what it looked at when it wrote it,
// the mean of all heads. Left of the line stands what was read, right of it what it wrote before.

import { element } from "./dom.js";
import { shade } from "./palette.js";
import { canvasSurface } from "./surface.js";

const CELL = 14; // pixels a side, at most
const LOWEST = 2; // pixels of a row, at least
const TALLEST = 220; // pixels of the whole, as long as rows are not lower than that

/** A map with nothing in it: { element, grow, clear }. */
export function growingMap() {
  const canvas = element("canvas", { role: "img", "aria-label": "What each written piece looked at" });
  const whole = element("figure", { class: "attlas-growing", hidden: true }, element("figcaption", {}, "what each written piece looked at, mean of all heads: of what was read, and right of the line of what was written"), canvas);
  let rows = [];

  /** Take further rows, of which so many columns are what was read, and draw. */
  function grow(more, read, colours) {
    rows.push(...more);
    whole.hidden = !rows.length;
    if (!rows.length) return;
    const columns = Math.max(...rows.map((row) => row.length));
    const across = Math.min(CELL, whole.clientWidth / columns);
    const down = Math.max(LOWEST, Math.min(CELL, TALLEST / rows.length));
    const surface = canvasSurface(canvas, Math.ceil(across * columns), Math.ceil(down * rows.length));
    rows.forEach((row, at) => row.forEach((value, column) => {
      surface.rect(column * across, at * down, across, down, shade(colours.sequential, value / 255));
    }));
    if (read < columns) surface.rect(read * across - 0.5, 0, 1, down * rows.length, colours.negative);
    whole.dataset.rows = rows.length;
  }

  function clear() {
    rows = [];
    whole.hidden = true;
  }

  return { element: whole, grow, clear, count: () => rows.length };
}
