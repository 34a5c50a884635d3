"""The study of relations against a naive loop over the eager model's own attention, sentence by sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import twins
from attlas.capture import Subject, load
from attlas.capture.check import eager_weights
from attlas.corpora import read
from attlas.errors import CorpusError
from attlas.stats import Estimate
from attlas.studies.relations.call import read_sentences, relations
from attlas.studies.relations.passes import DIRECTIONS, OFFSETS, Choice, Relations, key_of, labels_of
from attlas.studies.relations.tables import Margins
from attlas.text import Document, Passage

SAMPLE = read("sample").sentences()


def naive(subject: Subject, documents: Sequence[Document]) -> tuple[Counter[Any], Counter[Any], Counter[Any]]:
    """Right guesses by (direction, layer, head, relation), by (offset, relation), and cases by relation.

    One sentence and one word at a time, no padding, the library's own eager attention; as Clark et al. describe it.
    """
    right: Counter[Any] = Counter()
    by_offset: Counter[Any] = Counter()
    cases: Counter[Any] = Counter()
    for document, attention in zip(documents, eager(subject, documents), strict=True):
        encoded = subject.pieces.encode(Passage(document)).source
        pieces = {word: encoded.segmentation.pieces_of(word) for word in range(len(document.words))}
        words = [word for word, own in pieces.items() if own]
        for dependent, (governor, relation) in enumerate(zip(document.governors, document.relations, strict=True)):
            if governor in (None, -1) or relation.split(":")[0] in ("punct", "root") or not pieces[dependent]:
                continue
            kinds = ("all", relation)
            cases.update(kinds)
            by_offset.update((governor - dependent, kind) for kind in kinds)
            others = [word for word in words if word != dependent]
            if not others:
                continue
            for name in DIRECTIONS:
                paid = []
                for word in others:
                    rows, columns = (dependent, word) if name == "to" else (word, dependent)
                    block = attention[:, :, pieces[rows]][..., pieces[columns]]
                    paid.append(block.sum(3).mean(2))
                best, most = np.argmax(paid, axis=0), np.max(paid, axis=0)
                for layer, head in np.ndindex(*best.shape):
                    if most[layer, head] > 0 and others[best[layer, head]] == governor:
                        right.update((name, layer, head, kind) for kind in kinds)
    return right, by_offset, cases


def eager(subject: Subject, documents: Sequence[Document]) -> Iterator[NDArray[np.floating]]:
    """The library's own eager attention of each text, (layer, head, query, key), without padding."""
    for start in range(0, len(documents), 25):
        batch = subject.batch(documents[start : start + 25])
        found = eager_weights(subject, batch)
        layers = [found[site] for site in subject.sites if site.stream is subject.pieces.own]
        for row, encoded in enumerate(batch.source.encoded):
            yield np.stack([layer[row, :, : encoded.length, : encoded.length].numpy() for layer in layers])


def counted(subject: Subject, documents: Sequence[Document], budget: int = 40) -> tuple[Relations, Any]:
    """What the study counts over the same sentences, in batches of several."""
    study = Relations(subject, labels_of(documents))
    bundle = study.empty()
    examples = subject.pieces.encode_all([Passage(document) for document in documents])
    for start in range(0, len(examples), budget):
        study.update(bundle, examples[start : start + budget])
    return study, bundle


def assert_equal_to_naive(subject: Subject, documents: Sequence[Document]) -> None:
    study, bundle = counted(subject, documents)
    right, by_offset, cases = naive(subject, documents)
    (figures,), (offsets, counts) = bundle["figures"].rows()[0], (part[0] for part in bundle["offsets"].rows())
    assert cases["all"] > 0
    for relation, label in enumerate(study.labels):
        assert counts[0, relation] == cases[label]
        for place, offset in enumerate(OFFSETS):
            assert offsets[place, relation] == by_offset[offset, label]
        for direction, name in enumerate(DIRECTIONS):
            for layer, head in np.ndindex(*subject.shape(study.stream)):
                ours = figures[direction, layer, head, relation]
                assert ours == right[name, layer, head, label], (name, layer, head, label)


@pytest.mark.parametrize("family", ["bert", "llama", "mpnet", "bart"])
def test_counts_equal_the_naive_loop_on_twins(family: str) -> None:
    subject = Subject.of(twins.model(family).double(), twins.tokenizer(family in twins.CAUSAL), family)
    assert_equal_to_naive(subject, SAMPLE.documents[:6])


