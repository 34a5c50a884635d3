// The neuron view: one query and its keys, neuron by neuron. Each key has a strip of its vector k and a strip of the products
// q × k by element; at the right stand their sum q·k, the score that becomes of it and the weight. Neurons are columns; those
// that contribute most to the choice between keys come first (contribution.js says what that means), or all stand by number.

import { rowOf } from "./readings.js";
import { written, mapName, paperLabel } from "./numbers.js";
import { fitted } from "./surface.js";
import { reckon } from "./contribution.js";
import { CHART, LISTED, scalesOf, signed, drawStrips, drawChart, drawNumbers } from "./strips.js";

const MOST_ROWS = 120; // keys drawn, the strongest of them, and queries to choose from
const HEADER = CHART.top + CHART.step * LISTED + 36;
const WIDE = { compact: false, number: 64, bar: 90, strip: 120 }; // room for a column of numbers, for bars, and at least for a strip
const COMPACT = { compact: true, number: 51, bar: 50, strip: 64 }; // where panels stand side by side
const NARROW = { compact: true, narrow: true, number: 51, bar: 34, strip: 64 }; // on a telephone: one strip, one column of numbers
const SLIM = 500; // pixels below which it is one
const SQUEEZED = 62; // pixels of a word there
const GAP = 18;
const HIDDEN = "There are no queries and keys here: only weights were given, or the model keeps its softmax private.";
const SUBTRACTED = "Neurons of two models cannot be subtracted from one another: here is the difference of their weights.";

