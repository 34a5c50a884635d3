// A panel is one matrix per head, as it is to be shown: one scene (or the difference of two), one measure, pieces or words,
// special pieces shown or set aside. Panels turn blocks into grids: { rows, columns, data, top, sums, exactRow }.
//
// Attention to a word is the sum over its pieces, attention from a word the mean. Norms are shown as shares of their row,
// so that they stand beside weights; `sums` has what a share must be multiplied by to give the norm itself. Setting
// special pieces aside divides each row by what is left of it. A strand of joint norms (`strand.joint` says which) has
// one map for each layer and no other measure.

import { labels, readable } from "./readings.js";
import { breather } from "./breath.js";
import { reckonedPanel } from "./reckoned.js";

const KEPT = 24_000_000; // numbers of arranged grids that a panel keeps

/** The strand of a scene that shows a stream: its only one if it has just one, whatever its name; or undefined. */
export function strandOf(scene, stream) {
  return scene.strands.length === 1 ? scene.strands[0] : scene.strands.find((strand) => strand.stream === stream);
}

/** The heads of a strand that a layer has: `own` lists them, layer by layer, where layers differ in them. */
export function headsIn(strand, layer) {
  return (strand.own ? strand.own[strand.layers.indexOf(layer)] : strand.heads) ?? [];
}

/** What of a state decides which panels there are: while it stays the same, so do they. */
export function panelsKey({ stream, measure, unit, special, pair, show }) {
  return [stream, measure, unit, special, pair, show].join(" ");
}

/** The panels that a state asks for, left to right. */
export function panelsFor(header, store, state) {
  const measures = state.measure === "both" ? ["weight", "norm"] : [state.measure];
  const compared = header.scenes.length === 2;
  const letters = ["A", "B"];
  const panels = [];
  for (const measure of measures) {
    const made = header.scenes.map((scene, index) => {
      const strand = strandOf(scene, state.stream);
      if (!strand || (measure === "norm" && !strand.lengths)) return null;
      const name = compared ? `${letters[index]}: ${readable(scene.model)}` : "";
      return scenePanel(scene, index, strand, store, state, measure, name);
    });
    if (compared && made[0] && made[1]) made[1] = pairedPanel(made[1], made[0], pairsIn(header, made[0]));
    const wanted = compared ? { a: [0], b: [1], both: [0, 1], difference: [] }[state.show] : [0];
    panels.push(...wanted.map((index) => made[index]).filter(Boolean));
    if (compared && (state.show === "both" || state.show === "difference")) {
      const reason = noDifference(header, made[0]);
      if (!reason || state.show === "difference") panels.push(reason ? { title: "A − B", measure, reason } : differencePanel(made[0], made[1], measure));
    }
  }
  return panels;
}

/** How the heads of two scenes are paired in the stream of a panel: { by, of, why }. */
export function pairsIn(header, panel) {
  return header.pairs?.[panel.strand.stream] ?? { by: "number" };
}

/** Why nothing is subtracted, or an empty string: heads must be paired, and know the same words. */
export function noDifference(header, panel) {
  const pairs = panel ? pairsIn(header, panel) : { by: "number" };
  return pairs.by === "none" ? `No difference is shown: ${pairs.why}.` : "";
}

/** The panel of the second scene by the heads of the first: each head is the one that it is paired with. */
function pairedPanel(panel, first, { by, of }) {
  if (by !== "likeness") return panel;
  const at = (layer, head) => of[`${layer + 1}-${head + 1}`];
  const grid = (layer, head) => panel.grid(...at(layer, head));
  return {
    ...panel, title: `${panel.title} · heads paired by likeness on this text`, layers: first.layers, heads: first.heads, headsOf: first.headsOf,
    strand: { ...panel.strand, layers: first.layers, own: undefined, blocks: undefined, heads: first.heads, alias: at },
    grid, mean: (layer, heads) => mean(grid, layer, heads), picture: grid,
    source: (layer, head) => panel.source(...at(layer, head)), soon: (layer, head) => panel.soon(...at(layer, head)),
    neurons: (layer, head, piece) => panel.neurons(...at(layer, head), piece),
    sharpen: async (layer, heads, row) => (await Promise.all(heads.map((head) => panel.sharpen(at(layer, head)[0], [at(layer, head)[1]], row)))).some(Boolean),
  };
}

/** What is said of a measure, for titles. */
function measureName({ joint }, measure, special) {
  const norm = joint ?? (measure === "norm" ? "length of what a key brings: norm ‖αf(x)‖" : null);
  const name = norm ? `${norm}, as a share of its row` : "attention weight α";
  return special === "aside" ? `${name}, special pieces set aside and rows renormalised` : name;
}

