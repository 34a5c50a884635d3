"""Short scenes of two or three sentences, each built around a construction that the longer plots have little of."""

from __future__ import annotations

from tools.sample.clauses import (
    HAS,
    IMPERATIVE,
    PRESENT,
    Verb,
    agent,
    clause,
    comma_after,
    infinitive,
    interjection,
    obj,
    quote,
    relative,
    relativizer,
    subordinate,
    there,
    vocative,
)
from tools.sample.phrases import (
    adjective,
    adverb,
    coordinate,
    determiner,
    indefinite_pronoun,
    noun,
    owner,
    pp,
    unmarked,
)
from tools.sample.scene import Plot, Scene
from tools.sample.tree import Node

_NUMBERS = ("two", "three", "four", "five", "six", "eight", "ten", "twenty")
_SWITCHES = ("heater", "radio", "lamp", "fan", "projector", "alarm", "computer")


def _collection(s: Scene) -> None:
    """What there is to see, and who knows it best (existential and relative clauses)."""
    p = s.person()
    one, two = (s.thing(text) for text in s.rng.sample(s.world.sights, 2))
    s.key(one, two)
    many, some = s.rng.sample(_NUMBERS, 2)
    s.say(there(coordinate(s.a(one, count=many), s.a(two, count=some)), s.site(), use=PRESENT))
    who = s.named(p)
    years = pp("for", noun("year+", None, count=s.pick(_NUMBERS)))
    studied = clause(relativizer("who", who), "study", obj(s.the(one)), years, use=HAS)
    can = Verb("present", modal="can")
    s.say(clause(relative(who, studied, commas=True), "draw", obj(s.pro(one)), pp("from", noun("memory%")), use=can))
    if s.pick((True, False)):
        often = Verb("present", adverb="often")
        s.say(clause(s.the(s.public()), "ask", obj(s.ref(p)), pp("about", s.the(two)), use=often))


def _errand(s: Scene) -> None:
    """An errand that was not needed (clauses of purpose)."""
    device = s.pick(s.world.devices)
    p, h = s.pair()
    machine, tool = s.thing(device.noun), s.thing(device.tool)
    s.key(machine, tool)
    goal = comma_after(infinitive(device.verb, obj(s.the(machine)), relation="advcl"))
    s.say(clause(s.named(p), "need", obj(s.a(tool)), front=[goal]))
    buy = infinitive("buy", Node("one", "one", "NUM", "CD", "obj"), relation="advcl")
    went = clause(s.ref(p), s.pick(("go", "drive", "walk")), pp("to", noun(s.pick(("city", "town")), "the")), buy)
    closed = clause(noun("shop+", "all"), adjective(s.pick(("closed", "already closed"))))
    s.say(coordinate(went, closed, by="but", comma=True))
    back = subordinate("when", clause(s.again(p), "come back"), first=True)
    done = Verb(perfect=True, adverb="already")
    s.say(clause(s.kin(h, p), device.verb, obj(s.again(machine)), use=done, front=[back]))


def _switch(s: Scene) -> None:
    """Something is left on (particle verbs and requests)."""
    p, h = s.pair()
    machine = s.thing(s.pick(_SWITCHES))
    s.key(machine)
    verb = s.pick(("turn off", "switch off"))
    request = clause(None, verb, obj(s.the(machine)), use=IMPERATIVE, front=[interjection("please", comma=False)])
    leave = clause(s.speaker(h, "you"), s.pick(("leave", "go out")), use=PRESENT)
    request = request.after(subordinate("before", leave), vocative(s.named(h)))
    s.say(quote(request, s.meet(p, article="the", closed=False), "say", turn=True))
    coat = clause(s.ref(h), "put on", obj(noun(s.pick(("coat", "hat", "jacket")), s.own(h))))
    bag = clause(None, "pick up", obj(noun(s.pick(("bag", "umbrella", "newspaper")), s.own(h))))
    forgot = clause(s.pro(h), "forget", obj(s.again(machine)))
    s.say(coordinate(coordinate(coat, bag), forgot, by="but", comma=True))
    morning = comma_after(unmarked(noun("next morning", "the")))
    off = clause(s.again(p), verb, obj(s.pro(machine)), front=[morning])
    s.say(coordinate(off, clause(None, "write down", obj(noun("name", owner(s.again(h)))))))


