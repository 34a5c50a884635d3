"""The page of coreference: how often a head's choice is an antecedent, beside simple rules and an untrained twin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from markupsafe import Markup

from attlas.pages import Custom, Listing, Page, Section, Style, charts
from attlas.pages.findings import Claim, Finding, finding, value_claim
from attlas.pages.html import tag
from attlas.pages.prose import Prose, listed, say
from attlas.pages.rows import Row, Rows, Tables, label_of
from attlas.store.schema import KINDS, PLACE, Column, Schema, is_known
from attlas.studies.shared.wording import measure_of, words

SURE = 0.01
RULES = ("nearest", "head match", "sieve")
ORDER = ("best head", "best for its kind", "sieve", "head match", "nearest", "twin", "chance")
SETS = {"mentions": "all other mentions", "preceding": "preceding mentions", "words": "all words"}
WAYS = {"to": "mention to antecedent", "from": "antecedent to mention"}
CLARK = "Clark et al. 2019, BERT-base on CoNLL-2012"

KIND = Column("kind", "mentions", meaning="all, pronoun, proper or nominal")
CANDIDATES = Column("candidates", "chosen among", labels=SETS, meaning="what a head may choose from")
WAY = Column("direction", "attention from", labels=WAYS, meaning="who attends to whom")
WHEN = Column("when_chosen", "right where it was chosen, %", "percent")
FAMILY = "all heads and directions of the kind and set of candidates"
TESTED = tuple(
    Column(
        f"{rule}_p_corrected", f"p against {rule.replace('_', ' ')}", "p", "of being better on the same mentions, by "
        "flipping the signs of documents (max-T); none below 16 of them", family=FAMILY, none="too few",
        was=f"p_{rule}",
    )
    for rule in ("nearest", "head_match")
)  # fmt: skip
TESTS = tuple(column.name for column in TESTED)
VALUE = "share of mentions whose choice is an antecedent"
_SHARES = (
    KIND, CANDIDATES,
    Column("who", "who", labels={"twin": "untrained twin"}, were={"untrained twin": "twin"},
           meaning="a head chosen on other documents, a rule, the untrained twins' best heads (their mean; ends: the "
           "lowest and the highest), or chance"),
    Column("value", "right, %", "percent", VALUE, ends=("low", "high"), definition="Clark et al. 2019"),
    Column("n", "mentions", "count"),
)  # fmt: skip
COREF = Schema(
    "coref",
    "One row for each kind of mention, set of candidates, and who chooses.",
    *_SHARES, Column("layer", "layer", "index"), Column("head", "head", "index"), WAY, WHEN, *TESTED,
    Column("published", "published, %", "percent", "one head throughout (5-4)", definition=CLARK),
    Column("twins", "twins", "count", "how many untrained twins were drawn", optional=True),
)  # fmt: skip


def best_rules(rows: Callable[[str], list[dict[str, Any]]]) -> dict[tuple[Any, ...], float]:
    """What the better of the two simple rules, or chance, gets right, by kind of mention, candidates and direction.

    >>> rules = [{"kind": "all", "candidates": "preceding", "who": "nearest", "value": 0.3}]
    >>> best_rules(lambda table: rules)["all", "mentions", "to"]
    0.3
    """
    best: dict[tuple[Any, ...], float] = {}
    for row in rows("coref"):
        rule = row["who"] in (*RULES[:2], "chance") and is_known(row["value"])
        sets = SETS if row["who"] in RULES else (row["candidates"],)
        for key in product((row["kind"],), sets, WAYS) if rule else ():
            best[key] = max(row["value"], best.get(key, 0.0))
    return best


_OF_A_HEAD = (
    Column("who", "of", labels={"model": "the model", "twin": "its untrained twin"},
           were={"trained": "model", "untrained": "twin"}),
    *PLACE, WAY, CANDIDATES, KIND,
    Column("value", "right, %", "percent", VALUE, ends=("low", "high"), chance="chance",
           definition="Clark et al. 2019", head=True, p="nearest_p_corrected", against=best_rules,
           halves=("when_chosen", "value"), called="finds antecedents: {kind}, among {candidates}, {direction}"),
    Column("n", "mentions", "count"), WHEN, *TESTED,
)  # fmt: skip
HEADS = Schema(
    "coref_heads",
    "Every head of the model, and the mean of its untrained twins (ends: lowest and highest).",
    *_OF_A_HEAD,
    keys=("kind", "candidates", "direction"), who="who",
)  # fmt: skip
CASES = Schema(
    "cases", "The surest choices of the best head, right and wrong, in their context.",
    KIND, Column("outcome", "outcome"), Column("weight", "attention paid", "share"), Column("document", "document"),
    Column("mention", "mention"), Column("antecedent", "nearest antecedent"), Column("chose", "what the head chose"),
    Column("before", "text before"), Column("text", "the mention"), Column("after", "text after"),
)  # fmt: skip
RIVALS = Schema("rivals", "Each set of candidates with the rules beside.", *COREF.columns, Column("by", "head"))
WIDE = Schema(
    "side_by_side", "The kinds of mentions side by side.", CANDIDATES, _SHARES[2],
    *(Column(kind, f"{kind}, %", "percent", optional=True) for kind in ("all", "pronoun", "proper", "nominal")),
)  # fmt: skip
BETTER = Schema("better_way", "Every head in its better direction.", *_OF_A_HEAD)


def rivals(tables: Tables) -> list[Row]:
    """For each set of candidates all who choose from it, and the rules, which always look back; in one order."""
    rows = tables["coref"]
    return [
        {**row, "candidates": candidates, "by": "" if row["layer"] is None else label_of(row)}
        for candidates in rows.values("candidates")
        for who in ORDER
        for row in rows.where(who=who, candidates="preceding" if who in RULES else candidates)
    ]


def side_by_side(tables: Tables) -> list[Row]:
    """For each set of candidates and who chooses, the share right by kind of mention."""
    rows = tables["coref"]
    nothing = dict.fromkeys(rows.values("kind"))
    return [
        {"candidates": candidates, "who": who} | nothing | {row["kind"]: row["value"] for row in own}
        for candidates in rows.values("candidates")
        for who in ORDER
        if (own := rows.where(candidates=candidates, who=who))
    ]


def better_way(tables: Tables) -> list[Row]:
    """Every head in the direction in which it is right more often; its p are the smaller ones of both."""
    ways: dict[tuple[object, ...], list[Row]] = {}
    for row in tables["coref_heads"]:
        ways.setdefault(tuple(row[name] for name in ("who", "kind", "candidates", "layer", "head")), []).append(row)
    return [
        {**max(rows, key=lambda row: row["value"]),
         **{name: min(Rows(rows).known(name).column(name), default=None) for name in TESTS}}
        for rows in ways.values()
    ]  # fmt: skip


def answer(tables: Tables) -> Finding | None:
    """How often the best head looks at an antecedent, among the other mentions."""
    best, twin, chance = (_row(tables, "mentions", who) for who in ("best head", "twin", "chance"))
    if best is None:
        return None
    beside = {
        "those of untrained twins (random weights) for {value:percent} %": twin,
        "choosing blindly would for {value:percent} %": chance,
    }
    others = listed([say(text, **row) for text, row in beside.items() if row is not None])
    return finding(
        "Among the other mentions, head **{head}** ({way}), which was best on other documents, finds an antecedent "
        "for **{value:percent} %** of mentions{between}{others}.", *_values(best, twin, chance),
        between=say(" ({low:percent} to {high:percent} %)", **best) if is_known(best["low"]) else "",
        others=say("; {others}", others=others) if others.values else "",
        **_told(best, "head 5-4 of BERT-base, 65 %; nearest 27, head match 52, rules 69, a neural system 83 "
                "(Clark et al. 2019)"),
    )  # fmt: skip


def against_rules(tables: Tables) -> Iterator[Finding]:
    """The best head among preceding mentions, as the rules choose."""
    best = _row(tables, "preceding", "best head")
    if best is not None:
        tests = {name: best[name] for name in TESTS if is_known(best.get(name))}
        verdicts = listed([
            say("{verdict} than {rule} (p {p:p})", rule=rule, p=tests[name],
                verdict="better" if tests[name] < SURE else "not shown to be better")
            for rule, name in zip(RULES, TESTS, strict=False) if name in tests
        ])  # fmt: skip
        yield finding(
            "With the choice that the rules have, among preceding mentions only, head **{head}** is right for "
            "**{value:percent} %**{rules}{verdicts}.",
            *_values(best, *_rule_rows(tables, "all")),
            *(Claim("below", "coref", name, [{key: best[key] for key in ("kind", "candidates", "who")}], than=SURE)
              for name, p in tests.items() if p < SURE), rules=_rules(tables, "all"),
            verdicts=say(": {verdicts}", verdicts=verdicts) if verdicts.values else "", **_told(best),
        )  # fmt: skip


def by_kind(tables: Tables) -> Iterator[Finding]:
    """The best head for each kind, among preceding mentions."""
    for row in tables["coref"].where(candidates="preceding", who="best for its kind"):
        yield finding(
            "For *{kind}* mentions, again among preceding ones, head **{head}** was best on other documents: it is "
            "right for {value:percent} %{rules}.", *_values(row, *_rule_rows(tables, row["kind"])),
            rules=_rules(tables, row["kind"]), **_told(row),
        )  # fmt: skip


def among_words(tables: Tables) -> Iterator[Finding]:
    """The best head among all words."""
    best, chance = (_row(tables, "words", who) for who in ("best head", "chance"))
    if best is not None and chance is not None:
        yield finding(
            "Among *all* words of the window, head **{head}** ({way}) finds an antecedent for "
            "{value:percent} % of mentions; choosing blindly would for {chance:percent} %.",
            *_values(best, chance), chance=chance["value"], **_told(best),
        )  # fmt: skip


def many_heads(tables: Tables) -> Iterator[Finding]:
    """How many heads beat the simple rules."""
    among = {"who": "model", "candidates": "preceding", "kind": "all"}
    heads = tables["better_way"].where(**among)
    if heads:
        counts = {name: sum(p < SURE for p in heads.known(name).column(name)) for name in TESTS}
        nearest, match = counts.values()
        yield finding(
            "{nearest} of {n} heads beat the nearest mention in at least one direction (p < 0.01, corrected for "
            "all), {match} beat head match.",
            *(Claim("count", "better_way", name, among=among, than=SURE, value=number, below=True)
              for name, number in counts.items()),
            nearest=nearest, n=len(heads), match=match or "none", see="map",
        )  # fmt: skip


def about(tables: Tables) -> Prose:
    """What was done."""
    corpus = tables.manifest.corpus
    said = say(
        "When **{model}** reads *she*, does any attention head look at who she is? For every mention in **{corpus}** "
        "that refers back, each head was asked which other word gets its largest {measure}, and whether that is an "
        "antecedent.", measure=measure_of(tables), **tables.names,
    )  # fmt: skip
    if "mentions_scored_on" not in corpus:
        return said
    asked = corpus["mentions_chosen_on"] + corpus["mentions_scored_on"]
    return said + say(
        "Heads were chosen on {mentions_chosen_on} mentions and scored on {mentions_scored_on} in other documents; "
        "{share:percent} % of all mentions with an antecedent have one inside their window of {window} pieces "
        "(subword tokens).",
        window=tables.options.get("max_pieces"), share=asked / max(1, corpus["mentions_with_an_antecedent"]), **corpus
    )  # fmt: skip


def cases(tables: Tables) -> Markup | None:
    """The surest choices, by how they went, in their context."""
    folded = [
        tag("details", tag("summary", outcome.capitalize()), tag("ul", *map(_case, rows)), class_="examples",
            open=number == 0)
        for number, (outcome, rows) in enumerate(tables["cases"].by("outcome"))
    ]  # fmt: skip
    return Markup("").join(folded) if folded else None


def _case(row: Row) -> Markup:
    verdict = "wrong" if row["outcome"] == "wrong" else "right"
    same = verdict == "right" and row["chose"] == row["antecedent"]
    text = tag("span", row["before"], tag("mark", row["text"]), row["after"], dir="auto")
    paid = f" ({KINDS['percent'].write(row['weight'], None)} %)"
    antecedent = "" if same else f"; antecedent {row['antecedent']}"
    told = tag("small", f"{row['kind']}: chose ", tag("b", row["chose"]), paid, antecedent, f" · {row['document']}")
    sign = tag("span", "✓" if verdict == "right" else "✗", title=verdict)
    return tag("li", sign, " ", text, Markup("<br>"), told, class_=verdict)


def _row(tables: Tables, candidates: str, who: str) -> Row | None:
    return next(iter(tables["coref"].where(kind="all", candidates=candidates, who=who)), None)


def _rule_rows(tables: Tables, kind: str) -> Rows:
    return tables["coref"].where(kind=kind, candidates="preceding", who=RULES)


def _rules(tables: Tables, kind: str) -> Prose | str:
    """How often the rules are right, in brackets."""
    shares = [say("{who} {value:percent} %", **row) for row in _rule_rows(tables, kind)]
    return say(" ({shares})", shares=listed(shares)) if shares else ""


def _values(*rows: Row | None) -> list[Claim]:
    return [value_claim("coref", "value", row, "kind", "candidates", "who") for row in rows if row is not None]


def _told(row: Row, published: str = "") -> dict[str, Any]:
    """What a sentence says of a row: its figures, its head by label, the direction, and where to see it."""
    return {**row, "head": label_of(row), "way": WAYS[row["direction"]], "see": "kinds", "published": published}


PAGE = Page(
    "coref",
    title="Which heads of {model} find antecedents?",
    answer=answer,
    chart=charts.dots(
        "rivals", "kind", "value", key="kinds-chart", colour="who",
        title="Share of mentions for which the choice is an antecedent",
        style=Style(pick=("candidates",), domain=(0, 1), tell=("by", "direction", "published", "n")),
        label="Share right by kind of mention: best head, rules, untrained twin, chance",
    ),
    about=about,
    findings=(against_rules, by_kind, among_words, many_heads),
    schemas=(COREF, HEADS, CASES, RIVALS, WIDE, BETTER),
    derived={"rivals": rivals, "side_by_side": side_by_side, "better_way": better_way},
    sections=(
        Section(
            "kinds", "By kind of mention",
            "The best head is the one that was best for all mentions on other documents; beside it the one that was "
            "best there for each kind. The three rules always look among preceding mentions. Intervals are 95 % "
            "by document; those of twins the lowest and the highest of them.",
            (Listing("side_by_side", "candidates", "who", "all", "pronoun", "proper", "nominal",
                     title="Per cent right"),
             Listing("coref", "kind", "candidates", "who", "head", "direction", "value", "n", *TESTS, "published",
                     title="With heads, intervals and tests")), short="Kinds",
        ),
        Section(
            "layers", "Where in the model",
            "Dots far above those of the untrained twin and above the dashed line, which is chance, are heads that "
            "have learned something of coreference, or of likeness. Each head is shown in its better direction.",
            (charts.layer_dots("better_way", "value", key="layers-chart", title="Every head by layer", colour="who",
                               style=Style(pick=("kind", "candidates"), height=240),
                               label="Share right by layer, one dot for each head of the model and of its twin"),),
            short="Layers",
        ),
        Section(
            "map", "Head by head",
            "Choose mentions, candidates and direction. The brighter, the more often a head is right; framed heads "
            "beat the nearest mention even after the correction for having looked at all of them.",
            (charts.head_map("coref_heads", "value", key="coref-map", bar=SURE,
                             style=Style(pick=("kind", "candidates", "direction", "who")),
                             sure={"value": "nearest_p_corrected"},
                             label="Heat map of the share right, layer by head"),), short="Map",
        ),
        Section(
            "cases", "Where it is surest",
            "The mentions where the best head gave most to what it chose among all other mentions, few from any one "
            "document: the marked mention in its context, what the head chose, and the nearest antecedent.",
            (Custom(cases, ("cases",)),), short="Cases",
        ),
    ),
    words={
        "mention, antecedent": "words that refer to something; an earlier mention of the same thing. Both are stood "
        "for by their head words, as *farmer* in “the old farmer from Kent”.",
        "mention to antecedent": "the head's choice is the word to which the mention attends most (*to*); "
        "*antecedent to mention*: the word that attends most to the mention (*from*).",
        "nearest, head match, sieve": "rules that look back: the nearest mention; the nearest with the same head "
        "word, else the nearest; the nearest with the same words, else the same head word, else of fitting number, "
        "gender and person, else any.",
        "chance": "choosing blindly among the same candidates.",
        **words("untrained twin", "head 8-10"),
    },
    limits={
        "Heads were chosen on other documents": "than they are scored on. Intervals and p take the document as "
        "the unit. p comes from flipping signs and is corrected (max-T) for all heads and directions of its kind and "
        "set of candidates; with fewer than 16 documents there is none.",
        "Rules look back, heads look both ways.": "Among all other mentions a head may choose a later one, which is "
        "always wrong; “among preceding mentions” gives it the choice that rules have. In a causal model the two are "
        "the same.",
        "A head may go by likeness.": "Much of coreference is the same word again: compare with head match first. "
        "“Right where the simple rules fail” are cases that likeness and nearness do not explain.",
        "Only antecedents in the window count.": "Mentions with none inside are left out and counted below, so far "
        "coreference is rarer here than in the texts.",
        "Head words come from the corpus's trees where it has them, else from a rule": "for English, right for about "
        "nine noun phrases in ten; kinds of mentions, number, gender and person from tags or short English lists.",
        "Published figures are another model's on another corpus": "(BERT-base, CoNLL-2012), in windows of another "
        "length: they say whether the picture is alike.",
    },
    published="Clark et al. 2019 (BERT-base, CoNLL-2012), one head throughout (5-4); a neural system there has 83 % "
    "over all",
)  # fmt: skip
