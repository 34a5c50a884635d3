"""Edge probing (Tenney et al.): which layers know what about spans of words and pairs of them.

An *edge* is a span, or a pair of spans, with labels. The model is frozen; its states are captured once, in half
precision, into a file that is mapped into memory (:mod:`attlas.probes.edges.states`). On them a *series* of small
probes is trained in one pass over the data (:mod:`attlas.probes.edges.series`, :mod:`attlas.probes.edges.training`):
each mixes the layers that it may see, and they share no parameter, so that each is what it would have become alone.
:mod:`attlas.probes.edges.layout` turns edges of words into rows of pieces and numbered labels, and
:mod:`attlas.probes.edges.summary` and :mod:`attlas.probes.edges.tables` into what a person wants to know.
"""
