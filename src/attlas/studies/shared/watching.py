"""Studies that ask all they want at the seam, and several of them in one pass.

Such a study opens a *pass* for every batch: it is handed each call at the seam, reduces it at once, and gives what it
has learned to a bundle when the model is through. Since a pass does not run the model itself, any number of them can
watch the same forward pass; what one has computed (the weights, the heads' outputs) is there for the next.

The steps are apart, so that a GPU is kept busy: opening a pass needs the texts alone and may be done ahead of time,
in another thread; what is taken stays on the device until the model is through, and comes over in one piece while the
next batch is under way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch

from attlas.capture import Fold, Subject
from attlas.models import AttentionCall, Batch, Example
from attlas.run.trimming import give_back_freed
from attlas.stats import Bundle


class Pass(ABC):
    """One forward pass of one study."""

    @abstractmethod
    def take(self, call: AttentionCall) -> None:
        """Reduce one call to something small; nothing in here should wait for the device."""

    @abstractmethod
    def land(self) -> None:
        """The model is through: put together what all layers have left, and have it brought over from the device."""

    @abstractmethod
    def give(self, bundle: Bundle) -> None:
        """Take what the whole pass has shown into the bundle."""


class Ready(NamedTuple):
    """A batch that is ready for the model, and the passes that will watch it, by their studies' names."""

    made: Batch
    passes: dict[str, Pass]


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

    @property
    def overlaps(self) -> bool:
        """Whether the model's device works by itself."""
        return overlaps([self])

    def prepare(self, batch: Sequence[Example]) -> Ready | None:
        """Pad a batch, and find out what is known of it before the model runs."""
        return prepare(batch, [self])

    def launch(self, ready: Ready | None) -> Callable[[Bundle], None]:
        """Run the model on a batch that is ready."""
        passes = run(self.subject, ready)

        def give(bundle: Bundle) -> None:
            for pass_ in passes.values():
                pass_.give(bundle)

        return give

    def update(self, bundle: Bundle, batch: Sequence[Example]) -> None:
        """Run a batch through the model, and take what it shows into the bundle."""
        self.launch(self.prepare(batch))(bundle)


def overlaps(studies: Sequence[Watcher]) -> bool:
    """Whether the device of these studies' model goes on with its work while we go on with ours.

    >>> overlaps([])
    False
    """
    return any(study.subject.device.type == "cuda" for study in studies)


def prepare(batch: Sequence[Example], studies: Sequence[Watcher]) -> Ready | None:
    """A batch made ready for the model, and for every study that will watch it; nothing where there is nothing to
    read, or nobody to watch.

    >>> prepare([], []) is None
    True
    """
    if not batch or not studies:
        return None
    subject = studies[0].subject
    made = subject.pieces.batch(batch, subject.device)
    return Ready(made, {study.name: study.begin(made, batch) for study in studies})


def run(subject: Subject, ready: Ready | None) -> Mapping[str, Pass]:
    """Run the model once over a batch that is ready, and give the passes that have watched it.

    >>> from attlas.capture import load
    >>> run(load(), None)
    {}
    """
    if ready is None:
        return {}
    folds = [Fold(pass_.take) for pass_ in ready.passes.values()]
    if subject.device.type == "cpu":  # a GPU's tensors are not the C library's
        folds.append(Fold(_tidy))
    with torch.no_grad(), subject.use(*folds):
        subject.read(ready.made)
        for pass_ in ready.passes.values():
            pass_.land()
    return ready.passes


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

    @property
    def overlaps(self) -> bool:
        """Whether the model's device works by itself."""
        return overlaps(list(self.studies.values()))

    def prepare(self, batch: Sequence[Example]) -> Ready | None:
        """Pad a batch, and find out what each study must know of it before the model runs."""
        return prepare(batch, list(self.studies.values()))

    def launch(self, ready: Ready | None) -> Callable[[Bundle], None]:
        """Run the model on a batch that is ready, for all of them."""
        passes = run(next(iter(self.studies.values())).subject, ready) if ready is not None else {}

        def give(bundle: Bundle) -> None:
            for name, pass_ in passes.items():
                pass_.give(part(bundle, name))

        return give

    def update(self, bundle: Bundle, batch: Sequence[Example]) -> None:
        """Take one batch through the model, for all of them."""
        self.launch(self.prepare(batch))(bundle)


def part(bundle: Bundle, name: str) -> Bundle:
    """One study's bundle among several.

    >>> len(part(Bundle({"survey": Bundle({})}), "survey"))
    0
    """
    own = bundle[name]
    assert isinstance(own, Bundle)
    return own
