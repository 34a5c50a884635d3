"""Which words and phrases of a text matter, by attention alone? Nothing is trained."""

from __future__ import annotations

from attlas.studies import Study

STUDY = Study(
    "keywords",
    call="attlas.studies.keywords.call:keywords",
    page="attlas.studies.keywords.page:PAGE",
    group="use",
    lines="attlas.studies.keywords.call:lines",
)
