// Large matrices as pictures. A pyramid holds a matrix as one byte of colour a cell, and again and again at half the size,
// where each dot is the largest of four: a line one cell wide stays to be seen from any distance. Pictures are made of
// it in tiles, when they are first on the screen.
//
// A byte is 0 where nothing can be (a key that a causal model has not read yet); else 1 to 255, over the square root of the
// value as a share of the pyramid's top, or from below zero to above it, with 128 for zero, where there are signs.

const PAINTING = 8; // milliseconds that one drawing may spend on new tiles
const CELLS = 65_536; // between two looks at the clock
const SAMPLE = 60_000; // values of which the top is taken
const QUANTILE = 0.999; // what is above this share of all values has the last colour
const COARSEST = 64; // dots a side of the coarsest level
const TILE = 512; // dots a side of a tile
const MOST_TILES = 96;

/** Add a share of some numbers to others; false where it was given up. */
export async function add(sum, more, share, breathe) {
  for (let at = 0; at < sum.length; at += CELLS) {
    addSome(sum, more, share, at, Math.min(sum.length, at + CELLS));
    if (await breathe()) return false;
  }
  return true;
}

function addSome(sum, more, share, from, to) {
  for (let at = from; at < to; at += 1) sum[at] += more[at] * share;
}

/**
 * The pyramid of a grid: { levels, top, largest, strongest, signed }, or null where it was given up. `limits` says how many keys of
 * each row can be seen at all (null: every one); `strongest` is the strongest key of each row.
 */
export async function pyramidOf(grid, limits, signed, breathe) {
  const { rows, columns } = grid;
  const pyramid = { levels: [], top: robustTop(grid, limits), largest: 0, strongest: new Int32Array(rows), signed };
  const bytes = new Uint8Array(rows * columns);
  const every = Math.max(1, Math.floor(CELLS / columns));
  for (let row = 0; row < rows; row += every) {
    const largest = colourRows(grid, limits, pyramid, bytes, row, Math.min(rows, row + every));
    pyramid.largest = Math.max(pyramid.largest, largest);
    if (await breathe()) return null;
  }
  pyramid.levels.push({ rows, columns, bytes });
  for (let last = pyramid.levels[0]; Math.max(last.rows, last.columns) > COARSEST; last = pyramid.levels.at(-1)) {
    const half = { rows: Math.ceil(last.rows / 2), columns: Math.ceil(last.columns / 2) };
    half.bytes = new Uint8Array(half.rows * half.columns);
    for (let row = 0; row < half.rows; row += every) {
      halveRows(last, half, signed, row, Math.min(half.rows, row + every));
      if (await breathe()) return null;
    }
    pyramid.levels.push(half);
  }
  return pyramid;
}

/** Colour some rows of the finest level, note the strongest key of each, and tell the largest size among them. */
function colourRows({ data, columns }, limits, { top, strongest, signed }, bytes, from, to) {
  const inverse = 1 / top;
  let largest = 0;
  for (let row = from; row < to; row += 1) {
    const start = row * columns;
    const stop = start + (limits ? limits[row] : columns);
    let most = -1;
    for (let at = start; at < stop; at += 1) {
      const value = data[at];
      const size = value < 0 ? -value : value;
      if (size > most) {
        most = size;
        strongest[row] = at - start;
      }
      const share = size >= top ? 1 : Math.sqrt(size * inverse);
      bytes[at] = signed ? 128.5 + (value < 0 ? -127 : 127) * share : 1.5 + 254 * share;
    }
    if (most > largest) largest = most;
  }
  return largest;
}

/** Some rows of a level of half the size: of each four dots the one that is farthest from nothing. */
function halveRows({ rows, columns, bytes }, half, signed, from, to) {
  const rank = Uint8Array.from({ length: 256 }, (_, byte) => (signed && byte ? 1 + Math.abs(byte - 128) : byte));
  const larger = (a, b) => (rank[b] > rank[a] ? b : a);
  let at = from * half.columns;
  for (let row = from; row < to; row += 1) {
    const above = 2 * row * columns;
    const below = 2 * row + 1 < rows ? above + columns : above;
    for (let column = 0; column < columns; column += 2, at += 1) {
      const beside = column + 1 < columns ? 1 : 0;
      const upper = larger(bytes[above + column], bytes[above + column + beside]);
      half.bytes[at] = larger(upper, larger(bytes[below + column], bytes[below + column + beside]));
    }
  }
}

/** A high quantile of the sizes of all values that can be, so that few very large ones do not leave all others pale. */
function robustTop({ data, rows, columns }, limits) {
  const cells = rows * columns;
  let stride = Math.max(1, Math.floor(cells / SAMPLE));
  while (stride > 1 && divisor(stride, columns) > 1) stride += 1; // else some columns are never met
  const sizes = new Float32Array(Math.ceil(cells / stride));
  let count = 0;
  for (let at = 0; at < cells; at += stride) {
    if (limits && at % columns >= limits[Math.floor(at / columns)]) continue;
    sizes[count] = Math.abs(data[at]);
    count += 1;
  }
  const sorted = sizes.subarray(0, count).sort();
  const high = sorted[Math.min(count - 1, Math.floor(QUANTILE * count))];
  return high > 0 ? high : sorted[count - 1] || 1;
}

