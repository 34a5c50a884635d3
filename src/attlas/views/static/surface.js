// Something to draw on: a canvas for the screen and for PNG, or SVG for export. Views draw with these few calls alone,
// so that what is exported is what is seen.

/** A surface on a canvas, sized in CSS pixels and sharp on dense screens. */
export function canvasSurface(canvas, width, height, density = globalThis.devicePixelRatio || 1) {
  const scale = Math.min(density, 16000 / Math.max(width, height, 1));
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return {
    width,
    height,
    density: scale,
    rect(x, y, w, h, fill, alpha = 1) {
      context.globalAlpha = alpha;
      context.fillStyle = fill;
      context.fillRect(x, y, w, h);
      context.globalAlpha = 1;
    },
    disc(x, y, radius, fill) {
      context.fillStyle = fill;
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fill();
    },
    frame(x, y, w, h, stroke, thickness = 1) {
      context.strokeStyle = stroke;
      context.lineWidth = thickness;
      context.strokeRect(x, y, w, h);
    },
    // A line from a point to another that leaves and arrives level.
    curve(x0, y0, x1, y1, stroke, thickness, alpha) {
      const bend = (x1 - x0) * 0.45;
      context.globalAlpha = alpha;
      context.strokeStyle = stroke;
      context.lineWidth = thickness;
      context.beginPath();
      context.moveTo(x0, y0);
      context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      context.stroke();
      context.globalAlpha = 1;
    },
    // Text at a point: align is left, right or center; turned by quarter turns times `turn` (in radians).
    text(string, x, y, { fill, font, align = "left", turn = 0, alpha = 1 }) {
      context.globalAlpha = alpha;
      context.fillStyle = fill;
      context.font = font;
      context.textAlign = align;
      context.textBaseline = "middle";
      if (turn) {
        context.save();
        context.translate(x, y);
        context.rotate(turn);
        context.fillText(string, 0, 0);
        context.restore();
      } else {
        context.fillText(string, x, y);
      }
      context.globalAlpha = 1;
    },
    // A part of a picture (a canvas) into a rectangle, with hard pixels.
    picture(source, sx, sy, sw, sh, x, y, w, h) {
      context.imageSmoothingEnabled = false;
      context.drawImage(source, sx, sy, sw, sh, x, y, w, h);
    },
    moved(dx, dy, paint) {
      context.save();
      context.translate(dx, dy);
      paint();
      context.restore();
    },
    clipped(x, y, w, h, paint) {
      context.save();
      context.beginPath();
      context.rect(x, y, w, h);
      context.clip();
      paint();
      context.restore();
    },
    measure(string, font) {
      context.font = font;
      return context.measureText(string).width;
    },
  };
}

/** A surface that writes SVG; `finish()` gives the document. */
export function svgSurface(width, height) {
  const parts = [];
  const measuring = document.createElement("canvas").getContext("2d");
  let clips = 0;
  const number = (value) => String(Math.round(value * 100) / 100);
  return {
    width,
    height,
    density: 2, // pixels of pictures to a unit
    rect(x, y, w, h, fill, alpha = 1) {
      const sized = `x="${number(x)}" y="${number(y)}" width="${number(w)}" height="${number(h)}"`;
      parts.push(`<rect ${sized} fill="${fill}"${opacity(alpha)}/>`);
    },
    disc(x, y, radius, fill) {
      parts.push(`<circle cx="${number(x)}" cy="${number(y)}" r="${number(radius)}" fill="${fill}"/>`);
    },
    frame(x, y, w, h, stroke, thickness = 1) {
      const sized = `x="${number(x)}" y="${number(y)}" width="${number(w)}" height="${number(h)}"`;
      parts.push(`<rect ${sized} fill="none" stroke="${stroke}" stroke-width="${thickness}"/>`);
    },
    curve(x0, y0, x1, y1, stroke, thickness, alpha) {
      const bend = (x1 - x0) * 0.45;
      const points = [x0, y0, x0 + bend, y0, x1 - bend, y1, x1, y1].map(number);
      const path = `M${points[0]} ${points[1]}C${points.slice(2).join(" ")}`;
      parts.push(`<path d="${path}" fill="none" stroke="${stroke}" stroke-width="${number(thickness)}"${opacity(alpha)}/>`);
    },
    text(string, x, y, { fill, font, align = "left", turn = 0, alpha = 1 }) {
      const anchor = { left: "start", right: "end", center: "middle" }[align];
      const turned = turn ? ` transform="rotate(${number((turn * 180) / Math.PI)} ${number(x)} ${number(y)})"` : "";
      parts.push(
        `<text x="${number(x)}" y="${number(y)}" text-anchor="${anchor}" dominant-baseline="central" fill="${fill}"` +
          ` style="font:${escapeXml(font)}"${opacity(alpha)}${turned}>${escapeXml(string)}</text>`,
      );
    },
    picture(source, sx, sy, sw, sh, x, y, w, h) {
      const part = document.createElement("canvas");
      part.width = Math.max(1, Math.round(sw));
      part.height = Math.max(1, Math.round(sh));
      part.getContext("2d").drawImage(source, sx, sy, sw, sh, 0, 0, part.width, part.height);
      const sized = `x="${number(x)}" y="${number(y)}" width="${number(w)}" height="${number(h)}"`;
      parts.push(
        `<image ${sized} preserveAspectRatio="none" style="image-rendering:pixelated" href="${part.toDataURL("image/png")}"/>`,
      );
    },
    moved(dx, dy, paint) {
      parts.push(`<g transform="translate(${number(dx)} ${number(dy)})">`);
      paint();
      parts.push("</g>");
    },
    clipped(x, y, w, h, paint) {
      clips += 1;
      const sized = `x="${number(x)}" y="${number(y)}" width="${number(w)}" height="${number(h)}"`;
      parts.push(`<clipPath id="clip${clips}"><rect ${sized}/></clipPath><g clip-path="url(#clip${clips})">`);
      paint();
      parts.push("</g>");
    },
    measure(string, font) {
      measuring.font = font;
      return measuring.measureText(string).width;
    },
    finish() {
      const sized = `width="${number(width)}" height="${number(height)}" viewBox="0 0 ${number(width)} ${number(height)}"`;
      return `<svg xmlns="http://www.w3.org/2000/svg" ${sized}>\n${parts.join("\n")}\n</svg>\n`;
    },
  };
}

/** Whether a point lies in a rectangle. */
export function inside({ x, y, width, height }, atX, atY) {
  return atX >= x && atY >= y && atX < x + width && atY < y + height;
}

/** As much of a word as there is room for. */
export function fitted(text, surface, font, room) {
  if (surface.measure(text, font) <= room + 2) return text;
  const characters = Array.from(text);
  while (characters.length > 1 && surface.measure(`${characters.join("")}…`, font) > room + 2) characters.pop();
  return `${characters.join("")}…`;
}

function opacity(alpha) {
  return alpha < 1 ? ` opacity="${Math.round(alpha * 1000) / 1000}"` : "";
}

function escapeXml(string) {
  const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };
  return string.replace(/[&<>"']/g, (c) => names[c]).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}
