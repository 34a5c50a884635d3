"""How much of a dependency tree do all heads hold together? (Clark et al. 2019, section 6)"""

from __future__ import annotations

from attlas.studies import Fits, Study

STUDY = Study(
    "parse",
    call="attlas.studies.parse.call:parse",
    page="attlas.studies.parse.page:PAGE",
    group="measure",
    fits=Fits(needs=("treebank",), heavy=True),
)
