// Where one is: the fragment of the address. `#model/NAME/STREAM?by=layer` is a page, what it is about, and choices.

/** Read a fragment: { page, about, chosen }; what cannot be read is left out. */
export function read(fragment) {
  const [path, choices = ""] = fragment.replace(/^#/, "").split("?", 2);
  const [page, ...about] = path.split("/").map(decoded);
  const chosen = {};
  for (const part of choices.split("&").filter(Boolean)) {
    const cut = part.indexOf("=");
    if (cut > 0) chosen[decoded(part.slice(0, cut))] = decoded(part.slice(cut + 1));
  }
  return { page: page || "", about: about.filter((part) => part !== ""), chosen };
}

/** Write one. */
export function address(page, about = [], chosen = {}) {
  const choices = Object.entries(chosen).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const said = choices.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  return `#${[page, ...about].map((part) => encodeURIComponent(part)).join("/")}${said ? `?${said}` : ""}`;
}

/** A path of a file of the atlas as a link: it can lead nowhere else. */
export function fileLink(path) {
  const [file, ...rest] = String(path).split("#");
  const parts = file.split(/[/\\]/).filter((part) => part !== "" && part !== "." && part !== "..");
  return `./${parts.map((part) => encodeURIComponent(part)).join("/")}${rest.length ? `#${encodeURI(rest.join("#"))}` : ""}`;
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return ""; }
}
