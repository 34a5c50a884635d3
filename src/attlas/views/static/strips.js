// What the neuron view draws of neurons: strips of colour, one cell for each neuron; above them contributions as bars; and
// numbers with bars beside them. One scale for each kind of number, and the picture says which.

import { written } from "./numbers.js";
import { shade } from "./palette.js";

export const LISTED = 8; // neurons named above the numbers
export const CHART = { top: 22, step: 14 }; // where they stand

/** A number that always shows its sign. */
export function signed(value, exact = true) {
  return written(value, exact).replace(/^(≈?)(?=[\d.])/, "$1+");
}

/** What has full colour: the largest size there is of each kind. */
export function scalesOf({ query, keys, visible }, shown) {
  const scales = { q: 0, k: 0, product: 0 };
  query.forEach((q) => { scales.q = Math.max(scales.q, Math.abs(q)); });
  shown.filter((key) => visible[key]).forEach((key) => query.forEach((q, n) => {
    scales.k = Math.max(scales.k, Math.abs(keys[key][n]));
    scales.product = Math.max(scales.product, Math.abs(q * keys[key][n]));
  }));
  return scales;
}

/** All strips as one picture: the row of q, then a row of k for each key, then a row of q × k for each key. */
function pictureOf({ data, keys, order, scales }, colours) {
  const { query, keys: vectors, visible } = data.reckoned;
  const canvas = document.createElement("canvas");
  canvas.width = order.length;
  canvas.height = 1 + 2 * keys.length;
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const put = (row, column, value, scale) => {
    const from = 3 * Math.round(255 * (0.5 + 0.5 * Math.max(-1, Math.min(1, value / (scale || 1)))));
    const to = 4 * (row * order.length + column);
    for (let c = 0; c < 3; c += 1) image.data[to + c] = colours.diverging[from + c];
    image.data[to + 3] = 255;
  };
  order.forEach((n, column) => put(0, column, query[n], scales.q));
  keys.forEach((key, place) => {
    if (!visible[key]) return;
    order.forEach((n, column) => {
      put(1 + place, column, vectors[key][n], scales.k);
      put(1 + keys.length + place, column, query[n] * vectors[key][n], scales.product);
    });
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

/** The strips of q, k and q × k, and a frame around the neuron that is marked. */
export function drawStrips(surface, geometry, neuron, colours) {
  const { keys, order, cell, stripsAt, top, step, keysAt, pictures, data } = geometry;
  if (!pictures.has(colours.name)) pictures.set(colours.name, pictureOf(geometry, colours));
  const picture = pictures.get(colours.name);
  const width = cell * order.length;
  const small = `11px ${colours.sans}`;
  const qAt = CHART.top + CHART.step * LISTED - 16;
  if (stripsAt[0] !== null) {
    surface.text("q", keysAt, qAt + 8, { font: `600 ${small}`, align: "right", fill: colours.ink });
    surface.picture(picture, 0, 0, order.length, 1, stripsAt[0], qAt, width, 16);
    surface.frame(stripsAt[0] - 0.5, qAt - 0.5, width + 1, 17, colours.line);
  }
  const seen = keys.findLastIndex((key) => data.reckoned.visible[key]) + 1;
  const between = step > 14 ? 4 : 2;
  ["k", "q × k"].forEach((name, strip) => {
    if (stripsAt[strip] === null) return;
    surface.text(name, stripsAt[strip], top - 14, { font: small, fill: colours.soft });
    surface.picture(picture, 0, 1 + strip * keys.length, order.length, keys.length, stripsAt[strip], top, width, step * keys.length);
    for (let place = 0; place <= keys.length; place += 1) {
      surface.rect(stripsAt[strip] - 1, top + step * place - between / 2, width + 2, between, colours.paper);
    }
    const column = order.indexOf(neuron);
    if (column >= 0) surface.frame(stripsAt[strip] + column * cell - 0.5, top, cell + 1, step * seen, colours.ink);
    if (column >= 0 && strip === 0) surface.frame(stripsAt[0] + column * cell - 0.5, qAt - 2, cell + 1, 20, colours.ink);
  });
}

/** Above the strips: the scales of the colours, the order, all contributions as bars, and the largest by name. */
export function drawChart(surface, geometry, state, focus, colours) {
  const { data, order, cell, stripsAt, keysAt, numbersAt, scales, compact, narrow, width } = geometry;
  const { contributions, order: ranked, exactContributions, total } = data.reckoned;
  const small = `11px ${colours.sans}`;
  const strong = { font: `600 12px ${colours.sans}`, fill: colours.ink };
  const heading = `⇅ ${compact ? "" : "neurons "}by ${state.order === "number" ? "number" : "contribution"}`;
  surface.text(heading, stripsAt[0] ?? stripsAt[1], 10, { ...strong, fill: colours.accent });

  const legend = { font: small, align: "right", fill: colours.soft };
  for (let at = 0; at <= 30; at += 1) surface.rect(keysAt - 76 + 2 * at, CHART.top, 2, 9, shade(colours.diverging, at / 30));
  surface.text("−", keysAt - 80, CHART.top + 4, legend);
  surface.text("+", keysAt, CHART.top + 4, legend);
  const scaled = ["full colour at", `q ±${written(scales.q)}`, `k ±${written(scales.k)}`, `q×k ±${written(scales.product)}`];
  scaled.forEach((line, at) => surface.text(line, keysAt, CHART.top + 19 + 14 * at, legend));

  const height = CHART.step * LISTED;
  const high = Math.max(0, ...contributions);
  const low = Math.min(0, ...contributions);
  const unit = (height - 4) / Math.max(high - low, 1e-12);
  const zero = CHART.top + 2 + high * unit;
  const marked = focus.neuron ?? state.neuron;
  order.forEach((n, column) => {
    const tall = Math.abs(contributions[n]) * unit;
    const fill = contributions[n] < 0 ? colours.negative : colours.positive;
    const x = stripsAt[1] + column * cell;
    if (n === marked) surface.rect(x, CHART.top, cell, height, colours.wash);
    surface.rect(x, contributions[n] < 0 ? zero : zero - tall, Math.max(1, cell - (cell > 3 ? 1 : 0)), tall, fill);
  });
  surface.rect(stripsAt[1], zero, cell * order.length, 1, colours.line);

  if (narrow) return;
  if (cell * order.length > 200) surface.text("contribution of each neuron", stripsAt[1], 10, strong);
  surface.text("contribute most", numbersAt + 8, 10, strong);
  const right = Math.min(width - 4, numbersAt + 380);
  const reach = Math.max(...contributions.map(Math.abs), 1e-12);
  ranked.slice(0, LISTED).forEach((n, at) => {
    const y = CHART.top + CHART.step * at + CHART.step / 2;
    if (n === marked) surface.rect(numbersAt + 4, y - CHART.step / 2, right - numbersAt, CHART.step, colours.wash);
    surface.text(String(n + 1), numbersAt + 34, y, { font: small, align: "right", fill: colours.ink });
    const long = (right - numbersAt - 96) * Math.abs(contributions[n]) / reach;
    surface.rect(numbersAt + 42, y - 4, long, 8, contributions[n] < 0 ? colours.negative : colours.positive);
    surface.text(signed(contributions[n], exactContributions), right, y, { font: small, align: "right", fill: colours.soft });
  });
  const sum = `all ${order.length}: ${signed(total, exactContributions)}`;
  surface.text(sum, right, 10, { font: small, align: "right", fill: colours.soft });
}

/** The columns of numbers at the right, and bars for the last of them. */
export function drawNumbers(surface, geometry, colours, middle) {
  const { data, keys, columns, numbersAt, number, bars, bar, top, step, size } = geometry;
  const { values, panel, reckoned } = data;
  const small = `${Math.min(12, size)}px ${colours.sans}`;
  const heading = { font: `11px ${colours.sans}`, align: "right", fill: colours.soft };
  columns.forEach(({ above }, at) => surface.text(above, numbersAt + number * (at + 1), top - 14, heading));
  const reach = niceAbove(Math.max(0, ...keys.map((key) => Math.abs(values[key]))));
  const range = panel.signed ? `−${reach} to ${reach}` : `0 to ${reach}`;
  const fits = surface.measure(range, heading.font) <= bar + 4;
  surface.text(range, bars + bar, top - (fits ? 14 : 28), heading); // where bars are short, above what stands beside it
  const zero = panel.signed ? bars + bar / 2 : bars;
  const unit = (panel.signed ? bar / 2 : bar) / reach;
  surface.rect(zero, top, 1, step * keys.length, colours.line);
  keys.forEach((key, place) => {
    if (reckoned && !reckoned.visible[key]) return;
    columns.forEach(({ of }, at) => {
      const fill = at === columns.length - 1 ? colours.ink : colours.soft;
      surface.text(of(key), numbersAt + number * (at + 1), middle(place), { font: small, align: "right", fill });
    });
    surface.rect(bars, middle(place) - step * 0.3, bar, step * 0.6, colours.line, 0.4);
    const long = Math.abs(values[key]) * unit;
    const fill = values[key] < 0 ? colours.negative : colours.positive;
    surface.rect(values[key] < 0 ? zero - long : zero, middle(place) - step * 0.3, long, step * 0.6, fill);
  });
}

/** The next of 1, 0.5, 0.2, 0.1, 0.05 and so on that is not below a share. */
function niceAbove(share) {
  let found = 1;
  for (let power = 1; power > 1e-6; power /= 10) {
    for (const step of [1, 0.5, 0.2]) if (step * power >= share) found = Number((step * power).toPrecision(1));
  }
  return found;
}
