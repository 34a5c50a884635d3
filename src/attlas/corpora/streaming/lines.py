"""The lines of a file from a place on, without reading what lies before it where the file is not packed.

What holds for files that are read whole holds here too: packed files are told by their first bytes and may unpack so
far and no further, a line has a limit, and whatever is no text is said in one sentence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from attlas.corpora.limits import above, in_force
from attlas.corpora.source import FOREIGN, Source, open_bytes, visible
from attlas.corpora.unpacking import unpacking
from attlas.errors import CorpusError

BLOCKS, BLOCK = 16, 1 << 16  # what a fingerprint looks at
_WIDEST = 4  # bytes of a character
_STEP = 1 << 20


def lines(path: Path, at: int = 0, line: int = 1) -> Iterator[bytes]:
    """The lines of a file as bytes with their ends, from an offset into its unpacked bytes on, which is where this
    line begins.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.txt"
    ...     _ = file.write_text("one\\ntwo\\nthree")
    ...     list(lines(file)), list(lines(file, 4, 2))
    ([b'one\\n', b'two\\n', b'three'], [b'two\\n', b'three'])
    """
    most = _WIDEST * in_force().line
    with open_bytes(str(path)) as file:
        unpacked = unpacking(file, visible(str(path)))
        if unpacked is file:
            file.seek(at)
        else:
            left = at
            while left > 0 and (part := unpacked.read(min(left, _STEP))):
                left -= len(part)
        while content := unpacked.readline(most + 1):
            if len(content) > most:
                raise error_in(path, f"a line of over {in_force().line} characters, {above('line')}", line)
            if line == 1:
                for start, kind in FOREIGN.items():
                    if content.startswith(start):
                        raise error_in(path, f"this is {kind}")
            yield content
            line += 1


def error_in(path: Path, reason: str, line: int | None = None) -> CorpusError:
    """An error that names a file, and the line where it is known.

    >>> str(error_in(Path("a.txt"), "this is no text", 3))
    'a.txt, line 3: this is no text'
    """
    return Source(visible(str(path)), path.name, "", "").error(reason, line)


def decoded(record: bytes, path: Path, line: int) -> str:
    """The text of a record that begins on this line of its file.

    >>> decoded(b"caf\\xe9", Path("a.txt"), 7)
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: a.txt, line 7: byte 0xe9 is not UTF-8; convert the file to UTF-8 first
    """
    if b"\x00" in record:
        raise error_in(path, "this is a binary file; a corpus is text in UTF-8", line)
    try:
        return record.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        wrong = f"byte 0x{record[error.start]:02x} is not UTF-8; convert the file to UTF-8 first"
        raise error_in(path, wrong, line + record.count(b"\n", 0, error.start)) from None


def fingerprint(path: Path) -> tuple[int, str]:
    """The size of a file, and a hash of blocks of it: its first, its last, and some between, a megabyte in all. A
    change elsewhere that leaves the size as it was is not seen.

    >>> fingerprint(Path("no-such-corpus.jsonl"))
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: no-such-corpus.jsonl: there is no such file
    """
    digest = hashlib.sha256()
    with open_bytes(str(path)) as file:
        size = file.seek(0, 2)
        for number in range(BLOCKS):
            file.seek(max(0, size - BLOCK) * number // (BLOCKS - 1))
            digest.update(file.read(BLOCK))
    return size, digest.hexdigest()
