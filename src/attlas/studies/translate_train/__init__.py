"""A small translation model, from nothing but a bitext."""

from __future__ import annotations

from attlas.studies import Study

STUDY = Study(
    "translate-train",
    call="attlas.studies.translate_train.call:translate_train",
    group="use",
    after="attlas.studies.translate_train.call:show",
)
