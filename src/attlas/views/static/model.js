// The model view: every head of a stream as a small picture, layers down and heads across, or in the order of a figure of
// a survey. The table of layers is folded into as many columns as fill the window. Pictures come in while one looks (see
// thumbnails.js). One head can be enlarged beside the others, with its words.

import { written, briefly, blockOf, mapLabel, mapName, paperLabel } from "./numbers.js";
import { shortened } from "./readings.js";
import { inside } from "./surface.js";
import { gather, nameOf, picture, painted, strongest, dots } from "./thumbnails.js";

const GAP = 4;
const LEFT = 34; // room for the numbers of layers
const LEFT_WITH_BLOCKS = 92; // and of their blocks, where these are others
const TOP = 42; // room for the numbers of heads, and for brackets over those that share keys
const CAPTION = 17; // room for a caption where heads do not stand in a table
const READABLE = 40; // below this a page is rather made longer than its pictures smaller
const SMALLEST = 14;
const BESIDE = 380; // what an enlarged head needs beside the others
const LABELLED = 13; // pixels of a row from which on it has a label
const CAPTIONED = 44; // pixels that a caption needs
const WIDEST = 2.4; // times its height that a picture may be wide
const TALLER = 1.4; // times its width that it may be high
const NO_FIGURE = -1e8; // whatever a survey has no figure for lies below

