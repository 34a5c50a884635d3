// The faithfulness card of the model that is shown: how far its attention explains what it predicts, in six figures and a
// paragraph. It folds, and whether it is folded is part of what is chosen; saved pictures carry it as text unless it is.

import { element } from "./dom.js";
import { readable } from "./readings.js";

const WIDEST = 760; // pixels of a line of text in a saved picture
const STEP = 18; // pixels from one such line to the next

/** The card of a header as something that folds, or null where there is none; `fold(open)` is called when it does. */
export function cardPanel({ card, scenes }, fold) {
  if (!card) return null;
  const letters = scenes.length === 2 && card.scenes.length === 1 ? `${"AB"[card.scenes[0]]}: ` : "";
  const figure = ({ key, name, number, interval, verdict, sign, says }) => element(
    "li", { "data-figure": key, "data-verdict": verdict },
    element("span", { class: "attlas-card-name" }, readable(name)), element("span", { class: "attlas-card-number" }, number),
    interval ? element("span", { class: "attlas-card-interval" }, `95 %: ${interval}`) : null,
    element("span", { class: "attlas-card-verdict" }, element("i", { "aria-hidden": "true" }, sign), ` ${verdict}`),
    element("span", { class: "attlas-card-clause" }, readable(says)),
  );
  const panel = element(
    "details", { class: "attlas-card" },
    element("summary", { title: "c" }, element("strong", {}, letters + readable(card.title)), element("span", { class: "attlas-card-sum" }, card.sums_up)),
    card.attention ? element("p", { class: "attlas-card-about" }, `The attention that is meant: ${readable(card.attention)}`) : null,
    element("ol", { class: "attlas-card-figures" }, ...card.figures.map(figure)),
    element("p", { class: "attlas-card-says" }, readable(card.paragraph)),
  );
  panel.addEventListener("toggle", () => fold(panel.open));
  return panel;
}

/** The card as lines of text no wider than so many pixels, measured by `measure(text, font)`. */
export function cardLines(card, width, measure, sans) {
  const font = `12px ${sans}`;
  const bold = `600 12px ${sans}`;
  const room = Math.min(width, WIDEST);
  const lines = wrapped(`${readable(card.title)} (${card.sums_up})`, room, measure, bold);
  for (const { name, number, interval, verdict, sign, says } of card.figures) {
    const value = interval ? `${number} (95 %: ${interval})` : number;
    lines.push(...wrapped(`${sign} ${readable(name)} ${value}, ${verdict}: ${readable(says)}`, room, measure, font));
  }
  return [...lines, ...wrapped(readable(card.paragraph), room, measure, font)];
}

/** How high so many lines are. */
export function linesHeight(lines) {
  return lines.length ? STEP * (lines.length + 1) : 0;
}

/** Write lines below each other, from a place on. */
export function drawLines(surface, lines, x, y, colours) {
  lines.forEach(({ text, font }, at) => surface.text(text, x, y + STEP * (at + 1), { font, fill: colours.ink }));
}

/** A text cut between words into lines of { text, font }. */
export function wrapped(text, width, measure, font) {
  const lines = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    const longer = line ? `${line} ${word}` : word;
    if (line && measure(longer, font) > width) {
      lines.push({ text: line, font });
      line = word;
    } else line = longer;
  }
  return line ? [...lines, { text: line, font }] : lines;
}
