"""The report of the comparison: key phrases from attention beside those of other methods that need no training.

First what was found, in sentences; then bars with intervals, the table with differences and their significance, what
others have published, time, a few texts with what each method found, and how it was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from attlas.reports import keywords_compare_charts as charts
from attlas.reports.findings import figure, is_number
from attlas.reports.keywords_study import between_ends, styles, three
from attlas.reports.made import made, when_and_what
from attlas.reports.page import Figure, Section, grid, render
from attlas.reports.tables import Cell, Html, table
from attlas.studies.shared.published import INSPEC

if TYPE_CHECKING:
    import pyarrow

    from attlas.store import Manifest, Result

LEVEL = 0.01
OURS = "attention"
SHOWN = 10  # phrases of an example
Row = Mapping[str, Any]

WORDS = {
    "F1@5, F1@10, F1@M": """of the first five or ten phrases of each text, or of all that were found; counted over all
    texts (micro). Phrases are compared whole, by their stems.""",
    "all, present": """held against all phrases that people gave, or only against those that stand in the text, which
    alone can be found there.""",
    "change, p": """what a method is better (or worse) by than attention, on the same texts; p is the share of
    shuffles in which the two swap their phrases text by text that differ as much, after Holm's correction.""",
    "reads": """the text alone; the other texts, too (TF-IDF counts in how many of them a word stands); or what the
    model makes of the text, the same model for all.""",
    "attention's candidates": """the runs of heavy words that our phrases are chosen from, ranked by another method:
    what part of the score is due to the candidates.""",
}
LEADS = {
    "bars": """One bar for each method with its 95 % interval over texts, in the order of F1@10.
    Choose how many phrases count, and against which.""",
    "table": """In the order of F1@10. <i>Change</i> is against attention, in points of F1; bold changes are
    significant (p &lt; .01 after correction).""",
    "speed": """Time in this run, each method by itself, from the text to its phrases. For a fair race, see
    <code>make bench</code>.""",
    "examples": """The first ten phrases of each method, one text after another. <mark>Marked</mark> are those that
    people gave, too (by their stems). Given phrases that do not stand in the text are in brackets.""",
}
LIMITS = """<ul>
<li><b>One collection is one taste.</b> These texts and their phrases are of one kind (see the corpus below); another
kind may turn the order round.</li>
<li><b>Methods are as their packages have them</b>, or as their papers say, and none was tuned here. The heads of
attention were chosen on other texts, or by the rule; see the table <code>whole</code>.</li>
<li><b>Published figures are of other models under other protocols</b>: which words are candidates, how phrases are
stemmed, and whether absent phrases count differ from paper to paper. They say in which region a number lies.</li>
<li><b>A phrase counts whole or not at all.</b> “neural network” is no part of “artificial neural network”.</li>
</ul>"""


def keywords_compare_page(result: Result) -> str:
    """Write the page of a comparison.

    >>> from attlas.store import Manifest, Result
    >>> made = Manifest("keywords-compare", model={"name": "tiny"})
    >>> page = keywords_compare_page(Result(made, {"whole": {"documents": [3]}}))
    >>> "Key phrases by tiny and by others" in page
    True
    """
    rows = _rows(result, "methods")
    makers = (_in_short, _bars, _table, _speed)
    sections = [section for maker in makers if (section := maker(rows)) is not None]
    if examples := _examples(_rows(result, "examples"), _rows(result, "given")):
        sections.append(examples)
    sections.append(made(result.manifest, LIMITS))
    name = str(result.manifest.model.get("name", "a model"))
    opening = styles() + _opening(result.manifest, _rows(result, "whole"), name)
    tables = {"methods": _charted(result)} if rows else {}
    return render(f"Key phrases by {name} and by others", opening, sections, tables)


def named(row: Row) -> str:
    """A method with its form.

    >>> named({"method": "tf-idf", "form": "n-grams"}), named({"method": "yake", "form": ""})
    ('tf-idf, n-grams', 'yake')
    """
    return f"{row['method']}, {row['form']}" if row.get("form") else str(row["method"])


