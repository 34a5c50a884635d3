// Colours: of heads, of weights and of differences, for light and dark.
//
// Heads take the colours of Okabe and Ito and of Tol's muted set, which people with any common colour blindness can tell
// apart; beyond that many heads colours return, and the number beside each swatch says which head it is. Weights
// run from paper to ink through one hue with steadily changing lightness; differences from orange over paper to blue.

const LIGHT = {
  dark: false, paper: "#fbfaf7", raised: "#ffffff", ink: "#23262b", soft: "#5c6169", faint: "#8d9198", line: "#e3e0d8",
  accent: "#2b6ca8", wash: "rgba(43,108,168,0.12)", positive: "#1f6fb4", negative: "#c2570c",
};
const DARK = {
  dark: true, paper: "#15171b", raised: "#1c1f24", ink: "#e4e3df", soft: "#a2a6ad", faint: "#767b84", line: "#32363d",
  accent: "#82b6e6", wash: "rgba(130,182,230,0.16)", positive: "#6db3f2", negative: "#f0944d",
};
const HEADS_LIGHT = [
  "#0072b2", "#d55e00", "#009e73", "#aa4499", "#b8860b", "#332288", "#cc6677", "#117733", "#56a0d3", "#882255",
  "#7a7a2e", "#5b5b5b",
];
const HEADS_DARK = [
  "#56b4e9", "#f0803c", "#2fc79a", "#d58bc9", "#e6c229", "#9d92e8", "#f29bab", "#62b877", "#9ad0f5", "#e07aa5",
  "#c9c86a", "#b9b9b9",
];
const WHITE = [255, 255, 255];
// Stops of lightness for weights, from nothing to all.
const SEQUENTIAL_LIGHT = [[251, 250, 247], [198, 219, 235], [120, 170, 210], [48, 108, 168], [12, 38, 84]];
const SEQUENTIAL_DARK = [[21, 23, 27], [30, 58, 92], [46, 110, 168], [120, 186, 232], [240, 246, 232]];
const DIVERGING_LIGHT = [[150, 62, 4], [226, 140, 70], [251, 250, 247], [106, 164, 212], [14, 66, 124]];
const DIVERGING_DARK = [[255, 176, 112], [176, 88, 28], [21, 23, 27], [38, 96, 152], [136, 200, 250]];

/** The colours of a theme. */
export function theme(dark) {
  return {
    ...(dark ? DARK : LIGHT),
    name: dark ? "dark" : "light",
    heads: dark ? HEADS_DARK : HEADS_LIGHT,
    sequential: ramp(dark ? SEQUENTIAL_DARK : SEQUENTIAL_LIGHT),
    diverging: ramp(dark ? DIVERGING_DARK : DIVERGING_LIGHT),
    sans: 'system-ui, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif',
  };
}

/** The colours of figures on paper: those of the light theme, on white. */
export function printed() {
  return { ...theme(false), name: "print", paper: "#ffffff", sequential: ramp([WHITE, ...SEQUENTIAL_LIGHT.slice(1)]) };
}

/** The colour of a head, by its number in the model. */
export function headColour(colours, head) {
  return colours.heads[head % colours.heads.length];
}

/** A colour of a ramp as CSS, for a share from 0 to 1. */
export function shade(colours, share) {
  const at = 3 * Math.round(255 * Math.min(1, Math.max(0, share)));
  return `rgb(${colours[at]},${colours[at + 1]},${colours[at + 2]})`;
}

/** Ink that can be read on a colour of a ramp. */
export function legible(ramp, share) {
  const at = 3 * Math.round(Math.min(1, Math.max(0, share)) * 255);
  return 0.3 * ramp[at] + 0.59 * ramp[at + 1] + 0.11 * ramp[at + 2] > 128 ? "#16191d" : "#fbfaf7";
}

/** 256 colours between stops, as bytes r, g, b. */
function ramp(stops) {
  const bytes = new Uint8ClampedArray(256 * 3);
  for (let i = 0; i < 256; i += 1) {
    const along = (i / 255) * (stops.length - 1);
    const low = Math.min(stops.length - 2, Math.floor(along));
    for (let c = 0; c < 3; c += 1) {
      bytes[3 * i + c] = stops[low][c] + (along - low) * (stops[low + 1][c] - stops[low][c]);
    }
  }
  return bytes;
}
