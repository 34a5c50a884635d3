"""Corpora that are read as they come, against the same files read whole."""

from __future__ import annotations

import gzip
import itertools
import json
import lzma
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from attlas.corpora import open_corpus, read, stream
from attlas.corpora.formats import formats
from attlas.corpora.streaming import StreamedCorpus, streams
from attlas.corpora.streaming.drawing import reservoir
from attlas.errors import CorpusError
from attlas.text import Document

STREAMING = [format.name for format in formats().values() if format.cutting is not None]
MANY = {  # several records of each format, where repeating its example would not do
    "labelled": "sentence1\tsentence2\tlabel\n" + "".join(f"It rained {n}.\tIt was dry.\tno\n" for n in range(9)),
    "csv": "text,label\n" + "".join(f'"It rained, and ""poured""\n{n} times.",wet\n' for n in range(9)),
    "plain": "\n\n".join(f"It rained\nfor {n} days." for n in range(9)),
}


def written(folder: Path, name: str, *, copies: int = 7) -> Path:
    """A file of a format with several records."""
    format = formats()[name]
    file = folder / f"a{format.endings[0] if format.endings else '.txt'}"
    example = format.example + ("\n" if name in ("conllu", "conll2000") else "")
    file.write_text(MANY.get(name, example * copies))
    return file


def told(document: Document) -> tuple[Any, ...]:
    """All that a document holds, but for its name."""
    layers = [getattr(document, field.name) for field in fields(document) if field.name != "name"]
    return tuple(told(layer) if isinstance(layer, Document) else layer for layer in layers)


def of_buffers(corpus: StreamedCorpus, place: Any = None) -> list[Document]:
    return [text for buffer in corpus.buffers(place) if buffer.corpus for text in buffer.corpus.documents]


def jsonl(folder: Path, texts: Iterable[str], name: str = "a.jsonl") -> Path:
    file = folder / name
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return file


@pytest.mark.parametrize("name", STREAMING)
def test_every_format_streams_what_it_reads_whole(name: str, tmp_path: Path) -> None:
    file = written(tmp_path, name)
    whole = [told(document) for document in read(file, name).documents]
    assert len(whole) > 5
    for size in (1, 2, 5, 1000):
        assert [told(document) for document in of_buffers(stream(file, name, buffer=size))] == whole


@pytest.mark.parametrize("name", STREAMING)
def test_a_pass_goes_on_from_any_buffer(name: str, tmp_path: Path) -> None:
    corpus = stream(written(tmp_path, name), name, buffer=2)
    buffers = list(corpus.buffers())
    for at, buffer in enumerate(buffers):
        place = json.loads(json.dumps(buffer.after))
        rest = [text for later in buffers[at + 1 :] if later.corpus for text in later.corpus.documents]
        assert of_buffers(corpus, place) == rest


