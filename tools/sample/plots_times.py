"""Plots that turn on time and place: habits, preparations, visits, rules, plans and what is written about them."""

from __future__ import annotations

from tools.sample.clauses import (
    HAD,
    HAS,
    PASSIVE,
    PRESENT,
    WILL,
    Verb,
    agent,
    clause,
    comma_after,
    infinitive,
    iobj,
    measured,
    obj,
    quote,
    relative,
    relativizer,
    subordinate,
    that,
    there,
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
    pp,
    unmarked,
)
from tools.sample.scene import Plot, Scene


def _routine(s: Scene) -> None:
    """What somebody does every day."""
    first, second, third, fourth = s.habits(4)
    p, h = s.pair()
    one = s.matter(first)
    s.key(one, bare(p.noun))
    when = comma_after(unmarked(noun(s.pick(("morning", "day", "weekday")), "every")))
    s.say(clause(s.meet(p), first.verb, *s.doing(first, one), use=PRESENT, front=[when]))
    s.say(
        coordinate(
            clause(s.pro(p), second.verb, *s.doing(second, s.matter(second)), use=PRESENT, front=[adverb("then")]),
            clause(None, third.verb, *s.doing(third, s.matter(third)), use=PRESENT),
        )
    )

    def helped() -> None:
        help_ = clause(s.kin(h, p), "help", obj(s.pro(p)), use=Verb("present", adverb="sometimes"))
        s.say(help_.after(subordinate("if", clause(s.pro(h), "have", obj(noun("time%")), use=PRESENT))))

    def alone() -> None:
        help_ = clause(s.kin(h, p), "help", obj(s.pro(p)), use=Verb("present", modal="would", adverb="gladly"))
        s.say(
            coordinate(
                help_,
                clause(s.pro(h), "live", pp("in", noun("distant city", "a")), use=PRESENT),
                by="but",
                comma=True,
            )
        )

    def late() -> None:
        home = clause(s.again(p), "go", adverb("home"), use=Verb("present", adverb="never"))
        done = clause(s.pro(p), fourth.verb, *s.doing(fourth, s.matter(fourth)), use=HAS)
        s.say(home.after(subordinate("before", done)))

    def sunday() -> None:
        rest = clause(s.again(p), "work", s.sundays(), use=Verb("present", negation="n't"))
        sings = clause(s.pro(p), "sing", pp("in", noun("choir", "a")), use=PRESENT)
        s.say(rest.after(subordinate("because", sings)))

    s.one(helped, alone)
    s.one(late, sunday)


def _preparation(s: Scene) -> None:
    """A great event is near."""
    event, crowd = s.thing(s.pick(s.world.events)), s.crew()
    done, open_ = s.tasks(2)
    p = s.person()
    s.key(event, crowd)
    soon = pp("in", noun("day+", None, count=s.pick(("two", "three", "ten"))))
    s.say(clause(s.the(event), "take", obj(noun("place")), soon, use=WILL))
    s.one(
        lambda: s.say(clause(s.the(crowd, "all"), adjective("very busy"), use=PRESENT)),
        lambda: s.say(clause(s.the(crowd, "all"), "work", adverb("hard"), use=Verb("present", progressive=True))),
    )
    finished = clause(
        s.pro(crowd), done.verb, *s.doing(done, s.matter(done)), use=Verb("present", perfect=True, adverb="already")
    )
    must = clause(
        s.pro(crowd),
        "have",
        infinitive(open_.verb, *s.doing(open_, s.matter(open_))),
        use=Verb("present", adverb="still"),
    )
    s.say(coordinate(finished, must, by="but", comma=True))

    def nervous() -> None:
        main = clause(s.meet(p), adjective(s.pick(("nervous", "excited", "worried"))), use=PRESENT)
        speech = clause(s.pro(p), "give", obj(noun("short speech", "a")), use=WILL)
        s.say(main.after(subordinate("because", speech)))

    def ready() -> None:
        will = clause(s.speaker(crowd, "we"), adjective("ready"), use=Verb("present", modal="will", asks=True))
        s.say(quote(will, s.meet(p, article="the", closed=False), "ask", end="?", turn=True, use=PRESENT))

    s.one(nervous, ready)


