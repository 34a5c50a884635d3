"""The report of the study of key words: which heads see them, what all know together, and what phrases come of it.

After the findings in words come maps of all heads by relative attention, AUC and cross-entropy, the lists of the
best, the regression and the mix with their weights as maps, all predictors beside each other, and scores of phrases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from attlas.reports import keywords_study_charts as charts
from attlas.reports.findings import figure, is_number
from attlas.reports.keywords_study_findings import Picture, findings, kind_of, label, sure
from attlas.reports.made import made, when_and_what
from attlas.reports.page import Figure, Section, grid, render
from attlas.reports.tables import Cell, Html, ends, table

if TYPE_CHECKING:
    import pyarrow

    from attlas.store import Manifest, Result

LISTED = 10
PARTS = ("scored on", "chosen on")
Row = Mapping[str, Any]

WORDS = {
    "key word": """a word of the text inside a key phrase that people gave it; phrases are found by their stems, so
    “neural network” stands in “Neural networks”.""",
    "received": """what a word gets from the words of its text, by the mean over them or by the largest; by weight α
    or by norm ‖αf(x)‖. Special pieces do not count as readers.""",
    "relative attention": """what key words receive less what others do, per text, averaged over texts. Norms have a
    scale of their own in each head; the ratio of the two has none.""",
    "AUC": """how often a key word receives more than another word of the same text; ties count half, .50 is no better
    than chance.""",
    "nats saved": """what a head receives, normalised over the words of a text, as a guess at its key words: its
    cross-entropy is less than that of even attention by so much. Below 0 it is a worse guess than none.""",
    "chosen, scored": """heads were chosen and predictors trained on some texts, and all numbers are of others, unless
    it says else.""",
    "untrained twin": "the same architecture with random weights, read in the same way.",
    "head 6-11": "the eleventh head of the sixth layer; layers and heads count from 1 on this page.",
}
LEADS = {
    "maps": """Rows are layers, columns are heads. Blue heads give more to key words than to others, red ones less;
    the stronger, the more. Framed heads are the chosen ones. Point at a cell for all its numbers. In the last chart
    each dot is a head: along the dashed line it is as good on new texts as on those it was chosen on.""",
    "lists": """The best heads by each measure, in the order of the texts for choosing; beside it the number on the
    others with its 95 % interval (bootstrap over texts). p is of relative attention (Wilcoxon's signed ranks over
    texts), after Holm's correction for all heads of a kind.""",
    "regression": """A logistic regression on what all heads let a word receive, then with fewer and fewer of them.
    Bands are 95 % intervals over texts. <i>Cross-validated</i> is within the texts for choosing, by folds of whole
    texts, strength and threshold found inside each; <i>scored on</i> is trained on all of them and scored on the
    others.""",
    "weights": """What the regression makes of each head, the mean over folds: blue speaks for a key word, red
    against. Heads that say the same share their weight or are played against each other, so a pale head need not be
    ignorant. In the mix, shares are positive and sum to one (here in per cent), so it shows where
    the information lies.""",
    "predictors": """All that was asked to find key words, on the same texts. A head or a model says something only as
    far as it is above what needs no model.""",
    "phrases": """Words weighed by sets of heads, phrases made of the weights, and held against those that people gave
    (by stems). On the texts for choosing all candidates are shown, and the best F1@10 decides; on the others the
    chosen set stands beside the best single head and the rule for unknown models.""",
}
LIMITS = """<ul>
<li><b>Key words are unlike other words anyway.</b> They are longer, rarer nouns; much of what a head sees may be
that. The predictor without a model is a first control, the untrained twin a second.</li>
<li><b>People disagree about key phrases</b>, and those they gave that do not stand in the text cannot be found by
anybody. Words are marked by stemmed match, which marks every place of a phrase, also where it means little.</li>
<li><b>AUC, cross-entropy and differences are within texts</b>, so that long and short texts count alike; texts in
which all words or none are key words do not count.</li>
<li><b>Attention that is received is not what a model uses.</b> That a head dwells on key words does not show that the
model needs them for its task; <code>attlas keywords tune</code> takes heads away.</li>
</ul>"""


