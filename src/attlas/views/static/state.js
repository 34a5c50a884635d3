// What is chosen: one flat record, kept in the address after '#' so that a link shows the same thing again. Layers and
// heads are numbers of the model, counted from 0; queries and keys are pieces of the text, whatever the unit shown.

import { RECORDS } from "./records.js";

const NUMBERS = ["layer", "head", "query", "key", "neuron", "tall"];
const NONE = "none"; // a list with nothing in it
const LISTS = ["heads", "layers", "box", "picked", "cuts"];
const CHOICES = {
  view: RECORDS.map((record) => record.name),
  stream: ["encoder", "decoder", "cross"],
  measure: ["weight", "norm", "both"],
  unit: ["piece", "word"],
  special: ["shown", "aside"],
  pair: ["all", "0-0", "0-1", "1-0", "1-1"],
  show: ["a", "b", "both", "difference"],
  theme: ["light", "dark"],
  table: ["yes"],
  open: ["yes"],
  folded: ["yes"],
  order: ["contribution", "number"],
  way: ["receives", "gives"],
  over: ["heads", "layers"],
};

/** The state at first, before anybody has chosen anything. */
export const START = {
  view: "head", stream: null, layer: 0, head: 0, heads: null, layers: null, query: null, key: null, measure: "weight",
  unit: "piece", special: "shown", pair: "all", show: "both", sort: null, box: null, theme: null, table: null, open: null,
  order: "contribution", neuron: null, folded: null, tall: null, words: null,
  way: "receives", over: "heads", picked: null, cuts: null,
};

/** Write what differs from `base` as the fragment of an address. */
export function toFragment(state, base = START) {
  const parts = [];
  for (const [name, value] of Object.entries(state)) {
    if (JSON.stringify(value) === JSON.stringify(base[name])) continue;
    const text = value === null ? "" : Array.isArray(value) ? value.join(",") || NONE : String(value);
    parts.push(`${name}=${encodeURIComponent(text)}`);
  }
  return parts.join("&");
}

/** Read a fragment; whatever makes no sense in it is left out. */
export function fromFragment(fragment) {
  const found = {};
  for (const part of fragment.replace(/^#/, "").split("&")) {
    const cut = part.indexOf("=");
    if (cut < 0) continue;
    const name = part.slice(0, cut);
    if (!Object.hasOwn(START, name)) continue;
    let text;
    try { text = decodeURIComponent(part.slice(cut + 1)); } catch { continue; }
    if (text === "") { if (START[name] === null) found[name] = null; continue; }
    if (NUMBERS.includes(name)) {
      if (/^\d{1,7}$/.test(text)) found[name] = Number(text);
    } else if (LISTS.includes(name)) {
      if (text === NONE) found[name] = [];
      if (/^-?[\d.]+(,-?[\d.]+)*$/.test(text)) found[name] = text.split(",").map(Number);
    } else if (!Object.hasOwn(CHOICES, name) || CHOICES[name].includes(text)) {
      found[name] = text;
    }
  }
  return found;
}
