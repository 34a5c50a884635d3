// Where the parts of the matrix view are, and how they look: the map itself with words or positions on both sides, a small
// map of the whole with the part that is shown framed, and the meaning of the colours.

import { briefly } from "./numbers.js";
import { legible, shade } from "./palette.js";
import { boxOf, isWhole } from "./box.js";
import { fitted } from "./surface.js";
import { pixelsOf, tilesOf, levelFor, drawPart } from "./pyramid.js";

const SIDE = 132; // width of what stands beside the map
const WORDS = 13; // pixels of a cell from which on every word is written
const NUMBERS = 38; // and from which on the values are, where it is LINE high
const LINE = 17;
const SCROLLED = 80; // words a side up to which the map may be higher than the window
const FLATTEST = 3; // times its height that the map may be wide
const NARROW = 480; // pixels below which words beside the map get less room
const MARGIN = 112; // room for words, at most
const TURN = Math.PI / 3; // of the words above the map

/** Places of everything for a part of the matrix. */
export function heatmapLayout(data, state, room, surface, colours) {
  const { panel } = data;
  const rows = panel.queries.length;
  const columns = panel.keys.length;
  const narrow = room.width < NARROW;
  data.margins ??= [widest(panel.queries, surface, colours), widest(panel.keys, surface, colours)];
  const margins = data.margins.map((margin) => Math.min(margin, narrow ? 76 : MARGIN));
  const left = margins[0] + 14;
  const aside = room.width > 620;
  const box = boxOf(state);
  const across = (room.width - left - (aside ? SIDE + 26 : 4)) / columns;
  const tight = across < margins[1] + 8; // words stand aslant where there is no room for them side by side
  const turned = tight && across < (margins[1] + 8) * (box[2] - box[0]);
  const overhang = tight ? Math.round(margins[1] * Math.cos(TURN)) + 4 : 4;
  const width = Math.max(120, room.width - left - (aside ? Math.max(SIDE + 26, overhang) : overhang));
  const { words } = stepOf(width / columns / (box[2] - box[0]));
  const top = Math.max(30, tight && words ? Math.round(margins[1] * Math.sin(TURN)) + 18 : 0); // positions need little room
  const roomy = rows <= SCROLLED ? (WORDS + 1) * rows : 0; // a page may be scrolled to see every word
  const free = Math.max(160, room.height - top - (aside ? 6 : 130), narrow ? 0.8 * width : 0);
  const map = { x: left, y: top, width: Math.round(width), height: Math.round(state.tall ? free : Math.max(free, roomy, width / FLATTEST)) };
  const scale = Math.min(120 / columns, 120 / rows);
  const x = aside ? map.x + map.width + 26 : 4;
  const y = aside ? map.y : map.y + map.height + 12;
  const minimap = { x, y: aside ? y + 84 : y, width: Math.max(8, Math.round(columns * scale)), height: Math.max(8, Math.round(rows * scale)) };
  const legend = { x: aside ? x : x + 146, y };
  return {
    data, margins, turned: turned && words, map, minimap, legend, box, rows, columns,
    cellWidth: map.width / columns / (box[2] - box[0]),
    cellHeight: map.height / rows / (box[3] - box[1]),
    width: Math.max(map.x + map.width + (aside ? 26 + SIDE : overhang), legend.x + SIDE),
    height: Math.max(map.y + map.height + 6, legend.y + 66, minimap.y + minimap.height + 6),
  };
}

/** Draw it all. */
export function drawHeatmap(surface, geometry, state, focus, colours) {
  const { data, map, box, rows, columns } = geometry;
  const { pyramid } = data;
  surface.rect(map.x, map.y, map.width, map.height, data.limits ? masked(colours) : colours.paper);
  const { rows: down, columns: across } = data.grid ?? { rows, columns }; // a coarse picture has fewer than there are words
  const at = [box[0] * across, box[1] * down, box[2] * across, box[3] * down];
  if (pyramid) {
    const tiles = tilesIn(data, colours);
    const density = surface.density ?? 1;
    const level = levelFor(pyramid, Math.min((geometry.cellWidth * columns) / across, (geometry.cellHeight * rows) / down) * density);
    const whole = drawPart(surface, tiles, pyramid, level, at, [map.x, map.y, map.width, map.height], surface.still);
    if (!whole) data.again();
    if (!data.grid.coarse) surface.clipped(map.x, map.y, map.width, map.height, () => drawCells(surface, geometry, at, colours));
    drawMinimap(surface, geometry, tiles, density, colours);
    drawLegend(surface, geometry, colours);
  } else {
    const middle = [map.x + map.width / 2, map.y + map.height / 2];
    surface.text(data.problem ?? data.progress, ...middle, { font: `13px ${colours.sans}`, align: "center", fill: colours.soft });
  }
  surface.frame(map.x - 0.5, map.y - 0.5, map.width + 1, map.height + 1, colours.line);
  if (rows && columns) {
    surface.clipped(map.x - 1, map.y - 1, map.width + 2, map.height + 2, () => drawCross(surface, geometry, focus, colours));
    drawLabels(surface, geometry, focus, colours);
  }
}

