"""How a role of heads is defined: as a record, so that each stands beside the others under the name of its author.

A :class:`Definition` says whose it is, which attention it applies to, what is summed, what chance would give, and how
to read it. Definitions that share texts and a pass over them form a :class:`Trial`. Both name functions by their
places ("package.module:name"), so that a page can be made of them without torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from attlas.ids import Stream
from attlas.measures.quantities import EVERYWHERE, WITHIN

CAUSAL = frozenset({Stream.DECODER})
SHARE = (0.0, 1.0)
EVEN = "even"
__all__ = ["CAUSAL", "EVEN", "EVERYWHERE", "SHARE", "WITHIN", "Definition", "Trial", "at_place"]


@dataclass(frozen=True)
class Definition:
    """One definition of what a head is.

    ``by`` is whose definition it is, and stands behind the title wherever that is written. ``reading`` says in a
    sentence what the figure is, with every choice that was made. ``streams`` are where it means anything, ``within``
    the range of a figure. ``sums`` is the place of a function of a :class:`~attlas.studies.roles.seen.Seen`, which
    gives sums and counts per text and head (empty where the trial has a part of its own). ``chance`` is "even" (the
    same sums of a head that attends evenly to what it may see), a number, or None where there is no such thing. A
    definition is ``below`` where heads of small figures are meant, and ``exact`` where its figure is one of the
    weights alone, which no draw of texts decides. ``check`` is the place of a function of a subject that gives a
    sentence where the definition does not apply to it, else nothing.

    >>> one = Definition("duplicate", "duplicate piece", "Wang et al. 2023", "Mass on the earlier occurrence.")
    >>> one.name, one.within
    ('duplicate piece (Wang et al. 2023)', (0.0, 1.0))
    """

    key: str
    title: str
    by: str
    reading: str
    sums: str = ""
    streams: frozenset[Stream] = CAUSAL
    within: tuple[float, float] = SHARE
    chance: str | float | None = EVEN
    below: bool = False
    exact: bool = False
    check: str = ""

    @property
    def name(self) -> str:
        """Title and author: a definition never goes by its title alone.

        >>> Definition("sink", "sink rate", "Gu et al. 2025", "").name
        'sink rate (Gu et al. 2025)'
        """
        return f"{self.title} ({self.by})"

    def why_not(self, subject: Any) -> str:
        """Why it does not apply to a model, in a sentence; nothing where it does.

        >>> from attlas.capture import load
        >>> Definition("prefix", "prefix matching", "Olsson et al. 2022", "").why_not(load())
        'it is defined for decoders that write from left to right, and all-MiniLM-L6-v2 has encoder attention alone'
        """
        if not self.streams & set(subject.streams):
            has = " and ".join(stream.value for stream in subject.streams)
            whom = (
                "decoders that write from left to right"
                if self.streams == CAUSAL
                else "encoders, which see all of a text"
            )
            return f"it is defined for {whom}, and {subject.name} has {has} attention alone"
        if self.streams == CAUSAL and subject.pieces.translating:
            return f"it is defined for models of one text, and {subject.name} translates"
        return str(at_place(self.check)(subject)) if self.check else ""


@dataclass(frozen=True)
class Trial:
    """Texts, a pass over them, and the definitions that are scored there.

    ``texts`` is the place of a function of a :class:`~attlas.studies.roles.texts.Setting` that makes the texts, in
    which each text is a unit, or raises a :class:`~attlas.errors.CapabilityError` with the reason where a model
    allows none. ``part`` is the place of a class (or function) of subject, definitions and setting that makes a
    :class:`~attlas.run.engine.Part`, whose bundle is that of :func:`~attlas.studies.roles.scores.empty_scores`.
    ``unit`` is what a text is called. A trial that takes long is scored only where it is asked for ``by_name``.

    >>> Trial("repeated", "random pieces, twice", "x:y", ()).part
    'attlas.studies.roles.passes:SeamScores'
    """

    key: str
    title: str
    texts: str
    definitions: Sequence[Definition]
    part: str = "attlas.studies.roles.passes:SeamScores"
    unit: str = "text"
    by_name: bool = False


def at_place(place: str) -> Any:
    """What stands at a place, "package.module:name".

    >>> at_place("attlas.ids:paper_label")(5, 2)
    '6-3'
    """
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
