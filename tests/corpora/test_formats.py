"""Formats are found, not listed: each says all of itself in its record, and a new one is one new file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest

import attlas.corpora
from attlas.corpora import read
from attlas.corpora.formats import formats
from attlas.corpora.sniffing import sniff
from attlas.corpora.source import Source
from attlas.errors import CorpusError
from attlas.text import Document

DOCS = Path(__file__).resolve().parents[2] / "docs"
TOY = '''
"""Sentences that are shouted: each line ends with three exclamation marks."""

from attlas.corpora.formats import Format
from attlas.text import Document


def read_shouts(source, label="loud"):
    return [Document.from_words(line.lower().split(), label=label) for line in source.lines]


FORMAT = Format(
    "shouts", read_shouts, "shouted sentences", "OH NO !!!", annotations=("label",), options=("label",),
    looks={5: lambda lines: all(line.endswith("!!!") for line in lines)}, endings=(".shout",),
)
'''


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A new module of the package, for as long as a test lasts."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "shouts.py").write_text(TOY)
    monkeypatch.setattr(attlas.corpora, "__path__", [*attlas.corpora.__path__, str(tmp_path / "package")])
    formats.cache_clear()
    yield
    formats.cache_clear()
    sys.modules.pop("attlas.corpora.shouts", None)
    vars(attlas.corpora).pop("shouts", None)


@pytest.mark.usefixtures("toy")
def test_a_new_format_is_one_new_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("OH NO !!!\nOH YES !!!\n")
    corpus = read(tmp_path / "a.txt", label="louder")
    assert (corpus.format, corpus.articles) == ("shouts", (0, 1))
    assert [(document.text, document.label) for document in corpus.documents] == [
        ("oh no !!!", "louder"),
        ("oh yes !!!", "louder"),
    ]
    assert read(Source.of_text("Hi\n", name="a.txt"), "shouts").documents[0].label == "loud"
    with pytest.raises(
        CorpusError, match=r"the ending promises shouts, but .* plain text; .* semeval, shouts or plain"
    ):
        read(Source.of_text("Hi\n", name="a.shout"))
    with pytest.raises(CorpusError, match=r"'xml' is no format of a corpus; there are conllu, .* shouts, plain"):
        read(tmp_path / "a.txt", "xml")
    with pytest.raises(CorpusError, match="'unit' is for conllu and plain, not for shouts"):
        read(tmp_path / "a.txt", unit="line")
    with pytest.raises(CorpusError, match="'label' is for labelled, csv, sst and shouts, not for plain"):
        read(Source.of_text("Hi\n"), label="loud")


@pytest.mark.parametrize("name", formats())
def test_a_record_is_true(name: str) -> None:
    record = formats()[name]
    source = Source.of_text(record.example, name=f"a{(*record.endings, '.txt')[0]}")
    options = dict.fromkeys(record.needs, source)
    if record.looks:
        assert sniff(source) == name
    corpus = read(source, name, **options)  # type: ignore[arg-type]
    assert record.about
    assert set(record.annotations) <= {field.name for field in fields(Document)}
    assert set(corpus.annotations) <= set(record.annotations)
    for task in record.tasks:
        assert "edges" in record.annotations, task


def test_no_two_tests_of_lines_have_one_rank() -> None:
    ranks = [rank for record in formats().values() for rank in record.looks]
    assert len(ranks) == len(set(ranks))
    assert not {49, 65, 95} & set(ranks), "these are of what is no corpus"


def test_the_page_of_formats_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    written = (DOCS / "corpora.md").read_text(encoding="utf-8")
    assert written == import_module("building.corpora").page(), "run `python docs/build.py corpora`"
    sys.modules.pop("building.corpora")
    for record in formats().values():
        assert f"| `{record.name}` |" in written
        assert record.example.rstrip() in written