def _canceled(s: Scene) -> None:
    """A great event does not take place."""
    event = s.thing(s.pick(s.world.events))
    p, h = s.pair()
    s.key(event)
    cause = noun(s.pick(("violent storm", "long strike", "heavy snowfall", "power_failure")), "a")
    s.one(
        lambda: s.say(clause(s.the(event), "cancel", pp("because of", cause), use=PASSIVE)),
        lambda: s.say(clause(s.the(event), "cancel", agent(noun("director", "the")), s.past_time(), use=PASSIVE)),
        lambda: s.say(clause(s.the(event), "cancel", use=PASSIVE, front=[comma_after(pp("because of", cause))])),
    )
    who = s.named(p)
    prepared = clause(relativizer("who", who), "prepare", obj(s.pro(event)), pp("for", noun("month+")), use=HAD)
    if s.pick((True, False)):
        guests = noun(f"{s.pick(('important', 'famous', 'foreign'))} guest+", None, count=s.pick(("fifty", "ninety")))
        prepared = coordinate(prepared, clause(None, "invite", obj(guests), use=Verb(perfect=True, adverb="already")))
    mood = adjective(s.pick(("very sad", "deeply disappointed", "extremely angry")))
    s.say(clause(relative(who, prepared, commas=True), mood))

    def when() -> None:
        ask = clause(
            s.pro(event),
            "take",
            obj(noun("place")),
            use=Verb("present", modal="will", asks=True),
            front=[adverb("when")],
        )
        s.say(quote(ask, s.meet(h, closed=False), "ask", end="?", turn=True))
        s.say(clause(s.the(s.crowd()), "know", obj(noun("answer", "the")), use=Verb(negation=s.pick(("n't", "not")))))

    def comforted() -> None:
        s.say(clause(s.kin(h, p), "try", infinitive("comfort", obj(s.pro(p)))))
        mood = adjective(s.pick(("patient", "brave", "reasonable")))
        patient = clause(s.speaker(p, "you"), mood, use=Verb("present", modal="must"))
        s.say(quote(patient, s.again(h), "say"))

    s.one(when, comforted)
    s.one(
        lambda: s.say(coordinate(clause(s.again(p), "go", adverb("home")), clause(None, "sleep"))),
        lambda: s.say(coordinate(clause(s.again(p), "sigh"), clause(None, "leave"))),
    )


def _visit(s: Scene) -> None:
    """A group comes to see the place."""
    p = s.person()
    group = s.thing(s.pick(("noisy child+", "student+", "foreign guest+", "old friend+")))
    one, two, three = (s.thing(text) for text in s.rng.sample(s.world.sights, 3))
    s.key(one, two)
    where = noun(Place.read(s.world.site).noun, "the")
    when = comma_after(s.past_time())
    s.say(clause(s.a(group, count=s.pick(("twenty", "thirty", "twelve"))), "visit", obj(where), front=[when]))
    s.one(
        lambda: s.say(clause(s.pro(group), "see", coordinate(obj(s.a(one)), s.a(two), s.a(three)))),
        lambda: s.say(there(coordinate(s.a(one), s.a(two), s.a(three)), pp("in", noun("corner", "every")))),
        lambda: s.say(clause(s.meet(p), "show", iobj(s.pro(group)), coordinate(obj(s.the(one)), s.the(two)))),
    )

    def asked() -> None:
        may = clause(
            s.speaker(group, "we"), "photograph", obj(s.the(one)), use=Verb("present", modal="may", asks=True)
        )
        s.say(quote(may, s.again(group), "ask", end="?"))
        s.say(clause(s.who(p), "have", obj(noun("objection", "no"))))

    def explained() -> None:
        who = s.who(p)
        old = clause(s.the(one), adjective("very rare"))
        s.say(clause(who, "explain", that(old)))
        questions = obj(noun(f"{s.pick(('clever', 'difficult', 'strange'))} question+"))
        s.say(coordinate(clause(s.again(group), "listen"), clause(None, "ask", questions)))

    s.one(asked, explained)

    def bought() -> None:
        cards = noun("postcard+").after(of(s.again(two)))
        s.say(coordinate(clause(s.again(group), "buy", obj(cards)), clause(None, "go", adverb("home"))))

    def left() -> None:
        mood = adjective(s.pick(("tired", "happy", "cheerful"))).to("xcomp")
        s.say(clause(s.ref(group), "go", adverb("home"), mood))

    s.one(bought, left)


def _rules(s: Scene) -> None:
    """What one may and may not do here."""
    p = s.person()
    crowd, sight = s.thing(s.pick(("visitor+", "child+", "tourist+"))), s.thing(s.pick(s.world.sights))
    s.key(sight)
    s.say(clause(s.a(crowd), "touch", obj(s.the(sight)), use=Verb("present", modal="must", negation="not")))
    may = clause(
        s.pro(crowd), s.pick(("photograph", "draw", "film")), obj(s.again(sight)), use=Verb("present", modal="may")
    )
    pay = s.one(
        lambda: clause(
            s.pro(crowd), "have", infinitive("buy", obj(noun("ticket", "a")), adverb("first")), use=PRESENT
        ),
        lambda: clause(
            s.pro(crowd), "make", obj(noun("noise", "any")), use=Verb("present", modal="should", negation="n't")
        ),
    )
    s.say(coordinate(may, pay, by="but", comma=True))
    first = subordinate("if", clause(s.pro(crowd), "have", obj(noun("question", "a")), use=PRESENT), first=True)
    s.say(
        clause(
            s.pro(crowd),
            "ask",
            obj(s.meet(p, article="the", closed=False)),
            use=Verb("present", modal="can"),
            front=[first],
        )
    )
    years = pp("for", noun("year+", None, count=s.pick(("five", "seven", "twenty", "thirty"))))
    worked = clause(s.pro(p), "work", s.site(), years, use=HAS)
    s.say(
        coordinate(
            worked,
            clause(None, "know", obj(indefinite_pronoun("everything")), pp("about", s.again(sight)), use=PRESENT),
        )
    )


