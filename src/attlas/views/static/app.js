// The app of `attlas serve`: a form to ask with, and the viewer below it. What was asked and what is chosen are both kept
// in the address after '#', so that reloading or going back shows the same thing again. Who may ask is
// told by a cookie that no script can read; nothing is kept in stores.

import { element, surroundingsAreDark } from "./dom.js";
import { START, fromFragment, toFragment } from "./state.js";
import { growingMap } from "./growing.js";
import { theme } from "./palette.js";
import { mount } from "./viewer.js";

const EXAMPLE = "The farmer offered apples to the housekeeper, because he had too many of them.";
const LONGEST_KEPT = 20_000; // characters of a text that an address still carries
const ANOTHER = "\u0000another"; // no model has this name
const NOTHING_ASKED = { text: "", second: "", model: "", write: 0, chat: "", system: "", seed: "", otherModel: "", otherText: "", otherSecond: "", compare: "" };
const LARGEST_FILE = 900_000; // bytes of a text
const LONG = 1500; // letters from which on it is told what a look takes
const POLL = 400; // milliseconds between two looks at what is being written
const REMEMBERED = 20; // looks of this session
const OF_THE_TEXT = { query: null, key: null, box: null }; // chosen in one text, and meaningless in another

/** Put the form and the viewer into the page, and ask at once what the address asks. */
export function start() {
  const settings = JSON.parse(document.getElementById("attlas-settings").textContent);
  const root = document.getElementById("attlas-viewer");
  const call = caller(settings.header);
  let viewer = null;
  let asked = null; // what the viewer shows the answer to
  let working = false;
  let turn = 0; // of those who watch a model write
  let pending = 0;

  const stop = () => call("/api/stop", { method: "POST" }).catch(() => {});
  const form = asking(document.getElementById("attlas-asking"), settings, () => ask(form.read()), stop, (question) => {
    form.fill(question);
    ask(question);
  });

  /** Ask, show the answer, and write it into the address: as a new entry unless it was there already. */
  async function ask(question, selection = null) {
    if (working) return;
    working = true;
    form.work();
    const began = performance.now();
    try {
      if (!question.text.trim()) throw new Error("there is no text yet; type one, or try the example");
      const questions = questionsOf(question);
      const body = JSON.stringify({ questions });
      if (question.text.length > LONG) form.tell((await (await call("/api/room", { method: "POST", body })).json()).told.join(" "));
      watch(question);
      const answer = await call("/api/look", { method: "POST", body });
      show(question, await answer.json(), selection);
      if (root.getBoundingClientRect().top > innerHeight / 2) root.scrollIntoView(); // on a telephone the form fills the window
      form.rest(`Seen in ${((performance.now() - began) / 1000).toFixed(1)} s.`);
      form.remember(question);
    } catch (error) {
      form.refuse(error.message);
    } finally {
      working = false;
    }
  }

  /** While a model writes, show what there is of it. */
  async function watch(question) {
    if (!question.write) return;
    const ticket = (turn += 1);
    while (working && ticket === turn) {
      await new Promise((done) => { setTimeout(done, POLL); });
      const { text, pieces, writing, rows, read } = await call(`/api/written?since=${form.growing.count()}`).then((answer) => answer.json(), () => ({}));
      if (!working || !writing || ticket !== turn) continue;
      form.tell(`${pieces} ${pieces === 1 ? "piece" : "pieces"}: ${text}`, true);
      form.growing.grow(rows, read, theme(document.getElementById("attlas-asking").dataset.theme === "dark"));
    }
  }

  function show(question, { id, header }, selection) {
    const before = viewer ? viewer.chosen() : fromFragment(location.hash);
    viewer?.destroy();
    const fresh = selection === null;
    const again = asked !== null && toQuery(asked) === toQuery(question);
    asked = question;
    viewer = mount(root, {
      header,
      selection: fresh ? { ...before, ...(again ? {} : OF_THE_TEXT) } : selection,
      onSelect(state) {
        clearTimeout(pending);
        pending = setTimeout(() => keep(state, false), 60);
      },
    }, connectionTo(id, call));
    clearTimeout(pending);
    keep(viewer.state(), fresh && !again);
    document.title = `${header.scenes.map((scene) => scene.model).join(" and ")} · attlas`;
  }

  function keep(state, anew) {
    const fragment = [toQuery(asked), toFragment(state)].filter(Boolean).join("&");
    if (location.hash.replace(/^#/, "") === fragment) return;
    const address = `${location.pathname}${location.search}#${fragment}`;
    if (anew) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  }

  function follow() {
    const question = fromQuery(location.hash);
    if (!question.text) return;
    const selection = fromFragment(location.hash);
    if (asked && toQuery(asked) === toQuery(question)) {
      viewer.update({ ...START, ...selection });
    } else {
      form.fill(question);
      ask(question, selection);
    }
  }

  const tint = () => form.tint(root.dataset.theme ?? (surroundingsAreDark() ? "dark" : "light"));
  new MutationObserver(tint).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
  globalThis.matchMedia?.("(prefers-color-scheme: dark)").addEventListener("change", tint);
  tint();
  addEventListener("hashchange", follow);
  follow();
}

/** A function that asks the server, as this page's script alone can (its cookie goes along); whatever fails throws one sentence. */
function caller(header) {
  return async (path, options = {}) => {
    let answer;
    try {
      answer = await fetch(path, { ...options, headers: { [header]: "1" }, credentials: "same-origin", cache: "no-store", referrerPolicy: "no-referrer" });
    } catch {
      throw new Error("attlas does not answer; is it still running in its terminal?");
    }
    if (answer.ok) return answer;
    const said = await answer.json().catch(() => null);
    throw new Error(said?.error ?? `the server answered with the status ${answer.status}`);
  };
}

/** Where the viewer gets blocks and exact rows of an answer. */
function connectionTo(id, call) {
  const bytes = async (path) => (await call(path)).arrayBuffer();
  return {
    block: async (index) => new Uint8Array(await bytes(`/api/block/${id}/${index}`)),
    row: async (...place) => new Float32Array(await bytes(`/api/row/${id}/${place.join("/")}`)),
    pdf: async (svg) => (await call("/api/pdf", { method: "POST", body: svg })).arrayBuffer(),
  };
}

/** The one or two questions that the form asks. */
function questionsOf({ model, text, second, write, chat, system, seed, compare, otherModel, otherText, otherSecond }) {
  if (seed !== "" && !/^\d{1,9}$/.test(seed)) throw new Error("a seed is a whole number; leave it empty for the likeliest pieces");
  const how = { write, ...(chat ? { chat: true, system } : {}), ...(seed === "" ? {} : { seed: Number(seed) }) };
  const first = { model, text, second, ...how };
  if (!compare) return [first];
  const another = otherText.trim() !== "";
  const other = { model: otherModel || model, text: another ? otherText : text, second: another ? otherSecond : otherSecond || second, ...how };
  if (JSON.stringify(other) === JSON.stringify(first)) throw new Error("there is nothing to compare; choose another model, or give another text");
  return [first, other];
}

function toQuery(question) {
  return Object.entries(question)
    .filter(([name, value]) => value !== NOTHING_ASKED[name] && String(value).length <= LONGEST_KEPT)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
}

function fromQuery(fragment) {
  const found = { ...NOTHING_ASKED };
  for (const part of fragment.replace(/^#/, "").split("&")) {
    const [name, text] = [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)];
    if (!Object.hasOwn(NOTHING_ASKED, name)) continue;
    try { found[name] = name === "write" ? Number(decodeURIComponent(text)) || 0 : decodeURIComponent(text); } catch { /* left as it is */ }
  }
  return found;
}

/** The form in an element: how to read and fill it, and how it shows that it works, rests or refuses. */
function asking(place, settings, submit, stopWriting, again) {
  const text = area("Text", "text", 2, "Type or paste a text here.");
  const second = area("Second text", "second", 2, "the second of a pair, or a translation; left empty, a translation model writes it");
  const model = modelField("Model", "model", settings.models, settings.sizes);
  const write = element("input", { type: "number", name: "write", min: 0, max: settings.written, value: 0, step: 1 });
  const chat = element("input", { type: "checkbox", name: "chat", "aria-controls": "attlas-system", change: () => fold() });
  const system = area("What the model is told first (system)", "system", 1, "left empty: what its template says");
  system.whole.id = "attlas-system";
  const seed = element("input", { type: "text", name: "seed", inputmode: "numeric", size: 6, placeholder: "none", title: "A seed draws the pieces; without one the likeliest is written each time" });
  const file = element("input", { type: "file", accept: ".txt,.md,text/plain", "aria-label": "Text from a file", change: () => load() });
  const stop = element("button", { type: "button", class: "attlas-small", "data-action": "stop", hidden: true, click: () => stopWriting() }, "Stop writing");
  const growing = growingMap();
  const looks = element("select", { name: "looks", "aria-label": "Looks of this session", hidden: true, change: () => { if (looks.value) again(asked[Number(looks.value)]); } });
  const asked = [];
  const compare = element("input", { type: "checkbox", name: "compare", "aria-controls": "attlas-other", change: () => fold() });
  const otherModel = modelField("Other model", "otherModel", settings.models, settings.sizes, "the same");
  const otherText = area("Other text", "otherText", 2, "left empty: the same");
  const otherSecond = area("Its second text", "otherSecond", 2, "for a pair or a translation");
  const button = element("button", { type: "submit", class: "attlas-look", title: "Ctrl+Enter does the same" }, "Look");
  const example = element("button", { type: "button", class: "attlas-small", click: () => { text.input.value = EXAMPLE; submit(); } }, "Try an example");
  const status = element("output", { class: "attlas-status", role: "status" });
  const refusal = element("p", { class: "attlas-refusal", role: "alert", hidden: true });
  const other = element(
    "div", { class: "attlas-texts", id: "attlas-other" }, otherText.whole, otherSecond.whole, otherModel.whole,
  );
  const form = element(
    "form", { class: "attlas-form", "aria-label": "What to look at", novalidate: true, submit: (event) => { event.preventDefault(); submit(); } },
    element("div", { class: "attlas-texts" }, text.whole, second.whole),
    element(
      "div", { class: "attlas-choices" }, model.whole,
      element("label", { class: "attlas-field" }, element("span", { class: "attlas-label" }, "Continue by"), write, element("span", { class: "attlas-label" }, "pieces (models that write)")),
      element("label", { class: "attlas-field attlas-check" }, compare, "Compare with another model or text"),
    ),
    other,
    element(
      "div", { class: "attlas-choices" },
      element("label", { class: "attlas-field attlas-check" }, chat, "As a chat, in the model's template"),
      element("label", { class: "attlas-field" }, element("span", { class: "attlas-label" }, "Seed"), seed),
      element("label", { class: "attlas-field" }, element("span", { class: "attlas-label" }, "Text from a file"), file),
    ),
    system.whole,
    element("div", { class: "attlas-choices" }, button, element("span", { class: "attlas-label" }, "Ctrl+Enter"), example, stop, looks, status),
    growing.element,
    refusal,
  );
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    submit();
  });
  place.classList.add("attlas", "attlas-asking");
  place.replaceChildren(element("h1", {}, "attlas"), form);

  function fold() {
    other.hidden = !compare.checked;
    system.whole.hidden = !chat.checked;
    if (chat.checked && write.value === "0") write.value = 40; // or it would only read what was said to it
  }

  async function load() {
    const [chosen] = file.files;
    if (!chosen) return;
    if (chosen.size > LARGEST_FILE) return state(false, "", `${chosen.name} has ${chosen.size.toLocaleString("en")} bytes, and ${LARGEST_FILE.toLocaleString("en")} are the most.`);
    try {
      text.input.value = new TextDecoder("utf-8", { fatal: true }).decode(await chosen.arrayBuffer());
      state(false, `${chosen.name} is read; look when you are ready.`, "");
    } catch {
      state(false, "", `${chosen.name} is not UTF-8; convert it first.`);
    }
    file.value = "";
  }

  function state(working, said, sentence) {
    button.setAttribute("aria-disabled", String(working));
    button.textContent = working ? "Looking …" : "Look";
    form.setAttribute("aria-busy", String(working));
    status.textContent = said;
    if (!working) stop.hidden = true;
    growing.clear();
    refusal.hidden = !sentence;
    refusal.textContent = sentence;
  }

  fold();
  state(false, "", "");
  text.input.focus();
  return {
    growing,
    read: () => ({
      text: text.input.value, second: second.input.value, model: model.read(), write: Number(write.value || 0), chat: chat.checked ? "yes" : "",
      system: chat.checked ? system.input.value : "", seed: seed.value.trim(), compare: compare.checked ? "yes" : "",
      otherModel: compare.checked ? otherModel.read() : "", otherText: compare.checked ? otherText.input.value : "",
      otherSecond: compare.checked ? otherSecond.input.value : "",
    }),
    fill(question) {
      text.input.value = question.text;
      second.input.value = question.second;
      model.fill(question.model);
      write.value = question.write;
      chat.checked = question.chat === "yes";
      system.input.value = question.system;
      seed.value = question.seed;
      compare.checked = question.compare === "yes";
      otherModel.fill(question.otherModel);
      otherText.input.value = question.otherText;
      otherSecond.input.value = question.otherSecond;
      fold();
    },
    work: () => state(true, "Opening a model for the first time takes a while.", ""),
    rest: (said) => state(false, said, ""),
    tell(said, writing = false) {
      status.textContent = said;
      stop.hidden = !writing;
    },
    remember(question) {
      const known = asked.findIndex((each) => JSON.stringify(each) === JSON.stringify(question));
      if (known < 0) asked.push(question);
      if (asked.length > REMEMBERED) asked.shift();
      looks.hidden = asked.length < 2;
      const options = asked.map((each, at) => element("option", { value: at }, `${each.model}: ${each.text.slice(0, 40)}`)).reverse();
      looks.replaceChildren(element("option", { value: "" }, "earlier looks …"), ...options);
    },
    refuse: (sentence) => state(false, "", /[.?!]$/.test(sentence) ? sentence : `${sentence}.`),
    tint(theme) {
      place.dataset.theme = theme;
      document.body.style.background = getComputedStyle(place).backgroundColor;
    },
  };
}

