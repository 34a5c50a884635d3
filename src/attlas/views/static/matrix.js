// The matrix view: all queries against all keys at once, the mean of the chosen heads, as a map to be zoomed and moved. It is made
// for long texts: the page stays awake while blocks are unpacked and pictures made, and moving about costs next to nothing.

import { written, paperLabel, meanName, noHead } from "./numbers.js";
import { rowOf } from "./readings.js";
import { boxOf, isWhole, zoomed, panned, centred, kept } from "./box.js";
import { breather, pause } from "./breath.js";
import { add, pyramidOf, levelFor } from "./pyramid.js";
import { inside } from "./surface.js";
import { heatmapLayout, drawHeatmap, placeOf } from "./heatmap.js";

const LONG = 2_000_000; // cells beyond which one head is shown unless more are asked for
const NEAREST = 64; // pixels of a cell beyond which nothing is gained by going nearer
const PATIENCE = 150; // milliseconds after which waiting is shown
const PYRAMIDS = new WeakMap(); // numbers -> their pyramid, for blocks that are shown again

export const matrixView = {
  resizable: true,
  note(panels, state) {
    const [panel] = panels;
    if (panel?.reckoned) return "Each dot is the largest of the weights that it stands for; those under the pointer are reckoned from queries and keys.";
    if (!panel || state.heads || !isLong(panel) || panel.headsOf(state.layer).length < 2) return null;
    return `Head ${paperLabel(state.layer, this.chosen(panel, state)[0])} is shown alone, since the text is long; choose more heads for their mean.`;
  },

  named: ({ panel, heads }, { layer }) => meanName(panel.strand, layer, heads),

  /** The heads that are shown: those chosen, but of a long text one, unless more are asked for by number. */
  chosen(panel, state) {
    const heads = panel.headsOf(state.layer);
    if (panel.reckoned) return heads.filter((head) => head === (state.heads?.[0] ?? state.head)).slice(0, 1);
    if (!state.heads && isLong(panel)) return heads.includes(state.head) ? [state.head] : heads.slice(0, 1);
    return heads.filter((head) => !state.heads || state.heads.includes(head));
  },

  /** All heads, as the state has them. */
  every(panel) {
    return isLong(panel) ? panel.heads : null;
  },

  /** The heads whose exact numbers are asked for when a row is pointed at: of a long text at most one, for each must be unpacked. */
  asked(panel, state) {
    const heads = this.chosen(panel, state);
    return heads.length === 1 || !isLong(panel) ? heads : [];
  },

  async load(panel, state, again) {
    const heads = this.chosen(panel, state);
    const data = { panel, heads, limits: limitsOf(panel), grid: null, pyramid: null, progress: "", again, tables: new Map() };
    const work = panel.reckoned ? fillCoarse(data, state.layer, again) : fill(data, state.layer, again);
    if (!isLong(panel)) {
      await work;
      return data;
    }
    work.catch((error) => {
      data.problem = `These numbers could not be read: ${error.message}`;
      again();
    });
    await Promise.race([work, new Promise((done) => { setTimeout(done, PATIENCE); })]);
    return data;
  },

  waiting: ({ pyramid, problem, heads, panel }) => Boolean(!pyramid && !problem && heads.length && panel.queries.length && panel.keys.length),

  layout: heatmapLayout,
  draw: drawHeatmap,

  hit(geometry, x, y) {
    const { data, map, minimap, box, rows, columns } = geometry;
    if (inside(minimap, x, y)) return { query: null, key: null, place: [(x - minimap.x) / minimap.width, (y - minimap.y) / minimap.height] };
    const column = Math.floor((box[0] + ((x - map.x) / map.width) * (box[2] - box[0])) * columns);
    const row = Math.floor((box[1] + ((y - map.y) / map.height) * (box[3] - box[1])) * rows);
    const across = x >= map.x && x < map.x + map.width && column < columns;
    const down = y >= map.y && y < map.y + map.height && row < rows;
    if (across && down) return data.pyramid ? largestNear(geometry, row, column) : { query: row, key: column };
    if (down && x < map.x) return { query: row, key: null };
    if (across && y < map.y) return { query: null, key: column };
    return null;
  },

  /** A click keeps a cell, a row or a column, or lets it go again; on the small map it moves the part that is shown. */
  click(geometry, state, focus) {
    if (focus?.place) return isWhole(boxOf(state)) ? null : { box: kept(centred(boxOf(state), ...focus.place)) };
    const { panel } = geometry.data;
    const query = focus?.query != null ? panel.queries[focus.query].pieces[0] : null;
    const key = focus?.key != null ? panel.keys[focus.key].pieces[0] : null;
    const again = query === state.query && key === state.key;
    return again ? { query: null, key: null } : { query, key };
  },

  double(geometry, state, x, y) {
    return inside(geometry.map, x, y) ? { box: null } : null;
  },

  wheel(geometry, state, x, y, event) {
    const { map, box } = geometry;
    if (!inside(map, x, y) || (event.deltaY > 0 && isWhole(box))) return null; // and the page scrolls
    const pixels = event.deltaY * (event.deltaMode === 1 ? 33 : event.deltaMode === 2 ? 400 : 1);
    const factor = Math.exp(Math.min(300, Math.max(-300, pixels)) * 0.0022);
    const at = (low, high, share) => low + share * (high - low);
    const point = [at(box[0], box[2], (x - map.x) / map.width), at(box[1], box[3], (y - map.y) / map.height)];
    return { box: kept(zoomed(box, factor, ...point, leastOf(geometry))) };
  },

  drag(geometry, state, { fromX, fromY, x, y, toX, toY }) {
    const { map, minimap } = geometry;
    const box = boxOf(state);
    if (isWhole(box)) return null;
    if (inside(minimap, fromX, fromY)) {
      return { box: kept(centred(box, (toX - minimap.x) / minimap.width, (toY - minimap.y) / minimap.height)) };
    }
    if (!inside(map, fromX, fromY)) return null;
    return { box: kept(panned(box, ((x - toX) / map.width) * (box[2] - box[0]), ((y - toY) / map.height) * (box[3] - box[1]))) };
  },

  key(event, geometry, state) {
    const { panel } = geometry.data;
    const box = boxOf(state);
    const zoom = { "+": 0.7, "=": 0.7, "-": 1 / 0.7, _: 1 / 0.7 }[event.key];
    if (zoom) return { box: kept(zoomed(box, zoom, (box[0] + box[2]) / 2, (box[1] + box[3]) / 2, leastOf(geometry))) };
    if (event.key === "0") return { box: null };
    if (event.key === "a") return { heads: this.every(panel) };
    if ((event.key === "[" || event.key === "]") && !state.heads && isLong(panel)) {
      const heads = panel.headsOf(state.layer);
      const place = heads.indexOf(this.chosen(panel, state)[0]) + (event.key === "[" ? -1 : 1);
      const head = heads[Math.min(heads.length - 1, Math.max(0, place))];
      return { head, heads: [head] };
    }
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step) return null;
    if (event.shiftKey) return { box: kept(panned(box, (step[0] * (box[2] - box[0])) / 8, (step[1] * (box[3] - box[1])) / 8)) };
    return step[1] && panel.queries.length && !isWhole(box) ? nextQuery(geometry, state, step[1]) : null;
  },

  say(data, state, { query, key }) {
    const { panel, heads, grid } = data;
    if (!heads.length) return noHead(panel, state);
    if (!grid) return data.problem ?? data.progress;
    if (query === null && key === null) return "";
    const which = meanName(panel.strand, state.layer, heads);
    if (query !== null && key !== null) {
      const words = `${panel.queries[query].short} → ${panel.keys[key].short}`;
      if (unread(data, query, key)) return `${words}: not read yet, for the key comes after the query`;
      return `${words} ${written(data.source ? data.source.line(false, query)[key] : grid.data[query * grid.columns + key], !data.source && grid.exactRow(query))} (${which})`;
    }
    const labels = query !== null ? panel.keys : panel.queries;
    const line = data.source?.line(query === null, query ?? key);
    const ranked = labels.map((label, row) => (line ? line[row] : query !== null ? grid.data[query * grid.columns + row] : grid.data[row * grid.columns + key]))
      .map((value, row) => ({ label: labels[row], value, exact: !line && grid.exactRow(query ?? row) }))
      .sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const found = ranked.slice(0, 6).map(({ label, value, exact }) => `${label.short} ${written(value, exact)}`).join(" · ");
    if (query === null) return `${panel.keys[key].short} is attended to by ${found} (${which})`;
    return `${panel.queries[query].short} attends to ${found} (${which})`;
  },

  table(data, state, { query }) {
    const name = String(query);
    if (!data.pyramid) return { caption: data.panel.title, columns: [], rows: [] };
    if (!data.tables.has(name)) data.tables.set(name, query === null ? strongest(data) : keysOf(data, query));
    return data.tables.get(name);
  },
};

