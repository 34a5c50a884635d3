"""Plots that turn on a thing: it breaks, is given, lost, found, ordered, compared, or just stands there.

A plot is a function that tells a scene a short story, sentence by sentence. Phrases are built in the order in which
they are read, since the scene decides on pronouns as it goes.
"""

from __future__ import annotations

from tools.sample.clauses import (
    HAD,
    HAS,
    PASSIVE,
    PRESENT,
    Verb,
    agent,
    ago,
    asking,
    clause,
    comma_after,
    compare,
    infinitive,
    interjection,
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
    noun,
    of,
    possessive,
    pp,
    singular,
    unmarked,
)
from tools.sample.scene import Entity, Plot, Scene
from tools.sample.tree import Node

_COULD_NOT = Verb(modal="could", negation="not")
_COULDNT = Verb(modal="could", negation="n't")
_WILL = Verb("present", modal="will", short=True)
_DIDNT = Verb(negation="n't")


def _repair(s: Scene) -> None:
    """A machine breaks, and somebody brings what it takes to mend it."""
    device, spot = s.pick(s.world.devices), s.spots(1)[0]
    p, h = s.pair()
    machine, tool = s.thing(device.noun), s.thing(device.tool)
    s.key(machine, tool)

    def noticed() -> None:
        who = s.meet(p)
        fault = noun(device.fault, "a").after(of(s.the(machine), "in"))
        s.say(clause(who, s.pick(("find", "notice", "discover")), obj(fault), s.past_time()))

    def existed() -> None:
        when = comma_after(unmarked(noun(s.pick(("last week", "last spring", "last winter")))))
        s.say(there(noun(device.fault, "a").after(of(s.the(machine), "in"))).before(when))

    def lacking() -> None:
        main = clause(s.who(p), device.verb, obj(s.pro(machine)), use=s.pick((_COULD_NOT, _COULDNT)))
        reason = clause(s.pro(p), "have", obj(noun(bare(device.tool), "no")))
        s.say(main.after(subordinate("because", reason)))
        s.say(clause(s.kin(h, p), "bring", iobj(s.pro(p)), obj(s.a(tool)), s.day()))

    def misplaced() -> None:
        wish = clause(s.who(p), "want", infinitive(device.verb, obj(s.pro(machine)), adverb("immediately")))
        s.say(coordinate(wish, clause(s.the(tool, s.own(p)), "disappear", use=HAD), by="but", comma=True))
        found = clause(s.kin(h, p), "find", obj(s.again(tool)), spot.phrase())
        s.say(found.after(ago("two", "hour+", "later")))

    def stubborn() -> None:
        tried = clause(s.who(p), device.verb, obj(s.pro(machine)), adverb("twice"), use=HAD)
        first = subordinate("although", tried, first=True)
        s.say(clause(s.pro(machine), "work", adverb("properly"), use=_DIDNT, front=[first]))
        finally_ = comma_after(adverb("finally"))
        s.say(clause(s.meet(h), "lend", iobj(s.ref(p)), obj(s.a(tool)), front=[finally_]))

    def with_help() -> None:
        front = comma_after(pp("with", noun("help%", s.own(tool))))
        s.say(clause(s.again(p), device.verb, obj(s.again(machine)), front=[front]))

    s.one(noticed, existed)
    s.one(lacking, misplaced, stubborn)
    s.one(
        lambda: s.say(clause(s.joined(p, h, s.both(p, h)), device.verb, obj(s.again(machine)), adverb("together"))),
        lambda: s.say(clause(s.again(machine), device.verb, pp("before", noun("noon")), use=PASSIVE)),
        with_help,
    )
    if s.pick((True, False)):
        works = clause(s.pro(machine), "work", adverb("again"), use=PRESENT, front=[adverb("now")])
        s.say(quote(works, s.again(p), "say", turn=True))


