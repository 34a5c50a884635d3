"""The page of roles: which heads are what, by whose definition, and how surely."""

from __future__ import annotations

from collections.abc import Iterator

from attlas.pages import Listing, Page, Section, Style, charts
from attlas.pages.findings import Claim, Finding, finding, keyed, value_claim
from attlas.pages.rows import Row, Rows, Tables, label_of
from attlas.store.schema import PLACE, STREAM, Column, Schema
from attlas.studies.roles.definitions import DEFINITIONS

NAMES = {definition.key: definition.name for definition in DEFINITIONS.values()}
DEFINITION = Column("definition", "definition", meaning="what is measured, and whose definition it is", labels=NAMES)
FLIPS = "step-down max-T, by flipping the signs of texts; none below 16 of them"
_SCORE = (
    Column("value", "score", "number", "by the definition's own formula", ends=("low", "high"), chance="chance",
           definition="as the definition is named", head=True),
)  # fmt: skip
_P = Column("p_corrected", "p", "p", FLIPS, family="all heads of the definition", none="none", head=True)
HEADS = Schema(
    "heads",
    "Every head under every definition.",
    *PLACE, DEFINITION, *_SCORE,
    Column("n", "cases", "number"),
    Column("units", "texts", "count"),
    Column("first_half", "where heads are chosen", "number", "on the half of the texts on which heads are chosen"),
    Column("second_half", "where they are scored", "number", "on the other half"),
    Column("twin", "untrained twins", "number", "the head at the same place of a model with random weights; ends: "
           "the lowest and the highest of several", ends=("twin_low", "twin_high")),
    _P,
)  # fmt: skip
NAMED = Schema(
    "named",
    "The heads of each definition that scored highest on one half of the texts, scored on the other.",
    STREAM, DEFINITION, Column("rank", "rank", "count", "by the half on which heads are chosen"), *PLACE[1:],
    Column("chosen_value", "where it was chosen", "number"), *_SCORE, _P,
    Column("twin_layer", "layer of the twin's head", "index"), Column("twin_head", "the twin's head", "index"),
    Column("twin", "untrained twin's own", "number", "the twin's head of the same rank, chosen and scored likewise"),
)  # fmt: skip
KNOWN = Schema(
    "definitions", "What was scored, whose definition it is, and how to read it.",
    DEFINITION, Column("title", "role"), Column("by", "by"), Column("reading", "how to read it"),
    Column("texts", "texts"),
)  # fmt: skip
SHARING = Schema(
    "sharing", "Which heads share their keys.", *PLACE, Column("key_head", "head of keys", "index"),
)  # fmt: skip
TEXTS = Schema(
    "texts", "The texts on which heads were scored.",
    Column("key", "texts"), Column("title", "what they are"), Column("texts", "how many", "count"),
    Column("unit", "unit"), Column("pieces", "pieces", "count"), Column("longest", "longest", "count", "in pieces"),
    Column("begun", "beginning piece", "flag", "whether a beginning piece stands before them"),
)  # fmt: skip
LEFT_OUT = Schema("left_out", "What was not scored, and why.", DEFINITION, Column("reason", "why"))
LEADERS = Schema("leaders", "The first head of each definition.", *NAMED.columns)


def leaders(tables: Tables) -> Rows:
    """The first head of each definition."""
    return tables["named"].where(rank=1)


def answer(tables: Tables) -> Finding | None:
    """Which heads are induction heads, or duplicate heads where there is no induction."""
    for key in ("prefix_matching", "duplicate"):
        for stream, rows in tables["named"].where(definition=key).by("stream"):
            first, ranked = (
                rows[0],
                Claim("smallest", "named", "rank", keyed(rows), {"definition": key, "stream": stream}),
            )
            return finding(
                "By {definition}, the first heads of **{model}** are {heads}: **{head}** puts {value:share} where the "
                "definition asks, an even spread {chance:share}, the untrained twin's own first head {twin:share}.",
                ranked, *_told(first, "value", "chance", "twin"), definition=NAMES[key], model=tables.model,
                heads=rows.sentence(), head=label_of(first), value=first["value"], chance=first["chance"],
                twin=first["twin"], see="named",
            )  # fmt: skip
    return None


def _told(row: Row, *columns: str) -> Iterator[Claim]:
    """That a named head has the figures that a sentence tells of it."""
    return (value_claim("named", column, row, "stream", "definition", "rank") for column in columns)


PAGE = Page(
    "roles",
    title="What do the heads of {model} do?",
    answer=answer,
    chart=charts.dots(
        "leaders", "definition", "value", key="roles-chart", title="The first head of each definition",
        style=Style(domain=(0, 1), axis="score", tell=("layer", "head")),
        label="Score of the first head of each definition, with chance and the untrained twin",
    ),
    about="Roles of the heads of **{model}**.",
    schemas=(HEADS, NAMED, KNOWN, TEXTS, LEFT_OUT, SHARING, LEADERS),
    derived={"leaders": leaders},
    sections=(
        Section("map", "Head by head", "Choose a definition.",
                (charts.head_map("heads", "value", "twin", key="roles-map", style=Style(pick=("definition",)),
                                 sure={"value": "p_corrected"}, label="Heat map of scores, layer by head"),),
                short="Map"),
        Section("named", "Who is named", "Heads are chosen on one half of the texts and scored on the other.",
                (Listing("named", "definition", "rank", "head", "value", "p_corrected", "chosen_value"),),
                short="Heads"),
        Section("definitions", "Definitions", "", (Listing("definitions", "definition", "reading", "texts"),
                                                  Listing("texts"), Listing("left_out"))),
    ),
)  # fmt: skip