def test_articles_go_on_across_buffers(tmp_path: Path) -> None:
    rows = "1\tIt\tit\tPRON\t_\t_\t2\texpl\t_\t_\n2\train{}\train\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    text = "".join(f"# newdoc id = {n // 3}\n" * (n % 3 == 0) + rows.format(n) for n in range(60))
    file = tmp_path / "a.conllu"
    file.write_text(text)
    whole = read(file)
    # the beginning must show the articles, so the first buffer is large and a place in the middle is gone on from
    corpus = stream(file, buffer=49)
    assert corpus.by_article
    units = [unit for buffer in corpus.buffers() for unit in buffer.units]
    assert [units.index(unit) // 3 for unit in units] == list(whole.articles)
    second = list(corpus.buffers())[1]
    again = next(iter(corpus.buffers(second.place)))
    assert again.units == second.units
    assert again.units[0] == units[48], "sentence 50 is of the article of sentence 49"


def test_wikitext_parts_articles_in_a_stream(tmp_path: Path) -> None:
    file = tmp_path / "wiki.txt"
    file.write_text(
        "".join(f" = Title {n} = \n\nIt rained .\n\n = = Part = = \n\nFor {n} days .\n\n" for n in range(20))
    )
    whole, corpus = read(file), stream(file, buffer=33)
    assert [told(text) for text in of_buffers(corpus)] == [told(text) for text in whole.documents]
    drawn = corpus.draw(10, 3)
    assert len(drawn.documents) == 10
    places = {document.text: article for document, article in zip(whole.documents, whole.articles, strict=True)}
    asked = [
        (text.text, at)
        for text, at in zip(drawn.documents, drawn.articles, strict=True)
        if text.text != "It rained ."
    ]
    assert all(places[text] == at for text, at in asked)


def test_packed_files_stream_and_go_on(tmp_path: Path) -> None:
    texts = [f"It rained for {n} days." for n in range(20)]
    plain = jsonl(tmp_path, texts)
    for packed, ending in ((gzip.compress(plain.read_bytes()), ".gz"), (lzma.compress(plain.read_bytes()), ".xz")):
        file = tmp_path / f"a.jsonl{ending}"
        file.write_bytes(packed)
        corpus = stream(file, buffer=6)
        assert [document.text for document in of_buffers(corpus)] == texts
        assert [document.text for document in of_buffers(corpus, list(corpus.buffers())[1].after)] == texts[12:]


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrow stream"])
def test_tables_stream_and_go_on_from_any_row(kind: str, tmp_path: Path) -> None:
    texts = [f"It rained for {n} days." if n % 7 else "" for n in range(100)]
    table = pa.table({"id": list(range(100)), "text": texts})
    file = tmp_path / f"a.{kind.split()[0]}"
    if kind == "parquet":
        pq.write_table(table, file, row_group_size=13)
    else:
        new = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with new(str(file), table.schema) as to:
            to.write_table(table, max_chunksize=13)
    corpus = stream(file, buffer=9)
    kept = [text for text in texts if text]
    assert [document.text for document in of_buffers(corpus)] == kept
    left_out = sum((Counter(buffer.left_out) for buffer in corpus.buffers()), Counter())
    assert left_out == {"rows without a text": 15}
    for buffer in corpus.buffers():
        row = buffer.after["at"].get("row") or 100 * bool(buffer.after["at"]["file"])
        assert [document.text for document in of_buffers(corpus, buffer.after)] == [
            text for text in texts[row:] if text
        ]


def test_parquet_reads_no_group_before_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [f"It rained for {n} days." for n in range(100)]}), file, row_group_size=10)
    asked: list[int] = []
    before = pq.ParquetFile.iter_batches

    def iter_batches(self: Any, *sizes: int, row_groups: list[int], **how: Any) -> Any:
        asked.extend(row_groups)
        return before(self, *sizes, row_groups=row_groups, **how)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", iter_batches)
    corpus = stream(file)
    assert len(of_buffers(corpus, {"at": {"file": 0, "row": 75}, "article": None, "buffer": 0})) == 25
    assert 7 in asked
    assert min(asked[asked.index(7) :]) == 7


def test_a_reservoir_draws_all_alike() -> None:
    runs, count, of = 4000, 5, 40
    times: Counter[int] = Counter()
    pairs: Counter[bool] = Counter()
    for seed in range(runs):
        kept = reservoir(range(of), count, seed)
        assert kept == sorted(set(kept))
        assert len(kept) == count
        times.update(kept)
        pairs[0 in kept and of - 1 in kept] += 1
    expected = runs * count / of
    chi_square = sum((times[item] - expected) ** 2 / expected for item in range(of))
    assert chi_square < 72.1, "one in a thousand of 39 degrees of freedom"
    both = runs * count * (count - 1) / of / (of - 1)
    assert abs(pairs[True] - both) < 4 * both**0.5


def test_a_draw_depends_on_the_seed_alone_and_not_on_buffers(tmp_path: Path) -> None:
    file = jsonl(tmp_path, (f"It rained for {n} days." for n in range(300)))
    drawn = [document.text for document in stream(file, buffer=10).draw(20, 7).documents]
    assert drawn == [document.text for document in stream(file, buffer="1kb").draw(20, 7).documents]
    assert drawn != [document.text for document in stream(file).draw(20, 8).documents]
    assert [text.text for text in stream(file).first(2).documents] == [
        "It rained for 0 days.",
        "It rained for 1 days.",
    ]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_memory_does_not_grow_with_the_corpus(kind: str, tmp_path: Path) -> None:
    def peaks(count: int, pass_over: Callable[[StreamedCorpus], Iterable[Any]]) -> tuple[int, int]:
        texts = [f"It rained for {number} days. " + "word " * 100 for number in range(count)]
        file = tmp_path / f"{count}.{kind}"
        if kind == "jsonl":
            jsonl(tmp_path, texts, file.name)
        else:
            pq.write_table(pa.table({"text": texts}), file, row_group_size=20)
        del texts
        corpus, arrow, before = stream(file, buffer=20), 0, pa.total_allocated_bytes()
        tracemalloc.start()
        for _ in pass_over(corpus):
            arrow = max(arrow, pa.total_allocated_bytes() - before)
        own = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return own, arrow

    for pass_over, small, large in (
        (lambda corpus: corpus.buffers(), 40, 400),
        (lambda corpus: [corpus.draw(3, seed=1)], 400, 4000),
    ):
        peaks(10, pass_over)  # what is imported and kept on the way
        for one, other in zip(peaks(small, pass_over), peaks(large, pass_over), strict=True):
            assert other < 1.1 * one + 100_000  # of the texts there are 200 kB more, and 1.9 MB


