// What is told of the thing that is pointed at: one box for the whole page, beside the pointer or the focus.

import { element } from "./dom.js";

let box = null;

/** Show parts (elements or text) beside a place { x, y } of the window; a list of none hides the box. */
export function tell(parts, where) {
  if (!box) { box = element("div", { class: "tip", role: "presentation", "aria-hidden": "true" }); document.body.append(box); }
  box.hidden = parts.length === 0;
  if (box.hidden) return;
  box.replaceChildren(...parts);
  const { width, height } = box.getBoundingClientRect();
  const right = where.x + 14 + width < innerWidth ? where.x + 14 : Math.max(6, Math.min(where.x - width - 10, innerWidth - width - 6));
  const below = where.y + 16 + height < innerHeight ? where.y + 16 : Math.max(6, where.y - height - 12);
  box.style.left = `${right}px`;
  box.style.top = `${below}px`;
}

/** Hide it. */
export function hush() {
  if (box) box.hidden = true;
}
