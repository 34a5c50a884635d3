"""Drawing lots: the choices a plot makes among the words of its world.

All chance in the sample corpus comes through here, from one generator, so that a seed fixes the whole corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from tools.sample.lexicon import Place, Task, World
from tools.sample.phrases import name, noun, pp, unmarked
from tools.sample.tree import Node

_Choice = TypeVar("_Choice")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Draw:
    """Choices in one world.

    >>> from tools.sample.worlds import WORLDS
    >>> Draw(WORLDS[0], Random(0)).world.name
    'farm'
    """

    def __init__(self, world: World, rng: Random) -> None:
        self.world = world
        self.rng = rng

    def pick(self, options: Sequence[_Choice]) -> _Choice:
        """One of several.

        >>> from tools.sample.worlds import WORLDS
        >>> Draw(WORLDS[0], Random(0)).pick(["yes"])
        'yes'
        """
        return self.rng.choice(options)

    def one(self, *makers: Callable[[], _Choice]) -> _Choice:
        """What one of several functions makes; the others are not called, so they mention nothing.

        >>> from tools.sample.worlds import WORLDS
        >>> Draw(WORLDS[0], Random(0)).one(lambda: 1, lambda: 1)
        1
        """
        return self.rng.choice(makers)()

    def tasks(self, count: int) -> list[Task]:
        """Several different tasks of this world.

        >>> from tools.sample.worlds import WORLDS
        >>> len(Draw(WORLDS[0], Random(0)).tasks(2))
        2
        """
        return [Task.read(text) for text in self.rng.sample(self.world.tasks, count)]

    def habits(self, count: int) -> list[Task]:
        """Several different tasks that can be done day after day, because they do not stop at one thing.

        >>> from tools.sample.worlds import WORLDS
        >>> all(task.noun[-1] in "+%" for task in Draw(WORLDS[0], Random(0)).habits(3))
        True
        """
        tasks = [task for task in map(Task.read, self.world.tasks) if task.noun.endswith(("+", "%"))]
        return self.rng.sample(tasks, count)

    def spots(self, count: int) -> list[Place]:
        """Several different places of this world.

        >>> from tools.sample.worlds import WORLDS
        >>> len(Draw(WORLDS[0], Random(0)).spots(2))
        2
        """
        return [Place.read(text) for text in self.rng.sample(self.world.spots, count)]

    def day(self) -> Node:
        """A day of the week, as in "on Monday".

        >>> from tools.sample.worlds import WORLDS
        >>> Draw(WORLDS[0], Random(0)).day().upos
        'PROPN'
        """
        return pp("on", name(self.pick(_DAYS)))

    def sundays(self) -> Node:
        """The habitual "on Sundays".

        >>> from tools.sample.worlds import WORLDS
        >>> Draw(WORLDS[0], Random(0)).sundays().xpos
        'NNPS'
        """
        return pp("on", Node("Sundays", "Sunday", "PROPN", "NNPS", person="3p"))

    def site(self, relation: str = "obl") -> Node:
        """Where the world is, as in "on the farm".

        >>> from tools.sample.worlds import WORLDS
        >>> Draw(WORLDS[0], Random(0)).site().form
        'farm'
        """
        return Place.read(self.world.site).phrase(relation)

    def past_time(self) -> Node:
        """A time in the past, as an adverbial.

        >>> from tools.sample.worlds import WORLDS
        >>> Draw(WORLDS[0], Random(0)).past_time().relation in ("obl", "obl:unmarked")
        True
        """
        return self.one(
            self.day,
            lambda: unmarked(noun(self.pick(("last week", "last month", "yesterday", "last winter", "one evening")))),
            lambda: pp("in", noun(self.pick(("morning", "afternoon", "evening")), "the")),
        )
