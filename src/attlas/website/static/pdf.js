// A surface that writes PDF: rectangles, discs and letters of Helvetica, which every reader of PDF has. Letters that
// Helvetica's usual set lacks are drawn as a stencil of dots, so that no name is written wrong.

const UNIT = 0.75; // points to a pixel
const SET = new Map([..."€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"].map((letter, at) => [letter, [128, 130, 131, 132, 133, 134, 135, 136, 137, 138, 139, 140, 142, 145, 146, 147, 148, 149, 150, 151, 152, 153, 154, 155, 156, 158, 159][at]]));
const DOTS = 6; // dots to a pixel of a stencil

/** A surface of so many pixels; `finish()` gives the bytes of the document. */
export function pdfSurface(width, height) {
  const parts = [], images = [];
  const measuring = document.createElement("canvas").getContext("2d");
  let opacities = new Map();
  const n = (value) => String(Math.round(value * 1000) / 1000);
  const up = (y) => height - y;

  const painted = (fill, alpha, what) => {
    if (fill === "none") return;
    const name = alpha < 1 ? opacityName(alpha) : null;
    parts.push(`q ${name ? `/${name} gs ` : ""}${rgb(fill)} rg ${what} Q`);
  };
  function opacityName(alpha) {
    const key = n(alpha);
    if (!opacities.has(key)) opacities.set(key, `G${opacities.size}`);
    return opacities.get(key);
  }
  return {
    width, height, density: DOTS,
    rect(x, y, w, h, fill, alpha = 1) { painted(fill, alpha, `${n(x)} ${n(up(y + h))} ${n(w)} ${n(h)} re f`); },
    disc(x, y, radius, fill) {
      const k = 0.5523 * radius, cy = up(y);
      const arc = (...ends) => `${ends.map(n).join(" ")} c`;
      painted(fill, 1, [`${n(x + radius)} ${n(cy)} m`, arc(x + radius, cy + k, x + k, cy + radius, x, cy + radius),
        arc(x - k, cy + radius, x - radius, cy + k, x - radius, cy), arc(x - radius, cy - k, x - k, cy - radius, x, cy - radius),
        arc(x + k, cy - radius, x + radius, cy - k, x + radius, cy), "f"].join(" "));
    },
    frame(x, y, w, h, stroke, thickness = 1) {
      parts.push(`q ${rgb(stroke)} RG ${n(thickness)} w ${n(x)} ${n(up(y + h))} ${n(w)} ${n(h)} re S Q`);
    },
    text(string, x, y, { fill, font, align = "left", alpha = 1 }) {
      const size = Number(/([\d.]+)px/.exec(font)?.[1] ?? 11);
      const bold = /\b(600|700|bold)\b/.test(font);
      const face = `${bold ? "bold " : ""}${size}px Helvetica, Arial, "Liberation Sans", sans-serif`;
      measuring.font = face;
      const text = string.replaceAll("−", "–").replaceAll("\u00a0", " ");
      const long = measuring.measureText(text).width;
      const from = align === "center" ? x - long / 2 : align === "right" ? x - long : x;
      const codes = [...text].map((letter) => codeOf(letter));
      if (codes.every((code) => code !== null)) {
        const hex = codes.map((code) => code.toString(16).padStart(2, "0")).join("");
        painted(fill, alpha, `BT /${bold ? "FB" : "F"} ${n(size)} Tf ${n(from)} ${n(up(y) - 0.35 * size)} Td <${hex}> Tj ET`);
        return;
      }
      const image = stencil(text, face, size, long);
      images.push(image);
      painted(fill, alpha, `${n(image.width / DOTS)} 0 0 ${n(image.height / DOTS)} ${n(from)} ${n(up(y) - image.height / DOTS / 2)} cm /I${images.length - 1} Do`);
    },
    measure(string, font) { measuring.font = font; return measuring.measureText(string).width; },
    finish() { return documentOf(width, height, parts, images, opacities); },
  };
}

function codeOf(letter) {
  const code = letter.codePointAt(0);
  if ((code >= 32 && code < 127) || (code >= 161 && code < 256)) return code;
  return SET.get(letter) ?? null;
}

function rgb(colour) {
  if (colour.startsWith("#")) return [1, 3, 5].map((at) => Math.round((parseInt(colour.slice(at, at + 2), 16) / 255) * 1000) / 1000).join(" ");
  return colour.match(/\d+/g).slice(0, 3).map((part) => Math.round((part / 255) * 1000) / 1000).join(" ");
}

/** A text as dots, one bit each: 0 is painted. */
function stencil(text, face, size, long) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil((long + 2) * DOTS);
  canvas.height = Math.ceil(1.5 * size * DOTS);
  const context = canvas.getContext("2d");
  context.scale(DOTS, DOTS);
  context.font = face;
  context.textBaseline = "middle";
  context.fillText(text, 0, (0.75 * size));
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  const across = Math.ceil(canvas.width / 8);
  const bits = new Uint8Array(across * canvas.height).fill(255);
  for (let y = 0; y < canvas.height; y += 1) {
    for (let x = 0; x < canvas.width; x += 1) {
      if (data[4 * (y * canvas.width + x) + 3] > 127) bits[y * across + (x >> 3)] &= ~(128 >> (x & 7));
    }
  }
  return { width: canvas.width, height: canvas.height, bits };
}

function documentOf(width, height, parts, images, opacities) {
  const pieces = [];
  let size = 0;
  const add = (piece) => { const made = typeof piece === "string" ? Uint8Array.from(piece, (c) => c.charCodeAt(0) & 255) : piece; pieces.push(made); size += made.length; };
  const places = [];
  const object = (...inside) => { places.push(size); add(`${places.length} 0 obj\n`); inside.forEach(add); add("\nendobj\n"); };
  const content = `${UNIT} 0 0 ${UNIT} 0 0 cm\n${parts.join("\n")}`;
  add("%PDF-1.4\n%\u00e2\u00e3\u00cf\u00d3\n");
  const fixed = 6;
  object("<< /Type /Catalog /Pages 2 0 R >>");
  object("<< /Type /Pages /Kids [3 0 R] /Count 1 >>");
  const names = images.map((_, at) => `/I${at} ${fixed + 1 + at} 0 R`).join(" ");
  const states = [...opacities].map(([alpha, name]) => `/${name} << /ca ${alpha} >>`).join(" ");
  object(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${width * UNIT} ${height * UNIT}] /Contents 6 0 R /Resources << /Font << /F 4 0 R /FB 5 0 R >> /XObject << ${names} >> /ExtGState << ${states} >> >> >>`);
  for (const face of ["Helvetica", "Helvetica-Bold"]) object(`<< /Type /Font /Subtype /Type1 /BaseFont /${face} /Encoding /WinAnsiEncoding >>`);
  object(`<< /Length ${content.length} >>\nstream\n`, content, "\nendstream");
  for (const { width: w, height: h, bits } of images) {
    object(`<< /Type /XObject /Subtype /Image /ImageMask true /Width ${w} /Height ${h} /BitsPerComponent 1 /Length ${bits.length} >>\nstream\n`, bits, "\nendstream");
  }
  const start = size;
  add(`xref\n0 ${places.length + 1}\n0000000000 65535 f \n${places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("")}`);
  add(`trailer\n<< /Size ${places.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`);
  return new Blob(pieces, { type: "application/pdf" });
}
