"""Studies: one question each, one folder each, one record each.

A study's folder holds some small modules, none of which another study needs:

- ``__init__`` has its record, :data:`STUDY`: a name, where its call and its page are to be found, and nothing heavy;
- ``call`` is the study as one function, ``study(subject, corpus, task, ...)``, from whose signature its command is
  made;
- ``passes`` says what is summed batch by batch (torch), ``tables`` what tables are made of the sums (numpy);
- ``page`` declares the columns of its tables and its page;
- ``sayings``, where there is one, what it has to say of single heads in an atlas.

What several studies are made of lies in ``shared``. Studies are found, not listed: :func:`studies` walks this package
and asks installed packages for the entry point ``attlas.studies``; a study from outside gets a command, ``--resume``,
a manifest and a page like any other, and one that is broken is a warning in one line.
"""

from __future__ import annotations

import pkgutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from attlas.errors import AttlasError, StudyWarning

if TYPE_CHECKING:
    from attlas.evidence.saying import Saying
    from attlas.pages import Page

GROUPS = {
    "look": "Look at attention",
    "measure": "Measure every head",
    "cut": "Cut heads",
    "test": "Test whether attention explains",
    "use": "Use attention, and train models for it",
}
ENTRY_POINTS = "attlas.studies"


@dataclass(frozen=True)
class Fits:
    """How a study takes part in an atlas (:mod:`attlas.making`): what it needs, and how it is called there.

    ``needs`` are names of what a model and a corpus must have (``attlas.making.needs.NEEDS`` lists them: a treebank,
    coreference, a task ...), or places of functions of a subject and a corpus, "package.module:function", that give a
    sentence about what is lacking, else nothing. A ``heavy`` study takes part only where it is named. One that
    ``gives`` the results of other studies in one pass, each in a folder of its name, is run in their place where all
    of them are wanted. ``options`` are what it is called with, ``by_text`` is the place of a function that gives its
    figures of single texts, for examples.

    >>> Fits(needs=("treebank",)).heavy
    False
    """

    needs: tuple[str, ...] = ()
    heavy: bool = False
    gives: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    by_text: str = ""


@dataclass(frozen=True)
class Study:
    """The record of a study: names of things, imported only when they are asked for.

    ``call`` and ``page`` are places, "package.module:name". ``group`` says where its command is listed; ``command``
    are the words of its command, where these are others than its name. ``after`` is the place of a function that
    prints what the call has given, where that is not one result with a page; ``--json`` prints what its method
    ``as_json`` gives instead. ``lines`` is the place of a function
    that takes what the call takes and gives one record after another, where ``--json`` prints those, a line each, and
    no result is written. ``fits`` says how it takes part in an atlas, where it does, and ``sayings`` is the place of
    what it has to say of single heads there (:mod:`attlas.evidence.saying`); figures of a study of another package
    that has none are told in general words.

    >>> Study("survey", "attlas.studies.survey.call:survey").words
    ('survey',)
    """

    name: str
    call: str
    page: str = ""
    group: str = "measure"
    command: str = ""
    after: str = ""
    lines: str = ""
    fits: Fits | None = None
    sayings: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its command.

        >>> Study("faith-chunking", "x:y", command="faith chunking").words
        ('faith', 'chunking')
        """
        return tuple((self.command or self.name).split())

    @property
    def python_name(self) -> str:
        """What it is called in Python: ``attlas.NAME``.

        >>> Study("faith-chunking", "x:y").python_name
        'faith_chunking'
        """
        return self.name.replace("-", "_")

    def load_call(self) -> Callable[..., Any]:
        """The study as a function."""
        found: Callable[..., Any] = _place(self.call)
        return found

    def load_page(self) -> Page:
        """The record of its page."""
        if not self.page:
            raise AttlasError(f"the study {self.name!r} has no page; its tables can be read directly")
        found: Page = _place(self.page)
        return found

    def load_after(self) -> Callable[[Any], None] | None:
        """What prints the outcome of its call, where that is not one result."""
        return _place(self.after) if self.after else None

    def load_sayings(self) -> Sequence[Saying]:
        """What it has to say of single heads."""
        return _place(self.sayings) if self.sayings else ()

    def load_lines(self) -> Callable[..., Iterator[dict[str, Any]]] | None:
        """What gives record after record for ``--json``, where there is such a thing."""
        return _place(self.lines) if self.lines else None


@cache
def studies() -> dict[str, Study]:
    """All studies by name: those of this package, then those of other packages.

    >>> studies()["importance"].group
    'cut'
    """
    found = {}
    for module in pkgutil.iter_modules(__path__):
        if module.ispkg and module.name != "shared":
            record = getattr(import_module(f"{__name__}.{module.name}"), "STUDY", None)
            if isinstance(record, Study):
                found[record.name] = record
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        record = _from_outside(entry)
        if record is None:
            continue
        if record.name in found:
            warnings.warn(
                f"the study {record.name!r} of {entry.value} was left out: there is one of that name", stacklevel=2
            )
            continue
        found[record.name] = record
    return found


def _from_outside(entry: Any) -> Study | None:
    """The study of another package; a broken one is told in one line and left out."""
    try:
        record = entry.load()
        if not isinstance(record, Study):
            raise TypeError(f"{entry.value} is no attlas.Study")
        record.load_call()
    except Exception as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        warnings.warn(f"the study {entry.name!r} was left out: {why}", StudyWarning, stacklevel=2)
        return None
    return record


def _place(where: str) -> Any:
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)
