// The data of the site. Each file is a script that hands one value to `$attlas`; it is added to the page when somebody
// asks for what it holds, and what has come is kept. Nothing is ever fetched, so a folder on a disk will do.

import { element } from "./dom.js";

const waiting = new Map();
const known = new Map();

globalThis.$attlas = (name, value) => {
  known.set(name, value);
  waiting.get(name)?.forEach(({ came }) => came(value));
  waiting.delete(name);
};

/** What a file of data holds, named by its path below `site/data`; a promise. */
export function load(name) {
  if (known.has(name)) return Promise.resolve(known.get(name));
  return new Promise((came, failed) => {
    const others = waiting.get(name);
    if (others) { others.push({ came, failed }); return; }
    waiting.set(name, [{ came, failed }]);
    if (name !== "index") document.head.append(element("script", { src: `site/data/${name}.js?${document.body.dataset.stamp}`, error: () => lost(name) }));
  });
}

function lost(name) {
  const problem = new Error(`the file site/data/${name}.js is missing or damaged; write the site again`);
  waiting.get(name)?.forEach(({ failed }) => failed(problem));
  waiting.delete(name);
}

/** Bytes of base64. */
export function bytes(text) {
  const letters = atob(text);
  const found = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) found[at] = letters.charCodeAt(at);
  return found;
}

/** Numbers that were packed: inflated, and the bytes of each put together again. */
export async function floats(text) {
  const stream = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const count = planes.length / 4;
  const whole = new Uint8Array(planes.length);
  for (let plane = 0; plane < 4; plane += 1) {
    for (let at = 0, from = plane * count; at < count; at += 1) whole[4 * at + plane] = planes[from + at];
  }
  return new Float32Array(whole.buffer);
}
