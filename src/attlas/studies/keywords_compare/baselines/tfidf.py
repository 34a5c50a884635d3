"""TF-IDF: words that are frequent here and rare elsewhere.

*Elsewhere* is the corpus that is read, so this is the one method that needs other texts than the one at hand. As
*word weights*, every word has the idf of its stem, ln((1 + N) / (1 + df)) + 1, stop words have none, and phrases are
made of these weights as they are of attention's: a phrase is scored by its sum over all its places, which brings the
tf. As *n-grams*, in its usual form: scikit-learn's vectorizer over
runs of one to three words without stop words, each scored as it is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from attlas.studies.keywords_compare.baselines.named import MOST, Named, Spotter, distinct
from attlas.studies.keywords_compare.baselines.stopping import content_words
from attlas.studies.keywords_compare.baselines.weighted import Weigh
from attlas.text import Document
from attlas.text.keyphrases import Stems, document_stems
from attlas.text.stems import Stem

LONGEST = 3


def weigher(corpus: Sequence[Document], stops: frozenset[str], stem: Stem | None = None) -> Weigh:
    """What gives every word of a document the idf of its stem, and stop words none.

    >>> corpus = [Document.from_text(text) for text in ("The sun shines.", "Rain in the sun.")]
    >>> weigher(corpus, frozenset({"the"}))(corpus[0], ("the", "sun", "shine", ".")).round(2).tolist()
    [0.0, 1.0, 1.41, 1.0]
    """
    known = document_frequencies(corpus, stem)
    return lambda document, stems: idf(stems, known, len(corpus)) * content_words(document, stops)


def document_frequencies(corpus: Iterable[Document], stem: Stem | None = None) -> Counter[str]:
    """In how many documents each stem occurs."""
    return Counter(one for document in corpus for one in set(document_stems(document, stem)))


def idf(stems: Stems, known: Counter[str], documents: int) -> NDArray[np.float64]:
    """The idf of every stem, as scikit-learn smooths it."""
    return np.array([math.log((1 + documents) / (1 + known[one])) + 1 for one in stems])


def by_ngrams(
    documents: Iterable[Document], corpus: Sequence[Document], stops: frozenset[str], stem: Stem | None = None
) -> Iterator[list[Named]]:
    """Phrases of documents from scikit-learn's TF-IDF of n-grams."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(ngram_range=(1, LONGEST), stop_words=sorted(stops))
    try:
        vectorizer.fit([document.text for document in corpus])
    except ValueError:  # nothing but stop words
        yield from ([] for _ in documents)
        return
    grams = vectorizer.get_feature_names_out()
    for document in documents:
        row = vectorizer.transform([document.text])
        order = np.lexsort((row.indices, -row.data))[: 5 * MOST]  # enough, where some are the same by their stems
        strings = [str(grams[row.indices[at]]) for at in order]
        yield distinct(Spotter(document, stem).named(strings))
