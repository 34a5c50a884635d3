// The page of a head: what it does in plain words, its figures beside those of its layer and of the model, texts with
// its weights, and heads of other models that do alike.

import { address, fileLink } from "./addresses.js";
import { isDark, roleColour } from "./colours.js";
import { STRIP, drawStrip } from "./dots.js";
import { element } from "./dom.js";
import { evidence } from "./evidence.js";
import { exportMenu } from "./exports.js";
import { thumbnail } from "./indexpage.js";
import { alone, interval, isKnown, write } from "./kinds.js";
import { cell } from "./listing.js";
import { figureKey, headAddress } from "./modelpage.js";
import { find, headsOf, label, openExamples, openMatches, openModel, openPortraits, openRows, openValues, sentenceOf, streamOf } from "./models.js";
import { theme } from "./palette.js";
import { canvasSurface } from "./surface.js";

const PARTS = { does: "What it does", rests: "Where it rests", without: "Without it", writes: "What it writes", alike: "Heads that do alike", none: "" };
const KINDS = { best: "best", typical: "typical", fails: "where it fails" };
const SHOWN = 4; // figures of a study that are shown at once
const TELLING = 0.05; // below which a figure is folded away
const AROUND = 30; // words that are shown around the query of a long text
const LONG = 110;

/** Draw the page. */
export async function headPage(index, place, { model, about, chosen }) {
  const at = find(model, about[1], about[2] ?? "");
  if (at < 0) {
    place.append(element("h1", {}, "There is no such head"), element("p", {}, `${model.name} has no head ${about[2] ?? ""} in its ${about[1] ?? ""} attention. `, element("a", { href: address("model", [model.name]) }, "All its heads")));
    return () => {};
  }
  const [data, values, all] = await Promise.all([openModel(model), openValues(model), openPortraits(model)]);
  const rows = await openRows(model, data, at);
  const order = Object.keys(PARTS);
  const told = all.filter(({ head }) => head === at).sort((a, b) => order.indexOf(a.part) - order.indexOf(b.part));
  const figures = evidence(model, data, values, rows, at, told);
  const named = `Head ${label(model, at)}`;
  const whole = `${named} of ${model.name}${model.streams.length > 1 ? `, ${streamOf(model, at)}` : ""}`;
  const role = index.roles[model.roleOf[at]];
  const chip = element("span", { class: "chip" }, swatch(index.roles, model.roleOf[at]), role.title);
  const conflicts = data.disagreements.filter(({ head }) => head === at);
  const [first, ...rest] = told;
  const menu = exportMenu({
    tables: () => [figureTable(figures, whole), sentenceTable(index, told, whole)],
    pictures: () => [stripPicture(figures.slice(0, 14), whole)],
    cite: data.cite, command: data.figures[figures[0]?.number]?.command || index.command,
  });
  const examplesPlace = element("section", { id: "examples", hidden: true });
  const othersPlace = element("section", { id: "others", hidden: true });
  const portrait = element("div", { class: "portrait" },
    element("p", { class: "answer", id: "answer" }, first ? sentenceOf(named, first.sentence) : "Nothing that was measured stands out beyond chance."),
    conflicts.length ? element("div", { class: "warning", role: "note" }, element("b", {}, "Studies disagree"), ...conflicts.map((one) => element("p", {}, sentenceOf("", one.sentence).trim()))) : "",
    ...parts(model, at, rest, first?.part), ...nearest(model, data, at));
  place.append(
    element("div", { class: "crumbs" }, element("a", { href: address("model", [model.name, ...(model.streams.length > 1 ? [streamOf(model, at)] : [])]) }, model.name),
      element("span", {}, `${streamOf(model, at)}, layer ${model.place.layer[at] + 1}`), ...neighbours(model, at)),
    element("div", { class: "titled" }, element("h1", { tabindex: "-1" }, named, " ", chip), menu),
    element("div", { class: "split" }, portrait, element("a", { class: "where", href: address("model", [model.name]), title: "the map" }, thumbnail(index.roles, model, { marked: at, width: 260, most: 180 }))),
    examplesPlace,
    figureSection(model, at, data, figures, chosen),
    othersPlace,
  );
  const keys = (event) => followKey(event, model, at);
  addEventListener("keydown", keys);
  openExamples(model, data, at).then((examples) => showExamples(examplesPlace, model, at, data, examples));
  showOthers(index, othersPlace, model, at);
  return () => removeEventListener("keydown", keys);
}

function swatch(roles, role) {
  const made = element("i", { class: "swatch" });
  made.style.backgroundColor = roleColour(roles, role, isDark());
  return made;
}

