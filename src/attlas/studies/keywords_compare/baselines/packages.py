"""Packages that others have made and many use, as they come: YAKE and KeyBERT.

Neither is needed for anything else here; both are in the extra ``keywords``. YAKE goes by statistics of the one text
at hand; phrases of up to three words, all else by default. KeyBERT ranks n-grams of one to three words by the cosine
of their vector with the document's, and here gets its vectors from the model under study, through the interface that
the package has for that; its form with maximal marginal relevance trades closeness for variety.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from attlas.capture import Subject
from attlas.errors import CapabilityError
from attlas.studies.keywords_compare.baselines.embedding import embed
from attlas.studies.keywords_compare.baselines.named import MOST, Named, Spotter, distinct
from attlas.text import Document
from attlas.text.stems import Stem

if TYPE_CHECKING:
    from keybert import KeyBERT

EXTRA = "pip install 'attlas[keywords]'"
GRAMS = (1, 3)
DIVERSITY = 0.5
AT_ONCE = 16  # documents that KeyBERT gets at once, as it asks for
_DEPTHS = (5, 10, MOST)


def installed(package: str) -> bool:
    """Whether a package can be imported.

    >>> installed("numpy"), installed("no_such_package")
    (True, False)
    """
    return importlib.util.find_spec(package) is not None


def lacking(package: str) -> str:
    """What is said of a package that is missing."""
    return f"the package {package} is not installed; get it with {EXTRA}"


def _require(package: str) -> None:
    if not installed(package):
        raise CapabilityError(lacking(package))


def by_yake(documents: Iterable[Document], code: str = "en", stem: Stem | None = None) -> Iterator[list[Named]]:
    """Phrases of documents by YAKE, for a language by its code of two letters."""
    _require("yake")
    import yake

    extractor = yake.KeywordExtractor(lan=code, n=GRAMS[1], top=MOST)
    for document in documents:
        strings = [str(string) for string, _ in extractor.extract_keywords(document.text)]
        yield Spotter(document, stem).named(strings)


def by_keybert(
    documents: Iterable[Document],
    model: KeyBERT,
    stops: Sequence[str] | None = None,
    stem: Stem | None = None,
    *,
    diversity: float | None = None,
) -> Iterator[list[Named]]:
    """Phrases of documents by KeyBERT; with ``diversity`` by its maximal marginal relevance.

    The package shows what that chooses in order of closeness, not of choice. So that the first five of a list are
    what it gives who asks for five, it is asked for five, for ten, and for all, each list behind the one before."""
    remaining = iter(documents)
    options: dict[str, Any] = {"keyphrase_ngram_range": GRAMS, "stop_words": list(stops) if stops else None}
    while some := list(islice(remaining, AT_ONCE)):
        texts = [document.text for document in some]
        lists: list[list[str]] = [[] for _ in some]
        if diversity is None:
            _append(lists, model.extract_keywords(texts, top_n=2 * MOST, **options))
        else:
            vectors = model.extract_embeddings(texts, **options)
            for depth in _DEPTHS:
                found = model.extract_keywords(
                    texts, top_n=depth, use_mmr=True, diversity=diversity, doc_embeddings=vectors[0],
                    word_embeddings=vectors[1], **options,
                )  # fmt: skip
                _append(lists, found)
        for document, strings in zip(some, lists, strict=True):
            yield distinct(Spotter(document, stem).named(strings))


def _append(lists: list[list[str]], found: Any) -> None:
    """Put what KeyBERT found behind what there is; for a single document it gives a list of its own."""
    rows = [found] if len(lists) == 1 else found or [[] for _ in lists]
    for strings, row in zip(lists, rows, strict=True):
        strings += [string for string, _ in row if string not in strings]


def keybert_on(subject: Subject, budget: int | None = None) -> KeyBERT:
    """KeyBERT with the vectors of a model under study."""
    _require("keybert")
    from keybert import KeyBERT
    from keybert.backend import BaseEmbedder

    class Embedder(BaseEmbedder):  # type: ignore[misc]
        """Vectors from the seam's model."""

        def embed(self, documents: Sequence[str], verbose: bool = False) -> Any:
            """The vectors of texts."""
            return embed(subject, [str(text) for text in documents], budget)

    return KeyBERT(Embedder())
