// The viewer: `mount(element, props, connection)` shows a payload in an element and returns how to update and destroy it.
//
// There is one state (see state.js). Whatever a person does becomes a change of it; a change redraws the controls, asks the
// view to load what it needs, lays it out and draws it. Pointing at something is not a change: it only redraws. A view
// is a record of functions: load (numbers), layout (places), draw, hit (what is under the pointer), click, say (a
// sentence), table (for those who cannot see it), and for some wheel, drag and key.

import { element, surroundingsAreDark } from "./dom.js";
import { blockStore, embedded } from "./blocks.js";
import { START, fromFragment, toFragment } from "./state.js";
import { panelsFor, panelsKey, strandOf } from "./panels.js";
import { theme } from "./palette.js";
import { canvasSurface } from "./surface.js";
import { readable, shortened } from "./readings.js";
import { toolbar, headStrip } from "./toolbar.js";
import { save } from "./saving.js";
import { headView, rowOf } from "./head.js";
import { modelView } from "./model.js";
import { neuronView } from "./neuron.js";
import { matrixView } from "./matrix.js";

const VIEWS = [headView, modelView, neuronView, matrixView];
const TOO_LONG = 160; // pieces a side beyond which lines are no longer told apart
const ROWS_OF_TABLE = 400;
const NOTHING = { query: null, key: null };
const UNLOADED = ["query", "key", "box", "table", "theme", "order", "neuron"]; // changes that need no other numbers
const KEYS = [
  ["← →", "layer"], ["↑ ↓", "query"], ["[ ]", "head"], ["1–4", "view"], ["m", "measure"], ["w", "pieces or words"],
  ["s", "special pieces"], ["a", "all heads"], ["o", "order of neurons"], ["t", "table"], ["d", "light or dark"], ["Esc", "let go"],
  ["+ − 0", "matrix: nearer, farther, all of it"], ["Shift ← → ↑ ↓", "matrix: move"],
];

