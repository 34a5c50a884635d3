// Models beside each other: heads paired by what they do, or by their number where one model may have been made of the
// other; and which roles one has and the other lacks.

import { address } from "./addresses.js";
import { isDark, roleColour } from "./colours.js";
import { element } from "./dom.js";
import { exportMenu } from "./exports.js";
import { write } from "./kinds.js";
import { byLayer } from "./layouts.js";
import { cell, listing } from "./listing.js";
import { showMap } from "./maps.js";
import { headAddress, mapPicture } from "./modelpage.js";
import { counted, headsOf, label, openMatches, streamOf } from "./models.js";
import { byRoles } from "./paints.js";

/** Draw the page. */
export async function comparePage(index, place, { about, chosen: choice }) {
  const named = about.map((name) => index.models.find((model) => model.name === name)).filter(Boolean);
  const chosen = [...new Set(named)];
  const [first] = chosen;
  if (first && chosen.length === 1) chosen.push(...Object.keys(first.others).slice(0, 1).map((number) => index.models[number]));
  if (!first) { const pair = index.models.find((model) => Object.keys(model.others).length); if (pair) chosen.push(pair, index.models[Object.keys(pair.others)[0]]); }
  const choosing = element("div", { class: "choices" }, ...choices(index, chosen));
  if (chosen.length < 2) {
    place.append(element("h1", { tabindex: "-1" }, "Compare models"), element("p", { class: "answer", id: "answer" }, index.models.length < 2 ? "There is one model in this atlas; join another to compare them." : "Choose two models."), choosing,
      element("p", { class: "note" }, "Heads are matched by what they do when atlases are joined: ", element("code", {}, "attlas atlas join FOLDER FOLDER --out FOLDER")));
    return;
  }
  const [reference, ...others] = chosen;
  const compared = await Promise.all(others.map(async (other) => {
    const ways = reference.others[other.number] ?? [];
    const by = ways.includes(choice.by) ? choice.by : ways[0] ?? null;
    return { other, by, matches: by ? await openMatches(reference, other, by) : [] };
  }));
  const ways = [...new Set(others.flatMap((other) => reference.others[other.number] ?? []))].sort();
  const table = roleTable(index, chosen);
  const pairs = pairTable(index, reference, compared);
  place.append(
    element("h1", { tabindex: "-1" }, `${chosen.slice(0, -1).map(({ name }) => name).join(", ")} and ${chosen.at(-1).name}`),
    element("p", { class: "answer", id: "answer" }, compared.map((one) => sentence(reference, one)).join(" ")),
    element("div", { class: "choices" }, ...choosing.childNodes, ways.length > 1 ? choiceOfWay(chosen, ways, compared) : "", exportMenu({ tables: () => [...(pairs ? [pairs] : []), table], pictures: () => chosen.map((model) => pictureOf(index, model)), command: index.command })),
  );
  const maps = element("div", { class: "beside-maps" });
  place.append(maps);
  if (pairs) place.append(pairSection(pairs, compared));
  const lacking = lacks(index, chosen);
  if (lacking.length) place.append(element("section", { id: "lacks" }, element("h2", {}, "What one has and another lacks"), element("ul", {}, ...lacking.map((line) => element("li", {}, line)))));
  place.append(element("section", { id: "roles" }, element("h2", {}, "Roles"), listing({ ...table, searched: false })));
  const shown = [];
  place.addEventListener("attlas-shown", () => drawMaps(index, maps, chosen, compared, shown));
  return () => shown.forEach((map) => map.destroy());
}

function choices(index, chosen) {
  const list = (own) => {
    const made = element("select", { "aria-label": own === 0 ? "Model" : "compared with", change: () => {
      const names = chosen.map(({ name }) => name);
      names[own] = made.value;
      location.hash = address("compare", names.filter(Boolean));
    } }, element("option", { value: "" }, own < 2 ? "a model" : "none"), ...index.models.map(({ name }) => element("option", { value: name, selected: name === chosen[own]?.name || null }, name)));
    return made;
  };
  const count = Math.min(index.models.length, Math.max(2, chosen.length + (chosen.length > 1 ? 1 : 0)));
  return Array.from({ length: count }, (_, own) => element("label", {}, own === 0 ? "" : "with ", list(own)));
}

