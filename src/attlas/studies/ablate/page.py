"""The page of ablate: which heads a task needs, one at a time, and what a layer can do with one head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attlas.pages import Claim, Finding, Listing, Page, Prose, Row, Rows, Section, Style, Tables, charts
from attlas.pages.findings import finding, keyed, value_claim
from attlas.pages.prose import count_of, listed, say
from attlas.pages.rows import label_of
from attlas.store.schema import KINDS, PLACE, Column, Schema, is_known
from attlas.studies.shared.cutting import chance
from attlas.studies.shared.cutting import effects as cutting
from attlas.studies.shared.cutting.schemas import CORRELATED, EFFECTS, GRADIENTS, STANDING
from attlas.studies.shared.wording import words

ABLATION = Schema("ablation", "One row for each head that was cut.", *PLACE, *EFFECTS, *GRADIENTS, keys=())
SURVIVORS = Schema("survivors", "One row for each layer: all heads cut but the one that is named.", *PLACE, *EFFECTS)
OTHER = Schema("other", "As ablation, on the second corpus.", *PLACE, *EFFECTS, keys=())
WHOLE = Schema(
    "whole",
    "What the whole model does on the texts that are scored, and on the second corpus.",
    Column("part", "which texts", labels={"scored": "scored", "other": "second corpus"}),
    Column("corpus", "corpus"),
    Column("task", "task"),
    *STANDING,
    Column("loss", "loss", "number", "mean loss of a text, in nats"),
    Column("n", "texts", "count"),
)
CORRELATION = Schema(
    "correlation", "How figures of the same heads agree.",
    Column("with", "correlation of", labels={
        "importance": "importance and the size of the change", "other corpus": "changes on both corpora",
        "first order": "minus the signed gradient and the change",
    }),
    Column("quantity", "of"), *CORRELATED,
)  # fmt: skip
DRAWN = (
    Schema("effects", "The table of heads, with how bad each cut is.", *ABLATION.columns, *cutting.HARM),
    Schema("left", "The table of survivors, with how bad each is.", *SURVIVORS.columns, *cutting.HARM,
           Column("label", "head that is left")),
    Schema(
        "pairs", "What cutting each head did on both corpora.", *PLACE,
        Column("change", "change of score here", "signed"), Column("other_change", "there", "signed"),
        Column("loss_change", "change of loss here", "signed"), Column("other_loss_change", "there", "signed"),
        *(Column(f"sure_{where.split()[-1]}", f"matters {where}", "count") for where in ("here", "there", "on both")),
    ),
)  # fmt: skip
MICHEL = "(Michel et al. 2019)"
PUBLISHED = {
    "heads": "8 of 96 heads of the encoder matter (p < 0.01), four of them for the better when cut, in a translation "
    f"model of BLEU 36.05 {MICHEL}",
    "survivors": "most layers of a translation model do with one head; the last encoder-decoder layer loses 13.56 "
    f"BLEU {MICHEL}",
    "other": f"correlation 0.56 for translation, 0.68 for BERT on MNLI, between two test sets {MICHEL}",
}
CHANGED = ("head", "score", "change", "p_corrected", "loss_change", "loss_p_corrected")
AGREED = ("correlation", "with", "quantity", "spearman", "pearson", "n")


def _whole(tables: Tables) -> Mapping[str, Any]:
    return next(iter(tables["whole"]), {"metric": "score", "better": "higher", "score": None, "chance": None})


def _effects(tables: Tables) -> Iterator[Row]:
    return _harmed(tables, "ablation")


def _harmed(tables: Tables, table: str) -> Iterator[Row]:
    """Cuts with how bad each is; nothing is sure of a model that is not shown to do its task."""
    for row in cutting.with_harm(tables[table], _whole(tables)["better"]):
        yield row if chance.warning(tables) is None else {**row, "sure_harm": 0.0, "sure_loss": 0.0}


def _worst_first(tables: Tables) -> list[Row]:
    return cutting.worst_first(tables["effects"])


def _left(tables: Tables) -> Iterator[Row]:
    for row in _harmed(tables, "survivors"):
        yield {**row, "label": label_of(row)}


def _pairs(tables: Tables) -> Iterator[Row]:
    for here, there in zip(_effects(tables), _harmed(tables, "other"), strict=False):
        sure = here["sure_harm"] != 0, there["sure_harm"] != 0
        yield {
            **{name: here[name] for name in ("stream", "layer", "head", "change", "loss_change")},
            "other_change": there["change"], "other_loss_change": there["loss_change"],
            "sure_here": int(sure[0]), "sure_there": int(sure[1]), "sure_both": int(all(sure)),
        }  # fmt: skip


def answer(tables: Tables) -> Finding | None:
    """How many heads matter to the score, and which most; or to the loss, where the score shows nothing."""
    rows, whole = tables["effects"], _whole(tables)
    if chance.warning(tables) is not None:
        return chance.only_the_score(tables)
    if not rows:
        return None
    worst, dearest = cutting.worst_first(rows)[0], rows.largest("loss_change")[0]
    sure, split, claims = _sure(rows, "sure_harm")
    if worst["harm"] > 0 and cutting.changes_shown(rows)[:2] != ("loss_change", "change"):
        claims += _extreme("largest", "effects", worst)
        more: Prose | str = split
        costs = say(
            "the cut that costs most is **{name}**: {change:signed}{between}{luck}{alike}",
            **worst, between=cutting.between(worst, "signed"), name=cutting.head_of(worst, tables),
            luck=_luck(worst), alike=_alike(rows, worst, "change"),
        )  # fmt: skip
    else:
        in_loss, _, further = _sure(rows, "sure_loss")
        claims += (*further, Claim("largest", "effects", "loss_change", keyed([dearest])))
        more = say(" and **{sure}** to the loss", sure=in_loss)
        costs = say(
            "the loss rises most without **{name}**: {loss_change:signed}{between}{alike}", **dearest,
            between=cutting.between(dearest, "signed", "loss_change_low", "loss_change_high"),
            name=cutting.head_of(dearest, tables),
            alike=_alike(rows, dearest, "loss_change"),
        ) if dearest["loss_change"] > 0 else say("without none of them the loss rises")  # fmt: skip
    return finding(
        "**{sure} of {all} heads** matter at p < 0.01 (Holm's correction) to the {metric} of {score:number}{chance}"
        "{more}; {costs}.", *claims, *_scored(tables), see="map", published=PUBLISHED["heads"], sure=sure,
        all=len(rows),
        metric=whole["metric"], score=whole["score"], chance=chance.by_chance(whole), more=more, costs=costs,
    )  # fmt: skip


def by_loss(tables: Tables) -> Iterator[Finding]:
    """How many heads matter to the loss, which is finer than a score."""
    rows = tables["effects"]
    if rows and _whole(tables)["metric"] != "loss":
        sure, split, claims = _sure(rows, "sure_loss")
        finer = " A loss is finer than a score, so more heads show in it."
        yield finding(
            "**{sure}** of {all} heads matter to the loss (p < 0.01){split}.{finer}", *claims, see="sorted",
            sure=sure, all=len(rows), split=split, finer=finer if sure > _sure(rows, "sure_harm")[0] else "",
        )  # fmt: skip


def gains(tables: Tables) -> Iterator[Finding]:
    """The cut that makes the model better, if there is one."""
    for row in tables["effects"].smallest("harm")[:1].where(lambda row: row["harm"] < 0):
        claims = (*_extreme("smallest", "effects", row), Claim("below", "effects", "harm", keyed([row]), than=0))
        claims += _scored(tables)
        yield finding("The cut that gains most is {name}: {told}.", *claims, see="sorted",
                      name=cutting.head_of(row, tables), told=_suffered(row, tables))  # fmt: skip


def survivors(tables: Tables) -> Iterator[Finding]:
    """What layers can do with one head."""
    rows = tables["left"]
    if rows:
        worst = cutting.worst_first(rows)[0]
        lost = {name: sum(row[name] > 0 for row in rows) for name in ("sure_harm", "sure_loss")}
        most = say(
            "Most of all suffers **layer {number} of the {stream}**: with {label} alone, {told}.", **worst,
            number=worst["layer"] + 1, told=_suffered(worst, tables),
        ) if _harm(worst) > (0.0, 0.0) else "No layer suffers from it."  # fmt: skip
        yield finding(
            "Left with one head, **{rest}** of {all} layers lose no {metric} that could be told from luck, and "
            "{in_loss} nothing in the loss. {most}",
            *(Claim("count", "left", column, value=count, than=0) for column, count in lost.items()),
            *_extreme("largest", "left", worst), *_scored(tables), see="survivors", published=PUBLISHED["survivors"],
            rest=len(rows) - lost["sure_harm"], all=len(rows), metric=_whole(tables)["metric"],
            in_loss=len(rows) - lost["sure_loss"], most=most,
        )  # fmt: skip


def agreement(tables: Tables) -> Iterator[Finding]:
    """Whether gradients put heads in the order in which cutting does."""
    of = {row["quantity"]: row for row in tables["correlation"].known("spearman").where(**{"with": "importance"})}
    if "loss" in of:
        loss, metric = of["loss"], _whole(tables)["metric"]
        told = (
            "is not shown to say anything of what cutting does" if not (loss["spearman_low"] or 0.0) > 0
            else "puts heads in much the same order as cutting them" if loss["spearman"] >= 0.6
            else "says something of what cutting does, but not all" if loss["spearman"] >= 0.3
            else "says little of what cutting does"
        )  # fmt: skip
        more = say("; with that of {metric} {value:share}", metric=metric, value=of.get("score", {}).get("spearman"))
        yield finding(
            "Importance by gradients {told} (rank correlation with the size of the change of loss "
            "**{spearman:share}**{between}{more}).",
            *(value_claim("correlation", "spearman", row, "with", "quantity") for row in of.values()),
            see="importance", **loss, told=told,
            between=say(", {ends}", ends=ends) if (ends := cutting.ends_of(loss, "spearman")) else "",
            more=more if "score" in of and metric != "loss" else "",
        )  # fmt: skip


def elsewhere(tables: Tables) -> Iterator[Finding]:
    """Whether the same heads matter on the second corpus."""
    rows = tables["pairs"] if all(chance.unshown(row) is None for row in tables["whole"]) else Rows()
    correlated = tables["correlation"].known("pearson").where(**{"with": "other corpus"})
    if rows and correlated:
        names = {"score": _whole(tables)["metric"], "loss": "the loss"}
        parts = [
            say("**{pearson:share}**{between} for {what}", **row, what=names[row["quantity"]],
                between=cutting.between(row, "share", "pearson_low", "pearson_high"))
            for row in correlated
        ]  # fmt: skip
        counts = {name: int(rows.total(name)) for name in ("sure_here", "sure_there", "sure_both")}
        yield finding(
            "On {corpus} the same heads' changes correlate with {parts}; {matter} here, {sure_there} there, and "
            "{sure_both} on both.",
            *(Claim("total", "pairs", name, value=count) for name, count in counts.items()),
            *(value_claim("correlation", "pearson", row, "with", "quantity") for row in correlated),
            see="other", published=PUBLISHED["other"], corpus=tables["whole"][-1]["corpus"], parts=listed(parts),
            matter=f"{count_of(counts['sure_here'], 'head')} matter{'s' * (counts['sure_here'] == 1)}", **counts,
        )  # fmt: skip


def whole_model(tables: Tables) -> Iterator[Finding]:
    """What the whole model does, here and there."""
    told = 0 if chance.warning(tables) is None else 1  # the first is the answer then
    for row in tables["whole"][told:]:
        loss = "" if row["metric"] == "loss" else say(", its loss {loss:number}", loss=row["loss"])
        yield finding(
            "On {corpus} the whole model's {metric} is {score:number}{chance}{loss} ({n:count} texts).",
            value_claim("whole", "score", row, "part"),
            **{**row, "chance": chance.by_chance(row), "loss": loss},
        )


def which_texts(tables: Tables) -> Iterator[Finding]:
    """Which texts did what, where something was chosen."""
    about = tables.manifest.corpus
    if about.get("chosen_on"):
        done = {
            "survivors": "survivors were chosen", "means": "the heads' means were taken",
            "importance": "gradients were taken",
        }  # fmt: skip
        given = about.get("choose_on")
        which = str(given["name"]) if isinstance(given, Mapping) else "one half of the documents"
        yield finding(
            "{done} on {which} ({n:count} texts){rest}.", which=which, n=about["chosen_on"],
            done=_capital(str(listed([said for name, said in done.items() if tables.options.get(name)]))),
            rest="" if isinstance(given, Mapping) else "; all scores are from the other half",
        )  # fmt: skip


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def about(tables: Tables) -> Prose:
    """What was done."""
    return say(
        "**{model}** does the task {task} on **{corpus}**, as it is and without each of its heads.{means}",
        **tables.names, task=_whole(tables).get("task", "a task"),
        means=" A head that is cut gives its mean output instead of nothing." if tables.options.get("means") else "",
    )  # fmt: skip


def _sure(rows: Rows, column: str) -> tuple[int, str, tuple[Claim, ...]]:
    """How many changes are sure; how many for the worse and for the better, in words; and the claims of that."""
    worse, better = rows.count(lambda row: row[column] > 0), rows.count(lambda row: row[column] < 0)
    split = f", {worse} for the worse and {better} for the better when cut" if worse or better else ""
    claims = (
        Claim("count", "effects", column, value=worse + better, than=0, size=True),
        Claim("count", "effects", column, value=worse, than=0),
        Claim("count", "effects", column, value=better, than=0, below=True),
    )
    return worse + better, split, claims


def _scored(tables: Tables) -> tuple[Claim, ...]:
    """What the whole model scores."""
    return tuple(value_claim("whole", "score", row, "part") for row in tables["whole"][:1])


def _extreme(kind: str, table: str, row: Row) -> tuple[Claim, ...]:
    known = (value_claim(table, "change", row),) if is_known(row["change"]) else ()
    return (Claim(kind, table, "harm", keyed([row])), *known)


def _harm(row: Row) -> tuple[float, float]:
    """How bad a cut is: for the score, and where that stays as it is for the loss."""
    return row["harm"], row["loss_change"] or 0.0


def _alike(rows: Rows, row: Row, column: str) -> str:
    """How many other cuts cost as much, as far as the figure that is written can tell."""
    written = KINDS["signed"].write
    others = rows.known(column).count(lambda other: written(other[column], None) == written(row[column], None)) - 1
    return f"; {others} more about as much" if others > 1 else "; one more about as much" if others else ""


def _luck(row: Row) -> str:
    return "" if row["sure_harm"] else ", which may be luck"


def _suffered(row: Row, tables: Tables) -> Prose:
    """What a cut did, to the score and to the loss."""
    whole = _whole(tables)
    loss = "" if whole["metric"] == "loss" else say(", the loss changes by {loss:signed}", loss=row["loss_change"])
    if not row["change"]:
        return say("{metric} stays as it is{loss}", metric=whole["metric"], loss=loss)
    return say(
        "{metric} goes from {before:number} to **{score:number}**{between}{luck}{loss}",
        **{
            **row,
            "between": cutting.between(row, "signed"),
            "metric": whole["metric"],
            "before": whole["score"],
            "loss": loss,
            "luck": _luck(row),
        },
    )


PAGE = Page(
    "ablate",
    title="What does {model} lose without each head?",
    answer=answer,
    chart=cutting.effect_map(),
    about=about,
    findings=(*map(chance.shown, (by_loss, gains, survivors, agreement, elsewhere)), whole_model, which_texts),
    warning=chance.warning,
    schemas=(ABLATION, SURVIVORS, OTHER, WHOLE, CORRELATION, *DRAWN),
    derived={"effects": _effects, "left": _left, "pairs": _pairs},
    sections=(
        Section(
            "sorted", "Each head off in turn",
            "The changes of the map in order, with 95 % confidence intervals over texts, and below every "
            "head, the worst cut first. How many stand clear of the line?",
            (
                cutting.effects_in_order(),
                Listing("effects", *CHANGED, "importance", title="Every head, the worst cut first",
                        rows=_worst_first),
            ),
            short="Heads",
        ),
        Section(
            "survivors", "One head left",
            "All heads of a layer are cut but the one that is named, layer by layer; a line is the 95 % confidence "
            "interval.",
            (
                *(
                    charts.dots("left", "label", column, key=f"left-{what}", style=Style(zero=True),
                                title=f"{what.capitalize()} with one head left")
                    for what, column in (("score", "change"), ("loss", "loss_change"))
                ),
                Listing("left", *CHANGED),
            ),
            short="Survivors", width="half",
        ),
        Section(
            "importance", "Importance by gradients",
            f"{cutting.GRADIENTS_LEAD} Gradients are from the texts to choose on, changes from the others, so that "
            "what is odd about a text cannot make the two agree.",
            (
                cutting.against_gradients("ablation", "importance", key="gradients"),
                Listing(*AGREED, where={"with": ["importance", "first order"]}),
            ),
            short="Importance",
        ),
        Section(
            "other", "The same heads elsewhere",
            "Each dot is a head: what cutting it does on one corpus, and on the other. Heads that matter anywhere "
            "lie along a rising line; heads that matter to one corpus alone lie along an axis.",
            (
                *(
                    charts.scatter("pairs", column, f"other_{column}", key=f"other-{what}", style=Style(zero=True),
                                   title=f"{what.capitalize()} on both corpora")
                    for what, column in (("score", "change"), ("loss", "loss_change"))
                ),
                Listing(*AGREED, where={"with": "other corpus"}),
                Listing("other", *CHANGED, title="Every head there"),
            ),
            short="Elsewhere", width="half",
        ),
    ),
    words={
        "cut": "the head's output is multiplied by zero before it meets the others, and nothing else is changed.",
        "change": "the score of the cut model minus that of the whole one, on the same texts.",
        "survivor": "the one head that a layer is left with; of all of them the one that leaves most of the score, "
        "chosen on other texts than it is scored on.",
        "p": "by a paired permutation over texts: the share of shuffles, in which whole and cut model swap their "
             "marks text by text, that differ as much; after Holm's correction for the number of cuts.",
        **words("head 8-10"),
    },
    limits={
        "One at a time.": "A head may be cut without loss because another does the same work; cutting both may hurt. "
        "See `attlas prune` for many at once.",
        "Zero is a strange output.": "The layers above have never seen it; some of a change is their surprise. With "
        "`--means` a cut head gives its mean output instead.",
        "Not significant is not the same as no effect.": "With few texts only large effects show; look at the "
        "intervals.",
        "The best of many is partly luck.": "Survivors are chosen on other texts than they are scored on; the most "
        "harmful and the most useful head of the map are not.",
        "The task decides.": "A head that this task can do without may matter to another.",
    },
    unshown={
        "whole": "its figures stand among the findings", "survivors": "shown as the table left, with how bad each is",
    },
    published="; ".join(PUBLISHED.values()) + ".",
)  # fmt: skip