def _gift(s: Scene) -> None:
    """Somebody gives a relative a small thing."""
    keepsake = s.pick(s.world.keepsakes)
    p, h = s.pair()
    thing = s.thing(keepsake.noun)
    s.key(thing)

    def given() -> None:
        verb = s.pick(("give", "send", "bring"))
        s.say(clause(s.meet(h), verb, iobj(s.kin(p, h)), obj(s.a(thing)), s.past_time()))

    def sent() -> None:
        verb = s.pick(("give", "send", "bring"))
        s.say(clause(s.named(h), verb, obj(s.a(thing)), pp("to", s.kin(p, h)), s.past_time()))

    def received() -> None:
        s.say(clause(s.meet(p), "receive", obj(s.a(thing)), pp("from", s.kin(h, p)), s.past_time()))

    def described() -> None:
        qualities = coordinate(adjective(keepsake.quality), adjective(keepsake.other))
        s.say(clause(s.pro(thing), qualities))

    def liked() -> None:
        main = clause(s.again(p), "like", obj(s.pro(thing)), use=Verb(adverb="really"))
        why = clause(s.pro(thing), adjective(f"very {keepsake.other}"))
        s.say(main.after(subordinate("because", why)))

    def asked() -> None:
        where = clause(s.speaker(h, "you"), "find", obj(s.pro(thing)), use=Verb(asks=True), front=[adverb("where")])
        s.say(quote(where, s.again(p), "ask", end="?"))
        shop = Place.read(s.pick(("at the market", "at an auction", "in a tiny shop", "in a junk_shop"))).phrase()
        bought = clause(s.speaker(h), "buy", obj(s.pro(thing)), shop)
        s.say(quote(bought, s.ref(h), "answer"))

    def explained() -> None:
        belonged = clause(s.pro(thing), "belong", pp("to", noun("grandmother", possessive("I", h.chain))))
        s.say(quote(belonged, s.again(h), "explain"))

    def told() -> None:
        teller, listener = s.again(h), s.ref(p)
        shop = noun(s.pick(("small", "dark", "famous")) + " shop", "a").after(of(noun("river", "the"), "near"))
        bought = clause(s.pro(h), "buy", obj(s.pro(thing)), pp("in", shop), use=HAD)
        s.say(clause(teller, "tell", iobj(listener), that(bought)))

    s.one(given, sent, received)
    s.one(described, liked)
    s.one(asked, explained, told)
    s.one(
        lambda: s.say(coordinate(clause(s.again(p), "thank", obj(s.ref(h)), adverb("warmly")), _took_home(s, thing))),
        lambda: s.say(clause(s.again(p), "show", obj(s.ref(thing)), pp("to", s.the(s.crowd())))),
        lambda: s.say(clause(s.again(p), s.pick(("smile", "laugh", "blush")))),
    )


def _took_home(s: Scene, thing: Entity) -> Node:
    return clause(None, "take", obj(s.ref(thing)), adverb("home"))


def _lost(s: Scene) -> None:
    """Somebody loses a small thing, and somebody else finds it."""
    keepsake = s.pick(s.world.keepsakes)
    p, h = s.pair()
    thing = s.thing(keepsake.noun)
    s.key(thing)
    here, there_, elsewhere = s.spots(3)

    def lost() -> None:
        who = s.meet(p)
        s.say(clause(who, "lose", obj(s.the(thing, s.own(p))), s.past_time()))

    def lost_present() -> None:
        when = comma_after(s.past_time())
        who = s.named(p)
        what = s.the(thing)
        giver = noun(s.pick(("uncle", "aunt", "grandfather", "teacher")), s.own(p))
        given = clause(giver, "give", iobj(s.pro(p)), use=HAD, front=[relativizer("that", what)])
        s.say(clause(who, "lose", obj(relative(what, given)), front=[when]))

    def looked() -> None:
        first = clause(s.ref(p), "look", pp("for", s.pro(thing)), coordinate(here.phrase(), there_.phrase()))
        s.say(coordinate(first, clause(s.pro(p), "find", obj(s.pro(thing)), use=_COULDNT), by="but", comma=True))

    def found() -> None:
        when = comma_after(s.one(s.day, lambda: ago(s.pick(("two", "three")), "day+", "later")))
        s.say(clause(s.kin(h, p), "find", obj(s.pro(thing)), elsewhere.phrase(), front=[when]))

    def was_found() -> None:
        by = agent(s.meet(h, closed=False))
        s.say(
            clause(s.pro(thing), "find", elsewhere.phrase(), by, use=PASSIVE, front=[comma_after(adverb("luckily"))])
        )

    def saw() -> None:
        who = s.named(h)
        working = clause(relativizer("who", who), "work", elsewhere.phrase(), use=Verb(progressive=True))
        first = clause(relative(who, working, commas=True), "see", obj(s.again(thing)))
        s.say(coordinate(first, clause(None, "pick up", obj(s.pro(thing)))))

    def returned() -> None:
        first = clause(s.ref(h), "give", obj(s.pro(thing)), adverb("back"), pp("to", s.ref(p)))
        s.say(coordinate(first, clause(s.pro(p), adjective("very happy")), comma=True))

    def promised() -> None:
        never = clause(
            s.speaker(p),
            "lose",
            obj(s.pro(thing)),
            adverb("again"),
            use=Verb("present", modal="will", adverb="never"),
        )
        s.say(quote(never, s.again(p), "promise"))

    def smiled() -> None:
        when = subordinate("when", clause(s.ref(h), "hand", obj(s.pro(thing)), pp("to", s.ref(p))), first=True)
        s.say(clause(s.pro(p), "smile", front=[when]))

    s.one(lost, lost_present)
    looked()
    s.one(found, was_found, saw)
    s.one(returned, promised, smiled)


