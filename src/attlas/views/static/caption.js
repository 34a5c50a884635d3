// What is said of a picture in plain sentences: the caption of a figure (which model, which heads, which measure, which text),
// and how the heads of two models are paired.

import { layerName, mapName, paperLabel, written } from "./numbers.js";
import { pairsIn } from "./panels.js";
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

/** How heads are paired where two models are compared; null where that needs no word. */
export function pairing(header, panel, state) {
  if (header.scenes.length !== 2 || !panel) return null;
  const { by, of, why } = pairsIn(header, panel);
  if (by === "none") return `The two are beside each other by number alone, and no difference is offered: ${why}.`;
  const names = new Set(header.scenes.map((scene) => scene.model));
  if (by === "number") return names.size > 1 ? "Heads are paired by number, since both models have the same layers and heads." : null;
  const head = state.heads?.length === 1 ? state.heads[0] : state.head;
  const pair = of[paperLabel(state.layer, head)];
  const told = pair ? ` Head ${paperLabel(state.layer, head)} of A is paired with ${paperLabel(pair[0], pair[1])} of B: ${written(pair[2])} of their weight lies on the same words.` : "";
  return `These are other models, so each head of A stands beside the head of B that is most like it on this text.${told}`;
}