function isLong(panel) {
  return panel.queries.length * panel.keys.length > LONG;
}

/** How many keys each query can see, where a causal model reads; null where all of them. */
function limitsOf({ strand, queries, keys }) {
  if (!strand.causal) return null;
  let seen = 0;
  return Int32Array.from(queries, (query) => {
    while (seen < keys.length && keys[seen].pieces[0] <= query.pieces.at(-1)) seen += 1;
    return seen;
  });
}

function unread({ limits }, query, key) {
  return limits !== null && key >= limits[query];
}

/** Unpack the heads of a layer one after the other, take their mean, and make its pyramid; `data` gets what is ready. */
async function fill(data, layer, again) {
  const { panel, heads, limits } = data;
  const [rows, columns] = [panel.queries.length, panel.keys.length];
  if (!heads.length || !rows || !columns) return;
  const breathe = breather(unwanted(again));
  const tell = async (progress) => {
    if (!isLong(panel)) return true;
    data.progress = progress;
    if (again() === false) return false;
    await pause();
    return true;
  };
  let grid;
  if (heads.length > 1) {
    const sum = new Float32Array(rows * columns);
    const exact = new Uint8Array(rows).fill(1);
    for (const [place, head] of heads.entries()) {
      if (!(await tell(`Unpacking head ${place + 1} of ${heads.length}`))) return;
      const one = await panel.grid(layer, head);
      if (!(await add(sum, one.data, 1 / heads.length, breathe))) return;
      for (let row = 0; row < rows; row += 1) exact[row] &= one.exactRow(row) ? 1 : 0;
    }
    grid = { rows, columns, data: sum, exactRow: (row) => exact[row] === 1 };
  } else {
    if (!(await tell("Unpacking"))) return;
    grid = await panel.grid(layer, heads[0]);
  }
  const pyramid = PYRAMIDS.get(grid.data) ?? await pyramidOf(grid, limits, panel.signed, breathe);
  if (!pyramid) return;
  PYRAMIDS.set(grid.data, pyramid);
  data.grid = grid;
  data.pyramid = pyramid;
  again();
}