def _mystery(s: Scene) -> None:
    """A small thing has disappeared, and nobody admits to having taken it."""
    keepsake = s.pick(s.world.keepsakes)
    p, h = s.pair()
    thing, crowd = s.thing(keepsake.noun), s.crowd()
    s.key(thing)
    place, hidden = s.spots(2)
    s.say(clause(asking("who"), s.pick(("take", "steal", "hide")), obj(s.the(thing))), "?")
    since = pp("for", noun(s.pick(("week+", "day+", "month+", "year+")), None, count=s.pick(("two", "three", "six"))))
    first = clause(s.pro(thing), "lie", place.phrase(), since, use=HAD)
    s.say(coordinate(first, clause(s.pro(thing), "disappear", s.day()), by="but", comma=True))
    asker, asked = s.meet(p), s.the(crowd)
    seen = clause(s.pro(crowd), "see", obj(s.pro(thing)), use=HAD)
    s.say(clause(asker, "ask", iobj(asked), subordinate("whether", seen, "ccomp")))

    def accused() -> None:
        did = clause(s.speaker(h, "you"), "hide", obj(s.pro(thing)), use=Verb(asks=True))
        s.say(quote(did.after(vocative(s.named(h))), s.ref(p), "ask", end="?"))
        no = interjection("no")
        s.say(quote(clause(s.speaker(h), "touch", obj(s.pro(thing)), use=_DIDNT, front=[no]), s.ref(h), "answer"))

    def silence() -> None:
        shook = clause(s.meet(h), "shake", obj(noun("head", s.own(h))))
        touched = clause(s.pro(h), "touch", obj(s.pro(thing)), use=Verb(perfect=True, negation="not"))
        s.say(coordinate(shook, clause(None, s.pick(("say", "claim", "insist")), that(touched))))
        end = comma_after(pp("in", noun("end", "the")))
        s.say(
            clause(
                s.again(thing),
                "discover",
                hidden.phrase(),
                agent(noun(s.pick(("small child", "stray dog", "kind stranger")), "a")),
                use=PASSIVE,
                front=[end],
            )
        )

    s.one(accused, silence)


def _discovery(s: Scene) -> None:
    """Somebody at work finds an old thing."""
    keepsake, task = s.pick(s.world.keepsakes), s.tasks(1)[0]
    p, h = s.pair()
    thing = s.thing(f"{s.pick(('strange', 'beautiful', 'dirty'))} old {bare(keepsake.noun)}")
    s.key(thing)
    matter = s.matter(task)
    busy = clause(s.named(p), task.verb, s.doing(task, matter)[0], use=Verb(progressive=True))
    s.say(clause(s.pro(p), "find", obj(s.a(thing)), front=[subordinate("while", busy, first=True)]))
    lay = clause(s.pro(thing), "lie", s.spots(1)[0].phrase())
    cover = clause(None, "cover", pp("with", noun("dust%")), use=PASSIVE)
    s.say(coordinate(lay, cover))
    cleaned = clause(s.again(p), "clean", obj(s.pro(thing)), adverb("carefully"))
    expert = s.kin(h, p, elder=True)
    worked = clause(
        relativizer("who", expert), "work", s.site(), pp("for", noun("year+", None, count="thirty")), use=HAD
    )
    shown = clause(None, "show", obj(s.pro(thing)), pp("to", relative(expert, worked, commas=True, closed=False)))
    s.say(coordinate(cleaned, shown))

    def asked() -> None:
        worth = clause(s.pro(thing), adjective(s.pick(("valuable", "precious"))), use=Verb("present", asks=True))
        s.say(quote(worth, s.again(p), "ask", end="?"))
        value = s.pick(("quite rare", "extremely rare", "very cheap", "almost worthless"))
        opinion = clause(s.pro(thing), adjective(value), use=PRESENT)
        verb = s.pick(("think", "believe", "suppose"))
        s.say(quote(clause(s.speaker(h), verb, that(opinion), use=PRESENT), s.again(h), "answer", turn=True))

    def recognized() -> None:
        main = clause(s.ref(h), "recognize", obj(s.pro(thing)), adverb("immediately"))
        why = clause(
            s.pro(h), "lose", obj(s.pro(thing)), ago(s.pick(("ten", "five", "six")), "year+", "earlier"), use=HAD
        )
        s.say(main.after(subordinate("because", why)))

    s.one(asked, recognized)