/** The place of a row's or a column's beginning on the surface. */
export function placeOf({ map, box, rows, columns }, row, column) {
  return {
    x: map.x + ((column / columns - box[0]) / (box[2] - box[0])) * map.width,
    y: map.y + ((row / rows - box[1]) / (box[3] - box[1])) * map.height,
  };
}

function tilesIn(data, colours) {
  const { pyramid, panel } = data;
  if (pyramid.tiles?.name !== colours.name) {
    const pixels = pixelsOf(panel.signed ? colours.diverging : colours.sequential);
    pyramid.tiles = { name: colours.name, of: tilesOf(pyramid, pixels) };
  }
  return pyramid.tiles.of;
}

function masked(colours) {
  return colours.dark ? "#2b2e34" : "#e9e7e1";
}

/** Lines between cells that are large, and values in cells that are larger. */
function drawCells(surface, geometry, [left, top, right, bottom], colours) {
  const { data, cellWidth, cellHeight, map } = geometry;
  if (Math.min(cellWidth, cellHeight) < 10) return;
  const { grid, limits, panel, pyramid } = data;
  const first = placeOf(geometry, Math.floor(top), Math.floor(left));
  for (let x = first.x; x <= map.x + map.width; x += cellWidth) surface.rect(x - 0.5, map.y, 1, map.height, colours.paper, 0.7);
  for (let y = first.y; y <= map.y + map.height; y += cellHeight) surface.rect(map.x, y - 0.5, map.width, 1, colours.paper, 0.7);
  if (cellWidth < NUMBERS || cellHeight < LINE) return;
  const font = `${Math.min(13, Math.max(11, Math.floor(Math.min(cellWidth * 0.3, cellHeight * 0.7))))}px ${colours.sans}`;
  const ramp = panel.signed ? colours.diverging : colours.sequential;
  for (let row = Math.floor(top); row < Math.min(bottom, grid.rows); row += 1) {
    for (let column = Math.floor(left); column < Math.min(right, limits ? limits[row] : grid.columns); column += 1) {
      const value = grid.data[row * grid.columns + column];
      if (Math.abs(value) < 0.0005) continue;
      const { x, y } = placeOf(geometry, row, column);
      const share = Math.sign(value) * Math.sqrt(Math.min(1, Math.abs(value) / pyramid.top));
      const fill = legible(ramp, panel.signed ? (share + 1) / 2 : share);
      surface.text(briefly(value), x + cellWidth / 2, y + cellHeight / 2, { font, align: "center", fill });
    }
  }
}

/** The row and column that are pointed at or kept, and their cell. */
function drawCross(surface, geometry, { query, key }, colours) {
  const { map, cellWidth, cellHeight } = geometry;
  const { x, y } = placeOf(geometry, query ?? 0, key ?? 0);
  const across = Math.max(1, cellHeight);
  const down = Math.max(1, cellWidth);
  const line = (...sides) => {
    if (across < 4) surface.rect(...sides, colours.accent, 0.75);
    else surface.frame(...sides, colours.accent, 1);
  };
  if (query !== null) line(map.x - 1, y, map.width + 2, across);
  if (key !== null) line(x, map.y - 1, down, map.height + 2);
  if (query !== null && key !== null) surface.frame(x - 1, y - 1, Math.max(3, down) + 2, Math.max(3, across) + 2, colours.ink, 1.5);
}

