// A table: sorted by a click on its heads, searched where it is long, cut where it is very long until somebody asks for
// all of it.

import { element } from "./dom.js";

const SEARCHED = 12;
const FIRST = 100;

/** A cell: what is shown, and the number or text by which it is sorted and saved. */
export function cell(shown, value = shown, { link = null, role = null, long = false } = {}) {
  return { shown: String(shown ?? ""), value, link, role, long };
}

/** A table as an element; `columns` are { title, number }, `rows` lists of cells. */
export function listing({ caption, columns, rows, searched = true }) {
  let shown = rows, sorted = null, up = false, all = false;
  const body = element("tbody");
  const count = element("output");
  const more = element("button", { type: "button", class: "more", click: () => { all = true; fill(); } });
  const heads = columns.map((column, at) => element("th", { scope: "col", class: column.number ? null : "text" },
    element("button", { type: "button", click: () => sort(at) }, column.title)));

  function line(row) {
    return element("tr", {}, ...row.map((one, at) => {
      const inside = one.link ? element("a", { href: one.link }, one.shown) : one.shown;
      const swatch = one.role ? element("i", { class: "swatch" }) : null;
      if (swatch) swatch.style.backgroundColor = one.role;
      return element("td", { class: [columns[at].number ? "" : "text", one.long ? "long" : ""].join(" ").trim() || null }, swatch, inside);
    }));
  }
  function fill() {
    body.replaceChildren(...(all ? shown : shown.slice(0, FIRST)).map(line));
    more.hidden = all || shown.length <= FIRST;
    more.textContent = `show all ${shown.length}`;
    count.textContent = shown.length === rows.length ? `${rows.length} rows` : `${shown.length} of ${rows.length} rows`;
  }
  function sort(at) {
    up = sorted === at ? !up : !columns[at].number;
    sorted = at;
    const missing = (value) => value === null || value === "" || Number.isNaN(value);
    const compare = (a, b) => {
      const [x, y] = [a[at].value, b[at].value];
      if (missing(x) || missing(y)) return Number(missing(x)) - Number(missing(y));
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
      return up ? order : -order;
    };
    rows = [...rows].sort(compare);
    shown = [...shown].sort(compare);
    heads.forEach((head, other) => head.setAttribute("aria-sort", other === at ? (up ? "ascending" : "descending") : "none"));
    fill();
  }
  const field = element("input", { type: "search", placeholder: "search", "aria-label": `Search: ${caption}`, input: () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = rows.filter((row) => words.every((word) => row.some((one) => (/^\d+-\d*$/.test(word) ? one.shown.startsWith(word) : one.shown.toLowerCase().includes(word)))));
    fill();
  } });
  fill();
  const filter = searched && rows.length > SEARCHED ? element("div", { class: "filter" }, field, count) : null;
  const table = element("table", { class: "sortable" }, element("thead", {}, element("tr", {}, ...heads)), body);
  return element("div", { class: "listing" }, filter, element("div", { class: "scroll whole", tabindex: "0", role: "region", "aria-label": caption }, table), more);
}
