"""Texts in which something far off matters: needles in filler, documents with a question, sentences, instructions.

All are of our own words (:mod:`~attlas.studies.roles.sentences`) or runs of the corpus, as long as the window holds,
512 pieces at most. Named places are spans. A text is cut into pieces whole, and spans are found by characters, so
that pieces are those that the model knows from its training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from attlas.errors import CapabilityError
from attlas.studies.roles.sentences import INSTRUCTIONS, Fact, facts, filler
from attlas.studies.roles.texts import RoleText, Setting, runs_of

LENGTH = 512  # pieces of a text, where the window holds as many
TEXTS = 32  # texts of a kind, at most
FEWEST_TEXTS = 12  # whose needle and answer have the same pieces
TESTED = 112  # pieces of a text on which heads are tested
TESTS = 8  # such texts
FEWEST = 3  # sentences of filler around a needle
DOCUMENTS = 6  # of a text with a question, one of which answers it
SENTENCES = 12  # of a text whose sentences are asked about, at least
SHORTEST = 96  # pieces of a text of the corpus
NOTHING = "N/A"  # the question that asks nothing (QRHead)
Part = tuple[str, str]
Laid = tuple[list[int], dict[str, tuple[int, int]]]


def laid(setting: Setting, parts: Sequence[Part]) -> Laid:
    """The pieces of some parts written one after the other, and the span of every part that has a name: the pieces
    that hold characters of it.

    >>> from attlas.capture import load
    >>> ids, spans = laid(Setting(load(), None), [("The farmer slept ", ""), ("well", "how"), (".", "")])
    >>> len(ids), spans
    (5, {'how': (3, 4)})
    """
    tokenizer = setting.subject.pieces.tokenizer
    if not tokenizer.is_fast:
        raise CapabilityError(
            f"the tokenizer of {setting.subject.name} does not tell where pieces stand in a text, so no place in one "
            "can be named"
        )
    encoded = tokenizer(
        "".join(text for text, _ in parts), add_special_tokens=False, return_offsets_mapping=True, verbose=False
    )
    offsets, spans, at = encoded["offset_mapping"], {}, 0
    for text, name in parts:
        if name:
            inside = [n for n, (first, last) in enumerate(offsets) if first < at + len(text) and last > at]
            spans[name] = (inside[0], inside[-1] + 1)
        at += len(text)
    return list(encoded["input_ids"]), spans


def longest(setting: Setting) -> int:
    """The most pieces that a text has beside its frame.

    >>> from attlas.capture import load
    >>> longest(Setting(load(), None))
    510
    """
    return min(LENGTH, setting.window) - setting.frame.room


def fitted(setting: Setting, make: Callable[[int], list[Part]], most: int, fewest: int, room: int, what: str) -> int:
    """For how many sentences what ``make`` gives fits into ``room`` pieces; refused where too few do."""
    low, high, least = fewest, most, len(laid(setting, make(fewest))[0])
    if least > room:
        raise CapabilityError(
            f"the context of {setting.subject.name} is too short: {least} pieces are needed for {what}, and a text "
            f"may have {room}"
        )
    while low < high:  # the most that fit lie between them
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(laid(setting, make(middle))[0]) <= room else (low, middle - 1)
    return low


@dataclass(frozen=True)
class Needle:
    """A text that holds a fact among filler and asks for it, up to where the answer begins, and its right answer.

    >>> Needle([1, 2, 3, 2], {"needle": (1, 2)}, (2,)).spans["needle"]
    (1, 2)
    """

    pieces: list[int]
    spans: dict[str, tuple[int, int]]
    answer: tuple[int, ...]


def needle_texts(setting: Setting, room: int, count: int, half: int = 0) -> list[Needle]:
    """Needles at all depths, one in each text of at most ``room`` pieces, whose answer is said in the same words as
    the needle. Where pieces of the two differ, a text is left out. Facts are of one half: 0 chooses heads, 1 tests
    them."""
    generator = setting.draw("needles", half)
    made = []
    for at, fact in enumerate(facts(generator, count, half)):
        order, depth = filler(generator), (at + 0.5) / count

        def parts(number: int, fact: Fact = fact, sentences: list[str] = order, depth: float = depth) -> list[Part]:
            before = round(depth * number)
            return [
                (" ".join([*sentences[:before], f"{fact.said} "]), ""),
                (fact.where, "needle"),
                (" ".join([".", *sentences[before:number]]) + "\n", ""),
                (f"Question: {fact.question}", "question"),
                (f"\nAnswer: {fact.said} ", ""),
                (fact.where, "answer"),
            ]

        number = fitted(setting, parts, len(order), FEWEST, room, "a needle in filler")
        pieces, spans = laid(setting, parts(number))
        first, last = spans.pop("answer")
        answer, needle = pieces[first:last], pieces[slice(*spans["needle"])]
        if answer == needle:
            made.append(Needle(pieces[:first], spans, tuple(answer)))
    if len(made) < min(FEWEST_TEXTS, count):
        raise CapabilityError(
            f"{setting.subject.name} cuts the answer to a needle into other pieces than the needle, in "
            f"{count - len(made)} of {count} texts"
        )
    return made


def needles(setting: Setting) -> list[RoleText]:
    """Needles with the right answer written behind the question. Spans: "needle", "question", "answer".

    >>> from attlas.capture import load
    >>> texts = needles(Setting(load(), None, texts=3))
    >>> text = texts[0]
    >>> text.source.ids[slice(*text.spans["needle"])] == text.source.ids[slice(*text.spans["answer"])]
    True
    """
    return answered(setting, needle_texts(setting, longest(setting), min(setting.texts, TEXTS)))


def needles_to_test(setting: Setting) -> list[RoleText]:
    """Other and shorter ones, on which heads that retrieve are tested.

    >>> from attlas.capture import load
    >>> texts = needles_to_test(Setting(load(), None))
    >>> len(texts), max(text.length for text in texts) <= TESTED + 2
    (8, True)
    """
    room = min(TESTED, longest(setting))
    return answered(setting, needle_texts(setting, room, min(TESTS, setting.tested), half=1))


def answered(setting: Setting, made: Sequence[Needle]) -> list[RoleText]:
    """Texts of needles with the right answer behind the question. Spans: "needle", "question", "answer".

    >>> from attlas.capture import load
    >>> one = answered(Setting(load(), None), [Needle([2000, 2001], {"needle": (0, 1)}, (2000,))])[0]
    >>> one.source.ids, one.spans["answer"]
    ((101, 2000, 2001, 2000, 102), (3, 4))
    """
    texts = []
    for unit, needle in enumerate(made):
        span = (len(needle.pieces), len(needle.pieces) + len(needle.answer))
        texts.append(setting.example([*needle.pieces, *needle.answer], unit, {**needle.spans, "answer": span}))
    return texts


@dataclass(frozen=True)
class Asked:
    """One text twice: with a question that a document answers, and with one that asks nothing.

    >>> Asked(None, None, 3).unit
    3
    """

    real: Any
    null: Any
    unit: int

    @property
    def length(self) -> int:
        """Pieces of both."""
        return int(self.real.length + self.null.length)


def documents(setting: Setting) -> list[Asked]:
    """Numbered documents of a fact and some filler, and a question that one of them answers, or that asks nothing.
    Spans: "gold" (the document that answers) and "question".

    >>> from attlas.capture import load
    >>> one = documents(Setting(load(), None, texts=2))[0]
    >>> one.real.spans["gold"] == one.null.spans["gold"], sorted(one.real.spans)
    (True, ['gold', 'question'])
    """
    generator = setting.draw("documents")
    made = []
    for unit in range(min(setting.texts, TEXTS)):
        told, sentences = facts(generator, DOCUMENTS), filler(generator)
        gold = unit % DOCUMENTS

        def parts(
            number: int, told: list[Fact] = told, sentences: list[str] = sentences, gold: int = gold,
            question: str = "",
        ) -> list[Part]:  # fmt: skip
            written: list[Part] = []
            for at, fact in enumerate(told):
                around = " ".join(sentences[at * number : (at + 1) * number])
                text = f"{fact.said} {fact.where}." + (f" {around}" if around else "")
                written += [(f"[{at + 1}] ", ""), (text, "gold" if at == gold else ""), ("\n", "")]
            return [*written, ("Question: ", ""), (question or told[gold].question, "question")]

        most, what = len(sentences) // DOCUMENTS, f"{DOCUMENTS} documents with a question"
        number = fitted(setting, parts, most, 0, longest(setting), what)
        real, null = (
            setting.example(pieces, unit, spans)
            for pieces, spans in (laid(setting, parts(number)), laid(setting, parts(number, question=NOTHING)))
        )
        made.append(Asked(real, null, unit))
    return made


def long_texts(setting: Setting) -> list[RoleText]:
    """Texts of the corpus as long as the window holds, those that are shorter joined with the next.

    >>> from attlas.capture import load
    >>> from attlas.corpora import read
    >>> {text.length for text in long_texts(Setting(load(), read("sample"), texts=4))}
    {512}
    """
    room = longest(setting)
    if room < SHORTEST:
        raise CapabilityError(
            f"the context of {setting.subject.name} is too short: distant pieces are asked about in texts of "
            f"{SHORTEST} pieces or more, and a text may have {room}"
        )
    texts = list(runs_of(setting, room))
    if len(texts) < 2:
        raise CapabilityError(
            f"{setting.corpus.name} has too little text: two texts of {room} pieces are needed at least"
        )
    order = sorted(setting.draw("long").permutation(len(texts))[: min(setting.texts, TEXTS)].tolist())
    return [setting.example(texts[at], unit) for unit, at in enumerate(order)]


def sentences(setting: Setting) -> list[RoleText]:
    """Sentences of filler, as many as the window holds. Spans: "s0", "s1" and so on.

    >>> from attlas.capture import load
    >>> text = sentences(Setting(load(), None, texts=2))[0]
    >>> text.spans["s0"][0], len(text.spans) > 30
    (1, True)
    """
    generator = setting.draw("sentences")
    made = []
    for unit in range(min(setting.texts, TEXTS)):
        order = filler(generator)

        def parts(number: int, order: list[str] = order) -> list[Part]:
            return [(one if at == 0 else f" {one}", f"s{at}") for at, one in enumerate(order[:number])]

        number = fitted(setting, parts, len(order), SENTENCES, longest(setting), f"{SENTENCES} sentences")
        pieces, spans = laid(setting, parts(number))
        made.append(setting.example(pieces, unit, spans))
    return made


def instructions(setting: Setting) -> list[RoleText]:
    """An instruction, and data that it is about. Spans: "instruction", "data".

    >>> from attlas.capture import load
    >>> sorted(instructions(Setting(load(), None, texts=2))[0].spans)
    ['data', 'instruction']
    """
    generator = setting.draw("instructions")
    made = []
    for unit in range(min(setting.texts, TEXTS)):
        order, instruction = filler(generator), INSTRUCTIONS[unit % len(INSTRUCTIONS)]

        def parts(number: int, order: list[str] = order, instruction: str = instruction) -> list[Part]:
            data = " ".join(order[:number])
            return [("Instruction: ", ""), (instruction, "instruction"), ("\nText: ", ""), (data, "data"),
                    ("\nAnswer:", "")]  # fmt: skip

        number = fitted(setting, parts, 6, 1, longest(setting), "an instruction with data")
        pieces, spans = laid(setting, parts(number))
        made.append(setting.example(pieces, unit, spans))
    return made
