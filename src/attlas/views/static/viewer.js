// The viewer: `mount(element, props, connection)` shows a payload in an element and returns how to update and destroy it.
//
// There is one state (see state.js). Whatever a person does becomes a change of it; a change redraws the controls, asks the
// view to load what it needs, lays it out and draws it. Pointing at something is not a change: it only redraws. A view
// is a record of functions: load (numbers), layout (places), draw, hit (what is under the pointer), click, say (a
// sentence), table (for those who cannot see it), and for some wheel, drag, double, key and waiting (nothing to see yet).

import { element, surroundingsAreDark } from "./dom.js";
import { blockStore, embedded } from "./blocks.js";
import { START, fromFragment, toFragment } from "./state.js";
import { headsIn, panelsFor, panelsKey, strandOf } from "./panels.js";
import { printed, theme } from "./palette.js";
import { canvasSurface } from "./surface.js";
import { readable, rowOf, shortened } from "./readings.js";
import { paperLabel } from "./numbers.js";
import { toolbar, headStrip, controlPath } from "./toolbar.js";
import { changeByKey, keyHelp } from "./keys.js";
import { followPointer } from "./pointer.js";
import { showTables } from "./tables.js";
import { grip } from "./grip.js";
import { roomFor, save } from "./saving.js";
import { figureDialog } from "./figure.js";
import { captionOf, pairing } from "./caption.js";
import { cardLines, cardPanel, wrapped } from "./card.js";
import { VIEWS } from "./views.js";
import { lookedAt } from "./reckoned.js";

const OF_JOINT = VIEWS.filter((view) => !view.ofOneHead); // heads taken together have no queries and keys of their own
const TOO_LONG = 160; // pieces a side beyond which lines are no longer told apart
const STACKED = globalThis.matchMedia?.("(max-width: 760px)"); // where panels lie below each other, as the styles have it
const CHOSEN = ["stream", "layer", "layers", "head", "heads", "sort"]; // with any of these a person has chosen where to look
const BELOW = 26; // pixels that stay free under a picture
const REST = 80; // milliseconds on a row before its exact numbers are asked for
const UNLOADED = ["query", "key", "box", "table", "theme", "order", "neuron", "folded", "tall", "picked", "way"]; // changes that need no other numbers