def ranked(rows: Sequence[Row], at: str = "10", gold: str = "all") -> list[Row]:
    """The rows of one depth and gold, the best first.

    >>> rows = [{"at": "10", "gold": "all", "f1": f1} for f1 in (0.1, 0.3)]
    >>> [row["f1"] for row in ranked(rows)]
    [0.3, 0.1]
    """
    return sorted((row for row in rows if row["at"] == at and row["gold"] == gold), key=lambda row: -row["f1"])


def findings(rows: Sequence[Row]) -> list[str]:
    """What the numbers say, in sentences of HTML.

    >>> findings([])
    []
    """
    found = [*(_at(rows, at) for at in ("5", "10")), _borrowed(rows), _fast(rows)]
    return [text for text in found if text]


def _at(rows: Sequence[Row], at: str) -> str:
    order = ranked(rows, at)
    ours = next((row for row in rows if row["method"] == OURS and row["at"] == at and row["gold"] == "all"), None)
    others = [row for row in order if not is_ours(row) and not borrows(row)]
    if ours is None or not others:
        return ""
    best = others[0]
    ahead = [row for row in others if _sure(row) and row["change"] > 0]
    behind = [row for row in others if _sure(row) and row["change"] < 0]
    rest = [row for row in others if row not in ahead and row not in behind]
    text = (
        f"F1@{at} of {escape(named(ours))} is <b>{figure(ours['f1'], 3)}</b> "
        f"({between_ends(ours['low'], ours['high'], three)}); the best without attention is {escape(named(best))} "
        f"with <b>{figure(best['f1'], 3)}</b> ({between_ends(best['low'], best['high'], three)}{_apart(best)}). "
    )
    if len(behind) == len(others):
        return text + f"It is better than all {len(others)} of these (p &lt; .01 after correction)."
    text += f"It is better than {len(behind)} of {len(others)} of these (p &lt; .01 after correction)"
    text += f", and worse than {len(ahead)}: {_listed(ahead)}" if ahead else ""
    return text + (f"; not to be told apart from {_listed(rest)}." if rest else ".")


def _borrowed(rows: Sequence[Row]) -> str:
    """How far it is the candidates that attention gives, and not their order."""
    order = [row for row in ranked(rows) if borrows(row)]
    if not order:
        return ""
    best, chance = order[0], next((row for row in order if row["method"] == "random"), None)
    text = (
        "Where another method ranks the candidates that attention gives, F1@10 is at best "
        f"<b>{figure(best['f1'], 3)}</b> ({escape(named(best))}{_apart(best)})"
    )
    if chance is not None:
        text += f"; in random order they have <b>{figure(chance['f1'], 3)}</b>: what the candidates alone are worth"
    return text + "."


def _fast(rows: Sequence[Row]) -> str:
    timed = [row for row in ranked(rows) if is_number(row.get("seconds")) and row["seconds"] and row["n"]]
    ours = next((row for row in timed if row["method"] == OURS), None)
    if ours is None:
        return ""
    said = f"Attention takes <b>{1000 * ours['seconds'] / ours['n']:.0f} ms</b> for a text in this run"
    models = [row for row in timed if row["needs"] == "model" and not is_ours(row) and not borrows(row)]
    beside = [f"{escape(named(row))} takes {row['seconds'] / ours['seconds']:.1f} times as long" for row in models]
    return said + (f"; with the same model, {'; '.join(beside)}." if beside else ".")


def _listed(rows: Sequence[Row]) -> str:
    return "; ".join(escape(named(row)) for row in rows)


def is_ours(row: Row) -> bool:
    """Whether a method reads attention.

    >>> is_ours({"method": "attention weights"}), is_ours({"method": "yake"})
    (True, False)
    """
    return str(row["method"]).startswith(OURS)


def borrows(row: Row) -> bool:
    """Whether a method ranks the candidates that attention gives.

    >>> borrows({"form": "attention's candidates"}), borrows({"form": ""})
    (True, False)
    """
    return "attention" in str(row.get("form") or "")


def group_of(row: Row) -> str:
    """What a method reads, as it is coloured.

    >>> group_of({"method": "yake", "form": "", "needs": "nothing"})
    'the text alone'
    """
    own, borrowed, model, corpus, nothing = charts.GROUPS
    if is_ours(row):
        return own
    if borrows(row):
        return borrowed
    return {"model": model, "corpus": corpus}.get(str(row["needs"]), nothing)