def keywords_study_page(result: Result) -> str:
    """Write the page of a study of key words.

    >>> from attlas.store import Manifest, Result
    >>> made = Manifest("keywords-study", model={"name": "tiny"})
    >>> "What the heads of tiny know of key words" in keywords_study_page(Result(made, {"whole": {"part": []}}))
    True
    """
    picture = Picture({name: table.to_pylist() for name, table in result.tables.items()})
    makers = (_in_short, _maps, _lists, _regression, _weights, _predictors, _phrases)
    sections = [section for maker in makers if (section := maker(picture)) is not None]
    sections.append(made(result.manifest, LIMITS))
    name = str(result.manifest.model.get("name", "a model"))
    streams = list(dict.fromkeys(row["stream"] for row in picture.rows("heads")))
    title = f"What the heads of {name} know of key words"
    opening = styles() + _opening(result.manifest, picture, name)
    return render(title, opening, sections, _shown(result), {"streams": streams})


def styles() -> str:
    """What the pages of the studies of key words add to the styles of reports.

    >>> styles().startswith("<style>")
    True
    """
    folder = files("attlas.reports").joinpath("static")
    return f"<style>{folder.joinpath('keywords_study.css').read_text(encoding='utf-8')}</style>"


def _shown(result: Result) -> dict[str, pyarrow.Table]:
    """The tables that charts read; heads with their kind and the ratio."""
    import pyarrow as pa

    names = ("regression", "regression_weights", "mix", "predictors")
    shown = {name: result.tables[name] for name in names if name in result.tables}
    if "heads" in result.tables:
        heads = result.tables["heads"]
        rows = heads.to_pylist()
        ratio = [row["key"] / row["other"] if row["other"] else None for row in rows]
        kept = heads.drop_columns(["measure", "over", "p", "choosing_relative", "choosing_saved"])
        shown["heads"] = kept.append_column("kind", pa.array([kind_of(row) for row in rows])).append_column(
            "times", pa.array(ratio, pa.float64())
        )
    return shown


def _opening(manifest: Manifest, picture: Picture, name: str) -> str:
    said = []
    for row in picture.rows("whole"):
        scored = row["part"] == "scored on"
        other = manifest.corpus.get("test")
        of = f" of <b>{escape(str(other['name']))}</b>" if scored and isinstance(other, dict) else ""
        windows = f" in {row['windows']:,} windows" if row["windows"] > row["documents"] else ""
        said.append(
            f"{'All was scored' if scored else 'Heads were chosen'} on {row['documents']:,} texts{of}{windows} "
            f"({row['words']:,} words, {100 * row['share']:.0f} % of them key words; {row['present']:,} of "
            f"{row['given']:,} given phrases stand in their text)."
        )
    corpus = escape(str(manifest.corpus.get("name", "a corpus")))
    lead = (
        f"Does attention know which words of a text matter? In <b>{corpus}</b> people have said so. Every head of "
        f"<b>{escape(name)}</b> is asked how much its words receive, and whether that is where the key words are. "
        f"{' '.join(said)} {when_and_what(manifest)}"
    )
    words = "".join(f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in WORDS.items())
    return f'<p class="lead">{lead}</p>\n<dl class="words">{words}</dl>'


def _in_short(picture: Picture) -> Section | None:
    found = findings(picture)
    items = "".join(f"<li>{text}</li>" for text in found)
    return Section("short", "In short", "", f'<ol class="findings">{items}</ol>') if found else None


def _maps(picture: Picture) -> Section | None:
    if not picture.rows("heads"):
        return None
    maps = {
        "relative": ("Relative attention", ["relative", "times"]),
        "auc": ("AUC within texts", ["auc"]),
        "saved": ("Nats saved", ["saved"]),
    }
    every = [*(f"map-{key}" for key in maps), "parts", "sorted"]

    def follow(key: str) -> dict[str, list[str]]:
        return {"kind": [other for other in every if other != key]}

    figures = [
        Figure(
            f"map-{key}", title, charts.head_quantity(quantities, picture.kinds, **picture.size), "heads",
            label=f"Heat map of {title.lower()}, layer by head", drives=follow(f"map-{key}"),
        )
        for key, (title, quantities) in maps.items()
    ]  # fmt: skip
    parts = Figure(
        "parts", "Chosen and scored", charts.two_parts(picture.kinds), "heads",
        label="AUC of each head on the texts for choosing against those for scoring", drives=follow("parts"),
    )  # fmt: skip
    shown = (*figures, parts)
    return Section("maps", "What heads see", f"<p>{LEADS['maps']}</p>", grid(shown, "half"), shown, "Heads")


