// The head view: the text twice, and lines from each query on the left to its keys on the right, as strong as the weight
// and coloured by head. Pointing at a word leaves its lines alone and writes their numbers beside the other column. At
// the right edge every head has a column of bars: what each key gets of the word that is chosen, else of all words.

import { headColour } from "./palette.js";
import { briefly, written, layerName, mapLabel, mapName, meanName, noHead } from "./numbers.js";
import { rowOf } from "./readings.js";
import { fitted } from "./surface.js";

const MOST_LINES = 6000; // drawn at once, the strongest first
const MOST_ROWS = 200; // rows of a column; of longer texts a window is shown
const FAINTEST = 0.008;
const SHARE = 0.05; // of the strongest line, where there is but a window of a long text
const LEAST = 0.0005; // of a number that is written
const NARROW = 400; // pixels below which words are smaller and single heads have no columns
const SQUEEZED = 84; // pixels of a word there
const TOP = 24; // room for what stands above the columns
const TALLEST = 64; // pixels of a row
const LARGEST = 22; // of its letters
const SMALL = 14; // on a telephone
const COLUMN = 76; // pixels of a head's column of bars, at most
const BARRED = 18; // and from which on it holds bars; below that, cells that are as strong as the weight

export const headView = {
  note: ([panel]) => (panel && windowed(panel) ? "A window of queries and keys is shown; a full line is the strongest in it, and far keys may get more." : null),

  named: ({ panel, heads }, { layer }) => (heads.length > 1 && !panel.strand.joint && !panel.signed
    ? `${heads.length} heads of ${layerName(panel.strand, layer)}, numbers are their means` : meanName(panel.strand, layer, heads)),

  async load(panel, state) {
    const heads = panel.headsOf(state.layer).filter((head) => !state.heads || state.heads.includes(head));
    if (panel.signed) return { panel, heads, grids: heads.length ? [await panel.mean(state.layer, heads)] : [] };
    return { panel, heads, grids: await Promise.all(heads.map((head) => panel.grid(state.layer, head))) };
  },

  layout(data, state, room, surface, colours) {
    const { panel } = data;
    const rows = Math.max(panel.queries.length, panel.keys.length);
    const narrow = room.width < NARROW;
    const least = rows > 60 ? 12 : rows > 30 || narrow ? 13 : 15;
    const step = Math.max(Math.round(least * 1.5), Math.min(TALLEST, Math.floor((room.height - TOP - 6) / Math.max(1, rows))));
    const size = Math.max(least, Math.min(narrow ? SMALL : step > 40 ? LARGEST : 18, Math.floor(step / 1.6)));
    const font = `${size}px ${colours.sans}`;
    const span = (labels, at) => {
      if (labels.length <= MOST_ROWS) return [0, labels.length];
      const first = Math.max(0, Math.min(labels.length - MOST_ROWS, at - MOST_ROWS / 2));
      return [first, first + MOST_ROWS];
    };
    const centre = Math.max(0, rowOf(panel.queries, state.query));
    const queries = span(panel.queries, centre);
    const facing = panel.queries[centre]?.place ?? centre; // of some rows of a text the keys that lie around the first
    const keys = span(panel.keys, state.key === null ? facing : Math.max(0, rowOf(panel.keys, state.key)));
    const most = narrow ? SQUEEZED : Infinity;
    const widest = (labels, [from, to]) =>
      Math.min(most, labels.slice(from, to).reduce((found, label) => Math.max(found, surface.measure(label.short, `600 ${font}`)), 30));
    const numbers = Math.ceil(surface.measure("0.0000", numberFont(size, colours))) + 8;
    const left = (narrow ? 0 : numbers) + widest(panel.queries, queries) + 10;
    const words = widest(panel.keys, keys) + numbers + 14;
    const count = data.grids.length;
    const free = room.width - left - words;
    const cells = narrow || !count ? 0 : Math.max(7 * count, Math.min(COLUMN * Math.max(count, 3), Math.floor(free * 0.45))) + 6;
    const middle = Math.max(narrow ? 60 : 120, free - cells);
    const height = TOP + 6 + step * Math.max(queries[1] - queries[0], keys[1] - keys[0]);
    return { data, font, size, step, most, narrow, queries, keys, left, middle, numbers, cells, width: left + middle + words + cells, height };
  },

  draw(surface, geometry, state, focus, colours) {
    const { data, step, queries, keys, left, middle, font, numbers, cells, size } = geometry;
    const { panel, heads, grids } = data;
    const x0 = left + 6;
    const x1 = left + middle - 6;
    const apart = Math.min(1.5, (step * 0.6) / Math.max(1, grids.length)); // so that lines of several heads do not hide each other
    const y = (row, [from]) => TOP + step * (row - from) + step / 2;
    const colourOf = (value, place) =>
      panel.signed ? (value < 0 ? colours.negative : colours.positive) : headColour(colours, heads[place]);

    const lines = linesOf(geometry, focus);
    const full = panel.signed ? Math.max(1e-6, ...grids.map((grid) => grid.top)) : windowed(panel) ? lines.at(-1)?.value : 1; // what a full line stands for
    for (const line of lines) {
      const alone = focus.query !== null || focus.key !== null;
      const strength = Math.min(1, Math.abs(line.value) / full);
      const alpha = alone ? 0.07 + 0.93 * strength ** 0.7 : 0.95 * strength;
      const thickness = 0.7 + 2.6 * strength;
      const beside = (line.place - (grids.length - 1) / 2) * apart;
      surface.curve(x0, y(line.query, queries) + beside, x1, y(line.key, keys) + beside, colourOf(line.value, line.place), thickness, alpha);
    }

    const word = (label, x, at, align, active, faded) => {
      const from = geometry.narrow ? 0 : numbers;
      if (active) surface.rect(align === "right" ? from : x - 4, at - step / 2, align === "right" ? left - from + 4 : surface.width, step, colours.wash);
      const style = active ? `600 ${font}` : font;
      surface.text(fitted(label.short, surface, style, geometry.most), x, at, {
        font: style, align, alpha: faded ? 0.55 : 1, fill: label.special ? colours.soft : colours.ink,
      });
    };
    for (let row = queries[0]; row < queries[1]; row += 1) {
      word(panel.queries[row], left, y(row, queries), "right", focus.query === row, focus.query !== null && focus.query !== row);
    }
    for (let row = keys[0]; row < keys[1]; row += 1) {
      word(panel.keys[row], left + middle, y(row, keys), "left", focus.key === row, focus.key !== null && focus.key !== row);
    }

    const small = numberFont(size, colours);
    const heading = { font: `11px ${colours.sans}`, fill: colours.soft };
    surface.text("query", left, TOP / 2, { ...heading, align: "right" });
    surface.text("key", left + middle, TOP / 2, heading);
    if (cells) drawColumns(surface, geometry, focus, colours, (row) => y(row, keys), colourOf);
    const toKeys = focus.key === null; // beside the keys stands what they get: of the query that is chosen, else of all
    const [from, to] = toKeys ? keys : queries;
    const numbersAt = surface.width - cells - 4;
    const towards = toKeys ? [] : grids.map((grid) => lineOf(grid, false, focus.key));
    const means = toKeys ? grids.map((grid) => received(grid, focus.query === null ? null : [focus.query])) : [];
    const least = Math.min(LEAST, 0.5 / panel.keys.length); // half an even share, in a long text
    for (let row = from; row < to; row += 1) {
      const values = toKeys ? means.map((column) => column[row]) : towards.map((column) => column[row]);
      if (!values.length) continue;
      const value = values.reduce((sum, v) => sum + v, 0) / values.length;
      if (Math.abs(value) < least) continue;
      const at = y(row, toKeys ? keys : queries);
      if (geometry.narrow && !toKeys) surface.rect(left + 4, at - step * 0.4, numbers, step * 0.8, colours.paper, 0.85);
      const end = toKeys ? numbersAt : geometry.narrow ? left + numbers + 2 : numbers - 6;
      surface.text(Math.abs(value) < 0.001 ? briefly(value) : written(value), end, at, { font: small, align: "right", fill: colours.soft });
    }
  },

  hit(geometry, x, y) {
    const { data, step, queries, keys, left, middle } = geometry;
    const place = Math.floor((y - TOP) / step);
    if (place < 0) return null;
    if (x < left + 8) {
      const row = queries[0] + place;
      return row < queries[1] && row < data.panel.queries.length ? { query: row, key: null } : null;
    }
    if (x > left + middle - 8) {
      const row = keys[0] + place;
      return row < keys[1] ? { query: null, key: row } : null;
    }
    return null;
  },

  /** A click keeps a word, or lets it go again. */
  click(geometry, state, focus) {
    const { panel } = geometry.data;
    const query = focus?.query != null ? panel.queries[focus.query].pieces[0] : null;
    const key = focus?.key != null ? panel.keys[focus.key].pieces[0] : null;
    const again = query === state.query && key === state.key;
    return again ? { query: null, key: null } : { query, key };
  },

  say(data, state, focus) {
    const { panel, heads, grids } = data;
    if (!grids.length) return noHead(panel, state);
    if (focus.query === null && focus.key === null) return "";
    const fromQuery = focus.query !== null;
    const labels = fromQuery ? panel.keys : panel.queries;
    const exact = grids.every((grid) => grid.data && (fromQuery ? grid.exactRow(focus.query) : panel.queries.every((_, row) => grid.exactRow(row))));
    const lines = grids.map((grid) => lineOf(grid, fromQuery, fromQuery ? focus.query : focus.key));
    const ranked = labels.map((label, row) => {
      const values = lines.map((line) => line[row]);
      return { label, value: values.reduce((sum, v) => sum + v, 0) / values.length, norm: normOf(panel, grids, fromQuery ? focus.query : row, values[0]) };
    });
    ranked.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const found = ranked.slice(0, 6).map(({ label, value, norm }) => `${label.short} ${written(value, exact)}${norm}`).join(" · ");
    const which = meanName(panel.strand, state.layer, heads);
    const word = fromQuery ? panel.queries[focus.query].short : panel.keys[focus.key].short;
    return fromQuery ? `${word} attends to ${found} (${which})` : `${word} is attended to by ${found} (${which})`;
  },

  table(data, state, focus) {
    const { panel, heads, grids } = data;
    if (focus.query === null) return grids.every((grid) => grid.data) ? strongest(data, state) : { caption: panel.title, columns: [], rows: [] };
    const columns = ["key", ...(panel.signed ? ["difference"] : heads.map((head) => mapName(panel.strand, state.layer, head)))];
    const rows = panel.keys.map((label, row) => [
      label.text, ...grids.map((grid) => written(lineOf(grid, true, focus.query)[row], grid.exactRow(focus.query))),
    ]);
    return { caption: `From ${panel.queries[focus.query].text}: ${panel.title}`, columns, rows };
  },
};

