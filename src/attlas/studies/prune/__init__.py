"""How many heads can go, which of them first, and a model without them? (Michel et al. 2019)"""

from __future__ import annotations

from attlas.studies import Fits, Study

STUDY = Study(
    "prune",
    call="attlas.studies.prune.call:prune",
    page="attlas.studies.prune.page:PAGE",
    group="cut",
    fits=Fits(needs=("task",), heavy=True),
)
