"""Can a tagger be trained to attend elsewhere and tag the same? (Yang; Wiegreffe & Pinter 2019)

What is trained (:mod:`~attlas.studies.faith_chunking.trainings`) and how
(:mod:`~attlas.studies.faith_chunking.passes`), what is written down of it
(:mod:`~attlas.studies.faith_chunking.taggers`), where the curve bends (:mod:`~attlas.studies.faith_chunking.bend`),
and the tables (:mod:`~attlas.studies.faith_chunking.tables`).
"""

from __future__ import annotations

from attlas.studies import Study

STUDY = Study(
    "faith-chunking",
    call="attlas.studies.faith_chunking.call:faith_chunking",
    page="attlas.studies.faith_chunking.page:PAGE",
    group="test",
    command="faith chunking",
)
