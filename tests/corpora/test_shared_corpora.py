"""The readers on real corpora, against the counts that are published with them."""

import gzip
import re
import time
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from attlas.corpora import read, read_bitext, read_conll2012, read_conllu, read_keyphrases
from attlas.corpora.source import Source, open_source
from attlas.errors import CorpusError
from attlas.text import ROOT

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not DATA.is_dir(), reason="the corpora that lie outside the repo are not there"),
]


def member(archive: str, name: str) -> Source:
    with zipfile.ZipFile(DATA / archive) as opened:
        return Source.of_text(opened.read(name).decode(), name=name)


@pytest.mark.parametrize(
    ("part", "sentences", "words", "relations"),
    [("train", 12544, 204577, 51), ("dev", 2001, 25147, 49), ("test", 2077, 25094, 49)],
)
def test_english_web_treebank(part: str, sentences: int, words: int, relations: int) -> None:
    started = time.process_time()
    corpus = read(DATA / "ud_english_ewt" / f"en_ewt-ud-{part}.conllu.gz")
    assert time.process_time() - started < 30  # a few seconds; the margin is for slow machines
    assert len(corpus.documents) == sentences
    assert sum(len(document.words) for document in corpus.documents) == words
    assert len({relation for document in corpus.documents for relation in document.relations or ()}) == relations
    assert len({tag for document in corpus.documents for tag in document.upos or ()}) == 17


def test_a_treebank_agrees_with_the_conllu_library() -> None:
    import conllu

    path = DATA / "ud_english_ewt" / "en_ewt-ud-dev.conllu.gz"
    documents = read_conllu(path)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for document, expected in zip(documents, conllu.parse(file.read()), strict=True):
            words = [word for word in expected if isinstance(word["id"], int)]
            assert document.text == expected.metadata["text"]
            assert document.governors == tuple(w["head"] - 1 if w["head"] else ROOT for w in words)
            assert document.relations == tuple(w["deprel"] for w in words)
            assert document.lemmas == tuple(w["lemma"] for w in words)
            assert document.xpos == tuple(w["xpos"] for w in words)
            ranged = {
                inner
                for word in expected
                if isinstance(word["id"], tuple) and word["id"][1] == "-"
                for inner in range(word["id"][0], word["id"][2] + 1)
            }
            for form, word in zip(document.forms, words, strict=True):
                assert form == word["form"] or word["id"] in ranged


def test_treebank_documents_hold_the_same_words() -> None:
    path = DATA / "ud_english_ewt" / "en_ewt-ud-test.conllu.gz"
    sentences, documents = read_conllu(path), read_conllu(path, unit="document")
    assert len(documents) == 316
    assert [form for s in sentences for form in s.forms] == [form for d in documents for form in d.forms]
    assert sum(len(d.sentences) for d in documents) == len(sentences)


@pytest.mark.parametrize(
    ("part", "sentences", "words", "chunks", "types"),
    [("train", 8936, 211727, 106978, 11), ("test", 2012, 47377, 23852, 10)],
)
def test_conll2000(part: str, sentences: int, words: int, chunks: int, types: int) -> None:
    corpus = read(member("conll2000/conll2000.zip", f"conll2000/{part}.txt"))
    assert corpus.format == "conll2000"
    assert len(corpus.documents) == sentences
    assert sum(len(document.words) for document in corpus.documents) == words
    assert sum(len(document.chunks or ()) for document in corpus.documents) == chunks
    assert len({chunk.label for document in corpus.documents for chunk in document.chunks or ()}) == types


def test_sentiment_treebank() -> None:
    """The published counts of sentences, and of labels (the neutral ones have none in the binary task)."""
    expected = {"train": (8527, 3313, 3608), "dev": (1095, 428, 444), "test": (2203, 910, 908)}
    for part, counts in expected.items():
        corpus = read(DATA / "sst" / "fiveclass" / f"{part}.txt.gz")
        labels = Counter(document.label for document in corpus.documents)
        assert (corpus.format, corpus.annotations) == ("sst", ("label",))
        assert (len(corpus.documents), labels["negative"], labels["positive"]) == counts
    five = read(DATA / "sst" / "fiveclass" / "dev.txt.gz", label="five")
    assert Counter(document.label for document in five.documents) == {
        "0": 139,
        "1": 289,
        "2": 223,
        "3": 279,
        "4": 165,
    }


@pytest.mark.parametrize(
    ("part", "annotations", "counts"),
    [
        ("cola/in_domain_train", ("label",), {"1": 6023, "0": 2528}),
        ("cola/in_domain_dev", ("label",), {"1": 365, "0": 162}),
        ("cola/out_of_domain_dev", ("label",), {"1": 354, "0": 162}),
        ("rte/glue_rte_train", ("label", "pair"), {"entailment": 1249, "not_entailment": 1241}),
        ("rte/glue_rte_dev", ("label", "pair"), {"entailment": 146, "not_entailment": 131}),
    ],
)
def test_labelled_tables(part: str, annotations: tuple[str, ...], counts: dict[str, int]) -> None:
    corpus = read(DATA / f"{part}.tsv.gz")
    assert (corpus.format, corpus.annotations) == ("labelled", annotations)
    assert Counter(document.label for document in corpus.documents) == counts


