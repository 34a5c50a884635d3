"""Opening corpus files.

A corpus file is text in UTF-8, with or without a byte order mark, plain or compressed by gzip or xz; these are
recognised by their first bytes, so an ending such as ``.gz`` is neither needed nor trusted. Lines end with LF or CRLF
and with nothing else: the other line separators of Unicode stay where they are, inside their line. What is not such a
file is refused with one sentence that says what it is instead; pipes and devices, which may never end, are not read.
The files of a folder can also be those of a zip archive, which need not be unpacked, and an archive of one file
stands for that file. How far a file may unpack and how long a line may be is limited (see
:mod:`attlas.corpora.limits`).
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

from attlas.corpora.limits import above, in_force
from attlas.corpora.unpacking import Allowance, Bomb, member_bytes, open_archive, unpacked
from attlas.errors import CorpusError

FOREIGN = {
    b"PK\x03\x04": "a zip archive; unpack it and give one of its files",
    b"BZh": "compressed by bzip2; unpack it first (plain, gzip and xz files are read)",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it first (plain, gzip and xz files are read)",
    b"PAR1": "a Parquet table, not text",
    b"%PDF": "a PDF; extract its text first",
    b"\xff\xfe": "text in UTF-16; convert it to UTF-8 first",
    b"\xfe\xff": "text in UTF-16; convert it to UTF-8 first",
}
_KINDS = {
    stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket",
}  # fmt: skip
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u202a-\u202e\u2066-\u2069]|\n")
_LONGEST_REASON = 600


@dataclass(frozen=True)
class Source:
    """The text of one corpus file: where it lay, its short name, and a hash of its decompressed bytes. What is only a
    part of a file knows the number of its ``first_line``.

    >>> source = Source.of_text("one\\r\\ntwo\\n", name="a.txt")
    >>> source.lines
    ['one', 'two']
    """

    path: str
    name: str
    text: str
    sha256: str
    first_line: int = 1

    @classmethod
    def of_text(cls, text: str, name: str = "text") -> Source:
        """A source that never was a file."""
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            lone = f"{text[error.start]!r} is half a letter (a lone surrogate)"
            raise CorpusError(f"{lone}; leave it out", file=name, line=text.count("\n", 0, error.start) + 1) from None
        return cls(name, name, text, hashlib.sha256(data).hexdigest())

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends; line ``k`` is at ``k - first_line``."""
        lines = self.text.replace("\r\n", "\n").split("\n")
        if not lines[-1]:
            lines.pop()
        if max(map(len, lines), default=0) > in_force().line:
            numbered = enumerate(lines, start=self.first_line)
            number, line = next((n, line) for n, line in numbered if len(line) > in_force().line)
            raise self.error(f"a line of {len(line)} characters, {above('line')}", number)
        return lines

    def error(self, reason: str, line: int | None = None) -> CorpusError:
        """An error that names this file, and the line where it is known; what is endless in it is shortened, and what
        cannot be seen is written out.

        >>> str(Source.of_text("", "a.txt").error("the tag '\\x1b[2J' is none", 3))
        "a.txt, line 3: the tag '\\\\x1b[2J' is none"
        """
        if len(reason) > _LONGEST_REASON:
            half = _LONGEST_REASON // 2
            reason = f"{reason[:half]} [...] {reason[-half:]}"
        return CorpusError(visible(reason), file=self.path, line=line)

    def whole_number(self, written: str, line: int) -> int:
        """A number that is written in digits, which are limited.

        >>> Source.of_text("").whole_number("12", line=1)
        12
        """
        if len(written) > in_force().digits:
            raise self.error(f"a number of {len(written)} digits, {above('digits')}", line)
        return int(written)


Readable = str | os.PathLike[str] | Source


def visible(text: str) -> str:
    """A text for messages and names: what cannot be seen or encoded is written out.

    >>> visible("a\\x1bb\\udcff")
    'a\\\\x1bb\\\\udcff'
    """
    return _INVISIBLE.sub(lambda match: ascii(match[0])[1:-1], text)


def open_source(path: Readable) -> Source:
    """Read a file, decompressed and decoded; a :class:`Source` is handed back as it is. A zip archive of one file is
    that file.

    >>> open_source("no-such-corpus.conllu")
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: no-such-corpus.conllu: there is no such file
    """
    if isinstance(path, Source):
        return path
    where = os.fspath(path)
    if _is_archive(Path(where)):
        names = member_names(where) or ()
        if len(names) == 1:
            return open_member(where, names[0])
    packed = _read_bytes(where)
    return _source(packed, where, Allowance(visible(where), len(packed)))


