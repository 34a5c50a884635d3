"""Other ways to find key phrases: each against a naive twin, a library, or a case worked out by hand."""

from __future__ import annotations

import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np
import pytest
import torch

import twins
from attlas.capture import Subject
from attlas.errors import CapabilityError
from attlas.studies.keywords_compare.baselines import packages, textrank, tfidf
from attlas.studies.keywords_compare.baselines.embedding import by_similarity, embed
from attlas.studies.keywords_compare.baselines.methods import NAMES, PACKAGES, Field
from attlas.studies.keywords_compare.baselines.named import Spotter, distinct
from attlas.studies.keywords_compare.baselines.stopping import runs_between, stop_words
from attlas.studies.shared.keywords.choice import Choice, last_layer
from attlas.text import Document
from attlas.text.keyphrases import document_stems
from attlas.text.stems import stemmer

TEXTS = [
    "Solar cells age in the sun. The price of solar cells, and of solar power, has fallen.",
    "A web-based system teaches neural networks to whoever wants to learn about networks.",
    "The farmer slept; nobody learned anything about the price of apples.",
]
DOCUMENTS = [Document.from_text(text, name=text[:5]) for text in TEXTS]


def subject(family: str) -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


@pytest.fixture
def light_keybert(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """KeyBERT without the library that it would load and not use here; as it was, afterwards."""
    if not packages.installed("keybert"):
        pytest.skip("the package keybert is not installed")
    before = {name for name in sys.modules if name.split(".")[0] == "keybert"}
    if not before and "sentence_transformers" not in sys.modules:
        monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "keybert" and name not in before]:
        del sys.modules[name]


@pytest.mark.parametrize("seed", [0, 1])
def test_pagerank_is_that_of_the_library_and_of_a_linear_system(seed: int) -> None:
    rng = random.Random(seed)
    count = 12  # the last two are linked to nothing
    links = {pair for pair in combinations(range(count - 2), 2) if rng.random() < 0.3}
    found = textrank.pagerank(count, links)
    move = np.zeros((count, count))
    for one, other in links:
        move[one, other] = move[other, one] = 1
    degree = move.sum(0)
    move = np.where(degree > 0, move / np.maximum(degree, 1), 1 / count)
    solved = np.linalg.solve(np.eye(count) - 0.85 * move, np.full(count, 0.15 / count))
    assert found == pytest.approx(solved, abs=1e-8)
    networkx = pytest.importorskip("networkx", reason="the package networkx is not installed")
    graph = networkx.Graph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(links)
    known = networkx.pagerank(graph, tol=1e-12, max_iter=1000)
    assert found == pytest.approx([known[node] for node in range(count)], abs=1e-8)


@pytest.mark.parametrize("window", [2, 3, 5])
def test_edges_are_pairs_within_the_window(window: int) -> None:
    places = [random.Random(3).randrange(-1, 6) for _ in range(30)]
    naive = {
        (min(a, b), max(a, b))
        for i, a in enumerate(places)
        for j, b in enumerate(places)
        if 0 < j - i < window and a >= 0 and b >= 0 and a != b
    }
    assert textrank.edges(places, window) == naive


def test_textrank_keeps_the_best_third_and_joins_neighbours() -> None:
    """Eight words may be phrases here, so that three are kept; stop words and signs part them."""
    (found,) = textrank.as_published(DOCUMENTS[:1], stop_words() or frozenset(), stemmer())
    assert [phrase.text for phrase in found] == ["Solar cells age", "solar cells", "solar"]


def test_idf_is_scikit_learns() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer=document_stems)
    vectorizer.fit(DOCUMENTS)
    known = tfidf.document_frequencies(DOCUMENTS)
    stems = tuple(vectorizer.get_feature_names_out())
    assert tfidf.idf(stems, known, len(DOCUMENTS)) == pytest.approx(vectorizer.idf_)


def test_tfidf_of_ngrams_reads_words_as_they_stand_in_the_text() -> None:
    """The vectorizer splits at hyphens; its "web based system" is the text's "web-based system"."""
    short = Document.from_text("A web-based system and systems.")
    (found,) = tfidf.by_ngrams([short], [short, *DOCUMENTS], frozenset({"a", "and"}), stemmer())
    stems = {phrase.text: phrase.stems for phrase in found}
    assert (stems["web based"], stems["web based system"]) == (("web-bas",), ("web-bas", "system"))
    assert list(stems.values()).count(("system",)) == 1
    assert list(tfidf.by_ngrams(DOCUMENTS[:1], [Document.from_text("the")], frozenset({"the"}))) == [[]]


def test_tfidf_of_ngrams_is_that_of_a_loop() -> None:
    """Counted by hand: runs of one to three words that are no stop words, tf times ln((1 + N) / (1 + df)) + 1."""
    stops = frozenset({"the", "of", "in", "and", "a", "is", "to", "has"})

    def grams(text: str) -> Counter[str]:
        words = [word for word in re.findall(r"\w\w+", text.lower()) if word not in stops]
        runs = (words[at : at + size] for size in (1, 2, 3) for at in range(len(words) - size + 1))
        return Counter(" ".join(run) for run in runs)

    counted = [grams(document.text) for document in DOCUMENTS]
    for document, own, ranked in zip(DOCUMENTS, counted, tfidf.by_ngrams(DOCUMENTS, DOCUMENTS, stops), strict=True):
        df = {gram: sum(gram in other for other in counted) for gram in own}
        scores = {gram: own[gram] * (math.log((1 + len(DOCUMENTS)) / (1 + df[gram])) + 1) for gram in own}
        by_hand = sorted(scores, key=lambda gram: (-scores[gram], gram))
        stems = [phrase.stems for phrase in distinct(Spotter(document).named(by_hand))]
        assert len(stems) > 10
        assert [phrase.stems for phrase in ranked] == stems[: len(ranked)]


