// Running text in lines: which words stand on which line, at which place. Pieces of one word stand close, closing marks
// close to what they close; a region begins on a line of its own, below its name.

const SIZES = [96, 84, 72, 62, 52, 44, 40, 36, 30, 26, 22, 19, 16]; // of letters: a text that is short is written larger
const LINE = 1.7; // times that from line to line
const FULL = 0.8; // of the height, up to which a larger size may fill it
const BETWEEN = 0.3; // times the size between words
const LEAST_WIDE = 20; // letters' sizes that a line has at least, where they are larger than usual
const USUAL = 26;
const CLOSING = /^[.,;:!?)\]}»”’%…]+$/;
const OPENING = /^[([{«“‘]+$/;

/** The lines of a text of a width: { lines: [{ y, words: [{ x, width, text, row, side }], heading }], font, step, width, height, placeOf }. */
export function flowOf(data, width, height, surface, colours) {
  const letters = data.panel.queries.length;
  const fitting = SIZES.filter((size) => size <= Math.max(USUAL, width / LEAST_WIDE));
  const tried = letters > 600 ? SIZES.slice(-1) : fitting; // more will not fit in any case
  for (const size of tried) {
    const flow = flowed(data, width, size, surface, colours);
    if (size === tried.at(-1) || flow.height <= FULL * height) return flow;
  }
  return null;
}

function flowed({ panel, two, regions }, width, size, surface, colours) {
  const font = `${size}px ${colours.sans}`;
  const between = Math.round(BETWEEN * size);
  const step = Math.round(size * LINE);
  const widths = new Map();
  const measured = (text) => {
    if (!widths.has(text)) widths.set(text, surface.measure(text, font));
    return widths.get(text);
  };
  const lines = [];
  const places = new Int32Array(panel.queries.length).fill(-1);
  let y = 0;
  let line = null;
  let x = 0;
  const fresh = (heading = null) => {
    line = { y, words: [], heading };
    lines.push(line);
    y += step;
    x = 0;
  };
  const flow = (labels, side, starts) => {
    let before = null;
    fresh();
    labels.forEach((label, row) => {
      if (label.begins && line.words.length) fresh();
      if (starts.has(row)) {
        if (!line.words.length) { lines.pop(); y -= step; }
        fresh(starts.get(row));
        fresh();
        before = null;
      }
      const text = label.plain;
      const wide = Math.min(width, measured(text));
      const close = before && ((label.word >= 0 && label.word === before.word) || CLOSING.test(text) || OPENING.test(before.plain));
      const at = x + (line.words.length ? (close ? 1 : between) : 0);
      if (line.words.length && at + wide > width) fresh();
      const from = line.words.length ? at : 0;
      line.words.push({ x: from, width: wide, text, row, side });
      x = from + wide;
      if (side !== "key") places[row] = lines.length - 1;
      if (label.breaks) fresh();
      before = label;
    });
  };
  if (two) {
    flow(panel.queries, "query", new Map([[0, "the text that is written, which attends"]]));
    flow(panel.keys, "key", new Map([[0, "the text that is read"]]));
  } else flow(panel.queries, "both", new Map(regions.map(({ from, name }) => [from, name])));
  return { lines, font, step, width, height: y, placeOf: (row) => (places[row] < 0 ? null : lines[places[row]].y) };
}

/** The first line that can be seen from a height on. */
export function lineAt({ step }, top) {
  return Math.max(0, Math.floor(top / step));
}

/** The word at a place, or null. */
export function wordAt({ lines, step }, x, y) {
  const line = lines[Math.floor(y / step)];
  return line?.words.find((word) => x >= word.x - 2 && x < word.x + word.width + 2) ?? null;
}