export const neuronView = {
  heads: "one",
  piecesOnly: true,
  follows: ["query"],

  named: ({ head }) => head,

  note(panels) {
    const shown = panels.filter((panel) => !panel.signed);
    if (!shown.some((panel) => panel.strand.query_vectors)) return null;
    const groups = new Set(shown.map(({ strand }) => (strand.query_vectors ? strand.heads.length / strand.key_vectors.heads : 1)));
    const shared = [...groups].filter((group) => group > 1).map((group) => `Keys are shared by ${group} heads each.`);
    const left = shown.some(({ strand }) => strand.adjusted && !strand.scores)
      ? ["Position bias or soft cap of the scores are not sent for a text of this length; the weights have them."] : [];
    return ["Queries and keys as they meet, after rotary positions where a model has them.", ...shared, ...left].join(" ");
  },

  async load(panel, state) {
    const row = chosenRow(panel, state.query);
    if (row < 0) return { panel, row, reason: "There is no piece here to be the query." };
    if (!panel.headsOf(state.layer).includes(state.head)) {
      return { panel, row: -1, reason: `There is no head ${paperLabel(state.layer, state.head)} here.` };
    }
    const [piece] = panel.queries[row].pieces;
    const source = await panel.source(state.layer, state.head);
    const found = await panel.neurons(state.layer, state.head, piece);
    const values = source.line(false, row);
    const { causal, adjusted } = panel.strand;
    const reckoned = found && reckon(found, piece, panel.keys.map((label) => label.pieces[0]), causal, adjusted);
    const reason = found ? null : panel.signed ? SUBTRACTED : HIDDEN;
    return { panel, row, values, exact: source.exact(false, [row]), reckoned, reason, head: mapName(panel.strand, state.layer, state.head) };
  },

  layout(data, state, room, surface, colours) {
    const { panel, row, reckoned } = data;
    const keys = row < 0 ? [] : shownKeys(data);
    const first = Math.max(0, Math.min(panel.queries.length - MOST_ROWS, row - MOST_ROWS / 2));
    const queries = [first, Math.min(panel.queries.length, first + MOST_ROWS)];
    const rows = Math.max(keys.length, queries[1] - queries[0]);
    const sizes = room.width < SLIM ? NARROW : room.width < 760 ? COMPACT : WIDE;
    const fitting = Math.floor((room.height - HEADER - 30) / Math.max(1, rows));
    const [size, least] = rows > 80 ? [11, 14] : rows > 40 || sizes.narrow ? [12, 17] : [13, 20];
    const step = Math.max(least, Math.min(34, fitting));
    const font = `${size}px ${colours.sans}`;
    const most = sizes.narrow ? SQUEEZED : Infinity;
    const widest = (labels) => Math.min(most, labels.reduce((found, label) => Math.max(found, surface.measure(label.short, `600 ${font}`)), 40));
    const left = widest(panel.queries.slice(...queries)) + 16;
    const keysAt = left + GAP + 8 + widest(keys.map((key) => panel.keys[key])); // key words end here
    const columns = reckoned && !sizes.narrow ? numberColumns(data) : [valueColumn(data)];
    const numbersWidth = columns.length * sizes.number + sizes.bar + 14;
    const width = reckoned ? reckoned.width : 0;
    const strips = sizes.narrow ? 1 : 2;
    const free = (room.width - keysAt - numbersWidth - strips * GAP) / Math.max(1, strips * width);
    const cell = width ? Math.max(Math.min(1.5, sizes.strip / width), free > 3 ? Math.floor(free * 4) / 4 : free) : 0;
    const product = keysAt + 10 + (sizes.narrow ? 0 : cell * width + GAP);
    const stripsAt = [sizes.narrow ? null : keysAt + 10, product]; // of k, where there is room for it, and of q × k
    const numbersAt = width ? product + cell * width + 6 : keysAt + 4;
    const prose = `13px ${colours.sans}`;
    const lines = data.reason ? wrapped(data.reason, room.width - left - GAP - 8, surface, prose) : [];
    const longest = Math.max(0, ...lines.map((line) => left + GAP + 8 + surface.measure(line, prose)));
    const top = reckoned ? HEADER : 34 + 18 * lines.length;
    const order = !reckoned ? [] : state.order === "number" ? reckoned.order.map((_, n) => n) : reckoned.order;
    const noted = keys.length < panel.keys.length && row >= 0 ? 22 : 0;
    return {
      data, keys, queries, size, step, font, left, keysAt, columns, cell, stripsAt, numbersAt, lines, top, order,
      scales: reckoned ? scalesOf(reckoned, keys) : null, pictures: new Map(), bars: numbersAt + columns.length * sizes.number + 8, rows, most, ...sizes,
      bar: Math.max(sizes.bar, room.width - numbersAt - columns.length * sizes.number - 14),
      width: Math.max(numbersAt + numbersWidth, longest, room.width),
      height: top + step * rows + 8 + noted,
    };
  },

  draw(surface, geometry, state, focus, colours) {
    const { data, keys, queries, step, font, left, keysAt, top, lines, size } = geometry;
    const { panel, row, reckoned } = data;
    const middle = (place) => top + step * place + step / 2;
    const small = `11px ${colours.sans}`;

    surface.text("query", left - 8, top - 14, { font: small, align: "right", fill: colours.soft });
    for (let at = queries[0]; at < queries[1]; at += 1) {
      const label = panel.queries[at];
      const y = middle(at - queries[0]);
      if (at === row) surface.rect(0, y - step / 2, left, step, colours.accent);
      else if (at === focus.query) surface.rect(0, y - step / 2, left, step, colours.wash);
      const fill = at === row ? colours.paper : label.special ? colours.soft : colours.ink;
      const style = at === row ? `600 ${font}` : font;
      surface.text(fitted(label.short, surface, style, geometry.most), left - 8, y, { font: style, align: "right", fill });
    }
    surface.rect(left + GAP / 2, top - 4, 1, step * geometry.rows + 4, colours.line);
    lines.forEach((line, at) => {
      surface.text(line, left + GAP + 4, 12 + 18 * at, { font: `13px ${colours.sans}`, fill: colours.ink });
    });
    if (row < 0) return;

    surface.text("key", keysAt, top - 14, { font: small, align: "right", fill: colours.soft });
    keys.forEach((key, place) => {
      const label = panel.keys[key];
      if (focus.key === key) surface.rect(left + GAP, middle(place) - step / 2, geometry.width - left - GAP, step, colours.wash);
      const fill = reckoned && !reckoned.visible[key] ? colours.faint : label.special ? colours.soft : colours.ink;
      const alpha = reckoned && !reckoned.visible[key] ? 0.6 : 1;
      const style = focus.key === key ? `600 ${font}` : font;
      surface.text(fitted(label.short, surface, style, geometry.most), keysAt, middle(place), { font: style, align: "right", fill, alpha });
    });
    if (reckoned) {
      drawStrips(surface, geometry, focus.neuron ?? state.neuron, colours);
      drawChart(surface, geometry, state, focus, colours);
    }
    drawNumbers(surface, geometry, colours, middle);
    if (keys.length < panel.keys.length) {
      const said = `the ${keys.length} strongest of ${panel.keys.length.toLocaleString("en")} keys${geometry.narrow ? "" : ", in the order of the text"}`;
      surface.text(said, left + GAP, top + step * keys.length + 14, { font: `${Math.max(11, size)}px ${colours.sans}`, fill: colours.soft });
    }
  },

  hit(geometry, x, y) {
    const { data, keys, queries, step, left, top, stripsAt, numbersAt, cell, order } = geometry;
    const place = Math.floor((y - top) / step);
    if (x < left + GAP / 2) {
      const row = queries[0] + place;
      return place >= 0 && row < queries[1] ? { query: row, key: null } : null;
    }
    if (data.row < 0) return null;
    const column = stripsAt.filter((at) => at !== null).map((at) => Math.floor((x - at) / cell)).find((at) => at >= 0 && at < order.length);
    const neuron = data.reckoned && column !== undefined ? order[column] : null;
    if (place >= 0) return place < keys.length ? { query: data.row, key: keys[place], neuron } : null;
    if (!data.reckoned) return null;
    if (y < CHART.top) return x > (stripsAt[0] ?? stripsAt[1]) - 6 && x < numbersAt ? { query: null, key: null, heading: true } : null;
    if (x > numbersAt && !geometry.narrow) {
      const listed = data.reckoned.order[Math.floor((y - CHART.top) / CHART.step)];
      return y < CHART.top + CHART.step * LISTED && listed !== undefined ? { query: data.row, key: null, neuron: listed } : null;
    }
    return neuron === null ? null : { query: data.row, key: null, neuron };
  },

  /** A click chooses a query, marks a key and a neuron, or changes the order of the neurons; again, it lets go. */
  click(geometry, state, focus) {
    const { panel, reckoned } = geometry.data;
    if (!focus) return null;
    if (focus.heading) return turned(state);
    if (focus.key === null && focus.neuron === undefined) return { query: panel.queries[focus.query].pieces[0], key: null };
    const key = focus.key === null ? state.key : panel.keys[focus.key].pieces[0];
    const neuron = reckoned && focus.neuron !== null ? focus.neuron : null;
    if (key === state.key && neuron === state.neuron) return focus.key === null ? { neuron: null } : { key: null, neuron: null };
    return { key, neuron };
  },

  key(event, geometry, state) {
    const { panel, row, reckoned } = geometry.data;
    if (event.key === "o" && reckoned) return turned(state);
    if (event.key === "Escape") return { query: null, key: null, neuron: null };
    if ((event.key !== "ArrowUp" && event.key !== "ArrowDown") || row < 0) return null;
    const next = Math.min(panel.queries.length - 1, Math.max(0, row + (event.key === "ArrowUp" ? -1 : 1)));
    return { query: panel.queries[next].pieces[0], key: null };
  },

  say(data, state, focus) {
    const { panel, row, reckoned, head, values, exact } = data;
    if (row < 0) return data.reason;
    if (focus.heading) return `Click to order the neurons by ${turned(state).order}.`;
    if (focus.key === null && focus.neuron === undefined && focus.query !== null && focus.query !== row) {
      return `Click to make ${panel.queries[focus.query].short} the query.`;
    }
    const query = panel.queries[row].short;
    const neuron = neuronOf(reckoned, focus.neuron === undefined ? state.neuron : focus.neuron);
    if (focus.key !== null) {
      const pair = `${query} → ${panel.keys[focus.key].short}`;
      if (reckoned && !reckoned.visible[focus.key]) return `${pair}: masked (${head})`;
      if (reckoned && neuron !== null) return `${elementwise(reckoned, neuron, focus.key)} (${pair}, ${head})`;
      const columns = reckoned ? numberColumns(data) : [valueColumn(data)];
      return `${pair}: ${columns.map(({ said, of }) => `${said} ${of(focus.key)}`).join(", ")} (${head})`;
    }
    if (neuron !== null) {
      const { query: vector, contributions, exact: plain, exactContributions } = reckoned;
      const name = neuron + 1;
      return `q[${name}] = ${written(vector[neuron], plain)}, contribution of neuron ${name} ${signed(contributions[neuron], exactContributions)} (${query}, ${head})`;
    }
    const ranked = shownKeys(data).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a])).slice(0, 4);
    const found = ranked.map((key) => `${panel.keys[key].short} ${written(values[key], exact)}`).join(", ");
    if (!reckoned) return panel.signed ? `${query}: A − B is largest for ${found} (${head})` : `${query} attends to ${found} (${head})`;
    const most = reckoned.order.slice(0, 4).map((n) => `${n + 1} (${signed(reckoned.contributions[n], reckoned.exactContributions)})`).join(", ");
    return `${query} attends to ${found}; neurons that contribute most: ${most} (${head})`;
  },

  table(data) {
    const { panel, row, reckoned, head } = data;
    if (row < 0) return { caption: data.reason, columns: [], rows: [] };
    const columns = reckoned ? numberColumns(data) : [valueColumn(data)];
    const rows = panel.keys.map((label, key) => {
      const masked = reckoned && !reckoned.visible[key];
      const cells = columns.map(({ of }) => (masked ? "masked" : of(key)));
      return [label.text, ...cells, ...(reckoned ? [masked ? "" : String(reckoned.strongest[key] + 1)] : [])];
    });
    const named = ["key", ...columns.map(({ said }) => said), ...(reckoned ? ["top neuron"] : [])];
    return { caption: `From ${panel.queries[row].text}, ${head}: ${panel.title}`, columns: named, rows };
  },
};

