// Regions of a text: those that Python has found (the turns of a chat, parts that begin with a marker, what was written), or
// those cut by hand, which begin where a person has said so. Where there is none, the text is one.

import { readable, rowOf, shortened } from "./readings.js";

/** The regions of what a panel shows, in rows: [{ name, from, to }]; none where there is but one. */
export function regionsOf(panel, state) {
  if (panel.strand.keys) return [];
  const rows = panel.keys.length;
  const starts = new Map();
  if (state.cuts) {
    starts.set(0, "1: the beginning");
    for (const piece of state.cuts) {
      const row = rowOf(panel.keys, piece);
      if (row > 0) starts.set(row, `${starts.size + 1}: ${shortened(panel.keys[row].plain, 20)} …`);
    }
  } else {
    for (const { name, from } of panel.strand.queries.regions ?? []) {
      const row = panel.keys.findIndex((label) => label.pieces.at(-1) >= from);
      if (row >= 0 && !starts.has(row)) starts.set(row, readable(name));
    }
  }
  const order = [...starts].sort(([a], [b]) => a - b);
  if (order.length < 2) return [];
  return order.map(([from, name], at) => ({ name, from, to: order[at + 1]?.[0] ?? rows }));
}

/** The share of each region in some values. */
export function massOn(regions, values) {
  return regions.map(({ from, to }) => {
    let sum = 0;
    for (let row = from; row < to; row += 1) sum += values[row];
    return sum;
  });
}
