"""Word aligners that know no neural network, to stand beside what attention gives.

Three of them. *eflomal* samples an HMM with fertilities; *fast_align* is IBM model 2 with one parameter that pulls
links towards the diagonal; the *diagonal* knows nothing but the two lengths. The first two learn from text: from the
pairs to be aligned, and from more if there is more. They run in processes of their own and in temporary folders, and
are quiet.

fast_align comes as systran-align, whose own aligner gives symmetrised links only and forgets the tension that
training found. Its tables of translation probabilities are complete, though, so each direction is decoded here as
fast_align itself does: for every word, the best product of translation probability and closeness to the diagonal,
against having no partner. fast_align gives the same links every time. eflomal draws at random, from the system's own
source, and cannot be seeded: its links differ a little from run to run (seen: one or two points of error rate on a
hundred pairs alone, some tenths with more text).
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attlas.errors import PlanError
from attlas.text.links import Pairs, diagonal, symmetrise

ALIGNERS = ("eflomal", "fast_align", "diagonal")
DIRECTIONS = ("forward", "backward", "intersection", "grow-diag-final-and")

Sentences = tuple[Sequence[str], Sequence[str]]

_PACKAGES = {"eflomal": ("eflomal", "eflomal"), "fast_align": ("systran_align", "systran-align")}
_LONGEST = 1000  # eflomal leaves out sentences of 1024 words and more
_NO_PARTNER = 0.08  # fast_align's own constants: the share of words without a partner ...
_UNSEEN = 1e-9  # ... and the probability of a translation that training never saw
_TENSION = re.compile(rb"final tension: *([0-9.]+)")
_EFLOMAL = """
import sys
from eflomal import Aligner
source, target = (open(name, encoding="utf-8", newline="\\n") for name in sys.argv[1:3])
Aligner().align(source, target, *sys.argv[3:5])
"""
_FAST_ALIGN = """
import sys
from systran_align import generate_alignment_probabilities
generate_alignment_probabilities(
    *sys.argv[1:4], favor_diagonal=True, optimize_tension=True, variational_bayes=True, beam_threshold=-50,
    verbose=True,
)
"""


def check_names(names: Sequence[str]) -> None:
    """Refuse an aligner that does not exist."""
    for name in names:
        if name not in ALIGNERS:
            raise PlanError(f"there is no aligner {name!r}; there are {', '.join(ALIGNERS)}")


def missing(name: str) -> str | None:
    """What must be installed before an aligner can be used, as a sentence; None where nothing is.

    >>> missing("diagonal") is None
    True
    """
    module, package = _PACKAGES.get(name, ("", ""))
    if not module or find_spec(module) is not None:
        return None
    return f"{name} needs the package {package}: pip install 'attlas[align]'"


def align_with(name: str, pairs: Sequence[Sentences], *, more: Iterable[Sentences] = ()) -> dict[str, list[Pairs]]:
    """The links of some pairs of sentences by one of :data:`ALIGNERS`, in all of :data:`DIRECTIONS`.

    It is trained on the pairs and on ``more`` of the like, by lower-cased words. Forward, each target word has at
    most one source word, as attention from the target to the source gives it; backward, the other way round.

    >>> links = align_with("diagonal", [(["das", "Haus"], ["the", "old", "house"])])
    >>> {direction: sorted(found) for direction, (found,) in links.items()}["forward"]
    [(0, 0), (1, 1), (1, 2)]
    """
    check_names([name])
    lacking = missing(name)
    if lacking is not None:
        raise PlanError(lacking)
    usable = [at for at, pair in enumerate(pairs) if _fits(pair)]
    found: tuple[list[Pairs], list[Pairs]] = [frozenset()] * len(pairs), [frozenset()] * len(pairs)
    if usable:
        here = [_lowered(pairs[at]) for at in usable]
        forward, backward = _WAYS[name](here, (_lowered(pair) for pair in more if _fits(pair)))
        for at, links, their in zip(usable, forward, backward, strict=True):
            found[0][at], found[1][at] = links, their
    sizes = [(len(source), len(target)) for source, target in pairs]
    together = {how: [symmetrise(how, *both) for both in zip(*found, sizes, strict=True)] for how in DIRECTIONS[2:]}
    return {"forward": found[0], "backward": found[1], **together}


def _fits(pair: Sentences) -> bool:
    return all(0 < len(side) <= _LONGEST for side in pair)


def _lowered(pair: Sentences) -> Sentences:
    source, target = (["".join(word.lower().split()).replace("|||", "|") or "_" for word in side] for side in pair)
    return source, target


def _along_the_diagonal(pairs: list[Sentences], more: Iterable[Sentences]) -> tuple[list[Pairs], list[Pairs]]:
    sizes = [(len(source), len(target)) for source, target in pairs]
    return [diagonal(size) for size in sizes], [_turned(diagonal((there, here))) for here, there in sizes]


def _by_eflomal(pairs: list[Sentences], more: Iterable[Sentences]) -> tuple[list[Pairs], list[Pairs]]:
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("source", "target", "forward", "backward")]
        with open(files[0], "w", encoding="utf-8") as source, open(files[1], "w", encoding="utf-8") as target:
            for part in (pairs, more):
                for ours, theirs in part:
                    source.write(" ".join(ours) + "\n")
                    target.write(" ".join(theirs) + "\n")
        _train("eflomal", _EFLOMAL, files)
        forward, backward = (_read_lines(file, len(pairs)) for file in files[2:])
    return forward, backward


def _read_lines(file: Path, count: int) -> list[Pairs]:
    links = []
    with open(file, encoding="utf-8") as lines:
        for _, line in zip(range(count), lines, strict=False):
            links.append(frozenset((int(i), int(j)) for i, j in (link.split("-") for link in line.split())))
    return links


def _by_fast_align(pairs: list[Sentences], more: Iterable[Sentences]) -> tuple[list[Pairs], list[Pairs]]:
    with tempfile.TemporaryDirectory() as folder:
        text, *tables = (Path(folder) / name for name in ("text", "forward", "backward"))
        with open(text, "w", encoding="utf-8") as out:
            for part in (pairs, more):
                for ours, theirs in part:
                    out.write(f"{' '.join(ours)} ||| {' '.join(theirs)}\n")
        said = _train("fast_align", _FAST_ALIGN, [text, *tables])
        forward, backward = (_Table(table) for table in tables)
    tensions = [float(number) for number in _TENSION.findall(said)]
    if not tensions or len(tensions) % 2:
        raise PlanError("fast_align did not tell its tension; systran-align 3.5 does: pip install 'attlas[align]'")
    middle, last = tensions[len(tensions) // 2 - 1], tensions[-1]
    return (
        [_best_partners(forward.between(*pair), middle) for pair in pairs],
        [_turned(_best_partners(backward.between(theirs, ours), last)) for ours, theirs in pairs],
    )


def _train(name: str, script: str, files: Sequence[Path]) -> bytes:
    """Run a script in a process of its own, and hand back what it said."""
    done = subprocess.run([sys.executable, "-c", script, *map(str, files)], capture_output=True, check=False)
    if done.returncode or not all(file.exists() and file.stat().st_size for file in files):
        said = (done.stderr or done.stdout).decode(errors="replace").strip().rpartition("\n")[2]
        raise PlanError(f"{name} stopped with status {done.returncode} and no links: {said or 'it said nothing'}")
    return done.stderr + done.stdout


class _Table:
    """fast_align's probabilities that one word is the translation of another, as its file has them.

    A version (2), the number of words, the words, each ended by a zero byte and numbered from 1 in that order; the
    largest number of a word given; and row by row the number of the word given, how many words follow from it, and
    for each of those its number and its probability. Word 1 is the partner of those who have none.
    """

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        version, count = struct.unpack_from("<ii", data)
        *words, rest = data[8:].split(b"\0", count)
        if version != 2 or len(words) != count or len(rest) % 4:
            raise PlanError("fast_align wrote a table of another version; systran-align 3.5 is known to work")
        self._number = {word.decode(): at for at, word in enumerate(words, start=1)}
        numbers = np.frombuffer(rest, "<i4")
        self._rows: dict[int, tuple[NDArray[np.int32], NDArray[np.float32]]] = {}
        at = 1
        while at < len(numbers):
            given, width = int(numbers[at]), int(numbers[at + 1])
            row = numbers[at + 2 : at + 2 + 2 * width].reshape(width, 2)
            order = np.argsort(row[:, 0])
            self._rows[given] = row[order, 0], np.ascontiguousarray(row[order, 1]).view("<f4")
            at += 2 + 2 * width

    def between(self, given: Sequence[str], found: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (given, found), with those of having no partner in the first row."""
        wanted = np.array([self._number.get(word, 0) for word in found])
        out = np.full((len(given) + 1, len(found)), _UNSEEN)
        for at, word in enumerate([1, *(self._number.get(word, 0) for word in given)]):
            if word in self._rows:
                numbers, values = self._rows[word]
                place = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
                out[at] = np.where(numbers[place] == wanted, values[place], _UNSEEN)
        return out


def _best_partners(probabilities: NDArray[np.float64], tension: float) -> Pairs:
    """Each found word's given word, where that is likelier than having none."""
    given, found = probabilities.shape[0] - 1, probabilities.shape[1]
    rows, columns = np.arange(1, given + 1) / given, np.arange(1, found + 1) / found
    near = np.exp(-tension * np.abs(rows[:, None] - columns))
    near *= (1 - _NO_PARTNER) / near.sum(0)
    best = np.argmax(probabilities * np.vstack([np.full((1, found), _NO_PARTNER), near]), axis=0)
    return frozenset((int(i) - 1, j) for j, i in enumerate(best) if i)


def _turned(links: Pairs) -> Pairs:
    return frozenset((j, i) for i, j in links)


_WAYS = {"eflomal": _by_eflomal, "fast_align": _by_fast_align, "diagonal": _along_the_diagonal}
