"""What lies around a result in its folder: the page of the atlas or index that it belongs to, and its neighbours.

A result in an atlas lies in FOLDER/MODEL/STUDY, or in a folder of which ``attlas report`` has made an index; its page
links up to ``index.html`` there, and to the pages of the other results of its model.
"""

from __future__ import annotations

from pathlib import Path

from attlas.errors import StoreError
from attlas.store.folder import MANIFEST, locate, read_manifest
from attlas.studies import studies

INDEX, REPORT, SITE = "index.html", "report.html", "site"
MARK = '<meta name="generator" content="attlas">'
MOST = 4000  # letters of a page among which the mark stands


def around(folder: Path) -> list[tuple[str, str]]:
    """Names and places of the pages that a result's page links to, first the one above it; none where no page of an
    atlas or index lies above.

    >>> around(Path("no such folder"))
    []
    """
    folder = folder.resolve()
    for steps, place in enumerate(folder.parents[:2], start=1):
        if is_ours(place / INDEX):
            name = "Atlas" if (place / SITE).is_dir() else "All results"
            return [(f"↑ {name}", "../" * steps + INDEX), *_beside(folder)]
    return []


def is_ours(page: Path) -> bool:
    """Whether a page was written by attlas.

    >>> is_ours(Path("no such page"))
    False
    """
    try:
        with open(page, encoding="utf-8") as file:
            return MARK in file.read(MOST)
    except (OSError, UnicodeDecodeError):
        return False


def _beside(folder: Path) -> list[tuple[str, str]]:
    """The names and pages of the results beside one."""
    found = []
    for place in sorted(folder.parent.iterdir()):
        if place == folder or not locate(place, MANIFEST).is_file():
            continue
        try:
            study = studies().get(read_manifest(place).study)
        except StoreError:
            continue
        if study is not None and study.page:
            own = " ".join(study.words)
            title = own if place.name == study.name else f"{own} ({place.name})"
            found.append((title, f"../{place.name}/{REPORT}"))
    return found