/** Show the payload that lies in this page, and keep the selection in its address. */
export function mountPage(selection) {
  const header = JSON.parse(document.getElementById("attlas-header").textContent);
  let pending = null;
  const viewer = mount(document.getElementById("attlas-viewer"), {
    header, selection: { ...selection, ...fromFragment(location.hash) }, base: selection,
    onSelect(state) {
      clearTimeout(pending);
      pending = setTimeout(() => {
        const fragment = toFragment(state, { ...START, ...selection });
        if (location.hash.replace(/^#/, "") !== fragment) history.replaceState(null, "", `${location.href.split("#")[0]}#${fragment}`);
      }, 60);
    },
  }, embedded());
  addEventListener("hashchange", () => viewer.update({ ...START, ...selection, ...fromFragment(location.hash) }));
  return viewer;
}

/** Show a payload in an element. */
export function mount(root, props, connection) {
  const { header } = props;
  const store = blockStore(connection);
  const measuring = canvasSurface(document.createElement("canvas"), 1, 1, 1);
  let state = sane({ ...START, ...props.selection }, header);
  let moved = null; // why another view was opened than was asked for
  let panels = [];
  let made = null; // what the panels were made for
  let figures = []; // what is on the stage: { panel, data, geometry, canvas, title }
  let staged = null; // the view that they belong to
  let hover = null; // what is pointed at: { figure, ... }
  let latest = 0;
  let frame = 0;
  let dragging = null;
  let sharpening = null;

  if (header.scenes.length && state.view === "head" && longest(header) > TOO_LONG && VIEWS.some((view) => view.name === "matrix")) {
    moved = `This text has ${longest(header).toLocaleString("en")} pieces, too many for lines to be told apart, so it opens as a matrix.`;
    state = { ...state, view: "matrix" };
  }

  root.classList.add("attlas");
  root.tabIndex = 0;
  const parts = {
    title: element("header", { class: "attlas-title" }),
    controls: element("div", { class: "attlas-controls" }),
    notice: element("p", { class: "attlas-notice", role: "status" }),
    stage: element("div", { class: "attlas-stage" }),
    readout: element("output", { class: "attlas-readout", "aria-live": "polite" }),
    table: element("div", { class: "attlas-table" }),
    help: element("dialog", { class: "attlas-help" }),
  };
  root.replaceChildren(parts.title, parts.controls, parts.notice, parts.readout, parts.stage, parts.table, parts.help);
  parts.help.append(
    element("h2", {}, "Keys"),
    element("dl", {}, ...KEYS.flatMap(([key, what]) => [element("dt", {}, key), element("dd", {}, what)])),
    element("form", { method: "dialog" }, element("button", {}, "Close")),
  );

  const view = () => VIEWS.find((each) => each.name === state.view);
  const colours = () => theme(state.theme ? state.theme === "dark" : surroundingsAreDark());

  function choose(changes) {
    const before = state;
    const focusedOn = document.activeElement?.closest?.(".attlas-controls") ? control(document.activeElement) : null;
    state = sane({ ...state, ...changes }, header);
    if (changes.view) moved = null;
    props.onSelect?.(state);
    const changed = Object.keys(state).filter((name) => JSON.stringify(state[name]) !== JSON.stringify(before[name]));
    if (!changed.length) return;
    const follows = view().follows ?? [];
    if (changed.every((name) => UNLOADED.includes(name) && !follows.includes(name))) {
      if (changed.some((name) => name === "table" || name === "theme")) drawControls(focusedOn);
      redraw(changed.some((name) => name !== "query" && name !== "key"));
    } else {
      drawControls(focusedOn);
      if (state.view !== before.view) {
        figures = []; // what one view has laid out is nothing to another
        parts.stage.replaceChildren();
      }
      load();
    }
  }

  function drawControls(focusedOn) {
    root.dataset.theme = colours().dark ? "dark" : "light";
    root.dataset.view = state.view;
    if (!header.scenes.length) {
      parts.notice.textContent = "There is nothing to show yet.";
      return;
    }
    const asked = view().piecesOnly ? { ...state, unit: "piece" } : state;
    if (panelsKey(asked) !== made) panels = panelsFor(header, store, asked);
    made = panelsKey(asked);
    const first = panels.find((panel) => !panel.reason);
    drawTitle();
    parts.controls.replaceChildren(
      toolbar(header, state, VIEWS, view(), colours(), choose, {
        svg: () => keep("svg"), png: () => keep("png"), help: () => parts.help.showModal(),
      }),
      ...(first ? [headStrip(first, state, view(), colours(), choose)] : []),
    );
    if (focusedOn) parts.controls.querySelector(focusedOn)?.focus();
    const notes = [moved, view().help, view().note?.(panels.filter((panel) => !panel.reason), state)].filter(Boolean);
    parts.notice.replaceChildren(...notes.map((note) => element("span", {}, note)));
  }

  function drawTitle() {
    const line = (scene, index) => element(
      "div", { class: "attlas-scene" },
      element("strong", {}, (header.scenes.length === 2 ? `${"AB"[index]}: ` : "") + readable(scene.model)),
      ...scene.texts.map((text) => element("span", { dir: "auto" }, shortened(readable(text.replace(/\s+/g, " ")), 300))),
    );
    parts.title.replaceChildren(...header.scenes.map(line));
  }

  /** What a view calls when more has come: draws again, and says whether anybody still looks. */
  function relay(ticket) {
    return () => {
      if (ticket === latest) redraw(false);
      return ticket === latest;
    };
  }

  async function load() {
    latest += 1;
    const ticket = latest;
    const shown = panels;
    const again = relay(ticket);
    let loaded;
    try {
      loaded = await Promise.all(shown.map((panel) => (panel.reason ? null : view().load(panel, state, again))));
    } catch (error) {
      if (ticket === latest) parts.notice.textContent = `These numbers could not be read: ${error.message}`;
      return;
    }
    if (ticket !== latest) return;
    hover = null;
    const same = staged === state.view && figures.length === shown.length && figures.every((figure, index) => figure.panel === shown[index]);
    if (same) {
      figures.forEach((figure, index) => { figure.data = loaded[index]; });
    } else {
      figures = shown.map((panel, index) => stage(panel, loaded[index]));
      parts.stage.replaceChildren(...figures.map((figure) => figure.element));
    }
    staged = state.view;
    parts.stage.style.setProperty("--panels", Math.min(3, figures.length));
    arrange();
    draw();
  }

  function stage(panel, data) {
    const canvas = element("canvas", { role: "img", "aria-label": `${view().title} view: ${panel.title}` });
    const box = element("figure", { class: "attlas-panel" }, element("figcaption", {}, panel.title), panel.reason ? element("p", {}, panel.reason) : canvas);
    const figure = { panel, data, canvas, element: box, title: panel.title, geometry: null };
    if (!panel.reason) listen(figure);
    return figure;
  }

  function arrange() {
    const room = { width: Math.max(260, parts.stage.clientWidth / Math.min(figures.length, 3) - 24), height: Math.max(320, innerHeight - 260) };
    for (const figure of figures) {
      if (!figure.panel.reason) figure.geometry = view().layout(figure.data, state, room, measuring, colours());
    }
  }

  function focusOf(figure) {
    if (hover) return hover.focus;
    const { panel } = figure;
    const row = rowOf(panel.queries, state.query);
    const column = rowOf(panel.keys, state.key);
    return { query: row < 0 ? null : row, key: column < 0 ? null : column };
  }

  function draw() {
    for (const figure of figures) {
      if (!figure.geometry) continue;
      const surface = canvasSurface(figure.canvas, figure.geometry.width, figure.geometry.height);
      view().draw(surface, figure.geometry, state, within(figure, focusOf(figure)), colours());
    }
    say();
    root.dataset.drawn = Number(root.dataset.drawn ?? 0) + 1;
    performance.mark("attlas:drawn");
  }

  function redraw(anew) {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      if (anew || view().relays) arrange();
      draw();
    });
  }

  function say() {
    const lines = figures.filter((figure) => figure.geometry).map((figure) => {
      const said = view().say(figure.data, state, within(figure, focusOf(figure)));
      return said && figures.length > 1 ? `${figure.title}: ${said}` : said;
    });
    const text = lines.filter(Boolean).join("\n");
    if (parts.readout.textContent !== text) parts.readout.textContent = text;
    tell();
  }

  function tell() {
    parts.table.hidden = false;
    parts.table.classList.toggle("attlas-unseen", !state.table);
    const made = figures.filter((figure) => figure.geometry).slice(0, 2).map((figure) => {
      const table = view().table(figure.data, state, within(figure, lockedOf(figure)));
      return { ...table, left: table.rows.length - ROWS_OF_TABLE };
    });
    const signature = JSON.stringify(made.map((table) => [table.caption, table.columns, table.rows.slice(0, ROWS_OF_TABLE)]));
    if (parts.table.dataset.signature === signature) return;
    parts.table.dataset.signature = signature;
    parts.table.replaceChildren(...made.map(({ caption, columns, rows, left }) => element(
      "table", {}, element("caption", {}, caption + (left > 0 ? ` (the first ${ROWS_OF_TABLE} of ${rows.length} rows)` : "")),
      element("thead", {}, element("tr", {}, ...columns.map((column) => element("th", { scope: "col" }, column)))),
      element("tbody", {}, ...rows.slice(0, ROWS_OF_TABLE).map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))))),
    )));
  }

  function lockedOf(figure) {
    const held = hover;
    hover = null;
    const focus = focusOf(figure);
    hover = held;
    return focus;
  }

  function listen(figure) {
    const { canvas } = figure;
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return [((event.clientX - box.left) * figure.geometry.width) / box.width, ((event.clientY - box.top) * figure.geometry.height) / box.height];
    };
    const point = (focus) => {
      if (JSON.stringify(focus) === JSON.stringify(hover?.focus ?? null)) return;
      hover = focus ? { focus } : null;
      redraw(false);
      sharpen(focus);
    };
    canvas.addEventListener("pointermove", (event) => {
      if (dragging) {
        const [x, y] = at(event);
        if (!dragging.far && Math.hypot(x - dragging.x, y - dragging.y) < 4) return;
        dragging.far = true;
        const changes = view().drag(figure.geometry, state, { ...dragging, toX: x, toY: y });
        dragging.x = x;
        dragging.y = y;
        if (changes) choose(changes);
        return;
      }
      point(view().hit(figure.geometry, ...at(event)));
    });
    canvas.addEventListener("pointerleave", () => point(null));
    canvas.addEventListener("pointerdown", (event) => {
      if (!view().drag || event.button !== 0) return;
      const [x, y] = at(event);
      dragging = { x, y, fromX: x, fromY: y, far: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointerup", () => { setTimeout(() => { dragging = null; }); });
    canvas.addEventListener("click", (event) => {
      if (dragging?.far) return;
      const focus = view().hit(figure.geometry, ...at(event));
      const changes = view().click(figure.geometry, state, focus);
      if (changes) choose(changes);
    });
    canvas.addEventListener("dblclick", (event) => {
      const changes = view().double?.(figure.geometry, state, ...at(event));
      if (changes) choose(changes);
    });
    canvas.addEventListener("wheel", (event) => {
      const changes = view().wheel?.(figure.geometry, state, ...at(event), event);
      if (!changes) return;
      event.preventDefault();
      choose(changes);
    }, { passive: false });
  }

  /** After a moment of rest on a row of rounded numbers, ask for the exact ones. */
  function sharpen(focus) {
    clearTimeout(sharpening);
    if (!connection.row || focus?.query === null || focus?.query === undefined) return;
    sharpening = setTimeout(async () => {
      const heads = view().asked ? view().asked(panels[0], state) : focus.head !== undefined ? [focus.head] : view().heads === "one" ? [state.head] : panels[0].heads.filter((head) => !state.heads || state.heads.includes(head));
      const news = await Promise.all(figures.filter((figure) => figure.geometry).map((figure) => figure.panel.sharpen(focus.layer ?? state.layer, heads, focus.query)));
      if (!news.some(Boolean)) return;
      for (const figure of figures) if (figure.geometry) figure.data = await view().load(figure.panel, state, relay(latest));
      redraw(true);
    }, 80);
  }

  function keydown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
    const figure = figures.find((each) => each.geometry);
    if (!figure) return;
    const changes = view().key?.(event, figure.geometry, state) ?? common(event.key, figure, event);
    if (!changes) return;
    event.preventDefault();
    choose(changes);
  }

  function common(key, { panel }) {
    const step = (list, current, by) => list[Math.min(list.length - 1, Math.max(0, list.indexOf(current) + by))];
    if (key === "ArrowLeft" || key === "ArrowRight") return { layer: step(panel.layers, state.layer, key === "ArrowLeft" ? -1 : 1) };
    if (key === "ArrowUp" || key === "ArrowDown") {
      const row = rowOf(panel.queries, state.query);
      const next = row < 0 ? 0 : Math.min(panel.queries.length - 1, Math.max(0, row + (key === "ArrowUp" ? -1 : 1)));
      return panel.queries.length ? { query: panel.queries[next].pieces[0], key: null } : null;
    }
    if (key === "[" || key === "]") {
      const head = step(panel.heads, state.head, state.heads?.length === 1 || view().heads === "one" ? (key === "[" ? -1 : 1) : 0);
      return { head, heads: view().heads === "one" ? state.heads : [head] };
    }
    if (key === "Escape") { hover = null; return { query: null, key: null }; }
    if (/^[1-9]$/.test(key) && VIEWS[key - 1]) return { view: VIEWS[key - 1].name };
    if (key === "m" && panel.strand.lengths) return { measure: step(["weight", "norm", "both", "weight"], state.measure, 1) };
    if (key === "w" && !view().piecesOnly) return { unit: state.unit === "piece" ? "word" : "piece" };
    if (key === "s") return { special: state.special === "shown" ? "aside" : "shown" };
    if (key === "a") return { heads: null };
    if (key === "t") return { table: state.table ? null : "yes" };
    if (key === "d") return { theme: colours().dark ? "light" : "dark" };
    if (key === "?") parts.help.showModal();
    return null;
  }

  function keep(kind) {
    const shown = figures.filter((figure) => figure.geometry).map((figure) => ({
      geometry: figure.geometry, title: figure.title,
      paint: (surface) => {
        surface.still = true;
        surface.width = figure.geometry.width;
        surface.height = figure.geometry.height;
        view().draw(surface, figure.geometry, state, within(figure, lockedOf(figure)), colours());
      },
    }));
    const name = `attlas-${state.view}-${state.stream}-layer${state.layer + 1}`;
    return save(shown, kind, name, colours());
  }

  const resized = () => { if (figures.length) redraw(true); };
  const observer = new ResizeObserver(resized);
  observer.observe(parts.stage);
  const dark = globalThis.matchMedia?.("(prefers-color-scheme: dark)");
  const themed = () => { drawControls(null); redraw(false); };
  dark?.addEventListener("change", themed);
  root.addEventListener("keydown", keydown);

  drawControls(null);
  if (header.scenes.length) load();
  if (props.base && globalThis.top === globalThis) root.focus({ preventScroll: true });

  return {
    update: choose,
    state: () => ({ ...state }),
    destroy() {
      latest += 1;
      cancelAnimationFrame(frame);
      clearTimeout(sharpening);
      observer.disconnect();
      dark?.removeEventListener("change", themed);
      root.removeEventListener("keydown", keydown);
      root.replaceChildren();
      root.classList.remove("attlas");
    },
  };
}

