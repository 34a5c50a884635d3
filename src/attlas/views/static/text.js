// The text view: the running text, every word shaded by what it receives from the word that is pointed at, or gives to it;
// where none is, by what it receives on average. A click keeps a word, and several that are kept make a sum. Beside the text
// stand the strongest words, what each region of the text gets, head by head, and what the model says there; below a short
// text all heads of the layer (headwise.js).
//
// The text scrolls; the canvas does not, and only the lines in sight are drawn on it (flow.js says where words are).

import { meanName, noHead, written } from "./numbers.js";
import { rowOf } from "./readings.js";
import { flowOf, lineAt, wordAt } from "./flow.js";
import { legible, shade } from "./palette.js";
import { regionsOf } from "./regions.js";
import { STEP, drawAside, asideRoom, moreWords } from "./beside.js";
import { writtenWith } from "./saying.js";
import { cellAt, chosenBy, drawTable, rowsOf, sayCell, tableRoom } from "./headwise.js";

const PADDING = 4; // pixels around a word
const LISTED = 200; // words of a table
const BELOW = 24; // pixels between a text and what stands below it
const STEP_BACK = 3; // lines that stay in sight above a word that is sought

export const textView = {
  resizable: true,
  scrolls: true,
  wholeText: true,

  controls(group) {
    return [
      group("Shade", "way", ["receives", "gives"], { names: { receives: "what words receive", gives: "what they give" } }),
      group("Of", "over", ["heads", "layers"], { names: { heads: "chosen heads", layers: "all layers" } }),
    ];
  },

  named: (data) => data.name,

  async load(panel, state, again) {
    const layers = state.over === "layers" ? panel.layers : [state.layer];
    const heads = (layer) => panel.headsOf(layer).filter((head) => !state.heads || state.over === "layers" || state.heads.includes(head));
    const chosen = layers.flatMap((layer) => heads(layer).map((head) => ({ layer, head })));
    const sources = await Promise.all(chosen.map(({ layer, head }) => panel.soon(layer, head)));
    const data = {
      panel, chosen, sources, flows: new Map(), told: new Map(), name: nameOf(panel, chosen, state),
      two: panel.queries !== panel.keys && !alike(panel), regions: regionsOf(panel, state), rows: await rowsOf(panel, state), ready: true,
    };
    const coming = sources.filter((source) => source.coming);
    if (!coming.length) return data;
    data.ready = false; // what words receive on average is there before anything can be reckoned of one
    Promise.all(coming.map((source) => source.coming)).then(() => {
      data.ready = true;
      data.told.clear();
      again();
    }, (error) => { data.problem = error.message; again(); });
    return data;
  },

  layout(data, state, room, surface, colours) {
    const aside = asideRoom(data, room);
    const width = aside.beside ? room.width - aside.width - 28 : room.width;
    const height = aside.beside ? room.height : Math.max(160, room.height - aside.height - 16);
    const name = `${width} ${Math.round(height / 50)} ${data.regions.map(({ from }) => from).join(" ")}`;
    if (!data.flows.has(name)) data.flows.set(name, flowOf(data, width, height, surface, colours));
    const flow = data.flows.get(name);
    const seen = Math.min(Math.floor(height / flow.step) * flow.step, flow.height); // whole lines
    const more = moreWords(data, aside, room.height - seen - 16 - aside.height);
    const place = { words: aside.words + more, ...(aside.beside ? { x: width + 28, y: 0, width: aside.width } : { x: 0, y: seen + 16, width: room.width }) };
    const table = aside.beside ? tableRoom(data, seen + BELOW, flow.width, height - seen - BELOW, surface, colours) : null;
    const whole = aside.beside ? Math.max(seen, aside.height, table ? table.y + table.height : 0) : seen + 16 + aside.height + more * STEP;
    const begin = beginOf(data, state, flow, seen);
    return { data, flow, seen, begin, table, aside: place, top: 0, width: room.width, height: whole, total: flow.height - seen };
  },

  draw(surface, geometry, state, focus, colours) {
    const { data, flow, seen, top } = geometry;
    if (!data.sources.length) return;
    const shown = shownOf(data, state, focus);
    const picked = new Set((state.picked ?? []).map((piece) => rowOf(data.panel.queries, piece)));
    const full = fullOf(shown.values, data);
    surface.clipped(0, 0, flow.width, seen, () => {
      for (let line = lineAt(flow, top); line < flow.lines.length && flow.lines[line].y - top < seen; line += 1) {
        const { y, words, heading } = flow.lines[line];
        if (heading) {
          surface.text(heading, 0, y - top + flow.step / 2, { font: `600 12px ${colours.sans}`, fill: colours.soft });
          surface.rect(0, y - top + flow.step - 5, flow.width, 1, colours.line);
          continue;
        }
        for (const { x, width, text, row, side } of words) {
          const counted = shown.side === "both" || shown.side === side;
          const value = counted ? shown.values[row] : 0;
          const share = Math.sqrt(Math.min(1, Math.max(0, value) / full));
          const at = y - top;
          if (share > 0.04) surface.rect(x - PADDING / 2, at + 3, width + PADDING, flow.step - 6, shade(colours.sequential, share));
          const label = (side === "key" ? data.panel.keys : data.panel.queries)[row];
          const fill = share > 0.04 ? legible(colours.sequential, share) : label.special ? colours.soft : colours.ink;
          surface.text(text, x, at + flow.step / 2, { font: flow.font, fill });
          if (side !== "key" && picked.has(row)) surface.rect(x - 1, at + flow.step - 4, width + 2, 3, colours.negative);
          if (data.panel.strand.looked && data.panel.chosen(row)) surface.rect(x, at + flow.step - 3, width, 1.5, colours.accent, 0.7);
          const chance = side === "key" ? null : writtenWith(data, label.pieces[0]);
          if (chance !== null) surface.rect(x, at + flow.step - 3, width, 2, colours.positive, 0.15 + 0.85 * chance);
          const pointed = side === "key" ? focus.key === row : focus.query === row;
          if (pointed) surface.frame(x - PADDING / 2 - 0.5, at + 2.5, width + PADDING + 1, flow.step - 5, colours.negative, 1.5);
        }
      }
    });
    drawAside(surface, geometry, state, shown, colours);
    if (geometry.table) drawTable(surface, geometry, state, focus, shown, (row) => valuesOf(row, shown), colours);
    geometry.kept = keptRow(data, state);
    if (!surface.still) data.table = geometry.table; // what is spoken of is on the screen
  },

  hit(geometry, x, y) {
    const { flow, seen, top, table } = geometry;
    if (y < 0 || x > flow.width) return null;
    if (y >= seen) {
      const cell = table && cellAt(table, x, y);
      return cell ? { query: geometry.kept, key: null, cell } : null;
    }
    const word = wordAt(flow, x, y + top);
    if (!word) return null;
    return word.side === "key" ? { query: null, key: word.row } : { query: word.row, key: null };
  },

  /** A click keeps a word beside those that are kept, or lets it go again. */
  click(geometry, state, focus) {
    if (focus?.cell) return chosenBy(geometry.table, focus.cell);
    if (!focus || focus.query === null) return null;
    return toggled(geometry.data.panel.queries[focus.query].pieces[0], state);
  },

  key(event, geometry, state) {
    const { data, flow, seen, top } = geometry;
    const { queries } = data.panel;
    if (event.key === "Escape") return { picked: null, query: null, key: null };
    if (event.key === "v") return { way: state.way === "gives" ? "receives" : "gives" };
    if (event.key === "Enter" && state.query !== null && !event.target.closest("button")) return toggled(state.query, state);
    if (event.key === "r" && state.query !== null) {
      const cuts = state.cuts ?? [];
      const next = cuts.includes(state.query) ? cuts.filter((each) => each !== state.query) : [...cuts, state.query].sort((a, b) => a - b);
      return { cuts: next.length ? next : null };
    }
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return null;
    const row = rowOf(queries, state.query);
    const next = row < 0 ? 0 : Math.min(queries.length - 1, Math.max(0, row + (event.key === "ArrowUp" ? -1 : 1)));
    const y = flow.placeOf(next);
    if (y !== null && (y < top || y + flow.step > top + seen)) geometry.scrollTo(Math.max(0, y - STEP_BACK * flow.step));
    return { query: queries[next]?.pieces[0] ?? null, key: null };
  },

  say(data, state, focus) {
    if (!data.sources.length) return noHead(data.panel, state);
    const shown = shownOf(data, state, focus);
    if (data.problem) return `These numbers could not be read: ${data.problem}`;
    if (focus.cell && data.table) return sayCell(data, data.table, focus.cell, valuesOf(data.table.rows[focus.cell[0]], shown));
    if (!shown.of.length) return data.ready ? "" : "Queries and keys are being unpacked.";
    if (shown.silent) return `${shown.said}.`;
    const found = shown.ranked(6).map(({ label, value }) => `${label.short} ${written(value, shown.exact)}`).join(" · ");
    return `${shown.said} ${found} (${data.name})`;
  },

  table(data, state, focus) {
    if (!data.sources.length) return { caption: data.panel.title, columns: [], rows: [] };
    const shown = shownOf(data, state, focus);
    const rows = shown.ranked(LISTED).map(({ label, value }) => [label.text, written(value, shown.exact)]);
    return { caption: `${shown.said}: ${data.panel.title}`, columns: ["word", data.panel.signed ? "difference" : data.panel.measure], rows };
  },
};

