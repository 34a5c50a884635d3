// Below a short text, where the window has room: what each head of the layer gives to its words (or each layer, where all of
// them are shown), as a table with a row for each head and a column for each word. A click on a row shows that head alone.

import { briefly, layerName, mapLabel, mapName, written } from "./numbers.js";
import { legible, shade } from "./palette.js";
import { fitted } from "./surface.js";

const MOST_WORDS = 130; // of a text that it is made for
const NARROWEST = 14; // pixels of a column
const WIDEST = 110;
const LOWEST = 13; // pixels of a row
const HIGHEST = 120;
const FEWEST = 4; // rows that it is worth while for
const TITLE = 28;
const LABEL = 7; // times the size of letters that a word has, at most
const LETTERS = [12, 16]; // their sizes, in low rows and in high ones
const NUMBERED = 15; // pixels of a row that can hold numbers
const FAINT = 0.0005; // numbers below are not written
const TURN = Math.PI / 3; // of words that have no room side by side

/** The rows there could be, each with where its lines come from: [{ layer, head, label, name, sources }]; none for a long text. */
export async function rowsOf(panel, state) {
  if (panel.reckoned || Math.max(panel.queries.length, panel.keys.length) > MOST_WORDS) return [];
  const { strand } = panel;
  const ofLayers = state.over === "layers" || Boolean(strand.joint);
  const groups = ofLayers ? panel.layers.map((layer) => ({ layer, heads: panel.headsOf(layer) })) : panel.headsOf(state.layer).map((head) => ({ layer: state.layer, heads: [head] }));
  return Promise.all(groups.filter(({ heads }) => heads.length).map(async ({ layer, heads }) => ({
    layer, head: ofLayers ? null : heads[0],
    label: ofLayers ? layerName(strand, layer) : mapLabel(strand, layer, heads[0]), name: ofLayers ? layerName(strand, layer) : mapName(strand, layer, heads[0]),
    sources: await Promise.all(heads.map((head) => panel.soon(layer, head))),
  })));
}

/** Which rows there is room for below a text, and how high they are; null where it is not worth while. */
export function tableRoom({ rows, panel, two }, y, width, free, surface, colours) {
  if (!rows.length) return null;
  const size = free / rows.length > 48 ? LETTERS[1] : LETTERS[0];
  const font = `${size}px ${colours.sans}`;
  const left = Math.ceil(rows.reduce((most, { label }) => Math.max(most, surface.measure(label, `600 ${font}`)), 20)) + 10;
  const sides = (two ? [panel.queries, panel.keys] : [panel.keys]).map((labels) => sideOf(labels, width - left, surface, font, size));
  if (sides.some(({ cell }) => cell < NARROWEST)) return null;
  const head = Math.max(...sides.map(({ high }) => high));
  const fitting = Math.floor((free - TITLE - head) / LOWEST);
  if (fitting < Math.min(FEWEST, rows.length)) return null;
  const shown = rows.length <= fitting ? rows : strongest(rows, panel.keys, fitting);
  const step = Math.min(HIGHEST, Math.floor((free - TITLE - head) / shown.length));
  return { rows: shown, all: rows.length, y, top: y + TITLE + head, left, width, step, size, font, height: TITLE + head + shown.length * step + 2 };
}

/** How wide columns are, and how high the words above them. */
function sideOf(labels, width, surface, font, size) {
  const widest = Math.min(LABEL * size, labels.reduce((most, label) => Math.max(most, surface.measure(label.short, `600 ${font}`)), 0));
  const plain = Math.min(WIDEST, width / labels.length);
  if (plain >= widest + 8) return { cell: plain, turned: false, high: size + 10 };
  const overhang = widest * Math.cos(TURN);
  return { cell: Math.min(WIDEST, (width - overhang) / labels.length), turned: true, high: Math.ceil(widest * Math.sin(TURN)) + 12 };
}

/** Of more rows than fit, those that give most to one word on average; in their order. */
function strongest(rows, labels, fitting) {
  const strength = new Map(rows.map((row) => [row, Math.max(...row.sources.map((source) => largest(source.average(), labels)))]));
  const kept = new Set([...rows].sort((a, b) => strength.get(b) - strength.get(a)).slice(0, fitting));
  return rows.filter((row) => kept.has(row));
}

