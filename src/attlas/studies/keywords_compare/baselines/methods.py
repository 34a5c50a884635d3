"""All ways to find key phrases that are compared, by name.

A way has a name (``tf-idf``), a form (of which there may be several), and what it needs beside the text at hand:
nothing, a corpus, or a model. Rows of attention come first, and the first of these is what all others are held
against: the heads that a study chose, or those that are shipped for the model, or those of the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from attlas.capture import Subject
from attlas.errors import CapabilityError
from attlas.studies.keywords_compare.baselines import floors, packages, textrank, tfidf
from attlas.studies.keywords_compare.baselines.embedding import by_similarity
from attlas.studies.keywords_compare.baselines.named import Named, named
from attlas.studies.keywords_compare.baselines.stopping import CODES, runs_between, stop_words
from attlas.studies.shared.keywords.choice import Choice, last_layer
from attlas.studies.shared.keywords.extraction import extract
from attlas.studies.shared.keywords.phrases import Phrase
from attlas.text import Document
from attlas.text.stems import Stem, stemmer

NAMES = (
    "attention", "attention weights", "embedding", "keybert", "yake", "tf-idf", "textrank", "first", "random",
)  # fmt: skip
OURS, PACKAGES = "attention", ("yake", "keybert")
Ranking = Callable[[Sequence[Document]], Iterator[list[Named]]]
_HEADED, _RUNS, _WORDS = "attention's candidates", "runs between stop words", "word weights"


@dataclass(frozen=True)
class Method:
    """One way to rank the phrases of documents.

    >>> Method("first", "", "nothing", lambda documents: iter([])).label
    'first'
    """

    name: str
    form: str
    needs: str
    rank: Ranking

    @property
    def label(self) -> str:
        """Name and form in one.

        >>> Method("tf-idf", "n-grams", "corpus", lambda documents: iter([])).label
        'tf-idf, n-grams'
        """
        return f"{self.name}, {self.form}" if self.form else self.name


@dataclass(frozen=True)
class Field:
    """What the ways that are compared are made of: a model, its heads, a corpus, a language.

    >>> from attlas.capture import load
    >>> from attlas.studies.shared.keywords.choice import choose_heads
    >>> subject = load()
    >>> field = Field(subject, choose_heads(subject), [Document.from_text("Solar cells age.")])
    >>> found = next(field.methods("first")[0].rank(field.corpus))
    >>> [phrase.text for phrase in found]
    ['Solar cells age']
    """

    subject: Subject
    choice: Choice
    corpus: Sequence[Document]
    language: str = "english"
    seed: int = 0
    max_pieces: int | None = None
    budget: int | None = None

    @property
    def stem(self) -> Stem:
        """What takes the endings off words.

        >>> Field.__dataclass_fields__["language"].default
        'english'
        """
        return stemmer(self.language)

    def missing(self, name: str) -> str | None:
        """Why a method cannot be had here, or None.

        >>> from attlas.capture import load
        >>> from attlas.studies.shared.keywords.choice import choose_heads
        >>> subject = load()
        >>> Field(subject, choose_heads(subject), [], "yiddish").missing("textrank")
        'textrank needs stop words, and there is no list for yiddish'
        >>> Field(subject, choose_heads(subject), []).missing("textrank") is None
        True
        """
        if name in PACKAGES and not packages.installed(name):
            return f"the package {name} is not installed; get it with {packages.EXTRA}"
        if name == "yake" and self.language not in CODES:
            return f"yake needs a language, and {self.language!r} is none that it knows"
        if name in ("tf-idf", "textrank", "keybert") and stop_words(self.language) is None:
            return f"{name} needs stop words, and there is no list for {self.language}"
        return None

    def methods(self, name: str) -> list[Method]:
        """All forms of a method; refused where it cannot be had.

        >>> from attlas.capture import load
        >>> from attlas.studies.shared.keywords.choice import choose_heads
        >>> field = Field(load(), choose_heads(load()), [])
        >>> [method.label for method in field.methods("tf-idf")]
        ['tf-idf, word weights', 'tf-idf, n-grams', "tf-idf, attention's candidates"]
        >>> field.methods("magic")
        Traceback (most recent call last):
            ...
        attlas.errors.CapabilityError: there is no method 'magic'; choose from attention, attention weights, ...
        """
        if name not in NAMES:
            raise CapabilityError(f"there is no method {name!r}; choose from {', '.join(NAMES)}")
        why = self.missing(name)
        if why is not None:
            raise CapabilityError(why)
        made: dict[str, Callable[[], list[Method]]] = {
            "attention": partial(self._attention, self.choice), "attention weights": self._weights,
            "embedding": self._embedding, "keybert": self._keybert, "yake": self._yake, "tf-idf": self._tfidf,
            "textrank": self._textrank, "first": self._first, "random": self._random,
        }  # fmt: skip
        return made[name]()

    def _phrases(self, choice: Choice, documents: Sequence[Document]) -> Iterator[list[Phrase]]:
        """The phrases of attention, all of them."""
        every = extract(
            self.subject, documents, choice, language=self.language, max_pieces=self.max_pieces, budget=self.budget
        )  # fmt: skip
        return (one.phrases for one in every)

    def _ranked(self, choice: Choice, documents: Sequence[Document]) -> Iterator[list[Named]]:
        return (named(phrases) for phrases in self._phrases(choice, documents))

    def _attention(self, choice: Choice, name: str = "attention") -> list[Method]:
        """By the heads of a choice, and by those of the rule where they are others."""
        rule = last_layer(self.subject, choice.measure, choice.over)
        forms = {"chosen heads": choice, "last layer": rule}
        if set(rule.heads) == set(choice.heads):
            del forms["chosen heads"]
        return [Method(name, form, "model", partial(self._ranked, one)) for form, one in forms.items()]

    def _weights(self) -> list[Method]:
        """The same heads by their weights; nothing new where weights are what is read anyway."""
        if self.choice.measure == "weight":
            return []
        return self._attention(replace(self.choice, measure="weight"), "attention weights")

    def _runs(self, documents: Sequence[Document]) -> Iterator[list[Phrase]]:
        stops = stop_words(self.language)
        assert stops is not None
        return (runs_between(document, stops, self.stem) for document in documents)

    def _pairs(self, documents: Sequence[Document]) -> Iterator[tuple[Document, list[Phrase]]]:
        """Documents with the candidates of attention."""
        return zip(documents, self._phrases(self.choice, documents), strict=True)

    def _candidates(self) -> list[tuple[str, str, Callable[[Sequence[Document]], Iterator[list[Phrase]]]]]:
        """Where candidates may come from: a name, what they need, and the candidates."""
        ours = (_HEADED, "model", partial(self._phrases, self.choice))
        return [ours] if stop_words(self.language) is None else [ours, (_RUNS, "nothing", self._runs)]

    def _embedding(self) -> list[Method]:
        def rank(
            source: Callable[..., Iterator[list[Phrase]]], documents: Sequence[Document]
        ) -> Iterator[list[Named]]:
            pairs = zip(documents, source(documents), strict=True)
            return by_similarity(self.subject, pairs, self.budget)

        return [Method("embedding", form, "model", partial(rank, source)) for form, _, source in self._candidates()]

    def _first(self) -> list[Method]:
        def rank(
            source: Callable[..., Iterator[list[Phrase]]], documents: Sequence[Document]
        ) -> Iterator[list[Named]]:
            return floors.first(source(documents))

        return [Method("first", form, needs, partial(rank, source)) for form, needs, source in self._candidates()]

    def _random(self) -> list[Method]:
        def rank(
            source: Callable[..., Iterator[list[Phrase]]], documents: Sequence[Document]
        ) -> Iterator[list[Named]]:
            return floors.random(source(documents), self.seed)

        return [Method("random", form, needs, partial(rank, source)) for form, needs, source in self._candidates()]

    def _keybert(self) -> list[Method]:
        def rank(diversity: float | None, documents: Sequence[Document]) -> Iterator[list[Named]]:
            model = packages.keybert_on(self.subject, self.budget)
            stops = sorted(stop_words(self.language) or ())
            return packages.by_keybert(documents, model, stops, self.stem, diversity=diversity)

        return [
            Method("keybert", "n-grams", "model", partial(rank, None)),
            Method("keybert", f"n-grams, MMR {packages.DIVERSITY:g}", "model", partial(rank, packages.DIVERSITY)),
        ]

    def _yake(self) -> list[Method]:
        return [Method("yake", "", "nothing", partial(packages.by_yake, code=CODES[self.language], stem=self.stem))]

    def _tfidf(self) -> list[Method]:
        stops = stop_words(self.language)
        assert stops is not None
        known: dict[str, Any] = {"corpus": self.corpus, "stops": stops, "stem": self.stem}
        return [
            Method("tf-idf", _WORDS, "corpus", partial(tfidf.by_words, **known)),
            Method("tf-idf", "n-grams", "corpus", partial(tfidf.by_ngrams, **known)),
            Method(
                "tf-idf", _HEADED, "model", lambda documents: tfidf.by_candidates(self._pairs(documents), **known)
            ),
        ]

    def _textrank(self) -> list[Method]:
        stops = stop_words(self.language)
        assert stops is not None
        known: dict[str, Any] = {"stops": stops, "stem": self.stem}
        return [
            Method("textrank", _WORDS, "nothing", partial(textrank.by_words, **known)),
            Method("textrank", "as in the paper", "nothing", partial(textrank.as_published, **known)),
            Method(
                "textrank",
                _HEADED,
                "model",
                lambda documents: textrank.by_candidates(self._pairs(documents), **known),
            ),
        ]
