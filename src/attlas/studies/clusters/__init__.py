"""Which heads attend alike, and do heads of one layer lie together? (Clark et al. 2019)"""

from __future__ import annotations

from attlas.studies import Fits, Study

STUDY = Study(
    "clusters",
    call="attlas.studies.clusters.call:clusters",
    page="attlas.studies.clusters.page:PAGE",
    fits=Fits(),
)