def _lists(picture: Picture) -> Section | None:
    if not picture.heads():
        return None
    maps = ["map-relative", "map-auc", "map-saved", "parts"]
    chart = Figure(
        "sorted", "All heads in order", charts.sorted_heads(picture.kinds), "heads",
        label="Heads from the best to the worst, with intervals and the untrained twin", drives={"kind": maps},
    )  # fmt: skip
    body = grid([chart], "wide")
    for number, kind in enumerate(picture.kinds):
        inner = "".join(_best_list(picture, kind, by) for by in ("auc", "relative", "saved"))
        opened = " open" if number == 0 else ""
        title = f"<summary>The {LISTED} best heads by {escape(kind)}</summary>"
        body += f'<details class="folded"{opened}>{title}{inner}</details>'
    return Section("lists", "The best heads", f"<p>{LEADS['lists']}</p>", body, (chart,), "Lists")


def _best_list(picture: Picture, kind: str, by: str) -> str:
    names = {"auc": "AUC", "relative": "relative attention", "saved": "nats saved"}
    low, high = ("low", "high") if by == "relative" else (f"{by}_low", f"{by}_high")
    written = _small if by == "relative" else three
    rows: list[list[Cell]] = [
        [
            Html(f"<b>{label(row)}</b>") if row.get("chosen") else label(row), written(row[f"choosing_{by}"]),
            written(row[by]), between_ends(row[low], row[high], written), _ratio(row), _p(row),
            three(row["twin_auc"]) if by == "auc" else "",
        ]
        for row in picture.heads(kind, f"choosing_{by}")[:LISTED]
    ]  # fmt: skip
    head = [
        "head",
        f"{names[by]}, choosing",
        "scored",
        "95 %",
        "key ÷ others",
        "p",
        "untrained" if by == "auc" else "",
    ]
    return f"<h3>By {names[by]}</h3>" + table(head, rows, label=f"Best heads by {names[by]}, {kind}") if rows else ""


def _regression(picture: Picture) -> Section | None:
    rows = picture.rows("regression")
    if not rows:
        return None
    figure_ = Figure(
        "kept", "F1 by number of heads", charts.heads_kept(), "regression", label="F1 by number of heads"
    )
    counts = sorted({row["heads"] for row in rows})
    lines: list[list[Cell]] = []
    for count in counts:
        line: list[Cell] = [f"{count}"]
        for part in charts.PARTS:
            own = next((row for row in rows if row["part"] == part and row["heads"] == count), None)
            line += ["", "", ""] if own is None else [
                three(own["f1"]), between_ends(own["low"], own["high"], three), three(own["auc"])
            ]  # fmt: skip
        lines.append(line)
    head = ["heads", "F1, cross-validated", "95 %", "AUC", "F1, scored", "95 %", "AUC"]
    body = grid([figure_], "wide") + table(head, lines, label="F1 by number of heads")
    read = f"Attention is read by {escape(picture.predicted_by)} here, and in all below but phrases."
    lead = f"<p>{LEADS['regression']} {read}</p>"
    return Section("regression", "All heads together", lead, body, (figure_,), "Regression")


def _weights(picture: Picture) -> Section | None:
    figures = []
    if picture.rows("regression_weights"):
        figures.append(
            Figure("weights", "Weights of the regression", charts.weight_map(**picture.size), "regression_weights")
        )
    if picture.rows("mix"):
        layer = picture.expected_layer
        note = "" if layer is None else f"expected layer {figure(layer, 2)}"
        figures.append(Figure("mix", "The mix of heads", charts.share_map(**picture.size), "mix", note=note))
    if not figures:
        return None
    lead = f"<p>{LEADS['weights']}</p>"
    return Section("weights", "Which heads count", lead, grid(figures, "half"), tuple(figures), "Weights")