@pytest.mark.real
@pytest.mark.shared
def test_counts_equal_the_naive_loop_on_every_relation_of_200_sentences(shared_data: Path) -> None:
    """In double precision, so that no tie is broken by rounding; every head, relation, direction and offset.

    The naive loop is slow: of the 200 sentences, it goes through the first of each relation and a few more.
    """
    sentences = read(shared_data / "ud_english_ewt" / "en_ewt-ud-dev.conllu.gz").documents[:200]
    first: dict[str, int] = {}
    for number, sentence in enumerate(sentences):
        for relation in sentence.relations:
            first.setdefault(relation, number)
    chosen = [sentences[number] for number in sorted({*first.values(), *range(30)})]
    assert set(labels_of(chosen)) == set(labels_of(sentences))
    assert len(labels_of(chosen)) > 40
    assert_equal_to_naive(load(dtype="float64"), chosen)


def bert() -> Subject:
    return Subject.of(twins.model("bert"), twins.tokenizer(False), "twin")


def test_norms_choose_by_the_length_of_what_travels() -> None:
    subject, documents = bert(), SAMPLE.documents[:5]
    study = Relations(subject, labels_of(documents), measure="norm")
    bundle = study.empty()
    study.update(bundle, subject.pieces.encode_all([Passage(document) for document in documents]))
    right: Counter[Any] = Counter()
    for document in documents:
        between = subject.look(document).words(study.stream, "norm")
        segmentation = subject.pieces.encode(Passage(document)).source.segmentation
        groups = {
            word: int(segmentation.groups[segmentation.pieces_of(word)[0]]) for word in set(segmentation.words) - {-1}
        }
        for dependent, (governor, relation) in enumerate(zip(document.governors, document.relations, strict=True)):
            if governor == -1 or relation == "punct":
                continue
            others = [word for word in groups if word != dependent]
            for layer, head in np.ndindex(*subject.shape(study.stream)):
                paid = [between[layer, head, groups[dependent], groups[word]] for word in others]
                right[layer, head] += others[int(np.argmax(paid))] == governor
    (sums,) = bundle["figures"].rows()[0]
    assert all(sums[0, layer, head, 0] == count for (layer, head), count in right.items())


