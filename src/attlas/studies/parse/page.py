"""The page of the parsing probes: how much of a dependency tree can be read off a model's attention."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from attlas.pages import Claim, Finding, Listing, Page, Row, Section, Style, Tables, charts, keyed, value_claim
from attlas.pages.prose import Prose, listed, say
from attlas.pages.rows import label_of
from attlas.store.schema import PLACE, Column, Schema, is_known
from attlas.studies.shared.wording import untrained

WHO = Column("who", "of", labels={"model": "the model", "twin": "untrained twin", "none": "position alone"},
             meaning="the model, its untrained twins, or none of them", was="model",
             were={"trained": "model", "untrained": "twin"})  # fmt: skip
PROBE = Column("probe", "probe")
RIGHT = Column("value", "right", "percent", "share of words whose governor is found", ends=("low", "high"))
SHORT = {
    "right-branching": "next word", "best fixed offset": "best offset", "distances + vectors": "distances",
    "attention + vectors": "+ vectors", "untrained: attention": "twin",
    "untrained: attention + vectors": "twin + vectors",
}  # fmt: skip
_BY_RELATION = (
    Column("probe", "probe", labels=SHORT),
    Column("relation", "relation"),
    RIGHT,
    Column("n", "words", "count"),
)

SCORES = Schema(
    "parse",
    "One row for each probe.",
    PROBE,
    Column("reads", "what it reads"),
    WHO,
    Column("metric", "score", meaning="UAS: of words, their governor; UUAS: of edges, without direction"),
    Column("value", "right on test", "percent", "share of words (UAS) or edges (UUAS)", ends=("low", "high"),
           definition="Clark et al. 2019; UUAS: Hewitt & Manning 2019"),
    Column("n", "words", "count"),
    Column("twins", "twins", "count", "how many untrained twins were drawn; the row is their mean", optional=True),
    Column("twins_low", "lowest of the twins", "percent", "where there are several", optional=True),
    Column("twins_high", "highest of the twins", "percent", "where there are several", optional=True),
    Column("validation", "validation", "percent", "the same on the validation part", was="dev"),
    Column("published", "published", "percent", "bert-base-uncased on the Wall Street Journal"),
    Column("one_root", "one root", "percent", "share of sentences in which exactly one word was given to ROOT"),
    Column("chosen", "chosen", meaning="the layer or the offset that was chosen"),
    Column("parameters", "parameters", "count"),
    Column("epochs", "epochs", "count"),
    Column("seconds", "seconds", "seconds"),
)  # fmt: skip
DIFFERENCES = Schema(
    "differences",
    "What each probe has more than each other, on the same texts.",
    PROBE,
    Column("other", "than"),
    Column("value", "more", "percent", ends=("low", "high")),
)
WEIGHTS = Schema(
    "head_weights",
    "What the probe on attention has learned of each head.",
    WHO,
    *PLACE,
    Column("direction", "direction", meaning="whose attention to whom"),
    Column("effect", "effect", "signed", "the weight times the head's usual attention between words", head=True,
           called="effect in a parser on attention, {direction}"),
    Column("weight", "weight", "signed"),
    keys=("direction",), who="who",
)  # fmt: skip
TRAINING = Schema(
    "training",
    "How training went.",
    PROBE,
    Column("epoch", "epoch", "count"),
    Column("train_loss", "loss in training", "number", "nats per word"),
    Column("validation_loss", "loss on validation", "number", "nats per word", was="dev_loss"),
    Column("validation_score", "UAS on validation", "percent", was="dev_score"),
)
BY_RELATION = Schema("by_relation", "The same by the relation of a word to its governor.", *_BY_RELATION)
FREQUENT = Schema("frequent", "The most frequent relations.", *_BY_RELATION)
LAYERS = Schema(
    "structural_layers",
    "The structural probe by layer.",
    WHO,
    Column("layer", "layer of states", "count", "0: before the first layer"),
    Column("validation_uuas", "UUAS on validation", "percent", was="dev_uuas"),
)

SHOWN_RELATIONS = 30
ORDER = (
    "right-branching", "untrained: attention + vectors", "distances + vectors", "attention", "attention + vectors",
)  # fmt: skip
BARS = {  # what a probe on the model must beat before it says anything of the model
    "attention": ("right-branching", "best fixed offset", "untrained: attention"),
    "structural probe": ("untrained: structural probe",),
}
READ = {"attention": "attention alone", "structural probe": "states"}
TRAINED = ("distances + vectors", "attention", "attention + vectors", "untrained: attention",
           "untrained: attention + vectors")  # fmt: skip


def _scores(tables: Tables, *names: str) -> list[Row]:
    """The rows of these probes; none where one of them is missing."""
    rows = {row["probe"]: row for row in tables["parse"]}
    return [rows[name] for name in names] if all(name in rows for name in names) else []


def _right(*rows: Row) -> tuple[Claim, ...]:
    return tuple(value_claim("parse", "value", row, "probe") for row in rows)


def _score(row: Row) -> Prose:
    if not is_known(row["low"]):
        return say("**{value:percent} %**", **row)
    return say("**{value:percent} %** ({low:percent}–{high:percent})", **row)


def _either_way(tables: Tables) -> Iterator[Row]:
    """What one probe has more than another, with the ends of its interval, and what the other has more than it."""
    for row in tables["differences"].known("low", "high"):
        ends = {"value": -row["value"], "low": -row["high"], "high": -row["low"]}
        yield from (row, {**row, "probe": row["other"], "other": row["probe"], **ends})


def _difference(tables: Tables, probe: str, other: str) -> Row | None:
    """What one probe has more than another, where an interval of it is known."""
    return next(iter(tables["either_way"].where(probe=probe, other=other)), None)


def unbeaten(tables: Tables, probe: str) -> list[tuple[Row, Row | None]]:
    """What a probe on the model is not surely better than, of what it must beat before it says anything of the model:
    each row, and the difference with its interval where there is one; nothing where that probe was not trained."""
    rivals = [row for name in BARS[probe] for row in _scores(tables, name)] if _scores(tables, probe) else []
    told: list[tuple[Row, Row | None]] = []
    for rival in rivals:
        more = _difference(tables, probe, rival["probe"])
        if more is None or not more["low"] > 0:
            told.append((rival, more))
    return told


def warning(tables: Tables) -> Prose | None:
    """One line where a probe on the model is not surely better than what knows nothing of it; the best of that."""
    parts = []
    for probe in BARS:
        for rival, more in sorted(unbeaten(tables, probe), key=lambda pair: -pair[0]["value"])[:1]:
            told = "too few texts for an interval"
            if more is not None:
                told = "a difference of {value:percent} points, 95 % interval {low:percent} to {high:percent}"
            parts.append(say(
                "the probe on {read} ({value:percent} %) is not surely better than {what} ({other:percent} %; "
                "{told})", read=READ[probe], value=_scores(tables, probe)[0]["value"], what=_named(rival),
                other=rival["value"], told=say(told, **(more or {})),
            ))  # fmt: skip
    if not parts:
        return None
    return say("The probes have not shown that the model holds trees: {parts}. So nothing is concluded here about "
               "what it has learned of them.", parts=listed(parts, between="; "))  # fmt: skip


def shown(probe: str, find: Callable[[Tables], Iterator[Finding]]) -> Callable[[Tables], Iterator[Finding]]:
    """What is found, unless the probe that it is about is not surely better than what it must beat."""

    def told(tables: Tables) -> Iterator[Finding]:
        if not unbeaten(tables, probe):
            yield from find(tables)

    return told


def _named(row: Row) -> Prose:
    """What a probe that needs nothing learned is, in words."""
    known = {"right-branching": "always naming the next word",
             "best fixed offset": "the word at the best fixed distance"}  # fmt: skip
    if row["probe"] in known:
        return say(known[row["probe"]])
    return say("that of {twins}", twins=untrained([row]))


def _reach(row: Row) -> Prose:
    """How far several twins lie apart."""
    several = is_known(row.get("twins_low"))
    return say(" (from {twins_low:percent} to {twins_high:percent})" if several else "", **row)


def answer(tables: Tables) -> Finding | None:
    """How many governors attention alone finds, and how many its twin and the next word do."""
    attention = _scores(tables, "attention")
    if not attention:
        return None
    others = [row for name in ("untrained: attention", "right-branching") for row in _scores(tables, name)]
    against = listed([say("{what} {value:percent} %{reach}", what=_named(row), value=row["value"], reach=_reach(row))
                      for row in others])  # fmt: skip
    return Finding(
        say("Attention alone finds {score} of all governors{against}.", score=_score(attention[0]),
            against=say("; {others}", others=against) if others else ""),
        _right(*attention, *others),
        published="bert-base-uncased on WSJ, Clark et al. 2019: 61; the next word: 26",
    )  # fmt: skip


def vectors(tables: Tables) -> Iterator[Finding]:
    """What word vectors add, and how much of it is owed to what heads have learned."""
    names = ("attention", "attention + vectors", "distances + vectors", "untrained: attention + vectors")
    rows = _scores(tables, *names[: 4 if tables.baseline else 3])
    if not rows:
        return
    alone, both, distances, *twins = rows
    rival = max(*twins, distances, key=lambda row: row["value"]) if twins else distances
    more = _difference(tables, both["probe"], rival["probe"]) if twins else None
    credit = say("what the heads have learned adds nothing that can be told from chance")
    if not twins:
        credit = say("how much of that is owed to what the heads have learned is not known without untrained twins")
    elif more is None:
        credit = say("whether anything is owed to what the heads have learned, so few texts cannot tell")
    elif more["high"] < 0:
        credit = say("what the heads have learned takes {less:percent} points away", less=-more["value"])
    elif more["low"] > 0:
        credit = say("{value:percent} points ({low:percent}–{high:percent}) are owed to what the heads have learned",
                     **more)  # fmt: skip
    gain = both["value"] - alone["value"]
    claims = [] if more is None else [value_claim("either_way", "value", more, "probe", "other")]
    claims += [Claim("difference", "parse", "value", keyed([both, row], "probe"), value=both["value"] - row["value"])
               for row in (alone, rival)]  # fmt: skip
    if more is not None and (more["high"] < 0 or more["low"] > 0):
        kind, end = ("below", "high") if more["high"] < 0 else ("above", "low")
        claims.append(Claim(kind, "either_way", end, keyed([more], "probe", "other"), than=0))
    yield Finding(
        say(
            "With word vectors it is {score}, {gain:percent} points {way}. The same vectors reach {beside}"
            "{distances:percent} % with distances in its place: {credit}.",
            score=_score(both), gain=abs(gain), way="more" if gain >= 0 else "less",
            beside=say("{value:percent} % with the attention of {of} and ", value=twins[0]["value"],
                       of=untrained(twins)) if twins else "",
            distances=distances["value"], credit=credit,
        ),
        (*_right(*rows), *claims),
        see="table",
        published="77; with random weights 30, with distances 58",
    )  # fmt: skip


def order(tables: Tables) -> Iterator[Finding]:
    """Whether the rows stand in the paper's order, and which neighbours do not."""
    rows = _scores(tables, *ORDER)
    if not rows:
        return
    turned, level, claims = [], [], list[Claim]()
    for low, high in pairwise(rows):
        more = _difference(tables, high["probe"], low["probe"])
        if low["value"] < high["value"] and more is not None and more["low"] <= 0:
            level.append(say("*{low}* and *{high}*", low=low["probe"], high=high["probe"]))
        if low["value"] >= high["value"]:
            more = _difference(tables, low["probe"], high["probe"])
            above = more is not None and more["low"] > 0
            how = "above" if above else "level with"
            if more is not None and above:
                claims.append(Claim("above", "either_way", "low", keyed([more], "probe", "other"), than=0))
            turned.append(say("*{low}* ({a:percent}) is {how} *{high}* ({b:percent})", low=low["probe"], how=how,
                              a=low["value"], high=high["probe"], b=high["value"]))  # fmt: skip
    text = ("The paper's order does not hold throughout: {turned}." if turned else
            "The paper's order holds: right-branching is last, then untrained attention with vectors, distances with "
            "vectors, attention alone, and attention with vectors{level}.")  # fmt: skip
    names = [row["probe"] for row in rows]
    ordered = [Claim("smallest", "parse", "value", keyed(rows, "probe"), {"probe": names})] if not turned else []
    apart = say("; not to be told apart: {level}", level=listed(level, between=", ")) if level else ""
    yield Finding(say(text, turned=listed(turned), level=apart), (*_right(*rows), *ordered, *claims),
                  published="26, 30, 58, 61, 77")  # fmt: skip


