"""What does a model lose without each of its heads, and what can a layer do with one? (Michel et al. 2019)"""

from __future__ import annotations

from attlas.studies import Fits, Study

STUDY = Study(
    "ablate",
    call="attlas.studies.ablate.call:ablate",
    page="attlas.studies.ablate.page:PAGE",
    group="cut",
    fits=Fits(needs=("task",), heavy=True),
    sayings="attlas.studies.shared.cutting.sayings:SAYINGS",
)
