"""Which models ``attlas serve`` may open: what a page asks for is not what a person at the terminal asks for.

A name or a folder that was given on the command line may be opened, and so may what lies in a folder that was given
there. Where nothing was said, the models of the cache may be too. Folders are compared as they really are, behind all
links and steps upward.
"""

from __future__ import annotations

from collections.abc import Sequence

from attlas.errors import CapabilityError
from attlas.models import bundled

SHOWN = 80  # letters of a name in a sentence


class Allowed:
    """The models that may be opened: ``named`` by a person, and, unless ``models`` says which, those of the cache.

    >>> Allowed(["org/tiny"], None).require("org/tiny")
    >>> Allowed([], ["org/tiny"]).require("/etc")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: '/etc' is none of the models that may be opened here; allow it with attlas serve...
    """

    def __init__(self, named: Sequence[str], models: Sequence[str] | None) -> None:
        self._names = {*named, *(models or ()), bundled.resolve(None)[0]}
        self._cache = models is None
        folders = [bundled.resolve(name)[1] for name in (*named, *(models or ()))]
        if self._cache:
            folders.append(bundled.models_folder())
        self._folders = [folder.resolve() for folder in folders if folder is not None]

    def require(self, name: str) -> None:
        """Refuse a model that may not be opened."""
        if name in self._names:
            return
        folder = bundled.resolve(name)[1]
        if folder is None and self._cache and bundled.in_cache(name):
            return
        if folder is not None and any(folder.resolve().is_relative_to(allowed) for allowed in self._folders):
            return
        shown = name if len(name) <= SHOWN else f"{name[:SHOWN]} ..."
        raise CapabilityError(
            f"{shown!r} is none of the models that may be opened here; allow it with attlas serve --models {shown}"
        )