/** Show the payload that lies in this page, and keep the selection in its address. */
export function mountPage(selection) {
  const header = JSON.parse(document.getElementById("attlas-header").textContent);
  let pending = null;
  const free = !CHOSEN.some((name) => name in selection); // then the address has the layer, or it would open where there is most to show
  const base = { ...START, ...selection, ...(free ? { layer: null } : {}) };
  const viewer = mount(document.getElementById("attlas-viewer"), {
    header, selection: { ...selection, ...fromFragment(location.hash) }, base: selection,
    onSelect(state) {
      clearTimeout(pending);
      pending = setTimeout(() => {
        const fragment = toFragment(state, base);
        if (location.hash.replace(/^#/, "") !== fragment) history.replaceState(null, "", `${location.href.split("#")[0]}#${fragment}`);
      }, 60);
    },
  }, embedded());
  addEventListener("hashchange", () => {
    const chosen = { ...selection, ...fromFragment(location.hash) };
    viewer.update({ ...START, ...begun(header, chosen), ...chosen });
  });
  return viewer;
}

/** Show a payload in an element. */
export function mount(root, props, connection) {
  const { header } = props;
  const store = blockStore(connection);
  const measuring = canvasSurface(document.createElement("canvas"), 1, 1, 1);
  let state = possible({ ...START, ...begun(header, props.selection), ...props.selection }, header);
  const opened = header.start?.head !== undefined && state.head === header.start.head && !CHOSEN.some((name) => name in props.selection);
  let placed = CHOSEN.some((name) => name in props.selection); // whether a person has chosen where to look
  let moved = null; // why another view was opened than was asked for
  let panels = [];
  let made = null; // what the panels were made for
  let figures = []; // what is on the stage: { panel, reason, data, geometry, canvas, title }
  let staged = null; // the view that they belong to
  let hover = null; // what is pointed at
  let latest = 0; // the number of the last load
  let loading = false; // until it is done, what is on the stage belongs to another state
  let frame = 0;
  let tall = 0; // how high the pictures were laid out to be
  let stale = false; // whether the figures are to be arranged anew with the next frame
  let resting = null;

  if (header.scenes.length && state.view === "head" && longest(header) > TOO_LONG) {
    const whole = header.scenes.every((scene) => scene.strands.every((strand) => strand.weights));
    moved = `This text has ${longest(header).toLocaleString("en")} pieces, too many for lines to be told apart, so it opens as ${whole ? "a matrix" : "running text"}.`;
    state = { ...state, view: whole ? "matrix" : "text" };
  }

  root.classList.add("attlas");
  root.tabIndex = 0;
  const publishing = figureDialog((...how) => keep(...how), Boolean(connection.pdf));
  const parts = {
    title: element("header", { class: "attlas-title" }),
    card: cardPanel(header, (open) => { if (open === Boolean(state.folded)) choose({ folded: open ? null : "yes" }); }),
    controls: element("div", { class: "attlas-controls" }),
    notice: element("p", { class: "attlas-notice", role: "status" }),
    hint: element("p", { class: "attlas-hint" }),
    readout: element("output", { class: "attlas-readout", "aria-live": "polite" }),
    stage: element("div", { class: "attlas-stage" }),
    grip: grip(() => tall, choose),
    table: element("div", { class: "attlas-table" }),
    help: keyHelp(),
    figure: publishing.dialog,
  };
  root.replaceChildren(...Object.values(parts).filter(Boolean));

  const views = viewsOf(header);
  const view = () => views.find((each) => each.name === state.view);
  const colours = () => theme(state.theme ? state.theme === "dark" : surroundingsAreDark());
  const drawn = () => figures.filter((figure) => figure.geometry);

  function choose(changes) {
    const before = state;
    placed ||= CHOSEN.some((name) => name in changes);
    changes = apartFrom(changes, state);
    const focusedOn = document.activeElement?.closest?.(".attlas-controls") ? controlPath(document.activeElement) : null;
    state = possible({ ...state, ...changes }, header);
    if (changes.view) moved = null;
    props.onSelect?.(state);
    const changed = Object.keys(state).filter((name) => JSON.stringify(state[name]) !== JSON.stringify(before[name]));
    if (!changed.length) return;
    const follows = view().follows ?? [];
    if (changed.every((name) => UNLOADED.includes(name) && !follows.includes(name))) {
      if (changed.some((name) => ["table", "theme", "folded", "way"].includes(name))) drawControls(focusedOn);
      redraw(changed.some((name) => name !== "query" && name !== "key"));
      return;
    }
    drawControls(focusedOn);
    if (state.view !== before.view) {
      figures = []; // what one view has laid out is nothing to another
      parts.stage.replaceChildren();
    }
    load();
  }

  function drawControls(focusedOn) {
    parts.grip.hidden = !view()?.resizable;
    root.dataset.theme = colours().dark ? "dark" : "light";
    root.dataset.view = state.view;
    if (parts.card) parts.card.open = !state.folded;
    if (!header.scenes.length) {
      parts.notice.textContent = "There is nothing to show yet.";
      return;
    }
    const asked = view().piecesOnly ? { ...state, unit: "piece" } : state;
    if (panelsKey(asked) !== made) panels = panelsFor(header, store, asked);
    made = panelsKey(asked);
    const shown = panels.filter((panel) => !panel.reason);
    drawTitle();
    const actions = { svg: () => keep("svg"), png: () => keep("png"), figure: () => publishing.open(captionNow()), help: () => parts.help.showModal() };
    parts.controls.replaceChildren(
      toolbar(header, state, views, view(), colours(), choose, actions),
      ...(shown.length && !shown[0].strand.joint ? [headStrip(shown[0], state, view(), colours(), choose)] : []),
    );
    if (focusedOn) parts.controls.querySelector(focusedOn)?.focus();
    const help = (shown[0]?.strand.joint && view().jointHelp) || view().help;
    parts.hint.textContent = help;
    const notes = [moved, whyHere(), onlyThese(shown[0]), pairing(header, shown[0], state), portrait(shown[0]), view().note?.(shown, state), ...(header.apart ?? [])].filter(Boolean);
    parts.notice.replaceChildren(...notes.map((note) => element("span", {}, note)));
  }

  /** Whether it is still where it has opened by itself. */
  function asOpened() {
    const { start } = header;
    return opened && state.stream === start.stream && state.layer === start.layer && state.head === start.head;
  }

  /** Why the view has opened where it is, as long as it is there. */
  function whyHere() {
    const { start } = header;
    if (!asOpened()) return null;
    return `Opened at head ${paperLabel(start.layer, start.head)}, which has the most to show on this text: weight beyond an even share and beyond what a word gets anyway.`;
  }

  /** Which pieces were looked from, where not all were. */
  function onlyThese(panel) {
    if (!panel?.strand.looked) return null;
    const count = panel.strand.queries.pieces.length.toLocaleString("en");
    return `Looked from ${lookedAt(panel.strand)} of ${count} alone${view().wholeText ? ", which are underlined; the others attend to nothing here" : ""}.`;
  }

  /** What is known of the one head that is shown. */
  function portrait(panel) {
    if (!panel || panel.strand.joint || !(view().heads === "one" || view().allLayers || state.heads?.length === 1)) return null;
    const label = paperLabel(state.layer, view().heads === "one" || view().allLayers ? state.head : state.heads[0]);
    const told = panel.scene.portraits?.[panel.strand.stream]?.[label];
    return told ? `Head ${label} over a corpus: ${readable(told)}` : null;
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
    loading = true;
    const ticket = latest;
    const shown = panels.map((each) => (view().wholeText && each.running) || each).map((panel) => ({ panel, reason: reasonAgainst(panel, state, view()) }));
    let loaded;
    try {
      loaded = await Promise.all(shown.map(({ panel, reason }) => (reason ? null : view().load(panel, state, relay(ticket)))));
    } catch (error) {
      if (ticket === latest) parts.notice.textContent = `These numbers could not be read: ${error.message}`;
      return;
    }
    if (ticket !== latest) return;
    loading = false;
    hover = null;
    const same = staged === state.view && figures.length === shown.length &&
      figures.every(({ panel, reason }, index) => panel === shown[index].panel && reason === shown[index].reason);
    if (same) {
      figures.forEach((figure, index) => { figure.data = loaded[index]; });
    } else {
      figures = shown.map(({ panel, reason }, index) => stage(panel, reason, loaded[index]));
      parts.stage.replaceChildren(...figures.map((figure) => figure.element));
    }
    figures.forEach(({ caption, title, data, reason }) => {
      caption.textContent = [title, reason ? "" : view().named?.(data, state)].filter(Boolean).join(" · ");
    });
    staged = state.view;
    parts.stage.style.setProperty("--panels", Math.min(3, figures.length));
    arrange();
    draw();
  }

  function stage(panel, reason, data) {
    const canvas = element("canvas", { role: "img", "aria-label": `${view().title} view: ${panel.title}` });
    const scroller = view().scrolls ? element("div", { class: "attlas-scroller", tabindex: "-1" }, element("div", {}, canvas)) : null;
    const caption = element("figcaption", {}, panel.title);
    const box = element("figure", { class: "attlas-panel" }, caption, reason ? element("p", {}, reason) : scroller ?? canvas);
    const figure = { panel, reason, data, canvas, scroller, caption, element: box, title: panel.title, geometry: null };
    scroller?.addEventListener("scroll", () => redraw(false), { passive: true });
    if (!reason) followPointer(figure, view, () => state, point, choose);
    return figure;
  }

  function arrange() {
    stale = false;
    const above = parts.stage.getBoundingClientRect().top - root.getBoundingClientRect().top;
    const columns = STACKED?.matches ? 1 : Math.min(figures.length, 3);
    const captions = Math.max(0, ...figures.map(({ element: { firstChild } }) => firstChild.offsetHeight)) + 6;
    const gap = Number.parseFloat(getComputedStyle(parts.stage).columnGap) || 0;
    const room = {
      width: Math.max(260, Math.floor((parts.stage.clientWidth - gap * (columns - 1)) / columns)),
      height: (view().resizable && state.tall) || Math.max(380, innerHeight - above - captions - BELOW),
    };
    tall = room.height;
    for (const figure of figures) {
      if (figure.reason) continue;
      figure.geometry = view().layout(figure.data, state, room, measuring, colours());
      if (figure.scroller) fitScroller(figure);
    }
  }

  /** Make the part of the page that scrolls as high as what can be seen, and what scrolls in it as high as all there is. */
  function fitScroller(figure) {
    const { scroller, geometry } = figure;
    scroller.style.height = `${geometry.height}px`;
    scroller.firstChild.style.height = `${geometry.height + Math.max(0, geometry.total)}px`;
    geometry.scrollTo = (top) => { scroller.scrollTop = top; };
    if (!figure.begun && geometry.begin) scroller.scrollTop = geometry.begin;
    figure.begun = true;
  }

  /** What a figure shows as chosen: what is pointed at, else what is kept, as far as the figure has it. */
  function focusOf({ panel }, pointed = hover) {
    const kept = (labels, piece) => { const row = rowOf(labels, piece); return row < 0 ? null : row; };
    const focus = pointed ?? { query: kept(panel.queries, state.query), key: kept(panel.keys, state.key) };
    const within = (row, labels) => (row != null && row < labels.length ? row : null);
    return { ...focus, query: within(focus.query, panel.queries), key: within(focus.key, panel.keys) };
  }

  function draw() {
    for (const figure of drawn()) {
      if (figure.scroller) figure.geometry.top = figure.scroller.scrollTop;
      const surface = canvasSurface(figure.canvas, figure.geometry.width, figure.geometry.height);
      view().draw(surface, figure.geometry, state, focusOf(figure), colours());
    }
    say();
    sharpen();
    if (drawn().some((figure) => view().waiting?.(figure.data))) return; // what is seen is not yet what was asked for
    root.dataset.drawn = Number(root.dataset.drawn ?? 0) + 1;
    performance.mark("attlas:drawn");
  }

  function redraw(anew) {
    stale ||= anew; // a redraw that only points must not take back an arrangement that waits for its frame
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      if (loading) return; // which draws when it is done
      if (stale || view().relays) arrange();
      draw();
    });
  }

  /** Say what is pointed at, and have the numbers of what is kept in a table. */
  function say() {
    const lines = drawn().map((figure) => {
      const said = view().say(figure.data, state, focusOf(figure));
      return said && figures.length > 1 ? `${figure.title}: ${said}` : said;
    });
    const text = lines.filter(Boolean).join("\n");
    if (parts.readout.textContent !== text) parts.readout.textContent = text;
    parts.table.classList.toggle("attlas-unseen", !state.table);
    showTables(parts.table, drawn().slice(0, 3).map((figure) => view().table(figure.data, state, focusOf(figure, null))));
  }

  function point(focus) {
    if (JSON.stringify(focus) === JSON.stringify(hover)) return;
    hover = focus;
    redraw(false);
  }

  /** After a moment of rest on a row of rounded numbers, ask for the exact ones where somebody can be asked. */
  function sharpen() {
    clearTimeout(resting);
    const [first] = drawn();
    const focus = first && focusOf(first);
    if (!connection.row || !focus || focus.query === null) return;
    const chosen = first.panel.headsOf(focus.layer ?? state.layer).filter((head) => !state.heads || state.heads.includes(head));
    const one = focus.head !== undefined ? [focus.head] : [state.head];
    const heads = view().asked?.(first.panel, state) ?? (focus.head !== undefined || view().heads === "one" ? one : chosen);
    resting = setTimeout(async () => {
      const ticket = latest;
      try {
        const news = await Promise.all(drawn().map(({ panel }) => panel.sharpen(focus.layer ?? state.layer, heads, focus.query)));
        if (!news.some(Boolean) || ticket !== latest) return;
        for (const figure of drawn()) figure.data = await view().load(figure.panel, state, relay(ticket));
      } catch (error) {
        parts.notice.textContent = `The exact numbers could not be had: ${error.message}`;
        return;
      }
      if (ticket === latest) redraw(true);
    }, REST);
  }

  function keydown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
    const [figure] = drawn();
    if (!figure) return;
    if (event.key === "?") parts.help.showModal();
    if (event.key === "Escape") hover = null;
    if (event.key === "c" && parts.card) choose({ folded: state.folded ? null : "yes" });
    const changes = view().key?.(event, figure.geometry, state) ?? changeByKey(event.key, state, figure.panel, view(), views, colours().dark);
    if (!changes) return;
    event.preventDefault();
    choose(changes);
  }

  /** Save what is shown as a figure; without being told otherwise as wide as here, on white, with a caption. */
  function keep(kind, { width = "screen", ground = "white", caption = captionNow() } = {}) {
    const inks = printed();
    const room = roomFor(width);
    const shown = drawn().map((figure) => {
      const geometry = view().layout(figure.data, state, { width: room ?? figure.geometry.width, height: room ? Math.min(tall, room) : tall }, measuring, inks);
      if (figure.scroller && room === null) geometry.top = figure.scroller.scrollTop;
      return {
        geometry, title: figure.title,
        paint: (surface) => {
          surface.still = true;
          surface.width = geometry.width;
          surface.height = geometry.height;
          view().draw(surface, geometry, state, focusOf(figure, null), inks);
        },
      };
    });
    const said = (room) => (caption.trim() ? wrapped(caption, room, measuring.measure, `12px ${inks.sans}`) : []);
    const card = (room) => (parts.card && !state.folded ? cardLines(header.card, room, measuring.measure, inks.sans) : []);
    return save(shown, kind, {
      name: `attlas-${state.view}-${state.stream}-layer${state.layer + 1}`, ground, stacked: room !== null, colours: inks,
      linesFor: (room) => [...said(room), ...card(room)], toPdf: connection.pdf,
    });
  }

  /** What a figure of this would be called: the model, what is shown of it, and the text. */
  function captionNow() {
    const strand = strandOf(header.scenes[0], state.stream);
    return captionOf(header, view(), strand, state, drawn().map(({ title }) => title));
  }

  let width = 0; // of the stage; its height is what was drawn
  const observer = new ResizeObserver(() => {
    const changed = width !== 0 && width !== parts.stage.clientWidth;
    width = parts.stage.clientWidth;
    if (changed && figures.length) redraw(true);
  });
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
    /** What a person has chosen, to be shown of another text as well: not where the view has opened by itself. */
    chosen: () => Object.fromEntries(Object.entries(state).filter(([name]) => placed || !CHOSEN.includes(name))),
    destroy() {
      latest += 1;
      cancelAnimationFrame(frame);
      clearTimeout(resting);
      observer.disconnect();
      dark?.removeEventListener("change", themed);
      root.removeEventListener("keydown", keydown);
      root.replaceChildren();
      root.classList.remove("attlas");
    },
  };
}

