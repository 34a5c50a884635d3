// The page of a model: what its heads do in one sentence, a map of them all, what stands out, where studies disagree,
// and every head under its role.

import { address } from "./addresses.js";
import { roleColour } from "./colours.js";
import { element } from "./dom.js";
import { exportMenu, keyBelow } from "./exports.js";
import { write } from "./kinds.js";
import { byLayer, byRole } from "./layouts.js";
import { cell, listing } from "./listing.js";
import { drawMap, showMap } from "./maps.js";
import { counted, headsOf, label, openModel, openValues, sentenceOf, streamOf } from "./models.js";
import { theme } from "./palette.js";
import { byFigure, byLayers, byRoles } from "./paints.js";

const MANY = 8; // sentences that are shown at once
const SAVED = 1000; // pixels across a saved map

/** Where a head's own page is. */
export function headAddress(model, at) {
  return address("head", [model.name, streamOf(model, at), label(model, at)]);
}

/** Draw the page. */
export async function modelPage(index, place, { model, about, chosen }) {
  const data = await openModel(model);
  const stream = model.streams.find((one) => one.stream === about[1]) ?? model.streams[0];
  const heads = headsOf(model, stream?.stream);
  const several = model.streams.length > 1;
  const figure = data.figures.findIndex((one) => figureKey(one) === chosen.by);
  const values = figure >= 0 ? await openValues(model) : null;
  const only = index.roles.findIndex(({ role }) => role === chosen.role);
  const go = (changes) => { location.hash = address("model", [model.name, ...(about[1] ? [about[1]] : [])], { ...chosen, ...changes }); };
  const painter = figure >= 0 ? byFigure(model, data, values, figure, heads)
    : chosen.by === "layer" ? byLayers(model, heads)
      : byRoles(index, model, heads, only >= 0 ? only : null, (role) => go({ role: role === null ? null : index.roles[role].role }));
  const lay = (width) => (chosen.by === "layer" ? byRole(model, heads, width, index.roles)
    : byLayer(model, heads, width, { keyHeads: stream?.key_heads ?? 0, tall: width < 560 ? 330 : 420 }));
  const named = several ? `${model.name}, ${stream.stream}` : model.name;
  const here = ({ head }) => head < 0 || heads.includes(head);

  const mapPlace = element("div", { class: "map-place" });
  const rows = tableOfHeads(index, model, data, heads);
  const menu = exportMenu({
    tables: () => [{ ...rows, name: `${named} heads`, title: "Heads", caption: `What the heads of ${named} do.` },
      ...(figure >= 0 ? [tableOfFigure(model, data, values, figure, heads, named)] : [])],
    pictures: () => [mapPicture(`${named} map`, lay, painter)],
    cite: data.cite, command: figure >= 0 ? data.figures[figure].command : index.command || data.sources[0]?.command || "",
  });
  place.append(
    element("h1", { tabindex: "-1" }, `What the ${several ? `${stream.stream} ` : ""}heads of ${model.name} do`),
    element("p", { class: "answer", id: "answer" }, several ? stream.answer : model.answer),
    element("div", { class: "choices" }, choiceOfColours(index, data, chosen, go), streamTabs(model, stream, chosen), menu),
    painter.legend(), mapPlace,
    stream?.key_heads > 0 && stream.key_heads < stream.heads && chosen.by !== "layer" ? element("p", { class: "note" }, `Heads under one line share their keys: ${stream.key_heads} groups in a layer.`) : "",
    ...sentences(model, "stands-out", "What stands out", data.standsOut.filter(here), "Chosen on one half of the texts, printed from the other."),
    ...disagreements(model, data.disagreements.filter(here)),
    ...roleList(index, model, data, heads, only),
  );
  let map = null;
  place.addEventListener("attlas-shown", () => {
    map = showMap(mapPlace, {
      lay, paint: (at) => painter.paint(at), link: (at) => headAddress(model, at), name: `Map of ${heads.length} heads of ${named}; arrow keys go from head to head`,
      say: (at) => [`Head ${label(model, at)}`, ...new Set([...painter.say(at), index.roles[model.roleOf[at]].title]), data.first[at]],
    });
  });
  return () => map?.destroy();
}

/** What a figure is called in the address. */
export function figureKey({ study, quantity, corpus }) {
  return [study, quantity, corpus].filter(Boolean).join(":");
}