const WAYS = { behaviour: "what they do", number: "number" };

function choiceOfWay(chosen, ways, compared) {
  return element("div", { class: "tabs", role: "group", "aria-label": "Heads paired by" }, ...ways.map((way) => element("button", {
    type: "button", "aria-pressed": String(compared.some(({ by }) => by === way)),
    click: () => { location.hash = address("compare", chosen.map(({ name }) => name), { by: way }); },
  }, `by ${WAYS[way] ?? way}`)));
}

/** How many heads have a match, in one sentence. */
function sentence(reference, { other, by, matches }) {
  if (!matches.length) return `Heads of ${reference.name} and ${other.name} have not been matched.`;
  const streams = new Set(matches.map(({ at }) => reference.streamOf[at]));
  const count = reference.streamOf.filter((stream) => streams.has(stream)).length;
  const alike = matches.filter((match) => match.alike).length;
  if (by === "number") {
    const same = matches.filter(({ at, found }) => found >= 0 && reference.roleOf[at] === other.roleOf[found]).length;
    return `${matches.length} of ${count} heads of ${reference.name} stand in ${other.name} under their number: ${alike} of them do most like each other, ${same} have the same role.`;
  }
  return `${alike} of ${count} heads of ${reference.name} have one in ${other.name} that does alike.`;
}

function notes(compared) {
  const ways = new Set(compared.map(({ by }) => by));
  return [
    "The distance is in spreads of heads over all figures that both models have; heads do alike where they are nearer to each other, by a tenth at least, than either is to the next nearest head of either model.",
    ways.has("behaviour") ? "Paired by what they do, never by number." : "", ways.has("number") ? "Paired by number, as of one model before and after a change." : "",
  ].filter(Boolean).join(" ");
}

function roleTable(index, chosen) {
  const counts = chosen.map((model) => new Map(counted(model, [...model.roleOf.keys()])));
  const roles = index.roles.map((_, role) => role).filter((role) => counts.some((own) => own.has(role)));
  return {
    name: chosen.map(({ name }) => name).join(" "), title: "Roles", caption: `How many heads of ${chosen.map(({ name }) => name).join(" and ")} have which role.`,
    columns: [{ title: "role" }, ...chosen.map(({ name }) => ({ title: name, number: true }))],
    rows: roles.map((role) => [cell(index.roles[role].title, index.roles[role].title, { role: roleColour(index.roles, role, isDark()) }), ...counts.map((own) => cell(own.get(role) ?? 0, own.get(role) ?? 0))]),
  };
}

/** Roles that some models have and others have not. */
function lacks(index, chosen) {
  const counts = chosen.map((model) => new Map(counted(model, [...model.roleOf.keys()])));
  return index.roles.flatMap(({ role, title }, at) => {
    if (role === "other") return [];
    const having = chosen.filter((_, own) => counts[own].has(at)), without = chosen.filter((_, own) => !counts[own].has(at));
    if (!having.length || !without.length) return [];
    const told = having.map((model) => `${model.name} has ${counts[chosen.indexOf(model)].get(at)}`).join(", ");
    return [`${title}: ${told}; ${without.map(({ name }) => name).join(" and ")} none.`];
  });
}

/** Pairs of heads that do alike; the others are folded. */
function pairSection(pairs, compared) {
  const [alike, others] = [true, false].map((wanted) => ({ ...pairs, rows: pairs.rows.filter((row) => row.alike === wanted) }));
  const folded = element("details", {}, element("summary", {}, `${others.rows.length} head${others.rows.length === 1 ? "" : "s"} without one that does alike`));
  folded.addEventListener("toggle", () => { if (folded.open && folded.childNodes.length < 2) folded.append(listing({ ...others, caption: `${pairs.caption} Without one that does alike.` })); });
  return element("section", { id: "pairs" }, element("h2", {}, "Head by head"), element("p", { class: "note" }, notes(compared)),
    alike.rows.length ? listing(alike) : element("p", {}, "No two heads do alike."), others.rows.length ? folded : "");
}