def _apart(row: Row) -> str:
    return f"; {_points(row)} points, p {_p(row['p_holm'])}" if is_number(row.get("p_holm")) else ""


def _opening(manifest: Manifest, whole: Sequence[Row], name: str) -> str:
    said = ""
    for row in whole[:1]:
        given, present = row.get("given"), row.get("present")
        if given:
            said = f" {present:,} of {given:,} phrases that people gave stand in their text."
        if row.get("choice"):
            said += f" Attention is read from {escape(str(row['choice']))}."
    count = whole[0]["documents"] if whole else manifest.corpus.get("documents", 0)
    corpus = escape(str(manifest.corpus.get("name", "a corpus")))
    lead = (
        f"Key phrases of {count:,} texts of <b>{corpus}</b>, found without any training: by the attention of "
        f"<b>{escape(name)}</b>, by its embeddings, and by methods that count words.{said} {when_and_what(manifest)}"
    )
    words = "".join(f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in WORDS.items())
    return f'<p class="lead">{lead}</p>\n<dl class="words">{words}</dl>'


def _in_short(rows: Sequence[Row]) -> Section | None:
    items = "".join(f"<li>{text}</li>" for text in findings(rows))
    return Section("short", "In short", "", f'<ol class="findings">{items}</ol>') if items else None


def _bars(rows: Sequence[Row]) -> Section | None:
    if not rows:
        return None
    order = [named(row) for row in ranked(rows)] or list(dict.fromkeys(map(named, rows)))
    depths = [at for at in ("10", "5", "M") if any(row["at"] == at for row in rows)]
    golds = [gold for gold in ("all", "present") if any(row["gold"] == gold for row in rows)]
    shown = Figure(
        "bars", "Every method", charts.method_bars(order, depths, golds), "methods",
        label="Scores of all methods with intervals",
    )  # fmt: skip
    return Section("bars", "Side by side", f"<p>{LEADS['bars']}</p>", grid([shown], "wide"), (shown,), "Bars")


def _table(rows: Sequence[Row]) -> Section | None:
    order = ranked(rows)
    if not order:
        return None
    of = {(named(row), row["at"], row["gold"]): row for row in rows}
    lines: list[list[Cell]] = []
    for row in order:
        name = named(row)
        cells: list[Cell] = [Html(f"<b>{escape(name)}</b>") if is_ours(row) else name]
        for at in ("5", "10"):
            own = of.get((name, at, "all"))
            cells += ["", "", "", ""] if own is None else [
                three(own["f1"]), between_ends(own["low"], own["high"], three), _change(own), _p(own["p_holm"])
            ]  # fmt: skip
        lines.append(cells)
    head = ["method", "F1@5", "95 %", "change", "p", "F1@10", "95 %", "change", "p"]
    body = table(head, lines, label="Methods") + published() + _otherwise(order, of)
    return Section("table", "Scores and differences", f"<p>{LEADS['table']}</p>", body, short="Table")


def _otherwise(order: Sequence[Row], of: Mapping[tuple[str, str, str], Row]) -> str:
    """The same methods counted in other ways, folded away."""
    ways = [("f1", "M", "all"), *(("f1", at, "present") for at in ("5", "10", "M"))]
    ways += [("macro", at, "all") for at in ("5", "10", "M")]
    known = [way for way in ways if any(key[1:] == way[1:] for key in of)]
    lines: list[list[Cell]] = [
        [named(row), *(three(of[named(row), at, gold][what]) if (named(row), at, gold) in of else ""
                       for what, at, gold in known)]
        for row in order
    ]  # fmt: skip
    head = [
        "method",
        *(f"F1@{at}, {gold}" if what == "f1" else f"mean of texts' F1@{at}" for what, at, gold in known),
    ]
    shown = table(head, lines, label="Methods counted otherwise")
    return f'<details class="folded"><summary>Counted in other ways</summary>{shown}</details>'


def published() -> str:
    """What others have published of Inspec, as HTML; it is of no use beside other texts.

    >>> "PromptRank" in published()
    True
    """
    told = "; ".join(
        f"{escape(row.method)} {figure(row.f1_5, 3)} and {figure(row.f1_10, 3)} ({escape(row.source)})"
        for row in INSPEC
    )
    return f'<p class="note">Published F1@5 and F1@10 on Inspec, by other models and protocols: {told}.</p>'


