"""Does attention explain what a model decides? Explanations side by side, erasing, and attention changed by hand.

The parts: what is explained (:mod:`~attlas.studies.faith.instances`), by which explanations
(:mod:`~attlas.studies.faith.explanations`), how well these agree (:mod:`~attlas.studies.faith.agreement`), what
erasing the words they name does (:mod:`~attlas.studies.faith.erasing`), and the card that sums it all up
(:mod:`~attlas.studies.faith.card`).
"""
