"""Whatever goes wrong while somebody's result is read is one sentence about its folder.

Checksums tell accidents. A result that was edited, or made by other code, may have right checksums and still hold
what makes no sense; whoever reads one does so within :func:`told_as_damage`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attlas.errors import AttlasError, StoreError, printable


@contextmanager
def told_as_damage(folder: Path | str) -> Iterator[None]:
    """Have whatever goes wrong while a result of somebody's folder is shown be one sentence about that folder.

    >>> with told_as_damage(Path("out")):
    ...     {}["streams"]
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: out: what is written there does not make sense (KeyError: 'streams'); make the result...
    """
    try:
        yield
    except (AttlasError, OSError):
        raise
    except Exception as error:  # a damaged result may raise anything
        reason = f"{type(error).__name__}: {error}".partition("\n")[0][:120]
        told = printable(reason)
        raise StoreError(
            f"{folder}: what is written there does not make sense ({told}); make the result again"
        ) from error
