"""Plots that turn on people: they learn, arrive, promise, order, quarrel, remember and try again."""

from __future__ import annotations

from attlas.corpora.samples.clauses import (
    HAD,
    HAS,
    IMPERATIVE,
    PRESENT,
    WILL,
    Verb,
    announce,
    clause,
    comma_after,
    compare,
    infinitive,
    iobj,
    obj,
    quote,
    relative,
    relativizer,
    subordinate,
    that,
    vocative,
)
from attlas.corpora.samples.lexicon import Place, Task
from attlas.corpora.samples.phrases import (
    adjective,
    adverb,
    bare,
    coordinate,
    indefinite_pronoun,
    name,
    noun,
    of,
    pp,
    unmarked,
)
from attlas.corpora.samples.scene import Plot, Scene
from attlas.corpora.samples.tree import Node

_DOES_NOT = Verb("present", negation="n't")
_TIMES = ("every morning", "every evening", "every Sunday")


def _that() -> Node:
    return Node("that", "that", "PRON", "DT", "nsubj")


def _learning(s: Scene) -> None:
    """Somebody is learning a skill from a relative."""
    task = Task.read(s.pick(s.world.skills))
    p, h = s.pair()
    s.key(task.noun)

    def doing() -> list[Node]:
        return [obj(noun(task.noun, task.by)), *task.tail()]

    s.one(
        lambda: s.say(clause(s.meet(p), "learn", infinitive(task.verb, *doing()), use=Verb("present", progressive=True))),
        lambda: s.say(clause(s.meet(p), "want", infinitive("learn", infinitive(task.verb, *doing())), use=PRESENT)),
    )
    teacher = s.kin(h, p)
    years = pp("for", noun("year+", None, count=s.pick(("ten", "fifteen", "twenty", "thirty"))))
    worked = clause(relativizer("who", teacher), "work", s.site(), years, use=HAS)
    teaches = clause(relative(teacher, worked, commas=True), s.pick(("help", "teach")), obj(s.pro(p)), use=PRESENT)
    s.say(teaches.after(unmarked(noun(s.pick(("every evening", "every weekend"))))))
    mistakes = clause(s.ref(p), "make", obj(noun("mistake+")), use=Verb("present", adverb="often"))
    calm = clause(s.pro(h), "lose", obj(noun("patience%", s.own(h))), use=Verb("present", adverb="never"))
    s.say(coordinate(mistakes, calm, by="but", comma=True))

    def condition() -> None:
        practice = clause(s.ref(p), "practice", unmarked(noun("day", "every")), use=PRESENT)
        goal = noun("expert", "a")
        first = subordinate("if", practice, first=True)
        s.say(clause(s.pro(p), "become", goal.to("xcomp"), use=Verb("present", modal="will", adverb="soon"), front=[first]))

    def praise() -> None:
        better = clause(s.speaker(p, "you"), "get", compare("good").to("xcomp"), use=Verb("present", progressive=True, short=True))
        s.say(quote(better, s.again(h), "say", use=PRESENT))

    s.one(condition, praise)


def _arrival(s: Scene) -> None:
    """Somebody new has come to work here."""
    p, h = s.pair()
    crowd = s.crowd()
    role = bare(p.noun)
    newcomer = s.renamed(p, f"new {role}")
    s.key(newcomer)
    task, other = s.tasks(2)
    s.one(
        lambda: s.say(clause(s.a(newcomer), "arrive", s.site(), use=HAS)),
        lambda: s.say(clause(s.a(newcomer), "start", infinitive("work", s.site()), use=HAS)),
    )
    full = name(p.name, p.surname)
    named = clause(noun("name", s.own(newcomer)), full, use=PRESENT)
    town = noun("small town", "a").after(of(noun(s.pick(("north", "south", "west")), "the"), "in"))
    s.say(coordinate(named, clause(s.pro(newcomer), "come", pp("from", town), use=PRESENT), comma=True))

    def liked() -> None:
        first = clause(s.the(crowd), "like", obj(s.pro(newcomer)), use=PRESENT)
        kind = coordinate(adjective("friendly"), adjective(s.pick(("funny", "honest", "modest"))))
        s.say(first.after(subordinate("because", clause(s.pro(newcomer), kind, use=PRESENT))))

    def shown() -> None:
        where = noun(Place.read(s.world.site).noun, "the")
        s.say(clause(s.the(crowd), "show", iobj(s.pro(newcomer)), obj(where), use=HAS))

    s.one(liked, shown)
    done = clause(s.again(newcomer), task.verb, *s.doing(task, s.matter(task)), use=Verb("present", perfect=True, adverb="already"))
    open_ = clause(s.pro(newcomer), other.verb, *s.doing(other, s.matter(other)), adverb("yet"), use=Verb("present", perfect=True, negation="n't"))
    s.say(coordinate(done, open_, by="but", comma=True))
    if s.pick((True, False)):
        here = clause(s.speaker(newcomer, "you"), adverb("here"), use=Verb("present", short=True))
        glad = clause(s.speaker(h, "I"), adjective("glad"), that(here), vocative(s.named(newcomer)), use=Verb("present", short=True))
        s.say(quote(glad, s.meet(h, article="the", closed=False), "say", use=PRESENT, turn=True))