export const modelView = {
  allLayers: true,
  sorts: true,

  note(panels, state) {
    const { scene, strand } = panels[0] ?? {};
    if (state.words && scene && !scene.portraits?.[strand.stream]) return "Nothing is known of these heads in words; give a survey or an atlas (--survey, --atlas) to filter them by what they do.";
    if (!state.sort) return "";
    if (panels.every((panel) => figuresOf(panel, state))) return `Sorted by “${state.sort}”, the highest first.`;
    return `There is no figure “${state.sort}” of these heads, so they stand by layer.`;
  },

  async load(panel, state, again) {
    const order = inOrder(panel, state);
    const current = order.filter((each) => isAt(each, state)); // made first, for it is spoken of
    const work = gather(panel, [...current, ...order], again);
    const open = state.open ? await opened(panel, state) : null;
    await work.begun;
    const sorted = Boolean(figuresOf(panel, state));
    return { panel, order, work, open, sorted, captioned: sorted || Boolean(panel.strand.joint) };
  },

  layout(data, state, room, surface, colours) {
    if (!data.open) return { data, ...arranged(data, room.width, room.height), enlarged: null };
    const half = Math.max(BESIDE, Math.floor(room.width * 0.55));
    const narrow = room.width - half >= 200 ? arranged(data, room.width - half, room.height) : null;
    const beside = narrow !== null && Math.min(narrow.across, narrow.down) >= SMALLEST;
    const chosen = beside ? narrow : arranged(data, room.width, room.height);
    const current = chosen.places.find((place) => isAt(place, data.open));
    const width = beside ? room.width - chosen.width - 28 : room.width - 16;
    const enlarged = enlarge(data, width, room.height, surface, colours);
    const middle = current ? current.y + chosen.down / 2 : 0;
    const fits = chosen.height <= room.height;
    enlarged.x = beside ? chosen.width + 24 : 4;
    if (beside) enlarged.y = fits ? 0 : Math.max(0, Math.min(chosen.height - enlarged.height, middle - enlarged.height / 2));
    else enlarged.y = current ? current.y + chosen.down + GAP + 4 : TOP;
    return {
      data, ...chosen, enlarged, over: !beside,
      width: Math.max(chosen.width, enlarged.x + enlarged.width + 4),
      height: Math.max(chosen.height, enlarged.y + enlarged.height + 4),
    };
  },

  draw(surface, geometry, state, focus, colours) {
    const { data, places, across, down, enlarged } = geometry;
    const pointed = focus.layer === undefined || focus.cell ? null : focus;
    if (!data.captioned) drawAxes(surface, geometry, pointed ?? state, colours);
    for (const place of places) {
      const { x, y } = place;
      const made = data.work.made.get(nameOf(place));
      if (made) {
        const canvas = painted(made, across, down, data.panel.signed, colours);
        surface.picture(canvas, 0, 0, canvas.width, canvas.height, x, y, across, down);
        if (focus.query !== null) drawTick(surface, data.panel, focus.query, x, y, down, colours);
      } else {
        surface.rect(x, y, across, down, colours.line, 0.4);
      }
      surface.frame(x - 0.5, y - 0.5, across + 1, down + 1, colours.line);
      if (data.captioned) {
        const font = `${isAt(place, state) ? "600 " : ""}11px ${colours.sans}`;
        const label = mapLabel(data.panel.strand, place.layer, place.head);
        surface.text(label, x, y - 8, { font, fill: colours.ink });
        const figure = data.sorted ? figureText(place.figure, briefly) : "";
        if (figure && surface.measure(`${label}  ${figure}`, font) <= across) {
          surface.text(figure, x + across, y - 8, { font, fill: colours.soft, align: "right" });
        }
      }
    }
    for (const place of places) {
      if (isAt(place, state)) surface.frame(place.x - 1.5, place.y - 1.5, across + 3, down + 3, colours.accent, 2.5);
      else if (pointed && isAt(place, pointed)) surface.frame(place.x - 1, place.y - 1, across + 2, down + 2, colours.ink, 1.5);
    }
    if (enlarged) drawEnlarged(surface, geometry, focus, colours);
  },

  hit(geometry, x, y) {
    const { places, across, down, enlarged, data } = geometry;
    if (enlarged && inside(enlarged, x, y)) {
      const { layer, head, grid } = data.open;
      if (inside(closing(enlarged), x, y)) return { query: null, key: null, close: true };
      const key = Math.floor((x - enlarged.x - enlarged.left) / enlarged.cellWidth);
      const query = Math.floor((y - enlarged.y - enlarged.top) / enlarged.cellHeight);
      const within = !grid.coarse && query >= 0 && key >= 0 && query < grid.rows && key < grid.columns;
      return within ? { query, key, layer, head, cell: true } : null;
    }
    const around = (each) => ({ x: each.x - GAP / 2, y: each.y - GAP / 2, width: across + GAP, height: down + GAP });
    const place = places.find((each) => inside(around(each), x, y)); // and half the gap belongs to each of two
    return place ? { query: null, key: null, layer: place.layer, head: place.head } : null;
  },

  /** A click on a head enlarges it, or closes it again; a click on a cell of the enlarged head keeps its query and key. */
  click(geometry, state, focus) {
    if (!focus) return null;
    if (focus.close) return { open: null };
    if (!focus.cell) {
      return state.open && isAt(focus, state) ? { open: null } : { layer: focus.layer, head: focus.head, open: "yes" };
    }
    const { panel } = geometry.data;
    const query = panel.queries[focus.query].pieces[0];
    const key = panel.keys[focus.key].pieces[0];
    return query === state.query && key === state.key ? { query: null, key: null } : { query, key };
  },

  key(event, geometry, state) {
    const { places, down } = geometry;
    const step = { ArrowLeft: [-1, 0], "[": [-1, 0], ArrowRight: [1, 0], "]": [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "Escape") return state.open ? { open: null } : null;
    if (event.key === "Enter" && !event.target.closest("button")) return { open: state.open ? null : "yes" };
    if (step === undefined || !places.length) return null;
    const at = places.findIndex((place) => isAt(place, state));
    const next = at < 0 ? places[0] : beside(geometry, at, ...step);
    bringIntoSight(event.currentTarget, next, down);
    return { layer: next.layer, head: next.head };
  },

  say(data, state, focus) {
    const { panel, open, order, work } = data;
    if (work.fault) return `Some heads could not be read: ${work.fault.message}`;
    if (!order.length) return "No head is chosen.";
    if (focus.close) return "Close the enlarged head.";
    if (focus.layer !== undefined && !focus.cell) return describe(data, state, focus);
    if (!open || focus.query === null) return describe(data, state, open ?? state);
    const { grid, source } = open;
    const exact = grid.exactRow(focus.query);
    const line = source ? source.line(false, focus.query) : grid.data.subarray(focus.query * grid.columns, (focus.query + 1) * grid.columns);
    const word = panel.queries[focus.query].short;
    const label = mapName(panel.strand, open.layer, open.head);
    const links = panel.keys.map((key, at) => ({ key, value: line[at] }));
    const told = ({ key, value }) => `${key.short} ${written(value, exact)}`;
    if (focus.key !== null) return `${label}: ${word} → ${told(links[focus.key])}`;
    links.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    return `${label}: ${word} attends to ${links.slice(0, 6).map(told).join(", ")}`;
  },

  table(data, state) {
    const { panel, order, work, sorted } = data;
    const made = order.filter((each) => work.made.get(nameOf(each))?.strongest);
    const rows = made.map((each) => {
      const { query, key, value, exact } = work.made.get(nameOf(each)).strongest;
      const link = [panel.queries[query].text, panel.keys[key].text, written(value, exact)];
      return [mapLabel(panel.strand, each.layer, each.head), ...link, ...(sorted ? [figureText(each.figure)] : [])];
    });
    const unit = panel.strand.joint ? "layer" : "head";
    const sofar = made.length < order.length ? ` (so far ${made.length} of ${order.length} ${unit}s)` : "";
    const columns = [unit, "query", "key", panel.signed ? "difference" : "value", ...(sorted ? [state.sort] : [])];
    return { caption: `The strongest link of each ${unit}: ${panel.title}${sofar}`, columns, rows };
  },
};

/** The figures, layer by layer, that a state sorts the heads of a panel by; undefined where there are none. */
function figuresOf(panel, state) {
  return state.sort ? panel.scene.figures[state.sort]?.[panel.strand.stream] : undefined;
}

/** The head that is enlarged, with all its numbers, or what they are reckoned from; null where the panel has no such head. */
async function opened(panel, { layer, head }) {
  if (!panel.headsOf(layer).includes(head)) return null;
  const grid = await panel.picture(layer, head);
  const source = grid.coarse ? await panel.source(layer, head) : null;
  return { layer, head, grid, source, strongest: strongest(grid, panel.strand.causal) };
}

/** The heads to show, in their order: [{ layer, head, figure }]. */
function inOrder(panel, state) {
  const layers = panel.layers.filter((layer) => !state.layers || state.layers.includes(layer));
  const heads = (layer) => panel.headsOf(layer).filter((head) => !state.heads || state.heads.includes(head));
  const figures = figuresOf(panel, state);
  const order = layers.flatMap((layer) => heads(layer).map((head) => ({ layer, head, figure: figures?.[layer]?.[head] ?? null })))
    .filter(({ layer, head }) => !state.words || panel.strand.joint || saidOf(panel, layer, head, state.words));
  return figures ? order.sort((a, b) => (b.figure ?? -Infinity) - (a.figure ?? -Infinity)) : order;
}

/** Whether the portrait of a head has all of some words. */
function saidOf({ scene, strand }, layer, head, words) {
  const told = scene.portraits?.[strand.stream]?.[paperLabel(layer, head)]?.toLowerCase() ?? "";
  return words.toLowerCase().split(/\s+/).every((word) => told.includes(word));
}

/**
 * Places for all heads in a room: the table of layers and heads is cut into columns of as many layers each, so that the
 * pictures are as large as they can be. They fill the width, and the height where they need not be flat for it.
 */
function arranged({ order, captioned, panel }, width, height) {
  if (captioned) return wrapped(order, width, height);
  const left = panel.strand.blocks ? LEFT_WITH_BLOCKS : LEFT;
  const heads = [...new Set(order.map(({ head }) => head))].sort((a, b) => a - b);
  const layers = [...new Set(order.map(({ layer }) => layer))];
  const tried = Array.from({ length: Math.max(1, layers.length) }, (_, at) => folded(heads.length, layers.length, at + 1, left, width, height));
  const best = tried.filter((each, at) => at === 0 || each.strip * each.strips <= width).reduce((most, each) => (each.worth > most.worth ? each : most));
  const { across, down, strip } = best;
  const places = order.map((each) => {
    const at = layers.indexOf(each.layer);
    const strips = Math.floor(at / best.rows);
    return { ...each, x: strips * strip + left + heads.indexOf(each.head) * (across + GAP), y: TOP + (at % best.rows) * (down + GAP) };
  });
  const strips = Math.max(1, Math.ceil(layers.length / best.rows));
  return { places, across, down, left, strip, strips, columns: heads.length, width: strips * strip, height: TOP + best.rows * (down + GAP) };
}

/** Sizes of pictures where layers stand in so many columns, and what that is worth: the smaller side, less what must be scrolled for. */
function folded(heads, layers, strips, left, width, height) {
  const rows = Math.max(1, Math.ceil(layers / strips));
  const across = Math.max(SMALLEST, Math.floor((width / strips - left) / Math.max(1, heads) - GAP));
  const fitting = Math.floor((height - TOP) / rows) - GAP;
  const down = Math.max(Math.min(READABLE, across), Math.ceil(across / WIDEST), Math.min(Math.floor(TALLER * across), fitting));
  const worth = Math.min(across, down) * Math.min(1, height / (TOP + rows * (down + GAP)));
  return { rows, across, down, worth, strips, strip: left + heads * (across + GAP) };
}

/** The place to the left or right of one, or above or below it: in a table of layers and heads never in another row, and where a row is
 * shorter its nearest head; where there is none, the place itself. */
function beside({ places, columns, data }, at, across, down) {
  if (data.captioned) return places[at + across + down * columns] ?? places[at];
  const here = places[at];
  if (across) return places[at + across]?.layer === here.layer ? places[at + across] : here;
  const layers = [...new Set(places.map(({ layer }) => layer))];
  const row = places.filter(({ layer }) => layer === layers[layers.indexOf(here.layer) + down]);
  const apart = (place) => Math.abs(place.head - here.head);
  return row.length ? row.reduce((best, place) => (apart(place) < apart(best) ? place : best)) : here;
}

function wrapped(order, width, height) {
  const sizes = Array.from({ length: Math.max(1, order.length) }, (_, at) => {
    const columns = at + 1;
    const rows = Math.ceil(order.length / columns);
    const across = Math.floor((width - GAP) / columns) - 2 * GAP;
    const fitting = Math.floor((height - 4) / Math.max(1, rows)) - GAP - CAPTION;
    const down = Math.max(Math.min(READABLE, across), Math.ceil(across / WIDEST), Math.min(Math.floor(TALLER * across), fitting));
    return { columns, rows, across, down, worth: Math.min(across, down) * Math.min(1, height / (rows * (down + GAP + CAPTION))) };
  });
  const usable = sizes.filter(({ across }) => across >= CAPTIONED);
  const { columns, rows, across, down } = (usable.length ? usable : sizes.slice(0, 1)).reduce((most, each) => (each.worth > most.worth ? each : most));
  const places = order.map((each, at) => ({
    ...each, x: GAP + (at % columns) * (across + 2 * GAP), y: CAPTION + Math.floor(at / columns) * (down + GAP + CAPTION),
  }));
  return { places, across, down, columns, strips: 1, width: GAP + columns * (across + 2 * GAP), height: rows * (down + GAP + CAPTION) + 4 };
}

/** Sizes of the enlarged head: its labels (where rows are tall enough for them), its cells, and all of it. */
function enlarge({ open, panel }, width, height, surface, colours) {
  const { rows, columns } = open.grid;
  const title = 30;
  const measuring = `600 13px ${colours.sans}`;
  const widest = (labels) =>
    labels.slice(0, 200).reduce((most, label) => Math.max(most, surface.measure(labelText(label), measuring)), 20) + 10;
  const sides = [widest(panel.queries), title + widest(panel.keys)];
  const room = ([left, top]) => [(width - left - 8) / columns, (Math.max(height, 0.8 * width) - top - 8) / rows];
  const labelled = Math.min(...room(sides)) >= LABELLED;
  const [left, top] = labelled ? sides : [8, title];
  const [cellWidth, fitting] = room([left, top]);
  const square = open.grid.coarse ? Infinity : 1.2 * cellWidth; // a picture of some rows of a long text may be as high as there is room
  const cellHeight = Math.min(Math.max(fitting, labelled ? LABELLED : 40 / rows), square);
  return {
    left, top, labelled, cellWidth, cellHeight, font: `${Math.max(11, Math.min(13, Math.floor(cellHeight * 0.8)))}px ${colours.sans}`,
    width: left + columns * cellWidth + 8, height: top + rows * cellHeight + 8,
  };
}

function drawAxes(surface, { data, places, across, down, left, strip, strips }, current, colours) {
  const { strand } = data.panel;
  const font = `11px ${colours.sans}`;
  if (!places.length) return;
  const label = (text, x, y, align, marked) =>
    surface.text(text, x, y, { align, font: marked ? `600 ${font}` : font, fill: marked ? colours.ink : colours.soft });
  const first = new Map();
  for (const { head, x } of places) if (!first.has(head)) first.set(head, x % strip);
  const every = Math.max(1, Math.ceil(18 / (across + GAP))); // of numbers that have no room side by side
  for (let at = 0; at < strips; at += 1) {
    surface.text(strand.blocks ? "layer (block)" : "layer", at * strip, TOP - 10, { font, fill: colours.faint });
    if (across >= 30) surface.text("head", at * strip + left, 8, { font, fill: colours.faint });
    [...first].forEach(([head, x], place) => {
      const marked = head === current.head;
      if (place % every === 0) label(String(head + 1), at * strip + x + across / 2, TOP - 10, "center", marked);
    });
    drawBrackets(surface, strand, [...first], at * strip, across, colours);
  }
  const rows = new Map(places.map(({ layer, x, y }) => [layer, { x: Math.floor(x / strip) * strip, y }]));
  rows.forEach(({ x, y }, layer) => {
    const block = blockOf(strand, layer);
    label(block === null ? String(layer + 1) : `${layer + 1} (${block})`, x + left - 10, y + down / 2, "right", layer === current.layer);
  });
}

/** Brackets over heads whose queries meet the same keys. */
function drawBrackets(surface, strand, columns, from, across, colours) {
  const group = strand.key_vectors ? strand.heads.length / strand.key_vectors.heads : 1;
  if (group < 2) return;
  const groups = new Map();
  for (const [head, x] of columns) {
    const of = Math.floor(strand.heads.indexOf(head) / group);
    groups.set(of, [...(groups.get(of) ?? []), x]);
  }
  for (const xs of groups.values()) {
    const [start, stop] = [from + xs[0] + 1, from + xs.at(-1) + across - 1];
    surface.rect(start, 20, stop - start, 1.5, colours.soft);
    surface.rect(start, 20, 1.5, 5, colours.soft);
    surface.rect(stop - 1.5, 20, 1.5, 5, colours.soft);
  }
}

/** A tick beside a small picture, at the row of a query. */
function drawTick(surface, panel, query, x, y, down, colours) {
  const tall = down / panel.queries.length;
  surface.rect(x - 3.5, y + query * tall + Math.min(0, tall / 2 - 1), 2.5, Math.max(2, tall), colours.accent);
}

function drawEnlarged(surface, { data, enlarged, over }, focus, colours) {
  const { panel, open } = data;
  const { x, y, left, top, cellWidth, cellHeight, labelled, font } = enlarged;
  const { rows, columns } = open.grid;
  const [width, height] = [columns * cellWidth, rows * cellHeight];
  if (over) {
    surface.rect(x, y, enlarged.width, enlarged.height, colours.raised);
    surface.frame(x, y, enlarged.width, enlarged.height, colours.accent, 1.5);
  }
  const title = { font: `600 14px ${colours.sans}`, fill: colours.ink };
  surface.text(mapName(panel.strand, open.layer, open.head), x + 8, y + 14, title);
  const close = closing(enlarged);
  const cross = { font: `18px ${colours.sans}`, align: "center", fill: focus.close ? colours.accent : colours.soft };
  surface.text("×", close.x + close.width / 2, close.y + close.height / 2, cross);
  enlarged.picture ??= picture(open.grid, dots(height), dots(width), panel.signed);
  const canvas = painted(enlarged.picture, width, height, panel.signed, colours);
  surface.picture(canvas, 0, 0, canvas.width, canvas.height, x + left, y + top, width, height);
  surface.frame(x + left - 0.5, y + top - 0.5, width + 1, height + 1, colours.line);
  const word = (label, at, down, marked, options) => {
    const fill = marked ? colours.ink : label.special ? colours.faint : colours.soft;
    surface.text(labelText(label), at, down, { ...options, fill, font: marked ? `600 ${font}` : font });
  };
  const [tall, wide] = [cellHeight / (open.grid.coarse?.[0] ?? 1), cellWidth / (open.grid.coarse?.[1] ?? 1)]; // of a word, where a dot stands for several
  const across = (column) => x + left + column * wide;
  const down = (row) => y + top + row * tall;
  if (labelled) {
    panel.queries.forEach((label, row) => word(label, x + left - 6, down(row + 0.5), row === focus.query, { align: "right" }));
    panel.keys.forEach((label, key) => word(label, across(key + 0.5), y + top - 6, key === focus.key, { turn: -Math.PI / 2 }));
  }
  if (focus.query !== null) surface.frame(x + left, down(focus.query), width, Math.max(1, tall), colours.accent);
  if (focus.key !== null) surface.frame(across(focus.key), y + top, Math.max(1, wide), height, colours.accent);
}

/** Where the cross stands that closes the enlarged head. */
function closing({ x, y, width }) {
  return { x: x + Math.max(width - 30, 120), y: y + 2, width: 24, height: 24 };
}

function describe({ panel, work, open, order, sorted }, state, { layer, head }) {
  const label = mapName(panel.strand, layer, head);
  const made = open && isAt(open, { layer, head }) ? open : work.made.get(nameOf({ layer, head }));
  if (!made) return `${label}: not unpacked yet`;
  const found = made.strongest;
  if (!found) return label;
  const { query, key, value, exact } = found;
  const link = `${panel.queries[query].short} → ${panel.keys[key].short} ${written(value, exact)}`;
  const place = sorted ? order.find((each) => isAt(each, { layer, head })) : null;
  const figure = place ? `; ${state.sort} ${figureText(place.figure)}` : "";
  return `${label}: ${panel.signed ? "largest difference" : "strongest link"} ${link}${figure}`;
}

function figureText(figure, write = written) {
  return figure === null || figure < NO_FIGURE ? "–" : write(figure);
}

function labelText(label) {
  return shortened(label.text, 16);
}

function isAt(place, { layer, head }) {
  return place.layer === layer && place.head === head;
}

/** Scroll the page so that a place of the first picture of a viewer is seen. */
function bringIntoSight(root, place, down) {
  const from = root.querySelector(".attlas-stage canvas").getBoundingClientRect().top + place.y;
  const past = from + down + GAP - innerHeight;
  if (from < TOP || past > 0) scrollBy(0, from < TOP ? from - TOP : past);
}
