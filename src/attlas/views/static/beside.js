// What stands beside the running text: the strongest words with their numbers, the mass on each region of the text, head by
// head as bars, and what the model says at the place that is chosen.

import { headColour } from "./palette.js";
import { briefly, mapLabel } from "./numbers.js";
import { fitted } from "./surface.js";
import { massOn } from "./regions.js";
import { saidAt, saysOf } from "./saying.js";

const WIDE = 820; // pixels of room from which on it stands at the side
const STRONGEST = 10; // at least
const LONGEST = 40; // and at most
const FEWER = 5; // of them, below the text
export const STEP = 20; // pixels of a line
const GAP = 6; // above a heading within it
const TOLD = 5; // pieces or labels that the model holds most likely
const LENSES = 3; // heads of which is told what they write
const MOST = 12; // heads that get bars of their own

/** How much room it takes, and whether it stands at the side. */
export function asideRoom(data, { width, height }) {
  const { regions, sources, panel } = data;
  const beside = width >= WIDE;
  const heads = Math.min(MOST, sources.length) + 1;
  const parts = regions.length ? 30 + regions.length * (STEP + (sources.length > 1 ? Math.min(heads * 7, 60) : 10)) : 0;
  const says = saysOf(data) ? 60 + 2 * GAP + STEP * (2 + TOLD + Math.min(LENSES, sources.length)) : 0;
  const listed = Math.min(LONGEST, panel.keys.length, Math.floor((height - 34 - parts - says) / STEP));
  const words = beside ? Math.max(STRONGEST, listed) : FEWER;
  return { beside, words, width: beside ? Math.max(260, Math.round(width * 0.28)) : width, height: words * STEP + 34 + parts + says };
}

/** How many more words it can list below a text, where so many pixels are left. */
export function moreWords({ panel }, { beside, words }, free) {
  return beside ? 0 : Math.max(0, Math.min(Math.floor(free / STEP), Math.min(LONGEST, panel.keys.length) - words));
}

/** Draw it for what is shaded. */
export function drawAside(surface, { data, aside }, state, shown, colours) {
  const font = `12px ${colours.sans}`;
  const text = (words, x, y, options = {}) => surface.text(words, x, y, { font, fill: colours.soft, ...options });
  let y = aside.y + 10;
  text(fitted(shown.said, surface, `600 ${font}`, aside.width), aside.x, y, { font: `600 ${font}`, fill: colours.ink });
  y += STEP;
  const ranked = shown.ranked(aside.words);
  const most = Math.max(1e-9, ...ranked.map(({ value }) => Math.abs(value)));
  const words = Math.round(aside.width * 0.42);
  const number = surface.measure("≈0.00000", font) + 6;
  const bars = aside.x + words + number + 4;
  for (const { label, value } of ranked) {
    text(fitted(label.short, surface, font, words - 6), aside.x, y, { fill: label.special ? colours.soft : colours.ink });
    text((shown.exact ? "" : "≈") + briefly(value), aside.x + words + number - 4, y, { align: "right" });
    surface.rect(bars, y - 5, Math.max(1, ((aside.width - words - number - 8) * Math.abs(value)) / most), 10, value < 0 ? colours.negative : colours.positive);
    y += STEP;
  }
  if (data.regions.length && !shown.back) y = drawRegions(surface, data, { ...aside, y: y + 12 }, shown, colours, text);
  const said = saidAt(data, shown);
  if (said) drawSaid(surface, said, { ...aside, y: y + 12 }, colours, text);
}

/** What the model says at a place: the likeliest with their probabilities, and what single heads write there. */
function drawSaid(surface, { title, top, looked, heads, lens }, { x, y, width }, colours, text) {
  const font = `12px ${colours.sans}`;
  text(fitted(title, surface, `600 ${font}`, width), x, y, { font: `600 ${font}`, fill: colours.ink });
  const bars = x + Math.round(width * 0.42) + 46;
  let at = y + STEP;
  for (const { name, share, real } of top.slice(0, TOLD)) {
    text(fitted(name, surface, font, bars - x - 52), x, at, { fill: real ? colours.negative : colours.ink });
    text(briefly(share), bars - 6, at, { align: "right" });
    surface.rect(bars, at - 5, Math.max(1, (width - (bars - x) - 4) * share), 10, real ? colours.negative : colours.accent);
    at += STEP;
  }
  if (looked) {
    at += GAP;
    text(fitted("where it looked", surface, `600 ${font}`, width), x, at, { font: `600 ${font}`, fill: colours.ink });
    text(fitted(looked, surface, font, width), x, at + STEP, { fill: colours.ink });
    at += 2 * STEP;
  }
  at += GAP;
  if (lens) text(fitted(lens, surface, `600 ${font}`, width), x, at, { font: `600 ${font}`, fill: colours.ink });
  at += STEP;
  for (const { name, writes } of heads.slice(0, LENSES)) {
    text(fitted(`${name}: ${writes}`, surface, font, width), x, at, { fill: colours.ink });
    at += STEP;
  }
}

/** The mass on each region: its share over all heads that are chosen, and a bar for each of them. */
function drawRegions(surface, data, { x, y, width }, shown, colours, text) {
  const { regions, sources, chosen, panel } = data;
  const whole = massOn(regions, shown.values);
  const total = whole.reduce((sum, mass) => sum + mass, 0) || 1;
  const each = sources.length > 1 && sources.length <= MOST
    ? sources.map((source) => massOn(regions, meanLine(source, shown))) : [];
  text("weight on each region", x, y, { font: `600 12px ${colours.sans}`, fill: colours.ink });
  const bars = x + Math.round(width * 0.42);
  const room = width - (bars - x) - 4;
  const tall = each.length ? Math.max(3, Math.min(7, Math.floor(60 / (each.length + 1)))) : 10;
  let at = y + STEP;
  regions.forEach(({ name }, place) => {
    text(fitted(name, surface, `12px ${colours.sans}`, bars - x - 44), x, at, { fill: colours.ink });
    text(`${Math.round((100 * whole[place]) / total)} %`, bars - 6, at, { align: "right" });
    surface.rect(bars, at - 5, room, 10, colours.line, 0.4);
    surface.rect(bars, at - 5, Math.max(1, (room * whole[place]) / total), 10, colours.accent);
    let down = at + 8;
    each.forEach((masses, head) => {
      const sum = masses.reduce((a, b) => a + b, 0) || 1;
      surface.rect(bars, down, Math.max(1, (room * masses[place]) / sum), tall - 1, headColour(colours, chosen[head].head), 0.85);
      down += tall;
    });
    at += STEP + (each.length ? each.length * tall + 4 : 4);
  });
  if (!each.length) return at;
  text(`thin bars: heads ${mapLabel(panel.strand, chosen[0].layer, chosen[0].head)} to ${mapLabel(panel.strand, chosen.at(-1).layer, chosen.at(-1).head)}`, x, at);
  return at + STEP;
}

function meanLine(source, { back, of }) {
  if (!of.length) return source.average();
  const lines = of.map((row) => source.line(back, row));
  return lines[0].map((_, at) => lines.reduce((sum, line) => sum + line[at], 0));
}