/* Neighbours: the head before and after, and the same head a layer below and above. */
function neighbour(model, at, key) {
  const heads = headsOf(model, streamOf(model, at));
  const here = heads.indexOf(at);
  if (key === "ArrowLeft") return heads[here - 1];
  if (key === "ArrowRight") return heads[here + 1];
  const layer = model.place.layer[at] + (key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : NaN);
  return heads.find((other) => model.place.layer[other] === layer && model.place.head[other] === model.place.head[at]);
}

function neighbours(model, at) {
  const link = (key, text) => { const to = neighbour(model, at, key); return to === undefined ? null : element("a", { class: "step", href: headAddress(model, to), title: `key ${text[0]}` }, text.replace("#", label(model, to))); };
  return [link("ArrowLeft", "← #"), link("ArrowRight", "→ #")].filter(Boolean);
}

function followKey(event, model, at) {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || !/^Arrow(Left|Right)$/.test(event.key)) return;
  if (event.target.closest?.("input, select, textarea, .map, summary, .scroll")) return;
  const to = neighbour(model, at, event.key);
  if (to !== undefined) { event.preventDefault(); location.hash = headAddress(model, to); }
}

/** The sentences after the first, under what they are about. */
function parts(model, at, told, before) {
  const groups = [];
  for (const [part, title] of Object.entries(PARTS)) {
    const mine = told.filter((one) => one.part === part);
    if (!mine.length) continue;
    const list = element("ul", {}, ...mine.map((one) => element("li", {}, ...linked(model, at, one))));
    groups.push(element("h3", {}, part === before && title ? `${title}, too` : title), list);
  }
  return groups;
}

/** The heads that are nearest in what they attend to, where it was measured. */
function nearest(model, data, at) {
  const others = data.alike[at] ?? [];
  if (!others.length) return [];
  return [element("p", { class: "nearest" }, "Nearest in what they attend to: ", ...others.flatMap((other, own) => [own ? ", " : "", element("a", { href: headAddress(model, other) }, label(model, other))]), ".")];
}

/** A sentence in which the heads that it names are links; only those about heads alike name some. */
function linked(model, at, { part, sentence }) {
  if (part !== "alike") return [sentence];
  return sentence.split(/(\b\d+-\d+\b)/).map((piece) => {
    const other = find(model, streamOf(model, at), piece);
    return other >= 0 ? element("a", { href: headAddress(model, other) }, piece) : piece;
  });
}

/* Figures. */
function figureSection(model, at, data, figures, chosen) {
  const body = element("div", { class: "figures-of-head" });
  const field = element("input", { type: "search", placeholder: "a figure", "aria-label": "Search figures", value: chosen.figure ?? "" });
  const count = element("output");
  const all = model.streams.length > 1 ? "the stream" : "the model";
  const key = element("p", { class: "key" },
    keyed((surface, colours) => { surface.rect(2, 8, 20, 4, colours.ink); surface.disc(12, 10, 5, colours.ink); }, "this head, its 95 % interval"),
    keyed((surface, colours) => surface.rect(11, 1, 2, 18, colours.accent), "others of its layer"),
    keyed((surface, colours) => surface.rect(12, 5, 1, 10, colours.soft), `all heads of ${all}`),
    keyed((surface, colours) => { for (let y = 1; y < 19; y += 5) surface.rect(11, y, 1.5, 3, colours.negative); }, "chance"),
    keyed((surface, colours) => surface.frame(8.5, 6.5, 7, 7, colours.ink, 1.5), "untrained twin"));
  function fill() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) {
      const found = figures.filter(({ figure }) => words.every((word) => `${figure.title} ${figure.quantity} ${figure.study} ${figure.definition}`.toLowerCase().includes(word)));
      count.textContent = `${found.length} of ${figures.length} figures`;
      body.replaceChildren(figureTableOf(model, data, found));
      return;
    }
    count.textContent = `${figures.length} figures`;
    const studies = [...new Set(figures.map(({ figure }) => figure.study))];
    body.replaceChildren(...studies.map((study) => studyFigures(model, data, figures.filter(({ figure }) => figure.study === study), study)));
  }
  field.addEventListener("input", fill);
  fill();
  if (!figures.length) return element("section", {}, element("h2", {}, "Figures"), element("p", { class: "note" }, "No figure of this head is in the atlas."));
  return element("section", { id: "figures" }, element("h2", {}, "Figures beside those of other heads"), key, element("div", { class: "filter" }, field, count), body);
}

function keyed(paint, text) {
  const canvas = element("canvas", { "aria-hidden": "true" });
  paint(canvasSurface(canvas, 24, 20), theme(isDark()));
  return element("span", {}, canvas, text);
}

