// Long work in short pieces, so that the page can draw and listen in between.

const SLICE = 8; // milliseconds of work between two chances to draw

const channel = new MessageChannel(); // one for all: a channel that nothing refers to may be gone before it delivers
const waiting = [];
channel.port1.onmessage = () => waiting.shift()?.();

/** Let everything else have its turn. */
export function pause() {
  return new Promise((done) => {
    waiting.push(done);
    channel.port2.postMessage(null);
  });
}

/** A function to be awaited now and then during long work: it rests when it is time, and tells whether `stale()` wants the work no more. */
export function breather(stale = () => false) {
  let until = performance.now() + SLICE;
  return async () => {
    if (performance.now() < until) return false;
    await pause();
    until = performance.now() + SLICE;
    return stale();
  };
}