/** A column for each head beside the keys: what they get of the query that is chosen, else of all queries on average. */
function drawColumns(surface, { data, keys, step, cells }, focus, colours, y, colourOf) {
  const { panel, heads, grids } = data;
  const width = (cells - 6) / Math.max(1, grids.length);
  const from = surface.width - cells + 4;
  const rows = focus.query === null ? null : [focus.query];
  const values = grids.map((grid) => received(grid, rows));
  const most = values.reduce((found, column) => column.reduce((a, b) => Math.max(a, Math.abs(b)), found), 1e-6);
  const full = rows && !panel.signed ? 1 : most; // means of all queries are small; the longest bar is the largest of them
  const said = rows ? "of this query" : "of all queries";
  const font = `11px ${colours.sans}`;
  if (grids.length > 1 && width >= BARRED) {
    heads.forEach((head, place) => surface.text(String(head + 1), from + place * width, TOP / 2, { font: `600 ${font}`, fill: colourOf(1, place) }));
  } else if (cells > surface.measure(said, font)) surface.text(said, from, TOP / 2, { font, fill: colours.soft });
  values.forEach((column, place) => {
    const x = from + place * width;
    if (width >= BARRED) surface.rect(x, TOP, 1, step * (keys[1] - keys[0]), colours.line);
    for (let key = keys[0]; key < keys[1]; key += 1) {
      const strength = Math.min(1, Math.abs(column[key]) / full);
      if (width >= BARRED) surface.rect(x, y(key) - step * 0.3, strength * (width - 6), step * 0.6, colourOf(column[key], place), 0.85);
      else surface.rect(x, y(key) - step * 0.36, Math.max(1, width - 1), step * 0.72, colourOf(column[key], place), Math.min(1, 0.05 + strength));
    }
  });
}

