// What keys do in every view; a view may answer a key before them. Layers lie left and right, queries up and down.

import { element } from "./dom.js";
import { rowOf } from "./readings.js";

const KEYS = [
  ["← →", "layer"], ["↑ ↓", "query"], ["[ ]", "head"], ["1–5", "view"], ["m", "measure"], ["w", "pieces or words"],
  ["s", "special pieces"], ["a", "all heads"], ["o", "order of neurons"], ["t", "table"], ["c", "card, where there is one"], ["d", "light or dark"],
  ["Esc", "let go"],
  ["v, r, Enter", "text: what words give, a region begins here, keep the word"],
  ["+ − 0", "matrix: nearer, farther, all of it"], ["Shift ← → ↑ ↓", "matrix: move"],
];

/** The dialog that lists the keys. */
export function keyHelp() {
  return element(
    "dialog", { class: "attlas-help" }, element("h2", {}, "Keys"),
    element("dl", {}, ...KEYS.flatMap(([key, what]) => [element("dt", {}, key), element("dd", {}, what)])),
    element("form", { method: "dialog" }, element("button", {}, "Close")),
  );
}

/** What a key changes in a state, or null. */
export function changeByKey(key, state, panel, view, views, dark) {
  const one = view.heads === "one";
  if (key === "ArrowLeft" || key === "ArrowRight") return { layer: step(panel.layers, state.layer, key === "ArrowLeft" ? -1 : 1) };
  if (key === "ArrowUp" || key === "ArrowDown") {
    if (!panel.queries.length) return null;
    const row = rowOf(panel.queries, state.query);
    const next = row < 0 ? 0 : Math.min(panel.queries.length - 1, Math.max(0, row + (key === "ArrowUp" ? -1 : 1)));
    return { query: panel.queries[next].pieces[0], key: null };
  }
  if (key === "[" || key === "]") {
    const head = step(panel.headsOf(state.layer), state.head, one || state.heads?.length === 1 ? (key === "[" ? -1 : 1) : 0);
    return { head, heads: one ? state.heads : [head] };
  }
  if (/^[1-9]$/.test(key) && views[key - 1]) return { view: views[key - 1].name };
  if (key === "m" && panel.strand.lengths) return { measure: { weight: "norm", norm: "both", both: "weight" }[state.measure] };
  if (key === "w" && !view.piecesOnly) return { unit: state.unit === "piece" ? "word" : "piece" };
  if (key === "s") return { special: state.special === "shown" ? "aside" : "shown" };
  if (key === "a") return { heads: null };
  if (key === "t") return { table: state.table ? null : "yes" };
  if (key === "d") return { theme: dark ? "light" : "dark" };
  if (key === "Escape") return { query: null, key: null };
  return null;
}

function step(list, current, by) {
  return list[Math.min(list.length - 1, Math.max(0, list.indexOf(current) + by))];
}
