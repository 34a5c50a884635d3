// The head view: the text twice, and lines from each query on the left to its keys on the right, as strong as the weight
// and coloured by head. Pointing at a word leaves its lines alone and writes their numbers beside the other column.

import { headColour } from "./palette.js";
import { written, layerName, mapLabel, mapName, noHead } from "./numbers.js";
import { rowOf } from "./readings.js";

const MOST_LINES = 6000; // drawn at once, the strongest first
const MOST_ROWS = 200; // rows of a column; of longer texts a window is shown
const FAINTEST = 0.008;
const NARROW = 400; // pixels below which words are smaller and single heads have no cells

export const headView = {
  async load(panel, state) {
    const heads = panel.headsOf(state.layer).filter((head) => !state.heads || state.heads.includes(head));
    if (panel.signed) return { panel, heads, grids: heads.length ? [await panel.mean(state.layer, heads)] : [] };
    return { panel, heads, grids: await Promise.all(heads.map((head) => panel.grid(state.layer, head))) };
  },

  layout(data, state, room, surface, colours) {
    const { panel } = data;
    const rows = Math.max(panel.queries.length, panel.keys.length);
    const narrow = room.width < NARROW;
    const size = rows > 60 ? 12 : rows > 30 || narrow ? 13 : 15;
    const step = Math.round(size * 1.5);
    const font = `${size}px ${colours.sans}`;
    const span = (labels, at) => {
      if (labels.length <= MOST_ROWS) return [0, labels.length];
      const first = Math.max(0, Math.min(labels.length - MOST_ROWS, at - MOST_ROWS / 2));
      return [first, first + MOST_ROWS];
    };
    const centre = Math.max(0, rowOf(panel.queries, state.query));
    const queries = span(panel.queries, centre);
    const keys = span(panel.keys, state.key === null ? centre : Math.max(0, rowOf(panel.keys, state.key)));
    const widest = (labels, [from, to]) =>
      labels.slice(from, to).reduce((most, label) => Math.max(most, surface.measure(label.short, font)), 30);
    const numbers = narrow ? 40 : 46;
    const cells = narrow ? 0 : Math.min(120, 7 * data.grids.length + 6);
    const left = numbers + widest(panel.queries, queries) + 10;
    const right = widest(panel.keys, keys) + numbers + cells + 14;
    const middle = Math.max(narrow ? 80 : 120, Math.min(420, room.width - left - right));
    const height = 12 + step * Math.max(queries[1] - queries[0], keys[1] - keys[0]);
    return { data, font, size, step, queries, keys, left, middle, numbers, cells, width: left + middle + right, height };
  },

  draw(surface, geometry, state, focus, colours) {
    const { data, step, queries, keys, left, middle, font, numbers, cells, size } = geometry;
    const { panel, heads, grids } = data;
    const x0 = left + 6;
    const x1 = left + middle - 6;
    const apart = Math.min(1.5, (step * 0.6) / Math.max(1, grids.length)); // so that lines of several heads do not hide each other
    const y = (row, [from]) => 6 + step * (row - from) + step / 2;
    const colourOf = (value, place) =>
      panel.signed ? (value < 0 ? colours.negative : colours.positive) : headColour(colours, heads[place]);

    const full = panel.signed ? Math.max(1e-6, ...grids.map((grid) => grid.top)) : 1; // what a full line stands for
    for (const line of linesOf(geometry, focus)) {
      const alone = focus.query !== null || focus.key !== null;
      const strength = Math.min(1, Math.abs(line.value) / full);
      const alpha = alone ? 0.07 + 0.93 * strength ** 0.7 : 0.95 * strength;
      const thickness = 0.7 + 2.6 * strength;
      const beside = (line.place - (grids.length - 1) / 2) * apart;
      surface.curve(x0, y(line.query, queries) + beside, x1, y(line.key, keys) + beside, colourOf(line.value, line.place), thickness, alpha);
    }

    const word = (label, x, at, align, active, faded) => {
      if (active) surface.rect(align === "right" ? numbers : x - 4, at - step / 2, align === "right" ? left - numbers + 4 : left * 4, step, colours.wash);
      surface.text(label.short, x, at, {
        font: active ? `600 ${font}` : font, align, alpha: faded ? 0.55 : 1, fill: label.special ? colours.soft : colours.ink,
      });
    };
    for (let row = queries[0]; row < queries[1]; row += 1) {
      word(panel.queries[row], left, y(row, queries), "right", focus.query === row, focus.query !== null && focus.query !== row);
    }
    for (let row = keys[0]; row < keys[1]; row += 1) {
      word(panel.keys[row], left + middle, y(row, keys), "left", focus.key === row, focus.key !== null && focus.key !== row);
    }

    if (focus.query === null && focus.key === null) return;
    const small = `${Math.max(10, size - 3)}px ${colours.sans}`;
    const fromQuery = focus.query !== null;
    const [from, to] = fromQuery ? keys : queries;
    const cell = Math.max(1.5, (cells - 6) / Math.max(1, grids.length));
    const numbersAt = surface.width - cells - 4;
    for (let row = from; row < to; row += 1) {
      const values = grids.map((grid) => (fromQuery ? grid.data[focus.query * grid.columns + row] : grid.data[row * grid.columns + focus.key]));
      if (!values.length) continue;
      const value = values.reduce((sum, v) => sum + v, 0) / values.length;
      const at = y(row, fromQuery ? keys : queries);
      if (Math.abs(value) >= 0.0005) {
        surface.text(written(value).replace(/^≈/, ""), fromQuery ? numbersAt : numbers - 6, at, { font: small, align: "right", fill: colours.soft });
      }
      if (fromQuery && grids.length > 1 && cells) {
        values.forEach((v, place) => {
          surface.rect(surface.width - cells + place * cell, at - step * 0.36, Math.max(1, cell - 1), step * 0.72, colourOf(v, place), Math.min(1, 0.05 + Math.abs(v)));
        });
      }
    }
  },

  hit(geometry, x, y) {
    const { data, step, queries, keys, left, middle } = geometry;
    const place = Math.floor((y - 6) / step);
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
    const exact = grids.every((grid) => (fromQuery ? grid.exactRow(focus.query) : panel.queries.every((_, row) => grid.exactRow(row))));
    const ranked = labels.map((label, row) => {
      const values = grids.map((grid) => (fromQuery ? grid.data[focus.query * grid.columns + row] : grid.data[row * grid.columns + focus.key]));
      return { label, value: values.reduce((sum, v) => sum + v, 0) / values.length, norm: normOf(panel, grids, fromQuery ? focus.query : row, values[0]) };
    });
    ranked.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const found = ranked.slice(0, 6).map(({ label, value, norm }) => `${label.short} ${written(value, exact)}${norm}`).join(" · ");
    const which = heads.length === 1 ? mapName(panel.strand, state.layer, heads[0]) : `mean of ${heads.length} heads, ${layerName(panel.strand, state.layer)}`;
    const word = fromQuery ? panel.queries[focus.query].short : panel.keys[focus.key].short;
    return fromQuery ? `${word} attends to ${found} (${which})` : `${word} is attended to by ${found} (${which})`;
  },

  table(data, state, focus) {
    const { panel, heads, grids } = data;
    if (focus.query === null) return strongest(data, state);
    const columns = ["key", ...(panel.signed ? ["difference"] : heads.map((head) => mapName(panel.strand, state.layer, head)))];
    const rows = panel.keys.map((label, row) => [
      label.text, ...grids.map((grid) => written(grid.data[focus.query * grid.columns + row], grid.exactRow(focus.query))),
    ]);
    return { caption: `From ${panel.queries[focus.query].text}: ${panel.title}`, columns, rows };
  },
};

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

/** Lines worth drawing, weakest first so that strong ones lie on top. */
function linesOf({ data, queries, keys }, focus) {
  const lines = [];
  const alone = focus.query !== null || focus.key !== null;
  const faintest = alone ? 0.001 : FAINTEST;
  data.grids.forEach((grid, place) => {
    const rows = focus.query !== null ? [focus.query, focus.query + 1] : queries;
    const columns = focus.key !== null ? [focus.key, focus.key + 1] : keys;
    for (let query = Math.max(rows[0], queries[0]); query < Math.min(rows[1], queries[1]); query += 1) {
      for (let key = columns[0]; key < columns[1]; key += 1) {
        const value = grid.data[query * grid.columns + key];
        if (value > faintest || value < -faintest) lines.push({ query, key, place, value });
      }
    }
  });
  lines.sort((a, b) => Math.abs(a.value) - Math.abs(b.value));
  return lines.length > MOST_LINES ? lines.slice(-MOST_LINES) : lines;
}
