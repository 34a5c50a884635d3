// The controls above a view. They are drawn anew from the state whenever it changes, hold nothing themselves, and call
// `choose` with what a person has changed.

import { element } from "./dom.js";
import { noDifference, strandOf } from "./panels.js";
import { headColour } from "./palette.js";
import { layerName } from "./numbers.js";

const NAMES = {
  weight: "weight", norm: "norm", both: "both", piece: "pieces", word: "words", shown: "shown", aside: "set aside",
  a: "A", b: "B", difference: "A − B",
};
const PAIRS = {
  all: "all", "0-0": "first → first", "0-1": "first → second", "1-0": "second → first", "1-1": "second → second",
};

/** The toolbar for a state. */
export function toolbar(header, state, views, view, colours, choose, actions) {
  const strand = strandOf(header.scenes[0], state.stream) ?? header.scenes[0].strands[0];
  const streams = header.scenes[0].strands.map((each) => each.stream);
  const normless = header.scenes.every((scene) => !strandOf(scene, state.stream)?.lengths);
  const paired = state.stream !== "cross" && strand.queries.documents.includes(1);
  const group = (label, name, values, options = {}) =>
    segmented(label, name, values, state[name], (value) => choose({ [name]: value }), options);
  return element(
    "div", { class: "attlas-toolbar", role: "toolbar", "aria-label": "What is shown" },
    segmented("View", "view", views.map((each) => each.name), state.view, (value) => choose({ view: value }),
      { names: Object.fromEntries(views.map((each) => [each.name, each.title])) }),
    streams.length > 1 ? group("Stream", "stream", streams) : null,
    layerControl(strand, state, view, choose),
    strand.joint ? null : group("Measure", "measure", ["weight", "norm", "both"], {
      disabled: normless ? ["norm", "both"] : [],
      reason: "norms need W_O and the values, which this scene does not have",
    }),
    view.piecesOnly ? null : group("Unit", "unit", ["piece", "word"]),
    group("Special pieces", "special", ["shown", "aside"]),
    paired ? pairControl(state, choose) : null,
    header.scenes.length === 2 ? compareControl(header, strand, group) : null,
    ...(view.controls?.(group) ?? []),
    view.sorts && Object.keys(header.scenes[0].figures).length ? sortControl(header, state, choose) : null,
    view.sorts && header.scenes[0].portraits?.[strand.stream] ? wordControl(state, choose) : null,
    element(
      "span", { class: "attlas-actions" },
      action("Table", "table", "Show the numbers as a table", () => choose({ table: state.table ? null : "yes" }), Boolean(state.table)),
      action("SVG", "svg", "Save the picture as SVG", actions.svg),
      action("PNG", "png", "Save the picture as PNG", actions.png),
      action("Figure …", "figure", "Save a figure to publish: width, ground and caption", actions.figure),
      action(colours.dark ? "Light" : "Dark", "theme", "Switch between light and dark", () => choose({ theme: colours.dark ? "light" : "dark" })),
      action("?", "help", "Keys", actions.help),
    ),
  );
}

/** A selector by which a control is found again after the toolbar was drawn anew, or null. */
export function controlPath(active) {
  const named = ["data-head", "data-action", "data-layer", "data-heads", "data-step"].find((name) => active.hasAttribute(name));
  if (named) return `[${named}="${active.getAttribute(named)}"]`;
  const value = active.hasAttribute("data-value") ? `[data-value="${active.dataset.value}"]` : "";
  return active.dataset.name ? `[data-name="${active.dataset.name}"]${value}` : null;
}

/** Buttons for heads: any number of them, or one where a view shows one. */
export function headStrip(panel, state, view, colours, choose) {
  const many = view.heads !== "one";
  const every = view.every?.(panel) ?? null;
  const alone = view.chosen?.(panel, state);
  const chosen = (head) => (alone ? alone.includes(head) : many ? !state.heads || state.heads.includes(head) : state.head === head);
  const held = view.allLayers ? panel.heads : panel.headsOf(state.layer);
  const toggle = (head) => {
    if (!many) return choose({ head });
    const shown = held.filter(chosen);
    const next = shown.includes(head) ? shown.filter((other) => other !== head) : [...shown, head].sort((a, b) => a - b);
    return choose({ heads: next.length === held.length ? every : next, head: next.length === 1 ? next[0] : state.head });
  };
  const chips = held.map((head) =>
    element(
      "button",
      {
        type: "button", class: "attlas-chip", "data-head": head, "aria-pressed": chosen(head),
        title: many ? `Head ${head + 1}: click to switch, double-click for this one alone` : `Head ${head + 1}`,
        style: `--chip:${many || chosen(head) ? headColour(colours, head) : "transparent"}`,
        click: () => toggle(head), dblclick: () => many && choose({ heads: [head], head }),
      },
      String(head + 1),
    ));
  const whole = many
    ? [
        element("button", { type: "button", class: "attlas-small", "data-heads": "all", click: () => choose({ heads: every }) }, "all"),
        element("button", { type: "button", class: "attlas-small", "data-heads": "none", click: () => choose({ heads: [] }) }, "none"),
      ]
    : [];
  return element("div", { class: "attlas-heads", role: "group", "aria-label": "Heads" }, element("span", { class: "attlas-label" }, many ? "Heads" : "Head"), ...whole, ...chips);
}

