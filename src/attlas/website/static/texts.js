// A table as text: CSV with its numbers as they are, LaTeX and Markdown as it is shown. A table is { name, caption,
// columns: [{ title, number }], rows: [[{ shown, value }]] }.

const BREAKS = /[\u0000-\u001f\u007f\u0085\u2028\u2029]+/g;
const LATEX = { "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "&": "\\&", "%": "\\%", $: "\\$", "#": "\\#", _: "\\_", "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}", "−": "$-$", "–": "--" };

/** As CSV; what a spreadsheet would take for a formula begins with an apostrophe. */
export function csv({ columns, rows }) {
  const cell = ({ shown, value }) => (typeof value === "number" ? (Number.isFinite(value) ? String(Number(value.toPrecision(6))) : "") : quoted(shown));
  return [columns.map(({ title }) => quoted(title)).join(","), ...rows.map((row) => row.map(cell).join(","))].join("\r\n") + "\r\n";
}

function quoted(text) {
  const plain = String(text ?? "").replace(BREAKS, " ");
  const safe = /^[=+\-@\t]/.test(plain) ? `'${plain}` : plain;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** As a table of LaTeX, with its caption. */
export function latex({ caption, columns, rows }) {
  const escaped = (text) => String(text ?? "").replace(BREAKS, " ").replace(/[\\{}~^&%$#_<>|−–]/g, (letter) => LATEX[letter]);
  const line = (cells) => `${cells.map(escaped).join(" & ")} \\\\`;
  return [
    "\\begin{table}", "  \\centering", `  \\caption{${escaped(caption)}}`,
    `  \\begin{tabular}{${columns.map(({ number }) => (number ? "r" : "l")).join("")}}`, "    \\hline",
    `    ${line(columns.map(({ title }) => title))}`, "    \\hline",
    ...rows.map((row) => `    ${line(row.map(({ shown }) => shown))}`), "    \\hline", "  \\end{tabular}", "\\end{table}", "",
  ].join("\n");
}

/** As Markdown. */
export function markdown({ caption, columns, rows }) {
  const escaped = (text) => String(text ?? "").replace(BREAKS, " ").replace(/[\\`*_|<>[\]&~]/g, "\\$&");
  const line = (cells) => `| ${cells.map(escaped).join(" | ")} |`;
  return [escaped(caption), "", line(columns.map(({ title }) => title)), `|${columns.map(({ number }) => (number ? "--:" : "---")).join("|")}|`, ...rows.map((row) => line(row.map(({ shown }) => shown))), ""].join("\n");
}

/** A name for a file, of letters that every disk takes. */
export function fileName(text) {
  return text.normalize("NFKD").replace(/[^A-Za-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60) || "attlas";
}