def _promise(s: Scene) -> None:
    """Somebody forgets a promise and makes up for it."""
    task = s.tasks(1)[0]
    p, h = s.pair()
    matter = s.matter(task)
    s.key(matter)
    who = s.meet(p)
    promised = clause(who, "promise", infinitive(task.verb, *s.doing(task, matter)), use=HAD)
    forgot = clause(s.pro(p), "forget", obj(noun("promise", s.own(p))))
    s.say(coordinate(promised, forgot, by="but", comma=True))
    angry = clause(s.kin(h, p), adjective(s.pick(("angry", "very disappointed", "furious"))))
    alone = clause(s.pro(h), "have", infinitive("do", obj(noun("work%", "the")), adverb("alone")))
    s.say(angry.after(subordinate("because", alone)))

    def why() -> None:
        ask = clause(s.speaker(p, "you"), "help", obj(s.speaker(h, "I")), use=Verb(negation="n't", asks=True), front=[adverb("why")])
        s.say(quote(ask, s.ref(h), "ask", end="?"))
        tired = clause(s.speaker(p), adjective("too tired"))
        s.say(quote(tired, s.ref(p), "admit"))

    def sorry() -> None:
        s.say(quote(clause(s.speaker(p), adjective("really sorry"), use=Verb("present", short=True)), s.ref(p), "say"))

    s.one(why, sorry)
    day = comma_after(unmarked(noun("next day", "the")))
    s.say(clause(s.again(p), task.verb, obj(s.again(matter)), pp("without", noun("single complaint", "a")), front=[day]))


def _orders(s: Scene) -> None:
    """Somebody tells a younger colleague what to do."""
    first, second, third = s.tasks(3)
    p, h = s.pair()
    one, two = s.matter(first), s.matter(second)
    s.key(one, two)

    def plain(task: Task) -> Node:
        return obj(noun(task.noun, task.by))

    start = clause(None, first.verb, *s.doing(first, one), adverb("first"), vocative(s.named(h)), use=IMPERATIVE)
    s.say(quote(start, s.meet(p, article="the", closed=False), "say", turn=True))

    def gently() -> None:
        please = Node("please", "please", "INTJ", "UH", "discourse")
        then = clause(None, second.verb, *s.doing(second, two), use=IMPERATIVE).before(adverb("then"), please)
        s.say(announce(s.ref(p), "add", then))

    def sternly() -> None:
        forget = clause(None, "forget", infinitive(second.verb, *s.doing(second, two)), use=Verb("imperative", negation="n't"))
        s.say(quote(forget, s.ref(p), "add", end="!"))

    def obeyed() -> None:
        s.say(coordinate(clause(s.again(h), "nod"), clause(None, "start", infinitive("work"))))

    def asked() -> None:
        shall = clause(s.speaker(h), third.verb, plain(third), adverb("too"), use=Verb("present", modal="should", asks=True))
        s.say(quote(shall, s.ref(h), "ask", end="?"))
        s.say(clause(s.ref(p), "shake", obj(noun("head", s.own(p)))))

    s.one(gently, sternly)
    s.one(obeyed, asked)
    finished = clause(s.ref(h), "finish", use=HAD)
    front = subordinate("when", finished, first=True)
    ending = coordinate(
        clause(s.ref(p), "inspect", obj(indefinite_pronoun("everything"))), clause(None, "praise", obj(s.pro(h)))
    )
    s.say(ending.before(front))


