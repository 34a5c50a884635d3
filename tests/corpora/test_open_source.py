"""Opening files: compression, encodings, and what is refused."""

import gzip
import hashlib
from pathlib import Path

import pytest

from attlas.corpora.source import open_source
from attlas.errors import CorpusError


def test_plain_gzip_and_byte_order_mark_give_the_same_text(tmp_path: Path) -> None:
    data = "Grüße\r\naus Köln\n".encode()
    (tmp_path / "a.txt").write_bytes(data)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(data, mtime=0))
    (tmp_path / "squeezed.txt").write_bytes(gzip.compress(data, mtime=0))
    (tmp_path / "marked.txt").write_bytes(b"\xef\xbb\xbf" + data)
    for name in ("a.txt", "a.txt.gz", "squeezed.txt", "marked.txt"):
        assert open_source(tmp_path / name).lines == ["Grüße", "aus Köln"]
    assert open_source(tmp_path / "a.txt.gz").name == "a.txt"
    assert open_source(tmp_path / "a.txt.gz").sha256 == hashlib.sha256(data).hexdigest()


def test_a_name_that_only_claims_to_be_gzip_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_text("plain after all\n")
    assert open_source(tmp_path / "a.txt.gz").lines == ["plain after all"]


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\u2028still one\x0bstill\u0085one\ntwo", newline="")
    assert len(open_source(tmp_path / "a.txt").lines) == 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"one\ntwo caf\xe9\n", r"a\.txt, line 2: byte 0xe9 is not UTF-8"),
        ("text".encode("utf-16"), "UTF-16"),
        (b"abc\x00def", "binary"),
        (b"PK\x03\x04rest", "zip archive"),
        (b"\xfd7zXZ\x00rest", "xz"),
        (gzip.compress(b"a" * 1000, mtime=0)[:-12], "damaged"),
        (b"\x1f\x8bnonsense", "damaged"),
        (gzip.compress(b"\x00\x01", mtime=0), "binary"),
    ],
)
def test_what_is_no_text_is_refused_in_one_sentence(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(CorpusError, match=message) as caught:
        open_source(tmp_path / "a.txt")
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="there is no such file"):
        open_source(tmp_path / "missing.txt")
    with pytest.raises(CorpusError, match="this is a folder"):
        open_source(tmp_path)
