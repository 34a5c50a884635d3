// The figures of one head beside those of all others, in the order of what they say: how far the near end of the
// interval lies beyond chance, measured by the head that goes farthest; where no chance is known, how far the value lies
// from the middle of all heads, which counts for half.

import { isKnown } from "./kinds.js";

/** All figures of a head, the one that says most first. */
export function evidence(model, data, values, rows, head) {
  const mates = Array.from({ length: model.count }, (_, at) => at).filter((at) => at !== head && model.streamOf[at] === model.streamOf[head] && model.place.layer[at] === model.place.layer[head]);
  const stream = Array.from({ length: model.count }, (_, at) => at).filter((at) => model.streamOf[at] === model.streamOf[head]);
  const told = data.figures.map((figure, number) => {
    const whole = values.row(number);
    const own = whole[head];
    if (!isKnown(own)) return null;
    const all = stream.map((at) => whole[at]);
    const known = all.filter(isKnown);
    const of = (name) => rows.of(name, number);
    const one = {
      figure, number, own, low: of("low"), high: of("high"), chance: of("chance"), twin: of("twin"), p: of("p"), n: of("n"),
      values: whole.length === all.length ? whole : all, mates: whole.length === all.length ? mates : mates.map((at) => stream.indexOf(at)),
      rank: 1 + known.filter((value) => value > own).length, among: known.length, sure: values.sure(number, head),
      least: known.reduce((a, b) => Math.min(a, b)), most: known.reduce((a, b) => Math.max(a, b)),
    };
    return { ...one, strength: strengthOf(one, known) };
  });
  return told.filter(Boolean).sort((a, b) => b.strength - a.strength || a.number - b.number);
}

function strengthOf({ own, low, high, chance, least, most }, known) {
  if (isKnown(chance)) {
    const above = (isKnown(low) ? low : own) - chance, below = chance - (isKnown(high) ? high : own);
    if (above > 0 && most > chance) return Math.min(1, above / (most - chance));
    if (below > 0 && chance > least) return Math.min(1, below / (chance - least));
    return 0;
  }
  const sorted = Float64Array.from(known).sort();
  const middle = sorted[Math.floor(sorted.length / 2)];
  const reach = own >= middle ? most - middle : middle - least;
  return reach > 0 ? (0.5 * Math.abs(own - middle)) / reach : 0;
}
