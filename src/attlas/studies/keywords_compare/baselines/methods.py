"""All ways to find key phrases that are compared, by name.

A way has a name (``tf-idf``), a form (of which there may be several), and what it needs beside the text at hand:
nothing, a corpus, or a model. Rows of attention come first, and the first of these is what all others are held
against: the heads that a study chose, or those that are shipped for the model, or those of the rule. *first* and
*random* are what any method must beat: candidates in the order of the text, and in no order at all. *Single
words* are for texts whose key phrases mostly are such: the same weights, every word by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from attlas.capture import Subject
from attlas.errors import CapabilityError
from attlas.run.parameters import names_of
from attlas.studies.keywords_compare.baselines import packages, textrank, tfidf
from attlas.studies.keywords_compare.baselines.embedding import by_similarity
from attlas.studies.keywords_compare.baselines.named import Named, named
from attlas.studies.keywords_compare.baselines.stopping import CODES, runs_between, stop_words
from attlas.studies.keywords_compare.baselines.weighted import Pair, Weigh, by_candidates, by_words
from attlas.studies.shared.keywords.choice import Choice, last_layer
from attlas.studies.shared.keywords.extraction import extract
from attlas.text import Document
from attlas.text.stems import Stem, stemmer

NAMES = (
    "attention", "attention weights", "embedding", "keybert", "yake", "tf-idf", "textrank", "first", "random",
)  # fmt: skip
OURS, PACKAGES = "attention", ("yake", "keybert")
Ranking = Callable[[Sequence[Document]], Iterator[list[Named]]]
_Source = Callable[[Sequence[Document]], Iterator[Pair]]
_HEADED, _RUNS, _WORDS = "attention's candidates", "runs between stop words", "word weights"
_SINGLE = "single words"


@dataclass(frozen=True)
class Method:
    """One way to rank the phrases of documents."""

    name: str
    form: str
    needs: str
    rank: Ranking

    @property
    def label(self) -> str:
        """Name and form in one."""
        return f"{self.name}, {self.form}" if self.form else self.name


def check_methods(given: Sequence[str] | str) -> None:
    """Refuse names of methods that there are not.

    >>> check_methods("tf-idf,yake")
    """
    for name in names_of(given):
        if name not in NAMES:
            raise CapabilityError(f"there is no method {name!r}; choose from {', '.join(NAMES)}")


@dataclass(frozen=True)
class Field:
    """What the ways that are compared are made of: a model, its heads, a corpus, a language."""

    subject: Subject
    choice: Choice
    corpus: Sequence[Document]
    language: str = "english"
    seed: int = 0
    max_pieces: int | None = None
    budget: int | None = None

    @property
    def stem(self) -> Stem:
        """What takes the endings off words."""
        return stemmer(self.language)

    def missing(self, name: str) -> str | None:
        """Why a method cannot be had here, or None."""
        if name in PACKAGES and not packages.installed(name):
            return packages.lacking(name)
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
        ['tf-idf, word weights', 'tf-idf, n-grams', "tf-idf, attention's candidates", 'tf-idf, single words']
        >>> field.methods("magic")
        Traceback (most recent call last):
            ...
        attlas.errors.CapabilityError: there is no method 'magic'; choose from attention, attention weights, ...
        """
        check_methods([name])
        why = self.missing(name)
        if why is not None:
            raise CapabilityError(why)
        forms: dict[str, Callable[[], list[Method]]] = {
            "attention": lambda: [*self._attention(self.choice, name), self._single(name)],
            "attention weights": self._weights,
            "embedding": lambda: self._ranking(name, self._closest, "model"),
            "keybert": self._keybert, "yake": self._yake, "tf-idf": self._tfidf, "textrank": self._textrank,
            "first": lambda: self._ranking(name, _in_order), "random": lambda: self._ranking(name, self._shuffled),
        }  # fmt: skip
        return forms[name]()

    def _attention(self, choice: Choice, name: str) -> list[Method]:
        """By the heads of a choice, and by those of the rule where they are others."""
        rule = last_layer(self.subject, choice.measure, choice.over)
        forms = {"chosen heads": choice, "last layer": rule}
        if set(rule.heads) == set(choice.heads):
            del forms["chosen heads"]

        def rank(heads: Choice, documents: Sequence[Document]) -> Iterator[list[Named]]:
            return (named(phrases) for _, phrases in self._phrases(documents, heads))

        return [Method(name, form, "model", partial(rank, heads)) for form, heads in forms.items()]

    def _single(self, name: str) -> Method:
        """The heads of the choice, every word by itself."""

        def rank(documents: Sequence[Document]) -> Iterator[list[Named]]:
            return (named(phrases) for _, phrases in self._phrases(documents, longest=1))

        return Method(name, _SINGLE, "model", rank)

    def _weights(self) -> list[Method]:
        """The same heads by their weights; nothing new where weights are what is read anyway."""
        if self.choice.measure == "weight":
            return []
        return self._attention(replace(self.choice, measure="weight"), "attention weights")

    def _phrases(
        self, documents: Sequence[Document], choice: Choice | None = None, longest: int | None = None
    ) -> Iterator[Pair]:
        """Documents with the phrases of attention, all of them: by other heads than the chosen ones if asked for."""
        every = extract(
            self.subject, documents, choice or self.choice, language=self.language, max_pieces=self.max_pieces,
            budget=self.budget, longest=longest or self.choice.longest,
        )  # fmt: skip
        return ((document, extracted.phrases) for document, extracted in zip(documents, every, strict=True))

    def _runs(self, documents: Sequence[Document]) -> Iterator[Pair]:
        """Documents with the runs between stop words."""
        return ((document, runs_between(document, self._stops, self.stem)) for document in documents)

    @property
    def _stops(self) -> frozenset[str]:
        return stop_words(self.language) or frozenset()

    def _ranking(
        self, name: str, rank: Callable[[Iterable[Pair]], Iterator[list[Named]]], needs: str = ""
    ) -> list[Method]:
        """A ranking of candidates, on those of attention and on runs between stop words, where there is a list."""
        sources: list[tuple[str, str, _Source]] = [(_HEADED, "model", self._phrases)]
        if stop_words(self.language) is not None:
            sources.append((_RUNS, "nothing", self._runs))

        def ranked(source: _Source, documents: Sequence[Document]) -> Iterator[list[Named]]:
            return rank(source(documents))

        return [Method(name, form, needs or own, partial(ranked, source)) for form, own, source in sources]

    def _closest(self, pairs: Iterable[Pair]) -> Iterator[list[Named]]:
        return by_similarity(self.subject, pairs, self.budget)

    def _shuffled(self, pairs: Iterable[Pair]) -> Iterator[list[Named]]:
        for number, (_, phrases) in enumerate(pairs):
            order = np.random.default_rng((self.seed, number)).permutation(len(phrases))
            yield named(phrases[index] for index in order)

    def _keybert(self) -> list[Method]:
        def rank(diversity: float | None, documents: Sequence[Document]) -> Iterator[list[Named]]:
            model = packages.keybert_on(self.subject, self.budget)
            return packages.by_keybert(documents, model, sorted(self._stops), self.stem, diversity=diversity)

        return [
            Method("keybert", "n-grams", "model", partial(rank, None)),
            Method("keybert", f"n-grams, MMR {packages.DIVERSITY:g}", "model", partial(rank, packages.DIVERSITY)),
        ]

    def _yake(self) -> list[Method]:
        return [Method("yake", "", "nothing", partial(packages.by_yake, code=CODES[self.language], stem=self.stem))]

    def _weighing(self, name: str, needs: str, weigh: Callable[[], Weigh], own: Method) -> list[Method]:
        """A method that weighs words: as phrases, in a form of its own, and on the candidates of attention."""
        return [
            Method(name, _WORDS, needs, lambda documents: by_words(documents, weigh(), self.stem)),
            own,
            Method(
                name, _HEADED, "model",
                lambda documents: by_candidates(self._phrases(documents), weigh(), self.stem),
            ),
        ]  # fmt: skip

    def _tfidf(self) -> list[Method]:
        known: dict[str, Any] = {"corpus": self.corpus, "stops": self._stops, "stem": self.stem}
        grams = Method("tf-idf", "n-grams", "corpus", partial(tfidf.by_ngrams, **known))
        weigh = partial(tfidf.weigher, **known)
        single = Method("tf-idf", _SINGLE, "corpus", lambda documents: by_words(documents, weigh(), self.stem, 1))
        return [*self._weighing("tf-idf", "corpus", weigh, grams), single]

    def _textrank(self) -> list[Method]:
        published = partial(textrank.as_published, stops=self._stops, stem=self.stem)
        own = Method("textrank", "as in the paper", "nothing", published)
        return self._weighing("textrank", "nothing", lambda: partial(textrank.ranks, stops=self._stops), own)


def _in_order(pairs: Iterable[Pair]) -> Iterator[list[Named]]:
    """Candidates in the order of the text."""
    return (named(sorted(phrases, key=lambda phrase: phrase.places[0])) for _, phrases in pairs)
