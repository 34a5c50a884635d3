"""How much is read, or looked at, before it is refused: limits against what would fill a machine.

A corpus that somebody sends may be small and unpack to a thousand times its size, hold a million files, or nest a
hundred thousand brackets, and the attention of a text grows with the square of its length. Each limit is far above
what is usual, and each refusal is one sentence that names the limit and how to raise it: ``--limits line=50000000``
in a command, ``limits=Limits(line=50_000_000)`` in :func:`attlas.corpora.read`, and :func:`limited` around calls that
read or look by themselves. Nothing limits the size of a file as such, so that a large corpus is read however large it
is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, fields

from attlas.errors import CapabilityError, CorpusError

MEBIBYTE = 2**20
MOST_DIGITS = 4300  # of a whole number, beyond which Python converts none


@dataclass(frozen=True)
class Limits:
    """Limits of what is read: ``ratio``, how many times its size a packed file may unpack to, which counts from
    ``buffer`` unpacked MiB on (of an archive: all files of it together); ``members`` of an archive; characters of a
    ``line``; ``depth`` of brackets in JSON; ``digits`` of a number; and ``weights`` of attention that one look at a
    text keeps (see :mod:`attlas.capture.room`).

    >>> Limits(line=20_000_000).line
    20000000
    >>> Limits(digits=0)
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: the limit digits is 0, and must be a whole number from 1 to 4300
    """

    ratio: int = 50
    buffer: int = 8
    members: int = 100_000
    line: int = 10_000_000
    depth: int = 500
    digits: int = 300
    weights: int = 600_000_000

    def __post_init__(self) -> None:
        for name, value in self.values().items():
            highest = MOST_DIGITS if name == "digits" else None
            if type(value) is not int or value < 1 or (highest is not None and value > highest):
                wanted = f"from 1 to {highest}" if highest else "of at least 1"
                raise CorpusError(f"the limit {name} is {value!r}, and must be a whole number {wanted}")

    def values(self) -> dict[str, int]:
        """All limits by their names.

        >>> Limits().values()["members"]
        100000
        """
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def unpacked(self, packed: int) -> int:
        """How many bytes so many packed ones may become.

        >>> Limits(ratio=10, buffer=1).unpacked(5), Limits(ratio=10, buffer=1).unpacked(2**20)
        (1048576, 10485760)
        """
        return max(self.buffer * MEBIBYTE, self.ratio * packed)


_USUAL = Limits()
_IN_FORCE: ContextVar[Limits] = ContextVar("limits", default=_USUAL)


def in_force() -> Limits:
    """The limits that hold here.

    >>> in_force() == Limits()
    True
    """
    return _IN_FORCE.get()


@contextlib.contextmanager
def limited(limits: Limits | str | None) -> Iterator[None]:
    """Other limits for what is read inside the ``with`` block, by this thread; ``None`` leaves them as they are.

    >>> with limited("line=20,depth=3"):
    ...     in_force().line, in_force().depth, in_force().ratio
    (20, 3, 50)
    """
    if limits is None:
        yield
        return
    token = _IN_FORCE.set(limits_of(limits))
    try:
        yield
    finally:
        _IN_FORCE.reset(token)


def limits_of(given: Limits | str) -> Limits:
    """Limits as they are, or as a command line writes them, names and numbers with commas between them.

    >>> limits_of("ratio=200, digits=1000").ratio
    200
    >>> limits_of("rate=200")
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: 'rate=200' is no limit such as line=20000000; there are ratio, buffer, members, line,
    depth, digits and weights
    """
    if isinstance(given, Limits):
        return given
    changed: dict[str, int] = {}
    known = Limits().values()
    for part in given.split(","):
        name, _, number = (side.strip() for side in part.partition("="))
        if name not in known or not (number.isascii() and number.isdigit() and len(number) <= 18):
            names = list(known)
            listed = f"{', '.join(names[:-1])} and {names[-1]}"
            raise CorpusError(f"{part.strip()!r} is no limit such as line=20000000; there are {listed}")
        changed[name] = int(number)
    return Limits(**{**in_force().values(), **changed})


def look_limits(given: str | None) -> Limits | None:
    """The limits of a command that looks and reads no corpus, of which there is one.

    >>> look_limits("weights=1000").weights
    1000
    >>> look_limits("line=1000")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: the limit line is for corpora, and this command reads none; give weights=N
    """
    if given is None:
        return None
    limits = limits_of(given)
    for name, value in Limits().values().items():
        if name != "weights" and limits.values()[name] != value:
            raise CapabilityError(f"the limit {name} is for corpora, and this command reads none; give weights=N")
    return limits


def above(name: str) -> str:
    """The end of a sentence about a limit that was reached: what it is, and how it is raised.

    >>> above("depth")
    'more than the limit of 500; raise it if you trust the file (--limits depth=1000, limits=Limits(depth=1000))'
    """
    limit = in_force().values()[name]
    higher = min(2 * limit, MOST_DIGITS) if name == "digits" else 2 * limit
    raised = f"--limits {name}={higher}, limits=Limits({name}={higher})"
    return f"more than the limit of {limit}; raise it if you trust the file ({raised})"
