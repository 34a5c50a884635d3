"""The shape of the lexicon, and how its shorthand is read.

A :class:`World` is a place of work with its people and things. Everything in it is written in the shorthand of
:mod:`tools.sample.phrases`; places are "in the old barn", tasks are "milk the cow+ ; in the barn", where
a dash stands for no determiner and an underscore joins a verb to its particle.
"""

from __future__ import annotations

from dataclasses import dataclass

from tools.sample.phrases import noun, pp
from tools.sample.tree import Node


@dataclass(frozen=True)
class Place:
    """A preposition with its noun phrase.

    >>> [node.form for node in Place.read("in the old barn").phrase().words()]
    ['in', 'the', 'old', 'barn']
    """

    preposition: str
    by: str
    noun: str

    @classmethod
    def read(cls, text: str) -> Place:
        """Read the shorthand of a place.

        >>> Place.read("at - school").by
        ''
        """
        preposition, by, rest = text.split(" ", 2)
        return cls(preposition, {"-": "", "an": "a"}.get(by, by), rest)

    def phrase(self, relation: str = "obl") -> Node:
        """The prepositional phrase.

        >>> Place.read("near the river").phrase("nmod").relation
        'nmod'
        """
        return pp(self.preposition, noun(self.noun, self.by), relation)


@dataclass(frozen=True)
class Task:
    """Something that people of a world do: a verb, its object, perhaps where or with what.

    >>> Task.read("pick_up the basket+ ; from the cellar").verb
    'pick up'
    """

    verb: str
    by: str
    noun: str
    place: Place | None = None

    @classmethod
    def read(cls, text: str) -> Task:
        """Read the shorthand of a task.

        >>> Task.read("plant an oak").place is None
        True
        """
        main, _, where = text.partition(" ; ")
        verb, by, rest = main.split(" ", 2)
        by = {"-": "", "an": "a"}.get(by, by)
        return cls(verb.replace("_", " "), by, rest, Place.read(where) if where else None)

    def tail(self) -> tuple[Node, ...]:
        """The prepositional phrase of the task, if it has one.

        >>> len(Task.read("milk the cow+ ; in the barn").tail())
        1
        """
        return (self.place.phrase(),) if self.place else ()


@dataclass(frozen=True)
class Device:
    """A thing that breaks: what is found in it, how it is mended and with what.

    >>> Device("water_pump", "leak", "repair", "wrench").fault
    'leak'
    """

    noun: str
    fault: str
    verb: str
    tool: str


@dataclass(frozen=True)
class Keepsake:
    """A small thing that can be given, lost and found, with two things to say of it.

    >>> Keepsake("silver whistle", "shiny", "old").noun
    'silver whistle'
    """

    noun: str
    quality: str
    other: str


@dataclass(frozen=True)
class Damage:
    """A misfortune: what caused it, what it did to what, and what people did about it.

    >>> Damage("storm", "damage", "barn_roof", "cover").remedy
    'cover'
    """

    cause: str
    verb: str
    noun: str
    remedy: str


@dataclass(frozen=True)
class Building:
    """Something old that stands somewhere: who built it, its parts and what they are like, who uses it for what.

    >>> Building("stone windmill", "behind the barn", "miller", "wall+", "thick", "store their tool+").part
    'wall+'
    """

    noun: str
    place: str
    builder: str
    part: str
    quality: str
    purpose: str


@dataclass(frozen=True)
class Report:
    """Something written: what it is, what it is about, who reads it.

    >>> Report("long letter", "the drought", "mayor").reader
    'mayor'
    """

    noun: str
    topic: str
    reader: str


@dataclass(frozen=True)
class World:
    """A place of work with its people, things and tasks.

    >>> from tools.sample.worlds import WORLDS
    >>> WORLDS[0].name
    'farm'
    """

    name: str
    site: str
    roles: tuple[str, ...]
    crew: str
    public: str
    spots: tuple[str, ...]
    tasks: tuple[str, ...]
    skills: tuple[str, ...]
    projects: tuple[str, ...]
    devices: tuple[Device, ...]
    keepsakes: tuple[Keepsake, ...]
    damages: tuple[Damage, ...]
    buildings: tuple[Building, ...]
    reports: tuple[Report, ...]
    sights: tuple[str, ...]
    goods: tuple[str, ...]
    events: tuple[str, ...]
