"""How well does each head find the governor of a word, relation by relation? (Clark et al. 2019)"""

from __future__ import annotations

from attlas.studies import Fits, Study

STUDY = Study(
    "relations",
    call="attlas.studies.relations.call:relations",
    page="attlas.studies.relations.page:PAGE",
    fits=Fits(needs=("treebank",), by_text="attlas.studies.relations.by_text:by_text"),
    sayings="attlas.studies.relations.sayings:SAYINGS",
)