/** The row of the chosen piece; of the first piece that is not special where none is chosen; -1 where there is none. */
function chosenRow(panel, piece) {
  const row = rowOf(panel.queries, piece);
  if (row >= 0 || !panel.queries.length) return row;
  const plain = (label) => !label.special;
  return Math.max(0, panel.strand.causal ? panel.queries.findLastIndex(plain) : panel.queries.findIndex(plain)); // where much is seen
}

/** The keys that get a row, in the order of the text. */
function shownKeys({ panel, values, reckoned }) {
  const all = panel.keys.map((_, key) => key);
  if (all.length <= MOST_ROWS) return all;
  const seen = reckoned ? all.filter((key) => reckoned.visible[key]) : all;
  return seen.sort((a, b) => Math.abs(values[b]) - Math.abs(values[a])).slice(0, MOST_ROWS).sort((a, b) => a - b);
}

function turned(state) {
  return { order: state.order === "number" ? "contribution" : "number" };
}

function neuronOf(reckoned, neuron) {
  return reckoned && neuron !== null && neuron < reckoned.width ? neuron : null;
}

function elementwise({ query, keys, exact }, neuron, key) {
  const q = query[neuron];
  const k = keys[key][neuron];
  return `q[${neuron + 1}] = ${written(q, exact)}, k[${neuron + 1}] = ${written(k, exact)}, q×k = ${written(q * k, exact)}`;
}

/** The columns of numbers: what stands above them, what they are called, and the number of a key. */
function numberColumns(data) {
  const { products, scaled, scores, scaling, exact } = data.reckoned;
  return [
    { above: "q·k", said: "q·k", of: (key) => written(products[key], exact) },
    { above: `× ${written(scaling)}`, said: "scaled score", of: (key) => written(scaled[key], exact) },
    ...(scores ? [{ above: "score", said: "score", of: (key) => written(scores[key]) }] : []),
    valueColumn(data),
  ];
}

function valueColumn({ panel, values, exact }) {
  const name = panel.signed ? "difference" : panel.measure === "norm" ? "norm" : "weight";
  return { above: name, said: name === "norm" ? "norm share" : name, of: (key) => written(values[key], exact) };
}

/** A sentence in lines that are not wider than the room. */
function wrapped(sentence, room, surface, font) {
  const lines = [""];
  for (const word of sentence.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (surface.measure(longer, font) <= Math.max(200, room)) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
