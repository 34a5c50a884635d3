"""Columns that the tables of several studies of key words have."""

from __future__ import annotations

from attlas.store.schema import Column

MEASURE = Column("measure", "measure", meaning="weight, or norm (of weight times vector)")
OVER = Column("over", "over", meaning="mean or max, over the words that attend")
AT = Column("at", "phrases", meaning="so many first phrases of each text count; M: all that were found",
            labels={"5": "first 5", "10": "first 10", "M": "all found", "": ""})  # fmt: skip
GOLD = Column("gold", "against", meaning="which of the phrases that people gave count",
              labels={"all": "all given", "present": "those in the text", "": ""})  # fmt: skip
SCORES = (
    Column("f1", "F1", "share", "counted over all texts (micro); phrases are compared whole, by their stems",
           ends=("low", "high")),
    Column("precision", "precision", "share"),
    Column("recall", "recall", "share"),
    Column("macro", "mean of texts' F1", "share", ends=("macro_low", "macro_high")),
)  # fmt: skip
TEXTS = Column("n", "texts", "count")
