// Many small scenes in one page: buttons that open the viewer over it, or in a place of the page that they name. Each
// scene lies in an element of its own, header and blocks together, and is read when it is first asked for; closing, or
// asking for another one in the same place, takes the viewer down again.

import { element } from "./dom.js";
import { mount } from "./viewer.js";

/** Let every button with data-scene open that scene in the viewer, as data-selection says. */
export function bindGallery(root = document) {
  const place = element("div", {});
  const close = element("button", { type: "button", class: "attlas-close", "aria-label": "Close" }, "Close");
  const dialog = element("dialog", { class: "attlas-gallery" }, close, place);
  let viewer = null;
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => { viewer?.destroy(); viewer = null; });
  root.body.append(dialog);
  for (const button of root.querySelectorAll("button[data-scene]:not([data-into])")) {
    button.addEventListener("click", () => {
      viewer?.destroy();
      dialog.showModal();
      viewer = show(root, button, place);
    });
  }
  for (const showcase of root.querySelectorAll(".attlas-showcase")) bindShowcase(root, showcase);
}

/** Show in a place of the page what its buttons ask for, the first one at once; light and dark follow the page. */
function bindShowcase(root, showcase) {
  const buttons = [...root.querySelectorAll("button[data-into]")].filter((button) => button.dataset.into === showcase.id);
  let viewer = null;
  function choose(chosen) {
    viewer?.destroy();
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button === chosen)));
    viewer = show(root, chosen, showcase);
  }
  buttons.forEach((button) => button.addEventListener("click", () => choose(button)));
  if (buttons.length) choose(buttons[0]);
  new MutationObserver(() => viewer?.update({ theme: root.documentElement.dataset.theme ?? null }))
    .observe(root.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
}

/** Show the scene of a button in an element. */
function show(root, button, place) {
  const scene = JSON.parse(root.getElementById(`attlas-scene-${button.dataset.scene}`).textContent);
  const theme = root.documentElement.dataset.theme ?? null;
  const selection = { ...JSON.parse(button.dataset.selection), ...(theme ? { theme } : {}) };
  return mount(place, { header: scene.header, selection }, {
    async block(index) { return Uint8Array.from(atob(scene.blocks[index]), (letter) => letter.charCodeAt(0)); },
  });
}
