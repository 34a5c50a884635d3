"""A tokenizer from nothing: one cut for raw and for tokenised text, characters of every piece, and text put back."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

from attlas.ids import Stream
from attlas.models import Pieces
from attlas.models.sizes import Sizes
from attlas.models.subwords import SPECIAL, learn_joins, make_tokenizer
from attlas.models.translator import make_translator
from attlas.text import Document, Passage

GERMAN = [
    "Die Sitzung des Parlaments ist geschlossen.",
    "Wirtschafts- und Währungsunion, das sogenannte Millennium-Problem (nicht eingetreten).",
    "Der Bauer fragt: „Warum?“",
    "Das kostet 3,5 Millionen Euro, die Union zahlt 1.000.",
] * 4
ENGLISH = [
    "The session's closed, isn't it?",
    "The so-called millennium bug (it didn't happen) was the Union's problem.",
    'The farmer asks: "Why?" - and the Union\'s silent.',
    "It's 3.5 million euros, the Union pays 1,000; that's all.",
] * 4


def made(vocabulary: int = 300):  # type: ignore[no-untyped-def]
    return make_tokenizer(GERMAN, ENGLISH, vocabulary)


@pytest.mark.parametrize(
    ("raw", "cut"),
    [
        ("The session's closed, isn't it?", "The session 's closed , isn 't it ?"),
        ("the so-called bug (it didn't)", "the so-called bug ( it didn ' t )"),
        ("the so-called bug", "the so - called bug"),
        ("3.5 million", "3 . 5 million"),
        ("„Warum?“", "„ Warum ? “"),
    ],
)
def test_raw_and_tokenised_text_have_the_same_pieces(raw: str, cut: str) -> None:
    tokenizer = made()
    one, other = (tokenizer(text, return_offsets_mapping=True) for text in (raw, cut))
    assert one["input_ids"] == other["input_ids"]
    for text, found in ((raw, one), (cut, other)):
        names = tokenizer.convert_ids_to_tokens(found["input_ids"])
        for name, (start, stop) in list(zip(names, found["offset_mapping"], strict=True))[:-1]:
            assert name.replace("▁", "") in ("", text[start:stop]), (name, text[start:stop])


def test_pieces_find_their_words_in_either_text() -> None:
    opened = make_translator(made(), Sizes(1, 2, 8, 8))
    pieces = Pieces("tiny", opened.tokenizer, opened.model, Stream.ENCODER)
    gold = Document.from_words(["The", "session", "'s", "closed", ",", "isn", "'t", "it", "?"])
    raw = Document.from_text("The session's closed, isn't it?")
    for document in (gold, raw):
        example = pieces.encode(Passage(document, document))
        assert example.target is not None
        for encoded in (example.source, example.target):
            assert not encoded.segmentation.wordless
            for place, word in enumerate(encoded.segmentation.words):
                shown = encoded.segmentation.pieces[place].rstrip("₁₂")
                assert word < 0 or shown in document.word(word)
    one, other = (pieces.encode(Passage(document)).source for document in (gold, raw))
    assert one.ids == other.ids


def test_bare_examples_have_the_same_ids() -> None:
    opened = make_translator(made(), Sizes(1, 2, 8, 8))
    pieces = Pieces("tiny", opened.tokenizer, opened.model, Stream.ENCODER)
    passages = [
        Passage(Document.from_text(a), Document.from_text(b)) for a, b in zip(GERMAN[:4], ENGLISH[:4], strict=True)
    ]
    for whole, bare in zip(pieces.encode_all(passages), pieces.encode_bare(passages), strict=True):
        assert whole.source.ids == bare.source.ids
        assert whole.target is not None
        assert bare.target is not None
        assert whole.target.ids == bare.target.ids
        assert whole.length == bare.length


def test_text_is_put_back_as_it_was() -> None:
    tokenizer = made()
    again = tokenizer.batch_decode(tokenizer(ENGLISH[:4])["input_ids"], skip_special_tokens=True)
    assert again == ENGLISH[:4]


def test_a_mark_is_joined_as_in_the_texts_by_the_word_that_follows() -> None:
    joins = learn_joins(["the peoples' rights"] * 5 + ["it's here, it's there and it's gone"] * 5)
    assert joins["'"][:2] == (True, True)
    assert joins["'"].otherwise == {"rights": (True, False)}
    assert learn_joins(["1 - 2", "1 - 2", "so-called"])["-"].numbers == (False, False)


def test_only_a_foreign_character_is_unknown() -> None:
    tokenizer = made()
    assert len(tokenizer) <= 300
    assert set(tokenizer.all_special_tokens) == set(SPECIAL)
    unknown = tokenizer.unk_token_id
    assert unknown not in tokenizer("fahrpläne; zänkisch? (hm-hm) mmhllrz")["input_ids"]
    assert tokenizer("the 猫")["input_ids"].count(unknown) == 1


@pytest.mark.campaign
def test_the_same_texts_give_the_same_pieces_in_every_process() -> None:
    """The library's hash tables are in another order in every process; the alphabet is small, so that ties abound."""
    program = (
        "import hashlib, sys; from attlas.models.subwords import make_tokenizer as m; "
        "t = m(['abcabd dabc', 'bcd acd bad'], ['cab dab', 'bad cad'], 40); "
        "print(hashlib.sha256(t.backend_tokenizer.to_str().encode()).hexdigest())"
    )
    here = make_tokenizer(["abcabd dabc", "bcd acd bad"], ["cab dab", "bad cad"], 40)
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    assert told == hashlib.sha256(here.backend_tokenizer.to_str().encode()).hexdigest()
