"""Plots that turn on what people say and think: memories, interviews, rumors and quarrels."""

from __future__ import annotations

from collections.abc import Callable

from tools.sample.clauses import (
    HAD,
    PRESENT,
    WILL,
    Verb,
    clause,
    comma_after,
    infinitive,
    iobj,
    obj,
    quote,
    relative,
    relativizer,
    subordinate,
    that,
    there,
    what_is,
)
from tools.sample.lexicon import Place, Task
from tools.sample.phrases import (
    adjective,
    adverb,
    bare,
    coordinate,
    indefinite_pronoun,
    noun,
    of,
    possessive,
    pp,
    unmarked,
)
from tools.sample.scene import Plot, Scene
from tools.sample.tree import Node

_DOES_NOT = Verb("present", negation="n't")
_DID_NOT = Verb(negation="n't")
_SEASONS = ("spring", "summer", "autumn", "winter")


def _that() -> Node:
    return Node("that", "that", "PRON", "DT", "nsubj")


def _memory(s: Scene) -> None:
    """A childhood memory."""
    p = s.person()
    elder = s.extra(
        s.pick(("grandfather", "uncle")) if p.pronoun == "she" else s.pick(("grandmother", "aunt")),
        "he" if p.pronoun == "she" else "she",
    )
    sight, other = (s.thing(text) for text in s.rng.sample(s.world.sights, 2))
    s.key(sight)
    child = clause(s.named(p), noun("child", "a"))
    place = noun(Place.read(s.world.site).noun, "the")
    visit = clause(
        s.pro(p), "visit", obj(place), use=Verb(adverb="often"), front=[subordinate("when", child, first=True)]
    )
    s.say(visit.after(pp("with", s.the(elder, s.own(p)))))
    shown = clause(s.ref(elder), "show", iobj(s.ref(p)), obj(s.the(sight)))
    topic = s.the(other)
    if s.pick((True, False)):
        seen = clause(s.pro(elder), "see", use=HAD, front=[relativizer("that", topic)])
        seen = seen.after(subordinate("when", clause(s.pro(elder), adjective("young"))))
        topic = relative(topic, seen)
    tales = obj(noun(s.pick(("long story+", "funny story+", "old story+"))).after(of(topic, "about")))
    told = clause(None, "tell", iobj(s.ref(p)), tales)
    s.say(coordinate(shown, told))
    s.one(
        lambda: s.say(
            clause(s.ref(p), "watch", obj(s.again(sight)), pp("for", noun("hour+")), use=Verb(modal="could"))
        ),
        lambda: s.say(clause(s.ref(p), "forget", obj(s.again(sight)), use=Verb(adverb="never"))),
    )
    role = noun(bare(p.noun), "a")

    def grateful() -> None:
        now = clause(s.ref(p), role, use=PRESENT, front=[comma_after(unmarked(noun("today")))])
        thinks = clause(s.pro(p), "think", pp("of", s.the(elder, s.own(p))), use=Verb("present", adverb="still"))
        s.say(coordinate(now, thinks, comma=True))

    def passed_on() -> None:
        now = clause(s.ref(p), "work", adverb("there"), pp("as", role), use=PRESENT, front=[adverb("now")])
        children = noun(s.pick(("own child+", "little nephew+", "two son+")), s.own(p))
        shows = clause(None, "show", obj(s.again(sight)), pp("to", children), use=PRESENT)
        s.say(coordinate(now, shows))

    s.one(grateful, passed_on)


def _interview(s: Scene) -> None:
    """A reporter asks somebody about the job."""
    p = s.person()
    reporter = s.extra(f"{s.pick(('young', 'curious', 'foreign'))} reporter", "he" if p.pronoun == "she" else "she")
    sight, task = s.thing(s.pick(s.world.sights)), s.habits(1)[0]
    s.key(sight, bare(p.noun))
    asker, asked = s.a(reporter), s.named(p, full=True)
    became = clause(s.pro(p), "become", noun(bare(p.noun), "a").to("xcomp"), use=HAD)
    s.say(clause(asker, "ask", iobj(asked), subordinate("why", became, "ccomp")))
    s.say(
        quote(
            clause(s.speaker(p), "love", obj(s.a(sight)), use=Verb("present", perfect=True, adverb="always")),
            s.pro(p),
            "say",
        )
    )

    def time() -> Node:
        return s.one(s.sundays, lambda: pp("at", noun("night")), lambda: pp("before", noun("sunrise")))

    def ask(question: Node) -> None:
        s.say(quote(question, s.again(reporter), "ask", turn=True, end="?"))

    def tell(answer: Callable[[], Node]) -> None:
        laughed = clause(s.again(p), s.pick(("laugh", "smile")))
        listener = s.pro(reporter)
        s.say(coordinate(laughed, clause(None, "tell", iobj(listener), that(answer()))))

    def when() -> None:
        ask(clause(s.speaker(p, "you"), "work", time(), use=Verb("present", adverb="ever", asks=True)))
        tell(lambda: clause(s.pro(p), task.verb, *s.doing(task, s.matter(task)), time(), use=Verb(adverb="often")))

    def hard() -> None:
        quality = adjective(s.pick(("dangerous", "difficult", "ever boring", "very tiring")))
        ask(clause(noun("job", possessive("you", p.chain)), quality, use=Verb("present", asks=True)))
        tell(
            lambda: clause(
                s.pro(p), "like", infinitive(task.verb, *s.doing(task, s.matter(task))), use=Verb(adverb="still")
            )
        )

    def dream() -> None:
        ask(what_is(noun(s.pick(("biggest dream", "next plan", "secret wish")), possessive("you", p.chain))))
        plan = Task.read(s.pick(s.world.projects))
        tell(lambda: clause(s.pro(p), "want", infinitive(plan.verb, *s.doing(plan, s.matter(plan)))))

    s.one(when, hard, dream)


