"""What a corpus is by its name alone: a dataset of the hub, a table, or anything else.

A dataset is called ``hf://DATASET[:CONFIG][/SPLIT][?text=COLUMN&label=COLUMN&revision=REVISION&split=SPLIT]``,
where DATASET is ``name`` or ``owner/name``. Of two names without a configuration the second is a split where it is
called as splits usually are (:data:`SPLITS`), and else the dataset of an owner; ``?split=`` says what is meant. So
``hf://imdb/test`` is a split of a dataset without an owner, ``hf://stanfordnlp/imdb`` the dataset of an owner, and
``hf://stanfordnlp/imdb/test`` has all three. Anything else is refused by what is wrong with it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from attlas.errors import CorpusError

HUB = "hf://"
SAMPLE = "sample"
SPLITS = ("train", "validation", "test", "dev", "valid")
TABLES = (".parquet", ".arrow", ".feather")
QUERY = ("text", "label", "revision", "split")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_GRAMMAR = "write hf://owner/name:config/split?text=column&label=column&revision=revision"


@dataclass(frozen=True)
class Dataset:
    """A dataset of the hub, as its address names it.

    >>> Dataset.of("hf://Salesforce/wikitext:wikitext-2-v1/test?text=text")
    Dataset(name='Salesforce/wikitext', config='wikitext-2-v1', split='test', text='text', label=None, revision=None)
    >>> Dataset.of("hf://imdb/test").name, Dataset.of("hf://stanfordnlp/imdb").name
    ('imdb', 'stanfordnlp/imdb')
    >>> Dataset.of("hf://imdb?column=text")
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: hf://imdb?column=text: 'column' is none of text, label, revision and split; write ...
    """

    name: str
    config: str | None = None
    split: str | None = None
    text: str | None = None
    label: str | None = None
    revision: str | None = None

    @classmethod
    def of(cls, address: str) -> Dataset:
        """What an address names, or a sentence on what is wrong with it."""

        def wrong(reason: str) -> CorpusError:
            return CorpusError(f"{reason}; {_GRAMMAR}", file=address)

        path, marked, query = address.removeprefix(HUB).partition("?")
        asked = dict(parse_qsl(query, keep_blank_values=True))
        for name, value in asked.items():
            if name not in QUERY:
                raise wrong(f"{name!r} is none of {', '.join(QUERY[:-1])} and {QUERY[-1]}")
            if not value.strip():
                raise wrong(f"nothing is said of {name!r}")
        if marked and not asked:
            raise wrong("there is nothing after the question mark")
        before, colon, after = path.partition(":")
        names = before.split("/")
        config, *split = after.split("/") if colon else [None]
        if not colon and (len(names) == 3 or (len(names) == 2 and names[1] in SPLITS)):
            split = [names.pop()]
        if not 1 <= len(names) <= 2 or len(split) > 1:
            raise wrong(f"{path!r} is no name of a dataset with a split")
        if split and "split" in asked:
            raise wrong(f"the split is {split[0]!r} and {asked['split']!r}")
        for name in (*names, *([] if config is None else [config]), *split):
            if _NAME.fullmatch(name) is None:
                raise wrong(f"{name!r} is no name" if name else "a name is missing")
        chosen = split[0] if split else asked.get("split")
        return cls(
            "/".join(names), config, chosen, *(asked.get(name) for name in ("text", "label", "revision"))
        )  # fmt: skip


def is_dataset(source: Any) -> bool:
    """Whether this is the address of a dataset of the hub.

    >>> is_dataset("hf://imdb"), is_dataset("imdb.csv")
    (True, False)
    """
    return isinstance(source, str) and source.startswith(HUB)


def is_table(source: Any) -> bool:
    """Whether this is the name of a table that is no text, Parquet or Arrow.

    >>> is_table("a.parquet"), is_table("a.csv")
    (True, False)
    """
    return isinstance(source, str | os.PathLike) and Path(source).suffix.lower() in TABLES


def streams_only(source: Any) -> bool:
    """Whether a source has no other way than to be read as it comes: a dataset, a table, or a folder of tables.

    >>> streams_only("hf://imdb"), streams_only("a.parquet"), streams_only("a.jsonl")
    (True, True, False)
    """
    if is_dataset(source) or is_table(source):
        return True
    if source == SAMPLE:
        return False
    try:
        return isinstance(source, str | os.PathLike) and any(map(is_table, Path(source).iterdir()))
    except (OSError, ValueError):
        return False
