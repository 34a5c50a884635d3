"""Which heads know the key words of a text, and what do all of them know together? (Štefánik)"""

from __future__ import annotations

from attlas.studies import Fits, Study

STUDY = Study(
    "keywords-study",
    call="attlas.studies.keywords_study.call:keywords_study",
    page="attlas.studies.keywords_study.page:PAGE",
    group="use",
    command="keywords study",
    fits=Fits(needs=("key phrases",), heavy=True),
    sayings="attlas.studies.keywords_study.sayings:SAYINGS",
)
