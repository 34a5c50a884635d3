"""The report on relations: which heads find which governors, how surely, and against what.

After the findings in words come one line and one row for each relation (chosen head, best offset, untrained twin,
published figure), the map of all heads, and for the best heads the sentences in which they were surest, right and
wrong; each opens in the head view.
"""

from __future__ import annotations

from collections import Counter, abc
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from attlas.ids import Stream, paper_label
from attlas.reports.made import counted, made, measure_of, when_and_what
from attlas.reports.page import Figure, Section, grid, render
from attlas.reports.relations_charts import relation_lines, relation_map
from attlas.reports.tables import Html, between, percent, table
from attlas.views.gallery import gallery, open_button
from attlas.views.scene import Scene, Sequence, Strand

if TYPE_CHECKING:
    from attlas.store import Manifest, Result

FEWEST = 20  # cases of a relation, below which it is not charted
SURE = 0.01
Row = Mapping[str, Any]

_WORDS = """<dl class="words"><div><dt>to</dt><dd>the governor is predicted as the word to which the dependent attends most.</dd></div>
<div><dt>from</dt><dd>the governor is predicted as the word that attends most to the dependent.</dd></div>
<div><dt>best offset</dt><dd>the best rule of the form “the governor stands k words further on”, k from −10 to 10; −1 is the word before.</dd></div>
<div><dt>untrained twin</dt><dd>the same architecture with random weights, its own best head chosen in the same way: what chance looks like here.</dd></div>
<div><dt>head 8-10</dt><dd>the tenth head of the eighth layer; layers and heads count from 1 on this page.</dd></div></dl>"""  # noqa: E501

_LIMITS = """<ul>
<li><b>Heads and offsets were chosen on other texts</b> than the ones they are scored on, so that having looked at all heads
does not flatter the figures. In the map, a frame says that a head beats the offset with p &lt; .01 after Holm's
correction for all heads and directions of that relation; in the table, p is corrected for all chosen heads.</li>
<li><b>A head that finds governors need not be one that knows syntax.</b> Words that belong together often stand next to
each other or resemble each other; the offset is a first control for that, the untrained twin a second.</li>
<li><b>Published figures are another model's on another treebank</b> (bert-base-uncased, Wall Street Journal, Stanford
dependencies); they stand beside the relation that joins the same words, and say whether the picture is alike, not more.</li>
<li><b>Only single heads are asked.</b> What several heads know together is another question (<code>attlas parse</code>).</li>
</ul>"""  # noqa: E501


def relations_page(result: Result) -> str:
    """Write the page of a result of ``attlas relations``.

    >>> from attlas.store import Manifest, Result
    >>> row = {"relation": ["det"], "direction": ["to"], "best": [True], "value": [0.9], "baseline": [0.5]}
    >>> relations_page(Result(Manifest("relations", model={"name": "tiny"}), {"relations": row}))[:15]
    '<!doctype html>'
    """
    rows = [row for row in result.tables["relations"].to_pylist() if row["best"]]
    name = str(result.manifest.model.get("name", "a model"))
    charted = [row["relation"] for row in rows if row.get("n", FEWEST) >= FEWEST]
    examples = [row for row in _rows(result, "examples") if row["relation"] in charted]
    sections, tables = relation_sections(result, rows, examples, charted)
    opening = f'<p class="lead">{_lead(result.manifest, name)}</p>{_WORDS}'
    sections = [*sections, made(result.manifest, _LIMITS)]
    title = f"Which governors the heads of {name} find"
    extra = {"streams": sorted({row["stream"] for row in rows if "stream" in row})}
    return render(title, opening, sections, tables, extra, tail=gallery([scene(row, name) for row in examples]))


