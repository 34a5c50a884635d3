// From blocks to numbers. A block is unpacked when it is first shown and kept while there is room; a connection says where
// blocks come from (the page itself, a notebook's kernel, a server) and, where somebody can be asked, gives exact rows.

import { breather } from "./breath.js";

const ROOM = 96_000_000; // numbers kept unpacked, over all blocks
const STEPS = 192;
const PART = 131_072; // bytes or letters taken at once
let HALVES = null; // the number of each pattern of sixteen bits, made when it is first asked for
const CURVE = Float32Array.from({ length: STEPS + 1 }, (_, code) => (code / STEPS) ** 1.5);

/** A connection to blocks that lie in the page. */
export function embedded(root = document) {
  return {
    async block(index) {
      const text = root.getElementById(`attlas-block-${index}`).textContent;
      const breathe = breather();
      const bytes = new Uint8Array((text.length / 4) * 3 - (/=*$/.exec(text.slice(-2))[0].length));
      for (let from = 0, at = 0; from < text.length; from += PART) {
        const raw = atob(text.slice(from, from + PART));
        for (let i = 0; i < raw.length; i += 1, at += 1) bytes[at] = raw.charCodeAt(i);
        await breathe();
      }
      return bytes;
    },
  };
}

/** Undo deflate. */
async function inflate(bytes) {
  const breathe = breather();
  const stream = new DecompressionStream("deflate");
  const writer = stream.writable.getWriter();
  const reader = stream.readable.getReader();
  const fed = (async () => {
    for (let from = 0; from < bytes.length; from += PART) await writer.write(bytes.subarray(from, from + PART));
    await writer.close();
  })();
  fed.catch(() => {}); // the reader fails as well, and says so
  const parts = [];
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    await breathe();
  }
  const raw = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    raw.set(part, at);
    at += part.length;
  }
  return raw;
}

/** The numbers of an unpacked block, row by row. */
async function decode(raw, code, columns) {
  const breathe = breather();
  const count = code === "f32" ? raw.length / 4 : code === "f16" ? raw.length / 2 : (raw.length / (columns + 4)) * columns;
  const values = new Float32Array(count);
  const some = code === "f32" ? planes(raw, values) : code === "f16" ? halves(raw, values) : scaled(raw, values, code, columns);
  const every = columns * Math.max(1, Math.floor(PART / columns));
  for (let from = 0; from < count; from += every) {
    some(from, Math.min(count, from + every));
    await breathe();
  }
  return values;
}

/** Reads numbers whose four bytes lie in planes. */
function planes(raw, values) {
  const count = values.length;
  const bytes = new Uint8Array(values.buffer);
  return (from, to) => {
    for (let plane = 0; plane < 4; plane += 1) {
      for (let at = from; at < to; at += 1) bytes[4 * at + plane] = raw[plane * count + at];
    }
  };
}

/** Reads numbers of half precision, whose two bytes lie in planes. */
function halves(raw, values) {
  HALVES ??= Float32Array.from({ length: 65536 }, (_, bits) => {
    const [sign, exponent, part] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
    if (exponent === 31) return part ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + part / 1024) : 2 ** -14 * (part / 1024));
  });
  const count = values.length;
  return (from, to) => {
    for (let at = from; at < to; at += 1) values[at] = HALVES[raw[at] | (raw[count + at] << 8)];
  };
}

/** Reads whole rows of one byte a number, as shares of each row's largest. */
function scaled(raw, values, code, columns) {
  const rows = values.length / columns;
  const largest = new Float32Array(raw.slice(0, 4 * rows).buffer);
  const codes = code === "i8" ? new Int8Array(raw.buffer, raw.byteOffset + 4 * rows) : raw.subarray(4 * rows);
  const curve = code === "i8" ? null : CURVE;
  return (from, to) => {
    for (let at = from; at < to;) {
      const top = largest[at / columns];
      for (const stop = at + columns; at < stop; at += 1) values[at] = (curve ? curve[codes[at]] : codes[at] / 127) * top;
    }
  };
}

/** Blocks of a payload, each unpacked once; the longest unused are let go when there are too many. */
export function blockStore(connection) {
  const kept = new Map(); // number of a block -> promise of { values, exact, exactRows }
  let held = 0;

  async function unpack(index, spec) {
    const values = await decode(await inflate(await connection.block(index)), spec.code, spec.columns);
    held += values.length;
    for (const [old, promise] of kept) {
      if (held <= ROOM) break;
      if (old === index) continue;
      kept.delete(old);
      promise.then((block) => { held -= block.values.length; });
    }
    return { values, exact: spec.code === "f32", exactRows: new Set() };
  }

  /** The block at a place of a spec: { values, exact, exactRows }. */
  function get(spec, layer, head) {
    const index = spec.first + layer * spec.heads + head;
    let promise = kept.get(index);
    if (promise) {
      kept.delete(index); // and to the end of the line again
    } else {
      promise = unpack(index, spec);
      promise.catch(() => kept.delete(index));
    }
    kept.set(index, promise);
    return promise;
  }

  /** Put exact numbers in the place of rounded ones in some rows of a block of weights, where somebody can be asked. */
  async function sharpen(spec, scene, strand, layer, head, rows) {
    const block = await get(spec, layer, head);
    if (block.exact || !connection.row) return false;
    const missing = rows.filter((row) => !block.exactRows.has(row));
    for (const row of missing) {
      block.values.set(await connection.row(scene, strand, layer, head, row), row * spec.columns);
      block.exactRows.add(row);
    }
    return missing.length > 0;
  }

  return { get, sharpen };
}
