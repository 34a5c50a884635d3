// How numbers are written: three digits, no leading zero, and a mark where they were rounded on their way here.

/** A weight or share to three digits. */
export function written(value, exact = true) {
  const size = Math.abs(value);
  const text = size === 0 ? "0" : size < 0.001 ? value.toExponential(2) : value.toPrecision(3);
  return (exact ? "" : "≈") + text.replace(/^(-?)0\./, "$1.").replaceAll("-", "−");
}

/** A head as the papers write it, counted from one. */
export function paperLabel(layer, head) {
  return `${layer + 1}-${head + 1}`;
}

/** What a map of a strand is called: its head or, where heads are shown together, its layer. */
export function mapLabel({ joint }, layer, head) {
  return joint ? `layer ${layer + 1}` : paperLabel(layer, head);
}

/** The same within a sentence. */
export function mapName(strand, layer, head) {
  return strand.joint ? `${mapLabel(strand, layer, head)}, all heads` : `head ${paperLabel(layer, head)}`;
}
