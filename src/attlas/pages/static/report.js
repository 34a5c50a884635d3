/* The small script of a report: light and dark, the choice of stream, drawing the charts, and tables that sort.
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
      await result.view.resize().runAsync(); /* legends of several lines have their height only now */
      if (turn !== drawing) return result.finalize();
      /* in how many columns a legend stands follows from a width that is known only now */
      if (place.querySelector(".role-legend")) await result.view.resize().runAsync();
      views.set(key, result.view.logLevel(1)); /* a choice of which nothing was measured is no cause for a warning */
    }
    for (const section of document.querySelectorAll("main > section:has(> .absent)")) {
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

  /* Tables: sorted by a click on a head, searched where there is a field for it; of the stream that is shown. */
  function bindTables(streams) {
    const shows = [];
    for (const listing of document.querySelectorAll(".listing")) {
      const body = listing.querySelector("tbody");
      const field = listing.querySelector("input[type=search]");
      const count = listing.querySelector("output");
      const rows = [...body.rows];
      const several = streams.length > 1 && rows.some((row) => row.dataset.stream !== rows[0].dataset.stream);
      let stream = null;
      const show = () => {
        const words = (field?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
        let visible = 0;
        for (const row of rows) {
          const cells = [...row.cells].map((cell) => cell.textContent.toLowerCase());
          const fits = (word) => (/^\d+-\d*$/.test(word) ? cells.some((cell) => cell.startsWith(word)) : cells.some((cell) => cell.includes(word)));
          row.hidden = (several && stream !== null && row.dataset.stream !== stream) || !words.every(fits);
          visible += row.hidden ? 0 : 1;
        }
        if (count) count.textContent = `${visible} of ${rows.length} rows`;
      };
      const heads = [...listing.querySelectorAll("th")];
      heads.forEach((head, at) => head.querySelector("button")?.addEventListener("click", () => {
        const numbers = !head.classList.contains("text");
        const up = head.getAttribute("aria-sort") === (numbers ? "descending" : "ascending") ? !numbers ? false : true : !numbers;
        const value = (row) => (numbers ? row.cells[at].dataset.v : row.cells[at].textContent);
        const empty = (text) => text === undefined || text === "" || text === "None" || text === "nan";
        const compare = (a, b) => {
          const [x, y] = [value(a), value(b)];
          if (empty(x) || empty(y)) return Number(empty(x)) - Number(empty(y));
          const order = numbers ? Number(x) - Number(y) : x.localeCompare(y);
          return up ? order : -order;
        };
        body.append(...[...body.rows].sort(compare));
        for (const other of heads) other.setAttribute("aria-sort", other === head ? (up ? "ascending" : "descending") : "none");
      }));
      field?.addEventListener("input", show);
      shows.push((chosen) => { stream = chosen; show(); });
    }
    return (chosen) => shows.forEach((show) => show(chosen));
  }

  document.addEventListener("DOMContentLoaded", () => {
    bindTheme();
    const page = JSON.parse(byId("data").textContent);
    const tables = Object.fromEntries(Object.entries(page.tables).map(([name, table]) => [name, unpack(table)]));
    const showRows = bindTables(page.streams ?? []);
    const change = (stream) => { showRows(stream ?? null); draw(page, tables, stream); };
    bindStreams(page.streams ?? [], change);
    change(page.streams?.[0]);
  });
})();
