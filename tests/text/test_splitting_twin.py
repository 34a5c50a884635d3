"""The quick ways of words, sentences and documents against slow ones that go by the rules alone."""

from __future__ import annotations

import copy
import pickle
import random
from dataclasses import fields, replace
from typing import Any

import pytest

from attlas.errors import TextError
from attlas.text import Document, Span, split_sentences, split_words
from attlas.text.splitting import _CLOSING, _END, _WORD, SHORT, _abbreviated, _breaks, split

LETTERS = ["a", "B", "é", ".", ".", "!", "?", "。", " ", " ", "\n", "\n\n", '"', ")", ",", "'", "-", "語", "3", "Mr"]


def slowly(text: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Words and sentences with every place asked whether it breaks, and nothing kept."""
    words = tuple(Span(*match.span()) for match in _WORD.finditer(text))
    sentences, start, ending = [], 0, False
    for index, span in enumerate(words):
        if index > start and _breaks(text, words, index, ending):
            sentences.append(Span(start, index))
            start, ending = index, False
        word = text[span.start : span.stop]
        if word in _END:
            ending = not (word == "." and _abbreviated(text, words, index))
        elif not (ending and word in _CLOSING):
            ending = False
    return words, (*sentences, Span(start, len(words))) if words else ()


def test_texts_are_split_as_the_rules_say() -> None:
    draw = random.Random(0)
    several = 0
    for _ in range(3000):
        text = "".join(draw.choices(LETTERS, k=draw.randint(0, 14)))
        words, sentences = slowly(text)
        assert split(text) == (words, sentences) == (split_words(text), split_sentences(text, words)), repr(text)
        assert all(type(span) is Span for span in (*split(text)[0], *split(text)[1]))
        several += len(sentences) > 1 and len(text) > SHORT
    assert several > 300


def test_documents_are_what_the_class_itself_makes() -> None:
    there = Document.from_text("Oh yes.", name="there")
    every: list[dict[str, Any]] = [
        {}, {"translation": there}, {"label": "wet", "pair": there}, {"keyphrases": ("rain",)},
    ]  # fmt: skip
    for layers in every:
        for text in ("a", "It rained. We stayed in.", ""):
            quick = Document.from_text(text, name="here", **layers)
            slow = Document(text, *slowly(text), "here", **layers)
            assert quick == slow
            assert hash(quick) == hash(slow)
            assert repr(quick) == repr(slow)
            assert pickle.loads(pickle.dumps(quick)) == copy.deepcopy(quick) == replace(quick) == slow
            assert all(getattr(quick, field.name) == getattr(slow, field.name) for field in fields(Document))
    for words in (["a"], ["Hi", "!"]):
        spelled = " ".join(words)
        quick = Document.from_words(words, upos=["X"] * len(words), translation=there)
        ends = [len(" ".join(words[: at + 1])) for at in range(len(words))]
        spans = tuple(Span(end - len(word), end) for word, end in zip(words, ends, strict=True))
        assert quick == Document(spelled, spans, upos=("X",) * len(words), translation=there)


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        ({"label": " "}, "its label is empty"),
        ({"upos": ("X", "Y")}, "2 upos for 1 words"),
        ({"governors": (3,)}, "governor"),
        ({"pair": Document.from_text("")}, "the second text of the pair has no words"),
    ],
)
def test_quick_documents_are_checked(layers: dict[str, Any], said: str) -> None:
    with pytest.raises(TextError, match=said):
        Document.from_text("a", **layers)
    with pytest.raises(TextError, match=said):
        Document.from_words(["a"], **layers)


def test_an_unknown_layer_is_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        Document.from_text("a", colour="red")
    with pytest.raises(TypeError, match="colour"):
        Document.from_words(["a"], colour="red")
