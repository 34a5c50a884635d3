"""Columns that several studies of cutting heads have in their tables."""

from __future__ import annotations

from attlas.store.schema import Column

FAMILY = "all cuts of the table (Holm)"
EFFECTS = (
    Column("score", "score", "number", "of the cut model, by the task's score"),
    Column(
        "change", "change of score", "signed", "score of the cut model minus that of the whole one",
        ends=("low", "high"), head=True, apart=True, p="p_corrected", called="change of score when cut",
    ),
    Column("p", "p, raw", "p", "of no change: paired permutation over texts, two-sided"),
    Column("p_corrected", "p", "p", "the same, corrected", family=FAMILY, was="corrected"),
    Column("loss", "loss", "number", "of the cut model, in nats"),
    Column(
        "loss_change", "change of loss", "signed", "loss of the cut model minus that of the whole one",
        ends=("loss_change_low", "loss_change_high"), head=True, apart=True, p="loss_p_corrected",
        called="change of loss when cut",
    ),
    Column("loss_change_low", "change of loss, from", "signed", "lower end of its 95 % interval", was="loss_low"),
    Column("loss_change_high", "change of loss, to", "signed", "upper end of its 95 % interval", was="loss_high"),
    Column("loss_p", "p of loss, raw", "p", "of no change of the loss"),
    Column("loss_p_corrected", "p of loss", "p", "the same, corrected", family=FAMILY, was="loss_corrected"),
    Column("n", "texts", "count"),
)  # fmt: skip
GRADIENTS = (
    Column("importance", "E|dL/dξ|", "number", "importance by gradients, on the texts that are not scored",
           optional=True, definition="Michel et al. 2019"),
    Column("normalised", "of its layer", "share", "divided by the Euclidean norm of its layer's", optional=True),
    Column("signed", "mean dL/dξ", "signed", "the same with its sign", optional=True),
)  # fmt: skip
STANDING = (
    Column("metric", "score is"),
    Column("better", "better when"),
    Column("score", "score", "number", "of the whole model", chance="chance"),
    Column("chance", "by chance", "number", "what one gets without a model, where the score has such a thing",
           was="baseline"),
    Column("guess", "chance is", meaning="what gives the score by chance", optional=True),
    Column("gain", "better than chance by", "signed", "the difference on the same texts, by unit",
           ends=("gain_low", "gain_high"), optional=True),
    Column("units", "units", "count", "what intervals take as independent: texts, or documents", optional=True),
)  # fmt: skip
CORRELATED = (
    Column("spearman", "Spearman", "share", "rank correlation", ends=("spearman_low", "spearman_high")),
    Column("spearman_p", "p of Spearman", "p", "of no correlation, two-sided"),
    Column("pearson", "Pearson", "share", "linear correlation", ends=("pearson_low", "pearson_high")),
    Column("pearson_p", "p of Pearson", "p", "of no correlation, two-sided"),
    Column("n", "heads", "count"),
)
