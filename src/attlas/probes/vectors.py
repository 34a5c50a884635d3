"""Word vectors for probes: from a file in the usual text format, an array with its word list, or the model itself.

Only the words of the treebank are read. They are looked up in lower case; a word that is not there has a vector of
zeros. All vectors are scaled by one number, so that their mean square length is one whatever their source.
"""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from attlas.capture import Subject
from attlas.errors import CorpusError
from attlas.models import Example
from attlas.probes.trees import Part

INPUT = "input"
Found = tuple[Mapping[Any, NDArray[np.float32]], int]  # vectors of words under what they are looked up by; their size


@dataclass(frozen=True)
class Vectors:
    """Vectors under numbers, 0 being the unknown word, and the numbers of all words of each part.

    ``ids[part][words]`` is (sentence, word), as the groups of the part have them. ``known`` and ``total`` count the
    running words that have a vector, and all.

    >>> Vectors("glove", np.zeros((1, 50), np.float32), {}, 0, 0).size
    50
    """

    name: str
    table: NDArray[np.float32]
    ids: Mapping[str, Mapping[int, NDArray[np.int64]]]
    known: int
    total: int

    @property
    def size(self) -> int:
        """How many numbers a vector has."""
        return int(self.table.shape[1])


def find_vectors(
    source: str, subject: Subject, parts: Sequence[Part], examples: Mapping[str, Sequence[Example]]
) -> Vectors:
    """The vectors of all words of some parts, from a file or, for the source "input", from the model's embeddings.

    >>> from attlas.capture import load
    >>> find_vectors("input", load(), [], {}).size
    384
    """
    key = _pieces_of if source == INPUT else _form_of
    keys = {
        part.name: [
            [key(example, word) for word in tree.kept]
            for example, tree in zip(examples[part.name], part.trees, strict=True)
        ]
        for part in parts
    }
    wanted = {one for sentences in keys.values() for sentence in sentences for one in sentence}
    if source == INPUT:
        (vectors, size), name = _embeddings(subject, sorted(wanted)), f"input embeddings of {subject.name}"
    else:
        (vectors, size), name = read_vectors(Path(source), {str(one) for one in wanted}), Path(source).name
    numbers: dict[Hashable, int] = {one: place for place, one in enumerate(sorted(vectors), start=1)}
    table = np.zeros((len(numbers) + 1, size), np.float32)
    for one, number in numbers.items():
        table[number] = vectors[one]
    length = float(np.sqrt((table[1:] ** 2).sum(1).mean())) if numbers else 0.0
    if length:
        table /= length
    ids = {
        part.name: {
            group.words: np.array(
                [[numbers.get(one, 0) for one in keys[part.name][member]] for member in group.members], np.int64
            )
            for group in part.groups
        }
        for part in parts
    }
    running = [array for groups in ids.values() for array in groups.values()]
    known = int(sum((array > 0).sum() for array in running))
    total = int(sum(array.size for array in running))
    if total and not known:
        raise CorpusError(
            f"none of the treebank's {total:,} words is among its vectors; give another file", file=name
        )
    return Vectors(name, table, ids, known, total)


def read_vectors(path: Path, wanted: set[str]) -> Found:
    """Read the vectors of some words: from a text file ("word v1 v2 ...", also .gz), or from an array (.npy) beside
    which lies its word list, ``vocab.txt`` or ``vocab.txt.gz``.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "small.txt"
    >>> _ = path.write_text("the 0.5 1\\ncat 2 3\\n")
    >>> read_vectors(path, {"cat"})[0]["cat"].tolist()
    [2.0, 3.0]
    """
    if not path.is_file():
        raise CorpusError("there is no such file of word vectors; give one, or --vectors input", file=path)
    try:
        return _read_array(path, wanted) if path.suffix == ".npy" else _read_text(path, wanted)
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"this is not UTF-8 ({error.reason}), so it is no file of word vectors", file=path
        ) from None
    except (OSError, EOFError) as error:
        raise CorpusError(f"it cannot be read ({error})", file=path) from None