def _plan(s: Scene) -> None:
    """Somebody has a great plan."""
    task, event = Task.read(s.pick(s.world.projects)), s.thing(s.pick(s.world.events))
    p, h = s.pair()
    goal = s.matter(task)
    s.key(goal)
    s.one(
        lambda: s.say(clause(s.meet(p), "want", infinitive(task.verb, *s.doing(task, goal)), use=PRESENT)),
        lambda: s.say(
            clause(
                s.meet(p), "plan", infinitive(task.verb, *s.doing(task, goal)), use=Verb("present", progressive=True)
            )
        ),
    )
    saved = clause(s.pro(p), "save", obj(noun("money%", "some")), use=HAS)
    promised = clause(s.kin(h, p), "promise", infinitive("help", obj(s.pro(p))), use=HAS)
    s.say(coordinate(saved, promised, comma=True))

    def doubted() -> None:
        who = s.ref(h)
        cost = clause(
            noun("plan", "the"), adjective(s.pick(("too expensive", "risky", "very ambitious"))), use=PRESENT
        )
        money = there(noun(s.pick(("enough money%", "enough time%"))), use=Verb("present", negation="n't"))
        s.say(clause(who, "think", that(s.pick((cost, money))), use=PRESENT))

    def thought() -> None:
        idea = noun("idea", s.own(p))
        use = s.pick((PRESENT, Verb("present", negation="not"), Verb("present", adverb="already")))
        s.say(clause(idea, adjective("very popular"), pp("among", s.the(s.crowd())), use=use))

    s.one(doubted, thought)
    early = clause(s.speaker(p, "I"), "start", adverb("soon"), use=PRESENT)
    first = subordinate("if", early, first=True)
    ready = clause(
        s.speaker(p),
        adjective("ready"),
        pp("before", s.the(event)),
        use=Verb("present", modal="will", short=True),
        front=[first],
    )
    s.say(quote(ready, s.again(p), "say", use=PRESENT))


def _report(s: Scene) -> None:
    """Somebody writes something, and somebody reads it."""
    r = s.pick(s.world.reports)
    reader = s.extra(r.reader, s.pick(("he", "she")))
    p = s.person("he" if reader.pronoun == "she" else "she")
    paper = s.thing(r.noun)
    by, topic = r.topic.split(" ", 1)
    s.key(paper, topic)
    about = of(noun(topic, by), "about")

    def active() -> None:
        s.say(clause(s.meet(p), "write", obj(s.a(paper).after(about)), s.past_time()))

    def passive() -> None:
        s.say(clause(s.a(paper).after(about), "write", agent(s.meet(p, closed=False)), use=PASSIVE))

    s.one(active, passive)
    pages = s.pick(("two", "three") if r.noun.startswith(("short", "brief")) else ("five", "ten", "thirty"))
    s.one(
        lambda: s.say(clause(s.again(paper), measured(pages, "page+", "long"))),
        lambda: s.say(
            clause(s.ref(p), "spend", obj(noun("week+", None, count=pages)), pp("on", s.pro(paper)), use=HAD)
        ),
    )

    def invited() -> None:
        read = clause(s.the(reader), "read", obj(s.again(paper)), adverb("carefully"))
        s.say(coordinate(read, clause(None, "invite", obj(s.ref(p)), pp("to", noun("office", s.own(reader))))))

    def surprised() -> None:
        who = s.the(reader)
        read = clause(relativizer("who", who), "read", obj(s.again(paper)), adverb("twice"), use=HAD)
        s.say(clause(relative(who, read, commas=True), adjective("very impressed")))

    s.one(invited, surprised)
    s.one(
        lambda: s.say(
            quote(
                clause(
                    s.speaker(p, "you"),
                    "convince",
                    obj(s.speaker(reader)),
                    use=Verb("present", perfect=True, short=True),
                ),
                s.again(reader),
                "say",
                turn=True,
            )
        ),
        lambda: s.say(
            clause(
                s.again(reader),
                "offer",
                iobj(s.ref(p)),
                obj(noun(s.pick(("new job", "small prize", "long contract")), "a")),
            )
        ),
        lambda: s.say(there(noun("small mistake+", None, count=s.pick(("three", "two"))), pp("in", s.again(paper)))),
    )


PLOTS: tuple[Plot, ...] = (_routine, _preparation, _canceled, _visit, _rules, _plan, _report)
