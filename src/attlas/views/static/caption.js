// The caption of a figure in one plain sentence: which model, which head or heads, which measure, and which text.

import { layerName, mapName } from "./numbers.js";
import { readable, shortened } from "./readings.js";

const LONGEST = 160; // letters of a text

/** The caption of what a state shows of a strand. */
export function captionOf({ scenes }, view, strand, state, titles) {
  const one = view.heads === "one" || state.heads?.length === 1;
  const alone = view.allLayers ? "all layers and heads" : one && !strand.joint ? mapName(strand, state.layer, state.heads?.[0] ?? state.head) : heads(strand, state);
  const models = scenes.map((scene) => readable(scene.model)).join(" and ");
  const texts = scenes[0].texts.map((text) => `“${shortened(readable(text.replace(/\s+/g, " ").trim()), LONGEST)}”`).join(" / ");
  const stream = scenes[0].strands.length > 1 ? `, ${state.stream} attention` : "";
  return `${models}${stream}, ${alone}: ${[...new Set(titles)].join("; ")}. Text: ${texts}`;
}

function heads(strand, { layer, heads: chosen }) {
  if (strand.joint) return layerName(strand, layer);
  return `${chosen ? `${chosen.length} heads` : "all heads"} of ${layerName(strand, layer)}`;
}
