// The site: the bar on top, and the page that the address names. One script draws all pages; a click on a link changes
// the address, and the page follows.

import { address, read } from "./addresses.js";
import { element } from "./dom.js";
import { openIndex } from "./models.js";
import { hush } from "./tips.js";
import { modelPage } from "./modelpage.js";
import { headPage } from "./headpage.js";
import { searchPage } from "./searchpage.js";
import { comparePage } from "./comparepage.js";
import { cardPage } from "./cardpage.js";
import { indexPage } from "./indexpage.js";

const PAGES = { model: modelPage, head: headPage, search: searchPage, compare: comparePage, card: cardPage, models: indexPage };
const root = document.documentElement;
const memory = {
  get() { try { return localStorage.getItem("attlas-theme"); } catch { return null; } },
  set(value) { try { localStorage.setItem("attlas-theme", value); } catch { /* a page may be denied a memory */ } },
};
const chosen = memory.get();
if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;

let leave = () => {};
let drawing = 0;

/** Draw the page that the address names, and follow it from now on. */
export async function begin() {
  const bar = element("header", { class: "bar" });
  const main = element("main", { id: "content" });
  document.body.append(bar, main);
  let index;
  try { index = await openIndex(); } catch (problem) { main.replaceChildren(element("p", { class: "warning" }, problem.message)); return; }
  const draw = () => drawPage(index, bar, main);
  addEventListener("hashchange", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("attlas-theme", draw);
  await draw();
}

/** What the address asks for, made whole: a page that there is, of a model that there is. */
function asked(index) {
  const { page, about, chosen: choices } = read(location.hash);
  const known = Object.hasOwn(PAGES, page) ? page : index.models.length > 1 ? "models" : "model";
  const model = ["model", "head", "card"].includes(known) ? index.models.find(({ name }) => name === about[0]) ?? (about.length ? null : index.models[0]) : null;
  return { page: known, about, chosen: choices, model };
}

async function drawPage(index, bar, main) {
  const turn = ++drawing;
  root.dataset.ready = "false";
  hush();
  const wish = asked(index);
  if (!index.models.length) wish.page = "models";
  drawBar(index, bar, wish);
  const place = element("div", { class: `page ${wish.page}` });
  let ended = () => {};
  try {
    if (wish.model === null && ["model", "head", "card"].includes(wish.page)) {
      place.append(element("h1", {}, "There is no such model here"), element("p", {}, `This atlas has none called “${wish.about[0]}”. `, element("a", { href: address("models") }, "All models")));
    } else {
      ended = (await PAGES[wish.page](index, place, wish, () => turn === drawing)) ?? ended;
    }
  } catch (problem) {
    if (turn !== drawing) return;
    console.error(problem);
    place.replaceChildren(element("p", { class: "warning" }, problem.message));
  }
  if (turn !== drawing) { ended(); return; }
  leave();
  const before = main.dataset.shown;
  main.replaceChildren(place);
  place.dispatchEvent(new Event("attlas-shown"));
  leave = ended;
  const where = [wish.page, ...wish.about.slice(0, 3)].join("/");
  if (before !== undefined && before !== where) { scrollTo(0, 0); place.querySelector("h1")?.focus({ preventScroll: true }); }
  main.dataset.shown = where;
  document.title = place.querySelector("h1")?.textContent ?? document.title;
  root.dataset.ready = "true";
  performance.mark("attlas:drawn");
}

function drawBar(index, bar, { page, model, about, chosen: choices }) {
  const several = index.models.length > 1;
  const current = model ?? index.models.find(({ name }) => name === about[0]) ?? (several ? null : index.models[0]) ?? null;
  const link = (name, text, to) => element("a", { href: to, "aria-current": page === name ? "page" : null }, text);
  const links = [
    several ? link("models", "All models", address("models")) : null,
    current ? link("model", several ? current.name : "Map", address("model", [current.name])) : null,
    current ? link("card", "Card", address("card", [current.name])) : null,
    index.models.some(({ others }) => Object.keys(others).length) || several ? link("compare", "Compare", address("compare", current ? [current.name] : [])) : null,
  ];
  const held = bar.querySelector("input[type=search]");
  if (held && page === "search" && document.activeElement === held) {
    bar.querySelector("nav").replaceChildren(...links.filter(Boolean));
    return;
  }
  const field = element("input", { type: "search", id: "search", placeholder: "object, induction, [SEP] …", "aria-label": "Search heads", value: page === "search" ? about[0] ?? "" : "", autocomplete: "off" });
  let wait = 0;
  const go = () => { clearTimeout(wait); if (field.value.trim()) location.hash = address("search", [field.value.trim()], page === "search" ? choices : {}); };
  field.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(go, 120); });
  const form = element("form", { role: "search", submit: (event) => { event.preventDefault(); go(); } }, field);
  const theme = element("button", { type: "button", id: "theme", "aria-pressed": String(dark()), click: () => {
    root.dataset.theme = dark() ? "light" : "dark";
    memory.set(root.dataset.theme);
    dispatchEvent(new Event("attlas-theme"));
  } }, "Dark");
  bar.replaceChildren(element("nav", { "aria-label": "Pages" }, ...links), form, element("div", { class: "controls" }, theme));
}

function dark() {
  return (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
}
