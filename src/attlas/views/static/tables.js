// The numbers behind a picture as tables: always there for screen readers, and for everybody who asks.

import { element } from "./dom.js";

const ROWS = 200; // of one table; more would burden the page and no reader

/** Show tables ({ caption, columns, rows }) in an element, unless they are there already. */
export function showTables(place, tables) {
  const cut = tables.map((table) => ({ ...table, rows: table.rows.slice(0, ROWS), all: table.rows.length }));
  const signature = JSON.stringify(cut);
  if (place.dataset.signature === signature) return;
  place.dataset.signature = signature;
  place.replaceChildren(...cut.map(({ caption, columns, rows, all }) => element(
    "table", {}, element("caption", {}, caption + (all > ROWS ? ` (the first ${ROWS} of ${all} rows)` : "")),
    element("thead", {}, element("tr", {}, ...columns.map((column) => element("th", { scope: "col" }, column)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))))),
  )));
}