def _article(s: Scene) -> None:
    """Something written, and what became of it (participles and infinitives that modify nouns)."""
    r = s.pick(s.world.reports)
    reader = s.extra(r.reader, s.pick(("he", "she")))
    p = s.person("he" if reader.pronoun == "she" else "she")
    paper = s.thing(r.noun)
    s.key(paper)
    text = s.the(paper)
    written = clause(None, "write", agent(s.meet(p)), use=Verb("participle")).to("acl")
    s.say(clause(text.after(written), "surprise", obj(indefinite_pronoun("everyone").after(s.site("nmod")))))
    title = clause(
        noun(s.pick(("style", "tone")), s.own(paper)), adjective(s.pick(("dry", "strange", "dull", "rude")))
    )
    message = clause(noun("message", s.own(paper)), adjective(s.pick(("clear", "simple", "important"))))
    s.say(coordinate(title, message, by="but", comma=True))
    decision = noun(s.pick(("decision", "plan", "promise")), owner(s.the(reader)))
    publish = infinitive("publish", obj(s.pro(paper)), relation="acl")
    s.say(clause(decision.after(publish), s.pick(("please", "delight", "encourage")), obj(s.again(p))))


def _count(s: Scene) -> None:
    """Somebody has to count things ("how many")."""
    p, h = s.pair()
    one, two = (s.thing(text) for text in s.rng.sample(s.world.sights, 2))
    s.key(one, two)
    what = noun(one.noun, Node("many", "many", "ADJ", "JJ", "amod").before(adverb("how")))
    seen = clause(s.speaker(h, "you"), "see", use=Verb(asks=True), front=[obj(what)])
    s.say(quote(seen.after(vocative(s.named(h))), s.meet(p, closed=False), "ask", end="?", turn=True))
    many, some = s.rng.sample(_NUMBERS, 2)
    counted = clause(s.speaker(h), "count", coordinate(obj(s.a(one, count=many)), s.a(two, count=some)))
    s.say(quote(counted, s.ref(h), "answer"))
    noted = clause(
        s.ref(p), "write down", obj(noun("number+", "the")), pp("in", noun(s.pick(("notebook", "diary")), s.own(p)))
    )
    s.say(coordinate(noted, clause(None, "thank", obj(s.ref(h)))))


def _night(s: Scene) -> None:
    """A wet night (a pronoun that stands for nothing)."""
    p = s.person()
    b = s.pick(s.world.buildings)
    house = s.thing(b.noun)
    s.key(house)
    rain = Node("it", "it", "PRON", "PRP", "nsubj")
    night = unmarked(noun("night").before(determiner("all")))
    rained = clause(rain, s.pick(("rain", "snow")), night)
    asleep = clause(indefinite_pronoun("nobody").after(s.site("nmod")), "sleep")
    s.say(coordinate(rained, asleep, comma=True))
    morning = comma_after(pp("in", noun("morning", "the")))
    look = infinitive("look", pp("at", s.the(house)), relation="advcl")
    s.say(clause(s.meet(p), s.pick(("get up", "go out")), adverb("early"), look, front=[morning]))
    still = clause(noun(b.part, s.own(house)), adjective("wet"))
    safe = there(noun(f"{s.pick(('serious', 'visible', 'lasting'))} damage%", "no"))
    s.say(coordinate(still, safe, by="but", comma=True))


PLOTS: tuple[Plot, ...] = (_collection, _errand, _switch, _article, _count, _night)
