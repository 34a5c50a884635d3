"""The page of weighed texts: each text whole, every word shaded by its weight, with its key phrases beside it.

The page is written as plain HTML: shades, underlines and the jumps from a phrase to its first place need no script.
The small script lets a phrase light up all its places and walk from one to the next. How much is shown is bounded,
so that a page opens however much was weighed; what is left out is said, and lies in the tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from attlas.reports.findings import figure
from attlas.reports.keywords_text import MOST_WORDS, Shown, legend, level_styles, shown_of, text_html, top_of
from attlas.reports.made import made, when_and_what
from attlas.reports.page import Section, render

if TYPE_CHECKING:
    from attlas.store import Manifest, Result

MOST_DOCUMENTS = 50
ALL_WORDS = 100_000  # of all texts together, above which only phrases are shown
LISTED = 60  # phrases beside a text
Row = Mapping[str, Any]

WORDS = {
    "weight": """what a word receives from the other words of its text, over what an average word receives there, mean
    over the chosen heads: 1 is an average word, 0 one that nothing attends to.""",
    "key phrase": """neighbouring words that each weigh enough, without a sign between them. Its score is the sum of
    its words' weights over all places where it stands, so 3.2 is as much as 3.2 average words.""",
    "chosen heads": """the attention heads whose attention is read. Nothing was trained on these texts, and no list of
    words and no tagger was asked.""",
}
LEAD = """<p>The stronger the shade, the more a word weighs; point at a word for its weight. Key phrases are
underlined, the first ones with a thicker line; point at one, or go to it by <kbd>Tab</kbd>, for its rank and score.
In the list, the bar is a phrase's score and ×3 says that it stands in three places: click it to go to the first,
again to go to the next.</p>"""
LIMITS = """<ul>
<li><b>A weight says what attention dwells on, not what a reader would underline.</b> How well the two agree was
measured where people had marked key phrases: <code>attlas keywords compare</code>.</li>
<li><b>Weights are relative to the window.</b> A long text is read in windows, and 1 is an average word of the same
window; a word of a dull window may weigh as much as one of a rich window.</li>
<li><b>Phrases are runs of heavy words.</b> No part of speech is asked for, so a verb between two nouns may come
along, and a phrase with a light word in it (“state of the art”) comes in parts.</li>
<li><b>The shade is by the root of the weight</b>, the same on the whole page, and full from the number in the legend
on.</li>
</ul>"""


def keywords_page(result: Result) -> str:
    """Write the page of weighed texts.

    >>> from attlas.store import Manifest, Result
    >>> rows = {"document": [0], "name": ["<a>"], "text": ["Solar cells"], "words": [2], "windows": [1]}
    >>> page = keywords_page(Result(Manifest("keywords", model={"name": "tiny"}), {"documents": rows}))
    >>> "Key phrases of &lt;a&gt;" in page, "by the attention of <b>tiny</b>" in page
    (True, True)
    """
    documents = [row for row in _rows(result, "documents") if row["words"]]
    shown = _within(result, documents)
    top = top_of([one.weights for one in shown])
    several = len(documents) > 1
    body = legend(top) + "".join(_document(one, top, several=several, first=at == 0) for at, one in enumerate(shown))
    sections = []
    if shown:
        title = "The texts" if several else "The text"
        sections.append(Section("texts", title, LEAD + _left_out(documents, shown), body))
    sections.append(made(result.manifest, LIMITS))
    name = str(documents[0]["name"] or "a text") if len(documents) == 1 else f"{len(documents):,} texts"
    opening = _styles() + _opening(result.manifest, documents)
    script = files("attlas.reports").joinpath("static").joinpath("keywords.js").read_text(encoding="utf-8")
    return render(f"Key phrases of {name}", opening, sections, {}, tail=f"<script>\n{script}</script>")


def _within(result: Result, documents: list[dict[str, Any]]) -> list[Shown]:
    """The texts that the page has room for; the words of those that come late are left away."""
    import pyarrow as pa
    import pyarrow.compute as pc

    chosen = documents[:MOST_DOCUMENTS]
    keys = pa.array([row["document"] for row in chosen], type=pa.int64())
    of: dict[str, dict[int, list[Row]]] = {}
    for name, column in (("words", "word"), ("phrases", "rank")):
        of[name] = {}
        if name in result.tables:
            table = result.tables[name]
            kept = table.filter(pc.is_in(table["document"].cast(pa.int64()), keys))
            if name == "words":
                kept = kept.filter(pc.less(kept["word"], MOST_WORDS))
            for row in kept.sort_by([("document", "ascending"), (column, "ascending")]).to_pylist():
                of[name].setdefault(row["document"], []).append(row)
    shown, room = [], ALL_WORDS
    for row in chosen:
        words = of["words"].get(row["document"], [])
        words = words if len(words) <= room else []
        room -= len(words)
        shown.append(shown_of(row, words, of["phrases"].get(row["document"], [])))
    return shown


