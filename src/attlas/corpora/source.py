"""Opening corpus files.

A corpus file is text in UTF-8, with or without a byte order mark, plain or compressed by gzip or xz; these are
recognised by their first bytes, so an ending such as ``.gz`` is neither needed nor trusted. Lines end with LF or CRLF
and with nothing else: the other line separators of Unicode stay where they are, inside their line. What is not such a
file is refused with one sentence that says what it is instead. The files of a folder can also be those of a zip
archive, which need not be unpacked.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from attlas.errors import CorpusError

_PACKED = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz"}
_FOREIGN = {
    b"PK\x03\x04": "a zip archive; unpack it and give one of its files",
    b"BZh": "compressed by bzip2; unpack it first (plain, gzip and xz files are read)",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it first (plain, gzip and xz files are read)",
    b"PAR1": "a Parquet table, not text",
    b"%PDF": "a PDF; extract its text first",
    b"\xff\xfe": "text in UTF-16; convert it to UTF-8 first",
    b"\xfe\xff": "text in UTF-16; convert it to UTF-8 first",
}


@dataclass(frozen=True)
class Source:
    """The text of one corpus file: where it lay, its short name, and a hash of its decompressed bytes.

    >>> source = Source.of_text("one\\r\\ntwo\\n", name="a.txt")
    >>> source.lines
    ['one', 'two']
    """

    path: str
    name: str
    text: str
    sha256: str

    @classmethod
    def of_text(cls, text: str, name: str = "text") -> Source:
        """A source that never was a file."""
        return cls(name, name, text, hashlib.sha256(text.encode()).hexdigest())

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends; line ``k`` of the file is at ``k - 1``."""
        lines = self.text.replace("\r\n", "\n").split("\n")
        if not lines[-1]:
            lines.pop()
        return lines

    def error(self, reason: str, line: int | None = None) -> CorpusError:
        """An error that names this file, and the line where it is known."""
        return CorpusError(reason, file=self.path, line=line)


Readable = str | os.PathLike[str] | Source


def open_source(path: Readable) -> Source:
    """Read a file, decompressed and decoded; a :class:`Source` is handed back as it is.

    >>> open_source("no-such-corpus.conllu")
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: no-such-corpus.conllu: there is no such file
    """
    if isinstance(path, Source):
        return path
    where = os.fspath(path)
    return _source(_read_bytes(where), where)


def member_names(path: Readable) -> list[str] | None:
    """The files of a folder, or of a zip archive with its folders, in order; ``None`` where it is neither."""
    if isinstance(path, Source):
        return None
    place = Path(path)
    if place.is_dir():
        return sorted(entry.name for entry in place.iterdir() if entry.is_file())
    if not place.is_file() or not zipfile.is_zipfile(place):
        return None
    with zipfile.ZipFile(place) as archive:
        names = (info.filename for info in archive.infolist() if not info.is_dir())
        return sorted(name for name in names if not name.startswith("__MACOSX/"))


def open_member(path: str | os.PathLike[str], name: str) -> Source:
    """Read one file of a folder or of a zip archive; see :func:`member_names`."""
    place = Path(path)
    if not place.is_file():
        return open_source(place / name)
    where = f"{place}/{name}"
    try:
        with zipfile.ZipFile(place) as archive:
            return _source(archive.read(name), where)
    except KeyError:
        raise CorpusError("there is no such file", file=where) from None
    except (zipfile.BadZipFile, zlib.error, EOFError):
        raise CorpusError("the zip archive is damaged; fetch it again", file=where) from None
    except (RuntimeError, NotImplementedError):
        raise CorpusError(
            "the zip archive is encrypted or packed in an unknown way; unpack it first", file=where
        ) from None


def _source(packed: bytes, where: str) -> Source:
    data = _decompress(packed, where)
    for start, kind in _FOREIGN.items():
        if data.startswith(start):
            raise CorpusError(f"this is {kind}", file=where)
    if b"\x00" in data:
        raise CorpusError("this is a binary file; a corpus is text in UTF-8", file=where)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CorpusError(
            f"byte 0x{data[error.start]:02x} is not UTF-8; convert the file to UTF-8 first", file=where, line=line
        ) from None
    name = Path(where).name.removesuffix(".gz").removesuffix(".xz")
    return Source(where, name, text, hashlib.sha256(data).hexdigest())


def _read_bytes(where: str) -> bytes:
    try:
        return Path(where).read_bytes()
    except FileNotFoundError:
        raise CorpusError("there is no such file", file=where) from None
    except IsADirectoryError:
        raise CorpusError("this is a folder; give one of its files", file=where) from None
    except OSError as error:
        raise CorpusError(f"the file cannot be read ({error.strerror})", file=where) from None


def _decompress(data: bytes, where: str) -> bytes:
    kind = next((name for start, name in _PACKED.items() if data.startswith(start)), None)
    if kind is None:
        return data
    try:
        return gzip.decompress(data) if kind == "gzip" else lzma.decompress(data)
    except (EOFError, OSError, zlib.error, lzma.LZMAError):
        raise CorpusError(f"the {kind} data is damaged or cut short; fetch the file again", file=where) from None
