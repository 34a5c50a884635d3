// Where each head of a map lies. A layout is plain numbers: cells with the place of their head, and texts beside them;
// the page sets it as links, and an export draws it, so that what is saved is what is seen.

import { counted } from "./models.js";

const LEFT = 30; // for the numbers of layers
const TOP = 18;
const BETWEEN = 6; // groups of heads that share their keys

/** Layers as rows, heads as columns, as wide as there is room; heads that share keys stand together. */
export function byLayer(model, heads, width, { keyHeads = 0, tall = 420 } = {}) {
  const layers = Math.max(0, ...heads.map((at) => model.place.layer[at])) + 1;
  const across = Math.max(0, ...heads.map((at) => model.place.head[at])) + 1;
  const size = keyHeads > 0 && keyHeads < across ? Math.ceil(across / keyHeads) : 0;
  const gaps = size ? Math.ceil(across / size) - 1 : 0;
  const between = Math.min(BETWEEN, size ? (width - LEFT) / (6 * (gaps + 1)) : 0);
  const top = TOP + (size ? 14 : 0);
  const wide = Math.max(4, (width - LEFT - gaps * between) / Math.max(1, across));
  const high = Math.min(46, Math.max(layers > 60 ? 9 : 14, Math.floor(tall / Math.max(1, layers))));
  const left = (head) => LEFT + head * wide + (size ? Math.floor(head / size) * between : 0);
  const gap = wide > 12 ? 1.5 : 0.5;
  const cells = heads.map((at) => ({
    at, x: left(model.place.head[at]), y: top + model.place.layer[at] * high, w: wide - gap, h: high - (high > 12 ? 1.5 : 0.5),
  }));
  const every = step(wide, 24), down = step(high, 13);
  const texts = [];
  for (let head = 0; head < across; head += 1) {
    if ((head + 1) % every === 0 || every === 1) texts.push({ text: String(head + 1), x: left(head) + (wide - gap) / 2, y: top - 9, align: "center" });
  }
  for (let layer = 0; layer < layers; layer += 1) {
    if ((layer + 1) % down === 0 || down === 1) texts.push({ text: String(layer + 1), x: LEFT - 8, y: top + (layer + 0.5) * high, align: "right" });
  }
  const brackets = [];
  for (let group = 0; size && group * size < across; group += 1) {
    const last = Math.min(across, (group + 1) * size) - 1;
    brackets.push({ x: left(group * size), y: 14, w: left(last) + wide - gap - left(group * size) });
  }
  return { width, height: top + layers * high + 2, cells, texts, brackets, columns: across };
}

/** Roles as rows, their heads beside each other by layer. */
export function byRole(model, heads, width, roles) {
  const narrow = width < 560;
  const left = narrow ? 0 : 190;
  const most = Math.max(1, ...counted(model, heads).map(([, count]) => count));
  const wide = Math.min(90, Math.max(40, Math.floor((width - left) / most))), high = 24;
  const cells = [], texts = [];
  let y = 4;
  for (const [role, count] of counted(model, heads)) {
    texts.push({ text: `${roles[role].title} (${count})`, x: narrow ? 0 : left - 10, y: y + high / 2, align: narrow ? "left" : "right", room: narrow ? width : left - 12 });
    if (narrow) y += high;
    let x = left;
    for (const at of heads) {
      if (model.roleOf[at] !== role) continue;
      if (x + wide > width && x > left) { x = left; y += high + 2; }
      cells.push({ at, x, y, w: wide - 2, h: high });
      x += wide;
    }
    y += high + 8;
  }
  return { width, height: y, cells, texts, brackets: [], columns: 0 };
}

function step(size, least) {
  return [1, 2, 4, 5, 8, 10, 16, 20, 50, 100].find((n) => n * size >= least) ?? 200;
}
