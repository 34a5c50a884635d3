"""Which heads find the antecedents of mentions? (Clark et al. 2019)"""

from __future__ import annotations

from attlas.studies import Fits, Study

STUDY = Study(
    "coref",
    call="attlas.studies.coref.call:coref",
    page="attlas.studies.coref.page:PAGE",
    fits=Fits(needs=("coreference",), by_text="attlas.studies.coref.by_text:by_text"),
    sayings="attlas.studies.coref.sayings:SAYINGS",
)