def test_the_chosen_are_scored_on_other_texts_unit_by_unit_with_cases() -> None:
    subject = bert()
    documents = SAMPLE.documents[:24]
    study, bundle = counted(subject, documents[:12])
    choice = study.choose(bundle)
    scoring = Relations(subject, study.labels, choice=choice)
    scored = scoring.empty()
    examples = subject.pieces.encode_all([Passage(document) for document in documents[12:]])
    examples = [replace(example, unit=place // 2) for place, example in enumerate(examples)]
    scoring.update(scored, examples[:5])
    scoring.update(scored, examples[5:])
    right, by_offset, cases = naive(subject, documents[12:])
    figures, margins = scored["figures"].result(), Margins.of(scored)
    for unit in range(6):
        own, _, _ = naive(subject, documents[12 + 2 * unit : 14 + 2 * unit])
        for place in np.ndindex(2, *subject.shape(scoring.stream), len(study.labels)):
            direction, layer, head, relation = place
            count = own[DIRECTIONS[direction], layer, head, study.labels[relation]]
            assert scored["figures"].rows()[0][unit][place] == count
    found = {key_of(document): document for document in documents[12:]}
    surest = scored["surest"].result()
    for relation, label in enumerate(study.labels):
        for direction, name in enumerate(DIRECTIONS):
            layer, head = choice.heads[direction, relation]
            if layer < 0 or not cases[label]:
                assert not figures.n[direction, 0, 0, relation] > 0
                continue
            hits, base = right[name, layer, head, label], max(by_offset[offset, label] for offset in OFFSETS)
            assert figures.value[direction, layer, head, relation] == pytest.approx(hits / cases[label])
            margin = margins.estimate(direction, layer, head, relation).value
            assert margin == pytest.approx((hits - base) / cases[label])
            for verdict in (0, 1):
                cell = (direction * len(study.labels) + relation) * 2 + verdict
                for paid, (key, dependent, predicted) in surest[cell]:
                    assert 0 < paid <= 1.0001
                    assert (found[key].governors[dependent] == predicted) == (verdict == 0)
                    assert label in ("all", found[key].relations[dependent])


def test_choosing_takes_the_best_and_says_where_there_was_nothing() -> None:
    subject = bert()
    documents = SAMPLE.documents[:8]
    study, bundle = counted(subject, documents)
    study.labels = (*study.labels, "never")
    wider = Relations(subject, (*labels_of(documents), "never"))
    bundle = wider.empty()
    wider.update(bundle, subject.pieces.encode_all([Passage(document) for document in documents]))
    choice = wider.choose(bundle)
    figures = bundle["figures"].result().value
    assert choice.heads[0, -1].tolist() == [-1, -1]
    assert choice.best(len(wider.labels) - 1) is None
    for direction in (0, 1):
        layer, head = choice.heads[direction, 0]
        assert figures[direction, layer, head, 0] == figures[direction, :, :, 0].max() == choice.values[direction, 0]
    assert isinstance(choice, Choice)


def test_halves_share_no_article_and_a_run_says_what_it_did(tmp_path: Path) -> None:
    corpus = SAMPLE
    first, second = corpus.halves(3)
    assert not set(first.articles) & set(second.articles)
    assert len(first.documents) + len(second.documents) == len(corpus.documents)
    sizes = [sum(len(document.words) for document in half.documents) for half in (first, second)]
    assert 0.8 < sizes[0] / sizes[1] < 1.25
    result = relations(bert(), corpus, limit=12, out=tmp_path / "out")
    assert result.manifest.corpus["chosen_on"] == result.manifest.corpus["scored_on"] == 12
    rows = result.table.to_pylist()
    assert {"all"} < {row["relation"] for row in rows}
    assert sum(row["best"] for row in rows if row["relation"] == "all") == 1
    for row in rows:
        assert row["low"] is None or row["low"] <= row["value"] <= row["high"]
        assert (row["low"] is None) == (row["units"] < 6)
        assert (row["p"] is None) == (row["units"] < 16)
        assert row["twins"] == 5
        assert row["twin_low"] <= row["twin"] <= row["twin_high"]
        assert abs(row["margin"] - (row["value"] - row["baseline"])) < 1e-12
        assert row["twin"] is not None
    again = relations(bert(), corpus, limit=12)
    assert again.table.to_pylist() == rows


def test_a_select_corpus_is_chosen_on_and_the_whole_treebank_scored() -> None:
    sample = SAMPLE
    one, other = list(sample.documents[:10]), list(sample.documents[10:25])
    result = relations(bert(), other, choose_on=one)
    assert (result.manifest.corpus["chosen_on"], result.manifest.corpus["scored_on"]) == (10, 15)
    assert result.manifest.plan["corpus"]["choose_on"]["sha256"]


def test_what_cannot_be_scored_is_refused() -> None:
    with pytest.raises(CorpusError, match="no governors and relations"):
        relations(bert(), [Document.from_text("It rained."), Document.from_text("We stayed in.")])
    lonely = {"governors": [-1], "relations": ["root"]}
    texts = [Document.from_words([word], name=word, **lonely) for word in ("Hi", "Bye")]
    with pytest.raises(CorpusError, match="no word with a governor is left to choose heads on"):
        relations(bert(), texts)


def test_long_sentences_are_left_out_and_counted() -> None:
    subject, sample = bert(), SAMPLE
    lengths = sorted(subject.pieces.length(document) for document in sample.documents)
    reading = read_sentences(subject, sample, lengths[9], None, 0)
    assert sorted(example.length for example in reading.examples) == [n for n in lengths if n <= lengths[9]]
    assert reading.skipped[f"longer than {lengths[9]} pieces"] == sum(n > lengths[9] for n in lengths)


@pytest.mark.parametrize("side", [1, -1])
def test_the_interval_of_a_margin_stays_between_always_worse_and_always_better(side: int) -> None:
    """A head that is right, or wrong, in 19 of 20 units where the offset is not: .95 one way or the other."""
    rows = np.full((20, 1, 1, 1, 1), float(side))
    rows[0] = 0
    nothing = Estimate(*np.zeros((4, 1, 1)))
    found = Margins(rows, np.ones((20, 1, 1, 1, 1)), nothing, np.zeros(1, dtype=np.int64)).estimate(0, 0, 0, 0)
    nearer, further = sorted((abs(float(found.low)), abs(float(found.high))))
    assert float(found.value) == pytest.approx(0.95 * side)
    assert 0.6 < nearer < 0.95 < further <= 1
