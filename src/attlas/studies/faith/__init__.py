"""Does attention explain what a model decides? Explanations side by side, erasing, and attention changed by hand.

What the tables are made of: explanations (:mod:`~attlas.studies.faith.explanations`) of all instances
(:mod:`~attlas.studies.faith.explaining`), how well these agree (:mod:`~attlas.studies.faith.agreement`), what erasing
the words they name does (:mod:`~attlas.studies.faith.erasing`), what other attention does
(:mod:`~attlas.studies.faith.interventions`), and the card that sums it all up (:mod:`~attlas.studies.faith.card`).
"""

from __future__ import annotations

from attlas.studies import Fits, Study

STUDY = Study(
    "faith",
    call="attlas.studies.faith.call:faith",
    page="attlas.studies.faith.page:PAGE",
    group="test",
    fits=Fits(needs=("labels",), heavy=True),
)
