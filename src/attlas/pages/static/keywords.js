/* Phrases and their places: a click on a phrase lights up all its places and goes to the first, further clicks go to
   the next ones; a click on a place does the same for its phrase; Escape puts all out. */
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const texts = document.querySelectorAll(".weighed");
  const placesOf = (text, phrase) => [...text.querySelectorAll(`mark.place[data-phrase="${phrase}"]`)];

  function clear() {
    for (const mark of document.querySelectorAll("mark.place.on")) mark.classList.remove("on", "here");
    for (const link of document.querySelectorAll(".weighed-phrases a[aria-current]")) link.removeAttribute("aria-current");
    if (location.hash.startsWith("#p")) history.replaceState(null, "", location.pathname + location.search);
  }

  function light(text, phrase, turn) {
    clear();
    const places = placesOf(text, phrase);
    for (const mark of places) mark.classList.add("on");
    const link = text.querySelector(`.weighed-phrases a[data-phrase="${phrase}"]`);
    link?.setAttribute("aria-current", "true");
    const here = places[turn % places.length];
    here?.classList.add("here");
    return here;
  }

  for (const text of texts) {
    let lit = null;
    let turn = 0;
    text.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-phrase]");
      const mark = event.target.closest("mark.place");
      if (link) {
        event.preventDefault();
        const phrase = link.dataset.phrase;
        turn = lit === phrase && link.hasAttribute("aria-current") ? turn + 1 : 0;
        lit = phrase;
        const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
        light(text, phrase, turn)?.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
      } else if (mark) {
        lit = mark.dataset.phrase;
        turn = placesOf(text, lit).indexOf(mark);
        light(text, lit, turn);
      }
    });
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") clear(); });
});
