"""The page of roles: which heads are what, by whose definition, how surely, and whether the name holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attlas.pages import Listing, Page, Section, Style, charts
from attlas.pages.findings import Claim, Finding, finding, keyed, value_claim
from attlas.pages.prose import Prose, listed, say
from attlas.pages.rows import Row, Rows, Tables, label_of
from attlas.store.schema import PLACE, STREAM, Column, Schema, is_known
from attlas.studies.roles.behaviour import BEHAVIOURS
from attlas.studies.roles.definition import SHARE, Definition
from attlas.studies.roles.definitions import DEFINITIONS


def _kind(definition: Definition) -> str:
    """How the figures of a definition are written."""
    return "share" if definition.within == SHARE else "signed" if definition.within[0] < 0 else "number"


NAMES = {definition.key: definition.name for definition in DEFINITIONS.values()}
ROLES = {behaviour.key: behaviour.title for behaviour in BEHAVIOURS}
LEVEL = 0.05
RETRIEVES = 0.1  # the bar of Wu et al.
RETRIEVING = "Wu et al. 2025, in seven models from Llama-2-13B to Mixtral: 2.06 to 6.15 % of heads above 0.1"
AGREEING = (
    "retrieval scores and DuoAttention's gates, from their authors' own lists: Spearman 0.46 and 0.51; of the 32 "
    "copying heads of ReDeEP one is a retrieval head by the bar of Wu et al.; the 16 first heads of QRHead on two "
    "corpora share 3"
)
DEFINITION = Column("definition", "definition", meaning="what is measured, and whose definition it is", labels=NAMES,
                    authors={definition.key: definition.by for definition in DEFINITIONS.values()},
                    kinds={definition.key: _kind(definition) for definition in DEFINITIONS.values()})  # fmt: skip
ROLE = Column("role", "role", labels=ROLES)
FLIPS = "step-down max-T, by flipping the signs of texts; none below 16 of them, and none where there is no chance"
_SCORE = Column(
    "value", "score", "number", "by the definition's own formula", ends=("low", "high"), chance="chance",
    definition="as the definition is named", head=True, p="p_corrected", called="{definition}",
)  # fmt: skip
_P = Column("p_corrected", "p", "p", FLIPS, family="all heads of the definition", none="not tested")
HEADS = Schema(
    "heads",
    "Every head under every definition.",
    *PLACE, DEFINITION, _SCORE,
    Column("n", "cases", "number"),
    Column("units", "texts", "count"),
    Column("first_half", "where heads are chosen", "number", "on the half of the texts on which heads are chosen"),
    Column("second_half", "where they are scored", "number", "on the other half"),
    Column("twin", "untrained twins", "number", "the head at the same place of a model with random weights; ends: "
           "the lowest and the highest of several", ends=("twin_low", "twin_high")),
    _P,
    keys=("definition",),
)  # fmt: skip
NAMED = Schema(
    "named",
    "The heads of each definition that scored highest on one half of the texts (lowest, where small figures are "
    "meant), scored on the other.",
    STREAM, DEFINITION, Column("rank", "rank", "count", "by the half on which heads are chosen"), *PLACE[1:],
    Column("chosen_value", "where it was chosen", "number"), _SCORE, _P,
    Column("twin_layer", "layer of the twin's head", "index"), Column("twin_head", "the twin's head", "index"),
    Column("twin", "untrained twin's own", "number", "the twin's head of the same rank, chosen and scored likewise"),
)  # fmt: skip


def as_many_others(rows: Callable[[str], list[dict[str, Any]]]) -> dict[tuple[Any, ...], float]:
    """What closing as many other heads changes, by role and stream.

    >>> as_many_others(lambda table: [{"role": "sink", "stream": "decoder", "others": 0.25}])
    {('sink', 'decoder'): 0.25}
    """
    return {(row["role"], row["stream"]): row["others"] for row in rows("effects") if is_known(row["others"])}


EFFECTS = Schema(
    "effects",
    "What closing the heads of a role does, against what closing as many others does.",
    ROLE, Column("definition", "definition", meaning="by which the heads were chosen", labels=NAMES), STREAM,
    Column("heads", "heads", meaning="chosen on other texts"),
    Column("measured", "what is measured"),
    Column("rises", "should rise", "flag", "whether it should rise without them, or else change less than others"),
    Column("texts", "texts", "count"), Column("whole", "whole model", "number"),
    Column("without", "without them", "number"),
    Column("change", "change", "signed", "without the heads less the whole model; interval over texts",
           ends=("change_low", "change_high"), head=True, p="p_corrected", against=as_many_others,
           called="closed with the other heads of {role}: change of what is measured"),
    Column("others", "as many others", "signed", "the mean change of other sets of heads; ends: the middle 95 % of "
           "these sets", ends=("others_low", "others_high")),
    Column("sets", "other sets", "count", "disjoint from the heads, of layers within two of theirs"),
    Column("p", "raw p", "p", "the rank of the heads among these sets", none="too few sets"),
    Column("p_corrected", "p", "p", "by Holm", family="all roles that were tested", none="too few sets"),
    Column("holds", "holds", "flag", "p below .05, and a change the way that was promised", none="unknown"),
    keys=("role",), each="heads",
)  # fmt: skip
AGREEMENT = Schema(
    "agreement",
    "How far two definitions name the same heads. Where small figures are meant, a definition counts with its sign "
    "turned.",
    STREAM,
    Column("one", "definition", labels=NAMES), Column("other", "and", labels=NAMES),
    Column("spearman", "rank correlation", "signed", "Spearman's, over heads; interval over texts",
           ends=("low", "high")),
    Column("heads_low", "over heads: from", "signed", "the interval if heads were a sample of such heads"),
    Column("heads_high", "to", "signed"),
    Column("first", "first heads", "count", "a twentieth of all heads, three at least"),
    Column("shared", "of these in common", "count", none="tied"), Column("by_chance", "by chance", "number"),
    Column("n", "heads", "count"),
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
UNTESTED = Schema("untested", "Roles that were not put to the test, and why.", ROLE, Column("reason", "why"))
SPECTRUM = Schema(
    "spectrum", "Which frequencies of rotary positions queries and keys are made of.",
    *PLACE, Column("band", "band", "index", "an eighth of all frequencies, the fastest first"),
    Column("value", "share", "share", "of the sum over frequencies of mean ‖q‖ times mean ‖k‖", ends=("low", "high"),
           definition="Barbero et al. 2025", head=True, called="queries and keys in band {band} of 8 frequencies"),
    Column("n", "texts", "count"),
    keys=("band",),
)  # fmt: skip
MASSIVE = Schema(
    "massive", "States with a coordinate that is out of all measure.",
    Column("state", "state", "count", "0 is the embedding, others what a block of the model gives"),
    Column("place", "where", labels={"first": "first piece", "others": "other pieces"}),
    Column("value", "share of states", "share", "with a coordinate above 100 in size, and above 1000 times the "
           "median size", ends=("low", "high"), definition="Sun et al. 2024"),
    Column("coordinates", "mean of the largest coordinate", "number"), Column("n", "states", "count"),
)  # fmt: skip
LOUDEST = Schema(
    "loudest", "The pieces of which each head writes most, by its weights alone.",
    *PLACE, Column("pieces", "pieces", meaning="of some thousand of the middle of the vocabulary, the loudest first"),
    Column("value", "times a mean piece", "number", "the length of what the head writes of the first of them, over "
           "the mean of all", definition="Elhelo & Geva 2025 (MAPS)", head=True),
    Column("n", "of so many", "count"),
)  # fmt: skip
LEADERS = Schema("leaders", "The first head of each definition.", *NAMED.columns)
FIRST = Schema(
    "first", "Each definition's first heads, and the figures of the very first.",
    STREAM, DEFINITION, Column("heads", "first heads", meaning="chosen on one half of the texts, in this order"),
    Column("value", "score", "number", "of the first of them; that of the untrained twin is of its own first head",
           ends=("low", "high"), chance="chance", twin="twin"), _P,
    Column("beyond", "beyond chance", "count", "so many of these heads have an interval beyond chance, on the texts "
           "on which they are scored", none="no chance level"),
)  # fmt: skip
FOREMOST = Schema("foremost", "The first heads of each definition, by all texts.", *HEADS.columns)
SHOWN = 12  # heads of each definition in the list of all


def leaders(tables: Tables) -> Rows:
    """The first head of each definition whose figures are shares."""
    shares = [key for key, definition in DEFINITIONS.items() if definition.within[1] <= 1]
    return tables["named"].where(rank=1, definition=shares)


def first(tables: Tables) -> Rows:
    """A row for each definition and stream: who is named, and how many of them are beyond chance."""
    rows = []
    for (stream, definition), heads in _by_definition(tables["named"]):
        tested = heads.known("chance")
        rows.append({
            **heads[0], "stream": stream, "definition": definition, "heads": ", ".join(heads.named()),
            "beyond": tested.count(_is_beyond) if tested else None,
        })  # fmt: skip
    shown = {*FIRST.names, *FIRST.aside}
    return Rows({name: value for name, value in row.items() if name in shown} for row in rows)


def _is_beyond(row: Row) -> bool:
    """Whether a head's interval is beyond chance, on the side that the definition means; what is read off the weights
    alone has none, and is itself asked."""
    known = DEFINITIONS.get(row["definition"])
    near = row["high" if known is not None and known.below else "low"]
    if known is not None and known.exact:
        near = row["value"]
    if not is_known(near):
        return False
    return bool(near < row["chance"] if known is not None and known.below else near > row["chance"])


def foremost(tables: Tables) -> Rows:
    """The heads that each definition means most, by all texts."""
    rows: list[Row] = []
    for (_, definition), heads in _by_definition(tables["heads"]):
        small = definition in DEFINITIONS and DEFINITIONS[definition].below
        rows += (heads.smallest if small else heads.largest)("value")[:SHOWN]
    return Rows(rows)


def _by_definition(rows: Rows) -> Iterator[tuple[tuple[str, str], Rows]]:
    for stream, of_stream in rows.by("stream"):
        for definition, some in of_stream.by("definition"):
            yield (stream, definition), some


def answer(tables: Tables) -> Finding | None:
    """What the heads of the first role that was tested do, or else who is named first."""
    for row in tables["effects"].where(role="induction"):
        against: Prose | str = ""
        claims = [*_of_role(row, "whole", "without", "change")]
        if is_known(row["others"]):
            against = say(
                "; without as many others of nearby layers it changes by {others:signed} on average ({p})",
                others=row["others"], p=_p_of(row),
            )  # fmt: skip
            claims += _of_role(row, "others")
        return finding(
            "The first heads by {definition} are **{heads}**. Without them the {measured}, goes from {whole:number} "
            "to **{without:number}** (a change of {change:signed}{between}){against}.",
            *claims, **{**row, "definition": NAMES[row["definition"]]}, against=against,
            between=_between(row, "change_low", "change_high"), see="effects",
        )  # fmt: skip
    return next(_first_named(tables), None)


def _first_named(tables: Tables) -> Iterator[Finding]:
    for key in ("prefix_matching", "duplicate"):
        for stream, rows in tables["named"].where(definition=key).by("stream"):
            first, among = rows[0], {"definition": key, "stream": stream}
            twin: Prose | str = ""
            if is_known(first["twin"]):
                twin = say(", the untrained twin's own first head {twin:share}", twin=first["twin"])
            yield finding(
                "By {definition}, the first heads of **{model}** are {heads}: **{head}** puts {value:share} where "
                "the definition asks, an even spread {chance:share}{twin}.",
                Claim("smallest", "named", "rank", keyed(rows), among), *_told(first, "value", "chance", "twin"),
                definition=NAMES[key], model=tables.model, heads=rows.sentence(), head=label_of(first),
                value=first["value"], chance=first["chance"], twin=twin, see="named",
            )  # fmt: skip


def induction(tables: Tables) -> Iterator[Finding]:
    """Who is named first, where the answer is what closing did."""
    if tables["effects"].where(role="induction"):
        yield from _first_named(tables)


def names_that_hold(tables: Tables) -> Iterator[Finding]:
    """Which names hold, and which do not."""
    rows = tables["effects"].known("holds")
    for holds, some in rows.by("holds"):
        claim = Claim("count", "effects", "holds", value=len(some), than=0.5, below=not holds)
        if len(rows) == 1:
            yield finding(
                "One role's heads were closed, and its name {other}: {roles}.", claim,
                other=say("**holds**" if holds else "is **not shown** to hold"), roles=ROLES[rows[0]["role"]],
                see="effects",
            )  # fmt: skip
            continue
        yield finding(
            "Of {n} roles whose heads were closed, the names of {number} {other}: {roles}.", claim, n=len(rows),
            number=len(some), other=say("**hold**" if holds else "are **not shown** to hold"),
            roles=listed([ROLES[row["role"]] for row in some]), see="effects",
        )  # fmt: skip


def naming_nobody(tables: Tables) -> Iterator[Finding]:
    """Which definitions name heads that are no more of it than chance."""
    rows = tables["first"].where(beyond=0)
    if rows:
        yield finding(
            "**Nobody** is named by {definitions}: of their first heads, none has an interval beyond chance on the "
            "texts on which they are scored.",
            Claim("below", "first", "beyond", keyed(rows, "stream", "definition"), than=1),
            definitions=listed([NAMES[definition] for definition in rows.values("definition")]), see="named",
        )  # fmt: skip


def resting(tables: Tables) -> Iterator[Finding]:
    """How many heads rest on the first key, in more than half of the texts."""
    for stream, rows in tables["heads"].where(definition="sink").by("stream"):
        number = rows.count(lambda row: row["value"] > 0.5)
        yield finding(
            "{number} of {n} heads rest on the first piece (sink rate by Gu et al. above one half); over all texts, "
            "layers and heads the rate is {rate:share}.",
            Claim("count", "heads", "value", among={"definition": "sink", "stream": stream}, than=0.5, value=number),
            Claim("mean", "heads", "value", among={"definition": "sink", "stream": stream}, value=rows.mean("value")),
            number=number, n=len(rows), rate=rows.mean("value"), see="map",
        )  # fmt: skip


def retrieving(tables: Tables) -> Iterator[Finding]:
    """How many heads retrieve, by the bar of those who defined it."""
    for definition in ("retrieval", "retrieval_forced"):
        for stream, rows in tables["heads"].where(definition=definition).by("stream"):
            number, among = rows.count(lambda row: row["value"] > RETRIEVES), {"definition": definition}
            yield finding(
                "{number} of {n} heads are above 0.1 by {definition}.",
                Claim("count", "heads", "value", among={**among, "stream": stream}, than=RETRIEVES, value=number),
                number=number, n=len(rows), definition=NAMES[definition], see="map", published=RETRIEVING,
            )  # fmt: skip
            return


def agreeing(tables: Tables) -> Iterator[Finding]:
    """The two definitions that agree most, and the two that agree least."""
    for stream, rows in tables["agreement"].by("stream"):
        for kind, some in (("largest", rows.largest("spearman")), ("smallest", rows.smallest("spearman"))):
            row = some[0]
            known = [column for column in ("spearman", "shared", "first") if is_known(row[column])]
            common: Prose | str = ""
            if "shared" in known:
                common = say("; {shared} of their first {first} heads are the same", shared=row["shared"],
                             first=row["first"])  # fmt: skip
            yield finding(
                "{which} rank correlation over heads is that of {one} and {other}: {spearman:signed}{between}"
                "{common}.",
                Claim(kind, "agreement", "spearman", keyed([row], "one", "other"), {"stream": stream}),
                *(value_claim("agreement", column, row, "stream", "one", "other") for column in known),
                which=f"The {kind}", one=NAMES[row["one"]], other=NAMES[row["other"]], spearman=row["spearman"],
                between=_between(row, "low", "high"), common=common, see="agreement",
            )  # fmt: skip


def _p_of(row: Row) -> Prose | str:
    return say("p {p:p}, corrected over roles", p=row["p_corrected"]) if is_known(row["p_corrected"]) else (
        "too few such sets for a p"
    )  # fmt: skip


def _between(row: Row, low: str, high: str) -> Prose | str:
    if not is_known(row[low]) or not is_known(row[high]):
        return ""
    return say(", interval {low:signed} to {high:signed}", low=row[low], high=row[high])


def _told(row: Row, *columns: str) -> Iterator[Claim]:
    """That a named head has the figures that a sentence tells of it."""
    known = (column for column in columns if is_known(row[column]))
    return (value_claim("named", column, row, "stream", "definition", "rank") for column in known)


def _of_role(row: Row, *columns: str) -> Iterable[Claim]:
    """That closing a role's heads did what a sentence tells of it."""
    return [value_claim("effects", column, row, "role") for column in columns]


