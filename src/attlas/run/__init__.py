"""Carrying out a study: a plan, batches, progress, and going on after an interruption.

A :class:`Plan` writes down all that decides a run's numbers. :func:`carry_out` takes the items batch by batch through
a study on this machine, and leaves a checkpoint every so often; with the same plan it can be resumed and ends with
the same bits as if nothing had happened.
"""

from attlas.run.batches import batches
from attlas.run.local import carry_out
from attlas.run.plan import Plan, differences
from attlas.run.progress import Progress, Silent, progress_on

__all__ = ["Plan", "Progress", "Silent", "batches", "carry_out", "differences", "progress_on"]
