// What can be taken along from a page: its tables, its pictures with a caption on white or on no ground, how to cite
// it, and the command that makes it again.

import { element } from "./dom.js";
import { theme } from "./palette.js";
import { pdfSurface } from "./pdf.js";
import { download } from "./download.js";
import { svgSurface } from "./surface.js";
import { csv, fileName, latex, markdown } from "./texts.js";

const EDGE = 20;
const LINE = 16;

/**
 * A menu of all that can be taken along. `tables()` and `pictures()` give lists when somebody asks; a picture is { name,
 * caption, width, height, draw(surface, colours) }.
 */
export function exportMenu({ tables = () => [], pictures = () => [], cite = "", command = "" }) {
  const said = element("output", { "aria-live": "polite" });
  const clear = element("input", { type: "checkbox" });
  const saved = (text, kind, name) => download(new Blob([text], { type: `${kind};charset=utf-8` }), name);
  const button = (text, act, title = null) => element("button", { type: "button", title, click: act }, text);
  const inside = element("div", { class: "export-menu" });
  const menu = element("details", { class: "export" }, element("summary", {}, "Export"), inside);

  function copy(text, what) {
    const done = () => { said.textContent = `${what} copied`; };
    navigator.clipboard?.writeText(text).then(done, () => { said.textContent = "copying was refused; select the text below"; });
    if (!navigator.clipboard) said.textContent = "this browser copies nothing here; select the text below";
  }

  function fill() {
    const rows = [];
    for (const table of tables()) {
      const name = fileName(table.name);
      rows.push(element("div", { class: "row" }, element("span", {}, table.title ?? "Table"),
        button("CSV", () => saved(csv(table), "text/csv", `${name}.csv`)),
        button("LaTeX", () => saved(latex(table), "application/x-tex", `${name}.tex`)),
        button("Markdown", () => saved(markdown(table), "text/markdown", `${name}.md`))));
    }
    const shown = pictures();
    for (const picture of shown) {
      rows.push(element("div", { class: "row" }, element("span", {}, picture.title ?? "Picture"),
        button("SVG", () => savePicture(picture, "svg", clear.checked)),
        button("PDF", () => savePicture(picture, "pdf", clear.checked))));
    }
    if (shown.length) rows.push(element("label", { class: "row" }, clear, "pictures without a ground"));
    if (cite) rows.push(element("div", { class: "row" }, element("span", {}, "To cite"), button("BibTeX", () => saved(`${cite}\n`, "application/x-bibtex", "attlas.bib")), button("copy", () => copy(cite, "BibTeX"))));
    if (command) rows.push(element("div", { class: "row" }, element("span", {}, "To repeat it"), button("copy", () => copy(command, "command"))), element("code", {}, command));
    inside.replaceChildren(...rows, said);
  }
  menu.addEventListener("toggle", () => { if (menu.open) fill(); });
  menu.addEventListener("keydown", (event) => { if (event.key === "Escape") { menu.open = false; menu.querySelector("summary").focus(); } });
  document.addEventListener("pointerdown", (event) => { if (!menu.contains(event.target)) menu.open = false; });
  return menu;
}

/** Save a picture with its caption. */
export function savePicture(picture, kind, clear) {
  const colours = theme(false);
  const font = `12px ${colours.sans}`;
  const trial = svgSurface(1, 1);
  const width = picture.width + 2 * EDGE;
  const lines = broken(picture.caption, (text) => trial.measure(text, font), picture.width);
  const height = picture.height + 2 * EDGE + 10 + LINE * lines.length;
  const surface = (kind === "svg" ? svgSurface : pdfSurface)(width, height);
  if (!clear) surface.rect(0, 0, width, height, "#ffffff");
  picture.draw(offset(surface, EDGE, EDGE), { ...colours, paper: "#ffffff" });
  lines.forEach((line, at) => surface.text(line, EDGE, EDGE + picture.height + 18 + LINE * at, { font, fill: colours.ink }));
  const made = surface.finish();
  const blob = made instanceof Blob ? made : new Blob([made], { type: "image/svg+xml" });
  download(blob, `${fileName(picture.name)}.${kind}`);
}

/** The same surface, moved. */
function offset(surface, dx, dy) {
  return {
    ...surface,
    rect: (x, y, ...rest) => surface.rect(x + dx, y + dy, ...rest),
    disc: (x, y, ...rest) => surface.disc(x + dx, y + dy, ...rest),
    frame: (x, y, ...rest) => surface.frame(x + dx, y + dy, ...rest),
    text: (string, x, y, style) => surface.text(string, x + dx, y + dy, style),
  };
}

/** A text in lines of a width. */
function broken(text, measure, width) {
  const lines = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line ? `${line} ${word}` : word;
    if (line && measure(longer) > width) { lines.push(line); line = word; } else line = longer;
  }
  return [...lines, line];
}

/** The key of a map's colours, drawn below it: its height, and how to draw it at `top`. */
export function keyBelow(entries, width, colours) {
  const font = `11px ${colours.sans}`;
  const trial = svgSurface(1, 1);
  const placed = [];
  let x = 0, y = 0;
  for (const entry of entries) {
    const long = 20 + trial.measure(entry.text, font) + 16;
    if (x > 0 && x + long > width) { x = 0; y += 20; }
    placed.push({ ...entry, x, y });
    x += long;
  }
  return {
    height: y + 26,
    draw(surface, top) {
      for (const { fill, text, x: at, y: down } of placed) {
        surface.rect(at, top + down + 8, 13, 13, fill);
        surface.frame(at + 0.5, top + down + 8.5, 12, 12, colours.line);
        surface.text(text, at + 20, top + down + 15, { font, fill: colours.ink });
      }
    },
  };
}
