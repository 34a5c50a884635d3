"""What attention adds up, with the vectors it multiplies, against its weights alone (Kobayashi et al. 2020)."""

from __future__ import annotations

from attlas.studies import Fits, Study

STUDY = Study(
    "norms",
    call="attlas.studies.norms.call:norms",
    page="attlas.studies.norms.page:PAGE",
    fits=Fits(needs=("norms",)),
    sayings="attlas.studies.norms.sayings:SAYINGS",
)