def relation_sections(
    result: Result, rows: abc.Sequence[Row], examples: abc.Sequence[Row], charted: abc.Sequence[str]
) -> tuple[list[Section], dict[str, Any]]:
    """The sections on relations, and the tables that their charts read.

    >>> from attlas.store import Manifest, Result
    >>> result = Result(Manifest("relations"), {"relations": {"relation": []}})
    >>> [section.key for section in relation_sections(result, [], [], [])[0]]
    ['relations']
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    shown = result.tables["relations"]
    tables = {}
    sections = []
    if found := findings(rows, result.tables.get("relation_heads")):
        items = "".join(f"<li>{text}</li>" for text in found)
        sections.append(Section("found", "In short", "", f'<ol class="findings">{items}</ol>'))
    figures = []
    if charted:
        kept = pa.array(charted)
        tables["relations"] = shown.filter(pc.and_(shown["best"], pc.is_in(shown["relation"], kept))).drop_columns(
            [column for column in shown.column_names if column.startswith("published_")]
        )
        label = "Accuracy of the chosen head, the best offset, the untrained twin and the published head, by relation"
        figures.append(Figure("relations", "Accuracy by relation", relation_lines(charted), "relations", label=label))
    lead = (
        "<p>Each row is a relation: the head that was best on the texts for choosing, and how often it is right on "
        "the others, in per cent, with a 95 % interval by sentence (bootstrap). Beside it the best fixed offset, "
        "what the head is better by, and the untrained twin. Published figures are those of Clark et al. (2019).</p>"
    )
    body = grid(figures, "wide") + _main(rows)
    sections.append(Section("relations", "Relation by relation", lead, body, tuple(figures), "Relations"))
    if "relation_heads" in result.tables and charted:
        heads = result.tables["relation_heads"]
        tables["relation_heads"] = heads.filter(pc.is_in(heads["relation"], pa.array(charted)))
        size = {"layers": 1 + pc.max(heads["layer"]).as_py(), "heads": 1 + pc.max(heads["head"]).as_py()}
        figure = Figure(
            "relation-map",
            "Every head",
            relation_map(charted, **size),
            "relation_heads",
            label="Heat map of accuracy for one relation, layer by head",
        )
        words = (
            "<p>Choose a relation and a direction. The brighter, the more often a head is right; framed heads beat "
            "the best fixed offset even after the correction for having looked at all of them.</p>"
        )
        sections.append(Section("map", "Head by head", words, grid([figure], "wide"), (figure,), "Map"))
    if examples:
        words = (
            "<p>For each relation, sentences in which its best head paid most to one word, where that was the "
            "governor and where it was not. Marked are the <mark>dependent</mark>, its <b>governor</b> and, where it "
            "is another, the <s>word that was chosen</s>. Every one opens in the head view.</p>"
        )
        shown = _examples(examples, measure_of(result.manifest))
        sections.append(Section("examples", "Where they are surest", words, shown, (), "Examples"))
    return sections, tables


def findings(rows: abc.Sequence[Row], heads: Any = None) -> list[str]:
    """What the numbers say, in sentences of HTML.

    >>> row = {"relation": "det", "value": 0.9, "baseline": 0.5, "twin": 0.1, "p_adjusted": 0.001, "n": 50}
    >>> findings([{**row, "layer": 7, "head": 10, "offset": 1, "margin_low": 0.3, "margin": 0.4}])[0][:63]
    'For 1 of 1 relations with at least 20 cases, the chosen head is'
    """
    known = [row for row in rows if row.get("n", 0) >= FEWEST and row["relation"] != "all"]
    found = []
    if known:
        better = [row for row in known if sure(row)]
        found.append(
            f"For {len(better)} of {len(known)} relations with at least {FEWEST} cases, the chosen head is better "
            "than the best fixed offset (p &lt; .01 after Holm's correction)."
        )
    whole = next((row for row in rows if row["relation"] == "all"), None)
    if whole is not None:
        said = (
            f"Over all relations, head <b>{_label(whole)}</b> finds {percent(whole['value'])} % of governors; the "
            f"best offset ({whole['offset']:+d}) finds {percent(whole['baseline'])} %, the best head of the "
            f"untrained twin {percent(whole['twin'])} %."
        )
        found.append(said + _published(whole))
    for row in sorted((row for row in known if sure(row)), key=lambda row: -row["margin_low"])[:3]:
        found.append(
            f"Furthest above its offset is <b>{_label(row)}</b> for <i>{escape(row['relation'])}</i>"
            if not any("Furthest" in text for text in found)
            else f"Then <b>{_label(row)}</b> for <i>{escape(row['relation'])}</i>"
        )
        found[-1] += (
            f": {percent(row['value'])} % against {percent(row['baseline'])} % (untrained: {percent(row['twin'])} %)."
            + _published(row)
        )
    popular = Counter(_label(row) for row in known if sure(row)).most_common(1)
    if popular and popular[0][1] > 2:
        found.append(f"One head, <b>{popular[0][0]}</b>, is the best for {popular[0][1]} of these relations.")
    if heads is not None and "p_adjusted" in heads.column_names:
        able = {
            (row["layer"], row["head"])
            for row in heads.select(["layer", "head", "p_adjusted", "margin"]).to_pylist()
            if sure(row)
        }
        every = {*zip(heads["layer"].to_pylist(), heads["head"].to_pylist(), strict=True)}
        found.append(
            f"{len(able)} of {len(every)} heads beat the offset for at least one relation or direction, corrected "
            "for all heads of that relation."
        )
    return found


def sure(row: Row) -> bool:
    """Whether a head is better than the best offset after the correction for having looked at many.

    >>> sure({"p_adjusted": 0.001, "margin": 0.2}), sure({"p_adjusted": None, "margin": 0.2})
    (True, False)
    """
    p = row.get("p_adjusted")
    return p is not None and p < SURE and row["margin"] > 0


def scene(row: Row, model: str) -> Scene:
    """The scene of an example: one head on one sentence.

    >>> row = {"pieces": ["a"], "piece_words": [0], "piece_documents": [0], "words": ["a"], "text": "a", "layer": 2}
    >>> row |= {"head": 3, "stream": "encoder", "weights": np.ones(1, np.float32).tobytes(), "lengths": None}
    >>> scene(row, "tiny").strands[0].heads
    (3,)
    """
    reading = Sequence(
        tuple(row["pieces"]), tuple(row["piece_words"]), tuple(row["piece_documents"]), tuple(row["words"])
    )
    n = reading.length
    weights = np.frombuffer(row["weights"], "<f4").reshape(1, 1, n, n)
    lengths = None if row["lengths"] is None else np.frombuffer(row["lengths"], "<f4").reshape(1, 1, n)
    strand = Strand(
        Stream(row["stream"]),
        reading,
        reading,
        weights,
        layers=(row["layer"],),
        heads=(row["head"],),
        lengths=lengths,
    )
    return Scene(model, (row["text"],), (strand,))


def _rows(result: Result, name: str) -> list[dict[str, Any]]:
    return result.tables[name].to_pylist() if name in result.tables else []


def _lead(manifest: Manifest, name: str) -> str:
    corpus = manifest.corpus
    sides = ""
    if "chosen_on" in corpus:
        sides = (
            f" Heads were chosen on {corpus['chosen_on']:,} sentences and scored on {corpus['scored_on']:,} others."
        )
    counts = counted(manifest)
    return (
        f"Does an attention head of <b>{escape(name)}</b> know which word governs which? Every head was taken as a "
        f"parser of <b>{escape(str(corpus.get('name', 'a treebank')))}</b>{f' ({counts})' if counts else ''}: a "
        f"word's governor is the word with the largest {measure_of(manifest)} between them.{sides} "
        + when_and_what(manifest)
    )


def _main(rows: abc.Sequence[Row]) -> str:
    """The table like the paper's; relations with few cases folded away below it."""
    head = ["relation", "n", "head", "", "accuracy", "95 %", "best offset", "", "better by", "p", "untrained",
            "published"]  # fmt: skip
    known = [row for row in rows if "low" in row]
    many = [_cells(row) for row in known if row["n"] >= FEWEST]
    few = [_cells(row) for row in known if row["n"] < FEWEST]
    text = (0, 2, 3, 11)
    shown = table(head, many, label="Relations", text=text) if many else ""
    if notes := [f"{row['published_relation']}: {row['published_note']}" for row in known if row["published_note"]]:
        shown += (
            f'<p class="note">Published heads with their best offset in brackets. {escape("; ".join(notes))}.</p>'
        )
    if few:
        rest = table(head, few, label="Rare relations", text=text)
        shown += f"<details><summary>{len(few)} relations with fewer than {FEWEST} cases</summary>{rest}</details>"
    return shown