/** A state that this payload can show: numbers that do not exist give way to ones that do. */
function sane(state, header) {
  if (!header.scenes.length) return state;
  const next = { ...state };
  if (!VIEWS.some((view) => view.name === next.view)) next.view = VIEWS[0].name;
  const [first] = header.scenes;
  if (!strandOf(first, next.stream)) next.stream = first.strands[0].stream;
  const strand = strandOf(first, next.stream);
  const nearest = (list, value) => list.reduce((best, each) => (Math.abs(each - value) < Math.abs(best - value) ? each : best), list[0]);
  next.layer = nearest(strand.layers, next.layer);
  next.head = nearest(strand.heads, next.head);
  if (next.heads) next.heads = next.heads.filter((head) => strand.heads.includes(head));
  if (next.layers) next.layers = next.layers.filter((layer) => strand.layers.includes(layer));
  if (next.layers && !next.layers.length) next.layers = null;
  const keys = strand.keys ?? strand.queries;
  if (next.query !== null && next.query >= strand.queries.pieces.length) next.query = null;
  if (next.key !== null && next.key >= keys.pieces.length) next.key = null;
  if (!strand.lengths) next.measure = "weight";
  if (next.pair !== "all" && !strand.queries.documents.includes(1)) next.pair = "all";
  return next;
}

function longest(header) {
  return Math.max(...header.scenes.flatMap((scene) => scene.strands.map((strand) => Math.max(strand.queries.pieces.length, (strand.keys ?? strand.queries).pieces.length))));
}

/** A focus that a figure has room for. */
function within(figure, focus) {
  const { queries, keys } = figure.panel;
  return {
    ...NOTHING, ...focus,
    query: focus?.query != null && focus.query < queries.length ? focus.query : null,
    key: focus?.key != null && focus.key < keys.length ? focus.key : null,
  };
}

/** How to find a control again after the controls were drawn anew. */
function control(active) {
  const named = ["data-head", "data-action", "data-layer", "data-heads", "data-step"].find((name) => active.hasAttribute(name));
  if (named) return `[${named}="${active.getAttribute(named)}"]`;
  const value = active.hasAttribute("data-value") ? `[data-value="${active.dataset.value}"]` : "";
  return active.dataset.name ? `[data-name="${active.dataset.name}"]${value}` : null;
}