function pairTable(index, reference, compared) {
  const matched = compared.filter(({ matches }) => matches.length);
  if (!matched.length) return null;
  const columns = [{ title: reference.name }, { title: "role" }];
  for (const { other, by } of matched) columns.push({ title: other.name }, { title: "role there" }, { title: "distance", number: true }, { title: "next nearest", number: true }, ...(by === "number" ? [{ title: "alike" }] : []));
  const of = (model, at) => (at < 0 ? cell("", "") : cell(`${model.streams.length > 1 ? `${streamOf(model, at)} ` : ""}${label(model, at)}`, model.streamOf[at] * 1e8 + model.place.layer[at] * 1e4 + model.place.head[at], { link: headAddress(model, at) }));
  const role = (model, at) => (at < 0 ? cell("none alike", "") : cell(index.roles[model.roleOf[at]].title, index.roles[model.roleOf[at]].title, { role: roleColour(index.roles, model.roleOf[at], isDark()) }));
  const number = (value) => cell(write(value), value ?? NaN);
  const streams = new Set(matched.flatMap(({ matches }) => matches.map(({ at }) => reference.streamOf[at])));
  const lines = [...reference.roleOf.keys()].filter((at) => streams.has(reference.streamOf[at]));
  const places = matched.map(({ matches }) => new Map(matches.map((match) => [match.at, match])));
  return {
    name: `${[reference, ...matched.map(({ other }) => other)].map(({ name }) => name).join(" ")} heads`, title: "Heads",
    caption: `Heads of ${reference.name} beside those of ${matched.map(({ other }) => other.name).join(" and ")}.`, columns,
    rows: lines.map((at) => Object.assign([of(reference, at), role(reference, at), ...matched.flatMap(({ other, by }, own) => {
      const match = places[own].get(at) ?? { found: -1, distance: NaN, runnerUp: NaN, alike: false };
      return [of(other, match.found), role(other, match.found), number(match.distance), number(match.runnerUp), ...(by === "number" ? [cell(match.alike ? "yes" : "no")] : [])];
    })], { alike: places.some((own) => own.get(at)?.alike) })),
  };
}

/** The map of a model as a picture to be saved. */
function pictureOf(index, model) {
  const heads = headsOf(model, model.streams[0]?.stream);
  return { ...mapPicture(`${model.name} map`, (width) => byLayer(model, heads, width, { tall: 420 }), byRoles(index, model, heads, null, () => {})), title: model.name };
}

/** The maps of all; pointing at a head marks the one that it is matched with. */
function drawMaps(index, place, chosen, compared, shown) {
  const stream = chosen[0].streams[0]?.stream;
  chosen.forEach((model, own) => {
    const heads = headsOf(model, model.streams.find((one) => one.stream === stream)?.stream ?? model.streams[0]?.stream);
    const painter = byRoles(index, model, heads, null, () => {});
    const inside = element("div", { class: "map-place" });
    place.append(element("figure", {}, element("figcaption", {}, model.name), inside));
    shown.push(showMap(inside, {
      lay: (width) => byLayer(model, heads, width, { tall: 260 }), paint: (at) => painter.paint(at), link: (at) => headAddress(model, at), name: `Map of ${model.name}`,
      say: (at) => [`${model.name} ${label(model, at)}`, ...painter.say(at), ...partners(chosen, compared, own, at).map(({ model: other, at: found }) => `↔ ${other.name} ${label(other, found)}: ${index.roles[other.roleOf[found]].title}`)],
      pointed: (at) => shown.forEach((map, other) => map.mark(at === null || other === own ? null : partners(chosen, compared, own, at).find(({ own: at2 }) => at2 === other)?.at ?? null)),
    }));
  });
}

/** The heads that a head is matched with. */
function partners(chosen, compared, own, at) {
  if (own === 0) return compared.flatMap(({ other, matches }, place) => matches.filter((match) => match.at === at && match.found >= 0).map(({ found }) => ({ model: other, at: found, own: place + 1 })));
  return compared[own - 1].matches.filter(({ found }) => found === at).map((match) => ({ model: chosen[0], at: match.at, own: 0 }));
}