def _teamwork(s: Scene) -> None:
    """Two people share the work."""
    first, second = s.tasks(2)
    p, h = s.pair()
    team = s.both(p, h)
    one, two = s.matter(first), s.matter(second)
    s.key(one, two)
    hours = pp("for", noun("hour+", None, count=s.pick(("three", "six", "nine"))))
    s.say(clause(s.joined(p, h, team), "work", adverb("together"), hours, s.past_time()))
    mine = clause(s.named(p), first.verb, *s.doing(first, one))
    yours = clause(s.named(h), second.verb, *s.doing(second, two))

    def parallel() -> None:
        s.say(coordinate(mine, yours, comma=True))

    def meanwhile() -> None:
        s.say(mine.after(subordinate("while", yours)))

    s.one(parallel, meanwhile)

    def tired() -> None:
        s.say(coordinate(clause(s.crew(team), adjective("tired")), clause(s.pro(team), "stop", use=Verb(negation="n't")), by="but", comma=True))

    def hungry() -> None:
        first_ = subordinate("after", clause(s.crew(team), "finish", use=HAD), first=True)
        s.say(clause(s.pro(team), "eat", coordinate(obj(noun("bread%")), noun("cheese%")), front=[first_]))

    s.one(tired, hungry)
    boss = s.extra("boss", s.pick(("she", "he")))
    praised = clause(s.the(boss, s.own(team)), adjective("satisfied"), pp("with", noun("work%", s.own(team))))
    s.say(praised)


def _memory(s: Scene) -> None:
    """A childhood memory."""
    p = s.person()
    elder = s.extra(s.pick(("grandfather", "uncle")) if p.pronoun == "she" else s.pick(("grandmother", "aunt")), "he" if p.pronoun == "she" else "she")
    sight, other = (s.thing(text) for text in s.rng.sample(s.world.sights, 2))
    s.key(sight)
    child = clause(s.named(p), noun("child", "a"))
    place = noun(Place.read(s.world.site).noun, "the")
    visit = clause(s.pro(p), "visit", obj(place), use=Verb(adverb="often"), front=[subordinate("when", child, first=True)])
    s.say(visit.after(pp("with", s.the(elder, s.own(p)))))
    shown = clause(s.ref(elder), "show", iobj(s.ref(p)), obj(s.the(sight)))
    tales = obj(noun(s.pick(("long story+", "funny story+", "old story+"))).after(of(s.the(other), "about")))
    s.say(coordinate(shown, clause(None, "tell", iobj(s.ref(p)), tales)))
    s.one(
        lambda: s.say(clause(s.ref(p), "watch", obj(s.again(sight)), pp("for", noun("hour+")), use=Verb(modal="could"))),
        lambda: s.say(clause(s.ref(p), "forget", obj(s.again(sight)), use=Verb(adverb="never"))),
    )
    role = noun(bare(p.noun), "a")
    now = clause(s.ref(p), role, use=PRESENT, front=[comma_after(unmarked(noun("today")))])
    thinks = clause(s.pro(p), "think", pp("of", s.again(elder)), use=Verb("present", adverb="still"))
    s.say(coordinate(now, thinks, comma=True))


def _interview(s: Scene) -> None:
    """A reporter asks somebody about the job."""
    p = s.person()
    reporter = s.extra(f"{s.pick(('young', 'curious', 'foreign'))} reporter", "he" if p.pronoun == "she" else "she")
    sight, task = s.thing(s.pick(s.world.sights)), s.tasks(1)[0]
    s.key(sight, bare(p.noun))
    asker, asked = s.a(reporter), s.named(p, full=True)
    became = clause(s.pro(p), "become", noun(bare(p.noun), "a").to("xcomp"), use=HAD)
    s.say(clause(asker, "ask", iobj(asked), subordinate("why", became, "ccomp")))
    s.say(quote(clause(s.speaker(p), "love", obj(s.a(sight)), use=Verb("present", perfect=True, adverb="always")), s.pro(p), "say"))

    def night() -> None:
        work = clause(s.speaker(p, "you"), "work", pp("at", noun("night")), use=Verb("present", adverb="ever", asks=True))
        s.say(quote(work, s.again(reporter), "ask", turn=True, end="?"))

    def hard() -> None:
        job = clause(noun("job", s.speaker_owns(p)), adjective("dangerous"), use=Verb("present", asks=True))
        s.say(quote(job, s.again(reporter), "ask", turn=True, end="?"))

    s.one(night, hard)
    laughed = clause(s.ref(p), "laugh")
    habit = clause(s.pro(p), task.verb, *s.doing(task, s.matter(task)), use=Verb(modal="would", adverb="rather"))
    told = clause(None, "tell", iobj(s.ref(reporter)), that(habit))
    s.say(coordinate(laughed, told))


