// How numbers are written, by the rule of the tables' schemas: two or three significant figures, a leading zero, an
// exponent only below 0.0001. What a number is (a share, a p, a count) is its kind.

const MINUS = "−";

/** Whether there is a number. */
export function isKnown(value) {
  return value !== null && value !== undefined && Number.isFinite(value);
}

/** How many decimals a number of this size needs. */
export function decimalsFor(size) {
  if (size >= 99.5) return 0;
  if (size >= 9.95) return 1;
  if (size >= 0.0995 || size === 0) return 2;
  return Math.min(5, 1 - Math.floor(Math.log10(size)));
}

function number(value, sign = false) {
  const size = Math.abs(value);
  let text;
  if (size > 0 && size < 1e-4) {
    const [mantissa, exponent] = size.toExponential(1).split("e");
    text = `${mantissa}e${MINUS}${exponent.slice(1).padStart(1, "0")}`;
  } else {
    text = grouped(size.toFixed(decimalsFor(size)));
  }
  if (!/[1-9]/.test(text)) return text;
  return (value < 0 ? MINUS : sign ? "+" : "") + text;
}

function grouped(text) {
  const [whole, rest] = text.split(".");
  const parted = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return rest === undefined ? parted : `${parted}.${rest}`;
}

const KINDS = {
  count: (value) => grouped(String(Math.round(Math.abs(value)))).replace(/^/, value <= -0.5 ? MINUS : ""),
  index: (value) => String(value + 1),
  signed: (value) => number(value, true),
  percent: (value) => {
    const text = Math.abs(100 * value).toFixed(1);
    return (value < 0 && /[1-9]/.test(text) ? MINUS : "") + text;
  },
  p: (value) => (value < 0.001 ? "< 0.001" : value > 0.99 ? "> 0.99" : value.toFixed(value < 0.01 ? 3 : 2)),
  seconds: (value) => grouped(value.toFixed(value < 0.1 ? 3 : 1)),
};

/** A number of a kind as people read it; nothing where there is none. */
export function write(value, kind = "number") {
  if (!isKnown(value)) return "";
  return Object.hasOwn(KINDS, kind) ? KINDS[kind](value) : number(value);
}

/** The same with its unit where it stands alone. */
export function alone(value, kind) {
  return isKnown(value) && kind === "percent" ? `${write(value, kind)} %` : write(value, kind);
}

/** An interval; a dash would be lost among minus signs. */
export function interval(low, high, kind) {
  if (!isKnown(low) || !isKnown(high)) return "";
  const ends = [write(low, kind), write(high, kind)];
  return /^[+−]/.test(ends[0]) || /^[+−]/.test(ends[1]) ? `${ends[0]} to ${ends[1]}` : `${ends[0]}–${ends[1]}`;
}