/** What keys get of some queries, on average; null: of all. */
function received(grid, rows) {
  grid.columnMeans ??= meanOf(grid, Array.from({ length: grid.rows }, (_, row) => row));
  return rows ? meanOf(grid, rows) : grid.columnMeans;
}

function meanOf({ data, columns, lines }, rows) {
  if (lines) return rows.length === 1 ? lines.line(false, rows[0]) : lines.average();
  const sums = new Float64Array(columns);
  for (const row of rows) for (let key = 0; key < columns; key += 1) sums[key] += data[row * columns + key] / rows.length;
  return sums;
}

/** What a query gives to all keys, or all queries to a key, of a grid that has its numbers or reckons them. */
function lineOf({ data, rows, columns, lines }, ofQuery, at) {
  if (lines) return lines.line(!ofQuery, at);
  if (ofQuery) return data.subarray(at * columns, (at + 1) * columns);
  return Float32Array.from({ length: rows }, (_, row) => data[row * columns + at]);
}

function numberFont(size, colours) {
  return `${Math.max(11, size - 3)}px ${colours.sans}`;
}

/** The norm itself beside its share of the row, where one head is shown. */
function normOf({ strand }, grids, row, share) {
  if (grids.length !== 1 || !grids[0].sums) return "";
  return ` (${strand.joint ? "joint norm" : "‖αf(x)‖"} ${written(share * grids[0].sums[row], grids[0].exactRow(row))})`;
}