/** The same of a text that is too long for its weights: the coarse picture of one head, and what rows are reckoned from. */
async function fillCoarse(data, layer, again) {
  const { panel, heads } = data;
  if (!heads.length) return;
  const [grid, source] = await Promise.all([panel.picture(layer, heads[0]), panel.source(layer, heads[0])]);
  const pyramid = PYRAMIDS.get(grid.data) ?? await pyramidOf(grid, grid.limits, false, breather(unwanted(again)));
  if (!pyramid) return;
  PYRAMIDS.set(grid.data, pyramid);
  Object.assign(data, { grid, source, pyramid });
  again();
}

/** Whether nobody waits for something any more; asks now and then, for asking draws. */
function unwanted(again) {
  let next = 0;
  let gone = false;
  return () => {
    if (performance.now() < next) return gone;
    next = performance.now() + 100;
    gone = again() === false;
    return gone;
  };
}

/** The smallest part that can be shown, as fractions of the whole. */
function leastOf({ map, rows, columns }) {
  const least = Math.min(1, Math.min(map.width / columns, map.height / rows) / NEAREST);
  return [least, least];
}

/** The cell that gave the dot under the pointer its colour: the largest of those that the dot stands for. */
function largestNear({ data, cellWidth, cellHeight }, row, column) {
  const { grid, pyramid } = data;
  if (grid.coarse) return { query: row, key: column };
  const size = 2 ** levelFor(pyramid, Math.min(cellWidth, cellHeight) * (globalThis.devicePixelRatio || 1));
  if (size === 1 || unread(data, row, column)) return { query: row, key: column };
  const [firstRow, firstColumn] = [row - (row % size), column - (column % size)];
  let found = { query: row, key: column, value: -1 };
  for (let query = firstRow; query < Math.min(grid.rows, firstRow + size); query += 1) {
    for (let key = firstColumn; key < Math.min(grid.columns, firstColumn + size); key += 1) {
      const value = Math.abs(grid.data[query * grid.columns + key]);
      if (value > found.value && !unread(data, query, key)) found = { query, key, value };
    }
  }
  return { query: found.query, key: found.key };
}

/** The query above or below the one that is kept, and the part moved so that it can be seen. */
function nextQuery(geometry, state, by) {
  const { data, map, box, rows } = geometry;
  const { queries } = data.panel;
  const row = rowOf(queries, state.query);
  const next = row < 0 ? Math.floor(box[1] * rows) : Math.min(rows - 1, Math.max(0, row + by));
  const { y } = placeOf(geometry, next + 0.5, 0);
  const seen = y >= map.y && y <= map.y + map.height;
  return { query: queries[next].pieces[0], key: null, box: seen ? state.box : kept(centred(box, (box[0] + box[2]) / 2, (next + 0.5) / rows)) };
}

function keysOf(data, query) {
  const { panel, grid, limits } = data;
  const labels = limits ? panel.keys.slice(0, limits[query]) : panel.keys;
  const line = data.source?.line(false, query);
  const rows = labels.map((label, key) => [label.text, written(line ? line[key] : grid.data[query * grid.columns + key], !line && grid.exactRow(query))]);
  return { caption: `From ${panel.queries[query].text}: ${panel.title}`, columns: ["key", panel.signed ? "difference" : panel.measure], rows };
}

function strongest({ panel, grid, pyramid }) {
  if (grid.coarse) return { caption: panel.title, columns: [], rows: [] };
  const rows = panel.queries.map((label, row) => {
    const key = pyramid.strongest[row];
    return [label.text, panel.keys[key].text, written(grid.data[row * grid.columns + key], grid.exactRow(row))];
  });
  return { caption: `The strongest key of each query: ${panel.title}`, columns: ["query", "key", "value"], rows };
}
