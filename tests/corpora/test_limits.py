"""Files made to fill a machine are stopped at a limit, and no reader takes a time that grows with the square."""

from __future__ import annotations

import contextlib
import gc
import gzip
import io
import json
import lzma
import os
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from attlas.corpora import read, read_edges
from attlas.corpora.limits import Limits, limited, limits_of
from attlas.corpora.source import Source, open_source
from attlas.errors import CorpusError

MANY = 200 * 2**20


def gzip_bomb() -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([*(packer.compress(b"a" * 2**20) for _ in range(MANY >> 20)), packer.flush()])


def xz_bomb() -> bytes:
    packer = lzma.LZMACompressor(preset=0)
    return b"".join([*(packer.compress(b"a" * 2**20) for _ in range(64)), packer.flush()])


def zip_of(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return held.getvalue()


def zip_bomb() -> bytes:
    """Of many files, each below what one file may become."""
    return zip_of({f"{k}.conll": b"#" * 2**20 for k in range(20)})


def inner_bomb() -> bytes:
    return zip_of({"a.txt.gz": gzip_bomb()})


@pytest.mark.parametrize("bomb", [gzip_bomb, xz_bomb, zip_bomb, inner_bomb])
def test_bombs_are_stopped_while_they_unpack(tmp_path: Path, bomb: Callable[[], bytes]) -> None:
    place = tmp_path / "a.packed"
    place.write_bytes(bomb())
    with pytest.raises(CorpusError, match=r"it unpacks to over \d+ times its size .*--limits ratio=100"):
        read(place)


def test_what_is_small_or_packed_no_further_than_text_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"It rained. " * 300_000))
    assert len(open_source(tmp_path / "a.txt.gz").text) == 3_300_000
    with limited("buffer=1"), pytest.raises(CorpusError, match="more than the limit of 50"):
        open_source(tmp_path / "a.txt.gz")
    with limited(Limits(buffer=1, ratio=10_000)):
        assert len(open_source(tmp_path / "a.txt.gz").text) == 3_300_000


def test_streams_one_after_another_are_one_file(tmp_path: Path) -> None:
    for pack in (gzip.compress, lzma.compress):
        (tmp_path / "a").write_bytes(pack(b"one ") + pack(b"") + pack(b"two") + b"\x00" * 8)
        assert open_source(tmp_path / "a").text == "one two"
        (tmp_path / "a").write_bytes(pack(b"one ") + b"rest")
        with pytest.raises(CorpusError, match="damaged or cut short"):
            open_source(tmp_path / "a")


def test_a_large_file_survives_packing(tmp_path: Path) -> None:
    text = "".join(f"{k * 7919 % 1_000_003} " for k in range(1_200_000))
    for pack in (lambda data: gzip.compress(data, 1), lambda data: lzma.compress(data, preset=0)):
        (tmp_path / "a").write_bytes(pack(text.encode()))
        assert open_source(tmp_path / "a").text == text


@pytest.mark.parametrize(
    ("text", "option", "message"),
    [
        (
            "a\n" + "b" * 50,
            "line=40",
            r"a\.txt, line 2: a line of 50 characters, more than the limit of 40; .*line=80",
        ),
        ('{"text": [[[1]]]}', "depth=3", r"line 1: this JSON is nested 4 deep, more than the limit of 3"),
        ('{"text": "a", "label": 12345}', "digits=4", r"line 1: a number of 5 digits, more than the limit of 4"),
        ('{"text": "a", "label": 1.2345}', "digits=4", "a number of 6 digits"),
    ],
)
def test_each_limit_is_named_with_the_option_that_raises_it(text: str, option: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read(Source.of_text(text, name="a.txt"), limits=option)


def test_archives_have_a_limit_of_members(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zip_of({f"{k}.conll": b"" for k in range(4)}))
    with pytest.raises(CorpusError, match=r"has 4 files, more than the limit of 3; .*--limits members=6"):
        read(tmp_path / "a.zip", limits=Limits(members=3))


def test_brackets_in_strings_are_no_depth() -> None:
    text = '{"text": "' + "[" * 2000 + '", "keyphrases": []}'
    assert len(read(Source.of_text(text)).documents[0].words) == 2000


@pytest.mark.parametrize("given", ["", "line", "line=", "line=-3", "line=x", "line=0", "digits=5000", "total=3"])
def test_limits_that_are_none(given: str) -> None:
    with pytest.raises(CorpusError, match="limit"):
        limits_of(given)


def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CorpusError, match="this is a pipe, and a corpus is a plain file"):
        read(tmp_path / "pipe")
    with pytest.raises(CorpusError, match="/dev/zero: this is a device"):
        read("/dev/zero")
    with pytest.raises(CorpusError, match="no name of a file"):
        read("a\x00b")