def member_names(path: Readable) -> list[str] | None:
    """The files of a folder, or of a zip archive with its folders, in order; ``None`` where it is neither."""
    if isinstance(path, Source):
        return None
    place = Path(path)
    try:
        if place.is_dir():
            return sorted(entry.name for entry in place.iterdir() if entry.is_file())
    except OSError as error:
        raise _unreadable(os.fspath(path), error) from None
    except ValueError:
        return None  # no name of a file, which opening it says
    if not _is_archive(place):
        return None
    with open_archive(os.fspath(path)) as archive:
        return sorted({info.filename for info in archive.infolist() if _is_file(info)})


def open_member(path: str | os.PathLike[str], name: str) -> Source:
    """Read one file of a folder or of a zip archive; see :func:`member_names`."""
    source = next(iter(open_members(path, [name])))
    if isinstance(source, CorpusError):
        raise source
    return source


def open_members(path: str | os.PathLike[str], names: Sequence[str]) -> Iterator[Source | CorpusError]:
    """Read files of a folder or of a zip archive, which is opened once; what cannot be read comes as its error. All
    files of an archive together may unpack as far as one file of its size."""
    place = Path(path)
    if not _is_archive(place):
        for name in names:
            try:
                yield open_source(place / name)
            except CorpusError as error:
                yield error
        return
    allowance = Allowance(visible(str(place)), place.stat().st_size)
    with open_archive(os.fspath(path)) as archive:
        for name in names:
            where = f"{place}/{name}"
            try:
                yield _source(
                    member_bytes(archive, archive.getinfo(name), visible(where), allowance), where, allowance
                )
            except KeyError:
                yield CorpusError("there is no such file", file=visible(where))
            except Bomb:
                raise
            except CorpusError as error:
                yield error


def _is_archive(place: Path) -> bool:
    try:
        return place.is_file() and zipfile.is_zipfile(place)
    except (OSError, ValueError):
        return False


def _is_file(info: zipfile.ZipInfo) -> bool:
    return not info.is_dir() and not info.filename.startswith("__MACOSX/")


def _source(packed: bytes, where: str, allowance: Allowance) -> Source:
    shown = visible(where)
    data = unpacked(packed, shown, allowance)
    for start, kind in FOREIGN.items():
        if data.startswith(start):
            raise CorpusError(f"this is {kind}", file=shown)
    if b"\x00" in data:
        raise CorpusError("this is a binary file; a corpus is text in UTF-8", file=shown)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise CorpusError(
            f"byte 0x{error.object[error.start]:02x} is not UTF-8; convert the file to UTF-8 first",
            file=shown,
            line=line,
        ) from None
    name = Path(shown).name.removesuffix(".gz").removesuffix(".xz")
    return Source(shown, name, text, hashlib.sha256(data).hexdigest())


def _read_bytes(where: str) -> bytes:
    with open_bytes(where) as file:
        return file.read()


@contextmanager
def open_bytes(where: str) -> Iterator[IO[bytes]]:
    """A file to read bytes from. It is opened without waiting, as a pipe would otherwise be waited for.

    >>> with open_bytes("no-such-corpus.conllu"):
    ...     pass
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: no-such-corpus.conllu: there is no such file
    """
    try:
        handle = os.open(where, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(handle, "rb") as file:
            kind = _KINDS.get(stat.S_IFMT(os.fstat(handle).st_mode))
            if kind is not None:
                raise CorpusError(
                    f"this is {kind}, and a corpus is a plain file; copy it to one", file=visible(where)
                )
            yield file
    except OSError as error:
        raise _unreadable(where, error) from None
    except ValueError:
        raise CorpusError("this is no name of a file", file=visible(where)) from None


def _unreadable(where: str, error: OSError) -> CorpusError:
    if isinstance(error, FileNotFoundError):
        return CorpusError("there is no such file", file=visible(where))
    if isinstance(error, IsADirectoryError):
        return CorpusError("this is a folder; give one of its files", file=visible(where))
    return CorpusError(f"the file cannot be read ({error.strerror or type(error).__name__})", file=visible(where))
