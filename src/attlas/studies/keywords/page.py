"""The page of weighed texts: each text whole, every word shaded by its weight, with its key phrases beside it.

How much is shown is bounded, so that a page opens however much was weighed; what is left out is said, and lies in the
tables.
"""

from __future__ import annotations

from markupsafe import Markup

from attlas.pages import Claim, Custom, Finding, Listing, Page, Prose, Row, Section, Tables, count_of, listed, say
from attlas.pages.findings import finding, keyed, value_claim
from attlas.store.schema import Column, Schema
from attlas.studies.keywords.text import Shown, legend, top_of, weighed

MOST_DOCUMENTS = 50
MOST_WORDS = 20_000  # of one text
ALL_WORDS = 100_000  # of all texts together, above which only phrases are shown

DOCUMENT = Column("document", "text", "index", "its number, counted from 0 in the table")
PHRASES = Schema(
    "phrases",
    "The key phrases of each text, the heaviest first.",
    DOCUMENT,
    Column("rank", "rank", "count", "1 is the heaviest of its text"),
    Column("phrase", "phrase", meaning="as it is written where it first stands"),
    Column("score", "score", "number", "the sum of its words' weights over all its places: in average words"),
    Column("places", "places", "count", "how often it stands in the text, by its stems"),
    Column("starts", "starts", meaning="the first word of each place, counted from 0"),
    Column("stops", "stops", meaning="the word after each place"),
)
WORDS = Schema(
    "words",
    "Every word of each text.",
    DOCUMENT,
    Column("word", "word", "index", "its number in the text, counted from 0 in the table"),
    Column("spelled", "spelled"),
    Column("weight", "weight", "number", "what it receives over what an average word of its window does"),
    Column("start", "start", "count", "its first character, counted from 0"),
    Column("stop", "stop", "count", "the character after it"),
)
DOCUMENTS = Schema(
    "documents",
    "The texts themselves.",
    DOCUMENT,
    Column("name", "name"),
    Column("text", "text"),
    Column("words", "words", "count"),
    Column("windows", "windows", "count", "a text longer than the model takes is read in several"),
    Column("seconds", "seconds", "seconds"),
)


def answer(tables: Tables) -> Finding:
    """The first phrases, and what the first of them weighs."""
    documents, best, heads = tables["documents"], tables["phrases"].largest("score"), tables["readers"]
    words = int(documents.total("words"))
    read = Claim("total", "documents", "words", value=words)
    if not best:
        said = "No phrase was found: none of the {words:count} words has a letter and weighs enough."
        return finding(said, read, words=words)
    what = "the heaviest key phrases of {n:count} texts ({words:count} words)"
    return finding(
        f"{{by}} {what if len(documents) > 1 else 'the key phrases of {name}'} are **{{first}}**: the first weighs "
        "as much as **{score:number}** average words.",
        Claim("largest", "phrases", "score", keyed(best[:1], "document", "rank")),
        value_claim("phrases", "score", best[0], "document", "rank"), read,
        *([Claim("count", "readers", "layer", value=len(heads), than=-1)] if heads else []), see="texts",
        name="this text" if documents[0]["name"] == "text" else _name(documents[0]), n=len(documents), words=words,
        score=best[0]["score"], first=listed(best.values("phrase")[:3]),
        by=f"By {count_of(len(heads), 'head')} ({tables.options.get('why', 'chosen')})" if heads else "By attention",
    )  # fmt: skip


def readers(tables: Tables) -> list[Row]:
    """The heads whose attention was read, as far as the plan says it."""
    return [{"layer": layer, "head": head} for layer, head in tables.options.get("heads") or ()]


def texts(tables: Tables) -> Markup:
    """The texts, shaded."""
    shown = _within(tables)
    top = top_of([text.weights for text in shown])
    several = len(tables["documents"]) > 1
    return legend(top) + Markup("").join(
        weighed(text, top, several=several, first=at == 0) for at, text in enumerate(shown)
    )


