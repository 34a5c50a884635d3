"""A scene: who and what a paragraph is about, what was said so far, and how to refer to it next.

The scene keeps count of when each person and thing was last mentioned. A pronoun is used only when what it stands for
was mentioned in this sentence or the one before, and when nothing else in sight takes the same pronoun; otherwise a
name or a definite description is chosen, and only one that the reader knows already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from tools.sample.draw import Draw
from tools.sample.lexicon import Task, World
from tools.sample.morphology import plural
from tools.sample.phrases import (
    apposition,
    bare,
    coordinate,
    is_plural,
    name,
    noun,
    owner,
    possessive,
    pronoun,
    punct,
)
from tools.sample.tree import Node
from tools.sample.worlds import ELDERS, KIN, MEN, SURNAMES, WOMEN

_TRAITS = ("young", "experienced", "friendly", "careful", "clever", "patient", "ambitious", "shy")


@dataclass(frozen=True)
class Entity:
    """A person, a thing or a group that a paragraph may mention more than once.

    >>> Entity("Anna", "she", "young vet", "Anna").pronoun
    'she'
    """

    chain: str
    pronoun: str
    noun: str
    name: str = ""
    surname: str = ""


class Scene(Draw):
    """One paragraph in the making.

    >>> from tools.sample.worlds import WORLDS
    >>> scene = Scene(WORLDS[0], Random(0))
    >>> barn = scene.thing("old barn")
    >>> [node.form for node in scene.a(barn).words()], scene.ref(barn).form
    (['a', 'old', 'barn'], 'it')
    """

    def __init__(self, world: World, rng: Random) -> None:
        super().__init__(world, rng)
        self.sentences: list[Node] = []
        self.keyphrases: list[str] = []
        self._entities: dict[str, Entity] = {}
        self._last: dict[str, int] = {}
        self._known: dict[str, set[str]] = {}
        self._run: dict[str, int] = {}

    # Who and what

    def person(self, gender: str = "") -> Entity:
        """A person of this world who is not in the scene yet; ``gender`` is "she", "he" or open.

        >>> from tools.sample.worlds import WORLDS
        >>> Scene(WORLDS[0], Random(0)).person("she").pronoun
        'she'
        """
        gender = gender or self.pick(("she", "he"))
        first = self.pick([n for n in (WOMEN if gender == "she" else MEN) if n not in self._entities])
        taken = {bare(other.noun) for other in self._entities.values()}
        role = self.pick([role for role in self.world.roles if role not in taken])
        return self._add(Entity(first, gender, f"{self.pick(_TRAITS)} {role}", first, self.pick(SURNAMES)))

    def pair(self) -> tuple[Entity, Entity]:
        """A woman and a man, in either order.

        >>> from tools.sample.worlds import WORLDS
        >>> sorted(person.pronoun for person in Scene(WORLDS[0], Random(0)).pair())
        ['he', 'she']
        """
        first = self.person()
        return first, self.person("he" if first.pronoun == "she" else "she")

    def thing(self, shorthand: str) -> Entity:
        """A thing, or several of a kind.

        >>> from tools.sample.worlds import WORLDS
        >>> Scene(WORLDS[0], Random(0)).thing("egg+").pronoun
        'they'
        """
        return self._add(Entity(_surface(shorthand), "they" if is_plural(shorthand) else "it", shorthand))

    def extra(self, shorthand: str, gender: str) -> Entity:
        """A person from outside, known by a noun alone.

        >>> from tools.sample.worlds import WORLDS
        >>> Scene(WORLDS[0], Random(0)).extra("dealer", "he").name
        ''
        """
        return self._add(Entity(_surface(shorthand), gender, shorthand))

    def matter(self, task: Task) -> Entity:
        """What a task is done to.

        >>> from tools.sample.worlds import WORLDS
        >>> Scene(WORLDS[0], Random(0)).matter(Task.read("milk the cow+")).chain
        'cows'
        """
        return self.thing(task.noun)

    def doing(self, task: Task, matter: Entity) -> list[Node]:
        """The object of a task, mentioned for the first time, and the rest of it.

        >>> from tools.sample.worlds import WORLDS
        >>> scene, task = Scene(WORLDS[0], Random(0)), Task.read("milk the cow+ ; in the barn")
        >>> [node.relation for node in scene.doing(task, scene.matter(task))]
        ['obj', 'obl']
        """
        return [(self.a(matter) if task.by == "a" else self.the(matter)).to("obj"), *task.tail()]

    def crew(self) -> Entity:
        """The people who work here.

        >>> from tools.sample.worlds import WORLDS
        >>> Scene(WORLDS[0], Random(0)).crew().chain
        'farm hands'
        """
        return self.thing(self.world.crew)

    def public(self) -> Entity:
        """The people who come here.

        >>> from tools.sample.worlds import WORLDS
        >>> Scene(WORLDS[0], Random(0)).public().chain
        'neighbors'
        """
        return self.thing(self.world.public)

    def crowd(self) -> Entity:
        """The people who work here, or those who come.

        >>> from tools.sample.worlds import WORLDS
        >>> Scene(WORLDS[0], Random(0)).crowd().pronoun
        'they'
        """
        return self.one(self.crew, self.public)

    def both(self, one: Entity, other: Entity) -> Entity:
        """Two people taken together.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> scene.both(*scene.pair()).pronoun
        'they'
        """
        return self._add(Entity(f"{one.chain} and {other.chain}", "they", ""))

    def key(self, *things: Entity | str) -> None:
        """Remember what the paragraph is about.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> scene.key("old apple_tree+")
        >>> scene.keyphrases
        ['old apple trees']
        """
        self.keyphrases += [_surface(each if isinstance(each, str) else each.noun) for each in things]

    # Referring

    def meet(self, who: Entity, *, article: str = "a", closed: bool = True) -> Node:
        """A person's name with a word about them, for the first mention.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> len(list(scene.meet(scene.person()).words()))
        6
        """
        self._note(who, "name", "noun")
        return apposition(name(who.name, chain=who.chain), noun(who.noun, article), closed=closed)

    def who(self, who: Entity) -> Node:
        """A person, introduced if that has not been done yet.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> anna = scene.person("she")
        >>> scene.who(anna).upos, scene.who(anna).upos
        ('PROPN', 'PRON')
        """
        return self.ref(who) if self.met(who) else self.meet(who)

    def met(self, what: Entity) -> bool:
        """Whether something has been mentioned already.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> scene.met(scene.person())
        False
        """
        return what.chain in self._last

    def named(self, who: Entity, *, full: bool = False) -> Node:
        """A person's name.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> scene.named(scene.person()).upos
        'PROPN'
        """
        self._note(who, "name")
        return name(who.name, who.surname if full else "", chain=who.chain)

    def kin(self, who: Entity, of: Entity, *, elder: bool = False) -> Node:
        """A person introduced as a relative of another, as in "her brother Tom".

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> anna, tom = scene.person("she"), scene.person("he")
        >>> start = scene.named(anna)
        >>> scene.kin(tom, anna).left[0].form
        'her'
        """
        elsewhere = self._last[of.chain] < len(self.sentences)
        owner_ = owner(self.again(of)) if elsewhere and self.rng.random() < 0.3 else self.own(of)
        self._note(who, "name")
        return apposition(
            noun(self.pick((ELDERS if elder else KIN)[who.pronoun]), owner_, chain=who.chain),
            name(who.name),
            commas=False,
        )

    def a(self, what: Entity, *, count: str = "") -> Node:
        """Something mentioned for the first time, with the indefinite article.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> scene.a(scene.thing("barn")).left[0].form
        'a'
        """
        self._note(what, "noun")
        return noun(what.noun, "" if count else "a", count=count, chain=what.chain)

    def the(self, what: Entity, by: str | Node = "the") -> Node:
        """Something described in full, with the definite article or a possessor.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> [node.form for node in scene.the(scene.thing("old barn")).words()]
        ['the', 'old', 'barn']
        """
        self._note(what, "noun")
        return noun(what.noun, by, chain=what.chain)

    def again(self, what: Entity) -> Node:
        """Something known, by name or by a short definite description.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> barn = scene.thing("old barn")
        >>> start = scene.a(barn)
        >>> [node.form for node in scene.again(barn).words()]
        ['the', 'barn']
        """
        known = self._known[what.chain]
        if "name" in known and ("noun" not in known or self.rng.random() < 0.6):
            return self.named(what)
        self._note(what, "noun")
        return noun(bare(what.noun), "the", chain=what.chain)

    def ref(self, what: Entity) -> Node:
        """Something known, by a pronoun where that is clear and not tiresome, else by name or description.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> anna = scene.person("she")
        >>> start = scene.named(anna)
        >>> scene.ref(anna).form
        'she'
        """
        here = self._last.get(what.chain) == len(self.sentences)
        if self._clear(what) and (here or not what.noun or self._run.get(what.chain, 0) < 2):
            return self.pro(what)
        return self.again(what)

    def pro(self, what: Entity) -> Node:
        """Something known, by its pronoun.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> barn = scene.thing("barn")
        >>> start = scene.a(barn)
        >>> scene.pro(barn).form
        'it'
        """
        if self._last.get(what.chain, -9) < len(self.sentences) - 1:
            raise ValueError(f"a pronoun for {what.chain!r} would dangle")
        self._note(what)
        self._run[what.chain] = self._run.get(what.chain, 0) + 1
        return pronoun(what.pronoun, what.chain)

    def they(self, pair: Entity) -> Node:
        """Two people together, by a pronoun, once each of them has been named.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> scene.they(scene.both(*scene.pair())).form
        'they'
        """
        self._note(pair)
        return pronoun("they", pair.chain)

    def renamed(self, who: Entity, shorthand: str) -> Entity:
        """The same person, known by another noun.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> scene.renamed(scene.person(), "new vet").noun
        'new vet'
        """
        self._entities[who.chain] = replace(who, noun=shorthand)
        return self._entities[who.chain]

    def own(self, what: Entity) -> Node:
        """Something known, as a possessor.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> anna = scene.person("she")
        >>> start = scene.named(anna)
        >>> scene.own(anna).form
        'her'
        """
        if self._clear(what):
            self._note(what)
            return possessive(what.pronoun, what.chain)
        return owner(self.again(what))

    def speaker(self, who: Entity, lemma: str = "I") -> Node:
        """The pronoun of the first or second person for somebody who speaks or is spoken to.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> scene.speaker(scene.person(), "you").form
        'you'
        """
        self._note(who)
        return pronoun(lemma, who.chain)

    def joined(self, one: Entity, other: Entity, together: Entity, *, roles: bool = False) -> Node:
        """Two people named together, and the pair of them as one.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> one, other = scene.pair()
        >>> scene.joined(one, other, scene.both(one, other)).together == f"{one.name} and {other.name}"
        True
        """
        make = (lambda who: self.the(who)) if roles else self.named
        pair = coordinate(make(one), make(other))
        self._note(together)
        return replace(pair, together=together.chain)

    # Telling

    def say(self, sentence: Node, end: str = ".") -> None:
        """Finish a sentence, with its full stop unless a quotation has closed it already.

        >>> from tools.sample.worlds import WORLDS
        >>> scene = Scene(WORLDS[0], Random(0))
        >>> scene.say(noun("silence%", ""))
        >>> [node.form for node in scene.sentences[0].words()]
        ['silence', '.']
        """
        *_, last = sentence.words()
        stop = () if last.xpos == "''" else (punct(end),)
        self.sentences.append(sentence.to("root").after(*stop))
        for chain in [chain for chain, at in self._last.items() if at < len(self.sentences) - 1]:
            self._run.pop(chain, None)

    def _add(self, entity: Entity) -> Entity:
        if entity.chain in self._entities:
            entity = replace(entity, chain=f"{entity.chain} {len(self._entities)}")
        self._entities[entity.chain] = entity
        return entity

    def _note(self, what: Entity, *forms: str) -> None:
        self._last[what.chain] = len(self.sentences)
        self._known.setdefault(what.chain, set()).update(forms)
        if forms:
            self._run[what.chain] = 0

    def _clear(self, what: Entity) -> bool:
        """Whether the pronoun of something could only mean that."""
        now = len(self.sentences)
        since = self._last.get(what.chain, -9)
        if since < now - 1:
            return False
        rivals = [
            self._last[chain]
            for chain, other in self._entities.items()
            if chain != what.chain and other.pronoun == what.pronoun and chain in self._last
        ]
        return all(rival < since for rival in rivals)


Plot = Callable[[Scene], None]


def _surface(shorthand: str) -> str:
    """The words of a noun in shorthand, as they stand in a text."""
    text = shorthand.rstrip("+%").replace("_", " ")
    *rest, last = text.split(" ")
    return " ".join([*rest, plural(last) if is_plural(shorthand) else last])