def _goods(s: Scene) -> None:
    """Somebody orders things that turn out wrong."""
    p = s.person()
    goods = s.thing(s.pick(s.world.goods))
    dealer = s.extra("dealer", "he" if p.pronoun == "she" else "she")
    s.key(goods)
    count = s.pick(("twelve", "twenty", "fifty", "forty"))
    seller = s.a(dealer).after(of(noun("city", "the"), "in"))
    s.say(clause(s.meet(p), "order", obj(s.a(goods, count=count)), pp("from", seller)))
    wrong = adjective(s.pick(("too small", "very dirty", "badly damaged", "completely useless")))
    arrived = clause(s.pro(goods), "arrive", s.day())
    s.say(coordinate(arrived, clause(s.pro(goods), wrong), by="but", comma=True))

    def sent_back() -> None:
        first = clause(s.again(p), "send back", obj(s.pro(goods)))
        letter = clause(None, "write", iobj(s.again(dealer)), obj(noun("angry letter", "a")))
        s.say(coordinate(first, letter))

    def called() -> None:
        first = clause(s.again(p), "call", obj(s.again(dealer)), adverb("immediately"))
        s.say(coordinate(first, clause(None, "complain", pp("about", s.pro(goods)))))

    def apologized() -> None:
        offer = obj(noun(s.pick(("discount", "refund", "better price", "small gift")), "a"))
        s.say(coordinate(clause(s.again(dealer), "apologize"), clause(None, "offer", iobj(s.again(p)), offer)))

    def promised() -> None:
        new = noun(f"new {bare(goods.noun)}")
        will = clause(
            s.speaker(dealer), "send", iobj(s.speaker(p, "you")), obj(new), unmarked(noun("next week")), use=_WILL
        )
        s.say(quote(will, s.again(dealer), "promise", turn=True))

    s.one(sent_back, called)
    s.one(apologized, promised)


def _comparison(s: Scene) -> None:
    """An old machine and a new one of the same kind."""
    kind = bare(s.pick(s.world.devices).noun)
    p, h = s.pair()
    old, new = s.thing(f"old {kind}"), s.thing("new one")
    s.key(f"{kind}+")
    worse, better = s.pick((("heavy", "strong"), ("ugly", "useful"), ("heavy", "reliable"), ("small", "reliable")))
    s.one(
        lambda: s.say(there(noun(f"{kind}+", None, count="two"), s.site(), use=PRESENT)),
        lambda: s.say(clause(s.meet(p), "have", obj(noun(f"{kind}+", None, count="two")), use=PRESENT)),
    )
    first = clause(s.the(old), compare(worse, s.the(new)), use=PRESENT)
    s.say(coordinate(first, clause(s.pro(old), compare(better), use=PRESENT), by="but", comma=True))
    likes = clause(s.who(p), "like", obj(s.the(old)), use=PRESENT)
    used = clause(s.pro(p), "use", obj(s.pro(old)), pp("for", noun("year+", None, count="ten")), use=HAS)
    s.say(likes.after(subordinate("because", used)))
    prefers = clause(s.kin(h, p), "prefer", obj(s.the(new)), use=PRESENT)
    looks = clause(s.pro(new), "look", compare("good").to("xcomp"), use=PRESENT)
    s.say(prefers.after(subordinate("because", looks)))
    if s.pick((True, False)):
        verb = s.pick(("sell", "replace", "throw away"))
        sell = clause(
            s.speaker(p, "you"), verb, obj(s.the(old)), use=Verb("present", modal="will", adverb="ever", asks=True)
        )
        s.say(quote(sell, s.ref(h), "ask", end="?", use=PRESENT))


