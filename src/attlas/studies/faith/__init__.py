"""Does attention explain what a model decides? Explanations side by side, erasing, and attention changed by hand.

The parts: what is explained (:mod:`~attlas.studies.faith.instances`), by which explanations
(:mod:`~attlas.studies.faith.explanations`), how well these agree (:mod:`~attlas.studies.faith.agreement`), what
erasing the words they name does (:mod:`~attlas.studies.faith.erasing`), and the card that sums it all up
(:mod:`~attlas.studies.faith.card`). Attention is changed by :mod:`~attlas.studies.faith.interventions` and
:mod:`~attlas.studies.faith.adversary`, both on :mod:`~attlas.studies.faith.last`. The chunking study has its own:
what is trained (:mod:`~attlas.studies.faith.trainings`), what is written down of it
(:mod:`~attlas.studies.faith.taggers`), where the curve bends (:mod:`~attlas.studies.faith.bend`), and the tables
(:mod:`~attlas.studies.faith.chunking_tables`).
"""
