"""Datasets of the Hugging Face hub as a stream, through the library `datasets`.

The revision is settled first, to the commit that it names, so that the same rows come however long a run takes, and
whenever it is resumed. A place is the number of a row with what the library needs to go on from there: it begins anew
with the file that the row is in, and passes over the rows before it. A connection that is lost is tried again a few
times, and then told; nothing waits for minutes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from attlas.corpora.naming import HUB, Dataset
from attlas.corpora.source import Source, visible
from attlas.corpora.streaming.records import Place, Record
from attlas.corpora.streaming.rows import Columns
from attlas.corpora.streaming.tables import row_articles
from attlas.errors import CorpusError, first_line
from attlas.text import Document

PATIENCE = {  # how often and how long the library tries again by itself: the hub's own client does so five times
    "STREAMING_READ_MAX_RETRIES": 1, "STREAMING_OPEN_MAX_RETRIES": 1,
    "STREAMING_READ_RETRY_INTERVAL": 1, "STREAMING_OPEN_RETRY_INTERVAL": 1,
    "STREAMING_READ_SERVER_UNAVAILABLE_RETRY_INTERVAL": 5, "STREAMING_READ_RATE_LIMIT_RETRY_INTERVAL": 10,
}  # fmt: skip
TIMEOUT = 10.0  # seconds that the first question to the hub may take
LOOKED_AT = 20  # rows that tell what columns hold where the dataset does not say it


@dataclass(frozen=True)
class HubRows:
    """The rows of one split of a dataset, as a reel.

    ``rows`` is the library's dataset, which is gone through anew by each pass; ``revision`` the commit that is read.
    """

    name: str
    revision: str
    config: str | None
    split: str
    columns: Columns
    rows: Any = field(repr=False, compare=False)
    labels: tuple[str, ...] = ()
    format: str = "dataset"

    @classmethod
    def of(cls, dataset: Dataset, name: str, text: str | None = None, label: str | None = None) -> HubRows:
        """The dataset as it is to be read, after asking the hub what there is."""
        where = f"{HUB}{name}"
        with _told(where):
            owner_and_name, revision = _settled(dataset, where)
            splits = _splits(owner_and_name, dataset, revision, where)
            split = _split(splits, dataset.split, where)
            rows = splits[split]
            kinds = _kinds(rows)
        columns = Columns.of(kinds, where, text or dataset.text, label or dataset.label)
        names = getattr((rows.features or {}).get(columns.label), "names", ())
        return cls(name, revision, dataset.config, split, columns, rows.select_columns(columns.read), tuple(names))

    def identity(self) -> dict[str, Any]:
        """The commit, the configuration, the split and the columns."""
        return {
            "dataset": self.name, "revision": self.revision, "config": self.config, "split": self.split,
            "columns": self.columns.read,
        }  # fmt: skip

    def read(self, place: Place | None = None) -> HubReading:
        """A pass over the rows from a place on."""
        return HubReading(self, place)

    def articles(self, records: Sequence[Record], left_out: dict[str, int]) -> list[list[Document]]:
        """A document for each row that has a text."""
        source = Source(f"{HUB}{self.name}", visible(self.name), "", "")
        return row_articles(self.columns, [source], records, left_out)

    def continues(self, record: Record) -> bool:
        """Every row is an article of its own."""
        return False


class HubReading:
    """A pass over the rows of a dataset."""

    def __init__(self, reel: HubRows, place: Place | None) -> None:
        self.reel, self.number = reel, 0
        self.rows = reel.rows.select_columns(reel.columns.read)  # a pass of its own, with its own state
        if place is not None:
            self.number = int(place["row"])
            self.rows.load_state_dict(place["state"])

    def __iter__(self) -> Iterator[Record]:
        columns, labels = self.reel.columns, self.reel.labels
        with _told(f"{HUB}{self.reel.name}", after=self), _patient():
            for row in self.rows:
                self.number += 1
                void = columns.void(row)
                if labels and columns.label is not None and isinstance(row[columns.label], int):
                    at = row[columns.label]
                    row = {**row, columns.label: labels[at] if 0 <= at < len(labels) else None}
                size = 0 if void else sum(len(row[name]) for name in columns.texts)
                yield Record(row, size, 0, self.number, void)

    def place(self) -> Place:
        """Where the row is that comes next."""
        return {"row": self.number, "state": self.rows.state_dict()}


@contextmanager
def _patient() -> Iterator[None]:
    """The library with less patience than it has by itself."""
    from datasets import config

    before = {name: getattr(config, name) for name in PATIENCE if hasattr(config, name)}
    loggers = {logging.getLogger(name): logging.getLogger(name).level for name in ("datasets", "huggingface_hub")}
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        for name in before:
            setattr(config, name, PATIENCE[name])
        yield
    finally:
        for logger, level in loggers.items():
            logger.setLevel(level)
        for name, value in before.items():
            setattr(config, name, value)


def _settled(dataset: Dataset, where: str) -> tuple[str, str]:
    """The dataset's full name and the commit that its revision names."""
    from huggingface_hub import HfApi

    known = HfApi().dataset_info(dataset.name, revision=dataset.revision, timeout=TIMEOUT)
    if "/" not in known.id or known.sha is None:
        raise CorpusError("the hub knows no owner of this dataset; write hf://owner/name", file=where)
    return known.id, known.sha


