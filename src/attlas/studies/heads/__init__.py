"""The survey, the relations and the clusters of a treebank's sentences, in one pass over them."""

from __future__ import annotations

from attlas.studies import Fits, Study

STUDY = Study(
    "heads",
    call="attlas.studies.heads.call:heads",
    group="measure",
    fits=Fits(needs=("treebank",), gives=("survey", "relations", "clusters")),
)
