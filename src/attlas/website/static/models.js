// A model as pages see it: its heads by place, stream, layer and head, their roles, and more of it when asked for.

import { bytes, floats, load } from "./store.js";

/** All models and roles: the first file, read once. */
export async function openIndex() {
  const index = await load("index");
  index.models.forEach((model, number) => {
    model.number = number;
    model.roleOf ??= bytes(model.roles);
    model.streamOf ??= bytes(model.place.stream);
  });
  return index;
}

/** A head as people write it. */
export function label(model, at) {
  return `${model.place.layer[at] + 1}-${model.place.head[at] + 1}`;
}

/** The name of the stream of a head. */
export function streamOf(model, at) {
  return model.streams[model.streamOf[at]].stream;
}

/** The place of a head by stream and label, -1 where the model has none of that name. */
export function find(model, stream, text) {
  const parts = /^(\d+)-(\d+)$/.exec(text);
  if (!parts) return -1;
  return findNumbers(model, stream, parts[1] - 1, parts[2] - 1);
}

/** The same by numbers from 0. */
export function findNumbers(model, stream, layer, head) {
  const own = model.streams.findIndex((one) => one.stream === stream);
  for (let at = 0; at < model.count; at += 1) {
    if (model.streamOf[at] === own && model.place.layer[at] === layer && model.place.head[at] === head) return at;
  }
  return -1;
}

/** The places of all heads of a stream. */
export function headsOf(model, stream) {
  const own = model.streams.findIndex((one) => one.stream === stream);
  return Array.from({ length: model.count }, (_, at) => at).filter((at) => model.streamOf[at] === own);
}

/** How many of some heads have each role: [role, count] by count, then by the order of roles. */
export function counted(model, heads) {
  const counts = new Map();
  for (const at of heads) counts.set(model.roleOf[at], (counts.get(model.roleOf[at]) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

/** What is written of a model beside its map: figures, sentences, sources. */
export function openModel(model) {
  return load(`${model.number}/model`);
}

/** All values of a model: `of(figure, head)`, and whether the interval lies above (1) or below (2) chance. */
export async function openValues(model) {
  const packed = await load(`${model.number}/values`);
  packed.unpacked ??= Promise.all([floats(packed.values), bytes(packed.sure)]);
  const [values, sure] = await packed.unpacked;
  const row = (figure) => values.subarray(figure * packed.heads, (figure + 1) * packed.heads);
  return { row, of: (figure, head) => values[figure * packed.heads + head], sure: (figure, head) => sure[figure * packed.heads + head] };
}

/** All numbers of one head: `of(name, figure)`, NaN where there is none. */
export async function openRows(model, data, head) {
  const part = await load(`${model.number}/rows-${Math.floor(head / data.block)}`);
  part.unpacked ??= Promise.all(Object.entries(part.columns).map(async ([name, text]) => [name, await floats(text)]));
  const columns = Object.fromEntries(await part.unpacked);
  const width = Math.min(data.block, model.count - part.from);
  return { of: (name, figure) => columns[name]?.[figure * width + head - part.from] ?? NaN };
}

/** The sentences of a model, as records in the order of heads and rank. */
export async function openPortraits(model) {
  const packed = await load(`${model.number}/portraits`);
  packed.sentences ??= packed.head.map((head, row) => ({
    head, part: packed.parts[packed.part[row]], role: packed.role[row], strength: packed.strength[row],
    sentence: packed.sentence[row], study: packed.studies[packed.study[row]],
    quantity: packed.quantities[packed.quantity[row]], figure: packed.figure[row], value: packed.value[row],
    low: packed.low[row], high: packed.high[row], chance: packed.chance[row],
  }));
  return packed.sentences;
}

/** The examples of one head, with their texts; none where there are none. */
export async function openExamples(model, data, head) {
  const block = Math.floor(head / data.block);
  if (!data.examples.includes(block)) return [];
  const { heads, texts } = await load(`${model.number}/examples-${block}`);
  return (heads[head] ?? []).map((example) => ({ ...example, ...texts[example.text] }));
}

/** The heads of a model beside those of another, paired by what they do or by their number: one record for each pair. */
export async function openMatches(model, other, by) {
  const pairs = (await load(`${model.number}/matches-${other.number}`))[by] ?? [];
  return pairs.map(([at, layer, head, distance, runnerUp, alike]) => {
    const pair = findNumbers(other, streamOf(model, at), layer, head);
    return { at, found: alike || by === "number" ? pair : -1, distance, runnerUp, alike };
  });
}

/** A sentence about a head, which reads on from its name, as one that stands alone. */
export function sentenceOf(name, sentence) {
  const whole = /^\p{Lu}/u.test(sentence) ? sentence : `${name} ${sentence}`;
  return /[.!?…]$/.test(whole) ? whole : `${whole}.`;
}
