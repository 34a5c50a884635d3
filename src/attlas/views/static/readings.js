// Pieces and words as a person reads them. What cannot be seen is made visible, so that no text can hide or turn around
// what stands beside it: controls, white space and the marks that switch the direction of writing become symbols.

const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const LINE_END = /[\n⏎]/; // ⏎ is what Python calls a piece that is a line end
const LONGEST = 28;

/** A text with everything visible in it. */
export function readable(text) {
  const shown = text.replace(INVISIBLE, (c) => (c <= " " ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : `⟨${c.codePointAt(0).toString(16)}⟩`));
  return shown.trim() === "" ? "␣" : shown;
}

/** Shortened in the middle if it is long, never in the middle of a character. */
export function shortened(text, longest = LONGEST) {
  const characters = Array.from(text);
  if (characters.length <= longest) return text;
  return [...characters.slice(0, longest - 8), "…", ...characters.slice(-7)].join("");
}

/** A text in quotes where it is nothing but marks or blanks, which beside numbers would be lost. */
export function quoted(text) {
  return /^[\p{P}\p{Sm}\p{Sc}\p{Sk}\s\u2400-\u2426⏎⇥]+$/u.test(text) ? `“${text}”` : text;
}

/** What is shown of a reading: for each row its label, its pieces, whether it is special, its document. */
export function labels(reading, unit) {
  const rows = [];
  const rowOfWord = new Map();
  reading.pieces.forEach((piece, at) => {
    const word = reading.words[at];
    if (unit === "word" && word >= 0) {
      if (rowOfWord.has(word)) {
        rows[rowOfWord.get(word)].pieces.push(at);
        return;
      }
      rowOfWord.set(word, rows.length);
    }
    const raw = unit === "word" && word >= 0 ? reading.spelled[word] : piece;
    const plain = readable(raw);
    const text = quoted(plain);
    const running = shortened(unit === "piece" && word >= 0 ? plain.replace(/^##(?=.)/, "") : plain, 60); // as it stands in a line
    rows.push({ text, short: shortened(text), plain: running, word: word, breaks: LINE_END.test(raw), begins: unit === "word" && word >= 0 && LINE_END.test(piece), special: reading.documents[at] < 0, document: reading.documents[at], pieces: [at] });
  });
  return rows;
}

/** The row of the words that holds a piece; -1 where none does. */
export function rowOf(labels, piece) {
  return piece === null ? -1 : labels.findIndex((label) => label.pieces.includes(piece));
}
