// Small pictures of heads, made one after the other while the page stays awake.
//
// A picture has at most 72 cells a side; a cell that stands for several numbers shows the strongest of them, so that a
// diagonal or a column one piece wide is never lost. Full colour is the mean, over the queries, of their strongest key:
// one strong row cannot make all others pale, and a head that looks everywhere is an even tint. Below that the shade is
// the root of the share. Of each head no more than this is kept: its cells, its full colour and its strongest link.

import { pause } from "./breath.js";

const CELLS = 72;
const SLICE = 12; // milliseconds of work between two chances to draw
const NEWS = 90; // milliseconds between two drawings while pictures come in
const FAINT = 0.02; // differences below this are no full colour
const WORK = new WeakMap(); // panel -> { made, wanted, again, running, begun, fault }

/** How a head is named among those made. */
export function nameOf({ layer, head }) {
  return `${layer}-${head}`;
}

/** See to it that the wanted heads ({ layer, head }) of a panel get pictures; gives at once what there is and will be. */
export function gather(panel, wanted, again) {
  if (!WORK.has(panel)) WORK.set(panel, { made: new Map(), running: false, begun: null, fault: null });
  const work = WORK.get(panel);
  work.wanted = wanted;
  work.again = again;
  if (!work.running && wanted.some((each) => !work.made.has(nameOf(each)))) {
    work.running = true;
    work.fault = null;
    work.begun = new Promise((begun, failed) => {
      make(panel, work, begun)
        .catch((error) => { work.fault = error; failed(error); work.again(); })
        .finally(() => { work.running = false; });
    });
    work.begun.catch(() => {}); // whoever waits for it is told
  }
  return work;
}

/** Make what is wanted, in slices; stops when nobody looks any more (`again` then answers false). */
async function make(panel, work, begun) {
  let since = performance.now();
  let told = since;
  for (;;) {
    const next = work.wanted.find((each) => !work.made.has(nameOf(each)));
    if (!next) break;
    const grid = await panel.picture(next.layer, next.head);
    work.made.set(nameOf(next), { ...picture(grid, CELLS, CELLS, panel.signed), strongest: strongest(grid, panel.strand.causal) });
    const after = work.wanted.find((each) => !work.made.has(nameOf(each)));
    if (after) panel.picture(after.layer, after.head).catch(() => {}); // unpacked while this one waits for its frame
    if (performance.now() - since < SLICE) continue;
    begun();
    if (performance.now() - told > NEWS) {
      if (work.again() === false) return;
      told = performance.now();
    }
    await pause();
    since = performance.now();
  }
  begun();
  work.again();
}

/** A grid as shares of full colour, in so many cells at most: { rows, columns, data (-127..127), painted }. */
export function picture(grid, mostRows, mostColumns, signed) {
  const full = fullColour(grid, signed);
  const rows = Math.min(mostRows, grid.rows);
  const columns = Math.min(mostColumns, grid.columns);
  const data = Int8Array.from(pooled(grid, rows, columns), (value) => Math.round(127 * share(value, full)));
  return { rows, columns, data, painted: null };
}

/** The number that gets full colour: the mean over rows of their strongest. */
function fullColour({ data, rows, columns }, signed) {
  let sum = 0;
  for (let row = 0, at = 0; row < rows; row += 1) {
    let top = 0;
    for (const stop = at + columns; at < stop; at += 1) {
      const size = data[at] < 0 ? -data[at] : data[at];
      if (size > top) top = size;
    }
    sum += top;
  }
  return Math.max(sum / Math.max(1, rows), signed ? FAINT : 1e-9);
}

/** How much colour a number gets, from -1 to 1. */
function share(value, full) {
  const size = Math.sqrt(Math.min(1, Math.abs(value) / full));
  return value < 0 ? -size : size;
}

/** Fewer rows and columns, of which each cell holds the strongest of the numbers that fall into it. */
function pooled({ data, rows, columns }, fewerRows, fewerColumns) {
  if (fewerRows === rows && fewerColumns === columns) return data;
  const found = new data.constructor(fewerRows * fewerColumns);
  const columnOf = Uint32Array.from({ length: columns }, (_, column) => Math.floor((column * fewerColumns) / columns));
  for (let row = 0, at = 0; row < rows; row += 1) {
    const start = Math.floor((row * fewerRows) / rows) * fewerColumns;
    for (let column = 0; column < columns; column += 1, at += 1) {
      const value = data[at];
      const place = start + columnOf[column];
      const size = value < 0 ? -value : value;
      const before = found[place];
      if (size > (before < 0 ? -before : before)) found[place] = value;
    }
  }
  return found;
}

/** A canvas of a picture in a theme's colours, with no more cells than it gets dots on the screen; made once. */
export function painted(shares, width, height, signed, colours) {
  const columns = Math.max(1, Math.min(shares.columns, dots(width)));
  const rows = Math.max(1, Math.min(shares.rows, dots(height)));
  const name = `${colours.name} ${columns} ${rows}`;
  if (shares.painted?.name === name) return shares.painted.canvas;
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const ramp = signed ? colours.diverging : colours.sequential;
  const cells = pooled(shares, rows, columns);
  for (let at = 0; at < cells.length; at += 1) {
    const from = 3 * Math.round(signed ? 127.5 * (1 + cells[at] / 127) : (255 * cells[at]) / 127);
    image.data.set([ramp[from], ramp[from + 1], ramp[from + 2], 255], 4 * at);
  }
  context.putImageData(image, 0, 0);
  shares.painted = { name, canvas };
  return canvas;
}

/** The dots that a length in CSS pixels has on this screen. */
export function dots(length) {
  return Math.floor(length * (globalThis.devicePixelRatio || 1));
}

/** The strongest link of a grid; where attention is causal the first query, which sees only itself, does not count. */
export function strongest({ data, rows, columns, exactRow, link }, causal) {
  if (link !== undefined) return link;
  if (!data.length) return null;
  let best = causal && rows > 1 ? columns : 0;
  for (let at = best + 1; at < data.length; at += 1) if (Math.abs(data[at]) > Math.abs(data[best])) best = at;
  const query = Math.floor(best / columns);
  return { query, key: best % columns, value: data[best], exact: exactRow(query) };
}
