"""The measures of attention by the names that every command, call and table has for them.

``weight`` is the softmax output alpha, ``norm`` is ||alpha f(x)|| (:mod:`attlas.measures.norms`). Both belong to one
head. What all heads of a layer bring together is their joint norm, which has no weight to stand beside.
"""

from __future__ import annotations

from attlas.errors import CapabilityError

MEASURES = ("weight", "norm")


def check_measure(measure: str) -> str:
    """Refuse a measure that does not exist.

    >>> check_measure("weights")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: there is no measure 'weights'; choose weight or norm
    """
    if measure not in MEASURES:
        raise CapabilityError(f"there is no measure {measure!r}; choose {' or '.join(MEASURES)}")
    return measure
