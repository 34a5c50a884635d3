// What the model says at a place of the text, as the header has it: the piece that follows, the one that could stand here, a
// label; and what single heads write there (the logit lens).

import { briefly, mapLabel, written } from "./numbers.js";
import { quoted, readable, rowOf } from "./readings.js";

const SEEN = 3; // words that are named of what was looked at

/** What a model has said of the text that a view shows; null where it said nothing of these words. */
export function saysOf({ panel }) {
  const saying = panel.scene.saying;
  if (!saying || panel.signed || panel.strand.joint) return null;
  return saying.stream === panel.strand.stream || (panel.strand.stream === "cross" && saying.stream === "decoder") ? saying : null;
}

/** What is said at the word that is pointed at or kept, else at the last: { title, top, heads, lens }; null where nothing is. */
export function saidAt(data, shown) {
  const saying = saysOf(data);
  if (!saying) return null;
  const { panel } = data;
  const rows = shown.side === "key" || !shown.back ? shown.of : [];
  const label = panel.queries[rows.at(-1) ?? panel.queries.length - 1];
  if (!label) return null;
  const last = label.pieces.at(-1);
  const wrote = panel.strand.queries.written;
  const here = rows.length > 0 && wrote !== undefined && label.pieces[0] >= wrote && saying.kind === "next";
  const place = here ? label.pieces[0] - 1 : last;
  const top = saying.kind === "label" ? saying.top[0] : saying.top[place];
  if (!top?.length) return null;
  const follows = panel.strand.queries.pieces[place + 1];
  const real = saying.kind === "next" ? follows : saying.kind === "masked" ? panel.strand.queries.pieces[place] : null;
  const named = ([name, share]) => ({ name: quoted(readable(name)), share, real: name === real });
  const chance = saying.actual[place];
  const title = {
    next: here ? `${label.short} was written here${chance === undefined ? "" : `, with ${written(chance)}`}; likeliest:` : `after ${label.short} the model expects`,
    masked: `in place of ${label.short} the model expects`, label: "the model says of the text", tag: `the model says of ${label.short}`,
  }[saying.kind];
  const told = saying.lens[place];
  const heads = data.chosen.map(({ layer, head }) => ({ name: mapLabel(panel.strand, layer, head), told: told?.[`${panel.strand.stream} ${mapLabel(panel.strand, layer, head)}`] }))
    .filter(({ told: found }) => found).map(({ name, told: found }) => ({ name, writes: found.map(([piece]) => quoted(readable(piece))).join(", ") }));
  const looked = here ? lookedFrom(data, rowOf(panel.queries, place)) : "";
  return { title, top: top.map(named), looked, heads, lens: heads.length ? "what the head adds there (logit lens)" : "" };
}

/** Where the heads looked when the next piece was written: from the piece before it. */
function lookedFrom({ panel, sources, ready }, row) {
  if (row < 0 || !ready) return "";
  const lines = sources.map((source) => source.line(false, row));
  const mean = lines[0].map((_, at) => lines.reduce((sum, line) => sum + line[at] / lines.length, 0));
  const order = Array.from(mean.keys()).sort((a, b) => mean[b] - mean[a]).slice(0, SEEN);
  return `from ${panel.queries[row].short}: ${order.map((at) => `${panel.keys[at].short} ${briefly(mean[at])}`).join(", ")}`;
}

/** The probability with which a piece was written by the model; null where it was not, or where it is not known. */
export function writtenWith(data, piece) {
  const saying = saysOf(data);
  const wrote = data.panel.strand.queries.written;
  if (!saying || saying.kind !== "next" || wrote === undefined || piece < Math.max(1, wrote)) return null;
  return saying.actual[piece - 1] ?? null;
}
