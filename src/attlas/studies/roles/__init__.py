"""What do a model's heads do? Every published definition of a head's role, scored, compared, and put to the test."""

from __future__ import annotations

from attlas.studies import Fits, Study

STUDY = Study(
    "roles",
    call="attlas.studies.roles.call:roles",
    page="attlas.studies.roles.page:PAGE",
    group="measure",
    fits=Fits(by_text="attlas.studies.roles.by_text:by_text"),
    sayings="attlas.studies.roles.sayings:SAYINGS",
)
