"""What probes read, on disk: flat files of numbers, mapped into memory.

For each part of a treebank there is one file of attention between words, (sentence, from, to, head) in float16, one
of states, (layer, sentence, word, size) in float16, and one of distances in the tree, a byte each. Sentences of one
length lie together, so a batch is a few rows of an array without padding. Nothing is ever read whole: a batch is
copied out of the mapping when it is needed. ``index.json`` says what lies where, and for whom it was written; of
what each sentence wrote there is a checksum, so that a resumed run reads nothing that has changed since.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.errors import StoreError
from attlas.probes.trees import Part, distances

INDEX, FINISHED, SUMS = "index.json", "finished", "checksums"
GB = 1e9

Shape = Callable[[int, int], tuple[int, ...]]


@dataclass(frozen=True)
class Room:
    """How large things are: heads of all layers, layers of states (0: none are kept), and the size of a state.

    >>> Room(heads=144, layers=13, size=384).shapes()["attention"](2, 5)
    (2, 6, 6, 144)
    """

    heads: int
    layers: int = 0
    size: int = 0

    def shapes(self) -> dict[str, Shape]:
        """The shape of each kind of block, from the number of sentences and their words."""
        shapes: dict[str, Shape] = {"attention": lambda count, words: (count, words + 1, words + 1, self.heads)}
        if self.layers:
            shapes["states"] = lambda count, words: (self.layers, count, words, self.size)
            shapes["distances"] = lambda count, words: (count, words, words)
        return shapes

    def bytes(self, parts: Sequence[Part]) -> dict[str, int]:
        """How many bytes each kind of file will take."""
        return {
            kind: sum(
                math.prod(shape(len(group.members), group.words)) * _dtype(kind).itemsize
                for part in parts
                for group in part.groups
            )
            for kind, shape in self.shapes().items()
        }


class Checksums:
    """Of what each item (a sentence, a window) has written, in a file beside what was written.

    >>> import tempfile
    >>> sums = Checksums(Path(tempfile.mkdtemp()), 2)
    >>> sums.note(0, np.ones(3))
    >>> sums.agree(0, np.ones(3)), sums.agree(0, np.zeros(3)), sums.agree(1, np.zeros(3))
    (True, False, True)
    """

    def __init__(self, folder: Path, items: int) -> None:
        path, size = folder / SUMS, items + 1  # one more, since no file may be empty
        self.kept = size_of_file(path) == 4 * size
        """Whether there was such a file already."""
        if not self.kept:
            path.unlink(missing_ok=True)  # it may be a link
        self._held = np.memmap(path, np.uint32, mode="r+" if self.kept else "w+", shape=(size,))

    def note(self, item: int, *written: NDArray[Any]) -> None:
        """Take note of what an item, counted from 0, has written."""
        self._held[item] = self._of(written)

    def agree(self, item: int, *found: NDArray[Any]) -> bool:
        """Whether what is found of an item is what was written, or nothing was yet."""
        return self._held[item] in (0, self._of(found))

    def clear(self) -> None:
        """Forget everything."""
        self._held[:] = 0

    @staticmethod
    def _of(arrays: Sequence[NDArray[Any]]) -> int:
        checksum = 0
        for array in arrays:
            checksum = zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data, checksum)
        return checksum or 1  # since 0 stands for nothing


class MappedFiles:
    """Files of numbers in a folder of their own, mapped into memory; ``index`` says what they hold, and for whom.
    ``items`` is how many things (sentences) are written into them, each of which leaves a checksum.

    >>> import tempfile
    >>> files = MappedFiles(Path(tempfile.mkdtemp()), {"for": "tiny"}, {"train": ((3, 2), np.dtype(np.uint8))})
    >>> files.arrays["train"].tolist(), files.kept
    ([[0, 0], [0, 0], [0, 0]], False)
    """

    def __init__(
        self,
        folder: Path,
        index: Mapping[str, Any],
        shapes: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]],
        what: str = "features",
        items: int = 0,
    ) -> None:
        self.folder = folder
        sizes = {name: math.prod(shape) * dtype.itemsize for name, (shape, dtype) in shapes.items()}
        whole = all(size_of_file(folder / f"{name}.bin") == size for name, size in sizes.items())
        self.kept = whole and _holds(folder / INDEX, index)
        """Whether the folder held files of this very index already."""
        self.arrays: dict[str, np.memmap[Any, Any]] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.checksums = Checksums(folder, items)
            self.kept = self.kept and self.checksums.kept
            if not self.kept:
                self.checksums.clear()
                (folder / FINISHED).unlink(missing_ok=True)
                (folder / INDEX).unlink(missing_ok=True)  # until all of them are of this index
            for name, (shape, dtype) in shapes.items():
                path, mode = folder / f"{name}.bin", "r+" if self.kept else "w+"
                if not self.kept:
                    path.unlink(missing_ok=True)
                self.arrays[name] = np.memmap(path, dtype=dtype, mode=mode, shape=shape)  # type: ignore[call-overload]
                if not self.kept:
                    _set_aside(path, sizes[name])
            if not self.kept:
                (folder / INDEX).write_text(json.dumps(index), encoding="utf-8")
        except OSError as error:
            raise StoreError(
                f"{folder}: the {what} cannot be written ({error.strerror or error}); choose another --out"
            ) from error

    @property
    def finished(self) -> bool:
        """Whether everything was written, now or by an earlier run of the same plan."""
        return self.kept and (self.folder / FINISHED).exists()

    def begin_again(self) -> None:
        """Have everything be written anew."""
        (self.folder / FINISHED).unlink(missing_ok=True)
        self.checksums.clear()
        self.kept = False

    def finish(self) -> None:
        """Say that everything was written, when it is on the disk."""
        for array in self.arrays.values():
            array.flush()
        (self.folder / FINISHED).touch()
        self.kept = True

    def delete(self) -> None:
        """Give the room back; the files cannot be used any more."""
        self.arrays.clear()
        shutil.rmtree(self.folder, ignore_errors=True)


class Features(MappedFiles):
    """All feature files of one model on the parts of a treebank, in a folder of their own.

    >>> import tempfile
    >>> from attlas.probes.trees import Tree
    >>> part = Part.of("train", [Tree((0, 1), (1, 2), (True, True), ("", ""))])
    >>> features = Features(Path(tempfile.mkdtemp()), [part], Room(heads=3, layers=1, size=2), {"model": "tiny"})
    >>> features.block("train", "attention", 2).shape, features.block("train", "distances", 2).tolist()
    ((1, 3, 3, 3), [[[0, 1], [1, 0]]])
    """

    def __init__(self, folder: Path, parts: Sequence[Part], room: Room, made_for: Mapping[str, Any]) -> None:
        self.room = room
        index = {
            "for": dict(made_for),
            "heads": room.heads,
            "layers": room.layers,
            "size": room.size,
            "order": "blocks of sentences of one length, from short to long; "
            "attention (sentence, from, to, head), the last word being all pieces outside words; "
            "states (layer, sentence, word, size); distances (sentence, word, word)",
            "parts": {
                part.name: [
                    {"words": group.words, "sentences": [int(member) for member in group.members]}
                    for group in part.groups
                ]
                for part in parts
            },
        }
        shapes: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}
        self._blocks: dict[tuple[str, int], tuple[int, tuple[int, ...]]] = {}
        for part in parts:
            for kind, shape in room.shapes().items():
                name, size = f"{part.name}-{kind}", 0
                for group in part.groups:
                    of_block = shape(len(group.members), group.words)
                    self._blocks[name, group.words] = size, of_block
                    size += math.prod(of_block)
                shapes[name] = (size,), _dtype(kind)
        super().__init__(folder, index, shapes, items=sum(len(part.trees) for part in parts))
        if room.layers:
            for part in parts:
                for tree, (words, row) in zip(part.trees, part.places, strict=True):
                    self.block(part.name, "distances", words)[row] = distances(tree.governors)

    def block(self, part: str, kind: str, words: int) -> NDArray[Any]:
        """All sentences of one length, as they lie in the file."""
        name = f"{part}-{kind}"
        start, shape = self._blocks[name, words]
        return np.asarray(self.arrays[name])[start : start + math.prod(shape)].reshape(shape)

    def of_sentence(self, part: str, words: int, row: int) -> list[NDArray[Any]]:
        """What was written of one sentence: its attention, and its states where they are kept."""
        states = [self.block(part, "states", words)[:, row]] if self.room.layers else []
        return [self.block(part, "attention", words)[row], *states]


def check_room(
    folder: Path,
    needed: Mapping[str, int],
    most: float,
    there: int = 0,
    *,
    what: str = "features",
    less: str = "--limit, --max-pieces, --no-structural",
) -> None:
    """Refuse what would take more than ``most`` GB, or more than the disk has (``there`` bytes of it may be on it
    already); ``less`` are the options that make it smaller.

    >>> check_room(Path("."), {"attention": 3_000_000_000}, most=2.0)
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: the features would take 3.0 GB on disk (attention 3.0 GB), and --max-disk allows 2 GB...
    """
    total = sum(needed.values())
    size = f"the {what} would take {size_of(total)} on disk ({_listed(needed)})"
    if total > most * GB:
        raise StoreError(
            f"{size}, and --max-disk allows {most:g} GB; allow more (--max-disk {math.ceil(total / GB)}), or ask for "
            f"less ({less})"
        )
    place = next(place for place in (folder.resolve(), *folder.resolve().parents) if place.exists())
    free = shutil.disk_usage(place).free
    if total > free + there:
        raise StoreError(
            f"{size}, and {place} has {size_of(free)} free; free some, choose another --out, or ask for less ({less})"
        )


def size_of(count: int) -> str:
    """A number of bytes to read.

    >>> size_of(4_600_000_000), size_of(12_000)
    ('4.6 GB', '0.01 MB')
    """
    if count >= 1e8:
        return f"{count / GB:.1f} GB"
    return f"{count / 1e6:.0f} MB" if count >= 1e6 else f"{count / 1e6:.2f} MB"


def _set_aside(path: Path, size: int) -> None:
    """Have the disk keep the room of a file, where it can: a write to a mapping that finds none would end the process
    without a word."""
    if size and hasattr(os, "posix_fallocate"):
        with open(path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, size)


def _listed(needed: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {size_of(count)}" for kind, count in needed.items())


def _dtype(kind: str) -> np.dtype[Any]:
    return np.dtype(np.uint8 if kind == "distances" else np.float16)


def size_of_file(path: Path) -> int | None:
    """The size of a plain file, None where there is none.

    >>> size_of_file(Path("no such file")) is None
    True
    """
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:
        return None


def _holds(path: Path, index: Mapping[str, Any]) -> bool:
    """Whether a file is there that says this very thing."""
    try:
        return path.is_file() and bool(json.loads(path.read_bytes()) == json.loads(json.dumps(index)))
    except (OSError, ValueError, RecursionError):
        return False