function area(label, name, rows, hint) {
  const input = element("textarea", { name, rows, placeholder: hint, dir: "auto", spellcheck: "false" });
  return { input, whole: element("label", { class: "attlas-field attlas-wide" }, element("span", { class: "attlas-label" }, label), input) };
}

/** A choice of models that also takes any other name; `none` is said of leaving it out. */
function modelField(label, name, models, sizes, none = null) {
  const select = element("select", { name, "aria-label": label, change: () => { fold(); if (!typed.hidden) typed.focus(); } });
  if (none) select.append(element("option", { value: "" }, none));
  models.forEach((each) => select.append(element("option", { value: each }, sizes?.[each] ? `${each} (${sizes[each]})` : each)));
  select.append(element("option", { value: ANOTHER }, "another …"));
  const typed = element("input", { type: "text", name: `${name}Typed`, "aria-label": `${label}: hub name or folder`, placeholder: "hub name or folder", spellcheck: "false", autocapitalize: "off", size: 28 });
  function fold() { typed.hidden = select.value !== ANOTHER; }
  fold();
  return {
    whole: element("span", { class: "attlas-field" }, element("span", { class: "attlas-label", "aria-hidden": "true" }, label), select, typed),
    read: () => (select.value === ANOTHER ? typed.value.trim() : select.value),
    fill(value) {
      const known = models.includes(value) || (none && value === "");
      if (!known && value === "") return;
      select.value = known ? value : ANOTHER;
      if (!known) typed.value = value;
      fold();
    },
  };
}
