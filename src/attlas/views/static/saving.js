// Saving what is shown as a figure: all panels, titles included, drawn once more on SVG or on a sharper canvas, in dark ink
// on a white or transparent ground, as wide as on the screen or as a column of print. Below them stand the caption and,
// where it is not folded, the card. PDF is made of the SVG by whoever is behind the page.

import { canvasSurface, svgSurface } from "./surface.js";
import { drawLines, linesHeight } from "./card.js";
import { download } from "./download.js";

const GAP = 24;
const TITLE = 30;
const NARROWEST = 300; // pixels of a picture with lines below it
const MILLIMETRE = 96 / 25.4; // in pixels
const DENSITY = 3; // dots of a PNG to a pixel

/** The widths that a figure can have, by name: what is said of each, and millimetres (null: as on the screen). */
export const WIDTHS = {
  screen: ["as on the screen", null], column: ["one column (85 mm)", 85], page: ["two columns (170 mm)", 170],
};

/** The room for drawing a figure of a width, in pixels; null for that of the screen. */
export function roomFor(width) {
  const [, millimetres] = WIDTHS[width];
  return millimetres === null ? null : Math.round(millimetres * MILLIMETRE) - 2 * GAP / 3;
}

/**
 * Save figures ({ geometry, title, paint }) as a file of the kind svg, png or pdf. `ground` is white or transparent, figures
 * are `stacked` or stand side by side, `linesFor(width)` are written below them, and `toPdf(svg)` makes PDF.
 */
export async function save(figures, kind, { name, ground, stacked, colours, linesFor, toPdf }) {
  const edge = stacked ? GAP / 3 : GAP;
  const sum = (of) => figures.reduce((total, { geometry }) => total + of(geometry) + GAP, 0) - GAP;
  const most = (of) => figures.reduce((found, { geometry }) => Math.max(found, of(geometry)), 0);
  const across = 2 * edge + (stacked ? most(({ width }) => width) : sum(({ width }) => width));
  const down = stacked ? sum(({ height }) => height + TITLE) : TITLE + most(({ height }) => height);
  const lines = linesFor(Math.max(across, NARROWEST) - 2 * edge);
  const width = lines.length ? Math.max(across, NARROWEST) : across;
  const height = down + linesHeight(lines) + GAP;
  const compose = (surface) => {
    if (ground === "white") surface.rect(0, 0, width, height, colours.paper);
    let [x, y] = [edge, 0];
    for (const figure of figures) {
      surface.text(figure.title, x, y + TITLE / 2 + 2, { font: `600 13px ${colours.sans}`, fill: colours.ink });
      surface.moved(x, y + TITLE, () => figure.paint(surface));
      if (stacked) y += figure.geometry.height + TITLE + GAP;
      else x += figure.geometry.width + GAP;
    }
    drawLines(surface, lines, edge, down, colours);
    return surface;
  };
  if (kind === "png") {
    const canvas = document.createElement("canvas");
    compose(canvasSurface(canvas, width, height, DENSITY));
    const blob = await new Promise((done) => { canvas.toBlob(done, "image/png"); });
    return download(blob, `${name}.png`);
  }
  const svg = compose(svgSurface(width, height)).finish();
  if (kind === "pdf") return download(new Blob([await toPdf(svg)], { type: "application/pdf" }), `${name}.pdf`);
  return download(new Blob([svg], { type: "image/svg+xml" }), `${name}.svg`);
}
