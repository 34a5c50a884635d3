/* One pair of sentences as a grid of words. Squares are gold links, dots are those that the chosen alignment gives. */
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const byId = (id) => document.getElementById(id);
  const shown = JSON.parse(byId("alignment-data")?.textContent ?? "null");
  if (!shown?.pairs.length) return;
  const SVG = "http://www.w3.org/2000/svg";
  const CELL = 22, GAP = 10, SLOPE = Math.PI / 3.6;
  const pairs = byId("alignment-pair"), methods = byId("alignment-method");
  const percent = (share) => (100 * share).toFixed(1);
  const links = (text) => (text ? text.split(" ").map((link) => link.split("-").map(Number)) : []);

  function add(parent, name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  const canvas = document.createElement("canvas").getContext("2d");
  function widest(words) {
    canvas.font = `13px ${getComputedStyle(root()).getPropertyValue("--sans")}`;
    return Math.max(...words.map((word) => canvas.measureText(word).width));
  }
  const root = () => document.documentElement;

  function option(list, value, text) {
    const made = document.createElement("option");
    made.value = value;
    made.textContent = text;
    list.append(made);
  }

  function namePairs() {
    const method = methods.value, chosen = pairs.value;
    pairs.replaceChildren();
    shown.pairs.forEach((pair, at) => {
      const error = pair.found[method]?.[1];
      const start = pair.source.join(" ");
      const rate = error === null || error === undefined ? "" : ` · AER ${percent(error)}`;
      option(pairs, at, `${pair.pair}${rate} · ${start.length > 50 ? `${start.slice(0, 50)}…` : start}`);
    });
    if (chosen) pairs.value = chosen;
  }

  function drawGrid(pair, found) {
    const { source, target } = pair;
    const left = widest(target) + GAP, tall = widest(source) * Math.sin(SLOPE) + 2 * GAP;
    const right = Math.max(0, ...source.map((word, i) => {
      const reach = widest([word]) * Math.cos(SLOPE) + (i + 0.5) * CELL;
      return reach - source.length * CELL;
    }));
    const width = left + source.length * CELL, height = tall + target.length * CELL;
    const svg = document.createElementNS(SVG, "svg");
    const whole = { width: width + right + GAP, height: height + 2 };
    for (const [key, value] of Object.entries(whole)) svg.setAttribute(key, value);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `Grid of ${source.length} source words and ${target.length} target words`);
    const x = (i) => left + i * CELL, y = (j) => tall + j * CELL;
    const column = add(svg, "rect", { class: "band", y: tall, width: CELL, height: height - tall });
    const row = add(svg, "rect", { class: "band", x: left, width: width - left, height: CELL });
    for (let i = 0; i <= source.length; i++) add(svg, "line", { class: "lattice", x1: x(i), x2: x(i), y1: tall, y2: height });
    for (let j = 0; j <= target.length; j++) add(svg, "line", { class: "lattice", x1: left, x2: width, y1: y(j), y2: y(j) });
    const across = source.map((word, i) => {
      const at = `translate(${x(i) + CELL / 2 + 4} ${tall - 6}) rotate(${(-SLOPE * 180) / Math.PI})`;
      return add(svg, "text", { transform: at, "data-source": i }, word);
    });
    const down = target.map((word, j) =>
      add(svg, "text", { x: left - 6, y: y(j) + CELL / 2 + 4.5, "text-anchor": "end", "data-target": j }, word));
    for (const kind of ["sure", "possible"]) {
      for (const [i, j] of links(pair[kind])) {
        const inset = kind === "sure" ? 2.5 : 3.5;
        const size = CELL - 2 * inset;
        add(svg, "rect", { class: kind, x: x(i) + inset, y: y(j) + inset, width: size, height: size, rx: 2 });
      }
    }
    for (const [i, j] of found) add(svg, "circle", { class: "found", cx: x(i) + CELL / 2, cy: y(j) + CELL / 2, r: 5 });
    follow(svg, pair, found, { left, tall, across, down, row, column, x, y });
    byId("alignment-grid").replaceChildren(svg);
  }

  /* Point at a place: its row, its column and its two words stand out, and a line below says what meets there. */
  function follow(svg, pair, found, { left, tall, across, down, row, column, x, y }) {
    const here = byId("alignment-here");
    const has = (those, i, j) => those.some(([a, b]) => a === i && b === j);
    const [sure, possible] = [links(pair.sure), links(pair.possible)];
    function mark(i, j) {
      const inside = i >= 0 && j >= 0 && i < pair.source.length && j < pair.target.length;
      across.forEach((text, at) => text.classList.toggle("on", inside && at === i));
      down.forEach((text, at) => text.classList.toggle("on", inside && at === j));
      for (const band of [row, column]) band.classList.toggle("on", inside);
      if (!inside) { here.textContent = "\u00a0"; return; }
      column.setAttribute("x", x(i));
      row.setAttribute("y", y(j));
      const gold = has(sure, i, j) ? "sure" : has(possible, i, j) ? "possible" : pair.sure === null ? "" : "not in the gold";
      const given = has(found, i, j) ? "given" : "not given";
      here.textContent = `${pair.source[i]} – ${pair.target[j]}: ${[gold, given].filter(Boolean).join(", ")}`;
    }
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      mark(Math.floor((event.clientX - box.left - left) / CELL), Math.floor((event.clientY - box.top - tall) / CELL));
    });
    svg.addEventListener("pointerleave", () => mark(-1, -1));
    mark(-1, -1);
  }

  /* The same in words. */
  function say(pair, found, error) {
    const key = ([i, j]) => `${i}-${j}`;
    const words = ([i, j]) => `${pair.source[i]} – ${pair.target[j]}`;
    const line = (lead, those) => {
      const part = document.createElement("p"), bold = document.createElement("b");
      bold.textContent = lead;
      part.append(bold, those.length ? `: ${those.map(words).join("; ")}.` : ".");
      return part;
    };
    if (pair.sure === null) {
      const free = pair.target.map((_, j) => j).filter((j) => !found.some(([, other]) => other === j));
      const lonely = line(`${free.length} of ${pair.target.length} target words without a link`, []);
      if (free.length) lonely.append(` ${free.map((j) => pair.target[j]).join("; ")}.`);
      return [line(`${found.length} links`, []), lonely];
    }
    const given = new Set(found.map(key));
    const sure = links(pair.sure), right = new Set([...sure, ...links(pair.possible)].map(key));
    const missed = sure.filter((link) => !given.has(key(link)));
    const wrong = found.filter((link) => !right.has(key(link)));
    const rate = error === null || error === undefined ? "" : ` (AER ${percent(error)})`;
    return [
      line(`${sure.length - missed.length} of ${sure.length} sure links found${rate}${missed.length ? ", missed" : ""}`, missed),
      line(`${found.length - wrong.length} of ${found.length} given links are in the gold${wrong.length ? ", not" : ""}`, wrong),
    ];
  }

  function draw() {
    const pair = shown.pairs[pairs.value];
    const [predicted, error] = pair.found[methods.value] ?? ["", null];
    const found = links(predicted);
    drawGrid(pair, found);
    byId("alignment-said").replaceChildren(...say(pair, found, error));
    byId("alignment-before").disabled = pairs.selectedIndex === 0;
    byId("alignment-after").disabled = pairs.selectedIndex === shown.pairs.length - 1;
  }

  function step(by) {
    pairs.selectedIndex = Math.min(shown.pairs.length - 1, Math.max(0, pairs.selectedIndex + by));
    draw();
  }

  for (const method of shown.methods) option(methods, method, method);
  namePairs();
  pairs.selectedIndex = shown.first;
  pairs.addEventListener("change", draw);
  methods.addEventListener("change", () => { namePairs(); draw(); });
  byId("alignment-before").addEventListener("click", () => step(-1));
  byId("alignment-after").addEventListener("click", () => step(1));
  draw();
});