function choiceOfColours(index, data, chosen, go) {
  const option = (value, text) => element("option", { value, selected: (chosen.by ?? "") === value || null }, text);
  const studies = [...new Set(data.figures.map(({ study }) => study))];
  const several = (study, quantity) => data.figures.filter((one) => one.study === study && one.quantity === quantity).length > 1;
  const groups = studies.map((study) => element("optgroup", { label: study }, ...data.figures.filter((one) => one.study === study).map((one) =>
    option(figureKey(one), several(study, one.quantity) ? `${one.title} (${one.corpus})` : one.title))));
  const list = element("select", { id: "by", change: () => go({ by: list.value, role: null }) },
    option("", "what they do"), option("layer", "layer"), ...groups);
  return element("label", {}, "Coloured by ", list);
}

function streamTabs(model, stream, chosen) {
  if (model.streams.length < 2) return "";
  return element("div", { id: "streams", role: "group", "aria-label": "Which attention" }, ...model.streams.map((one) =>
    element("button", { type: "button", "aria-pressed": String(one === stream), click: () => { location.hash = address("model", [model.name, one.stream], chosen); } }, one.stream)));
}

/** A section of sentences, each with the head that it is about; none where there are none. */
function sentences(model, id, title, told, note) {
  if (!told.length) return [];
  const link = (one) => (one.head >= 0 ? element("a", { class: "see", href: headAddress(model, one.head) }, `head ${label(model, one.head)}`) : "");
  const item = (one) => (/^\p{Lu}/u.test(one.sentence) ? element("li", {}, sentenceOf("", one.sentence), " ", link(one)) : element("li", {}, link(one), ": ", sentenceOf("", one.sentence).trim()));
  const list = element("ol", { class: "findings" }, ...told.slice(0, MANY).map(item));
  return [element("section", { id }, element("h2", {}, title), list, moreOf(list, told, item), element("p", { class: "note" }, note))];
}

function moreOf(list, told, item) {
  if (told.length <= MANY) return "";
  const more = element("button", { type: "button", class: "more", click: () => { list.append(...told.slice(MANY).map(item)); more.remove(); } }, `show all ${told.length}`);
  return more;
}

function disagreements(model, told) {
  return sentences(model, "disagreements", "Where studies disagree", told, "Both are shown; neither is averaged away.");
}

/** Every head under its role, its first sentence beside it. */
function roleList(index, model, data, heads, only) {
  const groups = counted(model, heads).filter(([role]) => only < 0 || role === only).map(([role, count]) => {
    const mine = heads.filter((at) => model.roleOf[at] === role);
    const swatch = element("i", { class: "swatch" });
    swatch.style.backgroundColor = roleColour(index.roles, role, dark());
    const items = mine.map((at) => element("li", {}, element("a", { href: headAddress(model, at) }, label(model, at)), " ", data.first[at]));
    return element("div", { class: "role" }, element("h3", {}, swatch, index.roles[role].title, element("small", {}, `${count} head${count === 1 ? "" : "s"}`)),
      index.roles[role].meaning ? element("p", { class: "note" }, index.roles[role].meaning) : "", element("ul", { class: data.first[mine[0]] ? "heads" : "heads short" }, ...items));
  });
  return heads.length ? [element("section", { id: "heads" }, element("h2", {}, "Heads by what they do"), ...groups)] : [];
}

const dark = () => getComputedStyle(document.documentElement).colorScheme === "dark";

function tableOfHeads(index, model, data, heads) {
  return {
    columns: [{ title: "head" }, { title: "stream" }, { title: "layer", number: true }, { title: "role" }, { title: "sentence" }],
    rows: heads.map((at) => [cell(label(model, at)), cell(streamOf(model, at)), cell(model.place.layer[at] + 1, model.place.layer[at] + 1), cell(index.roles[model.roleOf[at]].title), cell(data.first[at])]),
  };
}

function tableOfFigure(model, data, values, number, heads, named) {
  const { title, study, kind } = data.figures[number];
  return {
    name: `${named} ${title}`, title: "Figure", caption: `${title} (${study}) of the heads of ${named}.`,
    columns: [{ title: "head" }, { title: "stream" }, { title, number: true }],
    rows: heads.map((at) => [cell(label(model, at)), cell(streamOf(model, at)), cell(write(values.of(number, at), kind), values.of(number, at))]),
  };
}

/** A map as a picture to be saved. */
export function mapPicture(name, lay, painter) {
  const layout = lay(SAVED);
  const key = keyBelow(painter.key(false), SAVED, theme(false));
  return {
    name, title: "Map", caption: painter.caption, width: SAVED, height: layout.height + key.height,
    draw(surface, colours) {
      drawMap(surface, layout, (at) => painter.paint(at, false), colours);
      key.draw(surface, layout.height);
    },
  };
}
