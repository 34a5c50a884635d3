"""What the studies of attention as explanation share: what is explained
(:mod:`~attlas.studies.shared.faith.instances`), the model with other attention in its last layers
(:mod:`~attlas.studies.shared.faith.last`), adversaries (:mod:`~attlas.studies.shared.faith.adversary`), and what
their pages show alike: the plane of attention and output (:mod:`~attlas.studies.shared.faith.plane`) and a text
under two kinds of attention (:mod:`~attlas.studies.shared.faith.pairs`).
"""
