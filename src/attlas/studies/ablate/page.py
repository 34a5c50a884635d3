"""The page of ablate: which heads a task needs, one at a time, and what a layer can do with one head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attlas.pages import Claim, Finding, Listing, Page, Prose, Row, Rows, Section, Style, Tables, charts, keyed
from attlas.pages.prose import listed, say
from attlas.pages.rows import label_of
from attlas.store.schema import PLACE, Column, Schema, is_known
from attlas.studies.shared.cutting.effects import (
    HARM,
    changes_shown,
    effect_map,
    effects_in_order,
    head_of,
    with_harm,
    worst_of,
)
from attlas.studies.shared.cutting.schemas import CORRELATED, EFFECTS

GRADIENTS = (
    Column(
        "importance", "E|dL/dξ|", "number", "importance by gradients, on the same texts", optional=True,
        definition="Michel et al. 2019", head=True,
    ),
    Column("normalised", "of its layer", "share", "divided by the Euclidean norm of its layer's", optional=True),
    Column("signed", "mean dL/dξ", "signed", "the same with its sign", optional=True),
)  # fmt: skip
ABLATION = Schema("ablation", "One row for each head that was cut.", *PLACE, *EFFECTS, *GRADIENTS)
SURVIVORS = Schema("survivors", "One row for each layer: all heads cut but the one that is named.", *PLACE, *EFFECTS)
OTHER = Schema("other", "As ablation, on the second corpus.", *PLACE, *EFFECTS)
WHOLE = Schema(
    "whole",
    "What the whole model does on the texts that are scored, and on the second corpus.",
    Column("part", "which texts", labels={"scored": "scored", "other": "second corpus"}),
    Column("corpus", "corpus"),
    Column("task", "task"),
    Column("metric", "score is"),
    Column("better", "better when"),
    Column("score", "score", "number", "of the whole model", chance="chance"),
    Column("chance", "always the most frequent label", "number", "where the score is an accuracy", was="baseline"),
    Column("loss", "loss", "number", "mean loss of a text, in nats"),
    Column("n", "texts", "count"),
)
CORRELATION = Schema(
    "correlation",
    "How figures of the same heads agree.",
    Column(
        "with", "correlation of",
        labels={
            "importance": "importance and the size of the change",
            "first order": "minus the signed gradient and the change", "other corpus": "changes on both corpora",
        },
    ),
    Column("quantity", "of"),
    *CORRELATED,
)  # fmt: skip
DRAWN = (
    Schema("effects", "The table of heads, with how bad each cut is.", *PLACE, *EFFECTS, *GRADIENTS, *HARM),
    Schema(
        "left", "The table of survivors, with how bad each is.", *PLACE, *EFFECTS, *HARM,
        Column("label", "head that is left"),
    ),
    Schema(
        "pairs", "What cutting each head did on both corpora.", *PLACE,
        Column("change", "change of score here", "signed"), Column("other_change", "there", "signed"),
        Column("loss_change", "change of loss here", "signed"), Column("other_loss_change", "there", "signed"),
        Column("sure_here", "matters here", "count"), Column("sure_there", "matters there", "count"),
        Column("sure_both", "matters on both", "count"),
    ),
)  # fmt: skip
PUBLISHED = {
    "heads": "8 of 96 heads of the encoder matter (p < 0.01), four of them for the better when cut, in a translation "
    "model of BLEU 36.05 (Michel et al. 2019)",
    "survivors": "most layers of a translation model do with one head; the last encoder-decoder layer loses 13.56 "
    "BLEU (Michel et al. 2019)",
    "other": "correlation 0.56 for translation, 0.68 for BERT on MNLI, between two test sets (Michel et al. 2019)",
}


def _whole(tables: Tables) -> Mapping[str, Any]:
    return next(iter(tables["whole"]), {"metric": "score", "better": "higher", "score": None, "chance": None})


def _effects(tables: Tables) -> Iterator[Row]:
    return with_harm(tables["ablation"], _whole(tables)["better"])


def _worst_first(tables: Tables) -> list[Row]:
    return sorted(tables["effects"], key=lambda row: (row["harm"], row["loss_change"] or 0.0), reverse=True)


def _left(tables: Tables) -> Iterator[Row]:
    for row in with_harm(tables["survivors"], _whole(tables)["better"]):
        yield {**row, "label": label_of(row)}


def _pairs(tables: Tables) -> Iterator[Row]:
    elsewhere = with_harm(tables["other"], _whole(tables)["better"])
    for here, there in zip(_effects(tables), elsewhere, strict=False):
        sure = bool(here["sure_harm"]), bool(there["sure_harm"])
        yield {
            **{name: here[name] for name in ("stream", "layer", "head", "change", "loss_change")},
            "other_change": there["change"], "other_loss_change": there["loss_change"],
            "sure_here": int(sure[0]), "sure_there": int(sure[1]), "sure_both": int(all(sure)),
        }  # fmt: skip


def answer(tables: Tables) -> Finding | None:
    """How many heads matter to the score, and which most; or to the loss, where the score shows nothing."""
    rows, whole = tables["effects"], _whole(tables)
    if not rows:
        return None
    worst, dearest = worst_of(rows), rows.largest("loss_change")[0]
    claims = _split_claims(rows, "sure_harm")
    if worst["harm"] > 0 and changes_shown(rows)[:2] != ("loss_change", "change"):
        claims += _extreme("largest", "effects", worst)
        more: Prose | str = _split(rows, "sure_harm")
        costs = say(
            "the cut that costs most is **{name}**: {change:signed} ({low:signed} to {high:signed}){luck}",
            **worst, name=head_of(worst, tables), luck=_luck(worst),
        )  # fmt: skip
    else:
        claims += (*_split_claims(rows, "sure_loss"), Claim("largest", "effects", "loss_change", keyed([dearest])))
        more = say(" and **{sure}** to the loss", sure=sum(_sides(rows, "sure_loss")))
        costs = say(
            "the loss rises most without **{name}**: {loss_change:signed} ({loss_change_low:signed} to "
            "{loss_change_high:signed})", **dearest, name=head_of(dearest, tables),
        )  # fmt: skip
    text = say(
        "**{sure} of {all} heads** matter at p < 0.01 (Holm's correction) to the {metric} of {score:number}{chance}"
        "{more}; {costs}.",
        sure=sum(_sides(rows, "sure_harm")), all=len(rows), metric=whole["metric"], score=whole["score"],
        chance=_chance(whole), more=more, costs=costs,
    )  # fmt: skip
    return Finding(text, claims, see="map", published=PUBLISHED["heads"])


def by_loss(tables: Tables) -> Iterator[Finding]:
    """How many heads matter to the loss, which is finer than a score."""
    rows, whole = tables["effects"], _whole(tables)
    if not rows or whole["metric"] == "loss":
        return
    sure, in_score = (sum(_sides(rows, column)) for column in ("sure_loss", "sure_harm"))
    yield Finding(
        say(
            "**{sure}** of {all} heads matter to the loss (p < 0.01){split}.{finer}", sure=sure, all=len(rows),
            split=_split(rows, "sure_loss"),
            finer=" A loss is finer than a score, so more heads show in it." if sure > in_score else "",
        ),
        _split_claims(rows, "sure_loss"), see="sorted",
    )  # fmt: skip


def gains(tables: Tables) -> Iterator[Finding]:
    """The cut that makes the model better, if there is one."""
    for row in tables["effects"].smallest("harm")[:1]:
        if row["harm"] < 0:
            yield Finding(
                say("The cut that gains most is {name}: {told}.", name=head_of(row, tables),
                    told=_suffered(row, tables)),
                _extreme("smallest", "effects", row), see="sorted",
            )  # fmt: skip


def survivors(tables: Tables) -> Iterator[Finding]:
    """What layers can do with one head."""
    rows, whole = tables["left"], _whole(tables)
    if not rows:
        return
    worst = worst_of(rows)
    lost, lost_in_loss = (_sides(rows, column)[0] for column in ("sure_harm", "sure_loss"))
    yield Finding(
        say(
            "Left with one head, **{rest}** of {all} layers lose no {metric} that could be told from luck, and "
            "{in_loss} nothing in the loss. Most of all suffers **layer {number} of the {stream}**: with {label} "
            "alone, {told}.",
            **worst, rest=len(rows) - lost, all=len(rows), metric=whole["metric"], in_loss=len(rows) - lost_in_loss,
            number=worst["layer"] + 1, told=_suffered(worst, tables),
        ),
        (
            Claim("count", "left", "sure_harm", value=lost, than=0),
            Claim("count", "left", "sure_loss", value=lost_in_loss, than=0), *_extreme("largest", "left", worst),
        ),
        see="survivors", published=PUBLISHED["survivors"],
    )  # fmt: skip


def agreement(tables: Tables) -> Iterator[Finding]:
    """Whether gradients put heads in the order in which cutting does."""
    of = {(row["with"], row["quantity"]): row for row in tables["correlation"].known("spearman")}
    loss, score = of.get(("importance", "loss")), of.get(("importance", "score"))
    if loss is not None:
        value = loss["spearman"]
        told = (
            "puts heads in much the same order as cutting them" if value >= 0.6
            else "says something of what cutting does, but not all" if value >= 0.3
            else "says little of what cutting does"
        )  # fmt: skip
        metric = _whole(tables)["metric"]
        more = "" if score is None or metric == "loss" else say(
            "; with that of {metric} {value:share}", metric=metric, value=score["spearman"]
        )  # fmt: skip
        yield Finding(
            say(
                "Importance by gradients {told} (rank correlation with the size of the change of loss "
                "**{spearman:share}**, {spearman_low:share} to {spearman_high:share}{more}).", **loss, told=told,
                more=more,
            ),
            (Claim("value", "correlation", "spearman", keyed([loss], "with", "quantity"), value=value),),
            see="importance",
        )  # fmt: skip


def elsewhere(tables: Tables) -> Iterator[Finding]:
    """Whether the same heads matter on the second corpus."""
    rows = tables["pairs"]
    correlations = tables["correlation"].known("pearson")
    of = {row["quantity"]: row for row in correlations if row["with"] == "other corpus"}
    if not rows or not of:
        return
    parts = [
        say("**{pearson:share}** ({pearson_low:share} to {pearson_high:share}) for {what}", **row,
            what=_whole(tables)["metric"] if quantity == "score" else "the loss")
        for quantity, row in of.items()
    ]  # fmt: skip
    counts = {name: _sides(rows, name)[0] for name in ("sure_here", "sure_there", "sure_both")}
    yield Finding(
        say(
            "On {corpus} the same heads' changes correlate with {parts}; {sure_here} heads matter here, {sure_there} "
            "there, and {sure_both} on both.",
            corpus=tables["whole"][-1]["corpus"], parts=listed(parts), **counts,
        ),
        tuple(Claim("count", "pairs", name, value=count, than=0) for name, count in counts.items())
        + tuple(Claim("value", "correlation", "pearson", keyed([row], "with", "quantity"), value=row["pearson"])
                for row in of.values()),
        see="other", published=PUBLISHED["other"],
    )  # fmt: skip


def whole_model(tables: Tables) -> Iterator[Finding]:
    """What the whole model does, here and there."""
    for row in tables["whole"]:
        loss = "" if row["metric"] == "loss" else say(", its loss {loss:number}", loss=row["loss"])
        yield Finding(
            say(
                "On {corpus} the whole model's {metric} is {score:number}{chance}{loss} ({n:count} texts).",
                **{**row, "chance": _chance(row), "loss": loss},
            ),
            (Claim("value", "whole", "score", keyed([row], "part"), value=row["score"]),),
        )


def which_texts(tables: Tables) -> Iterator[Finding]:
    """Which texts did what, where something was chosen."""
    about, options = tables.manifest.corpus, tables.options
    if not about.get("chosen_on"):
        return
    data = about.get("choose_on")
    which = str(data["name"]) if isinstance(data, Mapping) else "one half of the documents"
    done = ["survivors were chosen"] if options.get("survivors") else []
    done += ["the heads' means were taken"] if options.get("means") else []
    yield Finding(
        say(
            "{done} on {which} ({n:count} texts){rest}.", done=" and ".join(done).capitalize(), which=which,
            n=about["chosen_on"],
            rest="" if isinstance(data, Mapping) else "; all scores are from the other half",
        )
    )  # fmt: skip


def warning(tables: Tables) -> Prose | None:
    """A line where the model does no better than the most frequent label."""
    whole = _whole(tables)
    if not is_known(whole["chance"]) or whole["score"] > whole["chance"]:
        return None
    return say(
        "The model does not do this task: its {metric} of {score:number} is not above that of always giving the most "
        "frequent label ({chance:number}), so that its heads have little to lose.", **whole,
    )  # fmt: skip


def about(tables: Tables) -> str:
    """What was done."""
    means = " A head that is cut gives its mean output instead of nothing." if tables.options.get("means") else ""
    task = str(_whole(tables).get("task", "a task")).replace("{", "").replace("}", "")
    return f"**{{model}}** does the task {task} on **{{corpus}}**, as it is and without each of its heads.{means}"


def _chance(whole: Mapping[str, Any]) -> Prose | str:
    if not is_known(whole["chance"]):
        return ""
    return say(" (always the most frequent label: {chance:number})", chance=whole["chance"])


def _sides(rows: Rows, column: str) -> tuple[int, int]:
    """How many changes that are sure are for the worse, and for the better."""
    return rows.count(lambda row: row[column] > 0), rows.count(lambda row: row[column] < 0)


def _split(rows: Rows, column: str) -> str:
    worse, better = _sides(rows, column)
    return f", {worse} for the worse and {better} for the better when cut" if worse or better else ""


def _split_claims(rows: Rows, column: str) -> tuple[Claim, ...]:
    worse, better = _sides(rows, column)
    return (
        Claim("count", "effects", column, value=worse, than=0),
        Claim("count", "effects", column, value=better, than=0, below=True),
    )


def _extreme(kind: str, table: str, row: Row) -> tuple[Claim, ...]:
    known = (Claim("value", table, "change", keyed([row]), value=row["change"]),) if is_known(row["change"]) else ()
    return (Claim(kind, table, "harm", keyed([row])), *known)


def _luck(row: Row) -> str:
    return "" if row["sure_harm"] else ", which may be luck"


def _suffered(row: Row, tables: Tables) -> Prose:
    """What a cut did, to the score and to the loss."""
    whole = _whole(tables)
    loss = "" if whole["metric"] == "loss" else say(", the loss changes by {loss:signed}", loss=row["loss_change"])
    if not row["change"]:
        return say("{metric} stays as it is{loss}", metric=whole["metric"], loss=loss)
    return say(
        "{metric} goes from {before:number} to **{score:number}** ({low:signed} to {high:signed}){loss}{luck}",
        **{**row, "metric": whole["metric"], "before": whole["score"], "loss": loss, "luck": _luck(row)},
    )


PAGE = Page(
    "ablate",
    title="What does {model} lose without each head?",
    answer=answer,
    chart=effect_map(),
    about=about,
    findings=(by_loss, gains, survivors, agreement, elsewhere, whole_model, which_texts),
    warning=warning,
    schemas=(ABLATION, SURVIVORS, OTHER, WHOLE, CORRELATION, *DRAWN),
    derived={"effects": _effects, "left": _left, "pairs": _pairs},
    sections=(
        Section(
            "sorted", "Each head off in turn",
            "The changes of the map in order, each with its 95 % confidence interval from resampled texts. How many "
            "stand clear of the line? Below, every head, the worst cut first.",
            (
                effects_in_order(),
                Listing(
                    "effects", "head", "score", "change", "p_corrected", "loss_change", "loss_p_corrected",
                    "importance",
                    rows=_worst_first,
                ),
            ),
            short="Heads",
        ),
        Section(
            "survivors", "One head left",
            "All heads of a layer are cut but the one that is named, layer by layer; a line is the 95 % confidence "
            "interval.",
            (
                *(
                    charts.dots(
                        "left", "label", column, key=key, title=title, style=Style(zero=True),
                        label=f"What each layer loses when it is left with one head: {title}",
                    )
                    for key, column, title in (
                        ("left-score", "change", "Score with one head left"),
                        ("left-loss", "loss_change", "Loss with one head left"),
                    )
                ),
                Listing("left", "head", "score", "change", "p_corrected", "loss_change", "loss_p_corrected"),
            ),
            short="Survivors", width="half",
        ),
        Section(
            "importance", "Importance by gradients",
            "Each dot is a head: its importance, from one pass of gradients, against the size of what cutting it "
            "did. If gradients could stand for cutting, dots would rise from left to right.",
            (
                charts.scatter(
                    "ablation", ("importance", "normalised"), ("loss_change", "change"), key="gradients",
                    title="Gradients against cutting", size_of=True, style=Style(root=True),
                    label="Importance against the size of the measured change, one dot for each head",
                ),
                Listing("correlation", "with", "quantity", "spearman", "pearson", "n",
                        where={"with": ["importance", "first order"]}),
            ),
            short="Importance",
        ),
        Section(
            "other", "The same heads elsewhere",
            "Each dot is a head: what cutting it does on one corpus, and on the other. Heads that matter anywhere "
            "lie along a rising line; heads that matter to one corpus alone lie along an axis.",
            (
                charts.scatter("pairs", "change", "other_change", key="other-score", title="Score on both corpora",
                               style=Style(zero=True)),
                charts.scatter("pairs", "loss_change", "other_loss_change", key="other-loss",
                               title="Loss on both corpora", style=Style(zero=True)),
                Listing("correlation", "with", "quantity", "spearman", "pearson", "n",
                        where={"with": "other corpus"}),
                Listing("other", "head", "score", "change", "p_corrected", "loss_change", "loss_p_corrected",
                        title="Every head there"),
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
        "head 8-10": "the tenth head of the eighth layer, as the papers count; tables count from 0.",
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
        "whole": "its figures stand among the findings",
        "survivors": "shown as the table left, with how bad each is",
    },
    published="; ".join(PUBLISHED.values()) + ".",
)  # fmt: skip