TREE = "{}\ta\ta\tX\tX\t_\t{}\tx\t_\t{}"


def chain(count: int) -> str:
    """Every word governed by the next one."""
    return "\n".join(TREE.format(k, k + 1 if k < count else 0, "_") for k in range(1, count + 1))


def long_range(count: int) -> str:
    return "1-{}\t{}\t_\t_\t_\t_\t_\t_\t_\t_\n".format(count, "b" * 2 * count) + chain(count)


def nested_mentions(count: int) -> str:
    """A mention from each word to the last one."""
    last = "Entity=" + "".join(f"e{k})" for k in range(count, 0, -1))
    rows = [TREE.format(k, k + 1, f"Entity=(e{k}") for k in range(1, count + 1)]
    return "\n".join([*rows, TREE.format(count + 1, 0, last)])


def many_passages(count: int) -> str:
    rows = (f"{k}\ta\t({k % 7})" for k in range(2 * count))
    return "\n".join(["#begin document (a)", *rows, "#end document"])


def many_on_one_word(count: int) -> str:
    brackets = "".join(f"({k % 50})" for k in range(count))
    return "\n".join(["#begin document (a)", f"0\ta\t{brackets}", f"1\ta\t{brackets}", "#end document"])


def one_bracketless(count: int) -> str:
    return "#begin document (a)\n0\ta\t" + "b" * 20 * count + "\n#end document"


def one_entity(count: int) -> str:
    return TREE.format(1, 0, "Entity=" + "b" * 20 * count)


def five_columns(count: int) -> str:
    return "a\t1\t\tb" + " " * 20 * count + "\tc"


def many_labels(count: int) -> str:
    labels = json.dumps([f"x{k}" for k in range(4 * count)])
    return f'{{"text": "a", "targets": [{{"span1": [0, 1], "label": {labels}, "among": {labels}}}]}}'


def spaces(count: int) -> str:
    return "7" + " " * 20 * count + "b"


@pytest.mark.parametrize(
    "shape", [chain, long_range, nested_mentions, one_bracketless, one_entity, five_columns, many_labels, spaces]
)
def test_no_reader_is_quadratic(shape: Callable[[int], str]) -> None:
    """Eight times the text takes eight times as long, or thirty at the worst moments; the square would be 64."""

    def seconds(count: int) -> float:
        source = Source.of_text(shape(count))
        start = time.process_time()
        with contextlib.suppress(CorpusError):
            read(source)
        return time.process_time() - start

    small = min(seconds(500) for _ in range(3))
    assert min(seconds(4000) for _ in range(2)) < 30 * small + 0.05


@pytest.mark.parametrize("shape", [many_passages, many_on_one_word, nested_mentions])
def test_no_pairs_of_mentions_are_quadratic(shape: Callable[[int], str]) -> None:
    def seconds(count: int) -> float:
        source = Source.of_text(shape(count), name="a.conll")
        start = time.process_time()
        with contextlib.suppress(CorpusError):
            read_edges("coreference", source)
        return time.process_time() - start

    small = min(seconds(500) for _ in range(2))
    assert seconds(4000) < 30 * small + 0.05


def test_an_archive_of_many_members_costs_as_many(tmp_path: Path) -> None:
    rows = b"#begin document (a)\n0\ta\t_\n#end document\n"
    (tmp_path / "a.zip").write_bytes(zip_of({f"{k}.conll": rows for k in range(2000)}, zipfile.ZIP_STORED))
    start = time.process_time()
    assert len(read(tmp_path / "a.zip").documents) == 2000
    assert time.process_time() - start < 3


def test_no_search_for_garbage_goes_over_documents_while_they_are_read() -> None:
    """Each would cost as much as all documents that are there already."""
    begun: list[str] = []

    def note(phase: str, _: dict[str, int]) -> None:
        begun.append(phase)

    gc.callbacks.append(note)
    try:
        corpus = read(Source.of_text("a b\tc d\n" * 20_000, name="a.tsv"), "tsv")
        searched = list(begun)
    finally:
        gc.callbacks.remove(note)
    assert len(corpus.documents) == 20_000
    assert searched.count("start") < 3  # before and after; on the way there would be many
    with pytest.raises(CorpusError):
        read(Source.of_text("a\n"), "tsv")
    assert gc.isenabled()
