"""Head words, kinds and traits of English phrases by rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from attlas.corpora import read
from attlas.text import Document
from attlas.text.agreement import kind_of, traits
from attlas.text.phrases import head_word


@pytest.mark.parametrize(
    ("phrase", "head"),
    [
        ("she", "she"),
        ("the old farmer", "farmer"),
        ("the farmer from Kent", "farmer"),
        ("the farmer who slept", "farmer"),
        ("the bread we baked", "bread"),
        ("the desire to sleep", "desire"),
        ("Emma 's", "Emma"),
        ("Emma 's old aunt", "aunt"),
        ("the workers '", "workers"),
        ("George Washington", "Washington"),
        ("Madrid , Spain", "Madrid"),
        ("Emma and Karim", "Emma"),
        ("the men , women and children", "men"),
        ("a big , red house", "house"),
        ("a large and dangerous animal", "animal"),
        ("black and white photos", "photos"),
        ("one of them", "one"),
        ("all of them", "all"),
        ("those in the know", "those"),
        ("that man", "man"),
        ("well - to - do farmers", "farmers"),
        ("native - like levels of use", "levels"),
        ("the Onion ( a newspaper )", "Onion"),
        ("the source text ( ST )", "text"),
        ("twice a week", "twice"),
        ("a dog named Rex", "dog"),
        ("small animals such as mice", "animals"),
        ("someone else", "someone"),
        ("the town here", "town"),
        ("“ Emma ”", "Emma"),
        ("[ 17 ] , [ 18 ]", "17"),
        ("...", "..."),
        ("of", "of"),
    ],
)
def test_the_head_word(phrase: str, head: str) -> None:
    words = phrase.split()
    assert words[head_word(words)] == head


@pytest.mark.shared
def test_the_rule_agrees_with_a_treebank(shared_data: Path) -> None:
    """Noun phrases of two words or more, but no names: the treebank takes their first word, the rule their last."""
    right = count = 0
    for document in read(shared_data / "ud_english_ewt" / "en_ewt-ud-test.conllu.gz").documents:
        for governor, span in noun_phrases(document):
            words = document.forms[span.start : span.stop]
            right += span.start + head_word(words) == governor
            count += 1
    assert count > 2000
    assert right / count > 0.93


def noun_phrases(document: Document) -> list[tuple[int, range]]:
    """Nouns with all that hangs on them, but for prepositions, conjunctions and punctuation outside."""
    assert document.governors is not None
    assert document.relations is not None
    assert document.upos is not None
    below: dict[int | None, list[int]] = {}
    for word, governor in enumerate(document.governors):
        below.setdefault(governor, []).append(word)

    def all_below(word: int) -> list[int]:
        return [word, *(deeper for child in below.get(word, []) for deeper in all_below(child))]

    found = []
    inside = {"det", "amod", "nummod", "nmod", "acl", "compound", "conj", "appos", "advmod"}
    for noun, tag in enumerate(document.upos):
        children = below.get(noun, [])
        named = {document.relations[child].partition(":")[0] for child in children}
        if tag not in ("NOUN", "PRON") or named & {"cop", "nsubj", "flat", "list"}:
            continue
        kept = [child for child in children if document.relations[child].partition(":")[0] in inside]
        words = sorted([noun, *(word for child in kept for word in all_below(child))])
        if len(words) > 1 and words == list(range(words[0], words[-1] + 1)):
            found.append((noun, range(words[0], words[-1] + 1)))
    return found


@pytest.mark.parametrize(
    ("phrase", "options", "kind"),
    [
        ("her", {}, "pronoun"),
        ("I", {}, "pronoun"),
        ("its 's", {}, "pronoun"),
        ("That", {"opens": True}, "pronoun"),
        ("that one", {}, "nominal"),
        ("Emma", {}, "proper"),
        ("Emma", {"opens": True}, "nominal"),
        ("Emma", {"opens": True, "tag": "PROPN"}, "proper"),
        ("Farmers", {"tag": "NNS"}, "nominal"),
        ("US", {"tag": "NNP"}, "proper"),
        ("himself", {"tag": "PRP"}, "pronoun"),
        ("the farmer", {}, "nominal"),
    ],
)
def test_the_kind_of_a_mention(phrase: str, options: dict[str, object], kind: str) -> None:
    words = phrase.split()
    assert kind_of(words, head_word(words), **options) == kind  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("phrase", "found"),
    [
        ("me", "s.1"),
        ("you", "..2"),
        ("his", "sm3"),
        ("it", "sn3"),
        ("they", "p.3"),
        ("the farmers", "p.3"),
        ("the boss", "s.3"),
        ("the children", "p.3"),
        ("two sheep", "p.3"),
        ("this species", "s.3"),
        ("her aunt", "sf3"),
        ("his brother", "sm3"),
        ("the farmer and his wife", "p.3"),
    ],
)
def test_traits(phrase: str, found: str) -> None:
    words = phrase.split()
    assert "".join(traits(words, head_word(words))) == found


def test_what_is_unknown_agrees_with_everything() -> None:
    one, other = traits(["the", "farmer"], 1), traits(["she"], 0)
    assert one.agrees(other)
    assert other.agrees(one)
    assert not traits(["the", "farmers"], 1).agrees(other)
    assert not traits(["I"], 0).agrees(other)