function drawLabels(surface, geometry, focus, colours) {
  const { data, map, box, rows, columns, cellWidth, cellHeight } = geometry;
  const { panel } = data;
  const { margins, turned } = geometry;
  const size = (cell) => Math.min(13, Math.max(11, Math.floor(cell * 0.85)));

  const word = (label, font, room, active) => ({
    text: fitted(label.short, surface, active ? `600 ${font}` : font, room), font: active ? `600 ${font}` : font,
    fill: active ? colours.accent : label.special ? colours.soft : colours.ink,
  });
  const writeRow = (row, words, active) => {
    const y = placeOf(geometry, row + 0.5, 0).y;
    if (y < map.y - 1 || y > map.y + map.height + 1) return;
    if (!words) {
      surface.text(position(panel.queries[row].place ?? row), map.x - 7, y, { font: `11px ${colours.sans}`, align: "right", fill: colours.soft });
      return;
    }
    const { text, ...style } = word(panel.queries[row], `${size(cellHeight)}px ${colours.sans}`, margins[0], active);
    surface.text(text, map.x - 7, y, { ...style, align: "right" });
  };
  const writeColumn = (column, words, active) => {
    const { x } = placeOf(geometry, 0, column + 0.5);
    if (x < map.x - 1 || x > map.x + map.width + 1) return;
    if (!words) {
      surface.text(position(column), x, map.y - 10, { font: `11px ${colours.sans}`, align: "center", fill: colours.soft });
      return;
    }
    const { text, ...style } = word(panel.keys[column], `${size(cellWidth)}px ${colours.sans}`, margins[1], active);
    if (turned) surface.text(text, x + 1, map.y - 7, { ...style, turn: -TURN });
    else {
      const half = surface.measure(text, style.font) / 2;
      surface.text(text, Math.min(x, surface.width - half - 2), map.y - 11, { ...style, align: "center" });
    }
  };

  const side = (labels, from, to, cell, active, write, apart = 30) => {
    const { step, words } = stepOf(cell);
    const first = words ? Math.ceil(Math.max(0, from - 0.5) / step) * step : Math.ceil((Math.floor(from) + 1) / step) * step - 1;
    for (let row = first; row < Math.min(labels.length, to + 0.5); row += step) {
      if (active === null || Math.abs(row - active) * cell >= (words ? WORDS : apart) || row === active) write(row, words, words && row === active);
    }
    if (active !== null && !(words && active % step === 0)) write(active, true, true);
  };
  side(panel.queries, box[1] * rows, box[3] * rows, cellHeight, focus.query, writeRow);
  const beside = focus.key === null ? 0 : surface.measure(panel.keys[focus.key].short, `600 13px ${colours.sans}`) / 2 + 30; // of a word among positions
  side(panel.keys, box[0] * columns, box[2] * columns, cellWidth, focus.key, writeColumn, beside);
  surface.text("query ↓", 2, map.y - 24, { font: `11px ${colours.sans}`, fill: colours.soft });
  surface.text("key →", 2, map.y - 10, { font: `11px ${colours.sans}`, fill: colours.soft });
}

/** How many rows lie between two labels, and whether those are words or positions. */
function stepOf(cell) {
  const step = Math.max(1, Math.ceil(WORDS / cell));
  if (step <= 3) return { step, words: true };
  const least = 48 / cell;
  const power = 10 ** Math.floor(Math.log10(least));
  return { step: power * [1, 2, 5, 10].find((times) => times * power >= least), words: false };
}

function position(row) {
  return (row + 1).toLocaleString("en");
}

function drawMinimap(surface, geometry, tiles, density, colours) {
  const { data, minimap, box, rows, columns } = geometry;
  if (isWhole(box) && Math.max(rows, columns) <= 24) return;
  const { x, y, width, height } = minimap;
  surface.rect(x, y, width, height, data.limits ? masked(colours) : colours.paper);
  const level = levelFor(data.pyramid, (width / data.grid.columns) * density);
  drawPart(surface, tiles, data.pyramid, level, [0, 0, data.grid.columns, data.grid.rows], [x, y, width, height], true);
  surface.frame(x - 0.5, y - 0.5, width + 1, height + 1, colours.line);
  const [left, top] = [x + box[0] * width, y + box[1] * height];
  const [across, down] = [Math.max(4, (box[2] - box[0]) * width), Math.max(4, (box[3] - box[1]) * height)];
  surface.frame(left, top, across, down, colours.paper, 4);
  surface.frame(left, top, across, down, colours.negative, 2);
}

/** What the colours mean: from nothing to the top, over the square root. */
function drawLegend(surface, geometry, colours) {
  const { data, legend } = geometry;
  const { panel, pyramid } = data;
  const { x, y } = legend;
  const [steps, width] = [60, 120];
  const ramp = panel.signed ? colours.diverging : colours.sequential;
  for (let step = 0; step < steps; step += 1) {
    surface.rect(x + (step * width) / steps, y, width / steps + 0.4, 10, shade(ramp, step / (steps - 1)));
  }
  surface.frame(x - 0.5, y - 0.5, width + 1, 11, colours.line);
  const font = `11px ${colours.sans}`;
  const more = pyramid.largest > pyramid.top * 1.0001 ? "≥" : "";
  const write = (text, at, align) => surface.text(text, x + at, y + 21, { font, align, fill: colours.soft });
  write(panel.signed ? (more ? "≤" : "") + briefly(-pyramid.top) : "0", 0, "left");
  const [middle, last] = [panel.signed ? "0" : briefly(pyramid.top / 4), more + briefly(pyramid.top)];
  if (surface.measure(middle, font) / 2 + surface.measure(last, font) < width / 2 - 4) write(middle, width / 2, "center");
  write(last, width, "right");
  surface.text("square-root scale", x, y + 37, { font, fill: colours.faint });
  if (!data.limits) return;
  surface.rect(x, y + 50, 14, 10, masked(colours));
  surface.frame(x - 0.5, y + 49.5, 15, 11, colours.line);
  surface.text("not read yet", x + 20, y + 55.5, { font, fill: colours.soft });
}

/** The width that words need beside the map; of many words a sample is measured. */
function widest(labels, surface, colours) {
  const every = Math.max(1, Math.floor(labels.length / 200));
  let most = 36;
  for (let row = 0; row < labels.length; row += every) most = Math.max(most, surface.measure(labels[row].short, `13px ${colours.sans}`));
  return Math.ceil(Math.min(MARGIN, most));
}