def structural(tables: Tables) -> Iterator[Finding]:
    """What the structural probe finds on states."""
    for row in _scores(tables, "structural probe"):
        twins = _scores(tables, "untrained: structural probe")
        against = (say(", on those of {of} {value:percent} %", of=untrained(twins), value=twins[0]["value"])
                   if twins else "")  # fmt: skip
        yield Finding(
            say(
                "The structural probe on the states of {chosen} finds {score} of the edges{against}. It is another "
                "measure: edges without direction (UUAS).",
                chosen=row["chosen"], score=_score(row), against=against,
            ),
            _right(row, *twins),
            see="layers",
            published="80",
        )  # fmt: skip


def heads(tables: Tables) -> Iterator[Finding]:
    """The heads that speak most for a governor."""
    most = tables["head_weights"].where(who="model").largest("effect")[:4]
    if most:
        named = [say("**{name}** ({direction}, {effect:signed})", name=label_of(row), **row) for row in most]
        keys = keyed(most, "stream", "layer", "head", "direction")
        yield Finding(
            say("The heads that speak most for a governor, with their effect: {heads}.", heads=listed(named)),
            (Claim("largest", "head_weights", "effect", keys, {"who": "model"}),),
            see="weights",
        )


def roots(tables: Tables) -> Iterator[Finding]:
    """How often exactly one root is found."""
    rows = tables["parse"].where(probe=["attention", "attention + vectors"]).known("one_root")
    if rows:
        shares = [say("{share:percent} % of the sentences by *{probe}*", share=row["one_root"], probe=row["probe"])
                  for row in rows]  # fmt: skip
        yield Finding(
            say("Governors are chosen word by word; still exactly one root is found in {shares}.",
                shares=listed(shares)),
            tuple(value_claim("parse", "one_root", row, "probe") for row in rows),
        )  # fmt: skip