/** The largest size of some values, those of special pieces and of the first one left out. */
function largest(values, labels) {
  return values.reduce((most, value, at) => (at === 0 || labels[at].special ? most : Math.max(most, Math.abs(value))), 0);
}

/** Draw it for what is shaded; `valuesOf` makes the values of a row. */
export function drawTable(surface, { data, table }, state, focus, shown, valuesOf, colours) {
  const { panel } = data;
  const { rows, top, left, step, size, font } = table;
  const labels = shown.back ? panel.queries : panel.keys;
  const { cell, turned } = sideOf(labels, table.width - left, surface, font, size);
  Object.assign(table, { cell, columns: labels.length, shown });
  const values = rows.map(valuesOf);
  const full = Math.max(1e-9, ...values.map((line) => largest(line, labels)));
  const ramp = panel.signed ? colours.diverging : colours.sequential;

  const of = rows[0].head === null ? "Each layer" : `Each head of ${layerName(panel.strand, rows[0].layer)}`;
  const some = rows.length < table.all ? `, the ${rows.length} of ${table.all} with the strongest links` : "";
  const said = shown.said.replace(/,$/, "").replace(/^Words receive/, "words receive");
  const strong = `600 12px ${colours.sans}`;
  surface.text(fitted(`${of}${some}: ${said}`, surface, strong, table.width), 0, table.y + 10, { font: strong, fill: colours.ink });
  labels.forEach((label, column) => {
    const x = left + (column + 0.5) * cell;
    const chosen = shown.side === "both" && shown.of.includes(column);
    const style = { font: chosen ? `600 ${font}` : font, fill: chosen ? colours.negative : label.special ? colours.soft : colours.ink };
    const text = fitted(label.short, surface, style.font, turned ? LABEL * size : cell - 6);
    if (turned) surface.text(text, x + 1, top - 7, { ...style, turn: -TURN });
    else surface.text(text, x, top - 10, { ...style, align: "center" });
  });
  rows.forEach((row, at) => {
    const y = top + at * step;
    const chosen = row.head === null ? row.layer === state.layer && state.over !== "layers" : !state.heads || state.heads.includes(row.head);
    surface.text(row.label, left - 8, y + step / 2, { font: chosen ? `600 ${font}` : font, align: "right", fill: chosen ? colours.ink : colours.soft });
    values[at].forEach((value, column) => {
      const share = Math.sign(value) * Math.sqrt(Math.min(1, Math.abs(value) / full));
      const place = panel.signed ? (share + 1) / 2 : Math.max(0, share);
      const x = left + column * cell;
      surface.rect(x, y, cell - 1, step - 1, shade(ramp, place));
      const number = briefly(value);
      if (step < NUMBERED || Math.abs(value) < FAINT) return;
      const small = [size, 11].map((each) => `${each}px ${colours.sans}`).find((each) => surface.measure(number, each) <= cell - 6);
      if (small) surface.text(number, x + (cell - 1) / 2, y + step / 2, { font: small, align: "center", fill: legible(ramp, place) });
    });
    surface.frame(left - 0.5, y - 0.5, cell * labels.length, step, colours.line);
  });
  if (focus.cell) surface.frame(left + focus.cell[1] * cell - 0.5, top + focus.cell[0] * step - 0.5, cell, step, colours.negative, 1.5);
}

/** The cell at a place, as [row, column]; null where there is none. */
export function cellAt({ rows, top, left, step, cell, columns }, x, y) {
  const [row, column] = [Math.floor((y - top) / step), Math.max(0, Math.floor((x - left) / cell))];
  return row >= 0 && row < rows.length && column < columns ? [row, column] : null;
}

/** What a click on a cell chooses: the head of its row, or its layer. */
export function chosenBy({ rows }, [at]) {
  const { layer, head } = rows[at];
  return head === null ? { layer, over: "heads" } : { layer, head, heads: [head] };
}

/** What a cell says. */
export function sayCell({ panel }, { rows, shown }, [at, column], values) {
  const row = rows[at];
  const label = (shown.back ? panel.queries : panel.keys)[column];
  const exact = row.sources.every((source) => source.exact(shown.back, shown.of));
  return `${shown.said} ${label.short} ${written(values[column], exact)} (${row.head === null ? `mean of ${row.name}` : row.name})`;
}