def _within(tables: Tables) -> list[Shown]:
    """The texts that the page has room for; the words of those that come late are left away."""
    import pyarrow as pa
    import pyarrow.compute as pc

    chosen = [row for row in tables["documents"] if row["words"]][:MOST_DOCUMENTS]
    keys = pa.array([row["document"] for row in chosen], type=pa.int64())
    of: dict[str, dict[int, list[Row]]] = {"words": {}, "phrases": {}}
    for name, order in (("words", "word"), ("phrases", "rank")):
        if name in tables.arrow:
            table = tables.arrow[name]
            kept = table.filter(pc.is_in(table["document"].cast(pa.int64()), keys))
            if name == "words":
                kept = kept.filter(pc.less(kept["word"], MOST_WORDS))
            for row in kept.sort_by([("document", "ascending"), (order, "ascending")]).to_pylist():
                of[name].setdefault(row["document"], []).append(row)
    shown, room = [], ALL_WORDS
    for row in chosen:
        key = int(row["document"])
        words = of["words"].get(key, [])
        words = words if len(words) <= room else []
        room -= len(words)
        shown.append(Shown(key, _name(row), str(row["text"]), int(row["words"]), words, of["phrases"].get(key, [])))
    return shown


def _name(document: Row) -> str:
    return str(document.get("name") or f"text {document['document'] + 1}")


def _heads(tables: Tables) -> Prose:
    """Which heads were read and how, as far as the plan says it."""
    options, over = tables.options, {"max": "the largest of the words that attend"}
    if not options.get("heads"):
        return say("")
    return say(
        "Read were {heads} ({why}) by {measure}s, {over}.", heads=count_of(len(options["heads"]), "head"),
        why=options.get("why", "chosen"), measure=options.get("measure", "norm"),
        over=over.get(str(options.get("over")), "the mean over the words that attend"),
    )  # fmt: skip


def _left_out(tables: Tables) -> Prose | None:
    documents, shown = tables["documents"], _within(tables)
    parts = []
    if len(documents) > len(shown):
        parts.append(f"Of {len(documents):,} texts the first {len(shown)} are on this page.")
    bare = sum(not text.words for text in shown)
    if bare and bare < len(shown):
        parts.append(
            f"The words of {bare} of them are left away, since a page of more than {ALL_WORDS:,} words opens slowly."
        )
    return say("{parts} All are in the tables of the result folder.", parts=" ".join(parts)) if parts else None


def _about(tables: Tables) -> Prose:
    documents = tables["documents"]
    windows = int(documents.total("windows"))
    return say(
        "Which words matter in {texts} ({words:count} words{windows}), by the attention of **{model}**? {heads}",
        texts=count_of(len(documents), "text"), words=int(documents.total("words")), model=tables.model,
        windows=f" in {windows:,} windows" if windows > len(documents) else "", heads=_heads(tables),
    )  # fmt: skip


PAGE = Page(
    "keywords",
    title="Key phrases by the attention of {model}",
    answer=answer,
    about=_about,
    schemas=(PHRASES, WORDS, DOCUMENTS),
    derived={"readers": readers},
    sections=(
        Section(
            "texts", "Word by word",
            "The stronger the shade, the more a word weighs; point at it for its weight. Key phrases are underlined, "
            "the first ones with a thicker line. In the list the bar is a phrase's score and ×3 says that it stands "
            "in three places: click it to go to the first, again to go to the next.",
            (Custom(texts, ("documents", "words", "phrases")),),
            short="Text", note=_left_out,
        ),
        Section(
            "phrases", "All key phrases", "",
            (Listing("phrases", "document", "rank", "phrase", "score", "places"),),
            short="Phrases",
        ),
    ),
    words={
        "weight": "what a word receives from the other words of its text, over what an average word receives there, "
        "mean over the chosen heads: 1 is an average word, 0 one that nothing attends to.",
        "key phrase": "neighbouring words that each weigh enough, without a sign between them. Its score is the sum "
        "of its words' weights over all places where it stands, so 3.2 is as much as 3.2 average words.",
        "chosen heads": "the attention heads whose attention is read. Nothing was trained on these texts, and no "
        "list of words and no tagger was asked.",
    },
    limits={
        "A weight says what attention dwells on, not what a reader would underline.": "How well the two agree was "
        "measured where people had marked key phrases: `attlas keywords compare`.",
        "Weights are relative to the window.": "A long text is read in windows, and 1 is an average word of the same "
        "window; a word of a dull window may weigh as much as one of a rich window.",
        "Phrases are runs of heavy words.": "No part of speech is asked for, so a verb between two nouns may come "
        "along, and a phrase with a light word in it (“state of the art”) comes in parts.",
        "The shade is by the root of the weight": "(the same on the whole page), and full from the number in the "
        "legend on.",
    },
    static=("keywords.css", "keywords.js"),
)  # fmt: skip
