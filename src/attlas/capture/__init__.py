"""Capture: a model under study, the instruments that go on its seam, and looking at single texts.

>>> subject = load()
>>> gates = Gates.closed(subject.named(["1-4"]), subject.layout.heads)
>>> with subject.use(gates):
...     without = subject.look("The farmer slept.")
"""

from attlas.capture.check import Finding, examine
from attlas.capture.instruments import Fold, Gates, Override, Recorder
from attlas.capture.look import Capture, as_passage
from attlas.capture.selection import ALL, Selection
from attlas.capture.subject import Subject, load

__all__ = [
    "ALL",
    "Capture",
    "Finding",
    "Fold",
    "Gates",
    "Override",
    "Recorder",
    "Selection",
    "Subject",
    "as_passage",
    "examine",
    "load",
]
