// The viewer as a widget of a notebook. The notebook's model carries the header and the selection; blocks are asked for by
// messages and come back as bytes beside the answer. One model may have several views, in several windows: all of them
// hear every answer, so each view marks its questions with a ticket of its own.

import { element } from "./dom.js";
import { START } from "./state.js";
import { mount } from "./viewer.js";

const PATIENCE = 3000; // milliseconds of silence before it is said that nobody answers
const TOLD = ["view", "layer", "head", "heads"]; // told to Python even where they are as at first
const SILENCE = "The kernel that holds these numbers does not answer: it is busy, or it has stopped and this cell must be run again.";

/** Show a widget's model in an element; returns how to take it away again. */
export function render({ model, el }) {
  const root = element("div");
  const silence = element("p", { role: "status", style: "margin: 0.5em 1.25em", hidden: true }, SILENCE);
  el.replaceChildren(silence, root);
  const connection = kernelConnection(model, (waiting) => { silence.hidden = !waiting; });
  let known = model.get("selection") ?? {};

  /** Tell Python what is chosen: what differs from the start, and whatever was told before. */
  function tell(state) {
    const now = {};
    for (const name of Object.keys(START)) {
      if (TOLD.includes(name) || name in known || !same(state[name], START[name])) now[name] = state[name];
    }
    if (Object.keys(now).every((name) => name in known && same(now[name], known[name]))) return;
    known = now;
    model.set("selection", now);
    model.save_changes();
  }

  const viewer = mount(root, { header: model.get("header"), selection: known, onSelect: tell }, connection);
  const state = viewer.state();
  if (Object.keys(known).some((name) => name in state && !same(known[name], state[name]))) tell(state);

  /** Another view or Python has chosen something: change what has changed and nothing else. */
  function follow() {
    const next = model.get("selection") ?? {};
    const changed = Object.keys(next).filter((name) => name in START && !same(next[name], known[name]));
    known = next;
    if (changed.length) viewer.update(Object.fromEntries(changed.map((name) => [name, next[name]])));
  }

  // Keys pressed here are not for the notebook, which would add or delete cells by them.
  const keep = (event) => { if (!event.ctrlKey && !event.metaKey) event.stopPropagation(); };
  el.setAttribute("data-lm-suppress-shortcuts", "true");
  el.addEventListener("keydown", keep);
  model.on("change:selection", follow);
  return () => {
    model.off("change:selection", follow);
    el.removeEventListener("keydown", keep);
    connection.close();
    viewer.destroy();
    el.replaceChildren();
  };
}

/** A connection to blocks that the kernel holds. */
function kernelConnection(model, wait) {
  const name = Math.random().toString(36).slice(2);
  const waiting = new Map(); // ticket -> { resolve, reject }
  let asked = 0;
  let timer = 0;

  /** Wait anew: as long as answers come, nobody is silent. */
  function listen() {
    clearTimeout(timer);
    wait(false);
    if (waiting.size) timer = setTimeout(() => wait(true), PATIENCE);
  }

  function hear(message, buffers) {
    const question = waiting.get(message?.ticket);
    if (!question) return;
    waiting.delete(message.ticket);
    listen();
    if (message.error) question.reject(new Error(message.error));
    else question.resolve(bytesOf(buffers[0]));
  }

  function ask(question) {
    asked += 1;
    const ticket = `${name}-${asked}`;
    return new Promise((resolve, reject) => {
      waiting.set(ticket, { resolve, reject });
      if (waiting.size === 1) listen();
      model.send({ ...question, ticket });
    });
  }

  model.on("msg:custom", hear);
  return {
    block: (index) => ask({ want: "block", index }),
    async row(scene, strand, layer, head, query) {
      const bytes = await ask({ want: "row", scene, strand, layer, head, query });
      return new Float32Array(bytes.slice().buffer);
    },
    pdf: (svg) => ask({ want: "pdf", svg }),
    close() {
      model.off("msg:custom", hear);
      clearTimeout(timer);
      waiting.clear();
    },
  };
}

function bytesOf(buffer) {
  return ArrayBuffer.isView(buffer) ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength) : new Uint8Array(buffer);
}

function same(a, b) {
  return JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
}
