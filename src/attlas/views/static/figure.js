// The dialog that saves a figure to publish: its width, its ground, its caption, and the kinds of file that can be had here.

import { element } from "./dom.js";
import { WIDTHS } from "./saving.js";

const GROUNDS = { white: "white", transparent: "transparent" };
const WITHOUT_PDF = "PDF is offered where Python is behind the page: in attlas serve and in a notebook. SVG can be turned into it.";

/** The dialog: `open(caption)` shows it, and `keep(kind, { width, ground, caption })` is called for a file. */
export function figureDialog(keep, offersPdf) {
  const width = choice("Width", "width", Object.entries(WIDTHS).map(([name, [said]]) => [name, said]));
  const ground = choice("Ground", "ground", Object.entries(GROUNDS));
  const caption = element("textarea", { name: "caption", rows: 3, "aria-label": "Caption", dir: "auto", spellcheck: "false" });
  const told = element("p", { class: "attlas-label", role: "status" }, offersPdf ? "" : WITHOUT_PDF);
  const kinds = ["svg", "png", ...(offersPdf ? ["pdf"] : [])];
  const make = async (kind) => {
    told.textContent = "";
    try {
      await keep(kind, { width: width.input.value, ground: ground.input.value, caption: caption.value });
    } catch (error) {
      told.textContent = error.message;
    }
  };
  const dialog = element(
    "dialog", { class: "attlas-help attlas-figure" }, element("h2", {}, "A figure of this"),
    element("div", { class: "attlas-fields" }, width.whole, ground.whole),
    element("label", { class: "attlas-caption" }, element("span", { class: "attlas-label" }, "Caption; left empty, there is none"), caption),
    element("p", { class: "attlas-actions" }, ...kinds.map((kind) =>
      element("button", { type: "button", "data-save": kind, click: () => make(kind) }, kind.toUpperCase()))),
    told, element("form", { method: "dialog" }, element("button", {}, "Close")),
  );
  return {
    dialog,
    open(text) {
      caption.value = text;
      dialog.showModal();
    },
  };
}

function choice(label, name, options) {
  const input = element("select", { name, "aria-label": label }, ...options.map(([value, said]) => element("option", { value }, said)));
  return { input, whole: element("label", { class: "attlas-group" }, element("span", { class: "attlas-label" }, label), input) };
}
