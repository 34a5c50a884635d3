// The card of a model: what was run, on what, by which version, the command that repeats each, what was left out, and
// how to cite it.

import { fileLink } from "./addresses.js";
import { element } from "./dom.js";
import { exportMenu } from "./exports.js";
import { write } from "./kinds.js";
import { cell } from "./listing.js";
import { headsOf, openModel } from "./models.js";

/** Draw the page. */
export async function cardPage(index, place, { model }) {
  const data = await openModel(model);
  const studies = [...new Set(data.sources.map(({ study }) => study))];
  const table = {
    name: `${model.name} studies`, title: "Studies", caption: `What the atlas of ${model.name} is made of.`,
    columns: [{ title: "study" }, { title: "corpus" }, { title: "version" }, { title: "started" }, { title: "seconds", number: true }, { title: "command" }],
    rows: data.sources.map((one) => [cell(one.study), cell(one.corpus), cell(one.version), cell(one.started), cell(write(one.seconds, "seconds"), one.seconds ?? NaN), cell(one.command)]),
  };
  const fact = (name, value) => (value === null || value === undefined || value === "" ? null : element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  place.append(
    element("div", { class: "titled" }, element("h1", { tabindex: "-1" }, `The card of ${model.name}`), exportMenu({ tables: () => [table], cite: data.cite, command: index.command })),
    element("p", { class: "answer", id: "answer" }, studies.length ? `${data.figures.length} figures of each of ${write(model.count, "count")} heads, from ${data.sources.length} run${data.sources.length === 1 ? "" : "s"} of ${studies.length} stud${studies.length === 1 ? "y" : "ies"}: ${studies.join(", ")}.` : "Nothing is known of how these figures were made."),
    element("dl", { class: "facts-list" }, fact("family", data.family), fact("parameters", data.parameters === null ? "" : write(data.parameters, "count")), fact("fingerprint", data.fingerprint),
      ...model.streams.map(({ stream, layers, heads, key_heads: keys }) => fact(stream, `${layers} layer${layers === 1 ? "" : "s"} of ${even(model, stream, layers * heads) ? "" : "up to "}${heads} heads${keys && keys < heads ? `, ${keys} groups of keys` : ""}`))),
    element("section", { id: "studies" }, element("h2", {}, "What was run"), element("ul", { class: "runs" }, ...data.sources.map(run))),
    data.leftOut.length ? element("section", { id: "left-out" }, element("h2", {}, "What was left out"), element("ul", {}, ...data.leftOut.map(({ given, reason }) => element("li", {}, element("b", {}, given), ": ", reason)))) : "",
    index.remarks.length ? element("section", { id: "remarks" }, element("h2", {}, "Before figures are compared"), element("ul", {}, ...index.remarks.map((one) => element("li", {}, one)))) : "",
    element("section", { id: "cite" }, element("h2", {}, "How to cite"), element("pre", {}, data.cite)),
    index.command ? element("section", { id: "again" }, element("h2", {}, "To make it again"), element("pre", {}, index.command)) : "",
  );
}

/** Whether every layer has as many heads as the one with most. */
function even(model, stream, most) {
  return headsOf(model, stream).length === most;
}

/** A time as people read it, without parts of a second; one that is none is left as it is. */
function moment(text) {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text ?? "") ? text.slice(0, 16).replace("T", " ") : text;
}

function run(one) {
  const told = [one.corpus, one.version ? `attlas ${one.version}` : "", moment(one.started), one.seconds === null ? "" : `${write(one.seconds, "seconds")} s`].filter(Boolean).join(" · ");
  return element("li", {}, element("b", {}, one.study), " ", one.question ? element("span", {}, one.question) : "", " ",
    one.folder ? element("a", { class: "see", href: fileLink(`${one.folder}/report.html`) }, "its page") : "",
    element("p", { class: "note" }, told), one.command ? element("code", {}, one.command) : "");
}
