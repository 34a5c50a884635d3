// The figures of one head beside those of all others, in the order of what they say. Those that a sentence of its
// portrait is told from come first, in the order of the portrait; the others by how far the near end of the interval lies beyond chance, measured by
// the head that goes farthest. What has no interval, is not sure after correction or lies below chance counts for less;
// so does, where no chance is known, how far the value lies from the middle of all heads.

import { isKnown } from "./kinds.js";

const DOUBT = 0.4; // by which counts what has no interval, or is not sure
const BELOW = 0.15; // by which counts what lies below chance, or beside others where no chance is known
const SURE = 0.05; // corrected p

/** All figures of a head, the one that says most first; `told` are the sentences of its portrait. */
export function evidence(model, data, values, rows, head, told = []) {
  const spoken = new Map(told.map(({ figure }, place) => [figure, told.length - place]).reverse());
  const mates = Array.from({ length: model.count }, (_, at) => at).filter((at) => at !== head && model.streamOf[at] === model.streamOf[head] && model.place.layer[at] === model.place.layer[head]);
  const stream = Array.from({ length: model.count }, (_, at) => at).filter((at) => model.streamOf[at] === model.streamOf[head]);
  const all = data.figures.map((figure, number) => {
    const whole = values.row(number);
    const own = whole[head];
    if (!isKnown(own)) return null;
    const shown = stream.map((at) => whole[at]);
    const known = shown.filter(isKnown);
    const of = (name) => rows.of(name, number);
    const one = {
      figure, number, own, low: of("low"), high: of("high"), chance: of("chance"), twin: of("twin"), p: of("p"), n: of("n"),
      values: shown, mates: mates.map((at) => stream.indexOf(at)),
      rank: 1 + known.filter((value) => value > own).length, among: known.length, sure: values.sure(number, head),
      least: known.reduce((a, b) => Math.min(a, b)), most: known.reduce((a, b) => Math.max(a, b)),
    };
    return { ...one, strength: spoken.has(number) ? 1 + spoken.get(number) : strengthOf(one, known) };
  });
  return all.filter(Boolean).sort((a, b) => b.strength - a.strength || a.number - b.number);
}

function strengthOf({ own, low, high, chance, p, least, most }, known) {
  if (isKnown(chance)) {
    const doubt = (isKnown(low) && isKnown(high) ? 1 : DOUBT) * (isKnown(p) && p > SURE ? DOUBT : 1);
    const above = (isKnown(low) ? low : own) - chance, below = chance - (isKnown(high) ? high : own);
    if (above > 0 && most > chance) return doubt * Math.min(1, above / (most - chance));
    if (below > 0 && chance > least) return doubt * BELOW * Math.min(1, below / (chance - least));
    return 0;
  }
  const sorted = Float64Array.from(known).sort();
  const middle = sorted[Math.floor(sorted.length / 2)];
  const reach = own >= middle ? most - middle : middle - least;
  return reach > 0 ? (BELOW * Math.abs(own - middle)) / reach : 0;
}