/** How far down a text opens: at the chosen word, else at the first that was looked from, where these cannot be seen at once. */
function beginOf({ panel }, state, flow, seen) {
  const row = rowOf(panel.queries, state.query ?? panel.strand.looked?.[0][0] ?? null);
  const y = row < 0 ? 0 : flow.placeOf(row);
  return y + flow.step > seen ? y - STEP_BACK * flow.step : 0;
}

/** What is shaded: { values, of, said, side, exact, ranked }, of what is pointed at, else of what is kept, else of all words. */
export function shownOf(data, state, focus) {
  const { panel, sources, two } = data;
  const kept = (state.picked ?? []).map((piece) => rowOf(panel.queries, piece)).filter((row) => row >= 0);
  const pointed = focus.query !== null || focus.key !== null;
  const of = !data.ready ? [] : focus.key !== null ? [focus.key] : focus.query !== null ? [focus.query] : kept;
  const back = two ? focus.key !== null : state.way === "gives";
  const name = `${back} ${of.join(",")}`;
  if (data.told.has(name)) return data.told.get(name);
  const values = sumOf(sources, back, of);
  const labels = back ? panel.queries : panel.keys;
  const words = of.map((row) => (two && back ? panel.keys : panel.queries)[row].short);
  const subject = words.length > 3 ? `${words.length} words` : words.join(" + ");
  const silent = of.length > 0 && !back && Boolean(panel.strand.looked) && !of.some((row) => panel.chosen(row));
  const shown = {
    values, of, back, silent, exact: sources.every((source) => source.exact(back, of)), side: two ? (back ? "query" : "key") : "both", pointed,
    said: !of.length ? "Words receive, on average," : silent ? `${subject} was not looked from` : back ? `${subject} is attended to by` : `${subject} attends to`,
    order: null,
    ranked(most) {
      this.order ??= silent ? [] : strongestOf(values);
      return this.order.slice(0, most).map((row) => ({ label: labels[row], value: values[row], row }));
    },
  };
  if (data.told.size > 40) data.told.clear();
  data.told.set(name, shown);
  return shown;
}

