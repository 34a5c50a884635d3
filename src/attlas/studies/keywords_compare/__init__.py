"""How do key phrases from attention compare with those of other methods that need no training?"""

from __future__ import annotations

from attlas.studies import Study

STUDY = Study(
    "keywords-compare",
    call="attlas.studies.keywords_compare.call:keywords_compare",
    page="attlas.studies.keywords_compare.page:PAGE",
    group="use",
    command="keywords compare",
)