def _left_out(documents: list[dict[str, Any]], shown: list[Shown]) -> str:
    said = []
    if len(documents) > len(shown):
        said.append(f"Of {len(documents):,} texts the first {len(shown)} are on this page.")
    bare = sum(not one.words for one in shown)
    if bare and bare < len(shown):
        said.append(
            f"The words of {bare} of them are left away, since a page of more than {ALL_WORDS:,} words opens slowly."
        )
    return f"<p>{' '.join(said)} All are in the tables of the result folder.</p>" if said else ""


def _opening(manifest: Manifest, documents: list[dict[str, Any]]) -> str:
    options = manifest.plan.get("options", {}) if manifest.plan else {}
    count = sum(row["words"] for row in documents)
    windows = sum(row.get("windows") or 1 for row in documents)
    read = f"{count:,} {'word' if count == 1 else 'words'}"
    if windows > len(documents):
        read += f" in {windows:,} windows"
    lead = (
        f"What matters in {'this text' if len(documents) == 1 else f'these {len(documents):,} texts'} ({read}), "
        f"by the attention of <b>{escape(str(manifest.model.get('name', 'a model')))}</b>. {_choice(options)}"
        f"{when_and_what(manifest)}"
    )
    words = "".join(f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in WORDS.items())
    return f'<p class="lead">{lead}</p>\n<dl class="words">{words}</dl>'


def _choice(options: Mapping[str, Any]) -> str:
    """Which heads were read and how, as far as the plan says it."""
    said = []
    heads, why = options.get("heads"), options.get("why")
    if isinstance(heads, list | tuple) and heads:
        said.append(f"{len(heads)} {'head' if len(heads) == 1 else 'heads'}")
    if why:
        said.append(escape(str(why)))
    if options.get("measure"):
        over = {"mean": "the mean over the words that attend", "max": "the largest of the words that attend"}
        by = over.get(str(options.get("over", "mean")), "")
        said.append(f"by {escape(str(options['measure']))}s, {by}")
    return f"Read were {', '.join(said)}. " if said else ""


def _document(one: Shown, top: float, *, several: bool, first: bool) -> str:
    """One text with its phrases; among several it can be folded away, and only the first is open."""
    inner = (
        f'<div class="weighed"><div class="weighed-text">{text_html(one, top)}</div>'
        f'<div class="weighed-phrases"><h3>Key phrases</h3>{_phrases(one)}</div></div>'
    )
    if not several:
        return inner
    best = ", ".join(f'<bdi dir="auto">{escape(str(row["phrase"]))}</bdi>' for row in one.phrases[:3])
    return (
        f'<details class="weighed-document" id="text-{one.key}"{" open" if first else ""}><summary>'
        f'<b dir="auto">{escape(one.name)}</b> <small>{one.total:,} words</small>'
        f"{f' <span>{best}</span>' if best else ''}"
        f"</summary>{inner}</details>"
    )


def _phrases(one: Shown) -> str:
    if not one.phrases:
        return "<p>No phrase was found: no word stands out.</p>"
    most = max(float(row["score"]) for row in one.phrases) or 1.0
    items = []
    for rank, row in enumerate(one.phrases[:LISTED]):
        share = 100 * max(0.0, float(row["score"])) / most
        places = len(row["starts"])
        times = f' <small title="stands in {places} places">×{places}</small>' if places > 1 else ""
        inner = f'<bdi dir="auto">{escape(str(row["phrase"]))}</bdi>{times}<b>{figure(float(row["score"]))}</b>'
        size = f'style="--s:{share:.0f}%"'
        link = f'<a href="#p{one.key}-{rank}-0" data-phrase="{rank}" {size}>{inner}</a>'
        items.append(f"<li>{link if rank in one.placed else f'<span {size}>{inner}</span>'}</li>")
    rest = len(one.phrases) - LISTED
    more = f"<p><small>{rest:,} more are in the table.</small></p>" if rest > 0 else ""
    return f"<ol>{''.join(items)}</ol>{more}"


def _styles() -> str:
    sheet = files("attlas.reports").joinpath("static").joinpath("keywords.css").read_text(encoding="utf-8")
    return f"<style>{sheet}{level_styles()}</style>"


def _rows(result: Result, name: str) -> list[dict[str, Any]]:
    return result.tables[name].to_pylist() if name in result.tables else []
