// What a map's colours mean: what heads do, in which layer they are, or a figure. A painter paints heads, says what it
// shows, and draws its legend.

import { inkOn, isDark, roleColour, valueColour } from "./colours.js";
import { element } from "./dom.js";
import { alone, interval, isKnown, write } from "./kinds.js";
import { counted } from "./models.js";

/** Colours by role; `only` is the number of a role that stands out alone. */
export function byRoles(index, model, heads, only, choose) {
  const roles = index.roles;
  const title = (at) => roles[model.roleOf[at]].title;
  return {
    paint: (at, dark = isDark()) => ({ fill: roleColour(roles, model.roleOf[at], dark), text: roles[model.roleOf[at]].role === "other" ? "" : title(at), dim: only !== null && model.roleOf[at] !== only }),
    say: (at) => [title(at)],
    caption: `Heads of ${model.name} by what they do: the role of the first sentence of each head's portrait${only === null ? "" : `; only ${roles[only].title}`}.`,
    legend: () => element("div", { class: "legend", role: "group", "aria-label": "Roles; a click shows one alone" },
      ...counted(model, heads).map(([role, count]) => {
        const swatch = element("i", { class: "swatch" });
        swatch.style.backgroundColor = roleColour(roles, role, isDark());
        return element("button", {
          type: "button", "aria-pressed": only === role, title: roles[role].meaning || null,
          click: () => choose(only === role ? null : role),
        }, swatch, element("span", {}, roles[role].title), element("b", {}, String(count)));
      })),
    key: (dark) => counted(model, heads).map(([role, count]) => ({ fill: roleColour(roles, role, dark), text: `${roles[role].title} (${count})` })),
  };
}

/** Colours by layer. */
export function byLayers(model, heads) {
  const layers = Math.max(1, ...heads.map((at) => model.place.layer[at]));
  const fill = (layer, dark) => valueColour(layer / layers, false, dark);
  return {
    paint: (at, dark = isDark()) => ({ fill: fill(model.place.layer[at], dark), text: `${model.place.layer[at] + 1}-${model.place.head[at] + 1}` }),
    say: (at) => [`layer ${model.place.layer[at] + 1}`],
    caption: `Heads of ${model.name} under what they do, coloured by layer, from the first (pale) to the last (deep).`,
    legend: () => element("div", { class: "legend" }, bar((share) => valueColour(share, false, isDark()), [[0, "layer 1"], [1, `layer ${layers + 1}`]], [])),
    key: (dark) => [{ fill: fill(0, dark), text: "layer 1" }, { fill: fill(layers, dark), text: `layer ${layers + 1}` }],
  };
}

/** Colours by a figure: `number` in the model's list, with all its values. */
export function byFigure(model, data, values, number, heads) {
  const figure = data.figures[number];
  const row = values.row(number);
  const known = heads.map((at) => row[at]).filter(isKnown);
  const most = Math.max(...known), least = Math.min(...known);
  const parted = least < 0 && (figure.kind === "signed" || most > 0);
  const reach = parted ? Math.max(Math.abs(most), Math.abs(least)) || 1 : 1;
  const low = parted ? -reach : Math.min(0, least), high = parted ? reach : most > low ? most : low + 1;
  const share = (value) => (parted ? value / reach : (value - low) / (high - low));
  const sure = heads.filter((at) => values.sure(number, at) === 1).length;
  const empty = (dark) => (dark ? "#1c1f24" : "#ffffff");
  const colour = (value, dark) => (isKnown(value) ? valueColour(share(value), parted, dark) : empty(dark));
  const place = (value) => (value - low) / (high - low);
  const chance = (figure.chance ?? []).filter((value) => place(value) >= 0 && place(value) <= 1);
  const ends = [[0, alone(low, figure.kind)], [1, alone(high, figure.kind)]];
  const told = `${figure.title} (${figure.study}${figure.corpus ? `, ${figure.corpus}` : ""})`;
  const framed = sure ? `; framed: ${sure} whose interval lies above chance` : "";
  return {
    paint: (at, dark = isDark()) => ({ fill: colour(row[at], dark), text: write(row[at], figure.kind), framed: values.sure(number, at) === 1 }),
    say: (at) => [`${figure.title}: ${isKnown(row[at]) ? alone(row[at], figure.kind) : "not measured"}${["", ", above chance", ", below chance"][values.sure(number, at)]}`],
    caption: `Heads of ${model.name} by ${told}, from ${ends[0][1]} to ${ends[1][1]}${chance.length ? `; chance: ${level(chance, figure.kind)}` : ""}${framed}.`,
    legend: () => element("div", { class: "legend" },
      known.length ? bar((at) => valueColour(parted ? 2 * at - 1 : at, parted, isDark()), ends, chance.length ? [...new Set(chance.map(place))] : []) : element("span", {}, "No value in this attention."),
      element("span", { class: "said" }, [figure.definition, chance.length ? `chance ${level(chance, figure.kind)}` : "no chance level", sure ? `framed: ${sure} of ${known.length} surely above chance` : ""].filter(Boolean).join(" · "))),
    key: (dark) => [0, 0.25, 0.5, 0.75, 1].map((at) => ({ fill: colour(low + at * (high - low), dark), text: alone(low + at * (high - low), figure.kind) })),
  };
}

/** The chance levels of all heads: one number, or from the smallest to the largest. */
function level(chance, kind) {
  const [least, most] = [Math.min(...chance), Math.max(...chance)];
  return alone(least, kind) === alone(most, kind) ? alone(least, kind) : interval(least, most, kind);
}

/** A bar of colours with its ends, and marks at shares of it. */
function bar(colour, ends, marks) {
  const strip = element("span", { class: "ramp", role: "img", "aria-label": ends.map(([, text]) => text).join(" to ") });
  for (let at = 0; at < 40; at += 1) {
    const piece = element("i");
    piece.style.backgroundColor = colour(at / 39);
    strip.append(piece);
  }
  for (const mark of marks) {
    const tick = element("b", { title: "chance" });
    tick.style.left = `${100 * mark}%`;
    tick.style.color = inkOn(colour(mark));
    strip.append(tick);
  }
  return element("span", { class: "bar-legend" }, ends[0][1], strip, ends[1][1], marks.length ? element("span", { class: "said" }, "┃ chance") : null);
}
