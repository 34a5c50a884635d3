// Which neurons make a query prefer some keys to others. A score is the sum over neurons n of scaling · q[n] · k[n] (a position
// bias or soft cap may come on top). What a neuron adds to the scores of all keys alike cancels in the softmax, so that
// only differences between keys count: the contribution of a neuron is how far it lifts the scores of the keys that are
// attended to above that of the average key,
//     contribution[n] = scaling · q[n] · (Σ_j weight_j k_j[n] − mean_j k_j[n]),
// where j runs over the keys shown that the query may see, and their weights are divided by their sum. It has a sign: a
// negative one speaks against the keys that are chosen. Contributions add up to the mean score of the query under
// its weights less its plain mean score, which is never below zero where scores are scaled products alone.

const ROUNDED_AWAY = 8; // weights rounded to 0 belong to scores at least this far below the highest

/** The numbers of one query and the keys shown: products, scores, what can be seen, contributions and their order. */
export function reckon(neurons, queryPiece, keyPieces, causal, adjusted) {
  const { width, query, keys, scaling, scores: given } = neurons;
  const products = keyPieces.map((piece) => dot(query, keys[piece]));
  const scaled = products.map((product) => product * scaling);
  const scores = given ? keyPieces.map((piece) => given[piece]) : null;
  const weights = keyPieces.map((piece) => neurons.weights[piece]);
  const final = scores ?? scaled;
  const highest = final.reduce((most, score, at) => (weights[at] > 0 ? Math.max(most, score) : most), -Infinity);
  const visible = keyPieces.map((piece, at) => {
    if (weights[at] !== 0) return true;
    if (neurons.exactWeights || (causal && piece > queryPiece)) return false;
    return (adjusted && !given) || final[at] <= highest - ROUNDED_AWAY;
  });

  const seen = visible.filter(Boolean).length;
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const average = new Float64Array(width);
  const attended = new Float64Array(width);
  keyPieces.forEach((piece, at) => {
    if (!visible[at]) return;
    for (let n = 0; n < width; n += 1) {
      average[n] += keys[piece][n] / seen;
      if (total > 0) attended[n] += (keys[piece][n] * weights[at]) / total;
    }
  });
  const contributions = Array.from(query, (q, n) => (total > 0 ? scaling * q * (attended[n] - average[n]) : 0));
  const order = contributions.map((_, n) => n).sort((a, b) => Math.abs(contributions[b]) - Math.abs(contributions[a]) || a - b);
  const strongest = keyPieces.map((piece) => {
    let best = 0;
    let most = -1;
    for (let n = 0; n < width; n += 1) {
      const lift = Math.abs(query[n] * (keys[piece][n] - average[n]));
      if (lift > most) [best, most] = [n, lift];
    }
    return best;
  });
  return {
    width, query, scaling, products, scaled, scores, weights, visible, contributions, order, strongest,
    keys: keyPieces.map((piece) => keys[piece]), total: contributions.reduce((sum, each) => sum + each, 0),
    exact: neurons.exact, exactContributions: neurons.exact && neurons.exactWeights,
  };
}

function dot(a, b) {
  let sum = 0;
  for (let n = 0; n < a.length; n += 1) sum += a[n] * b[n];
  return sum;
}
