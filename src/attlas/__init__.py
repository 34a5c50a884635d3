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
    from attlas.ids import HeadId, Site, Stream
    from attlas.models import AttentionCall, Instrument
    from attlas.reports import write_report
    from attlas.run.ablate import ablate
    from attlas.run.align import align
    from attlas.run.clusters import clusters
    from attlas.run.coref import coref
    from attlas.run.faith import faith
    from attlas.run.faith_chunking import faith_chunking
    from attlas.run.fold import fold
    from attlas.run.heads import heads
    from attlas.run.importance import importance
    from attlas.run.keywords import keywords
    from attlas.run.keywords_compare import keywords_compare
    from attlas.run.keywords_study import keywords_study
    from attlas.run.keywords_tune import keywords_tune
    from attlas.run.layers import layers
    from attlas.run.layers_case import layers_case
    from attlas.run.layers_together import layers_together
    from attlas.run.noop import noop
    from attlas.run.norms import norms
    from attlas.run.parse import parse
    from attlas.run.prune import prune
    from attlas.run.relations import relations
    from attlas.run.survey import survey
    from attlas.run.translate_train import translate_train
    from attlas.run.tune import tune
    from attlas.store import Result
    from attlas.tasks import Task
    from attlas.text import Document, Passage

__all__ = [
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
    "Selection",
    "Site",
    "Stream",
    "Subject",
    "Task",
    "ablate",
    "align",
    "clusters",
    "coref",
    "examine",
    "faith",
    "faith_chunking",
    "fold",
    "heads",
    "importance",
    "keywords",
    "keywords_compare",
    "keywords_study",
    "keywords_tune",
    "layers",
    "layers_case",
    "layers_together",
    "load",
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
    "attlas.ids": ("HeadId", "Site", "Stream"),
    "attlas.models": ("AttentionCall", "Instrument"),
    "attlas.reports": ("write_report",),
    "attlas.run.ablate": ("ablate",),
    "attlas.run.align": ("align",),
    "attlas.run.clusters": ("clusters",),
    "attlas.run.coref": ("coref",),
    "attlas.run.faith": ("faith",),
    "attlas.run.faith_chunking": ("faith_chunking",),
    "attlas.run.fold": ("fold",),
    "attlas.run.importance": ("importance",),
    "attlas.run.keywords": ("keywords",),
    "attlas.run.keywords_compare": ("keywords_compare",),
    "attlas.run.keywords_study": ("keywords_study",),
    "attlas.run.keywords_tune": ("keywords_tune",),
    "attlas.run.layers": ("layers",),
    "attlas.run.layers_case": ("layers_case",),
    "attlas.run.layers_together": ("layers_together",),
    "attlas.run.noop": ("noop",),
    "attlas.run.norms": ("norms",),
    "attlas.run.parse": ("parse",),
    "attlas.run.prune": ("prune",),
    "attlas.run.heads": ("heads",),
    "attlas.run.relations": ("relations",),
    "attlas.run.survey": ("survey",),
    "attlas.run.translate_train": ("translate_train",),
    "attlas.run.tune": ("tune",),
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
    raise AttributeError(f"module 'attlas' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