def _splits(name: str, dataset: Dataset, revision: str, where: str) -> Mapping[str, Any]:
    from datasets import get_dataset_config_names, load_dataset

    try:
        with _patient():
            splits: Mapping[str, Any] = load_dataset(name, dataset.config, revision=revision, streaming=True)
            return splits
    except ValueError as error:
        if "onfig" not in str(error):
            raise
        with _patient():
            configs = get_dataset_config_names(name, revision=revision)
        lacks = "several configurations" if dataset.config is None else f"no configuration {dataset.config!r}"
        raise CorpusError(
            f"it has {lacks}; there are {', '.join(configs)} (hf://{name}:CONFIG)", file=where
        ) from None


def _split(splits: Mapping[str, Any], asked: str | None, where: str) -> str:
    """The split to read: the one that is asked for, else train, else the only one."""
    split = asked or ("train" if "train" in splits else next(iter(splits)) if len(splits) == 1 else None)
    if split is None or split not in splits:
        lacks = "several splits and none is called train" if asked is None else f"no split {asked!r}"
        raise CorpusError(f"it has {lacks}; there are {', '.join(splits)}", file=where)
    return split


def _kinds(rows: Any) -> dict[str, str]:
    """The columns and what they hold, as the dataset says it, or as its first rows show it."""
    if rows.features is not None:
        kinds = {name: getattr(kind, "dtype", type(kind).__name__) for name, kind in rows.features.items()}
        return {name: "string" if kind == "large_string" else kind for name, kind in kinds.items()}
    with _patient():
        first = list(rows.take(LOOKED_AT))
    kinds = {}
    for name in dict.fromkeys(name for row in first for name in row):
        values = [row[name] for row in first if row.get(name) is not None]
        strings = bool(values) and all(isinstance(value, str) for value in values)
        kinds[name] = "string" if strings else type(values[0]).__name__ if values else "nothing"
    return kinds


@contextmanager
def _told(where: str, after: HubReading | None = None) -> Iterator[None]:
    """What goes wrong between here and the hub, in one sentence."""
    try:
        import datasets
        import huggingface_hub.errors as hub
    except ImportError:
        raise CorpusError("datasets of the hub need pip install 'attlas[hub]'", file=where) from None
    try:
        yield
    except (CorpusError, GeneratorExit):
        raise
    except hub.GatedRepoError:
        said = (
            "this dataset is gated: ask for access on its page, and log in with a token that has it (hf auth login)"
        )
        raise CorpusError(said, file=where) from None
    except hub.RevisionNotFoundError:
        raise CorpusError("there is no such revision of this dataset", file=where) from None
    except (hub.RepositoryNotFoundError, datasets.exceptions.DatasetNotFoundError):
        said = "the hub has no such dataset, or it is private and needs a token (hf auth login)"
        raise CorpusError(said, file=where) from None
    except datasets.exceptions.DatasetsError as error:
        raise CorpusError(f"the dataset cannot be read ({first_line(error)})", file=where) from None
    except Exception as error:
        if after is not None:
            raise CorpusError(
                f"reading broke off after row {after.number} ({_cause(error)}); go on with --resume once the hub "
                "answers, if the run has a folder",
                file=where,
            ) from None
        if _is_connection(error):
            said = f"the hub cannot be reached ({_cause(error)}); is there a network?"
            raise CorpusError(said, file=where) from None
        raise CorpusError(f"the dataset cannot be read ({_cause(error)})", file=where) from None


def _cause(error: BaseException) -> str:
    """The first cause of an error, in its own words."""
    while error.__cause__ is not None or error.__context__ is not None:
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return first_line(error)


def _is_connection(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, is one of connecting."""
    while error is not None:
        module = type(error).__module__.partition(".")[0]
        if isinstance(error, OSError | TimeoutError) or module.startswith(("httpx", "httpcore")):
            return True
        error = error.__cause__ or error.__context__
    return False
