// A map of heads: a link for each, set where a layout says, painted as a painter says. Arrow keys go from head to
// head, only one of which the tab key stops at.

import { inkOn } from "./colours.js";
import { element } from "./dom.js";
import { hush, tell } from "./tips.js";

const LETTERS = "11px system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif";
const LINE = 13;
const measuring = document.createElement("canvas").getContext("2d");

/** How a text goes into a cell: as one line, as two, or not at all. */
export function linesIn(text, width, height) {
  if (!text || height < LINE) return [];
  measuring.font = LETTERS;
  const fits = (line) => measuring.measureText(line).width <= width - 6;
  if (fits(text)) return [text];
  if (height < 2 * LINE + 2 || !text.includes(" ")) return [];
  const words = text.split(" ");
  const cuts = words.slice(1).map((_, at) => [words.slice(0, at + 1).join(" "), words.slice(at + 1).join(" ")]);
  return cuts.filter((lines) => lines.every(fits)).sort((a, b) => Math.abs(a[0].length - a[1].length) - Math.abs(b[0].length - b[1].length))[0] ?? [];
}

/**
 * Show a map in an element, and keep it as wide as that. `lay(width)` gives a layout, `paint(at)` a cell's { fill, text,
 * framed, dim }, `say(at)` what is told of a head, `link(at)` where it leads. What comes back repaints or lays anew.
 */
export function showMap(place, { lay, paint, say, link, name, pointed = () => {} }) {
  const frame = element("div", { class: "map", role: "group", "aria-label": name });
  place.replaceChildren(frame);
  let layout = null, cells = new Map(), width = 0;

  function set() {
    width = Math.floor(place.clientWidth);
    if (width < 40) return;
    layout = lay(width);
    const focused = document.activeElement?.closest?.(".map") === frame ? document.activeElement.at : null;
    frame.style.height = `${layout.height}px`;
    const texts = layout.texts.map((text) => {
      const made = element("span", { class: `beside ${text.align}`, "aria-hidden": "true" }, text.text);
      Object.assign(made.style, { top: `${text.y - 8}px`, ...(text.align === "right" ? { right: `${width - text.x}px` } : { left: `${text.x}px` }) });
      if (text.room) made.style.maxWidth = `${text.room}px`;
      return made;
    });
    const brackets = layout.brackets.map((bracket) => {
      const made = element("span", { class: "bracket", "aria-hidden": "true" });
      Object.assign(made.style, { left: `${bracket.x}px`, top: `${bracket.y - 6}px`, width: `${bracket.w}px` });
      return made;
    });
    cells = new Map();
    const links = layout.cells.map((cell, order) => {
      const made = document.createElement("a");
      made.className = "cell";
      made.href = link(cell.at);
      made.at = cell.at;
      made.tabIndex = order === 0 ? 0 : -1;
      made.style.cssText = `left:${cell.x}px;top:${cell.y}px;width:${cell.w}px;height:${cell.h}px`;
      cells.set(cell.at, { made, cell });
      return made;
    });
    frame.replaceChildren(...texts, ...brackets, ...links);
    repaint();
    if (focused !== null) cells.get(focused)?.made.focus();
  }

  function repaint() {
    for (const [at, { made, cell }] of cells) {
      const { fill, text, framed, dim } = paint(at);
      made.style.backgroundColor = fill;
      made.style.color = inkOn(fill);
      made.classList.toggle("framed", Boolean(framed));
      made.classList.toggle("dim", Boolean(dim));
      made.setAttribute("aria-label", say(at).join(" "));
      const lines = linesIn(text, cell.w, cell.h);
      if (lines.length || made.childNodes.length) made.replaceChildren(...lines.map((line) => element("span", {}, line)));
    }
  }

  function point(event) {
    const made = event.target.closest?.(".cell");
    pointed(made ? made.at : null);
    if (!made) { hush(); return; }
    const [head, ...rest] = say(made.at);
    const box = made.getBoundingClientRect();
    const where = event.type === "pointermove" ? { x: event.clientX, y: event.clientY } : { x: box.right, y: box.bottom };
    tell([element("b", {}, head), ...rest.filter(Boolean).map((line) => element("p", {}, line))], where);
  }

  const leave = () => { hush(); pointed(null); };
  frame.addEventListener("pointermove", point);
  frame.addEventListener("pointerleave", leave);
  frame.addEventListener("focusin", point);
  frame.addEventListener("focusout", leave);
  frame.addEventListener("keydown", (event) => {
    const from = cells.get(document.activeElement?.at)?.cell;
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!from || !way) return;
    event.preventDefault();
    event.stopPropagation();
    const next = nearest(layout.cells, from, way);
    if (!next) return;
    cells.get(from.at).made.tabIndex = -1;
    cells.get(next.at).made.tabIndex = 0;
    cells.get(next.at).made.focus();
  });
  const watching = new ResizeObserver(() => { if (Math.abs(place.clientWidth - width) > 1) set(); });
  watching.observe(place);
  set();
  return {
    repaint, set, layout: () => layout,
    mark(at) { for (const [own, { made }] of cells) made.classList.toggle("marked", own === at); },
    destroy() { watching.disconnect(); hush(); },
  };
}

/** The next cell in a direction: in the same row or column first, else the one that is least aside. */
function nearest(cells, from, [right, down]) {
  let best = null, least = Infinity;
  for (const cell of cells) {
    const along = right ? (cell.x - from.x) * right : (cell.y - from.y) * down;
    const aside = Math.abs(right ? cell.y - from.y : cell.x - from.x);
    if (along <= 0.5) continue;
    const cost = along + 100 * aside;
    if (cost < least) { least = cost; best = cell; }
  }
  return best;
}

/** Draw a map on a surface, as it is shown. */
export function drawMap(surface, layout, paint, colours) {
  const font = LETTERS;
  for (const text of layout.texts) surface.text(text.text, text.x, text.y, { font, align: text.align, fill: colours.soft });
  for (const { x, y, w } of layout.brackets) surface.rect(x, y - 4, w, 1.5, colours.soft);
  for (const { at, x, y, w, h } of layout.cells) {
    const { fill, text, framed, dim } = paint(at);
    surface.rect(x, y, w, h, fill, dim ? 0.2 : 1);
    if (framed) surface.frame(x + 0.75, y + 0.75, w - 1.5, h - 1.5, colours.ink, 1.5);
    const lines = dim ? [] : linesIn(text, w, h);
    lines.forEach((line, row) => surface.text(line, x + w / 2, y + h / 2 + (row - (lines.length - 1) / 2) * LINE, { font, align: "center", fill: inkOn(fill) }));
  }
}