def by_frequency(tables: Tables) -> list[Row]:
    """By relation, those that most words have first."""
    rows = tables["by_relation"]
    sizes = {relation: max(same.column("n")) for relation, same in rows.by("relation")}
    return sorted(rows, key=lambda row: (-sizes[row["relation"]], row["relation"]))


def frequent(tables: Tables) -> list[Row]:
    """By relation, those that most words have, without offsets."""
    rows = by_frequency(tables)
    kept = list(dict.fromkeys(row["relation"] for row in rows))[:SHOWN_RELATIONS]
    return [row for row in rows if row["relation"] in kept and row["probe"] != "best fixed offset"]


def about(tables: Tables) -> Prose:
    """What was done: on how many sentences, with which vectors."""
    corpus, norms = tables.manifest.corpus, tables.options.get("measure") == "norm"
    parts = corpus.get("parts", {})
    purposes = {"train": "train on", "dev": "stop by", "test": "score on"}
    sizes = [say("{n:count} sentences to {what}", n=part["sentences"], what=purposes[name])
             for name, part in parts.items()]  # fmt: skip
    told = say(
        "For every word of **{corpus}** a probe chooses its governor from the attention between words in all {heads} "
        "heads{by}; it is trained on some sentences and scored on others ({sizes}).",
        corpus=tables.corpus, heads=len({(row["layer"], row["head"]) for row in tables["head_weights"]}),
        by=", by norms ‖αf(x)‖" if norms else "", sizes=listed(sizes),
    )  # fmt: skip
    if "divided" in corpus:
        told += say("{divided}.", divided=corpus["divided"])
    if "vectors" in corpus:
        known = corpus["vectors"]
        told += say("Word vectors: {name}, which has {share:percent} % of the words.", name=known["name"],
                    share=known["known"] / max(1, known["words"]))  # fmt: skip
    return told


