"""Opening a corpus as a stream: which kind it is, told by its name and its first bytes.

A folder is a stream of its files where all that a stream can read have one ending, in the order of their names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attlas.corpora.corpus import Corpus, read
from attlas.corpora.formats import formats, listed
from attlas.corpora.jsonlines import field_names
from attlas.corpora.labelled import looks_labelled
from attlas.corpora.limits import Limits, limited
from attlas.corpora.naming import HUB, SAMPLE, TABLES, Dataset, is_dataset, is_table, streams_only
from attlas.corpora.quoted import header_names
from attlas.corpora.sniffing import sniff
from attlas.corpora.source import visible
from attlas.corpora.streaming.corpus import Buffer, StreamedCorpus
from attlas.corpora.streaming.files import TextFiles, first_lines
from attlas.corpora.streaming.records import Reel
from attlas.errors import CorpusError, OptionError

LARGE = 32 << 20  # bytes from which on a corpus is read as it comes unless told: in memory that is some gigabytes
PACKED = (".gz", ".xz")
TEXTS = (".jsonl", ".json", ".csv", ".tsv", ".txt", ".conllu", ".conll")


def stream(
    source: str | os.PathLike[str],
    format: str | None = None,
    *,
    unit: str | None = None,
    text: str | None = None,
    label: str | None = None,
    buffer: str | int | None = None,
    limits: Limits | str | None = None,
    **unknown: Any,
) -> StreamedCorpus:
    """Open a corpus that is read as it comes: a file of a format that can be cut, a table (Parquet, Arrow; JSON lines
    and CSV with a column of texts), a folder of such files, or a dataset of the hub (``hf://owner/name``).

    ``text`` and ``label`` name columns; ``buffer`` is how much is in memory at a time, by documents (500) or bytes
    ("4MB"); the others are those of :func:`attlas.corpora.read`.

    >>> stream("no-such-corpus.jsonl")
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: no-such-corpus.jsonl: there is no such file
    """
    where = os.fspath(source)
    for option, value in unknown.items():
        if value is not None:
            why = f"the option {option!r} is for corpora that are read whole (--whole)"
            raise OptionError(option, why, file=visible(where))
    with limited(limits):
        reel = _reel(where, format, {"unit": unit, "text": text, "label": label})
        return StreamedCorpus(reel, Buffer.of(buffer))


def streams(source: Any) -> bool:
    """Whether a source is read as it comes unless told otherwise: it can be read in no other way, or it is large.

    >>> streams("hf://imdb"), streams("sample")
    (True, False)
    """
    if source == SAMPLE or not isinstance(source, str | os.PathLike):
        return False
    if streams_only(source):
        return True
    place = Path(source)
    try:
        if place.is_dir():
            sizes = [file.stat().st_size for file in _members(place)]
            whole = any(file.name.removesuffix(".gz").endswith((".conllu", "conll")) for file in _members(place))
            return bool(sizes) and (not whole or sum(sizes) > LARGE)
        return place.is_file() and place.stat().st_size > LARGE and place.suffix != ".zip"
    except (OSError, ValueError):
        return False


def open_corpus(
    source: str | os.PathLike[str],
    format: str | None = None,
    *,
    streamed: bool | None = None,
    buffer: str | int | None = None,
    text_column: str | None = None,
    **how: Any,
) -> Corpus | StreamedCorpus:
    """A corpus as a command takes it: streamed where that is asked for or by itself (:func:`streams`), else whole. A
    large file of a format that cannot be cut is read whole, too.

    >>> open_corpus("sample").name
    'sample'
    """
    asked = buffer is not None or text_column is not None
    by_itself = streams_only(source) or (streams(source) and _can_be_cut(source, format, how))
    if streamed or (streamed is None and (by_itself or asked)):
        return stream(source, format, text=text_column, buffer=buffer, **how)
    if buffer is not None or (text_column is not None and not streams_only(source)):
        given = "--buffer" if buffer is not None else "--text-column"
        raise CorpusError(
            f"{given} is for a corpus that is read as it comes; leave out --whole", file=visible(os.fspath(source))
        )
    if streams_only(source):
        return stream(source, format, text=text_column, **how).whole()
    return read(source, format, **how)


def _can_be_cut(source: str | os.PathLike[str], format: str | None, how: Mapping[str, Any]) -> bool:
    """Whether a large file can be read as it comes, with these options; what is wrong with it is for the reader."""
    if any(how.get(option) is not None for option in ("target", "gold")):
        return False
    place = Path(source)
    try:
        name = format or sniff(first_lines(_of_one_kind(place)[0] if place.is_dir() else place))
    except CorpusError:
        return True
    return name not in formats() or formats()[name].cutting is not None


def _reel(where: str, format: str | None, asked: Mapping[str, Any]) -> Reel:
    given = {name: value for name, value in asked.items() if value is not None}
    if is_dataset(where):
        from attlas.corpora.streaming.hub import HubRows

        _refuse(where, format, given, ("text", "label"))
        return HubRows.of(Dataset.of(where), where.removeprefix(HUB).partition("?")[0], **given)
    place = Path(where)
    files = _of_one_kind(place) if place.is_dir() else [place]
    name = place.resolve().name if place.is_dir() else place.name
    if is_table(files[0]):
        from attlas.corpora.streaming.tables import TableFiles

        _refuse(where, format, given, ("text", "label"))
        return TableFiles.of(files, name=name, **given)
    from attlas.corpora.streaming.columns import ColumnFiles

    if "text" in given:
        _refuse(where, None if format in ("csv", "labelled", "keyphrases") else format, given, ("text", "label"))
        return ColumnFiles.over(files, name=name, **given)
    if format is None and _texts_alone(files[0]):
        return ColumnFiles.over(files, name=name, **given)
    return TextFiles.of(files, format, given, name)


def _texts_alone(file: Path) -> bool:
    """Whether a file is JSON lines or CSV that none of the annotated formats fits, to be read as a table."""
    look = first_lines(file)
    filled = [line for line in look.lines if line.strip()]
    names = field_names(filled)
    if names is not None:
        return not ({"keyphrases", "uncontrolled", "targets", "tokens", "srl"} & set(names) or looks_labelled(names))
    return _ending(file) == ".csv" and not looks_labelled(header_names(filled[0]))


def _refuse(where: str, format: str | None, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    if format is not None:
        raise CorpusError(f"the format {format!r} is none of a table; leave it out (--format)", file=visible(where))
    for option in given:
        if option not in known:
            why = f"the option {option!r} is not for the rows of a table"
            raise OptionError(option, why, file=visible(where))


def _members(folder: Path) -> list[Path]:
    """The files of a folder that a stream can read."""
    return sorted(file for file in folder.iterdir() if file.is_file() and _ending(file) in (*TABLES, *TEXTS))


def _ending(file: Path) -> str:
    return Path(file.stem).suffix.lower() if file.suffix.lower() in PACKED else file.suffix.lower()


def _of_one_kind(folder: Path) -> list[Path]:
    files = _members(folder)
    endings = sorted({_ending(file) for file in files})
    if len(endings) != 1:
        able = listed([*TABLES, *TEXTS], "or")
        holds = f"files of several kinds ({listed(endings, 'and')})" if endings else f"no file that ends in {able}"
        raise CorpusError(f"this folder holds {holds}; give one of its files", file=visible(str(folder)))
    return files
