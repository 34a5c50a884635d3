"""attlas: an atlas of attention.

Look at attention in one text, measure it over a corpus, cut heads to see what they were for, and test whether it
explains anything, on any Hugging Face transformer.

>>> import attlas
>>> subject = attlas.load()
>>> capture = subject.look("The farmer offered apples to the housekeeper.")
>>> capture.words(attlas.Stream.ENCODER).shape
(6, 12, 10, 10)

Names are imported when they are first used, so that ``import attlas`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attlas.capture import Capture, Fold, Gates, Override, Recorder, Selection, Subject, examine, load
    from attlas.corpora import Corpus, read
    from attlas.errors import AttlasError
    from attlas.evidence import Atlas, Saying
    from attlas.evidence.atlas import atlas
    from attlas.ids import HeadId, Site, Stream
    from attlas.making import join_atlas, make_atlas
    from attlas.models import AttentionCall, Instrument
    from attlas.run.fold import fold
    from attlas.store import Result
    from attlas.studies import Study
    from attlas.studies.reporting import write_report
    from attlas.tasks import Task
    from attlas.text import Document, Passage

__all__ = [
    "Atlas",
    "AttentionCall",
    "AttlasError",
    "Capture",
    "Corpus",
    "Document",
    "Fold",
    "Gates",
    "HeadId",
    "Instrument",
    "Override",
    "Passage",
    "Recorder",
    "Result",
    "Saying",
    "Selection",
    "Site",
    "Stream",
    "Study",
    "Subject",
    "Task",
    "ablate",
    "align",
    "atlas",
    "clusters",
    "coref",
    "examine",
    "faith",
    "faith_chunking",
    "faith_freeze",
    "fold",
    "heads",
    "importance",
    "join_atlas",
    "keywords",
    "keywords_compare",
    "keywords_study",
    "keywords_tune",
    "layers",
    "layers_case",
    "layers_convert",
    "layers_together",
    "load",
    "make_atlas",
    "noop",
    "norms",
    "parse",
    "prune",
    "read",
    "relations",
    "survey",
    "translate_train",
    "tune",
    "write_report",
]

_HOMES = {
    "attlas.capture": ("Capture", "Fold", "Gates", "Override", "Recorder", "Selection", "Subject", "examine", "load"),
    "attlas.corpora": ("Corpus", "read"),
    "attlas.errors": ("AttlasError",),
    "attlas.evidence": ("Atlas", "Saying"),
    "attlas.evidence.atlas": ("atlas",),
    "attlas.ids": ("HeadId", "Site", "Stream"),
    "attlas.making": ("join_atlas", "make_atlas"),
    "attlas.models": ("AttentionCall", "Instrument"),
    "attlas.run.fold": ("fold",),
    "attlas.studies": ("Study",),
    "attlas.studies.reporting": ("write_report",),
    "attlas.store": ("Result",),
    "attlas.tasks": ("Task",),
    "attlas.text": ("Document", "Passage"),
}

try:
    __version__ = version("attlas")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0"


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    from attlas.studies import studies

    for study in studies().values():
        if study.python_name == name:
            return study.load_call()
    raise AttributeError(f"module 'attlas' has no attribute {name!r}")


def __dir__() -> list[str]:
    from attlas.studies import studies

    return sorted({*__all__, "__version__", *(study.python_name for study in studies().values())})
