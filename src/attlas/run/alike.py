"""Whether another process computes as this one does.

A worker gets a part by the names of its classes, and carries it out with the code that lies where the worker is.
Where that is another state of attlas, of one version number still (a checkout that was not brought up to date, a
folder that comes first on the path, an installation that changed while a run was on its way), its sums are of another
kind, and nothing would tell. So a worker says which packages it has and what its code is (:class:`Software`), and one
that is unlike is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from attlas.errors import PlanError
from attlas.store import versions_here


@dataclass(frozen=True)
class Software:
    """What a process computes with: the versions of packages, a hash of attlas's own code, and where that lies.

    >>> Software.here() == Software.here()
    True
    """

    versions: Mapping[str, str]
    code: str
    place: str

    @classmethod
    def here(cls) -> Software:
        """That of this process.

        >>> Path(Software.here().place, "run", "alike.py").exists()
        True
        """
        place = Path(__file__).parents[1]
        return cls(versions_here(), code_in(place), str(place))


def code_in(place: Path) -> str:
    """A hash of all Python files below a folder, with their names.

    >>> code_in(Path(__file__).parents[1]) == Software.here().code
    True
    """
    made = hashlib.blake2b(digest_size=16)
    for file in sorted(place.rglob("*.py")):
        text = file.read_bytes()
        made.update(f"{file.relative_to(place).as_posix()} {len(text)}\n".encode() + text)
    return made.hexdigest()


def require_alike(there: Software, here: Software) -> None:
    """Refuse workers whose software would give other numbers.

    >>> here = Software({"torch": "2.13.0"}, "a", "/home/me/attlas")
    >>> require_alike(Software({"torch": "2.12.1"}, "a", "/opt/attlas"), here)
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: the workers of the Ray cluster have torch 2.12.1, and here is torch 2.13.0
    >>> require_alike(Software({"torch": "2.13.0"}, "b", "/opt/attlas"), here)
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: the workers of the Ray cluster have other code of attlas (in /opt/attlas) than ...
    """
    unlike = [name for name, version in here.versions.items() if there.versions.get(name) != version]
    if unlike:
        theirs, ours = (", ".join(f"{name} {had.versions.get(name)}" for name in unlike) for had in (there, here))
        raise PlanError(f"the workers of the Ray cluster have {theirs}, and here is {ours}")
    if there.code != here.code:
        raise PlanError(
            f"the workers of the Ray cluster have other code of attlas (in {there.place}) than this run began with "
            f"(in {here.place}), though both are called one version; give all machines the same"
        )
