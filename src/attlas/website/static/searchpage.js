// What answers to a question: heads in the order of evidence, each with the sentence that answers; heads, models and
// figures that are named outright come first.

import { address } from "./addresses.js";
import { element } from "./dom.js";
import { exportMenu } from "./exports.js";
import { findHeads } from "./finding.js";
import { write } from "./kinds.js";
import { cell } from "./listing.js";
import { figureKey, headAddress } from "./modelpage.js";
import { label, find, streamOf } from "./models.js";
import { isDark, roleColour } from "./colours.js";

const MOST = 40;
const FEW = 8; // answers below which it is told what can be asked for
const EXAMPLES = ["object", "induction", "[SEP]", "previous", "does nothing", "matters for sentiment"];

/** Draw the page. */
export async function searchPage(index, place, { about, chosen }) {
  const question = about.join("/");
  const only = index.models.find(({ name }) => name === chosen.model) ?? null;
  const most = Math.min(4000, Number(chosen.most) || MOST);
  const answer = await findHeads(index, question, { most, only });
  const several = index.models.length > 1;
  const { found } = answer;
  const title = question ? `Heads for “${question}”` : "Search";
  const told = !question.trim() ? "Ask for what heads do, where they rest, or what they matter for." : found.length
    ? `${answer.whole ? "" : "The first "}${found.length} head${found.length === 1 ? "" : "s"}${only ? ` of ${only.name}` : ""}, the strongest evidence first${answer.missing ? "; no sentence has all of these words" : ""}.`
    : "No sentence about a head answers to this.";
  const rows = found.map((one, at) => ({ ...one, model: index.models[one.model], rank: at + 1 }));
  const table = {
    name: `search ${question}`, title: "Heads", caption: `Heads that answer to “${question}”, the strongest evidence first.`,
    columns: [{ title: "model" }, { title: "stream" }, { title: "head" }, { title: "strength", number: true }, { title: "sentence" }],
    rows: rows.map(({ model, head, strength, sentence }) => [cell(model.name), cell(streamOf(model, head)), cell(label(model, head)), cell(write(strength, "share"), strength), cell(sentence)]),
  };
  place.append(
    element("div", { class: "titled" }, element("h1", { tabindex: "-1" }, title), rows.length ? exportMenu({ tables: () => [table], command: index.command }) : ""),
    element("p", { class: "answer", id: "answer", "aria-live": "polite" }, told),
    several ? element("div", { class: "choices" }, choiceOfModel(index, question, only)) : "",
    element("p", { class: "tries" }, "Try: ", ...EXAMPLES.map((text) => element("a", { class: "chip", href: address("search", [text], chosen) }, text))),
    ...outright(index, question, only), figures(index, answer.figures, only),
    element("ol", { class: "found" }, ...rows.map(({ model, head, strength, sentence }) => {
      const swatch = element("i", { class: "swatch" });
      swatch.style.backgroundColor = roleColour(index.roles, model.roleOf[head], isDark());
      const bar = element("span", { class: "strength", title: `evidence ${write(strength, "share")}: how far the near end of the interval is beyond chance` });
      bar.style.setProperty("--share", String(strength));
      return element("li", {}, element("a", { href: headAddress(model, head) }, swatch, several ? `${model.name} ` : "", model.streams.length > 1 ? `${streamOf(model, head)} ` : "", label(model, head)), element("span", { class: "sentence" }, sentence), bar);
    })),
    found.length < FEW ? element("p", { class: "outright" }, "What heads were found to do: ", ...present(index).map((role) => element("a", { class: "chip", href: address("search", [index.roles[role].title], chosen) }, index.roles[role].title))) : "",
    answer.whole ? "" : element("a", { class: "more", href: address("search", [question], { ...chosen, most: 5 * most }) }, "show more"),
  );
}

function choiceOfModel(index, question, only) {
  const list = element("select", { id: "within", change: () => { location.hash = address("search", [question], { model: list.value }); } },
    element("option", { value: "" }, "all models"), ...index.models.map(({ name }) => element("option", { value: name, selected: name === only?.name || null }, name)));
  return element("label", {}, "In ", list);
}

/** The roles that heads have, the most frequent first. */
function present(index) {
  const counts = new Map();
  for (const model of index.models) for (const role of model.roleOf) counts.set(role, (counts.get(role) ?? 0) + 1);
  return [...counts].filter(([role]) => index.roles[role].role !== "other").sort((a, b) => b[1] - a[1]).map(([role]) => role);
}

/** Heads by their number, and models by their name. */
function outright(index, question, only) {
  const asked = question.trim();
  const links = [];
  for (const model of only ? [only] : index.models) {
    for (const { stream } of model.streams) {
      const at = find(model, stream, asked);
      if (at >= 0) links.push(element("a", { class: "chip", href: headAddress(model, at) }, `head ${asked} of ${model.name}${model.streams.length > 1 ? `, ${stream}` : ""}`));
    }
    if (asked.length > 1 && model.name.toLowerCase().includes(asked.toLowerCase())) links.push(element("a", { class: "chip", href: address("model", [model.name]) }, model.name));
  }
  return links.length ? [element("p", { class: "outright named" }, ...links.slice(0, 30))] : [];
}

/** Figures by this name, as maps. */
function figures(index, found, only) {
  const shown = found.slice(0, 12);
  if (!shown.length) return "";
  return element("p", { class: "outright measured" }, "Figures on the map: ", ...shown.map((figure) => {
    const model = only ?? index.models[figure.models[0]];
    return element("a", { class: "chip", href: address("model", [model.name], { by: figureKey({ ...figure, corpus: figure.corpora[figure.models.indexOf(model.number)] }) }) }, `${figure.title} (${figure.study})`);
  }));
}
