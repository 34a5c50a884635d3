"""Carrying out a study: a plan, batches, progress, and going on after an interruption.

A :class:`Plan` writes down all that decides a run's numbers. An engine (``LOCAL`` is that of this machine) takes the
batches of a source through a part of a study, and leaves a checkpoint every so often; with the same plan it can be
resumed and ends with the same bits as if nothing had happened.
"""

from attlas.run.batches import batches
from attlas.run.course import Keeping
from attlas.run.local import LOCAL
from attlas.run.plan import Plan, differences
from attlas.run.progress import Progress, Silent, progress_on
from attlas.run.source import Listed, Source

__all__ = [
    "LOCAL",
    "Keeping",
    "Listed",
    "Plan",
    "Progress",
    "Silent",
    "Source",
    "batches",
    "differences",
    "progress_on",
]
