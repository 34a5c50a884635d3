"""How a corpus file is cut into records, each of which can be read without the rest of the file.

A file that is larger than memory is read as it comes (see :mod:`attlas.corpora.streaming`): its lines are gathered
into records (a line of JSON, a sentence between blank lines, a document between two marks), and some records at a
time are handed to the reader of the format, as if they were a small file. So a format needs no second reader; its
record says by :class:`Cutting` where a file may be cut and what of its beginning the rest cannot be read without.

All splitters take lines with their ends and give records that, put together, are the file again: places in it can be
counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attlas.corpora.limits import above, in_force
from attlas.errors import CorpusError

if TYPE_CHECKING:
    from attlas.corpora.source import Source

Splitter = Callable[[Iterable[bytes]], Iterator[bytes]]
_WIDEST = 4  # bytes of a character


@dataclass(frozen=True)
class Cutting:
    """Where files of a format may be cut.

    ``split`` gives the splitter, by the options that the file is read with; ``header`` says of a file's first line,
    and the options, whether all records are read below it; ``opens`` says of a record whether it begins an article,
    where documents are not articles of their own; ``void`` whether it holds no document; ``settled`` are options that
    the beginning of a file decides for all of it. Documents that are ``counted`` through are named by their place in
    a part of the file.

    >>> Cutting(lambda options: each_line).header("It rained.", {})
    False
    """

    split: Callable[[Mapping[str, Any]], Splitter]
    header: Callable[[str, Mapping[str, Any]], bool] = lambda line, options: False
    opens: Callable[[str], bool] | None = None
    void: Callable[[bytes], bool] = bytes.isspace
    settled: Callable[[Source], dict[str, Any]] = lambda source: {}
    counted: bool = False


def each_line(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Every line is a record.

    >>> list(each_line([b"a\\n", b"\\n", b"b"]))
    [b'a\\n', b'\\n', b'b']
    """
    return iter(lines)


def at_blank(lines: Iterable[bytes]) -> Iterator[bytes]:
    """A blank line ends a record; those that follow belong to it, too.

    >>> list(at_blank([b"a\\n", b"b\\n", b"\\n", b"\\n", b"c\\n"]))
    [b'a\\nb\\n\\n\\n', b'c\\n']
    """
    ended = False

    def new(line: bytes) -> bool:
        nonlocal ended
        blank = line.isspace()
        begins, ended = ended and not blank, blank
        return begins

    return _gathered(lines, new)


def before(pattern: bytes) -> Splitter:
    """A line that begins so begins a record.

    >>> list(before(rb"# newdoc")([b"# newdoc\\n", b"a\\n", b"# newdoc\\n"]))
    [b'# newdoc\\na\\n', b'# newdoc\\n']
    """
    return lambda lines: _gathered(lines, lambda line: re.match(pattern, line) is not None)


def after(pattern: bytes) -> Splitter:
    """A line that begins so ends a record.

    >>> list(after(rb"#end")([b"a\\n", b"#end\\n", b"b\\n", b"#end\\n"]))
    [b'a\\n#end\\n', b'b\\n#end\\n']
    """

    def split(lines: Iterable[bytes]) -> Iterator[bytes]:
        ended = False

        def new(line: bytes) -> bool:
            nonlocal ended
            begins, ended = ended, re.match(pattern, line) is not None
            return begins

        return _gathered(lines, new)

    return split


def quoted_rows(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Rows of a table in which quotation marks may hold ends of lines.

    >>> list(quoted_rows([b'"a\\n', b'b",1\\n', b"c,2\\n"]))
    [b'"a\\nb",1\\n', b'c,2\\n']
    """
    open_quote = False

    def new(line: bytes) -> bool:
        nonlocal open_quote
        begins = not open_quote
        open_quote ^= line.count(b'"') % 2 == 1
        return begins

    return _gathered(lines, new)


def _gathered(lines: Iterable[bytes], new: Callable[[bytes], bool]) -> Iterator[bytes]:
    """Records of several lines, each begun by a line of which ``new`` says so; they have a limit as lines have."""
    record: list[bytes] = []
    size, most = 0, _WIDEST * in_force().line
    for line in lines:
        if new(line) and record:
            yield b"".join(record)
            record, size = [], 0
        record.append(line)
        size += len(line)
        if size > most:
            raise CorpusError(f"a text of over {size // _WIDEST} characters, {above('line')}")
    if record:
        yield b"".join(record)
