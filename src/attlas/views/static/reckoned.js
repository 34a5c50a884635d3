// A panel of a text that is too long for its weights: rows and columns are reckoned from queries, keys and log-sum-exps when
// somebody asks, weight = exp(scaling · q·k − lse), and a coarse picture of the whole is there from the start, each dot
// the largest of its cells.

import { labels } from "./readings.js";

const KEPT = 260; // rows of a head that are kept: as many as a window of lines has
const MOST_SPANS = 4; // parts of a text that are named one by one

/** The panel of a strand without weights; pieces or words, special pieces always shown. Where only some pieces were looked
 * from, these alone are its queries, and `running` is the same panel for the text as it runs, with all words on both sides. */
export function reckonedPanel(scene, strand, store, state, title, headsOf) {
  const words = labels(strand.queries, state.unit);
  const count = strand.queries.pieces.length;
  const looked = lookedFrom(strand);
  const slot = new Int32Array(count).fill(-1); // of each piece, its place among those that were looked from
  looked.forEach((piece, at) => { slot[piece] = at; });
  const wordOf = placesOf(words, count);
  const reckoners = new Map();

  /** What rows and columns of a head are reckoned with, unpacked once. */
  function reckonerOf(layer, head) {
    const name = `${layer}-${head}`;
    if (!reckoners.has(name)) {
      const [l, h] = [strand.layers.indexOf(layer), strand.heads.indexOf(head)];
      const group = strand.heads.length / strand.key_vectors.heads;
      reckoners.set(name, (async () => {
        await new Promise((done) => { setTimeout(done); }); // so that what is there is drawn first
        const [queries, keys, sums, seen] = await Promise.all([
          store.get(strand.query_vectors, l, h), store.get(strand.key_vectors, l, Math.floor(h / group)),
          store.get(strand.sums, l, h), store.get(strand.seen, l, 0),
        ]);
        return reckoner(queries.values, keys.values, sums.values, seen.values, strand.query_vectors.columns, strand.scaling[l], count);
      })());
    }
    return reckoners.get(name);
  }

  /** A coarse picture of a head, and its strongest link, which no dot could name. */
  async function picture(layer, head, queries, asked) {
    const { columns } = strand.coarse;
    const [l, h] = [strand.layers.indexOf(layer), strand.heads.indexOf(head)];
    const block = await store.get(strand.coarse, l, h);
    const [query, key, value] = strand.links[l][h];
    const link = value > 0 && state.unit === "piece" ? { query: asked[query], key: key, value, exact: false } : null; // of words another may be
    const rows = block.values.length / columns;
    const last = (row) => looked[Math.min(looked.length, Math.ceil(((row + 1) * looked.length) / rows)) - 1]; // piece of a row of dots
    const limits = strand.causal ? Int32Array.from({ length: rows }, (_, row) => 1 + Math.floor((last(row) * columns) / count)) : null;
    return { rows, columns, limits, link, data: block.values, sums: null, exactRow: () => false, coarse: [queries.length / rows, words.length / columns] };
  }

  /** A panel whose queries are some of the words, each with those of its pieces that count. */
  function face(queries) {
    const asked = placesOf(queries, count);
    const own = queries.map(({ pieces }) => pieces.filter((piece) => slot[piece] >= 0)); // which were looked from
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
      const received = await store.get(strand.received, strand.layers.indexOf(layer), strand.heads.indexOf(head));
      let reckon = null;
      const kept = new Map();
      const toKeys = (line) => {
        if (words.length === count) return line;
        const found = new Float32Array(words.length);
        for (let piece = 0; piece < count; piece += 1) found[wordOf[piece]] += line[piece];
        return found;
      };
      const toQueries = (line) => {
        const found = new Float32Array(queries.length);
        looked.forEach((piece, at) => { const row = asked[piece]; if (row >= 0) found[row] += line[at] / own[row].length; });
        return found;
      };
      const summed = (lines) => (lines.length === 1 ? lines[0] : lines[0].map((_, at) => lines.reduce((sum, line) => sum + line[at], 0)));
      const made = (back, row) => {
        if (back) return toQueries(summed(words[row].pieces.map((piece) => reckon.column(piece))));
        if (!own[row].length) return new Float32Array(words.length);
        const line = summed(own[row].map((piece) => reckon.row(slot[piece])));
        return toKeys(own[row].length === 1 ? line : line.map((value) => value / own[row].length));
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
      const found = { length: (back) => (back ? queries.length : words.length), line, average: () => (average ??= toKeys(received.values)), exact: () => false };
      found.coming = reckonerOf(layer, head).then((ready) => { reckon = ready; found.coming = null; });
      found.coming.catch(() => {}); // whoever waits for it is told
      return found;
    }

    /** A grid that has no numbers until one asks: what the head view draws a window of. */
    async function grid(layer, head) {
      const lines = await source(layer, head);
      return { rows: queries.length, columns: words.length, data: null, lines, sums: null, exactRow: () => false, top: 1 };
    }

    async function neurons(layer, head, piece) {
      const [l, h] = [strand.layers.indexOf(layer), strand.heads.indexOf(head)];
      const width = strand.query_vectors.columns;
      const vectors = await store.get(strand.query_vectors, l, h);
      const keys = await store.get(strand.key_vectors, l, Math.floor(h / (strand.heads.length / strand.key_vectors.heads)));
      const lines = await source(layer, head);
      const at = slot[piece];
      return {
        width, exact: false, scaling: strand.scaling[l], query: vectors.values.subarray(at * width, (at + 1) * width),
        keys: Array.from({ length: count }, (_, key) => keys.values.subarray(key * width, (key + 1) * width)),
        scores: null, weights: lines.line(false, asked[piece]), exactWeights: false,
      };
    }

    return {
      title, measure: "weight", unit: state.unit, signed: false, reckoned: true, scene, strand, queries, keys: words, layers: strand.layers,
      heads: strand.heads, headsOf, grid, picture: (layer, head) => picture(layer, head, queries, asked), source, soon, neurons, sharpen: async () => false, mean: null,
      chosen: (row) => own[row].length > 0,
    };
  }

  if (!strand.looked) return face(words);
  const rows = words.map((label, place) => ({ ...label, place, pieces: label.pieces.filter((piece) => slot[piece] >= 0) })).filter(({ pieces }) => pieces.length);
  return { ...face(rows), running: face(words) };
}

