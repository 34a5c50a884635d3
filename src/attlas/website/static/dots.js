// One figure of one head among the others: a strip from the lowest to the highest value of all heads of the model.

import { isKnown } from "./kinds.js";

export const STRIP = 34; // pixels high

/**
 * What a strip shows: { values, mates, own, low, high, chance, twin }, where `values` are all heads', `mates` the places
 * of the head's layer.
 */
export function scaleOf({ values, own, low, high, chance, twin }) {
  let least = Infinity, most = -Infinity;
  const seen = (value) => { if (isKnown(value)) { least = Math.min(least, value); most = Math.max(most, value); } };
  for (const value of values) seen(value);
  for (const value of [own, low, high, chance, twin]) seen(value);
  return most > least ? [least, most] : [least - 0.5, least + 0.5];
}

/** Draw a strip at a place of a surface. */
export function drawStrip(surface, strip, x, y, width, colours) {
  const [least, most] = scaleOf(strip);
  const at = (value) => x + 6 + ((value - least) / (most - least)) * (width - 12);
  const middle = y + STRIP / 2;
  surface.rect(x, middle - 0.5, width, 1, colours.line);
  const places = new Set();
  for (const value of strip.values) if (isKnown(value)) places.add(Math.round(2 * at(value)));
  for (const place of places) surface.rect(place / 2 - 0.5, middle - 5, 1, 10, colours.soft, 0.45);
  for (const mate of strip.mates) if (isKnown(strip.values[mate])) surface.rect(at(strip.values[mate]) - 1, middle - 9, 2, 18, colours.accent, 0.75);
  if (isKnown(strip.chance)) for (let dash = y + 1; dash < y + STRIP - 2; dash += 5) surface.rect(at(strip.chance) - 0.75, dash, 1.5, 3, colours.negative);
  if (isKnown(strip.twin)) surface.frame(at(strip.twin) - 3.5, middle - 3.5, 7, 7, colours.ink, 1.5);
  if (isKnown(strip.low) && isKnown(strip.high)) surface.rect(at(strip.low), middle - 2, Math.max(2, at(strip.high) - at(strip.low)), 4, colours.ink);
  if (isKnown(strip.own)) {
    surface.disc(at(strip.own), middle, 6.5, colours.paper);
    surface.disc(at(strip.own), middle, 5, colours.ink);
  }
}