@pytest.mark.parametrize(
    ("part", "sentences", "words", "entities"),
    [
        ("wnut17train.conll", 3394, 62730, (548, 264, 221, 660, 140, 142)),
        ("emerging.dev.conll", 1009, 15733, (74, 39, 34, 470, 105, 114)),
        ("emerging.test.annotated", 1287, 23394, (150, 165, 66, 429, 142, 127)),
    ],
)
def test_emerging_entities(part: str, sentences: int, words: int, entities: tuple[int, ...]) -> None:
    corpus = read(DATA / "wnut17" / f"{part}.gz")
    assert (corpus.format, corpus.annotations) == ("conll2000", ("chunks",))
    assert len(corpus.documents) == sentences
    assert sum(len(document.words) for document in corpus.documents) == words
    found = Counter(chunk.label for document in corpus.documents for chunk in document.chunks or ())
    kinds = ("location", "group", "corporation", "person", "creative-work", "product")
    assert tuple(found[kind] for kind in kinds) == entities


def test_ontogum() -> None:
    """One of the 263 files opens chain 2 where it closes chain 3; with that repaired the published counts hold.

    One line has an empty word, which is published as a word and left out here.
    """
    with zipfile.ZipFile(DATA / "ontogum_coref" / "ontogum_coref.zip") as opened:
        names = opened.namelist()
        texts = {name: opened.read(name).decode() for name in names}
    broken = texts["GENTLE_poetry_road.conll"]
    with pytest.raises(CorpusError, match=r"line 21: a mention of chain 3 ends here .*chain 2 from line 11"):
        read_conll2012(Source.of_text(broken))
    texts["GENTLE_poetry_road.conll"] = broken.replace("9\tsorry\t(2\n", "9\tsorry\t(3\n")
    documents = [document for name in names for document in read_conll2012(Source.of_text(texts[name], name))]
    assert len(documents) == 263
    assert sum(len(document.words) for document in documents) == 251725 - 1
    assert sum(len(document.mentions or ()) for document in documents) == 32629
    assert sum(len({mention.chain for mention in document.mentions or ()}) for document in documents) == 7483


def test_gold_alignments() -> None:
    folder = DATA / "word_alignment"
    documents = read_bitext(folder / "enfr.src-tgt", folder / "enfr.gold", one_indexed=True)
    links = [document.links for document in documents if document.links is not None]
    assert len(links) == 447
    assert sum(len(pair.sure) for pair in links) == 4038
    assert sum(len(pair.possible - pair.sure) for pair in links) == 13400
    with pytest.raises(CorpusError, match=r"enfr\.gold, line 1: the link 2-2 is outside"):
        read_bitext(folder / "enfr.src-tgt", folder / "enfr.gold")
    german = read(folder / "deen_europarl000117.src-tgt", gold=folder / "deen_europarl000117.gold")
    assert len(german.documents) == 133


def test_inspec() -> None:
    assert len(read(DATA / "keyphrase" / "Inspec.jsonl.gz").documents) == 2000
    for part, count, share in (("training", 1000, 0.773), ("validation", 500, 0.769), ("test", 500, 0.783)):
        documents = read_keyphrases(DATA / "keyphrase" / "inspec_hulth2003" / f"{part}.jsonl.gz")
        found = [phrase.lower() in d.text.lower() for d in documents for phrase in d.keyphrases or ()]
        assert len(documents) == count
        assert sum(found) / len(found) == pytest.approx(share, abs=0.0006)


@pytest.mark.parametrize(("part", "over_twenty"), [("test", 1828), ("valid", 1641)])
def test_wikitext(part: str, over_twenty: int) -> None:
    """Both parts have 60 articles; the published 62 of the test part count two broken formulas as headings."""
    path = DATA / "wikitext2" / f"wiki.{part}.raw.gz"
    corpus = read(path)
    assert corpus.format == "plain"
    assert corpus.articles[-1] == 59
    assert corpus.documents[0].name == f"wiki.{part}.raw, paragraph 1"
    raw = ["", *(line.strip() for line in open_source(path).lines), ""]
    lines = [
        line
        for before, line, after in zip(raw, raw[1:], raw[2:], strict=False)
        if line and not (line.startswith("= ") and line.endswith(" =") and before == after == "")
    ]
    assert [document.text for document in corpus.documents] == [re.sub(r" @(.)@ ", r"\1", line) for line in lines]
    assert sum(len(line.split()) > 20 for line in lines) == over_twenty
    assert not any("@-@" in document.text for document in corpus.documents)


def test_multi30k() -> None:
    corpus = read(DATA / "multi30k_de_en" / "val.de.gz", target=DATA / "multi30k_de_en" / "val.en.gz")
    assert (corpus.format, len(corpus.documents), corpus.annotations) == ("parallel", 1014, ("translation",))