/** What was looked from, in words: "pieces 5,000 to 5,200 and 99,801 to 100,000"; of very many spans the first few. */
export function lookedAt({ looked }) {
  const told = looked.slice(0, MOST_SPANS).map(([from, to]) => (to - from === 1 ? `${to.toLocaleString("en")}` : `${(from + 1).toLocaleString("en")} to ${to.toLocaleString("en")}`));
  if (looked.length > MOST_SPANS) told.push(`${looked.length - MOST_SPANS} more parts`);
  const one = told.length === 1 && !told[0].includes(" ");
  return `${one ? "piece" : "pieces"} ${told.length > 1 ? `${told.slice(0, -1).join(", ")} and ${told.at(-1)}` : told[0]}`;
}

/** The pieces that were looked from, in the order of the text. */
function lookedFrom({ looked, queries }) {
  const spans = looked ?? [[0, queries.pieces.length]];
  return Int32Array.from(spans.flatMap(([from, to]) => Array.from({ length: to - from }, (_, at) => from + at)));
}

/** Which of some words each piece belongs to; -1 where it belongs to none. */
function placesOf(words, count) {
  const place = new Int32Array(count).fill(-1);
  words.forEach(({ pieces }, row) => pieces.forEach((piece) => { place[piece] = row; }));
  return place;
}

/** Rows and columns of one head: from a query that was looked from to all keys that it has seen, and from all of these to a key. */
function reckoner(queries, keys, sums, seen, width, scaling, count) {
  const asked = sums.length;
  const weight = (query, key) => {
    let sum = 0;
    for (let n = 0, a = query * width, b = key * width; n < width; n += 1) sum += queries[a + n] * keys[b + n];
    return Math.exp(sum * scaling - sums[query]);
  };
  return {
    row(query) {
      const line = new Float32Array(count);
      for (let key = seen[query]; key < seen[asked + query]; key += 1) line[key] = weight(query, key);
      return line;
    },
    column(key) {
      const line = new Float32Array(asked);
      for (let query = 0; query < asked; query += 1) {
        if (key >= seen[query] && key < seen[asked + query]) line[query] = weight(query, key);
      }
      return line;
    },
  };
}
