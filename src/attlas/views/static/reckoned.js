// A panel of a text that is too long for its weights: rows and columns are reckoned from queries, keys and log-sum-exps when
// somebody asks, weight = exp(scaling · q·k − lse), and a coarse picture of the whole is there from the start, each dot
// the largest of its cells.

import { labels } from "./readings.js";

const KEPT = 260; // rows of a head that are kept: as many as a window of lines has

/** The panel of a strand without weights; pieces or words, special pieces always shown. */
export function reckonedPanel(scene, strand, store, state, title, headsOf) {
  const words = labels(strand.queries, state.unit);
  const count = strand.queries.pieces.length;
  const place = new Int32Array(count);
  words.forEach((label, row) => label.pieces.forEach((piece) => { place[piece] = row; }));
  const sources = new Map();

  /** A source of lines, as those of a grid: what a word gives to all or, `back`, what all give to it; whole before it is given. */
  async function source(layer, head) {
    const found = await soon(layer, head);
    await found.coming;
    return found;
  }

  /** The same as soon as it knows what words receive on average; lines are there when `coming` is done. */
  function soon(layer, head) {
    const name = `${layer}-${head}`;
    if (!sources.has(name)) sources.set(name, load(layer, head));
    return sources.get(name);
  }

  async function load(layer, head) {
    const [l, h] = [strand.layers.indexOf(layer), strand.heads.indexOf(head)];
    const group = strand.heads.length / strand.key_vectors.heads;
    const received = await store.get(strand.received, l, h);
    let reckon = null;
    const unpacked = async () => {
      await new Promise((done) => { setTimeout(done); }); // so that what is there is drawn first
      const [queries, keys, sums, seen] = await Promise.all([
        store.get(strand.query_vectors, l, h), store.get(strand.key_vectors, l, Math.floor(h / group)),
        store.get(strand.sums, l, h), store.get(strand.seen, l, 0),
      ]);
      reckon = reckoner(queries.values, keys.values, sums.values, seen.values, strand.query_vectors.columns, strand.scaling[l], count);
    };
    const kept = new Map();
    const gathered = (line, back) => {
      if (words.length === count) return line;
      const found = new Float32Array(words.length);
      for (let piece = 0; piece < count; piece += 1) found[place[piece]] += back ? line[piece] / words[place[piece]].pieces.length : line[piece];
      return found;
    };
    const made = (back, row) => {
      const { pieces } = words[row];
      const lines = pieces.map((piece) => (back ? reckon.column(piece) : reckon.row(piece)));
      if (lines.length === 1) return gathered(lines[0], back);
      const sum = lines[0].map((_, at) => lines.reduce((total, line) => total + line[at], 0) / (back ? 1 : lines.length));
      return gathered(sum, back);
    };
    const line = (back, row) => {
      const name = `${back ? "c" : "r"}${row}`;
      if (!kept.has(name)) {
        if (kept.size >= KEPT) kept.delete(kept.keys().next().value);
        kept.set(name, made(back, row));
      }
      return kept.get(name);
    };
    let average = null;
    const found = { length: () => words.length, line, average: () => (average ??= gathered(received.values, false)), exact: () => false };
    found.coming = unpacked().then(() => { found.coming = null; });
    found.coming.catch(() => {}); // whoever waits for it is told
    return found;
  }

  /** A grid that has no numbers until one asks: what the head view draws a window of. */
  async function grid(layer, head) {
    const lines = await source(layer, head);
    return { rows: words.length, columns: words.length, data: null, lines, sums: null, exactRow: () => false, top: 1 };
  }

  async function picture(layer, head) {
    const { columns } = strand.coarse;
    const block = await store.get(strand.coarse, strand.layers.indexOf(layer), strand.heads.indexOf(head));
    return { rows: columns, columns, data: block.values, sums: null, exactRow: () => false, coarse: words.length / columns };
  }

  async function neurons(layer, head, piece) {
    const [l, h] = [strand.layers.indexOf(layer), strand.heads.indexOf(head)];
    const width = strand.query_vectors.columns;
    const queries = await store.get(strand.query_vectors, l, h);
    const keys = await store.get(strand.key_vectors, l, Math.floor(h / (strand.heads.length / strand.key_vectors.heads)));
    const lines = await source(layer, head);
    return {
      width, exact: false, scaling: strand.scaling[l], query: queries.values.subarray(piece * width, (piece + 1) * width),
      keys: Array.from({ length: count }, (_, key) => keys.values.subarray(key * width, (key + 1) * width)),
      scores: null, weights: lines.line(false, place[piece]), exactWeights: false,
    };
  }

  return {
    title, measure: "weight", unit: state.unit, signed: false, reckoned: true, scene, strand, queries: words, keys: words, layers: strand.layers,
    heads: strand.heads, headsOf, grid, picture, source, soon, neurons, sharpen: async () => false, mean: null,
  };
}

/** Rows and columns of one head: from a query to all keys that it has seen, and from all queries to a key. */
function reckoner(queries, keys, sums, seen, width, scaling, count) {
  const weight = (query, key) => {
    let sum = 0;
    for (let n = 0, a = query * width, b = key * width; n < width; n += 1) sum += queries[a + n] * keys[b + n];
    return Math.exp(sum * scaling - sums[query]);
  };
  return {
    row(query) {
      const line = new Float32Array(count);
      for (let key = seen[query]; key < seen[count + query]; key += 1) line[key] = weight(query, key);
      return line;
    },
    column(key) {
      const line = new Float32Array(count);
      for (let query = 0; query < count; query += 1) {
        if (key >= seen[query] && key < seen[count + query]) line[query] = weight(query, key);
      }
      return line;
    },
  };
}
