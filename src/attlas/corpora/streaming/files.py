"""Files of text as a stream: records of lines, read some at a time by the reader of their format.

A place is the number of a file, the offset of a byte in it (of its unpacked bytes, where it is packed) and the number
of the line that begins there; to go on from it nothing before it is read, unless the file is packed. Several files of
one format are one stream, in the order of their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from attlas.corpora.cutting import Cutting
from attlas.corpora.formats import Format, formats, listed
from attlas.corpora.sniffing import sniff
from attlas.corpora.source import Source, visible
from attlas.corpora.streaming.lines import decoded, error_in, fingerprint, lines
from attlas.corpora.streaming.records import Place, Record
from attlas.errors import CorpusError, OptionError
from attlas.text import Document

LOOKED_AT = 1 << 16  # bytes of a file that tell its format and its layout


@dataclass(frozen=True)
class TextFiles:
    """Files of one format, as a reel of records.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.jsonl"
    ...     _ = file.write_text('{"text": "It rained."}\\n{"text": "We stayed in."}\\n')
    ...     reel = TextFiles.of([file])
    ...     reading = reel.read()
    ...     reel.format, reel.articles([next(iter(reading))], {})[0][0].text, reading.place()
    ('keyphrases', 'It rained.', {'file': 0, 'byte': 23, 'line': 2})
    """

    name: str
    files: tuple[Path, ...]
    known: Format
    options: Mapping[str, Any]
    headers: tuple[bytes, ...] = field(repr=False)

    @classmethod
    def of(
        cls,
        files: Sequence[Path],
        format: str | None = None,
        options: Mapping[str, Any] | None = None,
        name: str = "",
        known: Format | None = None,
    ) -> TextFiles:
        """The files as they are to be read, after a look at their first lines."""
        given = dict(options or {})
        looks = [first_lines(file) for file in files]
        if format is not None and format not in formats():
            raise CorpusError(f"{format!r} is no format of a corpus; there are {', '.join(formats())}")
        known = known or formats()[format or sniff(looks[0])]
        if known.cutting is None:
            able = [other.name for other in formats().values() if other.cutting is not None]
            raise CorpusError(
                f"files of the format {known.name} are read whole; {listed(able, 'and')} stream",
                file=visible(str(files[0])),
            )
        unknown = next((option for option in given if option not in known.options), None)
        if unknown is not None:
            why = f"the option {unknown!r} is not for {known.name}"
            raise OptionError(unknown, why, file=visible(str(files[0])))
        given |= known.cutting.settled(looks[0])
        headers = [_header(file, known.cutting, given) for file in files]
        return cls(name or files[0].name, tuple(files), known, given, tuple(headers))

    @property
    def format(self) -> str:
        """The name of the format."""
        return self.known.name

    @cached_property
    def cutting(self) -> Cutting:
        """Where the files are cut."""
        assert self.known.cutting is not None
        return self.known.cutting

    def identity(self) -> dict[str, Any]:
        """The size of every file with a hash of some of its blocks, the format and how it is read."""
        return {
            "files": [list(fingerprint(file)) for file in self.files],
            "format": self.format,
            "options": {name: str(value) for name, value in sorted(self.options.items())},
        }

    def read(self, place: Place | None = None) -> LineReading:
        """A pass over the files from a place on."""
        return LineReading(self, place)

    def articles(self, records: Sequence[Record], left_out: dict[str, int]) -> list[list[Document]]:
        """Records that follow each other, read together as a small file."""
        articles: list[list[Document]] = []
        for number in dict.fromkeys(record.file for record in records):
            own = [record for record in records if record.file == number]
            if not all(record.void for record in own):
                articles += self.known.articles(self._source(number, own), **self.options)
        return articles

    def continues(self, record: Record) -> bool:
        """Whether a record is of the article before it."""
        opens = self.cutting.opens
        first = record.number == 1 + self.headers[record.file].count(b"\n")
        return opens is not None and not first and not opens(record.raw.decode(errors="replace"))

    def _source(self, number: int, records: Sequence[Record]) -> Source:
        """Records of one file as a source of their own, below its header."""
        file, header, line = self.files[number], self.headers[number], records[0].number
        above = header.count(b"\n")
        text = decoded(header, file, 1) + decoded(b"".join(record.raw for record in records), file, line)
        name = file.name.removesuffix(".gz").removesuffix(".xz")
        if self.cutting.counted and line > 1:
            name += f" from line {line}"
        return Source(visible(str(file)), name, text, "", line - above)


class LineReading:
    """A pass over files of text."""

    def __init__(self, reel: TextFiles, place: Place | None) -> None:
        self.reel = reel
        self.file, self.byte, self.line = (0, 0, 1) if place is None else _numbers(place, len(reel.files))

    def __iter__(self) -> Iterator[Record]:
        split, void = self.reel.cutting.split(self.reel.options), self.reel.cutting.void
        while self.file < len(self.reel.files):
            header = self.reel.headers[self.file]
            if self.byte < len(header):
                self.byte, self.line = len(header), 1 + header.count(b"\n")
            path = self.reel.files[self.file]
            try:
                for raw in split(lines(path, self.byte, self.line)):
                    size, line = len(raw), self.line
                    self.byte, self.line = self.byte + size, line + raw.count(b"\n")
                    yield Record(raw, size, self.file, line, void(raw))
            except CorpusError as error:
                if str(error).startswith(visible(str(path))):
                    raise
                raise error_in(path, str(error), self.line) from None
            self.file, self.byte, self.line = self.file + 1, 0, 1

    def place(self) -> Place:
        """Where the record begins that comes next."""
        return {"file": self.file, "byte": self.byte, "line": self.line}


def _numbers(place: Place, files: int) -> tuple[int, int, int]:
    numbers = tuple(int(place[name]) for name in ("file", "byte", "line"))
    if not 0 <= numbers[0] <= files:
        raise CorpusError(f"there is no file {numbers[0] + 1} of {files} to go on from")
    return numbers[0], numbers[1], numbers[2]


def first_lines(file: Path) -> Source:
    """The first lines of a file, whole ones, as a source of their own."""
    taken: list[bytes] = []
    size = 0
    for line in lines(file):
        taken.append(line)
        size += len(line)
        if size > LOOKED_AT:
            break
    text = decoded(b"".join(taken), file, 1)
    if not text.strip():
        raise error_in(file, "there are no words in this file")
    name = visible(file.name).removesuffix(".gz").removesuffix(".xz")
    return Source(visible(str(file)), name, text, "")


def _header(file: Path, cutting: Cutting, options: Mapping[str, Any]) -> bytes:
    """The header of a file with all before it, where it has one."""
    taken = b""
    for line in islice(lines(file), 100):
        taken += line
        if not line.isspace():
            return taken if cutting.header(decoded(line, file, 1).strip("\r\n"), options) else b""
    return b""