function divisor(a, b) {
  return b ? divisor(b, a % b) : a;
}

/** The 256 colours of bytes as pixels, for a ramp of colours: byte 0 is transparent. */
export function pixelsOf(ramp) {
  const pixels = new Uint32Array(256);
  const bytes = new Uint8ClampedArray(pixels.buffer);
  for (let byte = 1; byte < 256; byte += 1) {
    const from = 3 * Math.round(((byte - 1) / 254) * 255);
    bytes.set([ramp[from], ramp[from + 1], ramp[from + 2], 255], 4 * byte);
  }
  return pixels;
}

/** Pictures of the levels of a pyramid in some colours; those unused for longest are let go. */
export function tilesOf(pyramid, pixels) {
  const kept = new Map();

  function paint(level, row, column) {
    const { rows, columns, bytes } = pyramid.levels[level];
    const width = Math.min(TILE, columns - column * TILE);
    const height = Math.min(TILE, rows - row * TILE);
    const canvas = document.createElement("canvas");
    canvas.width = width;
    canvas.height = height;
    const image = new ImageData(width, height);
    const to = new Uint32Array(image.data.buffer);
    for (let y = 0, at = 0; y < height; y += 1) {
      const start = (row * TILE + y) * columns + column * TILE;
      for (let from = start; from < start + width; from += 1, at += 1) to[at] = pixels[bytes[from]];
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  /** The picture of a tile; null where it has yet to be made and there is no time. */
  function get(level, row, column, time) {
    const name = `${level}-${row}-${column}`;
    let canvas = kept.get(name);
    if (canvas) kept.delete(name);
    else if (!time) return null;
    else canvas = paint(level, row, column);
    kept.set(name, canvas);
    if (kept.size > MOST_TILES) kept.delete(kept.keys().next().value);
    return canvas;
  }

  return { get };
}

/** The coarsest level whose dots are still at least a pixel apart, for cells of a size in pixels; finer ones would lose dots. */
export function levelFor(pyramid, cell) {
  let level = 0;
  while (level < pyramid.levels.length - 1 && cell * 2 ** level < 1) level += 1;
  return level;
}

/**
 * Draw a part of a level (from left and top to right and bottom, in cells) into a rectangle; tells whether all of it was
 * ready. Tiles are made for a few milliseconds, or all of them for a `still` picture; where one is missing, a coarser one serves.
 */
export function drawPart(surface, tiles, pyramid, level, [left, top, right, bottom], [x, y, width, height], still) {
  const until = performance.now() + PAINTING;
  const density = surface.density ?? 1;
  const rounded = (value) => Math.round(value * density) / density; // tiles that end between pixels would show seams
  const toX = (cell) => rounded(x + ((cell - left) / (right - left)) * width);
  const toY = (cell) => rounded(y + ((cell - top) / (bottom - top)) * height);
  const size = 2 ** level;
  const coarsest = pyramid.levels.length - 1; // which is painted whether there is time or not, so that something always serves
  const { rows, columns } = pyramid.levels[level];
  const last = [Math.min(columns, Math.ceil(right / size)), Math.min(rows, Math.ceil(bottom / size))];
  const first = [Math.floor(left / size), Math.floor(top / size)];
  let whole = true;

  const place = (picture, of, row, column, from, to) => {
    const coarser = 2 ** (of - level);
    const [x0, y0, x1, y1] = [toX(from[0] * size), toY(from[1] * size), toX(to[0] * size), toY(to[1] * size)];
    if (x1 <= x0 || y1 <= y0) return;
    const [sx, sy] = [from[0] / coarser - column * TILE, from[1] / coarser - row * TILE];
    surface.picture(picture, sx, sy, (to[0] - from[0]) / coarser, (to[1] - from[1]) / coarser, x0, y0, x1 - x0, y1 - y0);
  };

  surface.clipped(x, y, width, height, () => {
    for (let row = Math.floor(first[1] / TILE); row * TILE < last[1]; row += 1) {
      for (let column = Math.floor(first[0] / TILE); column * TILE < last[0]; column += 1) {
        const from = [Math.max(first[0], column * TILE), Math.max(first[1], row * TILE)];
        const to = [Math.min(last[0], (column + 1) * TILE), Math.min(last[1], (row + 1) * TILE)];
        let of = level;
        let picture = tiles.get(of, row, column, still || of === coarsest || performance.now() < until);
        if (!picture) whole = false;
        while (!picture) {
          of += 1;
          picture = tiles.get(of, row >> (of - level), column >> (of - level), of === coarsest);
        }
        place(picture, of, row >> (of - level), column >> (of - level), from, to);
      }
    }
  });
  return whole;
}