def _speed(rows: Sequence[Row]) -> Section | None:
    if not any(is_number(row.get("seconds")) and row["seconds"] for row in rows):
        return None
    shown = Figure("speed", "Score and time", charts.speed_dots(), "methods", label="F1@10 by time for a text")
    return Section("speed", "Time", f"<p>{LEADS['speed']}</p>", grid([shown], "wide"), (shown,))


def _examples(rows: Sequence[Row], given: Sequence[Row]) -> Section | None:
    if not rows:
        return None
    grouped: dict[Any, dict[str, list[Row]]] = {}
    for row in sorted(rows, key=lambda row: row["rank"]):
        grouped.setdefault(row["document"], {}).setdefault(named(row), []).append(row)
    order = list(dict.fromkeys(named(row) for row in rows))
    parts = []
    for number, (key, methods) in enumerate(sorted(grouped.items(), key=lambda item: int(item[0]))):
        first = next(iter(methods.values()))[0]
        lines: list[list[Cell]] = [
            [method, Html(", ".join(_phrase(row) for row in methods[method][:SHOWN])), _right(methods[method])]
            for method in order
            if method in methods
        ]
        wanted = [row for row in given if row["document"] == key]
        if wanted:
            lines.insert(0, ["given by people", Html(", ".join(_wanted(row) for row in wanted)), ""])
        shown = table(["method", "first phrases", "right"], lines, label=f"Phrases of text {key}", text=(0, 1))
        text = f'<p class="sample" dir="auto">{escape(str(first["text"]))}</p>'
        title = f'<summary dir="auto">{escape(str(first["name"] or f"text {number + 1}"))}</summary>'
        opened = " open" if number == 0 else ""
        parts.append(f'<details class="folded phrases"{opened}>{title}{text}{shown}</details>')
    return Section("examples", "Some texts", f"<p>{LEADS['examples']}</p>", "".join(parts), short="Examples")


def _wanted(row: Row) -> str:
    phrase = f'<bdi dir="auto">{escape(str(row["phrase"]))}</bdi>'
    return phrase if row["present"] else f"[{phrase}]"


def _phrase(row: Row) -> str:
    phrase = f'<bdi dir="auto">{escape(str(row["phrase"]))}</bdi>'
    return f"<mark>{phrase}</mark>" if row["right"] else phrase


def _right(rows: Sequence[Row]) -> str:
    shown = rows[:SHOWN]
    return f"{sum(bool(row['right']) for row in shown)} of {len(shown)}"


def _charted(result: Result) -> pyarrow.Table:
    import pyarrow as pa

    methods = result.tables["methods"]
    rows = methods.to_pylist()
    each = [1000 * row["seconds"] / row["n"] if is_number(row.get("seconds")) and row["n"] else None for row in rows]
    made_ = methods.append_column("name", pa.array([named(row) for row in rows], pa.string()))
    made_ = made_.append_column("group", pa.array([group_of(row) for row in rows], pa.string()))
    return made_.append_column("each", pa.array(each, pa.float64()))


def _sure(row: Row) -> bool:
    return is_number(row.get("p_holm")) and row["p_holm"] < LEVEL


def _change(row: Row) -> Cell:
    if not is_number(row.get("change")):
        return ""
    ends_ = between_ends(row["change_low"], row["change_high"], _hundred)
    told = f"{_points(row)} ({ends_})" if ends_ else _points(row)
    return Html(f"<b>{told}</b>") if _sure(row) else told


def _points(row: Row) -> str:
    return f"{round(100 * row['change'], 1) + 0.0:+.1f}".replace("-", "−")


def _hundred(value: float | None) -> str:
    return "" if value is None else f"{round(100 * value, 1) + 0.0:.1f}"


def _p(value: float | None) -> str:
    if value is None or not is_number(value):
        return ""
    return "<.001" if value < 0.001 else figure(value, 3) if value < LEVEL else figure(value)


def _rows(result: Result, name: str) -> list[dict[str, Any]]:
    return result.tables[name].to_pylist() if name in result.tables else []
