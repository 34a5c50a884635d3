"""The page of the comparison: key phrases from attention beside those of other methods that need no training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from markupsafe import Markup

from attlas.pages import Claim, Custom, Finding, Listing, Page, Prose, Row, Rows, Section, Style, Tables, charts
from attlas.pages.charts import Spec
from attlas.pages.findings import finding, keyed, value_claim
from attlas.pages.html import tag
from attlas.pages.prose import listed, say, with_interval
from attlas.store.schema import Column, Schema, is_known
from attlas.studies.shared.keywords.columns import AT, GOLD, SCORES, TEXTS
from attlas.studies.shared.keywords.phrases import SINGLE
from attlas.studies.shared.published import INSPEC
from attlas.studies.shared.wording import of_all

LEVEL = 0.01
ONE = ("method", "form", "at", "gold")  # what tells one row of the methods from others
OURS = "attention"
SHOWN = 10  # phrases of an example
FEW = 3  # methods that a sentence names
GROUPS = ("attention", "attention's candidates, ranked otherwise", "the model's embeddings",
          "counts over the other texts", "the text alone")  # fmt: skip

METHOD = Column("method", "method")
FORM = Column("form", "form", meaning="of what phrases, where a method comes in several forms")
DIFFERENCE = (
    Column("change", "change", "signed", "of F1 against the first form of attention, on the same texts",
           ends=("change_low", "change_high")),
    Column("change_p", "p", "p", "paired permutation test: texts swap their phrases between the two", was="p"),
    Column("change_p_corrected", "p, corrected", "p", family="all methods at the same depth (Holm)", was="p_holm"),
    Column("seconds", "seconds", "seconds", "for all texts, each method by itself"),
)  # fmt: skip
METHODS = Schema(
    "methods", "The scores of each form of each method.", METHOD, FORM,
    Column("needs", "reads", meaning="the text alone, the corpus too, or a model",
           labels={"nothing": "the text", "corpus": "the corpus", "model": "the model"}),
    AT, GOLD, *SCORES, *DIFFERENCE, TEXTS,
)  # fmt: skip
NAMED = Schema(
    "named", "The same for charts, the best by F1@10 first.", *METHODS.columns, Column("name", "method"),
    Column("group", "reads"), Column("each", "ms for a text", "number", "in this run"),
)  # fmt: skip
LENGTHS = Schema(
    "lengths", "How many of the given phrases, by how many words they have, are among the first ten of a method.",
    METHOD, FORM,
    Column("length", "phrases of", labels={"single": "a single word", "several": "several words"}),
    Column("recall", "among the first ten", "share", "of the given phrases of this kind", ends=("low", "high")),
    Column("shown", "of the first ten", "share", "the share of the method's own phrases that are of this kind"),
    Column("n", "given", "count"),
)  # fmt: skip
DOCUMENT = Column("document", "text", "index")
EXAMPLES = Schema(
    "examples", "The first phrases of each method in a few texts.", DOCUMENT, Column("name", "name"),
    Column("text", "text"), METHOD, FORM, Column("rank", "rank", "count"), Column("phrase", "phrase"),
    Column("right", "right", "flag", "whether people gave it too, by its stems"),
)  # fmt: skip
GIVEN = Schema(
    "given", "What people gave these texts.", DOCUMENT, Column("phrase", "phrase"),
    Column("present", "in the text", "flag"),
)  # fmt: skip
WHOLE = Schema(
    "whole", "What was read.", Column("documents", "documents", "count"), Column("words", "words", "count"),
    Column("given", "phrases given", "count"), Column("present", "of these in the text", "count"),
    Column("choice", "attention of"), Column("heads", "heads", "count"), Column("names", "which"),
    Column("measure", "measure"), Column("over", "over"), Column("language", "language"),
    Column("corpus", "texts that TF-IDF counts over", "count"),
    Column("single", "of one word", "share", "the share of given phrases that are single words", optional=True),
    Column("longest", "longest phrase of attention", "count", optional=True),
)  # fmt: skip


def _name_of(row: Row) -> str:
    """A method with its form."""
    return f"{row['method']}, {row['form']}" if row.get("form") else str(row["method"])


def _is_ours(row: Row) -> bool:
    """Whether a method reads attention."""
    return str(row["method"]).startswith(OURS)


def _borrows(row: Row) -> bool:
    """Whether a method ranks the candidates that attention gives."""
    return "attention" in str(row.get("form") or "")


def _group_of(row: Row) -> str:
    """What a method reads, as it is coloured."""
    own, borrowed, model, corpus, nothing = GROUPS
    if _is_ours(row):
        return own
    return borrowed if _borrows(row) else {"model": model, "corpus": corpus}.get(str(row["needs"]), nothing)


def at_depth(tables: Tables, at: str = "10", gold: str = "all") -> Rows:
    """The methods at one depth and by one gold, the best first."""
    return tables["methods"].where(at=at, gold=gold).largest("f1")


def named(tables: Tables) -> Iterator[Row]:
    """All scores with names, groups and times; first those that are shown first, in their order."""
    order = {_name_of(row): place for place, row in enumerate(at_depth(tables))}
    depths = {("10", "all"): 0, ("5", "all"): 1}
    rows = sorted(
        tables["methods"],
        key=lambda row: (depths.get((row["at"], row["gold"]), 2), order.get(_name_of(row), len(order))),
    )
    for row in rows:
        each = 1000 * row["seconds"] / row["n"] if is_known(row.get("seconds")) and row["n"] else None
        yield {**row, "name": _name_of(row), "group": _group_of(row), "each": each}


def warning(tables: Tables) -> Prose | None:
    """That attention finds no more than phrases in random order would be, where that is so."""
    for row in at_depth(tables).where(_borrows, method="random")[:1]:
        if not (_sure(row) and row["change"] < 0):
            return say(
                "The phrases of attention are not better than the same candidates in random order (F1@10 "
                "{f1:share}): the model's attention knows nothing of these key phrases.", f1=row["f1"],
            )  # fmt: skip
    return None


def at(depth: str) -> Callable[[Tables], Finding | None]:
    """How attention stands among the others, by so many first phrases."""

    def find(tables: Tables) -> Finding | None:
        ours = tables["methods"].where(method=OURS, at=depth, gold="all")[:1]
        others = at_depth(tables, depth).where(lambda row: not _is_ours(row) and not _borrows(row))
        if not ours or not others:
            return None
        best, chance = others[0], others.where(method="random")
        ahead = others.where(lambda row: _sure(row) and row["change"] > 0)
        behind = others.where(lambda row: _sure(row) and row["change"] < 0)
        worse, alike = (
            say(f", {said} {{names}}", names=_listed_or_counted(some)) if some else ""
            for said, some in (
                ("worse than", ahead),
                ("not to be told apart from", others.where(lambda row: not _sure(row))),
            )
        )
        among = {"at": depth, "gold": "all", "name": [_name_of(row) for row in others]}
        sure = {**among, "name": [_name_of(row) for row in others.where(_sure)]}
        return finding(
            "F1@{at} of {ours} is {f1}, better than {how} methods without attention (p < 0.01 after correction)"
            "{worse}{alike}; the best of them, {best}, has {best_f1}{apart}{chance}.",
            value_claim("methods", "f1", ours[0], *ONE),
            Claim("largest", "named", "f1", [{"name": _name_of(best)}], among),
            Claim("count", "named", "change_p_corrected", among=among, value=len(sure["name"]), than=LEVEL,
                  below=True),
            Claim("count", "named", "change", among=sure, value=len(behind), than=0, below=True),
            Claim("count", "named", "change", among=sure, value=len(ahead), than=0),
            *(value_claim("methods", "f1", row, *ONE) for row in chance[:1]),
            see="table", at=depth, ours=_name_of(ours[0]), f1=with_interval(ours[0], "f1"), worse=worse, alike=alike,
            how=of_all(len(behind), len(others)), best=_name_of(best), best_f1=with_interval(best, "f1"),
            apart=apart(best), chance=say(", phrases at random {f1:share}", f1=chance[0]["f1"]) if chance else "",
        )  # fmt: skip

    return find


def _listed_or_counted(rows: Rows) -> Prose:
    """A few methods by name, or how many there are."""
    return listed([*map(_name_of, rows)], between="; ") if len(rows) <= FEW else say("{n} of them", n=len(rows))


def first_five(tables: Tables) -> Iterator[Finding]:
    """The same of the first five phrases."""
    yield from filter(None, [at("5")(tables)])


def borrowed(tables: Tables) -> Iterator[Finding]:
    """How far it is the candidates that attention gives, and not their order."""
    rows = at_depth(tables).where(_borrows)
    for best in rows[:1]:
        chance = rows.where(method="random")
        random = "; in random order they have {f1}: what the candidates alone are worth"
        yield finding(
            "Where another method ranks the candidates that attention gives, F1@10 is at best {f1}, by {name}{apart}"
            "{random}.",
            Claim("largest", "named", "f1", [{"name": _name_of(best)}],
                  {"at": "10", "gold": "all", "name": [_name_of(row) for row in rows]}),
            *(value_claim("methods", "f1", row, *ONE) for row in chance[:1]), see="methods",
            f1=with_interval(best, "f1"), name=_name_of(best), apart=apart(best),
            random=say(random, f1=with_interval(chance[0], "f1")) if chance else "",
        )  # fmt: skip


def kinds(tables: Tables) -> Iterator[Finding]:
    """For which key phrases attention holds: those of several words, or single ones."""
    for row in tables["whole"].known("single"):
        told, claims = [], []
        for length, rows in tables["lengths"].known("recall").by("length"):
            ours = rows.where(method=OURS)[:1]
            rivals = rows.where(lambda row: not _is_ours(row) and not _borrows(row))
            others = rivals.largest("recall")[:1]
            if not ours or not others:
                continue
            told.append(say(
                "of {kind} {ours} has {own} among its first ten, and {best}, the best without attention, {theirs}",
                kind="single words" if length == "single" else "phrases of several words", ours=_name_of(ours[0]),
                own=with_interval(ours[0], "recall"), best=_name_of(others[0]),
                theirs=with_interval(others[0], "recall"),
            ))  # fmt: skip
            claims += [
                value_claim("lengths", "recall", ours[0], "method", "form", "length"),
                Claim("largest", "lengths", "recall", keyed(others, "method", "form"),
                      {"length": length, "method": rivals.values("method"), "form": list({*rivals.column("form")})}),
            ]  # fmt: skip
        if told:
            hint = " Where so many are, ask for single words (--longest 1)." if row["single"] > SINGLE else ""
            yield finding(
                f"{{single:share}} of the given phrases are single words: {{told}}.{hint}",
                Claim("total", "whole", "single", value=row["single"]), *claims, single=row["single"],
                told=listed(told, between="; "), see="kinds",
            )  # fmt: skip


def fast(tables: Tables) -> Iterator[Finding]:
    """How long attention takes, and what else needs the model."""
    timed = tables["named"].where(lambda row: is_known(row["each"]) and row["each"] > 0, at="10", gold="all")
    for ours in timed.where(method=OURS)[:1]:
        models = timed.where(lambda row: row["needs"] == "model" and not _is_ours(row) and not _borrows(row))
        others = [say("{name} takes {times:number} times as long", name=row["name"], times=row["each"] / ours["each"])
                  for row in models]  # fmt: skip
        yield finding(
            "Attention takes **{each:number} ms** for a text in this run{others}.",
            value_claim("named", "each", ours, "name", "at", "gold"),
            *(Claim("ratio", "named", "each", keyed([row, ours], "name", "at", "gold"),
                    value=row["each"] / ours["each"]) for row in models), see="time", each=ours["each"],
            others=say("; with the same model, {others}", others=listed(others)) if others else "",
        )  # fmt: skip


def texts(tables: Tables) -> Iterator[Finding]:
    """What there was to find, and which heads were read."""
    for row in tables["whole"]:
        yield finding(
            "{present:count} of {given:count} phrases that people gave these {documents:count} texts stand in their "
            "text. Attention is read from {choice}.", value_claim("whole", "present", row, "documents"), **row,
        )  # fmt: skip


def _sure(row: Row) -> bool:
    """Whether a method differs from attention, corrected for all of them."""
    return is_known(row["change_p_corrected"]) and row["change_p_corrected"] < LEVEL


def apart(row: Row) -> Prose:
    """By how much a method differs from attention."""
    if not is_known(row["change_p_corrected"]) or not is_known(row["change"]):
        return say("")
    return say(" ({change:signed}, p {p:p})", change=row["change"], p=row["change_p_corrected"])


def speed(tables: Tables, rows: Rows) -> Spec:
    """F1 against time, of which alone the logarithm is shown."""
    dots = charts.scatter("named", "each", "f1", key="", title="", colour="group", style=Style(tell=("name",)))
    spec = dots.draw(tables, rows)
    for layer in spec["layer"]:
        layer["encoding"]["x"]["scale"] = {"type": "log"}
    return spec


def examples(tables: Tables) -> Markup | None:
    """A few texts with the first phrases of each method; what people gave too is marked."""
    if not tables["examples"]:
        return None
    parts = []
    for number, (key, rows) in enumerate(sorted(tables["examples"].by("document"), key=lambda item: int(item[0]))):
        lines = []
        given = tables["given"].where(document=key)
        if given:
            wanted = [_phrase(row["phrase"], absent=not row["present"]) for row in given]
            lines.append(_line("given by people", wanted, ""))
        for name, own in Rows({**row, "name_": _name_of(row)} for row in rows.smallest("rank")).by("name_"):
            shown = own[:SHOWN]
            found = [_phrase(row["phrase"], right=row["right"]) for row in shown]
            lines.append(_line(name, found, f"{shown.count(lambda row: bool(row['right']))} of {len(shown)}"))
        titles = ("method", "first phrases", "right")
        head = tag("tr", *(tag("th", title, class_="text", scope="col") for title in titles))
        parts.append(
            tag("details", tag("summary", str(rows[0]["name"] or f"text {number + 1}"), dir="auto"),
                tag("p", str(rows[0]["text"]), class_="sample", dir="auto"),
                tag("div", tag("table", tag("thead", head), tag("tbody", *lines)), class_="scroll"),
                class_="folded phrases", open=number == 0)
        )  # fmt: skip
    return Markup("").join(parts)


def _line(name: str, phrases: Iterable[Markup], right: str) -> Markup:
    return tag("tr", tag("td", name, class_="text"), tag("td", Markup(", ").join(phrases), class_="text"),
               tag("td", right))  # fmt: skip


def _phrase(phrase: object, *, right: bool = False, absent: bool = False) -> Markup:
    written = tag("bdi", str(phrase), dir="auto")
    if right:
        return tag("mark", written)
    return Markup("[{}]").format(written) if absent else written


PAGE = Page(
    "keywords-compare",
    title="Key phrases by {model} and by others",
    answer=at("10"),
    warning=warning,
    chart=charts.dots(
        "named", "name", "f1", key="methods", title="Every method",
        style=Style(pick=("at", "gold"), tell=("group", "macro", "precision", "recall", "change",
                                               "change_p_corrected")),
        label="Scores of all methods with intervals",
    ),
    about="Key phrases of texts of **{corpus}**, found without any training: by the attention of **{model}**, by its "
    "embeddings, and by methods that count words.",
    findings=(first_five, kinds, borrowed, fast, texts),
    schemas=(METHODS, LENGTHS, EXAMPLES, GIVEN, WHOLE, NAMED),
    derived={"named": named},
    sections=(
        Section(
            "table", "Scores and differences",
            "In the order of F1@10. *Change* is against the first form of attention, in F1; p is after Holm's "
            "correction for all methods.",
            (
                Listing("named", "name", "f1", "change", "change_p_corrected", "each", title="The first 10 phrases",
                        where={"at": "10", "gold": "all"}),
                Listing("named", "name", "f1", "change", "change_p_corrected", title="The first 5 phrases",
                        where={"at": "5", "gold": "all"}),
            ),
            note="Published F1@5 and F1@10 on Inspec, by other models and protocols: " + "; ".join(
                f"{row.method} {row.f1_5:.2f} and {row.f1_10:.2f} ({row.source})" for row in INSPEC) + ".",
            short="Table",
        ),
        Section(
            "kinds", "Single words, and phrases",
            "How many of the given phrases are among the first ten of a method, apart for single words and for "
            "phrases of several. Runs of heavy words find the latter; texts whose key phrases are single words, as "
            "in news, want *single words*.",
            (Listing("lengths", "method", "form", "length", "recall", "shown", "n"),), short="Kinds",
        ),
        Section(
            "time", "Time",
            "F1@10 against the time that a method takes for a text in this run, each by itself: to the left and "
            "above is better. For a fair race, see `make bench`.",
            (
                charts.custom("speed", "Score and time", "named", ("each", "f1", "group"), speed,
                              where={"at": ["10"], "gold": ["all"]}, label="F1@10 by the time for a text"),
            ),
        ),
        Section(
            "examples", "Some texts",
            "The first ten phrases of each method, one text after another. Marked are those that people gave, too "
            "(by their stems). Given phrases that do not stand in the text are in brackets.",
            (Custom(examples, ("examples", "given")),),
        ),
        Section(
            "otherwise", "Counted in other ways", "",
            (Listing("methods", "method", "form", "needs", "at", "gold", "f1", "precision", "recall", "macro",
                     "change", "change_p_corrected", "seconds"),),
            short="Otherwise",
        ),
        Section("read", "The texts", "", (Listing("whole", *WHOLE.names),), short="Texts"),
    ),
    words={
        "F1@5, F1@10, F1@M": "of the first five or ten phrases of each text, or of all that were found; counted over "
        "all texts (micro). Phrases are compared whole, by their stems.",
        "all given, those in the text": "held against all phrases that people gave, or only against those that stand "
        "in the text, which alone can be found there.",
        "change, p": "what a method is better (or worse) by than attention, on the same texts; p is the share of "
        "shuffles in which the two swap their phrases text by text that differ as much, after Holm's correction.",
        "reads": "the text alone; the other texts, too (TF-IDF counts in how many of them a word stands); or what "
        "the model makes of the text, the same model for all.",
        "attention's candidates": "the runs of heavy words that our phrases are chosen from, ranked by another "
        "method: what part of the score is due to the candidates.",
    },
    limits={
        "One collection is one taste.": "These texts and their phrases are of one kind; another kind may turn the "
        "order round.",
        "Methods are as their packages have them,": "or as their papers say, and none was tuned here. The heads of "
        "attention were chosen on other texts, or by the rule. TextRank and TF-IDF are our own and have no tagger: "
        "on Inspec they score some six points of F1@10 below those of the library pke, quoted below the table.",
        "Attention is at home on abstracts.": "How heavy a word of a phrase must be and how long a phrase may be was "
        "found on the training part of Inspec, and so were the heads that are shipped for the bundled model. The "
        "other methods were fitted to nothing.",
        "Published figures are of other models under other protocols:": "which words are candidates, how phrases are "
        "stemmed, and whether absent phrases count differ from paper to paper. They say in which region a number "
        "lies.",
        "A phrase counts whole or not at all.": "“neural network” is no part of “artificial neural network”.",
    },
    static=("keywords_study.css",),
)  # fmt: skip