function scenePanel(scene, sceneIndex, strand, store, state, measure, name) {
  if (!strand.weights) {
    const title = [name, measureName(strand, measure, "shown")].filter(Boolean).join(" · ");
    return reckonedPanel(scene, strand, store, state, title, (layer) => headsIn(strand, layer));
  }
  const strandIndex = scene.strands.indexOf(strand);
  const keysReading = strand.keys ?? strand.queries;
  const allQueries = labels(strand.queries, state.unit);
  const allKeys = strand.keys ? labels(strand.keys, state.unit) : allQueries;
  const [from, to] = state.pair === "all" ? [null, null] : state.pair.split("-").map(Number);
  const keep = (label, document) =>
    (state.special === "shown" || !label.special) && (document === null || label.document === document);
  const queries = allQueries.filter((label) => keep(label, from));
  const keys = allKeys.filter((label) => keep(label, to));
  const columns = keysReading.pieces.length;
  const columnOf = places(keys, columns);
  const counted = keysReading.documents.map((document) => state.special === "shown" || document >= 0);
  const ofNorms = measure === "norm" || Boolean(strand.joint);
  const plain = !ofNorms && state.unit === "piece" && state.special === "shown" && state.pair === "all";
  const cache = new Map();
  let held = 0;

  async function build(layer, head) {
    const l = strand.layers.indexOf(layer);
    const h = strand.heads.indexOf(head);
    const block = await store.get(strand.weights, l, h);
    const exactRow = (row) => block.exact || queries[row].pieces.every((piece) => block.exactRows.has(piece));
    if (plain) return finish(block.values, queries.length, keys.length, null, exactRow);
    const lengths = measure === "norm" ? (await store.get(strand.lengths, l, 0)).values.subarray(h * columns, (h + 1) * columns) : null;
    const data = new Float32Array(queries.length * keys.length);
    const sums = new Float32Array(queries.length);
    const breathe = breather();
    for (let row = 0; row < queries.length; row += 1) {
      await breathe();
      const share = 1 / queries[row].pieces.length;
      const start = row * keys.length;
      for (const piece of queries[row].pieces) {
        for (let key = 0, at = piece * columns; key < columns; key += 1, at += 1) {
          if (!counted[key]) continue;
          const value = block.values[at] * share * (lengths ? lengths[key] : 1);
          sums[row] += value;
          if (columnOf[key] >= 0) data[start + columnOf[key]] += value;
        }
      }
      if ((ofNorms || state.special === "aside") && sums[row] > 0) {
        for (let at = start; at < start + keys.length; at += 1) data[at] /= sums[row];
      }
    }
    return finish(data, queries.length, keys.length, ofNorms ? sums : null, exactRow);
  }

  function grid(layer, head) {
    const name = `${layer}-${head}`;
    let promise = cache.get(name);
    if (!promise) {
      promise = build(layer, head);
      const size = queries.length * keys.length;
      held += size;
      for (const old of cache.keys()) {
        if (held <= KEPT) break;
        cache.delete(old);
        held -= size;
      }
      cache.set(name, promise);
    }
    return promise;
  }

  const source = async (layer, head) => lines(await grid(layer, head));

  /** Ask for exact numbers of a row, where somebody can be asked; tells whether there is anything new. */
  async function sharpen(layer, heads, row) {
    const l = strand.layers.indexOf(layer);
    let news = false;
    for (const head of heads) {
      const h = strand.heads.indexOf(head);
      if (!headsIn(strand, layer).includes(head) || !queries[row]) continue;
      if (await store.sharpen(strand.weights, sceneIndex, strandIndex, l, h, queries[row].pieces)) {
        news = true;
        if (cache.delete(`${layer}-${head}`)) held -= queries.length * keys.length;
      }
    }
    return news;
  }

  return {
    title: [name, measureName(strand, measure, state.special)].filter(Boolean).join(" · "),
    measure, unit: state.unit, signed: false, scene, strand, queries, keys, layers: strand.layers, heads: strand.heads, grid, sharpen,
    headsOf: (layer) => headsIn(strand, layer),
    picture: grid, source, soon: source,
    mean: (layer, heads) => mean(grid, layer, heads),
    neurons: (layer, head, piece) => neurons(store, strand, layer, head, piece),
  };
}

