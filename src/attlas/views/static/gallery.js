// Many small scenes in one page: buttons that open the viewer over it. Each scene lies in an element of its own, header
// and blocks together, and is read when it is first asked for; closing takes the viewer down again.

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
  for (const button of root.querySelectorAll("button[data-scene]")) {
    button.addEventListener("click", () => {
      const scene = JSON.parse(root.getElementById(`attlas-scene-${button.dataset.scene}`).textContent);
      const theme = root.documentElement.dataset.theme ?? null;
      const selection = { ...JSON.parse(button.dataset.selection), ...(theme ? { theme } : {}) };
      viewer?.destroy();
      dialog.showModal();
      viewer = mount(place, { header: scene.header, selection }, {
        async block(index) { return Uint8Array.from(atob(scene.blocks[index]), (letter) => letter.charCodeAt(0)); },
      });
    });
  }
}
