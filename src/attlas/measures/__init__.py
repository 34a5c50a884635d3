"""Measures: pure functions of tensors, from what stands at the seam to numbers per head.

Nothing here runs a model or keeps state. See :mod:`attlas.measures.rows` for the statistics of attention that never
build the matrix, and :mod:`attlas.measures.norms` for ||alpha f(x)||.
"""
