/* The small script of a report: light and dark, the choice of stream, drawing the charts, and the table of heads.
   The numbers lie once in the page, packed by column; every chart is handed the rows it shows. */
(() => {
  "use strict";
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);

  /* Light and dark: the reader's own choice where there is one, else what the system prefers. */
  const memory = {
    get() { try { return localStorage.getItem("attlas-theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("attlas-theme", value); } catch { /* a page may be denied a memory */ } },
  };
  const chosen = memory.get();
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;
  const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

  function bindTheme() {
    const button = byId("theme");
    const show = () => button.setAttribute("aria-pressed", String(isDark()));
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      memory.set(root.dataset.theme);
      show();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
    show();
  }

  function unpack({ rows, columns }) {
    const names = Object.keys(columns);
    const whole = names.map((name) => {
      const column = columns[name];
      return Array.isArray(column) ? column : column.at.map((place) => column.of[place]);
    });
    return Array.from({ length: rows }, (_, row) => Object.fromEntries(names.map((name, k) => [name, whole[k][row]])));
  }

  /* Offer in a list only what the rows have. */
  function narrow(spec, rows) {
    for (const param of spec.params ?? []) {
      const bind = param.bind;
      if (!bind?.options || !rows.some((row) => param.name in row)) continue;
      const present = new Set(rows.map((row) => row[param.name]));
      const kept = bind.options.map((_, k) => k).filter((k) => present.has(bind.options[k]));
      bind.labels = kept.map((k) => bind.labels[k]);
      bind.options = kept.map((k) => bind.options[k]);
      if (!present.has(param.value)) param.value = bind.options[0];
    }
    return spec;
  }

  const views = new Map();
  let drawing = 0;

  async function draw(page, tables, stream) {
    const turn = ++drawing;
    root.dataset.ready = "false";
    for (const view of views.values()) view.finalize();
    views.clear();
    for (const [key, figure] of Object.entries(page.figures)) {
      const place = byId(`figure-${key}`);
      const where = Object.entries(figure.where);
      const rows = (tables[figure.table] ?? []).filter(
        (row) => (row.stream ?? stream) === stream && where.every(([column, values]) => values.includes(row[column])),
      );
      place.hidden = rows.length === 0;
      if (!rows.length) continue;
      const spec = narrow(structuredClone(figure.spec), rows);
      spec.datasets = { rows: rows.map((row) => ({ ...row })) };
      const result = await vegaEmbed(place.querySelector(".chart"), spec, {
        config: page.config, renderer: "svg", defaultStyle: "/* the page's own */", downloadFileName: `attlas-${key}`,
        actions: { export: true, source: false, compiled: false, editor: false },
      });
      if (turn !== drawing) return result.finalize();
      views.set(key, result.view.logLevel(1)); /* a choice of which nothing was measured is no cause for a warning */
    }
    for (const section of document.querySelectorAll("main > section")) {
      const figures = [...section.querySelectorAll("figure")];
      const absent = figures.length > 0 && figures.every((figure) => figure.hidden);
      section.querySelector(":scope > .absent").hidden = !absent;
      for (const key of section.querySelectorAll(".key")) key.hidden = absent;
    }
    link(page);
    root.dataset.ready = "true";
  }

  /* Let charts follow each other: settings of one drive another, and a click picks what the other shows. */
  function link(page) {
    for (const [key, figure] of Object.entries(page.figures)) {
      const view = views.get(key);
      if (!view) continue;
      for (const [signal, followers] of Object.entries(figure.drives)) {
        view.addSignalListener(signal, (_, value) => {
          for (const follower of followers.map((name) => views.get(name))) {
            /* charts that follow each other stop here */
            if (follower && follower.signal(signal) !== value) follower.signal(signal, value).run();
          }
        });
      }
      for (const [column, follower] of Object.entries(figure.picks)) {
        view.addEventListener("click", (_, item) => {
          const value = item?.datum?.[column];
          if (value !== undefined) views.get(follower)?.signal(column, value).run();
        });
      }
    }
  }

  function bindStreams(streams, change) {
    if (streams.length < 2) return;
    const place = byId("streams");
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", "Which attention");
    for (const stream of streams) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = stream;
      button.setAttribute("aria-pressed", String(stream === streams[0]));
      button.addEventListener("click", () => {
        for (const other of place.children) other.setAttribute("aria-pressed", String(other === button));
        change(stream);
      });
      place.append(button);
    }
  }

  /* The table of heads. */
  const short = (value, digits = 2) => value.toFixed(digits).replace(/^(-?)0\./, "$1.").replace("-", "−");

  function written(value, kind) {
    if (value === null || value === undefined) return "";
    if (kind === "share" || kind === "signed") return short(value);
    return value < 10 ? short(value) : value.toFixed(1);
  }

  function headRows(tables, columns, stream) {
    const heads = new Map();
    const at = (row) => {
      const label = `${row.layer + 1}-${row.head + 1}`;
      if (!heads.has(label)) heads.set(label, { label, order: row.layer * 100000 + row.head, portrait: "" });
      return heads.get(label);
    };
    for (const row of tables.heads ?? []) if (row.stream === stream) at(row);
    for (const row of tables.portraits ?? []) if (row.stream === stream) at(row).portrait = row.sentence;
    for (const column of columns) {
      for (const row of tables[column.table] ?? []) {
        const fits = column.table !== "heads" || (row.quantity === column.quantity && row.measure === column.measure);
        if (row.stream === stream && fits) at(row)[column.key] = row.value;
      }
    }
    return [...heads.values()];
  }

  function headTable(page, tables) {
    const table = byId("heads-table");
    if (!table) return () => {};
    const filter = byId("filter");
    const lead = [{ key: "order", title: "head", kind: "label" }];
    if (tables.portraits?.length) lead.push({ key: "portrait", title: "portrait", kind: "text" });
    let columns = [], rows = [], sorted = { key: "order", up: true };

    function shown() {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = (row, word) =>
        /^\d+-\d*$/.test(word) ? row.label.startsWith(word) : `${row.label} ${row.portrait}`.toLowerCase().includes(word);
      return rows.filter((row) => words.every((word) => fits(row, word)));
    }

    function compare(a, b) {
      const [x, y] = [a[sorted.key], b[sorted.key]];
      if (x === y) return a.order - b.order;
      if (x === null || x === undefined) return 1;
      if (y === null || y === undefined) return -1;
      return (x < y ? -1 : 1) * (sorted.up ? 1 : -1);
    }

    function fill() {
      const visible = shown().sort(compare);
      table.tBodies[0].replaceChildren(...visible.map((row) => {
        const line = document.createElement("tr");
        for (const { key, kind } of columns) {
          const cell = line.insertCell();
          if (kind === "label") { cell.className = "text"; cell.textContent = row.label; continue; }
          if (kind === "text") { cell.className = "text long"; cell.textContent = row[key]; continue; }
          cell.textContent = written(row[key], kind);
          if (kind === "share") { cell.className = "share"; cell.style.setProperty("--share", row[key] ?? 0); }
        }
        return line;
      }));
      for (const head of table.tHead.querySelectorAll("th")) {
        const here = head.dataset.key === sorted.key;
        head.setAttribute("aria-sort", here ? (sorted.up ? "ascending" : "descending") : "none");
      }
      byId("count").textContent = `${visible.length} of ${rows.length} heads`;
    }

    function sortBy({ key, kind }) {
      const up = kind === "label" || kind === "text" || kind === "signed";
      sorted = { key, up: sorted.key === key ? !sorted.up : up };
      fill();
    }

    filter.addEventListener("input", fill);
    return (stream) => {
      rows = headRows(tables, page.columns, stream);
      columns = [...lead, ...page.columns.filter(({ key }) => rows.some((row) => row[key] !== undefined))];
      if (!columns.some(({ key }) => key === sorted.key)) sorted = { key: "order", up: true };
      const line = document.createElement("tr");
      for (const column of columns) {
        const head = document.createElement("th");
        const button = document.createElement("button");
        head.scope = "col";
        head.dataset.key = column.key;
        if (column.kind === "label" || column.kind === "text") head.className = "text";
        button.type = "button";
        button.textContent = column.title;
        button.addEventListener("click", () => sortBy(column));
        head.append(button);
        line.append(head);
      }
      table.tHead.replaceChildren(line);
      fill();
    };
  }

  document.addEventListener("DOMContentLoaded", () => {
    bindTheme();
    const page = JSON.parse(byId("data").textContent);
    const tables = Object.fromEntries(Object.entries(page.tables).map(([name, table]) => [name, unpack(table)]));
    const fillHeads = headTable(page, tables);
    const change = (stream) => { fillHeads(stream); draw(page, tables, stream); };
    bindStreams(page.streams ?? [], change);
    change(page.streams?.[0]);
  });
})();
