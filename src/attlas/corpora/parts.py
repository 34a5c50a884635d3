"""The parts of a corpus that comes divided: what to train on, to stop by and to test on.

A folder or a zip archive is divided by the names of its files (``train``, ``dev`` and ``test`` as words of their own,
also ``valid``, ``validation``, ``training`` and the like; capitals do not matter), or by a file ``splits.tsv`` in the
folder or beside the archive, which has on each line the name of a part, a tab and the name of a document. That is the
name of the document in its file, or of the file (without its ending) where every file is one document.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from attlas.corpora.corpus import Corpus, hash_of
from attlas.corpora.source import Readable, Source, member_names, open_source
from attlas.errors import CorpusError

PARTS = ("train", "dev", "test")
SPLITS = "splits.tsv"
_IN_NAMES = {
    "train": re.compile(r"(?<![a-z])train(ing)?(?![a-z])"),
    "dev": re.compile(r"(?<![a-z])(dev|devel|development|val|valid|validation)(?![a-z])"),
    "test": re.compile(r"(?<![a-z])test(ing)?(?![a-z])"),
}


def part_files(names: Sequence[str], place: str | os.PathLike[str]) -> dict[str, str]:
    """Which of these files is which part, by their names; nothing where no name tells."""
    found: dict[str, str] = {}
    for part, pattern in _IN_NAMES.items():
        files = [name for name in names if pattern.search(name.rpartition("/")[2].lower())]
        if len(files) > 1:
            listed = ", ".join(files[:3])
            raise CorpusError(
                f"{len(files)} files could be its {part} part ({listed}); give one of them", file=str(place)
            )
        if files:
            found[part] = files[0]
    return found


def splits_of(place: Readable, given: Readable | None = None) -> Source | None:
    """The file that divides a corpus: the one given, or ``splits.tsv`` in a folder or beside an archive."""
    if given is not None:
        return open_source(given)
    if isinstance(place, Source) or member_names(place) is None:
        return None
    path = Path(place)
    near = (path if path.is_dir() else path.parent) / SPLITS
    return open_source(near) if near.is_file() else None


def read_splits(source: Source) -> dict[str, tuple[str, ...]]:
    """The documents of each part, by name; the parts are called train, dev and test whatever they are called there.

    >>> read_splits(Source.of_text("training\\ta\\ntest\\tb\\ntraining\\tc\\n"))
    {'train': ('a', 'c'), 'test': ('b',)}
    """
    parts: dict[str, list[str]] = {}
    seen: dict[str, int] = {}
    for line, content in enumerate(source.lines, start=1):
        if not content.strip():
            continue
        fields = [field.strip() for field in content.split("\t")]
        if len(fields) != 2 or not all(fields):
            raise source.error("this is not the name of a part, a tab and the name of a document", line)
        part, name = fields
        if name in seen:
            raise source.error(f"the document {name} is divided already in line {seen[name]}", line)
        seen[name] = line
        called = (known for known, pattern in _IN_NAMES.items() if pattern.fullmatch(part.lower()))
        parts.setdefault(next(called, part), []).append(name)
    if "train" not in parts:
        raise source.error(f"no document is put into train (only into {', '.join(parts) or 'nothing'})")
    return {part: tuple(names) for part, names in parts.items()}


def divided(corpus: Corpus, parts: Mapping[str, Sequence[str]], splits: str = SPLITS) -> dict[str, Corpus]:
    """A corpus divided by the names of its documents; each part says what is missing in it."""
    by_name: dict[str, list[int]] = {}
    for at, document in enumerate(corpus.documents):
        for name in _names(document.name):
            by_name.setdefault(name, []).append(at)
    made: dict[str, Corpus] = {}
    taken: dict[int, str] = {}
    for part, names in parts.items():
        places = sorted({at for name in names for at in by_name.get(name, ())})
        twice = next((at for at in places if at in taken), None)
        if twice is not None:
            both = f"into {taken[twice]} and into {part}, by two of its names"
            raise CorpusError(f"{splits} puts {corpus.documents[twice].name} {both}", file=corpus.name)
        taken.update(dict.fromkeys(places, part))
        missing = [name for name in names if name not in by_name]
        if not places:
            raise CorpusError(
                f"none of the {len(names)} documents that {splits} puts into {part} is here, such as {missing[0]}",
                file=corpus.name,
            )
        notes = [why for why in corpus.left_out if not _names(why.partition(": ")[0]).isdisjoint(names)]
        if missing:
            of_them = f"{len(missing)} of {len(names)} documents that {splits} puts into {part}"
            notes.append(f"{of_them} are not here or have nothing to ask about, such as {missing[0]}")
        digest = hash_of("\n".join([corpus.sha256, *names]))
        made[part] = corpus.only(places, name=f"{corpus.name}, {part}", sha256=digest, left_out=tuple(notes))
    return made


def _names(name: str) -> set[str]:
    """What a text's document may be called: of ``a.conll, tale, part 000`` it is a, tale, or tale, part 000; of
    ``a.conllu, blog-0017`` (a sentence) also blog."""
    file, _, label = name.partition(", ")
    base = file.rpartition("/")[2]
    first = label.partition(", ")[0]
    within = label.rpartition(", ")[0]  # without the number of a passage or sentence
    return {name, file, base, base.partition(".")[0], label, first, within, first.rpartition("-")[0]} - {""}
