"""Clauses: verbs with their auxiliaries, subjects and objects, and the ways clauses combine.

One function, :func:`clause`, builds them all: it strings up the auxiliaries (modal, perfect, progressive, passive),
lets the first of them agree with the subject, brings in "do" where English wants it, and turns the order round for
a question. A predicate that is not a verb takes the copula. Other functions set clauses into each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tools.sample.morphology import comparative, conjugate
from tools.sample.phrases import adjective, adverb, noun, number, pp, punct, unmarked
from tools.sample.tree import Node

_CLITICS = {"is": "'s", "am": "'m", "are": "'re", "has": "'s", "have": "'ve", "will": "'ll", "had": "'d"}
_BEFORE_NOT = {"can": "ca", "will": "wo"}


@dataclass(frozen=True)
class Verb:
    """How a verb is used: tense, auxiliaries, negation, an adverb in its midst, and whether it asks.

    ``tense`` is "past", "present", "infinitive", "imperative" or "participle".

    >>> Verb(perfect=True).tense
    'past'
    """

    tense: str = "past"
    modal: str = ""
    perfect: bool = False
    progressive: bool = False
    passive: bool = False
    negation: str = ""
    adverb: str = ""
    asks: bool = False
    short: bool = False


PAST = Verb()
PRESENT = Verb(tense="present")
INFINITIVE = Verb(tense="infinitive")
IMPERATIVE = Verb(tense="imperative")
PASSIVE = Verb(passive=True)
HAD = Verb(perfect=True)
HAS = Verb(tense="present", perfect=True)
WILL = Verb(tense="present", modal="will")


def obj(phrase: Node) -> Node:
    """A noun phrase as direct object.

    >>> obj(noun("barn", "the")).relation
    'obj'
    """
    return phrase.to("obj")


def iobj(phrase: Node) -> Node:
    """A noun phrase as indirect object.

    >>> iobj(noun("farmer", "the")).relation
    'iobj'
    """
    return phrase.to("iobj")


def agent(phrase: Node) -> Node:
    """The agent of a passive, with "by".

    >>> agent(noun("storm", "a")).relation
    'obl:agent'
    """
    return pp("by", phrase, "obl:agent")


def _finite_tag(tense: str, person: str) -> str:
    if tense == "past":
        return "VBD"
    return "VBZ" if person == "3s" else "VBP"


def _chain(lemma: str, use: Verb, person: str, copula: bool) -> list[Node]:
    """The auxiliaries and the verb (or the copula) as bare nodes, each in its right form."""
    steps: list[tuple[str, str, str]] = []  # lemma, relation, the tag it asks of what follows
    if use.modal:
        steps.append((use.modal, "aux", "VB"))
    if use.perfect:
        steps.append(("have", "aux", "VBN"))
    if use.progressive:
        steps.append(("be", "aux", "VBG"))
    if use.passive:
        steps.append(("be", "aux:pass", "VBN"))
    imperative = use.tense == "imperative"
    finite = use.tense in ("past", "present")
    bare_be = lemma == "be" and not imperative
    if not steps and not bare_be and ((use.negation and (finite or imperative)) or use.asks):
        steps.append(("do", "aux", "VB"))
    steps.append((lemma, "cop" if copula else "root", ""))
    tags = {"infinitive": "VB", "imperative": "VB", "participle": "VBN"}
    tag = tags.get(use.tense) or _finite_tag(use.tense, person)
    nodes = []
    for index, (word, relation, following) in enumerate(steps):
        if use.modal and index == 0:
            tag = "MD"
        main = index + 1 == len(steps)
        upos = "VERB" if main and not copula else "AUX"
        form = word if tag == "MD" else conjugate(word, tag, person)
        nodes.append(Node(form, word, upos, tag, relation))
        tag = following
    return nodes


def _negation(form: str) -> Node:
    return Node(form, "not", "PART", "RB", "advmod", glued=form == "n't")


def _dress(chain: list[Node], use: Verb, subject: Node | None) -> tuple[list[Node], list[Node]]:
    """Add negation and adverb after the first auxiliary; returns what may be inverted, and the rest."""
    first, rest = chain[0], chain[1:]
    if use.short and subject is not None and subject.xpos == "PRP" and first.form in _CLITICS and first.upos == "AUX":
        first = replace(first, form=_CLITICS[first.form], glued=True)
    head, marks = [first], []
    if use.negation == "n't":
        head[0] = replace(first, form=_BEFORE_NOT.get(first.form, first.form))
        head.append(_negation("n't"))
    elif use.negation:
        marks.append(_negation("not"))
    if use.adverb:
        marks.append(adverb(*reversed(use.adverb.split())))
    return head, marks + rest


def clause(
    subject: Node | None,
    predicate: str | Node,
    *after: Node,
    use: Verb = PAST,
    front: Sequence[Node] = (),
    person: str = "",
) -> Node:
    """A clause, from its subject and its predicate (a verb in its basic form, or a phrase that takes the copula).

    A verb may bring a particle ("pick up"); it stands right after the verb, or after an object that is a pronoun.
    What follows must have its relation already. ``front`` stands before the subject.

    >>> def read(node): return " ".join(word.form for word in node.words())
    >>> read(clause(noun("vet", "the"), "feed", obj(noun("calf+", "the")), use=Verb(modal="should", negation="not")))
    'the vet should not feed the calves'
    >>> read(clause(noun("vet", "the"), "sleep", use=Verb(asks=True)))
    'did the vet sleep'
    >>> read(clause(noun("egg+", "the"), adjective("fresh"), use=Verb("present", negation="n't")))
    "the eggs are n't fresh"
    """
    person = person or (subject.person if subject is not None else "3s")
    copula = isinstance(predicate, Node)
    lemma, _, particle = ("be", "", "") if isinstance(predicate, Node) else predicate.partition(" ")
    chain = _chain(lemma, use, person, copula)
    passive = use.passive
    if not isinstance(predicate, Node):
        *chain, head = chain
        auxiliaries: list[Node] = chain
    else:
        head = replace(predicate, left=())
        auxiliaries = chain
    lead = list(front)
    who = [] if subject is None else [subject.to("nsubj:pass" if passive else "nsubj")]
    if auxiliaries:
        first, rest = _dress(auxiliaries, use, subject)
        left = [*lead, *first, *who, *rest] if use.asks else [*lead, *who, *first, *rest]
    else:
        marks = [adverb(*reversed(use.adverb.split()))] if use.adverb else []
        left = [*lead, *who, *marks]
    if isinstance(predicate, Node):
        left += list(predicate.left)
    right = list(after)
    if use.negation and not auxiliaries:  # only the verb "be" is negated without an auxiliary
        right.insert(0, _negation(use.negation))
    if particle:
        part = Node(particle, particle, "ADP", "RP", "compound:prt")
        late = bool(right) and right[0].relation == "obj" and right[0].upos == "PRON"
        right.insert(1 if late else 0, part)
    return replace(head, relation="root", left=tuple(left), right=head.right + tuple(right), chain=None)


def infinitive(predicate: str | Node, *after: Node, relation: str = "xcomp", use: Verb = INFINITIVE) -> Node:
    """A clause with "to", as the complement of a verb unless told otherwise.

    >>> [node.form for node in infinitive("feed", obj(noun("calf+", "the"))).words()]
    ['to', 'feed', 'the', 'calves']
    """
    to = Node("to", "to", "PART", "TO", "mark")
    negated = [_negation("not")] if use.negation else []
    return clause(None, predicate, *after, use=replace(use, negation="")).before(*negated, to).to(relation)


def subordinate(word: str, inner: Node, relation: str = "advcl", *, first: bool = False) -> Node:
    """A clause introduced by a subordinator; ``first`` closes it with a comma, for the front of the sentence.

    >>> subordinate("when", clause(noun("rain%", "the"), "stop"), first=True).left[0].relation
    'advmod'
    """
    mark = adverb(word) if word in ("when", "where", "how", "why") else Node(word, word, "SCONJ", "IN", "mark")
    marked = inner.before(mark).to(relation)
    return marked.after(punct(",")) if first else marked


def that(inner: Node) -> Node:
    """A complement clause with "that".

    >>> that(clause(noun("rain%", "the"), "stop")).relation
    'ccomp'
    """
    return subordinate("that", inner, "ccomp")


def relative(phrase: Node, inner: Node, *, commas: bool = False, closed: bool = True) -> Node:
    """A noun phrase with a relative clause, whose relative pronoun is in place already.

    >>> vet = noun("vet", "the")
    >>> [node.form for node in relative(vet, clause(relativizer("who", vet), "sleep")).words()]
    ['the', 'vet', 'who', 'slept']
    """
    inner = inner.to("acl:relcl")
    if commas:
        inner = inner.before(punct(",")).after(*([punct(",")] if closed else []))
    return phrase.after(inner)


def relativizer(word: str, antecedent: Node) -> Node:
    """A relative pronoun that agrees with its antecedent.

    >>> relativizer("who", noun("vet+", "the")).person
    '3p'
    """
    return Node(word, word, "PRON", "WP" if word == "who" else "WDT", "obj", person=antecedent.person)


def asking(word: str) -> Node:
    """The question word "who" or "what".

    >>> asking("what").xpos
    'WP'
    """
    return Node(word, word, "PRON", "WP", "obj")


def there(phrase: Node, *after: Node, use: Verb = PAST) -> Node:
    """An existential sentence.

    >>> [node.form for node in there(noun("barn+", None, count="two")).words()]
    ['there', 'were', 'two', 'barns']
    """
    expletive = Node("there", "there", "PRON", "EX", "expl")
    built = clause(None, "be", phrase.to("nsubj"), *after, use=use, person=phrase.person)
    return built.before(expletive)


def quote(
    words: Node, speaker: Node, verb: str, *after: Node, end: str = ",", turn: bool = False, use: Verb = PAST
) -> Node:
    """Direct speech: the words, and then who says them.

    ``end`` closes the words: "," (for a statement), "?" or "!"; ``turn`` puts the verb before the speaker.

    >>> sentence = quote(clause(noun("calf", "the"), "sleep"), noun("vet", "the"), "say", turn=True)
    >>> " ".join(word.form for word in sentence.words())
    '" the calf slept , " said the vet'
    """
    opening, closing = punct('"', glued=False, tag="``"), punct('"', tag="''")
    quoted = words.to("ccomp").before(opening).after(punct(end), closing)
    if turn:
        return clause(None, verb, speaker.to("nsubj"), *after, use=use).before(quoted)
    return clause(speaker, verb, *after, use=use).before(quoted)


def announce(speaker: Node, verb: str, words: Node, *after: Node, end: str = ".", use: Verb = PAST) -> Node:
    """Direct speech with the speaker first; the quotation closes the sentence.

    >>> sentence = announce(noun("vet", "the"), "say", clause(noun("calf", "the"), "sleep"))
    >>> " ".join(word.form for word in sentence.words())
    'the vet said , " the calf slept . "'
    """
    opening, closing = punct('"', glued=False, tag="``"), punct('"', tag="''")
    quoted = words.to("ccomp").before(punct(","), opening).after(punct(end), closing)
    return clause(speaker, verb, *after, quoted, use=use)


def compare(quality: str, other: Node | None = None) -> Node:
    """A comparative, with "than" if it is told than what, to be used as a predicate.

    >>> [node.form for node in compare("heavy", noun("boat", "the")).words()]
    ['heavier', 'than', 'the', 'boat']
    """
    form = comparative(quality)
    if form:
        head = Node(form, quality, "ADJ", "JJR", "root")
    else:
        head = adjective(quality).to("root").before(Node("more", "more", "ADV", "RBR", "advmod"))
    return head if other is None else head.after(pp("than", other))


def ago(count: str, unit: str, word: str = "ago") -> Node:
    """A time such as "three days ago" or "three days later".

    >>> [node.relation for node in ago("three", "day+").words()]
    ['nummod', 'obl:unmarked', 'advmod']
    """
    return adverb(word).before(unmarked(noun(unit, None, count=count)))


def comma_after(phrase: Node) -> Node:
    """A phrase with a comma behind it, for the front of a sentence.

    >>> [node.form for node in comma_after(pp("on", noun("monday", None))).words()]
    ['on', 'monday', ',']
    """
    return phrase.after(punct(","))


def vocative(who: Node) -> Node:
    """Somebody addressed, at the end of a clause.

    >>> [node.form for node in vocative(noun("doctor")).words()]
    [',', 'doctor']
    """
    return who.to("vocative").before(punct(","))


def interjection(word: str, *, comma: bool = True) -> Node:
    """A word such as "yes" or "please" at the front of a clause.

    >>> interjection("yes").relation
    'discourse'
    """
    spoken = Node(word, word, "INTJ", "UH", "discourse")
    return comma_after(spoken) if comma else spoken


def what_is(subject: Node, use: Verb = PRESENT) -> Node:
    """The question "what is ...", whose predicate is the question word itself.

    >>> [node.form for node in what_is(noun("noise", "this")).words()]
    ['what', 'is', 'this', 'noise']
    """
    copula = _chain("be", use, subject.person, True)
    return asking("what").to("root").after(*copula, subject.to("nsubj"))


def measured(count: str, unit: str, quality: str) -> Node:
    """A measured quality such as "three meters long", to be used as a predicate.

    >>> [node.form for node in measured("three", "meter+", "long").words()]
    ['three', 'meters', 'long']
    """
    head = adjective(quality).to("root")
    return head.before(unmarked(noun(unit).before(number(count))))
