"""What is trained on captured things: probes that read trees off a model's attention or states.

A probe never touches the model. What it reads is captured once and written to disk (:mod:`attlas.probes.files`,
:mod:`attlas.probes.writing`), and training takes it from there batch by batch, so that memory does not grow with the
treebank. Each probe is a small torch module (:mod:`attlas.probes.attention`, :mod:`attlas.probes.structural`), all
are fitted by one loop (:mod:`attlas.probes.training`), and :mod:`attlas.probes.parse` is the study of them all.
"""
