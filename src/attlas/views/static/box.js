// The part of a matrix that is on the screen: [left, top, right, bottom] as fractions of the whole, in the state and so in the
// address; null is all of it.

const WHOLE = [0, 0, 1, 1];
const DIGITS = 1e6; // of a fraction: a quarter of a pixel at the nearest, for 4,096 words

/** The part that a state asks for; all of it where it asks for nothing sensible. */
export function boxOf(state) {
  const box = state.box;
  if (!Array.isArray(box) || box.length !== 4 || !box.every((edge) => edge >= 0 && edge <= 1)) return WHOLE;
  return box[2] - box[0] > 1e-5 && box[3] - box[1] > 1e-5 ? box : WHOLE;
}

/** Whether a part is all there is. */
export function isWhole(box) {
  return box.every((edge, at) => edge === WHOLE[at]);
}

/** The part after zooming by a factor (under 1: nearer) at a point of it, given in fractions of the whole; never under `least` wide and high. */
export function zoomed(box, factor, x, y, least) {
  const side = (low, high, at, smallest) => {
    const size = Math.min(1, Math.max(smallest, (high - low) * factor));
    const start = at - ((at - low) / (high - low)) * size;
    return shifted(start, size);
  };
  const [left, right] = side(box[0], box[2], x, least[0]);
  const [top, bottom] = side(box[1], box[3], y, least[1]);
  return [left, top, right, bottom];
}

/** The part after moving it by fractions of the whole, as far as there is anything to see. */
export function panned(box, dx, dy) {
  const [left, right] = shifted(box[0] + dx, box[2] - box[0]);
  const [top, bottom] = shifted(box[1] + dy, box[3] - box[1]);
  return [left, top, right, bottom];
}

/** The part moved so that a point of the whole is in its middle. */
export function centred(box, x, y) {
  return panned(box, x - (box[0] + box[2]) / 2, y - (box[1] + box[3]) / 2);
}

/** A part as it is kept in the state. */
export function kept(box) {
  const rounded = box.map((edge) => Math.round(edge * DIGITS) / DIGITS);
  return isWhole(rounded) ? null : rounded;
}

function shifted(start, size) {
  const low = Math.min(1 - size, Math.max(0, start));
  return [low, low + size];
}
