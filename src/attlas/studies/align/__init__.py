"""Which words of a bitext translate each other, read off attention? (Kobayashi et al. 2020, section 5)"""

from __future__ import annotations

from attlas.studies import Fits, Study

STUDY = Study(
    "align",
    call="attlas.studies.align.call:align",
    page="attlas.studies.align.page:PAGE",
    group="use",
    fits=Fits(needs=("links",), options={"aligners": ("none",)}),
    sayings="attlas.studies.align.sayings:SAYINGS",
)
