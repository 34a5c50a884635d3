"""Where things lie in the folder of an atlas.

FOLDER holds the atlas itself (manifest and tables, as any result), its page ``index.html`` with what belongs to it in
``site``, and a folder for each model. In that lies a folder for each study with its result and page, and what has
become of each study.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from attlas.errors import StoreError
from attlas.making.state import STATE, State
from attlas.run.session import slug
from attlas.store.checkpoint import FOLDER as CHECKPOINT
from attlas.store.folder import MANIFEST, locate, read_manifest
from attlas.whole import UNFINISHED

PAGE, SITE, EXAMPLES, TEXTS = "index.html", "site", "examples", "texts"
# files of the atlas itself, finished or on their way, on file systems that take A for a as well
OWN = re.compile(rf"({re.escape(PAGE)}|{SITE}|{re.escape(MANIFEST)}|.*\.parquet)(\.\w+)?", re.IGNORECASE)
DEEP = 4  # folders below one that is given, in which results are looked for
ATLAS = "atlas"  # what its manifest says instead of a study


def models_in(folder: Path) -> list[Path]:
    """The folders of models in an atlas, by name.

    >>> models_in(Path("no such folder"))
    []
    """
    if not folder.is_dir():
        return []
    return sorted(place for place in folder.iterdir() if (place / STATE).is_file())


def of_model(folder: Path, name: str, fingerprint: str) -> Path:
    """The place of a model in an atlas: called after it, and told apart where another model of that name is there, or
    where the atlas has a file of its own under that name.

    >>> of_model(Path("out"), "org/tiny", "0123456789"), of_model(Path("out"), "org/site", "0123456789")
    (PosixPath('out/tiny'), PosixPath('out/site-012345'))
    """
    place = folder / slug(name)
    there = State.of(place)
    other = there is not None and there.plan.get("model", {}).get("fingerprint") != fingerprint
    return folder / f"{slug(name)}-{fingerprint[:6]}" if other or OWN.fullmatch(place.name) else place


def results_in(folder: Path, deep: int = DEEP) -> Iterator[Path]:
    """The folders of finished results in a folder, and in those that it has; none of them within another, but for an
    atlas, which is made of those that it has.

    >>> list(results_in(Path("no such folder")))
    []
    """
    for place in _folders(folder) if deep else []:
        if locate(place, MANIFEST).is_file() and not is_atlas(place):
            yield place
        else:
            yield from results_in(place, deep - 1)


def begun_in(folder: Path, deep: int = DEEP) -> Iterator[Path]:
    """The folders of runs that were begun in a folder, or in it itself, and never finished.

    >>> list(begun_in(Path("no such folder")))
    []
    """
    if (folder / CHECKPOINT).is_dir() and not locate(folder, MANIFEST).is_file():
        yield folder
    for place in _folders(folder) if deep else []:
        yield from begun_in(place, deep - 1)


def _folders(folder: Path) -> list[Path]:
    """The folders in a folder that a person would see, by name."""
    if not folder.is_dir():
        return []
    return sorted(
        place
        for place in folder.iterdir()
        if place.is_dir() and not place.is_symlink() and not place.name.startswith(".")
    )


def is_atlas(folder: Path) -> bool:
    """Whether a finished atlas lies in a folder.

    >>> is_atlas(Path("no such folder"))
    False
    """
    try:
        return locate(folder, MANIFEST).is_file() and read_manifest(folder).study == ATLAS
    except StoreError:
        return False


def require_atlas_folder(folder: Path, own: Path) -> None:
    """Refuse a folder that holds anything but an atlas, or one in which the place of a model is taken.

    >>> require_atlas_folder(Path("no such folder"), Path("no such folder/tiny"))
    """
    if not folder.is_dir():
        return
    known = {PAGE, SITE, MANIFEST} if is_atlas(folder) else set()
    others = sorted(
        place.name
        for place in folder.iterdir()
        if not (place.name.startswith(".") or place.name in known or (place / STATE).is_file() or _just_begun(place))
        and not (known and place.suffix == ".parquet")
    )
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        raise StoreError(
            f"{folder}: it holds {', '.join(others[:3])}{more}, which is no atlas; choose another --out or delete it"
        )
    if own.exists() and not _just_begun(own):
        raise StoreError(f"{own}: there is something here already; choose another --out or delete it")


def _just_begun(place: Path) -> bool:
    """Whether a folder is a model's of which nothing was written down before a kill."""
    return place.is_dir() and {path.name for path in place.iterdir()} <= {f"{STATE}{UNFINISHED}"}