def _rumor(s: Scene) -> None:
    """What everybody believes, and what is true."""
    p, h = s.pair()
    job = s.pick(("director", "manager", "mayor", "president"))
    s.key(f"next {job}")
    become = clause(s.named(p), "become", noun(f"next {job}", "the").to("xcomp"), use=WILL)
    s.say(clause(indefinite_pronoun("everyone").after(s.site("nmod")), "believe", that(become), use=PRESENT))

    def silent() -> None:
        s.say(clause(s.ref(p), "say", obj(noun("word", "a")), pp("about", noun("plan+", s.own(p))), use=Verb("present", perfect=True, negation="n't")))

    def known() -> None:
        work = noun("hard work%", s.own(p)) if False else noun("honesty%", s.own(p))
        s.say(clause(s.pro(p), "be", use=PRESENT) if False else clause(indefinite_pronoun("nobody"), "doubt", obj(work), use=PRESENT))

    s.one(silent, known)
    friend = s.kin(h, p)
    knows = clause(relativizer("who", friend), "know", obj(s.ref(p)), adverb("well"), use=PRESENT)
    stay = clause(s.pro(p), "stay", s.site(), use=WILL)
    s.say(clause(relative(friend, knows, commas=True), s.pick(("hope", "think")), that(stay), use=PRESENT))
    task = s.tasks(1)[0]
    rather = clause(s.speaker(p), "like", infinitive(task.verb, obj(noun(task.noun, task.by)), *task.tail()), use=PRESENT)
    office = clause(s.speaker(p), "need", obj(noun("office", "a")), use=_DOES_NOT)
    s.say(quote(coordinate(rather, office, comma=True), s.again(p), "say", use=PRESENT))


def _quarrel(s: Scene) -> None:
    """Two people disagree about a plan."""
    plan, event = Task.read(s.pick(s.world.projects)), s.thing(s.pick(s.world.events))
    p, h = s.pair()
    team = s.both(p, h)
    goal = s.matter(plan)
    s.key(goal, event)
    should = clause(s.speaker(team, "we"), plan.verb, *s.doing(plan, goal), pp("before", s.the(event)), use=Verb("present", modal="should"))
    s.say(quote(should, s.meet(p, closed=False), "say", turn=True))
    objection = s.one(
        lambda: clause(_that(), adjective(s.pick(("impossible", "much too expensive", "too difficult"))), use=PRESENT),
        lambda: clause(s.speaker(team, "we"), "have", obj(noun("enough time%")), use=_DOES_NOT),
    )
    s.say(quote(objection, s.meet(h, closed=False), "answer", turn=True))
    s.say(clause(s.joined(p, h, team), "argue", pp("about", noun("plan", "the")), pp("for", noun("hour", "a"))))
    end = comma_after(pp("in", noun("end", "the")))
    s.one(
        lambda: s.say(clause(s.pro(team), "agree", infinitive("wait"), front=[end])),
        lambda: s.say(clause(s.pro(team), "decide", infinitive("ask", obj(noun("friend", s.own(team)))), front=[end])),
        lambda: s.say(clause(s.again(p), "convince", obj(s.ref(h)), front=[end])),
    )


def _attempts(s: Scene) -> None:
    """Somebody fails twice and then succeeds."""
    task = Task.read(s.pick(s.world.projects))
    p, h = s.pair()
    goal = s.matter(task)
    s.key(goal)
    tried = clause(s.meet(p), "try", infinitive(task.verb, *s.doing(task, goal)), unmarked(noun("time+", None, count="three")))
    s.say(tried)
    failed = clause(noun("first attempt", "the"), "fail")
    money = clause(s.pro(p), "have", obj(noun(s.pick(("money%", "time%", "plan", "partner")), "no")))
    again = clause(noun("second one", "the"), compare("good"), use=Verb(negation="not"))
    s.say(coordinate(failed.after(subordinate("because", money)), again, comma=True))
    s.say(quote(clause(None, "give up", use=Verb("imperative", negation="n't")), s.kin(h, p), "say", end="!", turn=True))
    started = clause(s.again(p), "start", adverb("again"), front=[comma_after(pp("after", noun("short break", "a")))])
    won = clause(s.pro(p), "succeed", front=[unmarked(noun("time", "this"))])
    s.say(coordinate(started, won, comma=True))


PLOTS: tuple[Plot, ...] = (
    _learning,
    _arrival,
    _promise,
    _orders,
    _teamwork,
    _memory,
    _interview,
    _rumor,
    _quarrel,
    _attempts,
)
