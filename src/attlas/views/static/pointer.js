// What a pointer does on a canvas: it points (which only redraws), clicks, double-clicks, drags and turns the wheel (which
// change the state). `view` and `state` are functions, for both change while the canvas stays.

const FAR = 4; // pixels from which a press is a drag and no click

/** Turn what happens on a figure's canvas into `point(focus)` and `choose(changes)`. */
export function followPointer(figure, view, state, point, choose) {
  const { canvas } = figure;
  let pressed = null;

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    const { width, height } = figure.geometry;
    return [((event.clientX - box.left) * width) / box.width, ((event.clientY - box.top) * height) / box.height];
  };
  const offer = (changes) => { if (changes) choose(changes); return Boolean(changes); };

  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    if (!pressed) {
      point(view().hit(figure.geometry, x, y));
      return;
    }
    if (!pressed.far && Math.hypot(x - pressed.x, y - pressed.y) < FAR) return;
    const moved = { ...pressed, far: true, toX: x, toY: y };
    pressed = { ...moved, x, y };
    offer(view().drag(figure.geometry, state(), moved));
  });
  canvas.addEventListener("pointerleave", () => point(null));
  canvas.addEventListener("pointerdown", (event) => {
    if (!view().drag || event.button !== 0) return;
    const [x, y] = place(event);
    pressed = { x, y, fromX: x, fromY: y, far: false };
    canvas.setPointerCapture(event.pointerId);
  });
  const released = () => { setTimeout(() => { pressed = null; }); }; // after the click that follows
  canvas.addEventListener("pointerup", released);
  canvas.addEventListener("pointercancel", released);
  canvas.addEventListener("click", (event) => {
    if (pressed?.far) return;
    offer(view().click(figure.geometry, state(), view().hit(figure.geometry, ...place(event))));
  });
  canvas.addEventListener("dblclick", (event) => offer(view().double?.(figure.geometry, state(), ...place(event))));
  canvas.addEventListener("wheel", (event) => {
    if (offer(view().wheel?.(figure.geometry, state(), ...place(event), event))) event.preventDefault();
  }, { passive: false });
}