/** The places of the largest values, as many as a table has, without sorting all of them by what they are. */
function strongestOf(values) {
  const sizes = Float64Array.from(values, Math.abs);
  const least = Float64Array.from(sizes).sort()[Math.max(0, sizes.length - LISTED)];
  const found = [];
  sizes.forEach((size, row) => { if (size > least) found.push(row); });
  for (let row = 0; row < sizes.length && found.length < LISTED; row += 1) if (sizes[row] === least) found.push(row);
  return found.sort((a, b) => sizes[b] - sizes[a] || a - b);
}

/** The same values of one row of the table. */
function valuesOf(row, { back, of }) {
  return sumOf(row.sources, back, of);
}

/** The row of the word that is kept by arrow keys; null where none is. */
function keptRow({ panel }, state) {
  const row = rowOf(panel.queries, state.query);
  return row < 0 ? null : row;
}

/** The mean over sources of what words receive from some words, or give to them; of none: from all on average. */
function sumOf(sources, back, of) {
  const sum = new Float64Array(sources[0].length(back && of.length > 0));
  for (const source of sources) {
    const lines = of.length ? of.map((row) => source.line(back, row)) : [source.average()];
    for (const line of lines) for (let at = 0; at < sum.length; at += 1) sum[at] += line[at] / sources.length;
  }
  return sum;
}

/** What gets full colour: the largest, special pieces and the first one left out where there is more. */
function fullOf(values, { panel }) {
  let most = 0;
  let any = 1e-9;
  for (let row = 0; row < values.length; row += 1) {
    const size = Math.abs(values[row]);
    any = Math.max(any, size);
    if (row > 0 && !panel.keys[row]?.special) most = Math.max(most, size);
  }
  return most > 0.02 * any ? most : any;
}

function toggled(piece, state) {
  const picked = state.picked ?? [];
  const next = picked.includes(piece) ? picked.filter((each) => each !== piece) : [...picked, piece];
  return { picked: next.length ? next : null };
}

function nameOf(panel, chosen, state) {
  if (state.over === "layers") return panel.strand.joint ? "mean of all layers" : `mean of all ${chosen.length} heads`;
  return meanName(panel.strand, state.layer, chosen.map(({ head }) => head));
}

/** Whether queries and keys are the same words. */
function alike({ strand }) {
  return !strand.keys;
}
