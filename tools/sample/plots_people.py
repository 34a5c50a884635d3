"""Plots that turn on people at work: they learn, arrive, promise, give orders, share the work and try again."""

from __future__ import annotations

from tools.sample.clauses import (
    HAD,
    HAS,
    IMPERATIVE,
    PRESENT,
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
    there,
    vocative,
)
from tools.sample.lexicon import Place, Task
from tools.sample.phrases import (
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
from tools.sample.scene import Plot, Scene
from tools.sample.tree import Node

_DOES_NOT = Verb("present", negation="n't")
_DID_NOT = Verb(negation="n't")
_SEASONS = ("spring", "summer", "autumn", "winter")


def _learning(s: Scene) -> None:
    """Somebody is learning a skill from a relative."""
    task = Task.read(s.pick(s.world.skills))
    p, h = s.pair()
    s.key(task.noun)

    def doing() -> list[Node]:
        return [obj(noun(task.noun, task.by)), *task.tail()]

    s.one(
        lambda: s.say(
            clause(s.meet(p), "learn", infinitive(task.verb, *doing()), use=Verb("present", progressive=True))
        ),
        lambda: s.say(clause(s.meet(p), "want", infinitive("learn", infinitive(task.verb, *doing())), use=PRESENT)),
    )
    teacher = s.kin(h, p, elder=True)
    years = pp("for", noun("year+", None, count=s.pick(("ten", "fifteen", "twenty", "thirty"))))
    worked = clause(relativizer("who", teacher), "work", s.site(), years, use=HAS)
    teaches = clause(relative(teacher, worked, commas=True), s.pick(("help", "teach")), obj(s.pro(p)), use=PRESENT)
    teaches = teaches.after(unmarked(noun(s.pick(("every evening", "every weekend")))))
    if s.pick((True, False)):
        verb = s.pick(("retire", "travel"))
        retire = clause(s.pro(h), "want", infinitive(verb, unmarked(noun("next year"))), use=PRESENT)
        teaches = teaches.after(subordinate("because", retire))
    s.say(teaches)
    verb, what = s.pick((("make", "mistake+"), ("ask", "silly question+"), ("need", "help%")))
    trouble = clause(s.again(p), verb, obj(noun(what)), use=Verb("present", adverb="often"))
    never = Verb("present", adverb="never")
    calm = s.one(
        lambda: clause(s.pro(h), "lose", obj(noun("patience%", s.own(h))), use=never),
        lambda: clause(s.pro(h), "laugh", pp("at", s.pro(p)), use=never),
        lambda: clause(s.pro(h), "complain", use=never),
    )
    s.say(coordinate(trouble, calm, by="but", comma=True))

    def condition() -> None:
        practice = clause(
            s.ref(p), "practice", unmarked(noun(s.pick(("day", "week", "night")), "every")), use=PRESENT
        )
        goal = noun(f"{s.pick(('true', 'real', 'respected'))} {s.pick(('expert', 'master'))}", "a")
        first = subordinate("if", practice, first=True)
        s.say(
            clause(
                s.pro(p), "become", goal.to("xcomp"), use=Verb("present", modal="will", adverb="soon"), front=[first]
            )
        )

    def praise() -> None:
        better = clause(
            s.speaker(p, "you"), "get", compare("good").to("xcomp"), use=Verb("present", progressive=True, short=True)
        )
        better = better.after(unmarked(noun("week", "every")), vocative(s.named(p)))
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
        lambda: s.say(there(s.a(newcomer), s.site(), use=PRESENT)),
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
        s.say(clause(s.the(s.crew()), "show", iobj(s.pro(newcomer)), obj(where), use=HAS))

    s.one(liked, shown)
    done = clause(
        s.again(newcomer),
        task.verb,
        *s.doing(task, s.matter(task)),
        use=Verb("present", perfect=True, adverb="already"),
    )
    open_ = clause(
        s.pro(newcomer),
        other.verb,
        *s.doing(other, s.matter(other)),
        adverb("yet"),
        use=Verb("present", perfect=True, negation="n't"),
    )
    s.say(coordinate(done, open_, by="but", comma=True))
    if s.pick((True, False)):
        here = clause(s.speaker(newcomer, "you"), "come", use=Verb("present", perfect=True, short=True))
        glad = clause(
            s.speaker(h, "I"),
            adjective("glad"),
            that(here),
            vocative(s.named(newcomer)),
            use=Verb("present", short=True),
        )
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
        ask = clause(
            s.speaker(p, "you"),
            "help",
            obj(s.speaker(h, "I")),
            use=Verb(negation="n't", asks=True),
            front=[adverb("why")],
        )
        s.say(quote(ask.after(vocative(s.named(p))), s.again(h), "ask", end="?"))
        tired = clause(s.speaker(p), adjective(s.pick(("too tired", "very busy", "sick", "asleep"))))
        s.say(quote(tired, s.again(p), s.pick(("admit", "answer", "say"))))

    def sorry() -> None:
        feeling = adjective(s.pick(("really sorry", "so sorry", "terribly sorry")))
        s.say(quote(clause(s.speaker(p), feeling, use=Verb("present", short=True)), s.again(p), "say", turn=True))

    s.one(why, sorry)
    day = comma_after(unmarked(noun("next day", "the")))
    s.say(
        clause(s.again(p), task.verb, obj(s.again(matter)), pp("without", noun("single complaint", "a")), front=[day])
    )


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
        forget = clause(
            None, "forget", infinitive(second.verb, *s.doing(second, two)), use=Verb("imperative", negation="n't")
        )
        s.say(quote(forget, s.ref(p), "add", end="!"))

    def obeyed() -> None:
        s.say(coordinate(clause(s.again(h), "nod"), clause(None, "start", infinitive("work"))))

    def asked() -> None:
        shall = clause(
            s.speaker(h), third.verb, plain(third), adverb("too"), use=Verb("present", modal="should", asks=True)
        )
        s.say(quote(shall, s.again(h), "ask", end="?"))
        no = clause(s.again(p), "shake", obj(noun("head", s.own(p))))
        s.say(coordinate(no, clause(None, s.pick(("smile", "laugh")))))

    s.one(gently, sternly)
    s.one(obeyed, asked)
    finished = clause(s.ref(h), "finish", use=HAD)
    front = subordinate("when", finished, first=True)
    ending = coordinate(
        clause(s.ref(p), "inspect", obj(indefinite_pronoun("everything"))),
        clause(None, s.pick(("praise", "thank")), obj(s.pro(h))),
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
    s.say(clause(s.joined(p, h, team), "work", adverb("together"), hours, s.day()))
    mine = clause(s.named(p), first.verb, *s.doing(first, one))
    yours = clause(s.named(h), second.verb, *s.doing(second, two))

    def parallel() -> None:
        s.say(coordinate(mine, yours, comma=True))

    def meanwhile() -> None:
        s.say(mine.after(subordinate("while", yours)))

    wish = clause(s.they(team), "want", infinitive("finish", pp("before", noun(s.pick(("sunset", "midnight"))))))
    if s.pick((True, False)):
        yours = yours.after(subordinate("because", wish))
    s.one(parallel, meanwhile)

    def tired() -> None:
        worn = clause(s.they(team), adjective(s.pick(("tired", "hungry", "thirsty", "exhausted"))))
        stop = clause(s.pro(team), "stop", pp("before", noun(s.pick(("noon", "midnight", "sunset")))), use=_DID_NOT)
        s.say(coordinate(worn, stop, by="but", comma=True))

    def hungry() -> None:
        first_ = subordinate("after", clause(s.they(team), "finish", use=HAD), first=True)
        meal = s.pick((("bread%", "cheese%"), ("soup%", "salad%"), ("rice%", "bean+"), ("fish%", "potato+")))
        s.say(clause(s.pro(team), "eat", coordinate(obj(noun(meal[0])), noun(meal[1])), front=[first_]))

    s.one(tired, hungry)

    def praised() -> None:
        boss = noun(s.pick(("boss", "strict boss", "old teacher")), s.own(team))
        s.say(clause(boss, adjective(s.pick(("satisfied", "very pleased"))), pp("with", noun("work%", s.own(team)))))

    def thanked() -> None:
        who = s.the(s.crowd())
        present = noun(s.pick(("basket", "bag", "box")), "a").after(
            of(noun(s.pick(("apple+", "orange+", "cookie+"))))
        )
        s.say(clause(who, "bring", iobj(s.they(team)), obj(present)))

    s.one(praised, thanked)


def _attempts(s: Scene) -> None:
    """Somebody fails twice and then succeeds."""
    task = Task.read(s.pick(s.world.projects))
    p, h = s.pair()
    goal = s.matter(task)
    s.key(goal)
    tried = clause(
        s.meet(p), "try", infinitive(task.verb, *s.doing(task, goal)), unmarked(noun("time+", None, count="three"))
    )
    s.say(tried)
    failed = clause(noun("first attempt", "the"), "fail")
    money = clause(s.pro(p), "have", obj(noun(s.pick(("money%", "time%", "plan", "partner")), "no")))
    failed = failed.after(subordinate("because", money))
    worse = clause(noun("second one", "the"), compare("good").before(adverb("much")), use=Verb(negation="not"))
    late = clause(noun("second one", "the"), "come", adverb("late", "too"))
    s.say(coordinate(failed, s.pick((worse, late)), comma=True))

    def cheered() -> None:
        stop = clause(None, "give up", use=Verb("imperative", negation="n't"))
        s.say(quote(stop, s.kin(h, p), "say", end="!", turn=True))

    def supported() -> None:
        friend = s.kin(h, p)
        believed = clause(relativizer("who", friend), "believe", pp("in", s.pro(p)))
        help_ = obj(noun(s.pick(("money%", "advice%", "new idea+")), "some" if s.pick((True, False)) else ""))
        s.say(clause(relative(friend, believed, commas=True), "give", iobj(s.pro(p)), help_))

    def restarted() -> None:
        after = comma_after(pp("after", noun(f"{s.pick(('short', 'long', 'quiet'))} break", "a")))
        started = clause(s.again(p), "start", adverb("again"), front=[after])
        won = clause(s.pro(p), "succeed", front=[unmarked(noun("time", "this"))])
        s.say(coordinate(started, won, comma=True))

    def rewarded() -> None:
        season = comma_after(unmarked(noun(f"next {s.pick(_SEASONS)}", "the")))
        s.say(clause(s.again(p), "succeed", use=Verb(adverb="finally"), front=[season]))

    s.one(cheered, supported)
    s.one(restarted, rewarded)


PLOTS: tuple[Plot, ...] = (_learning, _arrival, _promise, _orders, _teamwork, _attempts)
