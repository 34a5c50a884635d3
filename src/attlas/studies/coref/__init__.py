"""Which heads find the antecedents of mentions? (Clark et al. 2019)"""

from __future__ import annotations

from attlas.studies import Study

STUDY = Study(
    "coref",
    call="attlas.studies.coref.call:coref",
    page="attlas.studies.coref.page:PAGE",
    sayings="attlas.studies.coref.sayings:SAYINGS",
)