def digest(source: str) -> str:
    """A hash of a file of vectors, for the plan; nothing for the model's own.

    >>> digest("input")
    ''
    """
    path = Path(source)
    if source == INPUT or not path.is_file():
        return ""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_text(path: Path, wanted: set[str]) -> Found:
    words: dict[str, NDArray[np.float32]] = {}
    size = 0
    with _opened(path) as lines:
        for number, line in enumerate(lines, start=1):
            fields = line.rstrip("\n").rstrip(" ").split(" ")
            if number == 1 and len(fields) == 2 and all(field.isdigit() for field in fields):
                continue  # the word2vec program writes how many there are, and of what size
            if not size:
                size = len(fields) - 1
                if size < 1:
                    raise CorpusError(
                        "a word and its numbers were expected, with spaces between", file=path, line=number
                    )
            if len(fields) < size + 1:
                raise CorpusError(
                    f"{size} numbers after the word were expected, as in the first line, and there are "
                    f"{len(fields) - 1}; the file may be damaged",
                    file=path,
                    line=number,
                )
            word = " ".join(fields[:-size])
            if word.lower() not in wanted or (word.lower() in words and word != word.lower()):
                continue
            words[word.lower()] = _vector(fields[-size:], path, number)
    if not size:
        raise CorpusError("there are no vectors in this file", file=path)
    return words, size


def _vector(fields: Sequence[str], path: Path, line: int) -> NDArray[np.float32]:
    try:
        vector = np.array(fields, dtype=np.float32)
    except ValueError as error:  # could not convert string to float: 'one'
        raise CorpusError(f"{str(error).partition(': ')[2]} is no number", file=path, line=line) from None
    if not np.isfinite(vector).all():
        raise CorpusError("NaN or infinity among the numbers", file=path, line=line)
    return vector


def _read_array(path: Path, wanted: set[str]) -> Found:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise CorpusError(f"this is no array of numbers ({error})", file=path) from None
    if array.ndim != 2 or not np.issubdtype(array.dtype, np.floating):
        raise CorpusError(
            f"rows of fractions were expected, and {array.dtype} of shape {array.shape} came", file=path
        )
    lists = [place for name in ("vocab.txt", "vocab.txt.gz") if (place := path.with_name(name)).is_file()]
    if not lists:
        raise CorpusError("its word list (vocab.txt or vocab.txt.gz) does not lie beside it", file=path)
    with _opened(lists[0]) as lines:
        names = [line.rstrip("\n") for line in lines]
    if len(names) != len(array):
        raise CorpusError(f"{len(names):,} words for the {len(array):,} rows of {path.name}", file=lists[0])
    words: dict[str, NDArray[np.float32]] = {}
    for row, name in enumerate(names):
        if name.lower() in wanted and (name.lower() not in words or name == name.lower()):
            words[name.lower()] = np.array(array[row], np.float32)
            if not np.isfinite(words[name.lower()]).all():
                raise CorpusError(f"NaN or infinity in row {row}", file=path)
    return words, int(array.shape[1])


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    with open(path, "rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        unpacked: Any = gzip.GzipFile(fileobj=raw) if packed else raw
        yield io.TextIOWrapper(unpacked, encoding="utf-8", newline="\n")


def _form_of(example: Example, word: int) -> Hashable:
    return example.passage.first.word(word).lower()


def _pieces_of(example: Example, word: int) -> Hashable:
    return tuple(example.source.ids[piece] for piece in example.source.segmentation.pieces_of(word))


def _embeddings(subject: Subject, words: Sequence[Any]) -> Found:
    weights: Any = subject.model.get_input_embeddings()
    table = weights.weight.detach().float().cpu().numpy()
    return {ids: table[list(ids)].mean(0) for ids in words}, int(table.shape[1])