function segmented(label, name, values, current, pick, { names = {}, disabled = [], reason = "" } = {}) {
  const buttons = values.map((value) =>
    element(
      "button",
      {
        type: "button", "data-name": name, "data-value": value, ...(name === "view" ? { "data-view": value } : {}),
        "aria-pressed": value === current, disabled: disabled.includes(value), title: disabled.includes(value) ? reason : null,
        click: () => pick(value),
      },
      names[value] ?? NAMES[value] ?? value,
    ));
  return element("span", { class: "attlas-group", role: "group", "aria-label": label }, element("span", { class: "attlas-label" }, label), element("span", { class: "attlas-segments" }, ...buttons));
}

function layerControl(strand, state, view, choose) {
  if (view.allLayers) return layerFilter(strand, state, choose);
  const at = strand.layers.indexOf(state.layer);
  const step = (by) => () => choose({ layer: strand.layers[at + by] });
  const select = element("select", { "data-name": "layer", "aria-label": "Layer", change: (event) => choose({ layer: Number(event.target.value) }) });
  strand.layers.forEach((layer) => select.append(element("option", { value: layer, selected: layer === state.layer }, layerName(strand, layer).replace("layer ", ""))));
  return element(
    "span", { class: "attlas-group", role: "group", "aria-label": "Layer" }, element("span", { class: "attlas-label" }, "Layer"),
    element("span", { class: "attlas-segments" },
      element("button", { type: "button", "aria-label": "Layer before", "data-step": "-1", disabled: at <= 0, click: step(-1) }, "◂"),
      select,
      element("button", { type: "button", "aria-label": "Layer after", "data-step": "1", disabled: at < 0 || at >= strand.layers.length - 1, click: step(1) }, "▸")),
  );
}

/** Which layers a view of all of them shows. */
function layerFilter(strand, state, choose) {
  const shown = strand.layers.filter((layer) => !state.layers || state.layers.includes(layer));
  const toggle = (layer) => {
    const next = shown.includes(layer) ? shown.filter((other) => other !== layer) : [...shown, layer].sort((a, b) => a - b);
    choose({ layers: next.length === strand.layers.length || !next.length ? null : next });
  };
  const buttons = strand.layers.map((layer) =>
    element("button", {
      type: "button", "data-layer": layer, "aria-pressed": shown.includes(layer), title: `${capital(layerName(strand, layer))}: click to switch, double-click for this one alone`,
      click: () => toggle(layer), dblclick: () => choose({ layers: [layer] }),
    }, String(layer + 1)));
  return element("span", { class: "attlas-group", role: "group", "aria-label": "Layers" }, element("span", { class: "attlas-label" }, "Layers"), element("span", { class: "attlas-segments" }, ...buttons));
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

function pairControl(state, choose) {
  const select = element("select", { "data-name": "pair", "aria-label": "Between sentences", change: (event) => choose({ pair: event.target.value }) });
  for (const [value, text] of Object.entries(PAIRS)) select.append(element("option", { value, selected: value === state.pair }, text));
  return element("span", { class: "attlas-group" }, element("span", { class: "attlas-label" }, "Sentences"), select);
}

function sortControl(header, state, choose) {
  const select = element("select", { "data-name": "sort", "aria-label": "Sort by", change: (event) => choose({ sort: event.target.value || null }) });
  select.append(element("option", { value: "" }, "layer and head"));
  for (const name of Object.keys(header.scenes[0].figures)) select.append(element("option", { value: name, selected: name === state.sort }, name));
  return element("span", { class: "attlas-group" }, element("span", { class: "attlas-label" }, "Sort by"), select);
}

/** One, the other, both, or the difference, which is offered only where heads are paired. */
function compareControl(header, strand, group) {
  const reason = noDifference(header, { strand });
  return group("Compare", "show", ["a", "b", "both", "difference"], { names: { both: "side by side" }, disabled: reason ? ["difference"] : [], reason });
}

/** Which heads are shown, by words of what is known of them. */
function wordControl(state, choose) {
  const field = element("input", {
    type: "search", "data-name": "words", "aria-label": "Heads of which it is said", value: state.words ?? "", placeholder: "previous, induction …", spellcheck: "false",
    change: (event) => choose({ words: event.target.value.trim() || null }),
  });
  return element("span", { class: "attlas-group" }, element("span", { class: "attlas-label" }, "Heads that"), field);
}

function action(text, name, title, act, pressed = null) {
  return element("button", { type: "button", "data-action": name, title, "aria-label": title, "aria-pressed": pressed === null ? null : pressed, click: act }, text);
}
