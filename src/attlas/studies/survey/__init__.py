"""Where does every head look? Its attention over a whole corpus, in weights and in norms (Clark et al. 2019)."""

from __future__ import annotations

from attlas.studies import Fits, Study

STUDY = Study(
    "survey",
    call="attlas.studies.survey.call:survey",
    page="attlas.studies.survey.page:PAGE",
    group="measure",
    fits=Fits(by_text="attlas.studies.survey.by_text:by_text"),
    sayings="attlas.studies.survey.sayings:SAYINGS",
)