def _rumor(s: Scene) -> None:
    """What everybody believes, and what is true."""
    p, h = s.pair()
    job = s.pick(("mayor", "governor", "minister"))
    s.key(f"next {job}")
    become = clause(s.named(p), "become", noun(f"next {job}", "the").to("xcomp"), use=WILL)
    s.say(clause(indefinite_pronoun("everyone").after(s.site("nmod")), "believe", that(become), use=PRESENT))

    def silent() -> None:
        s.say(
            clause(
                s.again(p),
                "say",
                obj(noun("word", "a")),
                pp("about", noun("plan+", s.own(p))),
                use=Verb("present", perfect=True, negation="n't"),
            )
        )

    def known() -> None:
        quality = noun(s.pick(("honesty%", "talent", "experience%")), s.own(p))
        s.say(clause(indefinite_pronoun("nobody"), "doubt", obj(quality), use=PRESENT))

    s.one(silent, known)
    friend = s.kin(h, p)
    knows = clause(relativizer("who", friend), "know", obj(s.ref(p)), adverb("well"), use=PRESENT)
    stay = clause(s.pro(p), "stay", s.site(), use=WILL)
    s.say(clause(relative(friend, knows, commas=True), s.pick(("hope", "think")), that(stay), use=PRESENT))
    task = s.habits(1)[0]
    rather = clause(
        s.speaker(p), "like", infinitive(task.verb, obj(noun(task.noun, task.by)), *task.tail()), use=PRESENT
    )
    office = clause(s.speaker(p), "need", obj(noun("office", "a")), use=_DOES_NOT)
    s.say(quote(coordinate(rather, office, comma=True), s.again(p), "say", use=PRESENT))


def _quarrel(s: Scene) -> None:
    """Two people disagree about a plan."""
    plan, event = Task.read(s.pick(s.world.projects)), s.thing(s.pick(s.world.events))
    p, h = s.pair()
    team = s.both(p, h)
    goal = s.matter(plan)
    s.key(goal, event)
    should = clause(
        s.speaker(team, "we"),
        plan.verb,
        *s.doing(plan, goal),
        pp("before", s.the(event)),
        use=Verb("present", modal="should"),
    )
    s.say(quote(should, s.meet(p, closed=False), "say", turn=True))
    objection = s.one(
        lambda: clause(
            _that(), adjective(s.pick(("impossible", "much too expensive", "too difficult"))), use=PRESENT
        ),
        lambda: clause(s.speaker(team, "we"), "have", obj(noun("enough time%")), use=_DOES_NOT),
        lambda: there(noun(s.pick(("enough money%", "enough help%")), ""), use=_DOES_NOT),
    )
    s.say(quote(objection, s.meet(h, closed=False), "answer", turn=True))
    argued = clause(s.joined(p, h, team), "argue", pp("about", noun("plan", "the")), pp("for", noun("hour", "a")))
    crew = s.crew()
    if s.pick((True, False)):
        who = s.the(crew)
        near = clause(relativizer("who", who), "work", s.spots(1)[0].phrase(), use=Verb(progressive=True))
        heard = clause(relative(who, near, commas=True), "hear", obj(noun("word", "every")))
        argued = coordinate(argued, heard, comma=True)
    s.say(argued)
    end = comma_after(pp("in", noun("end", "the")))
    s.one(
        lambda: s.say(
            clause(s.pro(team), "agree", infinitive("wait", pp("until", noun(s.pick(_SEASONS)))), front=[end])
        ),
        lambda: s.say(
            clause(
                s.pro(team),
                "decide",
                infinitive("ask", obj(s.the(crew)), pp("for", noun("advice%"))),
                front=[end],
            )
        ),
        lambda: s.say(clause(s.again(p), "convince", obj(s.ref(h)), front=[end])),
        lambda: s.say(clause(s.again(h), s.pick(("give up", "give in")))),
    )


PLOTS: tuple[Plot, ...] = (_memory, _interview, _rumor, _quarrel)
