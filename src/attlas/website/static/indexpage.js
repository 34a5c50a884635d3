// All models at once: for each its answer, a small map of its heads, and what they do.

import { address } from "./addresses.js";
import { isDark, roleColour } from "./colours.js";
import { element } from "./dom.js";
import { exportMenu } from "./exports.js";
import { write } from "./kinds.js";
import { cell } from "./listing.js";
import { counted, headsOf } from "./models.js";

const FIRST = 24; // models that are drawn at once
const FEW = 6; // models up to which each has much room

/** Draw the page. */
export async function indexPage(index, place) {
  const { models, roles } = index;
  const heads = models.reduce((sum, { count }) => sum + count, 0);
  const all = new Map();
  for (const model of models) for (const [role, count] of counted(model, [...model.roleOf.keys()])) all.set(role, (all.get(role) ?? 0) + count);
  const found = [...all].filter(([role]) => roles[role].role !== "other").sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const title = index.title || `The heads of ${models.length} models`;
  const answer = models.length
    ? `${write(heads, "count")} heads of ${models.length} models${found.length ? `; most of those with a role: ${found.slice(0, 3).map(([role, count]) => `${roles[role].title} (${write(count, "count")})`).join(", ")}` : ""}.`
    : "There is no model in this atlas yet.";
  const legend = element("div", { class: "legend" }, ...found.map(([role, count]) => element("a", { class: "chip", href: address("search", [roles[role].title]) }, swatch(roles, role), element("span", {}, roles[role].title), element("b", {}, write(count, "count")))));
  const list = element("ul", { class: models.length <= FEW ? "models few" : "models" });
  const field = element("input", { type: "search", placeholder: "a model", "aria-label": "Models by name", input: () => fill() });
  const count = element("output");
  const more = element("button", { type: "button", class: "more", click: () => { shown = Infinity; fill(); } });
  let shown = FIRST;

  function fill() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const mine = models.filter(({ name, family }) => words.every((word) => `${name} ${family ?? ""}`.toLowerCase().includes(word)));
    list.replaceChildren(...mine.slice(0, shown).map((model) => item(roles, model, models.length <= FEW)));
    count.textContent = `${mine.length} of ${models.length}`;
    more.hidden = mine.length <= shown;
    more.textContent = `show all ${mine.length}`;
  }
  const table = {
    name: "models", title: "Models", caption: `${title}: how many heads of each model have which role.`,
    columns: [{ title: "model" }, { title: "family" }, { title: "heads", number: true }, ...found.map(([role]) => ({ title: roles[role].title, number: true }))],
    rows: models.map((model) => { const own = new Map(counted(model, [...model.roleOf.keys()])); return [cell(model.name), cell(model.family ?? ""), cell(write(model.count, "count"), model.count), ...found.map(([role]) => cell(own.get(role) ?? 0, own.get(role) ?? 0))]; }),
  };
  fill();
  const menu = exportMenu({ tables: () => [table], command: index.command });
  place.append(element("div", { class: "titled" }, element("h1", { tabindex: "-1" }, title), menu), element("p", { class: "answer", id: "answer" }, answer),
    models.length > FEW ? element("div", { class: "choices" }, element("div", { class: "filter" }, field, count)) : "",
    legend, list, more);
}

function swatch(roles, role) {
  const made = element("i", { class: "swatch" });
  made.style.backgroundColor = roleColour(roles, role, isDark());
  return made;
}

function item(roles, model, large) {
  const { streams } = model;
  const shape = streams.map(({ stream, layers, heads }) => {
    const count = headsOf(model, stream).length;
    const told = count === layers * heads ? `${layers} × ${heads}` : `${layers} layers, ${write(count, "count")} heads`;
    return streams.length > 1 ? `${stream} ${told}` : told;
  }).join(", ");
  return element("li", {}, element("a", { href: address("model", [model.name]) }, thumbnail(roles, model, large ? { width: 600, most: 330 } : { width: 340, most: 150 }), element("span", {}, element("b", {}, model.name), element("small", {}, [model.family, shape].filter(Boolean).join(" · ")))), element("p", {}, model.answer),
    model.standsOut && large ? element("p", {}, model.standsOut) : "");
}

/** A small map of a model by role, all streams beside each other; a head may be marked. */
export function thumbnail(roles, model, { marked = -1, width = 220, most = 120 } = {}) {
  const canvas = element("canvas", { class: "thumbnail", role: "img", "aria-label": `Map of ${model.name}` });
  const size = model.streams.map((_, own) => {
    let layers = 0, heads = 0;
    for (let at = 0; at < model.count; at += 1) if (model.streamOf[at] === own) { layers = Math.max(layers, model.place.layer[at] + 1); heads = Math.max(heads, model.place.head[at] + 1); }
    return { layers, heads };
  });
  const across = size.reduce((sum, { heads }) => sum + heads, 0) + 0.5 * (size.length - 1);
  const down = Math.max(1, ...size.map(({ layers }) => layers));
  const wide = width / Math.max(1, across), high = Math.min(wide, most / down, most / 8);
  const dense = Math.max(2, globalThis.devicePixelRatio || 1);
  canvas.width = width * dense;
  canvas.height = Math.max(1, Math.ceil(high * down)) * dense;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${canvas.height / dense}px`;
  const context = canvas.getContext("2d");
  context.scale(dense, dense);
  const dark = isDark(), fills = roles.map((_, role) => roleColour(roles, role, dark));
  const starts = size.map((_, own) => size.slice(0, own).reduce((sum, { heads }) => sum + heads + 0.5, 0) * wide);
  const gap = Math.min(1, wide / 6);
  for (let at = 0; at < model.count; at += 1) {
    context.fillStyle = fills[model.roleOf[at]];
    const x = starts[model.streamOf[at]] + model.place.head[at] * wide, y = model.place.layer[at] * high;
    context.fillRect(x, y, wide - gap, high - gap);
    if (at === marked) { context.strokeStyle = dark ? "#ffffff" : "#000000"; context.lineWidth = 2; context.strokeRect(x + 0.5, y + 0.5, wide - gap - 1, high - gap - 1); }
  }
  return canvas;
}