PAGE = Page(
    "parse",
    title="How much of a tree is in the attention of {model}?",
    answer=answer,
    chart=charts.dots(
        "parse", "probe", "value", "published", key="scores", title="Right on test, per cent",
        style=Style(domain=(0, 1), tell=("metric", "n")), label="Score of every probe, with its interval",
    ),
    about=about,
    warning=warning,
    findings=(*(shown("attention", find) for find in (vectors, order)), shown("structural probe", structural),
              *(shown("attention", find) for find in (heads, roots))),
    schemas=(SCORES, DIFFERENCES, WEIGHTS, TRAINING, BY_RELATION, FREQUENT, LAYERS),
    derived={"frequent": frequent, "either_way": _either_way},
    sections=(
        Section(
            "table", "All probes",
            "What is right of a hundred words, or of edges (UUAS), on sentences that no probe has seen.",
            (
                Listing("parse", "probe", "metric", "value", "validation", "published"),
                Listing("parse", "probe", "reads", "twins", "twins_low", "twins_high", "chosen", "one_root",
                        "parameters", "epochs", "seconds", title="What they are made of"),
            ),
            short="Scores",
        ),
        Section(
            "weights", "Which heads",
            "The probe on attention alone has two weights per head: for what a word gives to its candidate governor, "
            "and for what it gets. Shown is the *effect*, the weight times the head's usual attention between words: "
            "how much of the decision runs over it. Red speaks for a governor, blue against. Heads that do the same "
            "share their credit, so a pale head is not a useless one.",
            (
                charts.head_map(
                    "head_weights", "effect", key="weights-map", title="What each head says",
                    style=Style(pick=("direction", "who"), tell=("weight",)), shade={"effect": "effect"},
                    label="Heat map of learned weights, layer by head",
                ),
            ),
            short="Heads",
        ),
        Section(
            "relations", "By relation",
            "The same by the relation of a word to its governor, the most frequent first: what is right of a hundred "
            f"such words. The chart has {SHOWN_RELATIONS} relations at most. Where attention is far above distances, "
            "it is not mere position.",
            (
                charts.grid("frequent", "probe", "relation", "value", key="relations-map", title="Right by relation",
                            label="Heat map of accuracy by relation and probe"),
                Listing("by_relation", "relation", "probe", "value", "n", rows=by_frequency),
            ),
            short="Relations",
        ),
        Section(
            "layers", "States, layer by layer",
            "One structural probe for the states of every layer. The layer with the best figure here, on the "
            "validation part, is the one that was scored on test.",
            (
                charts.lines("structural_layers", "layer", "validation_uuas", key="layer-lines", colour="who",
                             title="Structural probe, layer by layer", style=Style(height=240)),
            ),
            short="Layers",
        ),
        Section(
            "training", "How training went",
            "After each epoch the probe is tried on the validation part. Where nothing was gained, the rate is "
            "halved; after some such epochs in a row training stops, and the probe with the least loss is kept.",
            (
                charts.lines("training", "epoch", "validation_loss", "train_loss", "validation_score", key="epochs",
                             title="Epoch by epoch", colour="probe", style=Style(height=240),
                             where={"probe": TRAINED}),
            ),
            short="Training",
        ),
    ),
    words={
        "pieces": "(subword tokens) what the model reads; attention is summed to words.",
        "governor": "(head, in dependency grammar) the word that another depends on in the tree; the root's governor "
        "is ROOT, which competes with the words: its attention is that of [CLS], [SEP] and their like together.",
        "UAS": "the share of words, punctuation aside, whose governor is found. *UUAS*: of edges, without direction.",
        "untrained twin": "(random-weights baseline) the same architecture with random weights, captured and probed "
        "in the same way. One twin is one draw, and no level of chance; of several (`--twins`) rows have the mean, "
        "with the lowest and the highest beside it.",
        "right-branching, best fixed offset": "the next word; the word at the distance that is right most often.",
        "attention": "two weights per head; *+ vectors*: weights per head that depend on the two words' vectors.",
        "distances + vectors": "how far apart two words stand, in place of attention.",
        "structural probe": "distances between projected states, trained towards distances in the tree.",
    },
    limits={
        "A probe learns, too.": "What it gets right is there for a linear rule to read; that the model uses it is "
        "not shown. Untrained twins and distances say what a probe can do without anything that was learned.",
        "Two scores.": "UAS and UUAS are not the same measure, and UUAS is the easier one.",
        "Governors are chosen one by one,": "as in the paper: what comes out need not be a tree.",
        "The published figures": "are of bert-base-uncased on the Wall Street Journal with Stanford dependencies; "
        "model, texts, annotation and often vectors are others here. Compare the order of the rows.",
        "Intervals": "are for other such texts, not for another training or kind of text. Their unit is the document "
        "where test has at least 16 of them, and else the sentence; with fewer than six there is none.",
    },
    unshown={"differences": "those that matter stand among the findings"},
    published="bert-base-uncased on the Wall Street Journal with Stanford dependencies (Clark et al. 2019, table 3); "
    "model and treebank here are others, so that what can agree is the order of the rows.",
)  # fmt: skip
