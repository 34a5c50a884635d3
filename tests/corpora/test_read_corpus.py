"""Opening any corpus: finding its format, its articles, its hash, and refusing what is none."""

import gzip
import hashlib
from pathlib import Path

import pytest

from attlas.corpora import Corpus, read
from attlas.corpora.sample import read_sample
from attlas.corpora.source import Source
from attlas.errors import CorpusError
from attlas.text import Document

ROW = "1\tHi\thi\tINTJ\tUH\t_\t0\troot\t_\t_\n\n"
TEXTS = {
    "conllu": ROW + "# newdoc\n" + ROW + ROW,
    "conll2000": "The DT B-NP\nend NN I-NP\n\nNow RB O\n",
    "conll2012": "# begin document\n0\tHi\t(1)\n# end document\n",
    "bitext": "das Haus ||| the house\nja ||| yes\n",
    "keyphrases": '{"id": "1", "text": "Some text.", "keyphrases": ["text"]}\n',
    "labelled": "sentence\tlabel\nA fine film .\t1\n",
    "sst": "(3 (2 It) (3 works))\n",
    "plain": "It was a dark night.\n\nIt rained; see [1] | or {2}.\n",
}
ANNOTATIONS = {
    "conllu": ("lemmas", "upos", "xpos", "governors", "relations"),
    "conll2000": ("xpos", "chunks"),
    "conll2012": ("mentions",),
    "bitext": ("translation",),
    "keyphrases": ("keyphrases",),
    "labelled": ("label",),
    "sst": ("label",),
    "plain": (),
}


@pytest.mark.parametrize("format", TEXTS)
def test_the_format_is_found_by_content_and_can_be_forced(tmp_path: Path, format: str) -> None:
    data = TEXTS[format].encode()
    (tmp_path / "corpus.txt").write_bytes(data)
    (tmp_path / "corpus.txt.gz").write_bytes(gzip.compress(data))
    for name in ("corpus.txt", "corpus.txt.gz"):
        corpus = read(tmp_path / name)
        assert (corpus.format, corpus.name, corpus.annotations) == (format, "corpus.txt", ANNOTATIONS[format])
        assert corpus.sha256 == hashlib.sha256(data).hexdigest()
        assert corpus == read(str(tmp_path / name), format)


def test_articles() -> None:
    assert read(Source.of_text(TEXTS["conllu"])).articles == (0, 1, 1)
    assert read(Source.of_text(TEXTS["conllu"]), unit="document").articles == (0, 1)
    assert read(Source.of_text(TEXTS["bitext"])).articles == (0, 1)
    assert read(Source.of_text(TEXTS["plain"])).articles == (0, 0)
    assert read(Source.of_text("= A =\n\nx\ny\n\n= B =\n\nz\n")).articles == (0, 0, 1)


def test_companion_files_count_in_the_hash(tmp_path: Path) -> None:
    for name, text in {"a.txt": TEXTS["bitext"], "one.gold": "0-0\n0-0\n", "two.gold": "0-1\n0-0\n"}.items():
        (tmp_path / name).write_text(text)
    corpora = [
        read(tmp_path / "a.txt"),
        read(tmp_path / "a.txt", gold=tmp_path / "one.gold"),
        read(tmp_path / "a.txt", gold=tmp_path / "two.gold"),
    ]
    assert len({corpus.sha256 for corpus in corpora}) == 3
    assert corpora[1].annotations == ("translation", "links")
    parallel = read(tmp_path / "one.gold", target=tmp_path / "two.gold")
    assert (parallel.format, len(parallel.documents)) == ("parallel", 2)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.conllu", "It was a dark night.\n", "the ending promises conllu, but the file looks like plain text"),
        ("a.conllu.gz", TEXTS["bitext"], "the ending promises conllu, but the file looks like bitext"),
        ("a.conllu", "1\tHi\tx\n", "line 1: 3 columns where CoNLL-U has 10"),
        (
            "a.jsonl",
            '{"label": 3}\n',
            "promises keyphrases, labelled, spans, .* or uds, but the file looks like JSON without",
        ),
        ("a.json", '[\n{"label": 3}\n]\n', "this looks like JSON without texts"),
        ("a.tsv", "a\tb\nc\td\ne\tf\n", "this looks like a table of 2 columns"),
        ("a.gold", "0-0 1p1\n2-2\n", "this looks like the links of a bitext"),
        ("a.txt", "", "no words in this file"),
        ("a.txt", " \n\n", "no words in this file"),
    ],
)
def test_what_fits_no_format_is_refused_in_one_sentence(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(CorpusError, match=message) as caught:
        read(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_table_can_be_read_as_plain_text_when_asked() -> None:
    assert len(read(Source.of_text("a\tb\nc\td\ne\tf\n"), "plain", unit="line").documents) == 3


def test_an_empty_file_is_refused_in_every_format(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    for format in (*TEXTS, "parallel", None):
        with pytest.raises(CorpusError, match="no words"):
            read(tmp_path / "empty", format)


def test_options_that_do_not_apply_are_refused() -> None:
    with pytest.raises(CorpusError, match="'unit' is for conllu and plain, not for bitext"):
        read(Source.of_text(TEXTS["bitext"]), unit="line")
    with pytest.raises(CorpusError, match="'which' is for keyphrases, not for plain"):
        read(Source.of_text(TEXTS["plain"]), which="controlled")
    with pytest.raises(CorpusError, match="'gold' is for bitext, not for sample"):
        read("sample", gold="a.gold")
    with pytest.raises(CorpusError, match="'label' is for labelled, csv and sst, not for plain"):
        read(Source.of_text(TEXTS["plain"]), label="five")
    with pytest.raises(CorpusError, match="'tiger' is no format"):
        read(Source.of_text("a"), "tiger")
    with pytest.raises(CorpusError, match="two parallel files are needed"):
        read(Source.of_text("a"), "parallel")


def test_a_corpus_refuses_to_be_empty() -> None:
    with pytest.raises(CorpusError, match="no documents"):
        Corpus((), "plain", "a", "", ())
    with pytest.raises(CorpusError, match="no words"):
        Corpus((Document("", ()),), "plain", "a", "", (0,))
    with pytest.raises(CorpusError, match="2 articles for 1 documents"):
        Corpus((Document.from_text("a"),), "plain", "a", "", (0, 1))


def test_the_sample_is_opened_by_its_name() -> None:
    corpus = read("sample")
    assert corpus.documents == tuple(read_sample())
    assert (corpus.format, corpus.name, corpus.articles) == ("sample", "sample", tuple(range(120)))
    everything = ("lemmas", "upos", "xpos", "governors", "relations", "chunks", "mentions", "keyphrases", "label")
    assert corpus.annotations == everything
    assert corpus.sha256 == hashlib.sha256("\n".join(d.text for d in corpus.documents).encode()).hexdigest()
    assert corpus.sha256.startswith("10d8e5cd4ec3a919")  # manifests of earlier results name it