def _predictors(picture: Picture) -> Section | None:
    rows = sorted(picture.rows("predictors"), key=lambda row: -row["f1"])
    if not rows:
        return None
    spec = charts.predictor_bars([row["predictor"] for row in rows])
    shown = Figure("predictors", "All predictors", spec, "predictors", label="F1 and AUC of each predictor")
    lines: list[list[Cell]] = [
        [
            row["predictor"], three(row["f1"]), between_ends(row["low"], row["high"], three), three(row["precision"]),
            three(row["recall"]), three(row["auc"]), between_ends(row["auc_low"], row["auc_high"], three),
        ]
        for row in rows
    ]  # fmt: skip
    head = ["predictor", "F1 of words", "95 %", "precision", "recall", "AUC", "95 %"]
    body = grid([shown], "wide") + table(head, lines, label="Predictors")
    lead = f"<p>{LEADS['predictors']}</p>"
    return Section("predictors", "Against simpler guesses", lead, body, (shown,), "Predictors")


def _phrases(picture: Picture) -> Section | None:
    rows = picture.rows("phrases")
    if not rows:
        return None
    scored, tried = (_phrase_table([row for row in rows if row["part"] == part], part) for part in PARTS)
    body = f"<h3>On the texts for scoring</h3>{scored}"
    title = "<summary>All candidates, on the texts for choosing</summary>"
    body += f'<details class="folded">{title}{tried}</details>'
    return Section("phrases", "As key phrases", f"<p>{LEADS['phrases']}</p>", body, short="Phrases")


def _phrase_table(rows: Sequence[Row], part: str) -> str:
    depths = list(dict.fromkeys((row["at"], row["gold"]) for row in rows))
    grouped: dict[tuple[str, str], dict[tuple[str, str], Row]] = {}
    for row in rows:
        grouped.setdefault((row["selection"], kind_of(row)), {})[row["at"], row["gold"]] = row
    first = depths.index(("10", "all")) if ("10", "all") in depths else 0
    order = sorted(grouped.items(), key=lambda item: -item[1][depths[first]]["f1"])
    lines: list[list[Cell]] = []
    for (selection, kind), own in order:
        chosen = any(row["chosen"] for row in own.values())
        name: Cell = Html(f"<b>{escape(selection)}</b>, chosen") if chosen else selection
        cells: list[Cell] = [
            f"{three(own[key]['f1'])} ({between_ends(own[key]['low'], own[key]['high'], three)})"
            if key in own
            else ""
            for key in depths
        ]
        heads = next(iter(own.values()))["heads"]
        lines.append([name, kind, f"{heads}", *cells])
    head = ["heads", "read by", "how many", *(f"F1@{at}, {gold}" for at, gold in depths)]
    return table(head, lines, label=f"F1 of phrases, {part}", text=(0, 1))


def _ratio(row: Row) -> str:
    return f"{row['key'] / row['other']:.2f}" if row["other"] else ""


def _p(row: Row) -> str:
    value = row.get("p_holm")
    if value is None or not is_number(value):
        return ""
    return "<.001" if value < 0.001 else figure(value, 3) if sure(row) else figure(value)


def three(value: float | None) -> str:
    """A score with three digits; nothing where there is none.

    >>> three(0.38715), three(None)
    ('.387', '')
    """
    return "" if value is None or not is_number(value) else figure(value, 3)


def _small(value: float | None) -> str:
    """A difference that may be tiny, with two digits that count.

    >>> _small(0.00123), _small(-2.5), _small(0.1), _small(None)
    ('.0012', '−2.5', '.10', '')
    """
    if value is None or not is_number(value):
        return ""
    text = f"{abs(value):#.2g}".rstrip(".") if abs(value) >= 1e-4 or value == 0 else f"{abs(value):.0e}"
    return ("−" if value < 0 else "") + text.removeprefix("0")


def between_ends(low: float | None, high: float | None, written: Callable[[float | None], str]) -> str:
    """An interval, its ends as ``written`` writes them; nothing where there is none.

    >>> between_ends(0.1, 0.2, three), between_ends(None, None, three)
    ('.100–.200', '')
    """
    return ends(written(low), written(high)) if is_number(low) and is_number(high) else ""