/** Where to open when no head was chosen: at the one with the most to show on this text; a view of all heads shows them all. */
function begun(header, selection) {
  if (!header.start || CHOSEN.some((name) => name in selection)) return {};
  const { heads, ...start } = header.start;
  return selection.view === "model" ? start : header.start;
}

/** What changes with the view: one of all heads shows more than the one that was looked at, and from there one goes to a single head. */
function apartFrom(changes, state) {
  if (!changes.view || changes.view === state.view || "heads" in changes) return changes;
  const all = (name) => VIEWS.find((view) => view.name === name)?.allLayers;
  if (all(changes.view) && state.heads?.length === 1) return { ...changes, heads: null };
  if (all(state.view) && !state.heads && state.open) return { ...changes, heads: [state.head], open: null };
  return changes;
}

/** A state that this payload can show: numbers that do not exist give way to ones that do. */
function possible(state, header) {
  if (!header.scenes.length) return state;
  const next = { ...state };
  if (!viewsOf(header).some((view) => view.name === next.view)) next.view = VIEWS[0].name;
  const [first] = header.scenes;
  if (!first.strands.some((strand) => strand.stream === next.stream)) next.stream = first.strands[0].stream;
  const strand = strandOf(first, next.stream);
  const nearest = (list, value) => list.reduce((best, each) => (Math.abs(each - value) < Math.abs(best - value) ? each : best), list[0]);
  next.layer = nearest(strand.layers, next.layer);
  const heads = headsIn(strand, next.layer);
  next.head = nearest(heads.length ? heads : strand.heads, next.head);
  if (next.heads) next.heads = next.heads.filter((head) => strand.heads.includes(head));
  if (next.layers) next.layers = next.layers.filter((layer) => strand.layers.includes(layer));
  if (next.layers && !next.layers.length) next.layers = null;
  const keys = strand.keys ?? strand.queries;
  if (next.query !== null && next.query >= strand.queries.pieces.length) next.query = null;
  if (next.key !== null && next.key >= keys.pieces.length) next.key = null;
  if (!strand.lengths) next.measure = "weight";
  if (!strand.weights) Object.assign(next, { special: "shown", pair: "all", measure: "weight" }); // rows are reckoned, and not divided anew
  if (next.pair !== "all" && !strand.queries.documents.includes(1)) next.pair = "all";
  return next;
}

/** The views that can show a payload. */
function viewsOf(header) {
  return header.scenes.some((scene) => scene.strands.some((strand) => strand.joint)) ? OF_JOINT : VIEWS;
}

/** Why a panel cannot show what is chosen, or null. */
function reasonAgainst(panel, state, view) {
  if (panel.reason) return panel.reason;
  if (!view.allLayers && !panel.layers.includes(state.layer)) return `There is no layer ${state.layer + 1} here.`;
  if (view.heads === "one" && !panel.headsOf(state.layer).includes(state.head)) return `There is no head ${state.head + 1} here.`;
  return null;
}

function longest(header) {
  const lengths = (strand) => [strand.queries.pieces.length, (strand.keys ?? strand.queries).pieces.length];
  return Math.max(...header.scenes.flatMap((scene) => scene.strands.flatMap(lengths)));
}
