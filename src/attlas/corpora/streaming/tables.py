"""Tables on disk as a stream: Parquet and Arrow files, of any size, some rows at a time.

Only the columns that are read are decoded. A place is the number of a file and of a row in it: in Parquet, to go on
from it no group of rows before it is read, in Arrow no batch. JSON lines and CSV whose text stands in a column of
another name are read here too, by the same rule for columns, row by row from a byte on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora.source import Source, visible
from attlas.corpora.streaming.lines import error_in, fingerprint
from attlas.corpora.streaming.records import Place, Record
from attlas.corpora.streaming.rows import EMPTY, Columns
from attlas.errors import CorpusError, first_line
from attlas.text import Document

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 512  # rows that are decoded at a time
_ALIKE = {"large_string": "string", "string_view": "string"}


@dataclass(frozen=True)
class TableFiles:
    """Parquet or Arrow files with the same columns, as a reel of rows.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.parquet"
    ...     pq.write_table(pa.table({"text": ["It rained.", "", "We stayed in."]}), file)
    ...     reel = TableFiles.of([file])
    ...     [(record.number, record.void) for record in reel.read({"file": 0, "row": 1})]
    [(2, True), (3, False)]
    """

    name: str
    files: tuple[Path, ...]
    columns: Columns
    format: str

    @classmethod
    def of(
        cls, files: Sequence[Path], text: str | None = None, label: str | None = None, name: str = ""
    ) -> TableFiles:
        """The tables as they are to be read, after a look at the columns of all of them."""
        columns = [Columns.of(_kinds(file), visible(str(file)), text, label) for file in files]
        for file, own in zip(files, columns, strict=True):
            if own != columns[0]:
                raise error_in(file, f"its columns are not those of {files[0].name}; give the files one by one")
        return cls(name or files[0].name, tuple(files), columns[0], files[0].suffix.lstrip(".").lower())

    def identity(self) -> dict[str, Any]:
        """The size of every file with a hash of some of its blocks, and the columns that are read."""
        return {"files": [list(fingerprint(file)) for file in self.files], "columns": self.columns.read}

    def read(self, place: Place | None = None) -> TableReading:
        """A pass over the rows from a place on."""
        return TableReading(self, place)

    def articles(self, records: Sequence[Record], left_out: dict[str, int]) -> list[list[Document]]:
        """A document for each row that has a text."""
        return row_articles(self.columns, [_source(file) for file in self.files], records, left_out)

    def continues(self, record: Record) -> bool:
        """Every row is an article of its own."""
        return False


class TableReading:
    """A pass over the rows of tables."""

    def __init__(self, reel: TableFiles, place: Place | None) -> None:
        self.reel = reel
        self.file, self.row = (0, 0) if place is None else (int(place["file"]), int(place["row"]))

    def __iter__(self) -> Iterator[Record]:
        columns = self.reel.columns
        while self.file < len(self.reel.files):
            path = self.reel.files[self.file]
            for row in _rows(path, columns.read, self.row):
                self.row += 1
                void = columns.void(row)
                size = 0 if void else sum(len(row[name]) for name in columns.texts)
                yield Record(row, size, self.file, self.row, void)
            self.file, self.row = self.file + 1, 0

    def place(self) -> Place:
        """Where the row is that comes next."""
        return {"file": self.file, "row": self.row}


def row_articles(
    columns: Columns, sources: Sequence[Source], records: Sequence[Record], left_out: dict[str, int]
) -> list[list[Document]]:
    """The documents of rows, each an article of its own; rows without a text are counted.

    >>> counts: dict[str, int] = {}
    >>> records = [Record({"text": "It rained."}, 10, 0, 1), Record({"text": ""}, 0, 0, 2, void=True)]
    >>> len(row_articles(Columns(("text",)), [Source.of_text("")], records, counts)), counts
    (1, {'rows without a text': 1})
    """
    articles = []
    for record in records:
        source = sources[record.file]
        document = None if record.void else columns.document(source, record.number, record.raw)
        if document is None:
            left_out[EMPTY] = left_out.get(EMPTY, 0) + 1
        else:
            articles.append([document])
    return articles


def _source(file: Path) -> Source:
    return Source(visible(str(file)), visible(file.name), "", "")


@contextmanager
def _told(file: Path) -> Iterator[None]:
    """What the library says of a file that it cannot read, in one sentence."""
    import pyarrow as pa

    try:
        yield
    except CorpusError:
        raise
    except FileNotFoundError:
        raise error_in(file, "there is no such file") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        kind = "Parquet" if file.suffix.lower() == ".parquet" else "Arrow"
        raise error_in(
            file, f"the {kind} file is damaged or cut short ({first_line(error)}); fetch it again"
        ) from None


def _kinds(file: Path) -> dict[str, str]:
    """The columns of a table and what they hold."""
    with _told(file):
        if file.suffix.lower() == ".parquet":
            import pyarrow.parquet as pq

            schema = pq.read_schema(file)
        else:
            with _arrow(file) as (reader, _):
                schema = reader.schema
        return {field.name: _ALIKE.get(str(field.type), str(field.type)) for field in schema}


def _rows(file: Path, columns: Sequence[str], start: int) -> Iterator[Mapping[str, Any]]:
    import pyarrow as pa

    with _told(file):
        read = _parquet_batches if file.suffix.lower() == ".parquet" else _arrow_batches
        try:
            for batch, skipped in read(file, columns, start):
                yield from batch.slice(skipped).select(list(columns)).to_pylist()
        finally:
            pa.default_memory_pool().release_unused()  # what the library would keep for later


def _parquet_batches(file: Path, columns: Sequence[str], start: int) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Batches of rows from the group on that holds the first one, with how many rows of each come before it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False) as table:
        groups: list[int] = []
        before = 0
        for group in range(table.metadata.num_row_groups):
            rows = table.metadata.row_group(group).num_rows
            if groups or before + rows > start:
                groups.append(group)
            else:
                before += rows
        left = start - before
        for group in groups:  # one by one, so that no more than one is held
            for batch in table.iter_batches(ROWS, row_groups=[group], columns=list(columns)):
                skipped = min(left, batch.num_rows)
                left -= skipped
                yield batch, skipped
            pa.default_memory_pool().release_unused()


def _arrow_batches(file: Path, columns: Sequence[str], start: int) -> Iterator[tuple[pa.RecordBatch, int]]:
    left = start
    with _arrow(file) as (_, batches):
        for batch in batches:
            skipped = min(left, batch.num_rows)
            left -= skipped
            if skipped < batch.num_rows:
                for at in range(skipped, batch.num_rows, ROWS):
                    yield batch.slice(at, ROWS), 0


@contextmanager
def _arrow(file: Path) -> Iterator[tuple[Any, Iterator[pa.RecordBatch]]]:
    """An Arrow file of either kind: its batches listed at its end, or one after another, as `datasets` writes."""
    import pyarrow as pa

    with pa.memory_map(str(file)) as mapped:
        listed = mapped.read(6) == b"ARROW1"
        mapped.seek(0)
        if listed:
            reader = pa.ipc.open_file(mapped)
            yield reader, (reader.get_batch(at) for at in range(reader.num_record_batches))
        else:
            reader = pa.ipc.open_stream(mapped)
            yield reader, iter(reader)
