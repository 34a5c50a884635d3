"""Unpacking gzip, xz and zip bit by bit, so that a file made to fill a machine is stopped at its limit.

An allowance says how many bytes a file on disk may become; whatever is unpacked of it is taken from the same
allowance, be it the files of an archive or what is packed twice. Data that is damaged is told in one sentence.
"""

from __future__ import annotations

import io
import lzma
import mmap
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, Protocol

from attlas.corpora.limits import MEBIBYTE, above, in_force
from attlas.errors import CorpusError

_STEP = 4 * MEBIBYTE
_FIRST = 512  # bytes that a stream is fed at first; twice as many each time, as streams may be tiny and many
_XZ_MEMORY = 256 * MEBIBYTE  # a dictionary that is larger is asked for by no setting of xz below its last
_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, lzma.LZMAError, OSError, ValueError, OverflowError, IndexError)


class Bomb(CorpusError):
    """A file that unpacks further than it may; of an archive that is all of it, whichever file of it was read.

    >>> str(Bomb("it never ends", file="a.gz"))
    'a.gz: it never ends'
    """


@dataclass
class Allowance:
    """How many bytes the file at ``where``, of ``packed`` bytes, may still become.

    >>> allowance = Allowance("a.gz", packed=10)
    >>> allowance.take(8 * 2**20)
    >>> allowance.take(1)
    Traceback (most recent call last):
        ...
    attlas.corpora.unpacking.Bomb: a.gz: it unpacks to over 838860 times its size of 10 bytes, more than the limit of
    50; raise it if you trust the file (--limits ratio=100, limits=Limits(ratio=100))
    """

    where: str
    packed: int
    taken: int = 0

    def take(self, count: int) -> None:
        """Take note of so many more bytes, or refuse them."""
        self.taken += count
        if self.taken > in_force().unpacked(self.packed):
            times = f"{self.taken // max(self.packed, 1)} times its size of {self.packed} bytes"
            raise Bomb(f"it unpacks to over {times}, {above('ratio')}", file=self.where)


class _Unpacker(Protocol):
    """What the libraries of both kinds have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def unpacked(data: bytes, where: str, allowance: Allowance) -> bytes:
    """The bytes of a file, unpacked where they begin as gzip or xz does.

    >>> import gzip
    >>> unpacked(gzip.compress(b"one") + gzip.compress(b" two"), "a.gz", Allowance("a.gz", 40))
    b'one two'
    >>> unpacked(b"plain", "a.txt", Allowance("a.txt", 5))
    b'plain'
    """
    parts = _parts(data, where, allowance)
    return data if parts is None else b"".join(parts)


def unpacking(file: IO[bytes], where: str) -> IO[bytes]:
    """A file that is unpacked as it is read, where it begins as gzip or xz does; else the file itself.

    >>> import gzip, tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     _ = file.write(gzip.compress(b"one\\ntwo\\n"))
    ...     file.flush()
    ...     unpacking(file, "a.gz").readlines()
    [b'one\\n', b'two\\n']
    """
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    parts = _parts(data, where, Allowance(where, size))
    return file if parts is None else io.BufferedReader(_Unpacked(parts), _STEP)


class _Unpacked(io.RawIOBase):
    """Parts of unpacked data as a file."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self.parts, self.part = parts, b""

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        while not self.part:
            part = next(self.parts, None)
            if part is None:
                return 0
            self.part = part
        count = min(len(room), len(self.part))
        room[:count], self.part = self.part[:count], self.part[count:]
        return count


def _parts(data: bytes | mmap.mmap, where: str, allowance: Allowance) -> Iterator[bytes] | None:
    """What packed data holds, part by part; None where it is not packed."""
    if data[: len(_GZIP)] == _GZIP:
        return _streams(data, _GZIP, "gzip", lambda: zlib.decompressobj(wbits=31), where, allowance)
    if data[: len(_XZ)] == _XZ:
        return _streams(data, _XZ, "xz", lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY), where, allowance)
    return None


def _streams(
    data: bytes | mmap.mmap, start: bytes, kind: str, begin: Callable[[], _Unpacker], where: str, allowance: Allowance
) -> Iterator[bytes]:
    """All streams of packed data, one after another; zeros between them and at the end are padding."""
    damaged = CorpusError(f"the {kind} data is damaged or cut short; fetch the file again", file=where)
    at = 0
    while at < len(data):
        if data[at : at + len(start)] != start:
            raise damaged
        unpacker = begin()
        fed, tail = _FIRST, b""
        try:
            while not unpacker.eof:
                if not tail and getattr(unpacker, "needs_input", True):
                    tail = data[at : at + fed]
                    at, fed = at + len(tail), min(2 * fed, _STEP)
                part = unpacker.decompress(tail, _STEP)
                tail = getattr(unpacker, "unconsumed_tail", b"")
                if at == len(data) and not (part or tail or unpacker.eof):
                    raise damaged
                allowance.take(len(part))
                yield part
        except (zlib.error, lzma.LZMAError, EOFError) as error:
            raise _memory(kind, where) if "limit" in str(error) else damaged from None
        at -= len(unpacker.unused_data)
        while at < len(data) and not data[at]:
            at += 1


def _memory(kind: str, where: str) -> CorpusError:
    needs = f"unpacking this {kind} data needs over {_XZ_MEMORY // MEBIBYTE} MiB of memory"
    return CorpusError(f"{needs}; pack it anew, with xz -9 or less", file=where)


def open_archive(place: str) -> zipfile.ZipFile:
    """A zip archive, refused where it is damaged or has too many members."""
    try:
        archive = zipfile.ZipFile(place)
    except (*_DAMAGE, RuntimeError, NotImplementedError):
        raise CorpusError("the zip archive is damaged; fetch it again", file=place) from None
    members = len(archive.infolist())
    if members > in_force().members:
        archive.close()
        raise CorpusError(f"the zip archive has {members} files, {above('members')}", file=place)
    return archive


def member_bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo, where: str, allowance: Allowance) -> bytes:
    """One file of an archive."""
    try:
        with archive.open(info) as stream:
            return _all(stream, allowance)
    except CorpusError:
        raise
    except (RuntimeError, NotImplementedError):
        raise CorpusError(
            "the zip archive is encrypted or packed in an unknown way; unpack it first", file=where
        ) from None
    except _DAMAGE:
        raise CorpusError("the zip archive is damaged; fetch it again", file=where) from None


def _all(stream: IO[bytes], allowance: Allowance) -> bytes:
    parts: list[bytes] = []
    while part := stream.read(_STEP):
        parts.append(part)
        allowance.take(len(part))
    return b"".join(parts)
