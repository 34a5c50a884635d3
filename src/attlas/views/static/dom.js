// Building elements. Text goes in as text nodes and attributes as attributes, never as markup.

const TURNING = /[\u202a-\u202e\u2066-\u2069]/g; // marks that turn the direction of all that follows, figures too

/** An element with attributes (functions become listeners) and children (elements or text). */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || (value === false && !name.startsWith("aria-"))) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined).map(unturned));
  return made;
}

/** A text with what would turn its surroundings around shown instead; anything else as it is. */
function unturned(child) {
  return typeof child === "string" ? child.replace(TURNING, (mark) => `⟨${mark.codePointAt(0).toString(16)}⟩`) : child;
}

/** Whether whatever surrounds the viewer is dark: the notebook's theme where it says so, else the system's. */
export function surroundingsAreDark() {
  const body = document.body;
  if (body?.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false";
  if (body?.classList.contains("vscode-dark") || document.documentElement.getAttribute("theme") === "dark") return true;
  if (body?.classList.contains("vscode-light")) return false;
  return globalThis.matchMedia?.("(prefers-color-scheme: dark)").matches ?? false;
}