def _building(s: Scene) -> None:
    """An old building, its past and its present use."""
    b = s.pick(s.world.buildings)
    p = s.person()
    house, crowd = s.thing(b.noun), s.crowd()
    s.key(house)
    place = Place.read(b.place)
    s.one(
        lambda: s.say(there(s.a(house), place.phrase(), use=PRESENT)),
        lambda: s.say(there(s.a(house), use=PRESENT).before(comma_after(place.phrase()))),
        lambda: s.say(_stands(place, s.a(house))),
    )
    builder = noun(f"{s.pick(('rich', 'famous', 'lonely'))} {b.builder}", "a")
    age = ago(s.pick(("ninety", "200", "150", "sixty")), "year+")
    s.say(clause(s.pro(house), "build", agent(builder), age, use=PASSIVE))
    part = clause(noun(b.part, s.own(house)), adjective(b.quality), use=PRESENT)
    path = noun(s.pick(("stony road", "steep road", "wooden bridge", "gravel_path")), "a")
    leads = clause(path, "lead", pp("to", s.ref(house)), use=PRESENT)
    s.say(coordinate(part, leads, comma=True))

    def used() -> None:
        task = Task.read(b.purpose)
        users = s.the(crowd)
        what = noun(task.noun, s.own(crowd))
        often = Verb("present", adverb=s.pick(("often", "usually", "sometimes")))
        s.say(clause(users, task.verb, obj(what), adverb("there"), use=often))

    def wanted() -> None:
        s.say(clause(s.meet(p), "want", infinitive("restore", obj(s.ref(house))), use=PRESENT))
        finest = noun(f"oldest {bare(b.noun)}", "the").after(of(noun(s.pick(("country", "region")), "the"), "in"))
        s.say(quote(clause(s.pro(house), finest, use=PRESENT), s.ref(p), "say", use=PRESENT))

    s.one(used, wanted)


def _stands(place: Place, what: Node) -> Node:
    return clause(None, "stand", what.to("nsubj"), use=PRESENT, person=what.person).before(place.phrase())


def _damage(s: Scene) -> None:
    """A misfortune, and what people did about it."""
    d = s.pick(s.world.damages)
    p = s.person()
    thing, crowd = s.thing(d.noun), s.crew()
    s.key(thing, d.cause)

    def active() -> None:
        cause = noun(d.cause, "a")
        s.say(
            clause(
                cause, d.verb, obj(s.the(thing)), unmarked(noun(s.pick(("last night", "last winter", "last week"))))
            )
        )

    def passive() -> None:
        when = comma_after(unmarked(noun(s.pick(("last night", "one morning", "last week")))))
        s.say(clause(s.the(thing), d.verb, agent(noun(d.cause, "a")), use=PASSIVE, front=[when]))

    def unhurt() -> None:
        lucky = comma_after(adverb(s.pick(("fortunately", "luckily"))))
        s.say(clause(noun(singular(s.world.public), "no"), "injure", use=PASSIVE, front=[lucky]))

    def saw() -> None:
        first = clause(s.meet(p), "see", obj(noun("damage%", "the")))
        s.say(coordinate(first, clause(None, "call", obj(s.the(crowd)), adverb("immediately"))))

    def shocked() -> None:
        main = clause(s.meet(p), adjective("deeply shocked"))
        s.say(main.after(subordinate("when", clause(s.pro(p), "see", obj(s.ref(thing))))))

    s.one(active, passive)
    s.one(unhurt, saw, shocked)
    who = s.ref(crowd) if s.met(crowd) else s.the(crowd)
    s.say(
        clause(
            who,
            d.remedy,
            obj(s.again(thing)),
            pp("within", noun("day+", None, count=s.pick(("two", "three", "ten")))),
        )
    )
    thanks = clause(s.who(p), "thank", obj(s.ref(crowd)))
    s.say(thanks.after(pp("for", noun("help%", s.own(crowd)))))


PLOTS: tuple[Plot, ...] = (
    _repair,
    _gift,
    _lost,
    _mystery,
    _discovery,
    _goods,
    _comparison,
    _building,
    _damage,
)
