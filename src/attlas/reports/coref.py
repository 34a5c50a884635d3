"""The report on coreference: how often a head's choice is an antecedent, beside simple rules and an untrained twin.

After the findings in words come the best heads by kind of mention with their rivals, in a chart and a table; then
every head, by layer and as a map; then the surest choices of the best head, right and wrong, in their context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import product
from typing import TYPE_CHECKING, Any

from attlas.ids import paper_label
from attlas.reports.coref_charts import SETS, WAYS, WHO, coref_map, kinds_chart, layers_chart
from attlas.reports.made import counted, made, measure_of, when_and_what
from attlas.reports.page import Figure, Section, grid, render
from attlas.reports.tables import Html, between, percent, table

if TYPE_CHECKING:
    from attlas.store import Manifest, Result

SURE = 0.01
Row = Mapping[str, Any]
Found = Mapping[tuple[str, str, str], Row]  # by kind, set of candidates, who
RULES = ("nearest", "head match", "sieve")

_WORDS = """<dl class="words"><div><dt>mention, antecedent</dt><dd>words that refer to something; an earlier mention
of the same thing. Both are stood for by their head words, as <i>farmer</i> in “the old farmer from
Kent”.</dd></div>
<div><dt>to, from</dt><dd>the head's choice is the word to which the mention attends most, or the word that attends
most to the mention.</dd></div>
<div><dt>nearest, head match, sieve</dt><dd>rules that look back: the nearest mention; the nearest with the same
head word, else the nearest; the nearest with the same words, else the same head word, else of fitting number,
gender and person, else any.</dd></div>
<div><dt>untrained twin</dt><dd>the same architecture with random weights, its own best head chosen in the same
way.</dd></div>
<div><dt>chance</dt><dd>choosing blindly among the same candidates.</dd></div>
<div><dt>head 5-4</dt><dd>the fourth head of the fifth layer; layers and heads count from 1 on this
page.</dd></div></dl>"""

_LIMITS = """<ul>
<li><b>Heads were chosen on other documents</b> than the ones they are scored on. Intervals of the best heads and of
the rules are bootstrapped by document; those of all other heads, and p, take the window as the unit. p is adjusted
by Holm's method for all heads and directions of its kind and set of candidates.</li>
<li><b>Rules look back, heads look both ways.</b> Among all other mentions a head may choose one that comes later,
which is always wrong here; “among preceding mentions” gives heads the same choice as the rules have. In a causal
model the two are the same.</li>
<li><b>A head may go by likeness.</b> Much of coreference is the same word again; compare with head match before
believing in more. The cases under “where the simple rules fail” are the ones that likeness and nearness do not
explain.</li>
<li><b>Only antecedents in the window count.</b> Mentions whose antecedents all lie outside it are left out and
counted above, so that far coreference is rarer here than in the texts.</li>
<li><b>Head words come from the corpus's trees where it has them, else from a rule</b> for English, which is right
for about nine noun phrases in ten; kinds of mentions and the rules' number, gender and person come from tags or
short lists for English.</li>
<li><b>Published figures are another model's on another corpus</b> (BERT-base, CoNLL-2012), in windows of another
length; they say whether the picture is alike, not more.</li>
</ul>"""


def coref_page(result: Result) -> str:
    """Write the page of a result of ``attlas coref``.

    >>> from attlas.store import Manifest, Result
    >>> row = {"kind": ["all"], "candidates": ["mentions"], "who": ["best head"], "value": [0.6], "n": [10.0]}
    >>> coref_page(Result(Manifest("coref", model={"name": "tiny"}), {"coref": row}))[:15]
    '<!doctype html>'
    """
    rows = result.tables["coref"].to_pylist()
    found = {(row["kind"], row["candidates"], row["who"]): row for row in rows}
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    name = str(result.manifest.model.get("name", "a model"))
    heads = result.tables.get("coref_heads")
    sections = []
    if said := findings(found, heads):
        items = "".join(f"<li>{text}</li>" for text in said)
        sections.append(Section("found", "In short", "", f'<ol class="findings">{items}</ol>'))
    sections.append(_kinds(found, kinds))
    tables = {"coref": result.tables["coref"]}
    if heads is not None:
        tables["coref_heads"] = heads.drop_columns(["stream"])
        sections += _every(heads, kinds)
    if cases := result.tables["cases"].to_pylist() if "cases" in result.tables else []:
        sections.append(_cases(cases, found))
    sections.append(made(result.manifest, _LIMITS))
    opening = f'<p class="lead">{_lead(result.manifest, name)}</p>{_WORDS}'
    return render(f"Which heads of {name} find antecedents", opening, sections, tables)


def _lead(manifest: Manifest, name: str) -> str:
    corpus, counts = manifest.corpus, counted(manifest)
    options = manifest.plan.get("options", {}) if manifest.plan else {}
    measure = measure_of(manifest)
    sides = ""
    if "mentions_scored_on" in corpus:
        asked = corpus["mentions_chosen_on"] + corpus["mentions_scored_on"]
        share = asked / max(1, corpus["mentions_with_an_antecedent"])
        sides = (
            f" Heads were chosen on {corpus['mentions_chosen_on']:,} mentions and scored on "
            f"{corpus['mentions_scored_on']:,} in other documents; {percent(share)} % of all mentions with an "
            f"antecedent have one inside their window of {options.get('max_pieces', '')} pieces."
        )
    return (
        f"When <b>{escape(name)}</b> reads <i>she</i>, does any attention head look at who she is? For every mention "
        f"in <b>{escape(str(corpus.get('name', 'a corpus')))}</b>{f' ({counts})' if counts else ''} that refers "
        f"back, each head was asked which other word gets its largest {measure}, and whether that is an antecedent."
        f"{sides} {when_and_what(manifest)}"
    )


def findings(found: Found, heads: Any = None) -> list[str]:
    """What the numbers say, in sentences of HTML.

    >>> best = {"value": 0.6, "low": 0.5, "high": 0.7, "layer": 4, "head": 3, "direction": "to"}
    >>> findings({("all", "mentions", "best head"): best})[0][:74]
    'Among the other mentions, head <b>5-4</b> (to) finds an antecedent for 60.'
    """
    said: list[str] = []
    best = found.get(("all", "mentions", "best head"))
    if best is None or best.get("layer") is None:
        return said
    rules = _versus(found, "all")
    twin, chance = (found.get(("all", "mentions", who)) for who in ("untrained twin", "chance"))
    said.append(
        f"Among the other mentions, head <b>{_label(best)}</b> ({best['direction']}) finds an antecedent for "
        f"{percent(best['value'])} % of mentions (95 %: {between(best['low'], best['high'])})"
        + (f"; the best head of the untrained twin for {percent(twin['value'])} %" if twin else "")
        + (f", choosing blindly {percent(chance['value'])} %" if chance else "")
        + (f". Rules: {rules}" if rules else "")
        + "."
        + '<span class="published">head 5-4 of BERT-base, 65 %; nearest 27, head match 52, rules 69, a neural system '
        "83.</span>"
    )
    fair = found.get(("all", "preceding", "best head"))
    if fair is not None:
        verdicts = [_verdict(fair, rule) for rule in ("nearest", "head match")]
        said.append(
            f"With the choice that the rules have, among preceding mentions only, head <b>{_label(fair)}</b> "
            f"({fair['direction']}) is right for {percent(fair['value'])} %: "
            f"{' and '.join(verdict for verdict in verdicts if verdict)}."
        )
    kinds = [
        (kind, row) for (kind, candidates, who), row in found.items()
        if candidates == "preceding" and who == "best for its kind"
    ]  # fmt: skip
    if kinds:
        parts = [
            f"{kind} {percent(row['value'])} % (head {_label(row)}; {_versus(found, kind)})" for kind, row in kinds
        ]
        said.append("The best head for each kind, also among preceding mentions: " + "; ".join(parts) + ".")
    words = found.get(("all", "words", "best head"))
    if words is not None:
        blind = found.get(("all", "words", "chance"))
        said.append(
            f"Among <i>all</i> words of the window, head <b>{_label(words)}</b> ({words['direction']}) looks most at "
            f"an antecedent for {percent(words['value'])} % of mentions"
            + (f"; choosing blindly {percent(blind['value'])} %." if blind else ".")
        )
    if heads is not None:
        said.append(_how_many(heads))
    return said


def _how_many(heads: Any) -> str:
    rows = [
        row
        for row in heads.select(
            ["who", "layer", "head", "candidates", "kind", "p_nearest", "p_head_match"]
        ).to_pylist()
        if row["who"] == "trained" and row["candidates"] == "preceding" and row["kind"] == "all"
    ]
    every = {(row["layer"], row["head"]) for row in rows}
    able = {
        rule: {(row["layer"], row["head"]) for row in rows if row[rule] is not None and row[rule] < SURE}
        for rule in ("p_nearest", "p_head_match")
    }
    return (
        f"{len(able['p_nearest'])} of {len(every)} heads beat the nearest mention in at least one direction (p &lt; "
        f".01, adjusted for all), {len(able['p_head_match']) or 'none'} beat head match."
    )


def _versus(found: Found, kind: str) -> str:
    rows = [(rule, found.get((kind, "preceding", rule))) for rule in RULES]
    return ", ".join(f"{rule} {percent(row['value'])}" for rule, row in rows if row is not None)


def _verdict(row: Row, rule: str) -> str:
    p = row.get(f"p_{rule.replace(' ', '_')}")
    if p is None:
        return ""
    return f"better than {rule} (p {_p(p)})" if p < SURE else f"not shown to be better than {rule} (p {_p(p)})"


def _kinds(found: Found, kinds: Sequence[str]) -> Section:
    figure = Figure(
        "kinds",
        "Share of mentions for which the choice is an antecedent",
        kinds_chart(kinds),
        "coref",
        label="Share right by kind of mention: best head, rules, untrained twin, chance",
    )
    lead = (
        "<p>The best head is the one that was best for all mentions on other documents; beside it the one that was "
        "best there for each kind. Choose what heads may choose from; the three rules always look among preceding "
        "mentions. Lines are 95 % intervals (bootstrap by document); hollow signs "
        "are published figures.</p>"
    )
    body = grid([figure], "wide") + _main(found, kinds)
    return Section("kinds", "By kind of mention", lead, body, (figure,), "Kinds")


def _main(found: Found, kinds: Sequence[str]) -> str:
    head: list[str | Html] = ["who", "chosen among"]
    for kind in kinds:
        n = next((row["n"] for (k, _, _), row in found.items() if k == kind), 0)
        head += [f"{kind} (n {n:,.0f})", "95 %"]
    lines: list[list[str | Html]] = []
    for candidates, who in product(SETS, WHO):
        rows = [found.get((kind, candidates, who)) for kind in kinds]
        if any(row is not None for row in rows):
            lines.append([who, SETS[candidates].removeprefix("among ")])
            for row in rows:
                lines[-1] += _cells(row)
        if any(row is not None and row.get("published") is not None for row in rows):
            lines.append([Html(f"<small>{'BERT 5-4' if who == 'best head' else who}, published</small>"), ""])
            for row in rows:
                value = None if row is None else row.get("published")
                lines[-1] += [Html("" if value is None else f"<small>{100 * value:.0f}</small>"), ""]
    words = "<p>Per cent right. Bold: better than head match, p &lt; .01.</p>"
    return words + table(head, lines, label="Share right, in per cent", text=(0, 1))


def _cells(row: Row | None) -> list[str | Html]:
    if row is None:
        return ["", ""]
    value: str | Html = percent(row["value"])
    if row.get("layer") is not None:
        p = row.get("p_head_match")
        shown = f"<b>{value}</b>" if p is not None and p < SURE else value
        value = Html(f"<small>{_label(row)} {row['direction']}</small> {shown}")
    return [value, between(row.get("low"), row.get("high"))]


def _every(heads: Any, kinds: Sequence[str]) -> list[Section]:
    import pyarrow.compute as pc

    size = {"layers": 1 + pc.max(heads["layer"]).as_py(), "heads": 1 + pc.max(heads["head"]).as_py()}
    layers = Figure(
        "layers", "Every head by layer, in its better direction", layers_chart(kinds, **size), "coref_heads",
        label="Share right by layer, one dot per head, trained and untrained",
    )  # fmt: skip
    cells = Figure(
        "coref-map", "Every head", coref_map(kinds, **size), "coref_heads",
        label="Heat map of the share right, layer by head",
    )  # fmt: skip
    return [
        Section(
            "layers",
            "Where in the model",
            "<p>Dots far above those of the untrained twin and above the dashed line, which is chance, are heads "
            "that have learned something of coreference, or of likeness.</p>",
            grid([layers], "wide"),
            (layers,),
            "Layers",
        ),
        Section(
            "map",
            "Head by head",
            "<p>Choose mentions, candidates and direction. The brighter, the more often a head is right; framed "
            "heads beat the nearest mention even after the correction for having looked at all of them.</p>",
            grid([cells], "wide"),
            (cells,),
            "Map",
        ),
    ]


def _cases(cases: Sequence[Row], found: Found) -> Section:
    best = found.get(("all", "mentions", "best head"), {})
    named = f" {_label(best)} ({WAYS.get(best['direction'], '')})" if best.get("layer") is not None else ""
    parts = []
    for number, outcome in enumerate(dict.fromkeys(row["outcome"] for row in cases)):
        items = [_case(row) for row in cases if row["outcome"] == outcome]
        parts.append(
            f'<details class="examples"{"" if number else " open"}><summary>{escape(outcome.capitalize())}</summary>'
            f"<ul>{''.join(items)}</ul></details>"
        )
    lead = (
        f"<p>The mentions where the best head{named} gave most to what it chose among all other mentions, few from "
        "any one document. The <mark>mention</mark> in its context, the nearest antecedent, and what the head "
        "chose.</p>"
    )
    return Section("cases", "Where it is surest", lead, "".join(parts), (), "Cases")


def _case(row: Row) -> str:
    right = row["outcome"] != "wrong"
    verdict = f'<span title="{"right" if right else "wrong"}">{"✓" if right else "✗"}</span>'
    chose = f"chose <b>{escape(row['chose'])}</b>"
    antecedent = "" if right and row["chose"] == row["antecedent"] else f"; antecedent {escape(row['antecedent'])}"
    return (
        f'<li class="{"right" if right else "wrong"}">{verdict} <span dir="auto">{escape(row["before"])}'
        f"<mark>{escape(row['text'])}</mark>{escape(row['after'])}</span><br><small>{row['kind']}: {chose} "
        f"({percent(row['weight'])} %){antecedent} · {escape(row['document'])}</small></li>"
    )


def _label(row: Row) -> str:
    return paper_label(row["layer"], row["head"])


def _p(value: float) -> str:
    return "&lt; .001" if value < 0.001 else f"{value:.3f}".replace("0.", ".", 1) if value < 0.995 else "1"