def test_the_first_ones_are_read_no_further(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "It rained."}\n{"text": "We stayed in."}\n{"text": \n')
    assert len(stream(file, "keyphrases").first(2).documents) == 2
    with pytest.raises(CorpusError, match=r"a\.jsonl, line 3: this is not JSON"):
        of_buffers(stream(file, "keyphrases"))


def test_halves_are_by_a_hash_of_the_text(tmp_path: Path) -> None:
    texts = [f"It rained for {n} days." for n in range(400)]
    sides = []
    for name, order in (("a.jsonl", texts), ("b.jsonl", texts[::-1] + texts[:50])):
        one, other = (of_buffers(half) for half in stream(jsonl(tmp_path, order, name), buffer=30).halves(5))
        sides.append({text.text for text in one})
        assert sides[-1].isdisjoint(text.text for text in other), "a text that comes twice is in one half"
        assert len(one) + len(other) == len(order)
        assert abs(len(sides[-1]) - 200) < 60
    assert sides[0] == sides[1], "whatever the order and the file"
    again = {text.text for text in of_buffers(stream(jsonl(tmp_path, texts), buffer=30).halves(6)[0])}
    assert again != sides[0]


def test_a_column_is_told_or_asked_for(tmp_path: Path) -> None:
    table = pa.table({"title": ["A"], "body": ["It rained."], "stars": [5]})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match=r"which column is the text\? there are title, body, stars"):
        stream(tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match="there is no column 'words' among title, body, stars"):
        stream(tmp_path / "a.parquet", text="words")
    with pytest.raises(CorpusError, match="the column 'stars' holds no texts but int64"):
        stream(tmp_path / "a.parquet", text="stars")
    (document,) = of_buffers(stream(tmp_path / "a.parquet", text="body", label="stars"))
    assert (document.text, document.label) == ("It rained.", "5")
    (tmp_path / "a.csv").write_text('day,body\n1,"It rained,\nand poured."\n')
    assert of_buffers(stream(tmp_path / "a.csv"))[0].text == "It rained,\nand poured."
    (tmp_path / "b.jsonl").write_text('{"body": "It rained.", "n": 3}\n{"body": " ", "n": 3}\n')
    assert [document.text for document in of_buffers(stream(tmp_path / "b.jsonl"))] == ["It rained."]


def test_columns_of_glue_are_labelled_pairs(tmp_path: Path) -> None:
    table = pa.table({"premise": ["It rained."], "hypothesis": ["It was dry."], "label": [2]})
    pq.write_table(table, tmp_path / "a.parquet")
    (document,) = of_buffers(stream(tmp_path / "a.parquet"))
    assert document.pair is not None
    assert (document.text, document.pair.text, document.label) == ("It rained.", "It was dry.", "2")


def test_a_folder_is_one_stream(tmp_path: Path) -> None:
    texts = [f"It rained for {n} days." for n in range(9)]
    for at, some in enumerate(
        itertools.batched(texts, 4) if hasattr(itertools, "batched") else (texts[:4], texts[4:])
    ):
        jsonl(tmp_path, some, f"part{at}.jsonl")
    corpus = stream(tmp_path, buffer=3)
    assert [document.text for document in of_buffers(corpus)] == texts
    assert [document.text for document in of_buffers(corpus, list(corpus.buffers())[1].after)] == texts[6:]
    assert streams(tmp_path)
    (tmp_path / "a.csv").write_text("text,label\nIt rained.,wet\n")
    with pytest.raises(CorpusError, match=r"files of several kinds \(\.csv and \.jsonl\)"):
        stream(tmp_path)