function studyFigures(model, data, figures, study) {
  const telling = figures.filter(({ strength }) => strength >= TELLING).slice(0, SHOWN);
  const shown = telling.length ? telling : figures.slice(0, 1);
  const rest = figures.filter((one) => !shown.includes(one));
  const source = data.sources.find((one) => one.study === study);
  const link = source?.folder ? element("a", { class: "see", href: fileLink(`${source.folder}/report.html`) }, "its page") : "";
  const folded = element("details", {}, element("summary", {}, `${rest.length} more figure${rest.length === 1 ? "" : "s"} of ${study}`));
  folded.addEventListener("toggle", () => { if (folded.open && folded.childNodes.length < 2) folded.append(figureTableOf(model, data, rest)); });
  return element("div", { class: "study" }, element("h3", {}, study, element("small", {}, source?.question ?? ""), " ", link), figureTableOf(model, data, shown), rest.length ? folded : "");
}

function figureTableOf(model, data, figures) {
  const several = new Set(data.figures.map(({ corpus }) => corpus)).size > 1;
  return element("div", { class: "strips", role: "list" }, ...figures.map((one) => {
    const { figure } = one;
    const canvas = element("canvas", { "aria-hidden": "true" });
    const strip = element("div", { class: "strip" }, canvas);
    sizing.observe(strip);
    strip.drawn = (width) => drawStrip(canvasSurface(canvas, width, STRIP), one, 0, 0, width, theme(isDark()));
    const rank = `${ordinal(one.rank)} of ${one.among}`;
    const facts = [isKnown(one.chance) ? `chance ${alone(one.chance, figure.kind)}` : "", isKnown(one.twin) ? `untrained ${alone(one.twin, figure.kind)}` : "", isKnown(one.p) ? `p ${pWritten(one.p)}` : "", isKnown(one.n) ? `n ${write(one.n, "count")}` : ""].filter(Boolean).join(" · ");
    return element("div", { class: "figure-row", role: "listitem", title: figure.definition || null },
      element("div", { class: "name" }, element("a", { href: address("model", [model.name], { by: figureKey(figure) }), title: "the map by this figure" }, figure.title), several && figure.corpus ? element("small", {}, figure.corpus) : ""),
      strip,
      element("div", { class: "value" }, element("b", {}, alone(one.own, figure.kind)), " ", element("span", {}, interval(one.low, one.high, figure.kind))),
      element("div", { class: "facts-of" }, element("span", {}, rank), " ", element("small", {}, facts)));
  }));
}

const pWritten = (p) => { const text = write(p, "p"); return /^[<>]/.test(text) ? text : `= ${text}`; };
const sizing = new ResizeObserver((entries) => entries.forEach(({ target, contentRect }) => { if (contentRect.width > 20) target.drawn(Math.floor(contentRect.width)); }));

function ordinal(n) {
  const last = n % 100 > 10 && n % 100 < 14 ? 0 : n % 10;
  return `${n}${["th", "st", "nd", "rd"][last] ?? "th"}`;
}

/* Examples. */
function showExamples(place, model, at, data, examples) {
  if (!examples.length) return;
  const about = [...new Set(examples.map(({ study, quantity }) => JSON.stringify([study, quantity])))].map((text) => JSON.parse(text));
  place.append(element("h2", {}, "In texts"), element("p", { class: "note" }, "The underlined word attends; the deeper a word is shaded, the more of its attention it gets."));
  for (const [study, quantity] of about) {
    const figure = data.figures.find((one) => one.quantity === quantity && (one.study === study || study === null));
    const title = figure?.title ?? quantity;
    if (title) place.append(element("h3", {}, title));
    for (const [kind, name] of Object.entries(KINDS)) {
      const mine = examples.filter((one) => one.quantity === quantity && one.study === study && one.example === kind);
      if (mine.length) place.append(element("div", { class: "examples" }, element("h4", {}, name), ...mine.map((one) => exampleOf(model, at, one, figure?.kind ?? "share", title))));
    }
  }
  place.hidden = false;
}

function exampleOf(model, at, example, kind, title) {
  const { words, weights, query } = example;
  const most = Math.max(...weights.map((weight) => weight ?? 0), 1e-9);
  const shown = words.map((_, place) => words.length <= LONG || Math.abs(place - query) <= AROUND || (weights[place] ?? 0) >= 0.2 * most);
  const line = element("p", { class: "text", dir: "auto" });
  words.forEach((word, place) => {
    if (!shown[place]) { if (place === 0 || shown[place - 1]) line.append(element("span", { class: "cut" }, "…"), " "); return; }
    const weight = weights[place] ?? 0;
    const made = element("span", { class: place === query ? "query" : null, title: `${write(weight, "share")}${place === query ? ", the word that attends" : ""}` }, word);
    made.style.setProperty("--weight", String(Math.sqrt(weight / most)));
    line.append(made, " ");
  });
  const told = [isKnown(example.value) ? `${title ? `${title}: ` : ""}${alone(example.value, kind)}` : "", example.corpus ?? ""].filter(Boolean).join(" · ");
  const open = example.page ? element("a", { class: "open", href: viewerLink(example.page, model, at) }, "open in the viewer") : "";
  return element("div", { class: "example" }, line, element("small", {}, told, " "), open);
}

