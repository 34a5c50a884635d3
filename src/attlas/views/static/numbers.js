// How numbers are written, by one rule in all pictures, sentences and tables: three figures at most, a leading zero, no
// exponents from 1e-4 on, and a mark where they were rounded on their way here.

/** A number in three figures. */
export function written(value, exact = true) {
  return (exact ? "" : "≈") + inFigures(value, 3);
}

/** A number in two figures, where there is little room. */
export function briefly(value) {
  return inFigures(value, 2);
}

function inFigures(value, figures) {
  const size = Math.abs(value);
  const text = size === 0 ? "0" : size < 0.0001 ? value.toExponential(figures - 1) : String(Number(value.toPrecision(figures)));
  return text.replace(/\.0+e/, "e").replaceAll("-", "−");
}

/** A head as the papers write it, counted from one. */
export function paperLabel(layer, head) {
  return `${layer + 1}-${head + 1}`;
}

/** The number of a layer among the blocks of its model, counted from one; null where it is the layer's own number. */
export function blockOf({ blocks, layers }, layer) {
  return blocks ? blocks[layers.indexOf(layer)] + 1 : null;
}

/** What a layer is called, with its block where that has another number. */
export function layerName(strand, layer) {
  const block = blockOf(strand, layer);
  return block === null ? `layer ${layer + 1}` : `layer ${layer + 1} (block ${block})`;
}

/** What a map of a strand is called: its head or, where heads are shown together, its layer. */
export function mapLabel(strand, layer, head) {
  if (strand.alias) return paperLabel(...strand.alias(layer, head)); // of the head that is shown in its place
  return strand.joint ? layerName(strand, layer) : paperLabel(layer, head);
}

/** The same within a sentence. */
export function mapName(strand, layer, head) {
  if (strand.alias) return `head ${mapLabel(strand, layer, head)}`;
  const block = blockOf(strand, layer);
  if (strand.joint) return `${layerName(strand, layer)}, all heads`;
  return `head ${paperLabel(layer, head)}${block === null ? "" : ` (block ${block})`}`;
}

/** What is shown of some heads of a layer: one by its name, several as their mean. */
export function meanName(strand, layer, heads) {
  if (heads.length === 1 || (strand.joint && heads.length)) return mapName(strand, layer, heads[0]);
  return heads.length ? `mean of ${heads.length} heads, ${layerName(strand, layer)}` : "";
}

/** Why a layer shows no head. */
export function noHead(panel, { layer, heads }) {
  const held = panel.headsOf(layer);
  if (!held.length) return `${layerName(panel.strand, layer)} has no heads.`.replace("layer", "Layer");
  return heads?.length ? `${layerName(panel.strand, layer)} has none of the chosen heads.`.replace("layer", "Layer") : "No head is chosen.";
}