function strongest({ panel, heads, grids }, state) {
  const rows = panel.queries.map((label, row) => {
    let best = { value: 0, place: 0, key: 0 };
    grids.forEach((grid, place) => {
      for (let key = 0; key < grid.columns; key += 1) {
        const value = grid.data[row * grid.columns + key];
        if (Math.abs(value) > Math.abs(best.value)) best = { value, place, key };
      }
    });
    const head = panel.signed ? "mean" : heads.length ? mapLabel(panel.strand, state.layer, heads[best.place]) : "";
    return [label.text, panel.keys[best.key]?.text ?? "", head, written(best.value, grids[best.place]?.exactRow(row))];
  });
  return { caption: `The strongest line of each query: ${panel.title}`, columns: ["query", "key", panel.strand.joint ? "layer" : "head", "value"], rows };
}

/** Whether all that is seen is a window of a text too long for its weights, where no line need be strong. */
function windowed({ reckoned, keys }) {
  return Boolean(reckoned) && keys.length > MOST_ROWS;
}

/** Lines worth drawing, weakest first so that strong ones lie on top. */
function linesOf({ data, queries, keys }, focus) {
  const lines = [];
  const alone = focus.query !== null || focus.key !== null;
  const few = windowed(data.panel);
  const faintest = few ? 0 : alone ? 0.001 : FAINTEST;
  data.grids.forEach((grid, place) => {
    const rows = focus.query !== null ? [focus.query, focus.query + 1] : queries;
    const columns = focus.key !== null ? [focus.key, focus.key + 1] : keys;
    const column = grid.lines && focus.query === null && focus.key !== null ? grid.lines.line(true, focus.key) : null;
    for (let query = Math.max(rows[0], queries[0]); query < Math.min(rows[1], queries[1]); query += 1) {
      const line = column ? null : lineOf(grid, true, query);
      for (let key = columns[0]; key < columns[1]; key += 1) {
        const value = column ? column[query] : line[key];
        if (value > faintest || value < -faintest) lines.push({ query, key, place, value });
      }
    }
  });
  lines.sort((a, b) => Math.abs(a.value) - Math.abs(b.value));
  const least = few && lines.length ? SHARE * lines.at(-1).value : 0;
  return lines.slice(Math.max(0, lines.length - MOST_LINES)).filter(({ value }) => Math.abs(value) >= least);
}
