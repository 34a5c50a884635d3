"""The page of relations: which heads find which governors, how surely, and against what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from attlas.pages import Custom, Listing, Page, Section, Style, charts
from attlas.pages.findings import Claim, Finding, finding, keyed, value_claim
from attlas.pages.prose import Prose, count_of, say
from attlas.pages.rows import Row, Rows, Tables, label_of
from attlas.store.schema import PLACE, Column, Schema, is_known
from attlas.studies.relations.examples import examples
from attlas.studies.shared.wording import measure_of, where_known, words

FEWEST = 20  # cases of a relation, below which it is not charted
SURE = 0.01
WAYS = {"to": "dependent to governor", "from": "governor to dependent"}
CLARK = "Clark et al. 2019, bert-base-uncased"

RELATION = Column("relation", "relation", meaning="as the treebank has it; all of them together: all")
WAY = Column("direction", "attention from", labels=WAYS, meaning="who attends to whom")
FLIPS = "step-down max-T, by flipping the signs of units; none below 16 of them"
MARGIN = "accuracy less that of the offset on the same words"


def best_offsets(rows: Callable[[str], list[dict[str, Any]]]) -> dict[tuple[Any, ...], float]:
    """How often the fixed offset that is right most often finds a relation, for both directions of it.

    >>> offsets = [{"relation": "obj", "offset": at, "value": value} for at, value in ((-1, 0.36), (1, 0.02))]
    >>> best_offsets(lambda table: offsets)["obj", "to"]
    0.36
    """
    best: dict[tuple[Any, ...], float] = {}
    for row in rows("offsets"):
        for way in WAYS if is_known(row["value"]) else ():
            best[row["relation"], way] = max(row["value"], best.get((row["relation"], way), 0.0))
    return best


ACCURACY = (
    Column("value", "accuracy, %", "percent", "share of words whose governor the head finds", ends=("low", "high"),
           twin="twin", definition="Clark et al. 2019", head=True, p="everywhere_p_corrected", against=best_offsets,
           called="finds {relation}, {direction}"),
    Column("n", "cases", "count"),
)  # fmt: skip
RELATIONS = Schema(
    "relations",
    "One row for each relation and direction: the head that was chosen on other texts, scored on these.",
    RELATION, WAY,
    Column("best", "best", "flag", "the better of the two directions, where heads were chosen"),
    *PLACE,
    Column("measure", "measure"),
    *ACCURACY,
    Column("chosen_value", "accuracy where it was chosen, %", "percent"),
    Column("units", "units", "count", "documents, or texts where documents are not known, that have a case",
           optional=True),
    Column("offset", "offset", "count", "how many words further on the governor is by the rule; before: minus"),
    Column("baseline", "best offset, %", "percent", "by the fixed offset that is right most often on these texts",
           ends=("baseline_low", "baseline_high")),
    Column("margin", "better by, points", "percent", MARGIN, ends=("margin_low", "margin_high")),
    Column("p", "raw p", "p", "of being better than the offset, one-sided, by flipping signs", none="too few"),
    Column("p_corrected", "p", "p", FLIPS, family="all chosen heads", none="too few", was="p_adjusted"),
    Column("twin_layer", "layer of the best twin's head", "index"),
    Column("twin_head", "head of the best twin", "index"),
    Column("twin", "untrained twins, %", "percent", "mean of their own best heads, chosen in the same way; ends: the "
           "lowest and the highest", ends=("twin_low", "twin_high")),
    Column("twins", "twins", "count", "how many untrained twins were drawn", optional=True),
    Column("published_relation", "published relation", meaning="the one that joins the same words"),
    Column("published_head", "published head"),
    Column("published", "published, %", "percent", definition=CLARK),
    Column("published_baseline", "published offset, %", "percent", definition=CLARK),
    Column("published_note", "note"),
)  # fmt: skip
_OF_A_HEAD = (
    *PLACE, WAY, RELATION,
    *ACCURACY,
    Column("margin", "better than the best offset by, points", "percent", MARGIN, optional=True),
    Column("p_corrected", "p", "p", FLIPS, family="all heads and both directions of the relation",
           optional=True, none="too few", was="p_adjusted"),
    Column("everywhere_p_corrected", "p, over all relations", "p", FLIPS,
           family="all heads, both directions and all relations", optional=True, none="too few"),
    Column("twin", "untrained twins, %", "percent", "mean of the heads of the same place", optional=True,
           ends=("twin_low", "twin_high")),
)  # fmt: skip
HEADS = Schema("relation_heads", "Every head, for every relation and direction.", *_OF_A_HEAD,
               keys=("relation", "direction"))  # fmt: skip
OFFSETS = Schema(
    "offsets", "How often each fixed offset is right, for every relation.",
    RELATION, Column("offset", "offset", "count", "words further on; before: minus"),
    Column("value", "accuracy, %", "percent", ends=("low", "high")), Column("n", "cases", "count"),
)  # fmt: skip
EXAMPLES = Schema(
    "examples", "Sentences in which the chosen heads were surest, right and wrong, with their weights.",
    RELATION, WAY, *PLACE, Column("verdict", "verdict", meaning="right or wrong"),
    Column("value", "attention paid", "share"), Column("name", "sentence"), Column("text", "text"),
    Column("words", "words"), Column("dependent", "place of the dependent", "index"),
    Column("governor", "place of its governor", "index"), Column("predicted", "place of the word chosen", "index"),
    Column("pieces", "pieces"), Column("piece_words", "word of each piece"),
    Column("piece_documents", "document of each piece"),
    Column("weights", "weights", meaning="(query, key), float32, little-endian"),
    Column("lengths", "lengths ‖f(x)‖ of the keys", meaning="float32, little-endian; none where there are none"),
)  # fmt: skip
_TITLES = {"value": "chosen head", "baseline": "best fixed offset", "twin": "untrained twins",
           "published": "published head"}  # fmt: skip
LINES = Schema(
    "lines", "The better direction of each relation that is charted.",
    *(replace(column, title=_TITLES.get(column.name, column.title)) for column in RELATIONS.columns),
)  # fmt: skip
MAP = Schema("map", "Every head, for the relations that are charted.", *_OF_A_HEAD)


def best(tables: Tables) -> Rows:
    """The better direction of each relation."""
    return tables["relations"].where(best=True)


def charted(tables: Tables) -> Rows:
    """Those with enough cases to be charted; all of them where none has."""
    return best(tables).where(lambda row: row["n"] >= FEWEST) or best(tables)


def sure(row: Row, column: str = "p_corrected") -> bool:
    """Whether a head is better than the best offset, corrected for having looked at many."""
    p = row.get(column)
    return p is not None and p < SURE


def able(tables: Tables) -> list[Row]:
    """For every head, for how many relations and directions it beats the offset, corrected for all of them."""
    counts: Counter[tuple[str, int, int]] = Counter()
    for row in tables["relation_heads"]:
        counts[row["stream"], row["layer"], row["head"]] += sure(row, "everywhere_p_corrected")
    return [{"stream": s, "layer": layer, "head": head, "beats": n} for (s, layer, head), n in counts.items()]


def answer(tables: Tables) -> Finding | None:
    """How many of all governors the best head finds."""
    for row in best(tables).where(relation="all"):
        return finding(
            "The single head that was best on other texts, **{head}** ({way}), finds **{value:percent} %** of all "
            "governors{between}; the best fixed offset ({further}) finds {baseline:percent} %{beside}.",
            *(_value(row, column) for column in ("value", "baseline", "twin") if is_known(row[column])),
            *_best_offset(tables, row), beside=where_known(
                ", the heads that were best on other texts of untrained twins (random weights) {twin:percent} %",
                twin=row["twin"]),
            between=say(" ({low:percent} to {high:percent} %)", **row) if is_known(row["low"]) else "",
            further=f"{count_of(abs(row['offset']), 'word')} {'on' if row['offset'] > 0 else 'back'}",
            way=WAYS[row["direction"]], **_told(row),
        )  # fmt: skip
    return None


def better(tables: Tables) -> Iterator[Finding]:
    """For how many relations a head beats its offset."""
    known = _known(tables)
    number = known.count(sure)
    if known:
        yield finding(
            f"For **{{better}} of {{n}} relations** with at least {FEWEST} cases, the chosen head is better than the "
            "best fixed offset (p < 0.01, corrected for all of them).",
            _count(known, number), *_better(known.where(sure)),
            *(claim for row in known for claim in _best_offset(tables, row)), better=number, n=len(known),
            see="relations",
        )  # fmt: skip


def furthest(tables: Tables) -> Iterator[Finding]:
    """The relations in which a head is furthest above the offset."""
    rows = _known(tables).where(sure).known("margin_low")
    top = rows.largest("margin_low")[:3]
    for place, row in enumerate(top):
        ahead = keyed(top[: place + 1], "relation", "direction")
        yield finding(
            "{first} **{head}** for *{relation}*: {value:percent} % against {baseline:percent} %{beside}.",
            Claim("largest", "relations", "margin_low", ahead, _among(rows)), _value(row, "value"), *_better([row]),
            first="Then" if place else "Surely furthest above its offset is", **_told(row),
            beside=where_known(" (untrained: {twin:percent} %)", twin=row["twin"]),
        )  # fmt: skip


def popular(tables: Tables) -> Iterator[Finding]:
    """A head that is the best for many relations."""
    rows = _known(tables).where(sure)
    for head, times in Counter(label_of(row) for row in rows).most_common(1):
        if times > 2:
            place = keyed(row for row in rows if label_of(row) == head)[0]
            text = "One head, **{head}**, was the best on other texts for {times} of these relations."
            yield finding(text, _count(rows, times, **place), head=head, times=times, see="relations")


def many_heads(tables: Tables) -> Iterator[Finding]:
    """How many heads beat the offset for anything."""
    heads = tables["able"]
    if tables.has("relation_heads", "everywhere_p_corrected"):
        number = heads.count(lambda row: row["beats"] > 0)
        yield finding(
            "{number} of {n} heads beat the offset for at least one relation or direction, corrected for all heads "
            "and relations.",
            Claim("count", "able", "beats", than=0, value=number), number=number, n=len(heads), see="map",
        )  # fmt: skip


def about(tables: Tables) -> Prose:
    """What was done."""
    said = say(
        "Does an attention head of **{model}** know which word governs which? Every head was taken as a parser of "
        "**{corpus}**: a word's governor is the word with the largest {measure} between them.",
        measure=measure_of(tables), **tables.names,
    )  # fmt: skip
    if "chosen_on" not in tables.manifest.corpus:
        return said
    text = "Heads were chosen on {chosen_on} sentences and scored on {scored_on} others."
    return said + say(text, **tables.manifest.corpus)


def notes(tables: Tables) -> Prose | None:
    """What is to be said of published figures."""
    noted = best(tables).where(lambda row: bool(row.get("published_note")))
    notes = "; ".join(f"{row['published_relation']}: {row['published_note']}" for row in noted)
    return say("Of the published figures: {notes}.", notes=notes) if notes else None


def _known(tables: Tables) -> Rows:
    return best(tables).where(lambda row: row["n"] >= FEWEST and row["relation"] != "all")


def _among(rows: Rows, **place: Any) -> dict[str, Any]:
    return {"best": True, "relation": rows.values("relation"), **place}


def _count(rows: Rows, number: int, **place: Any) -> Claim:
    """That so many of these relations have a head that is surely better than the offset."""
    among = _among(rows, **place)
    return Claim("count", "relations", "p_corrected", among=among, than=SURE, value=number, below=True)


def _better(rows: Iterable[Row]) -> tuple[Claim, ...]:
    """That the heads of these rows find more than their offsets do."""
    keys = keyed(rows, "relation", "direction")
    return (Claim("above", "relations", "value", keys, than="baseline"),) if keys else ()


def _best_offset(tables: Tables, row: Row) -> Iterator[Claim]:
    """That no other offset is right more often, where those are known."""
    among = {"relation": row["relation"]}
    for offset in tables["offsets"].where(**among, offset=row["offset"]):
        yield Claim("largest", "offsets", "value", keyed([offset], "offset"), among)


def _value(row: Row, column: str) -> Claim:
    return value_claim("relations", column, row, "relation", "direction")


def _told(row: Row) -> dict[str, Any]:
    """What a sentence says of a row: its figures, its head by label, what was published, and where to see it."""
    published = say(
        "{published_relation}, head {published_head} of BERT-base, {published:percent} % against "
        "{published_baseline:percent} %", **row,
    ) if row.get("published") is not None else ""  # fmt: skip
    return {**row, "head": label_of(row), "published": str(published), "see": "relations"}


PAGE = Page(
    "relations",
    title="Which governors do the heads of {model} find?",
    answer=answer,
    chart=charts.dots(
        "lines", "relation", "value", "baseline", "twin", "published", key="relations-chart",
        title="Accuracy by relation", style=Style(domain=(0, 1), axis="accuracy", tell=("offset", "n")),
        label="Accuracy of the chosen head, the best offset, the untrained twin and the published head, by relation",
    ),
    about=about,
    findings=(better, furthest, popular, many_heads),
    schemas=(RELATIONS, HEADS, OFFSETS, EXAMPLES, LINES, MAP),
    derived={"lines": charted, "able": able,
             "map": lambda tables: tables["relation_heads"].where(relation=charted(tables).values("relation"))},
    sections=(
        Section(
            "relations", "Relation by relation",
            "Each row is a relation: the head that was best on the texts for choosing, and how often it is right on "
            "the others, with a 95 % interval by document; beside it the untrained twins, the best fixed offset, and "
            "what the head is better by. Published figures are those of Clark et al. (2019).",
            (Listing("relations", "relation", "n", "head", "value", "baseline", "offset", "p_corrected", "margin",
                     "direction", "published_relation", "published_head", "published", "published_baseline",
                     where={"best": True}),), short="Relations", note=notes,
        ),
        Section(
            "map", "Head by head",
            "Choose a relation and a direction. The brighter, the more often a head is right; framed heads beat the "
            "best fixed offset even after the correction for having looked at all of them.",
            (charts.head_map("map", "value", "margin", key="relation-map",
                             style=Style(pick=("relation", "direction")), bar=SURE,
                             sure={"value": "p_corrected", "margin": "p_corrected"},
                             label="Heat map of accuracy for one relation, layer by head"),), short="Map",
        ),
        Section(
            "examples", "Where they are surest",
            "For each relation, sentences in which its best head paid most to one word, where that was the governor "
            "(✓) and where it was not (✗). Marked are the dependent, its **governor** and, struck through, another "
            "word that was chosen. Every one opens in the head view.",
            (Custom(examples, ("examples",)),), short="Examples",
        ),
    ),
    words={
        "governor, dependent": "a word and one that depends on it (head and dependent in a dependency tree).",
        "dependent to governor": "the governor is predicted as the word to which the dependent attends most (*to*); "
        "*governor to dependent*: as the word that attends most to the dependent (*from*).",
        "best offset": "the best rule of the form “the governor stands k words further on”, k from −10 to 10; −1 is "
        "the word before.",
        **words("untrained twin", "head 8-10"),
    },
    limits={
        "Heads were chosen on other texts": "than they are scored on, so that having looked at all heads flatters no "
        "figure; the offset is the best on these very texts, which favours it. p comes from flipping the signs of "
        "documents (texts, where documents are not known) and is corrected (max-T) in the map for all heads and "
        "directions of a relation, in the table for all chosen heads; with fewer than 16 documents there is none.",
        "A head that finds governors need not know syntax.": "Words that belong together often stand side by side or "
        "resemble each other; the offset is a first control for that, the untrained twin a second.",
        "Published figures are another model's on another treebank": "(bert-base-uncased, Wall Street Journal, "
        "Stanford dependencies), beside the relation that joins the same words: they tell whether pictures agree.",
        "Only single heads are asked.": "What several heads know together is another question (`attlas parse`).",
    },
    unshown={"offsets": "the best offset of each relation stands in the table of relations",
             "relation_heads": "the map shows them for the relations that are charted"},
    published="Clark et al. 2019 (bert-base-uncased, Wall Street Journal, Stanford dependencies)",
)  # fmt: skip
