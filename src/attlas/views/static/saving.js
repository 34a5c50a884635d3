// Saving what is shown: all panels side by side, titles included, and the card below them where it is not folded, drawn
// once more on SVG or on a sharper canvas.

import { canvasSurface, svgSurface } from "./surface.js";
import { drawLines, linesHeight } from "./card.js";
import { download } from "./download.js";

const GAP = 24;
const TITLE = 30;
const NARROWEST = 560; // pixels of a picture with lines below it

/** Save figures ({ geometry, title, paint }) as a file of the kind svg or png; `linesFor(width)` are written below them. */
export async function save(figures, kind, name, colours, linesFor) {
  const bottom = figures.reduce((most, figure) => Math.max(most, figure.geometry.height), 0) + TITLE;
  const across = figures.reduce((sum, figure) => sum + figure.geometry.width + GAP, GAP);
  const lines = linesFor(Math.max(across, NARROWEST) - 2 * GAP);
  const width = lines.length ? Math.max(across, NARROWEST) : across;
  const height = bottom + linesHeight(lines) + GAP;
  if (kind === "svg") {
    const surface = svgSurface(width, height);
    compose(surface, figures, colours);
    drawLines(surface, lines, GAP, bottom, colours);
    return download(new Blob([surface.finish()], { type: "image/svg+xml" }), `${name}.svg`);
  }
  const canvas = document.createElement("canvas");
  const surface = canvasSurface(canvas, width, height, 2);
  compose(surface, figures, colours);
  drawLines(surface, lines, GAP, bottom, colours);
  const blob = await new Promise((done) => { canvas.toBlob(done, "image/png"); });
  return download(blob, `${name}.png`);
}

function compose(surface, figures, colours) {
  surface.rect(0, 0, surface.width, surface.height, colours.paper);
  let x = GAP;
  for (const figure of figures) {
    surface.text(figure.title, x, TITLE / 2 + 2, { font: `600 13px ${colours.sans}`, fill: colours.ink });
    surface.moved(x, TITLE, () => figure.paint(surface));
    x += figure.geometry.width + GAP;
  }
}