def about(tables: Tables) -> Prose:
    """What was done."""
    return say(
        "Every head of **{model}** under {n} definitions of what a head may do, each under the name of its authors. "
        "Heads are named on one half of the texts and scored on the other; beside each score stand what an even "
        "spread of attention would give, and the same score of a model with random weights.",
        n=len(tables["definitions"]), model=tables.model,
    )  # fmt: skip


def warned(tables: Tables) -> Prose | None:
    """Where a decoder reads texts without a beginning piece, that is said."""
    bare = [row for row in tables["texts"] if not row["begun"]]
    if bare and len(bare) == len(tables["texts"]):
        return say("{model} has no beginning piece: all texts begin with their own first piece.", model=tables.model)
    return None


PAGE = Page(
    "roles",
    title="What do the heads of {model} do?",
    answer=answer,
    chart=charts.dots(
        "leaders", "definition", "value", key="roles-chart", title="The first head of each definition",
        style=Style(domain=(0, 1), axis="score of the head that is named first", tell=("layer", "head")),
        label="Score of the first head of each definition, with chance and the untrained twin",
    ),
    about=about,
    findings=(induction, names_that_hold, naming_nobody, resting, retrieving, agreeing),
    published=f"{RETRIEVING}; {AGREEING}. GPT-2 small, heads from 0: induction 5.5, 6.9, 5.8, 5.9, duplicate piece "
    "0.1, 0.10, 3.0, previous piece 2.2, 4.11 (Wang et al. 2022).",
    schemas=(HEADS, NAMED, EFFECTS, AGREEMENT, KNOWN, TEXTS, LEFT_OUT, UNTESTED, SHARING, SPECTRUM, MASSIVE, LOUDEST,
             LEADERS, FIRST, FOREMOST),
    derived={"leaders": leaders, "first": first, "foremost": foremost},
    warning=warned,
    static=("roles.css",),
    unshown={"sharing": "which heads share their keys, for files that other programs read"},
    sections=(
        Section(
            "effects", "Does the name hold?",
            "The heads that a definition names first are closed, and what the name promises is measured on texts on "
            "which no head was chosen. Beside it stand as many other heads, disjoint from these and of layers within "
            "two of theirs. Dormant heads and sinks promise that nothing is lost: there, p is small where the change "
            "is smaller than that of other heads.",
            (charts.dots("effects", "role", "change", "others", key="effects-chart", title="What closing heads does",
                         style=Style(zero=True, axis="change without the heads"),
                         label="Change without the heads of each role, beside that without as many others"),
             Listing("effects", "role", "heads", "whole", "without", "change", "others", "sets", "p_corrected",
                     "holds"),
             Listing("effects", "role", "definition", "measured", "texts", title="What was measured"),
             Listing("untested", "role", "reason")),
            short="Effects",
        ),
        Section(
            "named", "Who is named",
            "The five first heads of every definition on one half of the texts, scored on the other half (of heads "
            "with equal figures, those of lower layers). In the first table, figures are those of the first head. p "
            "is corrected for all heads of a definition; a head is not tested where fewer than 16 texts score it, or "
            "where there is no chance level.",
            (Listing("first", "definition", "heads", "value", "beyond", "p_corrected"),
             Listing("named", "definition", "rank", "head", "value", "twin", "p_corrected", "chosen_value",
                     title="Head by head")),
            short="Heads",
        ),
        Section(
            "agreement", "Do definitions agree?",
            "Rank correlations over all heads. Red: both name the same heads; blue: they name opposite ones. Where "
            "small figures are meant (dormant heads, values of sinks) a definition counts with its sign turned. Where"
            " more heads than these have an equal claim to be first, it is not told what is in common (tied).",
            (charts.grid("agreement", "one", "other", "spearman", key="agreement-chart", diverging=True,
                         title="Rank correlation of two definitions"),
             Listing("agreement", "one", "other", "spearman", "heads_low", "heads_high", "shared", "first",
                     "by_chance", order="-spearman")),
            short="Agreement",
        ),
        Section(
            "map", "Head by head",
            "Choose a definition. The brighter, the higher the score; framed heads are beyond chance after the "
            "correction for having looked at all of them. The table has the first twelve heads of every definition, "
            "by all texts.",
            (charts.head_map("heads", "value", "twin", key="roles-map", style=Style(pick=("definition",)),
                             sure={"value": "p_corrected"}, label="Heat map of scores, layer by head"),
             Listing("foremost", "definition", "head", "value", "twin", "p_corrected", "first_half", "second_half")),
            short="Map",
        ),
        Section(
            "states", "Frequencies, and states out of measure",
            "The first chart: the share of each eighth of rotary frequencies, the fastest first, mean over the heads "
            "of a layer (Barbero et al. 2025); fast ones go with places, slow ones with content. The table: how many "
            "states are massive (Sun et al. 2024), at the first piece and elsewhere.",
            (charts.grid("spectrum", "band", "layer", "value", key="spectrum-chart", title="Rotary frequencies",
                         label="Share of rotary frequencies by layer"),
             Listing("massive", "state", "place", "value", "coordinates", "n")),
            short="States",
        ),
        Section(
            "loudest", "What moves a head",
            "Read off the weights alone: the pieces of which a head writes most when it attends to them (the largest "
            "‖E W_VO‖, Elhelo & Geva 2025). Heads of the first layer read embeddings, others what the first block "
            "makes of these.",
            (Listing("loudest", "head", "pieces", "value", "n", order="-value", most=100),),
            short="Pieces",
        ),
        Section(
            "definitions", "Definitions and texts",
            "Whose definition each score is, and how it is computed here; on which texts; and what was left out.",
            (Listing("definitions", "definition", "reading", "texts"),
             Listing("texts", "key", "title", "texts", "unit", "pieces", "longest", "begun"),
             Listing("left_out", "definition", "reason")),
            short="Definitions",
        ),
    ),
    words={
        "score": "what a definition gives for a head, by its own formula: most are mean weights between 0 and 1.",
        "chance": "the same score of a head that attends evenly to all it may see.",
        "untrained twin": "the same architecture with random weights.",
        "close a head": "multiply its output by 0.",
        "beginning piece": "a special piece that stands before a text (BOS).",
    },
    limits={
        "A name is a definition's.": "Two definitions of one role may name different heads; the table of agreement "
        "says how far.",
        "Closing is blunt.": "A closed head gives nothing, which the layers above have never seen; a rise of the "
        "loss says that they need what the head gives, not what they use it for.",
        "Random pieces are no language.": "Scores on texts of random pieces say what a head can do, not how often "
        "it does so in texts that people write.",
    },
)  # fmt: skip
