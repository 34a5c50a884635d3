"""Does a loss depend on attention to the places where heads rest? (Clark et al. 2019)"""

from __future__ import annotations

from attlas.studies import Fits, Study

STUDY = Study(
    "noop",
    call="attlas.studies.noop.call:noop",
    page="attlas.studies.noop.page:PAGE",
    group="test",
    fits=Fits(needs=("loss",)),
    sayings="attlas.studies.noop.sayings:SAYINGS",
)
