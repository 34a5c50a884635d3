"""The report of a tagger of key phrases: how good it is, which of its heads it needs, and how it does with fewer.

First what was found, in sentences; then scores beside the published ones, what one head off costs, the curves of
removal, the smaller tagger, the training, and how it was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from statistics import fmean
from typing import TYPE_CHECKING, Any

from attlas.reports import ablate_charts, keywords_tune_charts
from attlas.reports.ablate_findings import LEVEL, label, signed
from attlas.reports.findings import figure, is_number, number
from attlas.reports.keywords_study import between_ends, styles, three
from attlas.reports.made import made, when_and_what
from attlas.reports.page import Figure, Section, grid, render
from attlas.reports.tables import Cell, Html, table
from attlas.studies.shared.published import KEYWORDS_BEST, KEYWORDS_MODEL

if TYPE_CHECKING:
    import pyarrow

    from attlas.store import Manifest, Result

LISTED = 12
Row = Mapping[str, Any]

WORDS = {
    "tagger": """the whole model with a layer on top that calls each word the begin of a key phrase, inside of one, or
    neither; trained end to end.""",
    "phrases": """what the tagger marks, the same phrase once, in the order of how sure it is; held against the
    phrases that people gave by their stems. F1@M counts all of them, F1@5 and F1@10 the first ones.""",
    "all, present": "held against all phrases that were given, or only against those that stand in the text.",
    "spans, words": """F1 of marked places, begin and end both right; and of single words, inside a key phrase or
    not.""",
    "worst first": """heads in the order of how much F1 of marked places falls without each alone on the dev texts,
    the least first; <i>best first</i> is the reverse.""",
    "importance": """heads in the order of E|dL/dξ|, what the loss owes to a head's gate by its gradient, divided by
    the norm of its layer, the least first.""",
    "head 6-11": "the eleventh head of the sixth layer; layers and heads count from 1 on this page.",
}
LEADS = {
    "scores": """Dots are F1 on the test texts with 95 % intervals over texts. Hollow diamonds are published: an F1 of
    a tuned tagger and of a pruned one ({model}); on what data and by what count it was measured is not said there, so
    it stands beside F1@M against all phrases, the nearest in kind.""",
    "map": """Each head off in turn, on the dev texts. Rows are layers, columns are heads. Red: worse without it;
    blue: better without it. What is significant after correction stands out, in a frame; the rest is pale.""",
    "curve": """Heads are removed in order, by gates, and the tagger is scored on {texts} test texts after every step;
    the orders come from the dev texts. Bands are 95 % intervals over texts (for random orders, the range of the
    draws). The farther the lines of worst first and best first are apart, the more the order knows.""",
    "sizes": """The tagger as it was tuned, with heads taken out of its weights, and (if asked for) trained again.
    Heads went {order}{how}.""",
    "none": """There is none: no head could go for less than a standard error of F1 on the dev texts.""",
    "training": """After every pass over the training texts; the large dot is the pass that was kept.""",
}
LIMITS = """<ul>
<li><b>A tagger marks what stands in the text.</b> Given phrases that do not stand there lower its recall against
<i>all</i>, and nothing it could do would change that.</li>
<li><b>The published figures are another model's</b>, and what they were measured on is not known; they say whether
the picture is alike (a pruned tagger loses nothing), not more.</li>
<li><b>One head at a time</b> misses heads that stand in for each other; the curves show what happens when many
go.</li>
<li><b>One run is one seed.</b> Taggers of other seeds differ by more than the intervals over texts say; train several
before small differences are believed.</li>
</ul>"""


def keywords_tune_page(result: Result) -> str:
    """Write the page of a tagger.

    >>> from attlas.store import Manifest, Result
    >>> made = Manifest("keywords-tune", model={"name": "tiny"})
    >>> "tiny as a tagger of key phrases" in keywords_tune_page(Result(made, {"whole": {"stage": []}}))
    True
    """
    study = Study({name: table.to_pylist() for name, table in result.tables.items()}, result.manifest)
    makers = (_in_short, _scores, _map, _curve, _sizes, _training)
    sections = [section for maker in makers if (section := maker(study)) is not None]
    sections.append(made(result.manifest, LIMITS))
    streams = list(dict.fromkeys(row["stream"] for row in study.rows("ablation")))
    opening = styles() + _opening(study)
    return render(f"{study.name} as a tagger of key phrases", opening, sections, _shown(result), {"streams": streams})


@dataclass(frozen=True)
class Study:
    """The tables as rows, and what several sections ask of them.

    >>> Study({"whole": [{"stage": "tuned", "heads": 72}]}, None).stage("tuned")["heads"]
    72
    """

    tables: Mapping[str, Sequence[Row]]
    manifest: Manifest

    def rows(self, name: str, **where: Any) -> list[Row]:
        """The rows of a table with these values.

        >>> Study({"curve": [{"order": "random"}]}, None).rows("curve", order="worst first")
        []
        """
        return [row for row in self.tables.get(name, ()) if all(row[key] == value for key, value in where.items())]

    @property
    def name(self) -> str:
        """The name of the model that was tuned."""
        return str(self.manifest.model.get("name", "a model"))

    def stage(self, name: str) -> Row | None:
        """How large the tagger was at a stage."""
        return next(iter(self.rows("whole", stage=name)), None)

    def score(self, stage: str, unit: str = "phrases", at: str = "M", gold: str = "all") -> Row | None:
        """One score of a stage.

        >>> Study({}, None).score("tuned") is None
        True
        """
        return next(iter(self.rows("scores", stage=stage, unit=unit, at=at, gold=gold)), None)

    @cached_property
    def stages(self) -> list[str]:
        """The stages there are, in their order."""
        known = {row["stage"] for row in self.rows("scores")}
        return [name for name in keywords_tune_charts.STAGES if name in known]

    @cached_property
    def metric(self) -> str:
        """What curves and cuts are scored by."""
        return next((str(row["metric"]) for row in self.rows("whole") if row.get("metric")), "chunk F1")

    @cached_property
    def cut_order(self) -> str:
        """In which order heads were taken out of the smaller tagger."""
        by = next((str(row["order"]) for row in self.rows("choosing") if row["chosen"]), "worst first")
        return "by importance" if by == "importance" else by

    @cached_property
    def gone(self) -> float | None:
        """The share of heads that the smaller tagger is without."""
        row = self.stage("pruned")
        return None if row is None or not is_number(row.get("kept")) else 1 - row["kept"]


def findings(study: Study) -> list[str]:
    """What the numbers say, in sentences of HTML.

    >>> findings(Study({}, None))
    []
    """
    makers = (_tagger, _smaller, _heads, _orders)
    return [text for maker in makers if (text := maker(study))]


def _tagger(study: Study) -> str:
    whole = study.score("tuned")
    if whole is None:
        return ""
    text = f"The tagger's phrases have F1@M {_f1(whole)} against all that were given"
    found = study.score("tuned", gold="present")
    text += f", {_f1(found)} against those that stand in the text." if found else "."
    first = [f"F1@{at} {_f1(row)}" for at in ("5", "10") if (row := study.score("tuned", at=at)) is not None]
    text += f" {', '.join(first)}." if first else ""
    if is_number(whole.get("published")):
        told = f"{figure(whole['published'])}, best known then {figure(KEYWORDS_BEST)} ({escape(KEYWORDS_MODEL)})"
        text += f'<span class="published">{told}; data and count are not said.</span>'
    return text


def _smaller(study: Study) -> str:
    row, whole, size, full = study.score("pruned"), study.score("tuned"), study.stage("pruned"), study.stage("tuned")
    if whole is None or full is None:
        return ""
    if row is None or size is None:
        return "No head could go for less than a standard error of F1 on the dev texts: there is no smaller tagger."
    text = (
        f"Without <b>{full['heads'] - size['heads']} of {full['heads']}</b> heads ({100 * (1 - size['kept']):.0f} "
        f"%), taken out {study.cut_order}, F1@M is {_f1(row)}, {_apart(row, whole)}"
    )
    again = study.score("retuned")
    text += f"; trained again {_f1(again)}, {_apart(again, whole)}." if again else "."
    if is_number(row.get("published")):
        text += f'<span class="published">{figure(row["published"])} when pruned.</span>'
    return text


def _heads(study: Study) -> str:
    rows = study.rows("ablation")
    if not rows:
        return ""
    worse = [row for row in rows if _sure(row) and row["change"] < 0]
    better = [row for row in rows if _sure(row) and row["change"] > 0]
    named = ", ".join(f"<b>{label(row)}</b> ({signed(row['change'])})" for row in _ranked(rows)[:3])
    relieved = [row for row in rows if row["change"] < 0 and row["loss_change"] < 0]
    return (
        f"One head off at a time, {len(worse)} of {len(rows)} heads are missed and {len(better)} are better gone, by "
        f"{escape(study.metric)} on the dev texts (p &lt; .01 after correction). Missed most: {named}. Without "
        f"{len(relieved)} heads the loss falls although F1 falls too: it is no guide to what a tagger needs once "
        "training has made it too sure of itself."
    )


def _orders(study: Study) -> str:
    """The score of each order at the step nearest to one half, the mean over draws."""
    rows = [row for row in study.rows("curve") if is_number(row["score"])]
    if not rows:
        return ""
    share = min({row["share"] for row in rows}, key=lambda one: (abs(one - 0.5), one))
    at = {
        order: fmean(found)
        for order in keywords_tune_charts.ORDERS
        if (found := [row["score"] for row in rows if row["order"] == order and row["share"] == share])
    }
    said = ", ".join(f"{order} <b>{figure(score, 3)}</b>" for order, score in at.items())
    start = study.rows("curve", removed=0)
    whole = f" ({figure(start[0]['score'], 3)} with all)" if start else ""
    return f"With {100 * share:.0f} % of the heads gone, {escape(study.metric)} on the test texts{whole} is: {said}."


def what(row: Row) -> str:
    """What a score counts, in words.

    >>> what({"unit": "phrases", "at": "M", "gold": "all"}), what({"unit": "words", "at": "", "gold": ""})
    ('phrases @M, all', 'words')
    """
    return f"{row['unit']} @{row['at']}, {row['gold']}" if row["at"] else str(row["unit"])


def _opening(study: Study) -> str:
    corpus = study.manifest.corpus
    names = [
        _named(corpus),
        *(_named(corpus[part]) for part in ("dev", "test") if isinstance(corpus.get(part), dict)),
    ]
    counts = [corpus.get(key) for key in ("documents", "dev_documents", "test_documents")]
    told = [
        f"{count:,} texts to {why}"
        for count, why in zip(counts, ("learn from", "decide on", "score"), strict=True)
        if isinstance(count, int)
    ]
    parts = f" ({', '.join(told)})" if len(told) == 3 else ""
    lead = (
        f"<b>{escape(study.name)}</b> is trained end to end to mark the key phrases of a text, on "
        f"<b>{', '.join(dict.fromkeys(names))}</b>{parts}. Which of its heads does it need for that? "
        f"{when_and_what(study.manifest)}"
    )
    words = "".join(f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in WORDS.items())
    return f'<p class="lead">{lead}</p>\n<dl class="words">{words}</dl>'


def _named(corpus: Mapping[str, Any]) -> str:
    return escape(str(corpus.get("name", "a corpus")))


def _in_short(study: Study) -> Section | None:
    items = "".join(f"<li>{text}</li>" for text in findings(study))
    return Section("short", "In short", "", f'<ol class="findings">{items}</ol>') if items else None


def _scores(study: Study) -> Section | None:
    rows = study.rows("scores")
    if not rows:
        return None
    kinds = list(dict.fromkeys(what(row) for row in rows))
    told = any(is_number(row["published"]) for row in rows)
    spec = keywords_tune_charts.score_dots(kinds, study.stages, published=told)
    shown = Figure("scores", "F1 on the test texts", spec, "scores", label="F1 of each stage by what is counted")
    lines: list[list[Cell]] = [
        [
            what(row), row["stage"], Html(f"<b>{three(row['f1'])}</b>"), between_ends(row["low"], row["high"], three),
            three(row["precision"]), three(row["recall"]), three(row["macro"]),
            "" if not is_number(row["published"]) else figure(row["published"]),
        ]
        for row in sorted(rows, key=lambda row: kinds.index(what(row)))
    ]  # fmt: skip
    head = ["F1 of", "tagger", "F1", "95 %", "precision", "recall", "mean of texts' F1", "published"]
    body = grid([shown], "wide") + table(head, lines, label="Scores", text=(0, 1))
    lead = f"<p>{LEADS['scores'].format(model=escape(KEYWORDS_MODEL))}</p>"
    return Section("scores", "How good it is", lead, body, (shown,), "Scores")


def _map(study: Study) -> Section | None:
    rows = study.rows("ablation")
    if not rows:
        return None
    size = {name: 1 + max(row[name[:-1]] for row in rows) for name in ("layers", "heads")}
    figures = (
        Figure("map", "Every head", ablate_charts.effect_map(study.metric, -1, **size, first="score"), "ablation",
               label="Heat map of what cutting each head does, layer by head"),
        Figure("sorted", "In order", ablate_charts.sorted_effects(study.metric, -1, first="score"), "ablation",
               label="Changes of all heads in order, with intervals"),
    )  # fmt: skip
    order = _ranked(rows)
    body = grid(figures, "wide") + _head_table(order[:LISTED], study.metric, "Heads that are missed most")
    title = f"All {len(order)} heads, ranked by what {escape(study.metric)} loses"
    rest = _head_table(order, study.metric, "All heads by rank")
    body += f'<details class="folded"><summary>{title}</summary>{rest}</details>' if len(order) > LISTED else ""
    return Section("map", "One head off", f"<p>{LEADS['map']}</p>", body, figures, "Heads")


def _head_table(rows: Sequence[Row], metric: str, named: str) -> str:
    lines: list[list[Cell]] = [
        [
            f"{row['rank']}", label(row),
            signed(row["change"]), f"{signed(row['low'])} to {signed(row['high'])}", _p(row["corrected"]),
            signed(row["loss_change"]), f"{signed(row['loss_low'])} to {signed(row['loss_high'])}",
            _p(row["loss_corrected"]),
        ]
        for row in rows
    ]  # fmt: skip
    head = ["rank", "head", f"change of {metric}", "95 %", "p", "change of loss", "95 %", "p"]
    return table(head, lines, label=named)


def _curve(study: Study) -> Section | None:
    rows = study.rows("curve")
    if not rows:
        return None
    lead = LEADS["curve"].format(texts=f"{max(row['n'] for row in rows):,}")
    spec = keywords_tune_charts.removal(study.metric, study.gone)
    shown = Figure("curve", "As heads go", spec, "curve", label="Score by share of heads gone, for each order")
    return Section("curve", "Worst first, best first", f"<p>{lead}</p>", grid([shown], "wide"), (shown,),
                   "Curves")  # fmt: skip


def _sizes(study: Study) -> Section | None:
    rows = study.rows("whole")
    if not rows:
        return None
    lines: list[list[Cell]] = []
    for row in rows:
        scores = [study.score(row["stage"], *key) for key in (("phrases", "M"), ("phrases", "10"))]
        scores += [study.score(row["stage"], unit, "", "") for unit in ("spans", "words")]
        cells = ["" if one is None else f"{three(one['f1'])} ({between_ends(one['low'], one['high'], three)})"
                 for one in scores]  # fmt: skip
        lines.append([row["stage"], f"{row['heads']}", f"{row['parameters'] / 1e6:,.2f}", *cells])
    head = ["", "heads", "million parameters", "phrases, F1@M", "F1@10", "spans, F1", "words, F1"]
    keep = study.manifest.plan.get("options", {}).get("keep") if study.manifest.plan else None
    free = ", as many as could go for less than a standard error of F1 on the dev texts"
    how = free if keep is None else f", so that {100 * keep:.0f} % are kept"
    said = LEADS["sizes"].format(order=study.cut_order, how=how) if study.gone is not None else LEADS["none"]
    lead = f"<p>{said}</p>"
    body = table(head, lines, label="Taggers") + _choosing(study)
    return Section("sizes", "The smaller tagger", lead, body, short="Smaller")


def _choosing(study: Study) -> str:
    """How many heads can go on the dev texts, folded away; nothing where that was not asked."""
    lines: list[list[Cell]] = [
        [
            row["order"], f"{row['removed']}", f"{100 * row['share']:.0f} %",
            Html(f"<b>{three(row['score'])}</b>") if row["chosen"] else three(row["score"]),
            between_ends(row["low"], row["high"], three), number(row["loss"]),
        ]
        for row in study.rows("choosing")
    ]  # fmt: skip
    if not lines:
        return ""
    shown = table(
        ["order", "heads gone", "share", study.metric, "95 %", "loss"], lines, label="Heads gone on the dev texts"
    )
    title = "<summary>How many can go on the dev texts (bold: chosen)</summary>"
    return f'<details class="folded">{title}{shown}</details>'


def _training(study: Study) -> Section | None:
    rows = study.rows("training")
    if not rows:
        return None
    stages = list(dict.fromkeys(row.get("stage", "tuned") for row in rows))
    shown = Figure("training", "Pass by pass", keywords_tune_charts.training(stages), "training")
    lead = f"<p>{LEADS['training']}</p>"
    return Section("training", "Training", lead, grid([shown], "wide"), (shown,))


def _shown(result: Result) -> dict[str, pyarrow.Table]:
    import pyarrow as pa

    names = ("scores", "ablation", "curve", "training")
    shown = {name: result.tables[name] for name in names if name in result.tables}
    if "scores" in shown:
        kinds = [what(row) for row in shown["scores"].to_pylist()]
        shown["scores"] = shown["scores"].append_column("what", pa.array(kinds, pa.string()))
    return shown


def _ranked(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["change"], -row["loss_change"]))


def _f1(row: Row) -> str:
    return f"<b>{figure(row['f1'], 3)}</b> ({between_ends(row['low'], row['high'], three)})"


def _apart(row: Row, whole: Row) -> str:
    apart = f"{100 * (row['f1'] - whole['f1']):+.1f}".replace("-", "−")
    return f"{apart} points"


def _sure(row: Row) -> bool:
    return is_number(row.get("corrected")) and row["corrected"] < LEVEL


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return "<.001" if value < 0.001 else number(value)