def _cells(row: Row) -> list[str | Html]:
    published = ""
    if row["published"] is not None:
        there = "" if row["published_relation"] == row["relation"] else f"{row['published_relation']} "
        published = (
            f"{there}{row['published_head']}: {percent(row['published'])} ({percent(row['published_baseline'])})"
        )
    value = percent(row["value"])
    return [
        row["relation"],
        f"{row['n']:,}",
        _label(row),
        row["direction"],
        Html(f"<b>{value}</b>") if sure(row) else value,
        between(row["low"], row["high"]),
        percent(row["baseline"]),
        f"({row['offset']:+d})".replace("-", "−"),
        f"{100 * row['margin']:+.1f}".replace("-", "−"),
        _p(row["p_adjusted"]),
        percent(row["twin"]),
        published,
    ]


def _examples(examples: abc.Sequence[Row], measure: str) -> str:
    by_relation: dict[str, list[str]] = {}
    for number, row in enumerate(examples):
        query = row["piece_words"].index(row["dependent"])
        kept = {"query": query} if row["direction"] == "to" else {"key": query}
        look = open_button(
            number, "look", view="head", unit="word", stream=row["stream"], layer=row["layer"], head=row["head"],
            heads=[row["head"]], measure=measure, **kept,
        )  # fmt: skip
        verdict = "✓" if row["verdict"] == "right" else "✗"
        item = (
            f'<li class="{row["verdict"]}"><span title="{row["verdict"]}">{verdict}</span> {_sentence(row)} '
            f"<small>.{round(100 * min(row['value'], 0.99)):02d}</small> {look}</li>"
        )
        by_relation.setdefault(f"{row['relation']}: head {_label(row)}, {row['direction']}", []).append(item)
    return "".join(
        f'<details class="examples"{" open" if number < 3 else ""}><summary>{escape(title)}</summary>'
        f"<ul>{''.join(items)}</ul></details>"
        for number, (title, items) in enumerate(by_relation.items())
    )


def _sentence(row: Row, around: int = 12) -> str:
    """The words about an example, with the three that matter marked."""
    marks = {row["predicted"]: "s"} if row["verdict"] == "wrong" else {}
    marks |= {row["governor"]: "b", row["dependent"]: "mark"}
    first, last = max(0, min(marks) - around), max(marks) + around + 1
    words = []
    for place, word in list(enumerate(row["words"]))[first:last]:
        inner = escape(word)
        words.append(f"<{marks[place]}>{inner}</{marks[place]}>" if place in marks else inner)
    ends = ("… " if first else "", " …" if last < len(row["words"]) else "")
    return f'<span dir="auto">{ends[0]}{" ".join(words)}{ends[1]}</span>'


def _published(row: Row) -> str:
    if row.get("published") is None:
        return ""
    return (
        f'<span class="published">{escape(row["published_relation"])}, head {row["published_head"]}, '
        f"{percent(row['published'])} % against {percent(row['published_baseline'])} %.</span>"
    )


def _label(row: Row) -> str:
    return paper_label(row["layer"], row["head"])


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return "< .001" if value < 0.001 else f"{value:.3f}".replace("0.", ".", 1) if value < 0.995 else "1"