def test_spotting_wants_whole_words() -> None:
    spotter = Spotter(DOCUMENTS[1], stemmer())
    named = {
        phrase.text: phrase.stems for phrase in spotter.named(["Web Based System", "based system", "system neural"])
    }
    assert named["Web Based System"] == ("web-bas", "system")
    assert named["based system"] == ("base", "system")  # only half of a word, so as it is written
    assert named["system neural"] == ("system", "neural")  # stands nowhere


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_vectors_are_means_of_last_states(family: str) -> None:
    """Together and padded, or one by one and by hand; a text beyond the window by the pieces of all its windows."""
    model = subject(family)
    texts = [*twins.SENTENCES[:3], "farmer", " ".join(twins.SENTENCES * 3)]
    found = embed(model, texts, budget=64)
    for text, vector in zip(texts, found, strict=True):
        windows = [Document.from_text(text)]
        if model.pieces.length(windows[0]) > model.pieces.window:
            from attlas.studies.shared.keywords.weighing import cut

            windows = cut(model, windows[0])
        with torch.no_grad():
            states = torch.cat([model.run(model.batch([one])).last_hidden_state[0] for one in windows])
        mean = states.mean(0)
        assert vector == pytest.approx((mean / mean.norm()).numpy(), abs=1e-5)


def test_similarity_puts_the_closest_first() -> None:
    model = subject("bert")
    stops = stop_words() or frozenset()
    pairs = [(document, runs_between(document, stops)) for document in DOCUMENTS]
    for (document, phrases), ranked in zip(pairs, by_similarity(model, pairs), strict=True):
        texts = [phrase.text for phrase in phrases]
        whole, *rest = embed(model, [document.text, *texts])
        closeness = {text: float(whole @ vector) for text, vector in zip(texts, rest, strict=True)}
        values = [closeness[phrase.text] for phrase in ranked]
        assert sorted(phrase.text for phrase in ranked) == sorted(texts)
        assert all(one >= other - 1e-6 for one, other in pairwise(values))


@pytest.mark.usefixtures("light_keybert")
def test_keybert_gets_our_vectors() -> None:
    """Its n-grams are in the order of their cosine; and the first five by MMR are what it gives who asks for five."""
    model = subject("bert")
    bert = packages.keybert_on(model)
    stops = ["the", "of", "in", "and", "has", "a", "to"]
    for document, ranked in zip(DOCUMENTS, packages.by_keybert(DOCUMENTS, bert, stops, stemmer()), strict=True):
        whole, *rest = embed(model, [document.text, *(phrase.text for phrase in ranked)])
        values = [float(whole @ vector) for vector in rest]
        assert all(one >= other - 1e-3 for one, other in pairwise(values))
        assert len(ranked) > 10
    (varied,) = packages.by_keybert(DOCUMENTS[:1], bert, stops, stemmer(), diversity=0.5)
    asked = bert.extract_keywords(
        TEXTS[0], keyphrase_ngram_range=(1, 3), stop_words=stops, top_n=5, use_mmr=True, diversity=0.5
    )
    wanted = {phrase.stems for phrase in Spotter(DOCUMENTS[0], stemmer()).named(text for text, _ in asked)}
    assert {phrase.stems for phrase in varied[: len(wanted)]} == wanted


def test_yake_finds_what_stands_in_the_text() -> None:
    pytest.importorskip("yake", reason="the package yake is not installed")
    found = list(packages.by_yake(DOCUMENTS, "en", stemmer()))
    assert ("solar", "cell") in {phrase.stems for phrase in found[0]}
    assert [len(phrases) > 2 for phrases in found] == [True] * 3


def test_every_method_has_a_list_for_every_document() -> None:
    model = subject("bert")
    field = Field(model, last_layer(model, "norm"), DOCUMENTS)
    for name in set(NAMES) - set(PACKAGES):
        for method in field.methods(name):
            lists = list(method.rank(DOCUMENTS))
            assert len(lists) == 3, method.label
            assert all(lists), method.label
    heads = field.choice.heads[:2]
    chosen = Field(model, Choice(heads, "norm", "mean", "by hand"), DOCUMENTS)
    assert [way.form for way in chosen.methods("attention")] == ["chosen heads", "last layer", "single words"]
    by_weight = Field(model, last_layer(model, "weight"), DOCUMENTS)
    assert by_weight.methods("attention weights") == []


def test_languages_and_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = subject("bert")
    monkeypatch.setattr(packages, "installed", lambda package: False)
    field = Field(model, last_layer(model, "norm"), DOCUMENTS)
    assert "pip install 'attlas[keywords]'" in (field.missing("keybert") or "")
    with pytest.raises(CapabilityError, match="the package yake is not installed"):
        field.methods("yake")
    other = Field(model, last_layer(model, "norm"), DOCUMENTS, "none")
    assert "no list for none" in (other.missing("tf-idf") or "")
    assert [way.form for way in other.methods("first")] == ["attention's candidates"]