/** The page of the viewer that shows a text, at this head. */
export function viewerLink(page, model, at) {
  const link = fileLink(page);
  const choice = `view=head&stream=${encodeURIComponent(streamOf(model, at))}&layer=${model.place.layer[at]}&head=${model.place.head[at]}&heads=${model.place.head[at]}&unit=word`;
  return `${link}${link.includes("#") ? "&" : "#"}${choice}`;
}

/* Heads of other models. */
async function showOthers(index, place, model, at) {
  const others = Object.keys(model.others).map((number) => index.models[number]);
  if (!others.length) return;
  const list = element("ul", {});
  for (const other of others.slice(0, 12)) {
    const [by] = model.others[other.number];
    const match = (await openMatches(model, other, by)).find((one) => one.at === at);
    if (!match) continue;
    const way = by === "number" ? "the same number" : `distance ${write(match.distance)}`;
    list.append(element("li", {}, ...(match.found >= 0
      ? [element("a", { href: headAddress(other, match.found) }, `${other.name} ${label(other, match.found)}`), ` (${way}): `, swatch(index.roles, other.roleOf[match.found]), index.roles[other.roleOf[match.found]].title]
      : [`${other.name}: no head that does alike`]), " ", element("a", { class: "see", href: address("compare", [model.name, other.name]) }, "compare")));
  }
  if (!list.childNodes.length) return;
  place.append(element("h2", {}, "In other models"), list);
  place.hidden = false;
}

/* What can be taken along. */
function figureTable(figures, whole) {
  const number = (value, kind) => cell(write(value, kind), value);
  const columns = ["value", "low", "high", "chance", "untrained", "p", "n", "rank"].map((title) => ({ title, number: true }));
  return {
    name: `${whole} figures`, title: "Figures", caption: `Figures of ${whole.replace(/^Head/, "head")}, those that say most first.`,
    columns: [{ title: "study" }, { title: "figure" }, { title: "corpus" }, ...columns],
    rows: figures.map(({ figure, own, low, high, chance, twin, p, n, rank }) => [cell(figure.study), cell(figure.title), cell(figure.corpus), number(own, figure.kind), number(low, figure.kind), number(high, figure.kind), number(chance, figure.kind), number(twin, figure.kind), number(p, "p"), number(n, "count"), number(rank, "count")]),
  };
}

function sentenceTable(index, told, whole) {
  return {
    name: `${whole} portrait`, title: "Portrait", caption: `What is known of ${whole.replace(/^Head/, "head")}.`,
    columns: [{ title: "part" }, { title: "role" }, { title: "sentence" }, { title: "study" }, { title: "value", number: true }, { title: "low", number: true }, { title: "high", number: true }, { title: "chance", number: true }],
    rows: told.map((one) => [cell(one.part), cell(index.roles[one.role].title), cell(one.sentence), cell(one.study), ...["value", "low", "high", "chance"].map((name) => cell(write(one[name]), one[name] ?? NaN))]),
  };
}

function stripPicture(figures, whole) {
  const twice = ({ figure }) => figures.filter((other) => other.figure.title === figure.title).length > 1;
  const left = 300, right = 120, width = 860, line = STRIP + 4;
  return {
    name: `${whole} figures`, title: "Figures", width, height: line * Math.max(1, figures.length),
    caption: `${whole}: its figures (black, with 95 % intervals) among those of all heads (grey) and of its layer (blue); dashed: chance, square: the untrained twin.`,
    draw(surface, colours) {
      figures.forEach((one, row) => {
        const y = row * line;
        const font = `12px ${colours.sans}`;
        surface.text(shortened(surface, twice(one) ? `${one.figure.title}, ${one.figure.study}` : one.figure.title, font, left - 12), left - 10, y + STRIP / 2, { font, align: "right", fill: colours.ink });
        drawStrip(surface, one, left, y, width - left - right, colours);
        surface.text(alone(one.own, one.figure.kind), width - right + 10, y + STRIP / 2, { font, fill: colours.ink });
      });
    },
  };
}

function shortened(surface, text, font, width) {
  let kept = text;
  while (kept.length > 4 && surface.measure(kept, font) > width) kept = `${kept.slice(0, -2).trimEnd()}…`;
  return kept;
}
