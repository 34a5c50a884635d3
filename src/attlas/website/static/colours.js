// The colours of roles: what looks at places is blue, what rests somewhere is a grey or brown that recedes, what looks for the
// same again is orange to red, what follows grammar is green, what follows meaning violet or pink. Colours are not the only
// way to tell: roles are written in the cells where there is room, and in every tooltip, list and legend.

import { shade, theme } from "./palette.js";

const ROLES = {
  previous: ["#2b6ca8", "#5a9ad2"], next: ["#4f9dd6", "#3b7fb5"], self: ["#9cc7e6", "#a9d2f0"],
  near: ["#1d4470", "#86a8d6"], far: ["#6f8fae", "#55708c"],
  syntax: ["#2f8f6b", "#4fb38d"], word_class: ["#8fbf6a", "#a3cf7e"], alignment: ["#17909a", "#4dbac2"],
  coreference: ["#6a5bb8", "#9a8de0"], keywords: ["#b5487f", "#dc7fae"], instruction: ["#d99bc4", "#a96b94"],
  induction: ["#b2412a", "#e0735c"], same_piece: ["#cb7a1c", "#e09a48"], retrieval: ["#d98a70", "#b86a52"],
  copying: ["#e3ab4f", "#c99335"], successor: ["#96581c", "#c98a4d"], mapping: ["#c9b458", "#a8964a"],
  first: ["#a3a8b3", "#6b6f78"], cls: ["#c8c1b2", "#7a7468"], sep: ["#747883", "#4d515b"],
  punctuation: ["#e0d2b4", "#6b5d46"], sink: ["#957a63", "#5f4633"], dormant: ["#e3ddd0", "#2f3239"],
  broad: ["#cfd3d8", "#4b525b"], other: ["#f4f2ed", "#202329"],
};
const SPARE = [
  ["#7c9a2e", "#a5c25a"], ["#8e4585", "#c07fb8"], ["#3f6e73", "#6fa5ab"], ["#a15c5c", "#cf8f8f"],
  ["#5a7ec2", "#8aa8e2"], ["#8a8a3a", "#bdbd6a"], ["#c46f9f", "#d994bb"], ["#4a8f4a", "#7cc07c"],
];

/** The colour of a role, by its number. */
export function roleColour(roles, number, dark) {
  const { role } = roles[number];
  if (Object.hasOwn(ROLES, role)) return ROLES[role][dark ? 1 : 0];
  const strange = roles.filter((one) => !Object.hasOwn(ROLES, one.role)).indexOf(roles[number]);
  return SPARE[strange % SPARE.length][dark ? 1 : 0];
}

/** A colour for a share from 0 to 1, or from -1 to 1 where colours part at zero. */
export function valueColour(share, parted, dark) {
  const colours = theme(dark);
  return parted ? shade(colours.diverging, 0.5 + share / 2) : shade(colours.sequential, 0.06 + 0.94 * share);
}

/** What can be read on a colour: dark or light. */
export function inkOn(colour) {
  const parts = colour.startsWith("#") ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) : colour.match(/\d+/g).map(Number);
  const [red, green, blue] = parts.map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.19 ? "#14161a" : "#ffffff";
}

/** Whether the page is dark just now. */
export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
