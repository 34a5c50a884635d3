"""How much does a loss depend on each head, to first order? (Michel et al. 2019)"""

from __future__ import annotations

from attlas.studies import Fits, Study

STUDY = Study(
    "importance",
    call="attlas.studies.importance.call:importance",
    page="attlas.studies.importance.page:PAGE",
    group="cut",
    fits=Fits(needs=("task",)),
    sayings="attlas.studies.importance.sayings:SAYINGS",
)