def test_small_files_are_read_whole_and_large_ones_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = jsonl(tmp_path, ["It rained."])
    assert not isinstance(open_corpus(file), StreamedCorpus)
    assert isinstance(open_corpus(file, streamed=True), StreamedCorpus)
    monkeypatch.setattr("attlas.corpora.streaming.opening.LARGE", 5)
    assert isinstance(open_corpus(file), StreamedCorpus)
    assert not isinstance(open_corpus(file, streamed=False), StreamedCorpus)
    (tmp_path / "a.txt").write_text(formats()["semeval"].example)
    assert open_corpus(tmp_path / "a.txt").format == "semeval", "what cannot be cut is read whole, however large"
    (tmp_path / "b.txt").write_text("Es regnete.\n")
    (tmp_path / "c.txt").write_text("It rained.\n")
    assert open_corpus(tmp_path / "b.txt", target=tmp_path / "c.txt").annotations == ("translation",)


def test_the_fingerprint_sees_sizes_columns_and_the_ends(tmp_path: Path) -> None:
    texts = [f"It rained for {n} days." for n in range(9)]
    known = stream(jsonl(tmp_path, texts)).sha256
    assert stream(jsonl(tmp_path, texts, "b.jsonl")).sha256 == known
    assert stream(tmp_path / "b.jsonl", buffer=3).sha256 != known
    changed = {stream(jsonl(tmp_path, other)).sha256 for other in (texts[1:], [*texts[:-1], "It rained for 9 days."])}
    assert len({*changed, known}) == 3


@pytest.mark.parametrize(
    ("content", "limits", "said"),
    [
        ('{"text": "' + "a" * 500 + '"}\n', "line=100", "a line of over 100 characters, more than the limit of 100"),
        (
            '{"text": "a", "b": ' + "[" * 40 + "]" * 40 + "}\n",
            "depth=20",
            "nested 21 deep, more than the limit of 20",
        ),
        ('{"text": "a", "b": ' + "1" * 50 + "}\n", "digits=20", "a number of 50 digits, more than the limit of 20"),
    ],
)
def test_limits_hold_while_streaming(content: str, limits: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "It rained."}\n' * 3000 + content)
    corpus = stream(file, "keyphrases", limits=limits)
    assert len(corpus.first(3000).documents) == 3000
    with pytest.raises(CorpusError, match=said):
        of_buffers(corpus)


def test_a_packed_file_may_not_unpack_without_end(tmp_path: Path) -> None:
    file = tmp_path / "a.txt.gz"
    file.write_bytes(gzip.compress(b"It rained.\n\n" * 200_000))
    corpus = stream(file, limits="buffer=1")
    with pytest.raises(CorpusError, match=r"it unpacks to over .* the limit of 50"):
        corpus.draw(5, 0)


def test_a_file_that_ends_in_the_middle_is_told(tmp_path: Path) -> None:
    texts = [f"It rained for {n} days." for n in range(2000)]
    whole = jsonl(tmp_path, texts).read_bytes()
    cut = {
        "cut.jsonl": (whole[:-20], r"cut\.jsonl, line 2000: this is not JSON"),
        "cut.jsonl.gz": (gzip.compress(whole)[:-30], "the gzip data is damaged or cut short; fetch the file again"),
    }
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet")
    cut["cut.parquet"] = ((tmp_path / "a.parquet").read_bytes()[:-50], "the Parquet file is damaged or cut short")
    for name, (data, said) in cut.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(CorpusError, match=said):
            of_buffers(stream(tmp_path / name, buffer=100))


def test_what_cannot_stream_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(formats()["semeval"].example)
    with pytest.raises(CorpusError, match=r"files of the format semeval are read whole; conllu, .* stream"):
        stream(tmp_path / "a.txt")
    with pytest.raises(CorpusError, match="'nothing' is no format of a corpus"):
        stream(tmp_path / "a.txt", "nothing")
    with pytest.raises(CorpusError, match="the option 'unit' is not for"):
        stream(jsonl(tmp_path, ["It rained."]), "keyphrases", unit="line")
    with pytest.raises(CorpusError, match="a buffer is a number of documents or bytes"):
        stream(jsonl(tmp_path, ["It rained."]), buffer="0")


def test_a_stream_that_is_too_large_for_memory_is_refused(tmp_path: Path) -> None:
    corpus = stream(jsonl(tmp_path, ["It rained for many days."] * 100))
    assert len(corpus.whole().documents) == 100
    with pytest.raises(CorpusError, match=r"all texts are to be kept in memory, .* give --limit"):
        corpus.whole("give --limit", most=1000)
