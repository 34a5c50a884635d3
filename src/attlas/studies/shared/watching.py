"""Studies that ask all they want at the seam, and several of them in one pass.

Such a study opens a *pass* for every batch: it is handed each call at the seam, reduces it at once, and gives what it
has learned to a bundle when the model is through. Since a pass does not run the model itself, any number of them can
watch the same forward pass; what one has computed (the weights, the heads' outputs) is there for the next.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol

import torch

from attlas.capture import Fold, Subject
from attlas.models import AttentionCall, Batch, Example
from attlas.run.trimming import give_back_freed
from attlas.stats import Bundle


class Pass(Protocol):
    """One forward pass of one study."""

    def take(self, call: AttentionCall) -> None:
        """Reduce one call to something small."""

    def give(self, bundle: Bundle) -> None:
        """Take what the whole pass has shown into the bundle."""


class Watcher(ABC):
    """A study that watches forward passes: its name, as the command line has it, and the model under study."""

    name: str
    subject: Subject

    @abstractmethod
    def empty(self) -> Bundle:
        """A bundle that has seen nothing."""

    @abstractmethod
    def begin(self, made: Batch, batch: Sequence[Example]) -> Pass:
        """Open a pass for a batch, ``made`` of these examples."""

    def update(self, bundle: Bundle, batch: Sequence[Example]) -> None:
        """Run a batch through the model, and take what it shows into the bundle."""
        watch(batch, (self, bundle))


def watch(batch: Sequence[Example], *watched: tuple[Watcher, Bundle]) -> None:
    """Run a batch through the model once, and let every study take from it what it wants.

    >>> watch([])  # nothing to read, nobody to watch
    """
    if not batch or not watched:
        return
    subject = watched[0][0].subject
    made = subject.pieces.batch(batch, subject.device)
    passes = [(study.begin(made, batch), bundle) for study, bundle in watched]
    with torch.no_grad(), subject.use(*(Fold(pass_.take) for pass_, _ in passes), Fold(_tidy)):
        subject.read(made)
    for pass_, bundle in passes:
        pass_.give(bundle)


def _tidy(call: AttentionCall) -> None:
    """What the layer before has freed is given back, when all have taken what they want of this one."""
    give_back_freed()


class Together:
    """Several studies of one model over one pass of the corpus.

    Their bundles lie side by side under the studies' names.

    >>> list(Together("heads", []).studies)
    []
    """

    def __init__(self, name: str, studies: Sequence[Watcher]) -> None:
        self.name = name
        self.studies: Mapping[str, Watcher] = {study.name: study for study in studies}

    def empty(self) -> Bundle:
        """The empty bundles of all."""
        return Bundle({name: study.empty() for name, study in self.studies.items()})

    def update(self, bundle: Bundle, batch: Sequence[Example]) -> None:
        """Take one batch through the model, for all of them."""
        watch(batch, *((study, part(bundle, name)) for name, study in self.studies.items()))


def part(bundle: Bundle, name: str) -> Bundle:
    """One study's bundle among several.

    >>> len(part(Bundle({"survey": Bundle({})}), "survey"))
    0
    """
    own = bundle[name]
    assert isinstance(own, Bundle)
    return own
