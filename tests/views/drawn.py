"""What stands on a picture, as the browser was told to draw it: texts with their boxes, and faults of the layout.

A script of the page's own writes down each text that is drawn on a canvas of the document, with the box that its
letters fill. From that and from the pixels one can tell what no person need look for: labels that are too small, that
lie on each other or stick out, drawings that leave the window empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

RECORDER = """() => {
  if (window.attlasDrawn) return;
  window.attlasDrawn = new WeakMap();
  const size = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, "width");
  Object.defineProperty(HTMLCanvasElement.prototype, "width", {
    ...size, set(value) { attlasDrawn.set(this, []); size.set.call(this, value); },
  });
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    if (this.canvas.isConnected) {
      const m = this.measureText(text);
      const at = this.getTransform();
      const scale = this.canvas.width / this.canvas.clientWidth;
      const corners = [[x - m.actualBoundingBoxLeft, y - m.actualBoundingBoxAscent],
        [x + m.actualBoundingBoxRight, y - m.actualBoundingBoxAscent],
        [x + m.actualBoundingBoxRight, y + m.actualBoundingBoxDescent],
        [x - m.actualBoundingBoxLeft, y + m.actualBoundingBoxDescent]]
        .map(([a, b]) => { const p = at.transformPoint(new DOMPoint(a, b)); return [p.x / scale, p.y / scale]; });
      const place = at.transformPoint(new DOMPoint(x, y));
      attlasDrawn.get(this.canvas)?.push({
        text, corners, x: place.x / scale, y: place.y / scale, font: this.font, turned: at.b !== 0,
      });
    }
    return write.call(this, text, x, y);
  };
  const paint = CanvasRenderingContext2D.prototype.drawImage;
  CanvasRenderingContext2D.prototype.drawImage = function (...given) {
    if (this.canvas.isConnected) {
      const [x, y, width, height] = given.slice(-4);
      attlasDrawn.get(this.canvas)?.push({ picture: [x, y, width, height] });
    }
    return paint.apply(this, given);
  };
}"""
REDRAW = """async () => {
  const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  for (const canvas of document.querySelectorAll(".attlas-stage canvas")) {
    const box = canvas.getBoundingClientRect();
    for (const [x, y] of [[40, 60], [12, 14], [60, 90], [box.width / 2, box.height / 2], [40, box.height - 20]]) {
      const at = { clientX: box.left + x, clientY: box.top + y, bubbles: true };
      canvas.dispatchEvent(new PointerEvent("pointermove", at));
      await frames();
      canvas.dispatchEvent(new PointerEvent("pointerleave"));
      await frames();
      if (attlasDrawn.has(canvas)) break;
    }
  }
}"""
TEXTS = """(at) => {
  const canvas = document.querySelectorAll(".attlas-stage canvas")[at];
  return attlasDrawn.get(canvas) ?? [];
}"""
FAULTS = """() => {
  const faults = [];
  const separate = (a, b) => { // whether an edge of one of two turned boxes keeps them apart
    for (const box of [a, b]) {
      for (let at = 0; at < 2; at += 1) {
        const [p, q] = [box[at], box[at + 1]];
        const length = Math.hypot(q[0] - p[0], q[1] - p[1]) || 1;
        const normal = [(q[1] - p[1]) / length, (p[0] - q[0]) / length];
        const span = (corners) => {
          const along = corners.map(([x, y]) => x * normal[0] + y * normal[1]);
          return [Math.min(...along), Math.max(...along)];
        };
        const [one, other] = [span(a), span(b)];
        if (Math.min(one[1], other[1]) - Math.max(one[0], other[0]) <= 1) return true;
      }
    }
    return false;
  };
  const stage = document.querySelector(".attlas-stage").getBoundingClientRect();
  let covered = 0;
  const strips = 40;
  const canvases = [...document.querySelectorAll(".attlas-stage canvas")];
  const seen = new Set();
  for (const canvas of canvases) {
    const box = canvas.getBoundingClientRect();
    const texts = (attlasDrawn.get(canvas) ?? []).filter(({ text }) => text !== undefined);
    if (!texts.length) faults.push("nothing was written on a picture");
    for (const { text, font, corners } of texts) {
      const size = Number(/([\\d.]+)px/.exec(font)[1]);
      if (size < 11) faults.push(`“${text}” has ${size} pixels`);
      for (const [x, y] of corners) {
        if (x < -1 || y < -1 || x > box.width + 1 || y > box.height + 1) {
          const size = `${box.width.toFixed(0)} x ${box.height.toFixed(0)}`;
          faults.push(`“${text}” sticks out at ${x.toFixed(0)}, ${y.toFixed(0)} of ${size}`);
          break;
        }
      }
    }
    const spans = texts.map(({ corners }) => [0, 1].flatMap((of) => {
      const along = corners.map((corner) => corner[of]);
      return [Math.min(...along), Math.max(...along)];
    }));
    for (let a = 0; a < texts.length; a += 1) {
      for (let b = a + 1; b < texts.length; b += 1) {
        if (spans[a][0] >= spans[b][1] || spans[b][0] >= spans[a][1]) continue;
        if (spans[a][2] >= spans[b][3] || spans[b][2] >= spans[a][3]) continue;
        if (separate(texts[a].corners, texts[b].corners)) continue;
        faults.push(`“${texts[a].text}” and “${texts[b].text}” lie on each other`);
      }
    }
    if (box.right > innerWidth + 1) faults.push(`a picture ends at ${box.right.toFixed(0)} of ${innerWidth}`);
    const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const ground = getComputedStyle(document.querySelector(".attlas")).backgroundColor;
    const paper = [...ground.match(/\\d+/g)].map(Number);
    const off = (at, channel) => Math.abs(data[at + channel] - paper[channel]);
    const apart = (at) => off(at, 0) + off(at, 1) + off(at, 2);
    const scale = width / box.width;
    for (let x = 0; x < width; x += 1) {
      const strip = Math.floor(((x / scale + box.left - stage.left) / stage.width) * strips);
      if (seen.has(strip)) continue;
      for (let y = 0; y < height; y += 1) {
        const at = 4 * (y * width + x);
        if (data[at + 3] > 20 && apart(at) > 24) {
          seen.add(strip);
          break;
        }
      }
    }
  }
  covered = [...seen].filter((strip) => strip >= 0 && strip < strips).length / strips;
  if (covered < 0.85) faults.push(`the drawing covers ${covered} of the width`);
  const { clientWidth, scrollWidth } = document.documentElement;
  if (stage.width < 0.85 * Math.min(innerWidth, clientWidth)) faults.push(`the stage has ${stage.width} pixels`);
  if (scrollWidth > innerWidth + 1) faults.push(`the page is ${scrollWidth} pixels wide`);
  const kinds = ["button", "select", "input", ".attlas-label"];
  const named = kinds.flatMap((each) => [`.attlas-toolbar ${each}`, `.attlas-heads ${each}`]);
  const controls = [...document.querySelectorAll(named.join(", "))];
  const boxes = controls.map((each) => [each, each.getBoundingClientRect()]).filter(([, box]) => box.width);
  for (const [each, box] of boxes) {
    if (box.right > innerWidth + 1 || box.left < -1) faults.push(`“${each.textContent}” sticks out of the window`);
  }
  for (let a = 0; a < boxes.length; a += 1) {
    for (let b = a + 1; b < boxes.length; b += 1) {
      const [one, other] = [boxes[a][1], boxes[b][1]];
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      const names = `“${boxes[a][0].textContent}” and “${boxes[b][0].textContent}”`;
      if (wide > 2 && high > 2) faults.push(`${names} lie on each other`);
    }
  }
  const words = document.createTreeWalker(document.querySelector(".attlas"), NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const { parentElement } = words.currentNode;
    if (parentElement.closest("dialog, .attlas-unseen") || !words.currentNode.textContent.trim()) continue;
    const size = Number.parseFloat(getComputedStyle(parentElement).fontSize);
    if (size < 11) faults.push(`“${words.currentNode.textContent}” has ${size} pixels`);
  }
  return [...new Set(faults)];
}"""


def record(shown: Page) -> None:
    """Write down from now on what is drawn, and have all drawn once."""
    shown.evaluate(RECORDER)
    shown.evaluate(REDRAW)


def texts(shown: Page, at: int = 0) -> list[dict[str, Any]]:
    """The texts that stand on a picture: each with its place, its font and the corners of its box."""
    return [each for each in shown.evaluate(TEXTS, at) if "text" in each]


def pictures(shown: Page, at: int = 0) -> list[tuple[float, float, float, float]]:
    """The pictures that stand within a picture, as left, top, width and height, in the order they were drawn in."""
    record(shown)
    return [
        (x, y, wide, high) for x, y, wide, high in (e["picture"] for e in shown.evaluate(TEXTS, at) if "picture" in e)
    ]


def faults(shown: Page) -> list[str]:
    """What is wrong with the layout of what is shown, each in a few words; nothing where all is well."""
    record(shown)
    return list(shown.evaluate(FAULTS))


def place_of(shown: Page, text: str, *, at: int = 0, nth: int = 0) -> tuple[float, float]:
    """Where a text stands on a picture: the middle of its box."""
    record(shown)
    found = [each for each in texts(shown, at) if each["text"] == text]
    assert len(found) > nth, f"{text!r} is not among {[each['text'] for each in texts(shown, at)]}"
    corners = found[nth]["corners"]
    return sum(x for x, _ in corners) / 4, sum(y for _, y in corners) / 4


def word_at(shown: Page, row: int, *, key: bool = False) -> tuple[float, float]:
    """Where the word of a row stands in the window, in the column of the queries or of the keys of a head view."""
    record(shown)
    box = shown.locator(".attlas-stage canvas").first.bounding_box()
    assert box is not None
    drawn = texts(shown)
    heading = next(each for each in drawn if each["text"] == ("key" if key else "query"))
    column = sorted(each["y"] for each in drawn if each["x"] == heading["x"] and each is not heading)
    return box["x"] + heading["x"] + (4 if key else -4), box["y"] + column[row]