/** A minus B, where both have the same words or pieces; `reason` says why not where they have not. */
function differencePanel(a, b, measure) {
  const title = `A − B · ${a?.strand.joint ?? measure}`;
  if (!a || !b) return { title, reason: "One of the two does not have this attention or measure.", measure };
  if (a.reckoned || b.reckoned) return { title, measure, reason: "No difference is reckoned of texts of this length; look at some of their layers and heads (--layers, --heads)." };
  for (const side of ["queries", "keys"]) {
    if (a[side].length !== b[side].length) {
      const counts = `${a[side].length} and ${b[side].length}`;
      const advice = a.unit === "piece" ? " Words of the same text can be compared, special pieces set aside." : "";
      return { title, measure, reason: `No difference can be shown: the two have ${counts} ${side} here.${advice}` };
    }
  }
  const layers = a.layers.filter((layer) => b.layers.includes(layer));
  const heads = a.heads.filter((head) => b.heads.includes(head));
  if (!layers.length || !heads.length) return { title, measure, reason: "The two have no layer or head of the same number." };
  const grid = async (layer, head) => subtract(...(await Promise.all([a.grid(layer, head), b.grid(layer, head)])));
  const source = async (layer, head) => lines(await grid(layer, head));
  const subtract = (x, y) => {
    const data = new Float32Array(x.data.length);
    for (let at = 0; at < data.length; at += 1) data[at] = x.data[at] - y.data[at];
    return finish(data, x.rows, x.columns, null, (row) => x.exactRow(row) && y.exactRow(row));
  };
  return {
    title, measure, signed: true, scene: a.scene, strand: a.strand, queries: a.queries, keys: a.keys, layers, heads,
    headsOf: (layer) => a.headsOf(layer).filter((head) => b.headsOf(layer).includes(head)),
    grid, picture: grid, source, soon: source,
    mean: async (layer, chosen) => subtract(...(await Promise.all([a.mean(layer, chosen), b.mean(layer, chosen)]))),
    sharpen: async (layer, chosen, row) => {
      const news = await Promise.all([a.sharpen(layer, chosen, row), b.sharpen(layer, chosen, row)]);
      return news.some(Boolean);
    },
    neurons: async () => null,
  };
}

/** A grid line by line: what a row gives to all columns or, `back`, what all rows give to a column; and what columns get on average. */
function lines(grid) {
  const { data, rows, columns } = grid;
  let means = null;
  return {
    length: (back) => (back ? rows : columns),
    line: (back, at) => (back ? Float32Array.from({ length: rows }, (_, row) => data[row * columns + at]) : data.subarray(at * columns, (at + 1) * columns)),
    average() {
      if (means) return means;
      means = new Float32Array(columns);
      for (let row = 0, at = 0; row < rows; row += 1) for (let column = 0; column < columns; column += 1, at += 1) means[column] += data[at] / rows;
      return means;
    },
    exact: (back, of) => (back || !of.length ? grid.exactRow(0) : of.every((row) => grid.exactRow(row))),
  };
}

/** The mean over heads; one head is itself. */
async function mean(grid, layer, heads) {
  const first = await grid(layer, heads[0]);
  if (heads.length === 1) return first;
  const data = new Float32Array(first.data.length);
  const exact = [];
  for (const head of heads) {
    const { data: more, exactRow } = await grid(layer, head);
    for (let at = 0; at < data.length; at += 1) data[at] += more[at] / heads.length;
    exact.push(exactRow);
  }
  return finish(data, first.rows, first.columns, null, (row) => exact.every((exactRow) => exactRow(row)));
}

/** Query and keys of one head: { query, keys: [vectors], scaling, scores, weights, exact }, or null where they are hidden. */
async function neurons(store, strand, layer, head, piece) {
  if (!strand.query_vectors) return null;
  const l = strand.layers.indexOf(layer);
  const h = strand.heads.indexOf(head);
  const stride = strand.query_vectors.columns; // of the widest layer
  const width = strand.widths?.[l] ?? stride;
  const group = strand.heads.length / strand.key_vectors.heads;
  const queries = await store.get(strand.query_vectors, l, h);
  const keys = await store.get(strand.key_vectors, l, Math.floor(h / group));
  const scores = strand.scores ? (await store.get(strand.scores, l, h)).values : null;
  const weights = await store.get(strand.weights, l, h);
  const count = keys.values.length / stride;
  return {
    width, exact: queries.exact, scaling: strand.scaling[l],
    query: queries.values.subarray(piece * stride, piece * stride + width),
    keys: Array.from({ length: count }, (_, key) => keys.values.subarray(key * stride, key * stride + width)),
    scores: scores ? scores.subarray(piece * count, (piece + 1) * count) : null,
    weights: weights.values.subarray(piece * count, (piece + 1) * count),
    exactWeights: weights.exact || weights.exactRows.has(piece),
  };
}

function finish(data, rows, columns, sums, exactRow) {
  let top = -1; // reckoned when somebody asks
  const find = () => {
    top = 0;
    for (let at = 0; at < data.length; at += 1) {
      const size = data[at] < 0 ? -data[at] : data[at];
      if (size > top) top = size;
    }
    return top;
  };
  return { data, rows, columns, sums, exactRow, get top() { return top < 0 ? find() : top; } };
}

function places(shown, count) {
  const place = new Int32Array(count).fill(-1);
  shown.forEach((label, at) => label.pieces.forEach((piece) => { place[piece] = at; }));
  return place;
}
